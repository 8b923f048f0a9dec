"""What could have stood where the parser stopped, in words."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from antlr4 import Token
from antlr4.error.Errors import NoViableAltException, RecognitionException
from antlr4.PredictionContext import PredictionContext

from neelc.errors import Diagnostic, Hint, diagnostic, write
from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir.names import RESERVED, Identifier
from neelc.ir.patterns import OPERATORS
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span

# What a person calls the place where the parser stopped.
_PLACES = {
    "statement": "a statement: PATTERN, SELECT, ROLL UP, DRILL DOWN or CREATE",
    "query": "a query: PATTERN, SELECT, ROLL UP or DRILL DOWN",
    "patternPart": "a pattern such as SEQ(A a, B b) or A a",
    "patternAtom": "a pattern such as SEQ(A a, B b) or A a",
    "patternListItem": "a part of the pattern or a condition",
    "expression": "an expression",
    "conjunction": "an expression",
    "negation": "an expression",
    "predicate": "an expression",
    "arithmetic": "an expression",
    "unary": "an expression",
    "primary": "an expression",
    "returnItem": "an expression",
    "rowPrimary": "a pattern variable",
    "statistic": "a statistic such as EVENTS 1000 or DISTINCT id 20",
    "name": "a name",
}
_MARKS = {
    "STRING": "a string",
    "NUMBER": "a number",
    "<EOF>": "the end",
}

# What a name is called inside some rules.
_NAMED = {"intervalPart": "a unit such as SECONDS", "dataType": "a type such as BIGINT"}

# A list of more tokens than these is not read.
_LISTED = 7


def expected(error: RecognitionException) -> str:
    """What could stand here: the tokens, if they are few, else what a person calls the place."""
    kinds = _kinds(error)
    rule = NeelParser.ruleNames[error.ctx.getRuleIndex()] if error.ctx is not None else ""
    if kinds == [Token.EOF] and rule == "singleStatement":
        return "the end of the statement or another clause is expected"
    names = _names(kinds, error.ctx)
    if 0 < len(names) <= _LISTED:
        listed = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]
        return f"{listed} is expected"
    context = error.ctx
    while context is not None:
        place = _PLACES.get(NeelParser.ruleNames[context.getRuleIndex()])
        if place:
            return f"{place} is expected"
        context = context.parentCtx
    return "it is not allowed"


def _kinds(error: RecognitionException) -> list[int]:
    """The kinds of tokens that the parser could have gone on with."""
    if not isinstance(error.offendingState, int) or error.offendingState < 0 or error.ctx is None:
        return []
    found: set[int] = set()
    if isinstance(error, NoViableAltException) and error.deadEndConfigs is not None:
        # The parser looked ahead: what it hoped for follows the tokens it has seen, not those it has read.
        for config in error.deadEndConfigs:
            found.update(_following(config.state, config.context, error, set()))
    else:
        found.update(_flat(error.recognizer.atn.getExpectedTokens(error.offendingState, error.ctx)))
    return sorted(found)


def _following(state: Any, context: Any, error: RecognitionException, seen: set[int]) -> Iterator[int]:
    """The kinds that can follow a state of the grammar, from where its rule was called."""
    kinds = set(_flat(error.recognizer.atn.nextTokens(state)))
    yield from kinds - {Token.EPSILON}
    if Token.EPSILON not in kinds or state.stateNumber in seen:
        return
    seen.add(state.stateNumber)
    for at in range(len(context) if context is not None else 0):
        back = context.getReturnState(at)
        if back == PredictionContext.EMPTY_RETURN_STATE:
            yield from _flat(error.recognizer.atn.getExpectedTokens(state.stateNumber, error.ctx))
        else:
            yield from _following(error.recognizer.atn.states[back], context.getParent(at), error, seen)


def _flat(kinds: Any) -> Iterator[int]:
    return (kind for interval in kinds.intervals or () for kind in interval)


def _names(kinds: list[int], context: Any) -> list[str]:
    """Readable names of tokens; a name stands for all the words that may be one, and for QUOTED."""
    any_name = NeelParser.IDENTIFIER in kinds
    marks, fixed = [], []
    for kind in kinds:
        symbol = "<EOF>" if kind == Token.EOF else NeelParser.symbolicNames[kind]
        if symbol == "IDENTIFIER":
            marks.append(_name(context))
        elif symbol in _MARKS:
            marks.append(_MARKS[symbol])
        elif symbol != "QUOTED" and not (any_name and is_word(kind) and symbol not in RESERVED):
            fixed.append(f"`{spelling(kind)}`")
    return [*marks, *fixed]


def _name(context: Any) -> str:
    """What a name is called here: the parser is inside the rule for names, or right before it."""
    around = (context, context.parentCtx) if context is not None else ()
    rules = [NeelParser.ruleNames[c.getRuleIndex()] for c in around if c is not None]
    return next((_NAMED[rule] for rule in rules if rule in _NAMED), "a name")


def is_word(kind: int) -> bool:
    """Whether the tokens of a kind are a word of the language."""
    return bool(NeelParser.AFTER <= kind <= NeelParser.WITHOUT)


def spelling(kind: int) -> str:
    """How a token of one of the fixed kinds is written.

    >>> spelling(NeelParser.SKIPPING), spelling(NeelParser.LPAREN)
    ('SKIP', '(')
    """
    literals = NeelParser.literalNames
    literal = literals[kind] if 0 <= kind < len(literals) else "<INVALID>"
    return str(NeelParser.symbolicNames[kind] if literal == "<INVALID>" else literal[1:-1])


# What might have been meant: small changes with which the parser reads further than without.

# How many tokens of a statement the parser reads before it stops.
Reach = Callable[[Sequence[Any]], int]

_WORDS = {spelling(kind): kind for kind in range(1, len(NeelParser.symbolicNames)) if is_word(kind)}
_OPERATORS = {NeelParser.SEQ_NEG, *(getattr(NeelParser, keyword) for keyword in OPERATORS)}
_CLAUSES = (NeelParser.FROM, NeelParser.WHERE, NeelParser.WITHIN, NeelParser.USING, NeelParser.RETURN)


@dataclass(frozen=True)
class Repair:
    """A change of the tokens, and the hint that proposes it.

    If the mistake is not where the parser stopped, `culprit` is its token and `message` says what it is.
    """

    tokens: Sequence[Any]
    hint: Hint | str
    culprit: Any = None
    message: str = ""


def repair(tokens: Sequence[Any], at: int, reach: Reach) -> Repair | None:
    """The change that lets the parser read furthest beyond the token `at` that it stopped at."""
    best: tuple[int, Repair] | None = None
    for change in _changes(tokens, at):
        read = reach(change.tokens) - (len(change.tokens) - len(tokens))
        # One token more may be chance; the next one must fit as well.
        if read > at + 1 and (best is None or read > best[0]):
            best = (read, change)
    return None if best is None else best[1]


def _changes(tokens: Sequence[Any], at: int) -> Iterator[Repair]:
    """What people most often mean; of two that help alike the first is chosen."""
    token, before = tokens[at], tokens[:at]
    yield from _misspelt(tokens, at)
    yield from _texts(tokens, at)
    yield from _pipes(tokens, at)

    def instead(hint: Hint | str, *kinds: int) -> Repair:
        return Repair([*before, *(_like(token, kind) for kind in kinds), *tokens[at + 1 :]], hint)

    kinds = {one.type for one in before}
    if NeelParser.MATCH_RECOGNIZE_TEMPORAL in kinds and NeelParser.DEFINE not in kinds:
        match token.type:
            case NeelParser.AND:
                yield instead("a comma joins relations that all hold: AABB, BBCC", NeelParser.COMMA)
            case NeelParser.OR:
                yield instead("a semicolon separates alternatives: (AABB; ABAB)", NeelParser.SEMI)
    if is_word(token.type) and not _is_operator(tokens, at):
        name = f"`{token.text}` is a keyword; as a name it needs backticks"
        yield instead(name, NeelParser.IDENTIFIER)
    match token.type:
        case NeelParser.COMMA:
            yield instead(write("AND", " instead"), NeelParser.AND)
        case NeelParser.AMPERSAND if before and before[-1].type == NeelParser.AMPERSAND:
            both = _like(before[-1], NeelParser.AND)
            both.stop = token.stop
            changed = [*before[:-1], both, *tokens[at + 1 :]]
            yield Repair(changed, write("AND", " instead"), both, "`&&` is not an operator")
        case NeelParser.BANG:
            yield instead("NOT negates a condition", NeelParser.NOT)
        case NeelParser.AS:
            yield instead("write the variable right after its type, without AS: A a")
        case NeelParser.QUESTION:
            yield instead("write `?` after the optional part: a b? c")
        case NeelParser.SELECT:
            yield instead("the columns of a PATTERN query come after RETURN", NeelParser.RETURN)
    if token.type == NeelParser.IDENTIFIER:
        yield instead("AS might be missing before it", NeelParser.AS, token.type)
    yield from _words(tokens, at)
    yield from _unrelated(tokens, at)
    yield instead("a comma might be missing before it", NeelParser.COMMA, token.type)
    opened = unclosed(before)
    if opened > 0 and is_word(token.type):
        yield instead(not_closed(opened), *[NeelParser.RPAREN] * opened, token.type)


def _unrelated(tokens: Sequence[Any], at: int) -> Iterator[Repair]:
    """`PATTERN A B` of a temporal pattern: two symbols without a relation."""
    last = tokens[max(at - 2, 0) : at]
    named = [one.type for one in last] == [NeelParser.IDENTIFIER] * 2
    if named and any(one.type == NeelParser.MATCH_RECOGNIZE_TEMPORAL for one in tokens[:at]):
        first, second = last
        changed = [*tokens[: at - 1], _like(second, NeelParser.COMMA), *tokens[at - 1 :]]
        one, other = first.text, second.text
        hint = f"for example {one} BEFORE {other}, or {one}, {other} if both happen at any time"
        yield Repair(changed, hint, second, f"`{one} {other}` does not say how the two relate")


def _is_operator(tokens: Sequence[Any], at: int) -> bool:
    """Whether an operator of patterns, with its list, begins at the token."""
    opens = at + 1 < len(tokens) and tokens[at + 1].type == NeelParser.LPAREN
    return opens and tokens[at].type in _OPERATORS


def _pipes(tokens: Sequence[Any], at: int) -> Iterator[Repair]:
    """`a > 1 || b > 2`: the parser stops at the second comparison."""
    place = next((i for i in reversed(range(at)) if tokens[i].type == NeelParser.CONCAT), None)
    if place is not None:
        changed = [*tokens[:place], _like(tokens[place], NeelParser.OR), *tokens[place + 1 :]]
        yield Repair(changed, write("OR", " instead"), tokens[place], "`||` joins strings, not conditions")


def _texts(tokens: Sequence[Any], at: int) -> Iterator[Repair]:
    """`'New Device' d`: a name between the wrong quotes."""
    for place in (at, at - 1):
        token = tokens[place] if place >= 0 else None
        if token is not None and token.type == NeelParser.STRING:
            changed = [*tokens[:place], _like(token, NeelParser.IDENTIFIER), *tokens[place + 1 :]]
            message = f"found {token.text}, a string, where a name is expected"
            yield Repair(changed, f"a name needs backticks: `{token.text[1:-1]}`", token, message)


def _words(tokens: Sequence[Any], at: int) -> Iterator[Repair]:
    """`[user id]`, `SEQ(New Device d)`: a name of several words. What has an attribute is one alone."""
    after = tokens[at + 1].type if at + 1 < len(tokens) else None
    if tokens[at].type != NeelParser.IDENTIFIER or after == NeelParser.DOT:
        return
    for place in (at - 2, at - 1) if unclosed(tokens[:at]) > 0 else (at - 1,):
        both = tokens[place : place + 2] if place >= 0 else ()
        if [one.type for one in both] == [NeelParser.IDENTIFIER] * 2:
            changed = [*tokens[:place], _like(both[0], NeelParser.IDENTIFIER), *tokens[place + 2 :]]
            hint = f"a name of several words needs backticks: `{both[0].text} {both[1].text}`"
            is_attribute = place > 0 and tokens[place - 1].type == NeelParser.DOT
            yield Repair(changed, hint if is_attribute else f"{hint}; or a comma is missing")


def _misspelt(tokens: Sequence[Any], at: int) -> Iterator[Repair]:
    """A name, here or right before, that is nearly a word of the language."""
    for place in (at, at - 1):
        token = tokens[place] if place >= 0 else None
        if token is None or token.type != NeelParser.IDENTIFIER or len(token.text) < 2:
            continue
        for word in difflib.get_close_matches(token.text.upper(), _WORDS, 3, 0.6):
            changed = [*tokens[:place], _like(token, _WORDS[word]), *tokens[place + 1 :]]
            message = f"found `{token.text}`, which is not a keyword"
            yield Repair(changed, Hint(f"did you mean {word}?", (word,)), token, message)


def _like(token: Any, kind: int) -> Any:
    """A token of another kind in the same place."""
    changed = token.clone()
    changed.type = kind
    return changed


def unclosed(tokens: Sequence[Any]) -> int:
    """How many parentheses are open after the tokens; negative if more are closed."""
    kinds = [token.type for token in tokens]
    return kinds.count(NeelParser.LPAREN) - kinds.count(NeelParser.RPAREN)


def not_closed(count: int) -> str:
    return f"{count} `(` {'is' if count == 1 else 'are'} not closed"


def known_mistake(tokens: Sequence[Any], at: int, begins_statement: bool) -> str | None:
    """A hint for what no small change mends; `begins_statement` if a statement could begin at the token."""
    token, before = tokens[at], tokens[:at]
    after = tokens[at + 1].type if at + 1 < len(tokens) else None
    if token.type == NeelParser.RPAREN and unclosed(before) == 0:
        return "this `)` closes nothing"
    if begins_statement:
        return "a `;` is missing before it"
    if _is_operator(tokens, at):
        return "a pattern can only follow PATTERN"
    if before and before[-1].type in (NeelParser.UNTIL, NeelParser.WITHOUT):
        word = before[-1].text.upper()
        return f"put what must be absent in parentheses: {word} (C c)"
    if _is_following(before):
        return FOLLOWINGS
    is_pattern = tokens[0].type == NeelParser.PATTERN
    has_clauses = any(other.type in _CLAUSES for other in before)
    names = [other.type for other in before[-2:]] == [NeelParser.IDENTIFIER] * 2
    arrow = (token.type, after) == (NeelParser.MINUS, NeelParser.GT)
    if is_pattern and not has_clauses and (arrow or names):
        return "a sequence is written SEQ(A a, B+ b[], C c)"
    if is_pattern and (token.type, after) == (NeelParser.GROUP, NeelParser.BY):
        return "leave it out: items of RETURN without an aggregate form the groups"
    return _of_a_set(token, after) if is_pattern else None


FOLLOWINGS = "one of: DIRECTLY FOLLOWED BY; EVENTUALLY FOLLOWED BY; FOLLOWED BY WITHIN 5 SECONDS"
"""What stands after USING in MATCH_RECOGNIZE_SEQUENTIAL."""


def _is_following(before: Sequence[Any]) -> bool:
    """Whether the parser stopped behind USING in MATCH_RECOGNIZE_SEQUENTIAL."""
    kinds = [token.type for token in before]
    return NeelParser.USING in kinds[-3:] and NeelParser.MATCH_RECOGNIZE_SEQUENTIAL in kinds


def _of_a_set(token: Any, after: int | None) -> str | None:
    """What SQL says of rows in an order: matches are a set, and Spark has methods for that."""
    if token.text.upper() == "LIMIT":
        return "matches are a set: take some of the result, in Python with .limit(10)"
    if (token.type, after) == (NeelParser.ORDER, NeelParser.BY):
        return "matches are a set: sort the result, in Python with .orderBy(...)"
    return None


# How a builder gives up on a statement.


class SyntaxProblem(Exception):
    """A statement that cannot be built; the statements around it still can."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.message)


def fail(code: str, message: str, place: Any, hint: Hint | str | None = None) -> NoReturn:
    """Give up at `place`: a span, a token or a node of the parse tree."""
    raise SyntaxProblem(diagnostic(code, message, place if isinstance(place, Span) else span_of(place), hint))


def given_twice(clause: Any) -> NoReturn:
    """Give up at a clause of a kind that was there before."""
    word = clause.getChild(0).getText().upper()
    hint = "join their conditions with AND" if word == "WHERE" else "keep one of them"
    fail("NEEL1004", f"`{word}` is given twice", clause, hint)


def span_of(place: Any) -> Span:
    """Where a token or a node of the parse tree stands in the text."""
    if hasattr(place, "getSymbol"):
        place = place.getSymbol()
    start = place.start
    if isinstance(start, int):
        return Span(start, max(start, place.stop + 1))
    stop = place.stop or start
    return Span(start.start, max(start.start, stop.stop + 1))


def identifier(place: Any) -> Identifier:
    """A name of the parse tree, with its place."""
    return Identifier(place.getText(), span_of(place))

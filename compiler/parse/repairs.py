"""What might have been meant: small changes with which the parser reads further than without."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from neelc.grammar.generated.NeelParser import NeelParser
from neelc.parse.expected import is_word, spelling

# How many tokens of a statement the parser reads before it stops.
Reach = Callable[[Sequence[Any]], int]

_WORDS = {spelling(kind): kind for kind in range(1, len(NeelParser.symbolicNames)) if is_word(kind)}
_OPERATORS = (NeelParser.SEQ, NeelParser.SEQ_NEG, NeelParser.AND, NeelParser.AND_NEG, NeelParser.OR)
_CLAUSES = (NeelParser.FROM, NeelParser.WHERE, NeelParser.WITHIN, NeelParser.USING, NeelParser.RETURN)


@dataclass(frozen=True)
class Repair:
    """A change of the tokens, and the hint that proposes it.

    If the mistake is not where the parser stopped, `culprit` is its token and `message` says what it is.
    """

    tokens: Sequence[Any]
    hint: str
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

    def instead(hint: str, *kinds: int) -> Repair:
        return Repair([*before, *(_like(token, kind) for kind in kinds), *tokens[at + 1 :]], hint)

    if is_word(token.type) and not _is_operator(tokens, at):
        name = f"`{token.text}` is a word of the language; as a name it needs backticks"
        yield instead(name, NeelParser.IDENTIFIER)
    match token.type:
        case NeelParser.COMMA:
            yield instead("write AND instead", NeelParser.AND)
        case NeelParser.AMPERSAND if before and before[-1].type == NeelParser.AMPERSAND:
            both = _like(before[-1], NeelParser.AND)
            both.stop = token.stop
            changed = [*before[:-1], both, *tokens[at + 1 :]]
            yield Repair(changed, "write AND instead", both, "`&&` is not an operator")
        case NeelParser.BANG:
            yield instead("NOT negates a condition", NeelParser.NOT)
        case NeelParser.AS:
            yield instead("a variable stands right after its type, without AS: A a")
        case NeelParser.QUESTION:
            yield instead("`?` stands after what it makes optional: a b? c")
        case NeelParser.SELECT:
            yield instead("the columns of a PATTERN query stand after RETURN", NeelParser.RETURN)
    if token.type == NeelParser.IDENTIFIER:
        yield instead("AS might be missing before it", NeelParser.AS, token.type)
    yield from _words(tokens, at)
    yield instead("a comma might be missing before it", NeelParser.COMMA, token.type)
    opened = unclosed(before)
    if opened > 0 and is_word(token.type):
        yield instead(not_closed(opened), *[NeelParser.RPAREN] * opened, token.type)


def _is_operator(tokens: Sequence[Any], at: int) -> bool:
    """Whether an operator of patterns, with its list, begins at the token."""
    opens = at + 1 < len(tokens) and tokens[at + 1].type == NeelParser.LPAREN
    return opens and tokens[at].type in _OPERATORS


def _pipes(tokens: Sequence[Any], at: int) -> Iterator[Repair]:
    """`a > 1 || b > 2`: the parser stops at the second comparison."""
    place = next((i for i in reversed(range(at)) if tokens[i].type == NeelParser.CONCAT), None)
    if place is not None:
        changed = [*tokens[:place], _like(tokens[place], NeelParser.OR), *tokens[place + 1 :]]
        yield Repair(changed, "write OR instead", tokens[place], "`||` joins strings, not conditions")


def _texts(tokens: Sequence[Any], at: int) -> Iterator[Repair]:
    """`'New Device' d`: a name between the wrong quotes."""
    for place in (at, at - 1):
        token = tokens[place] if place >= 0 else None
        if token is not None and token.type == NeelParser.STRING:
            changed = [*tokens[:place], _like(token, NeelParser.IDENTIFIER), *tokens[place + 1 :]]
            message = f"found {token.text}, a string, where a name is expected"
            yield Repair(changed, f"a name stands between backticks: `{token.text[1:-1]}`", token, message)


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
            message = f"found `{token.text}`, which is not a word of the language"
            yield Repair(changed, f"did you mean {word}?", token, message)


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
        return "a pattern stands after PATTERN only"
    is_pattern = tokens[0].type == NeelParser.PATTERN
    has_clauses = any(other.type in _CLAUSES for other in before)
    names = [other.type for other in before[-2:]] == [NeelParser.IDENTIFIER] * 2
    arrow = (token.type, after) == (NeelParser.MINUS, NeelParser.GT)
    if is_pattern and not has_clauses and (arrow or names):
        return "a sequence is written SEQ(A a, B+ b[], C c)"
    if is_pattern and (token.type, after) == (NeelParser.GROUP, NeelParser.BY):
        return "leave it out: the items of RETURN that are no aggregates make the groups"
    return _of_a_set(token, after) if is_pattern else None


def _of_a_set(token: Any, after: int | None) -> str | None:
    """What SQL says of rows in an order: matches are a set, and Spark has methods for that."""
    if token.text.upper() == "LIMIT":
        return "matches are a set: take some of the result, in Python with .limit(10)"
    if (token.type, after) == (NeelParser.ORDER, NeelParser.BY):
        return "matches are a set: sort the result, in Python with .orderBy(...)"
    return None

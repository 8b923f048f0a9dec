"""What could have stood where the parser stopped, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antlr4 import Token
from antlr4.error.Errors import NoViableAltException, RecognitionException
from antlr4.PredictionContext import PredictionContext

from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir.words import RESERVED

# What a person calls the place where the parser stopped.
_PLACES = {
    "statement": "a statement: PATTERN, SELECT or CREATE",
    "query": "a query: PATTERN or SELECT",
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
        return "the statement ends or another clause begins"
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
    return "nothing like it fits"


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
    return bool(NeelParser.AFTER <= kind <= NeelParser.WITHIN)


def spelling(kind: int) -> str:
    """How a token of one of the fixed kinds is written.

    >>> spelling(NeelParser.SKIPPING), spelling(NeelParser.LPAREN)
    ('SKIP', '(')
    """
    literals = NeelParser.literalNames
    literal = literals[kind] if 0 <= kind < len(literals) else "<INVALID>"
    return str(NeelParser.symbolicNames[kind] if literal == "<INVALID>" else literal[1:-1])

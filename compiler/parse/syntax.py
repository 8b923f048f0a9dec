"""Tokens to a parse tree, and the parser's complaints to sentences."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from antlr4 import BailErrorStrategy, CommonTokenStream, PredictionMode, Token
from antlr4.error.Errors import ParseCancellationException, RecognitionException
from antlr4.ListTokenSource import ListTokenSource

from neelc.errors import Diagnostic
from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir.words import RESERVED
from neelc.parse.problem import Problem
from neelc.source import Span

# What a person calls the place where the parser stopped.
_PLACES = {
    "statement": "a statement: PATTERN, SELECT or CREATE",
    "query": "a query: PATTERN or SELECT",
    "patternPart": "a pattern such as SEQ(A a, B b) or A a",
    "patternAtom": "a pattern such as SEQ(A a, B b) or A a",
    "patternListItem": "a part of the pattern, or a condition",
    "expression": "an expression",
    "conjunction": "an expression",
    "negation": "an expression",
    "predicate": "an expression",
    "arithmetic": "an expression",
    "unary": "an expression",
    "primary": "an expression",
    "rowPrimary": "a pattern variable",
    "name": "a name",
}
_MARKS = {"IDENTIFIER": "a name", "STRING": "a string", "NUMBER": "a number", "<EOF>": "the end"}


def parse_tree(tokens: Sequence[Any], rule: str, end: int) -> Any:
    """The tree that `rule` of the grammar makes of the tokens, or `Problem`; the text ends at `end`."""
    try:
        return _attempt(tokens, rule, PredictionMode.SLL)
    except ParseCancellationException:
        # SLL is quick and nearly always right; only LL has the last word on what is an error.
        try:
            return _attempt(tokens, rule, PredictionMode.LL)
        except ParseCancellationException as cancelled:
            raise Problem(_complaint(cancelled.args[0], tokens, end)) from None


def _attempt(tokens: Sequence[Any], rule: str, mode: Any) -> Any:
    parser = NeelParser(CommonTokenStream(ListTokenSource(list(tokens))))
    parser.removeErrorListeners()
    parser._errHandler = BailErrorStrategy()
    parser._interp.predictionMode = mode
    return getattr(parser, rule)()


def _complaint(error: RecognitionException, tokens: Sequence[Any], end: int) -> Diagnostic:
    token = error.offendingToken
    at_end = token is None or token.type == Token.EOF
    before = [t for t in tokens if at_end or t.start < token.start]
    misspelt = _misspelt(None if at_end else token, before)
    if misspelt is not None:
        word, meant = misspelt
        message = f"found `{word.text}`, which is not a word of the language"
        return Diagnostic("NEEL1001", message, Span(word.start, word.stop + 1), f"did you mean {meant}?")
    found = "the text ends" if at_end else f"found `{token.text}`"
    span = Span(end, end + 1) if at_end else Span(token.start, token.stop + 1)
    expected = _expected(error)
    message = f"{found} where {expected} is expected" if expected else f"{found} where nothing like it fits"
    return Diagnostic("NEEL1001", message, span, _hint(None if at_end else token, before))


def _expected(error: RecognitionException) -> str:
    """What could stand here: the tokens, if they are few, else what a person calls the place."""
    names = _expected_names(error)
    if 0 < len(names) <= 7:
        return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]
    context = error.ctx
    while context is not None:
        place = _PLACES.get(NeelParser.ruleNames[context.getRuleIndex()])
        if place:
            return place
        context = context.parentCtx
    return ""


def _expected_names(error: RecognitionException) -> list[str]:
    """Readable names of what could follow; a name stands for all the words that may be one."""
    if isinstance(error.offendingState, int) and error.offendingState >= 0 and error.ctx is not None:
        expected = error.recognizer.atn.getExpectedTokens(error.offendingState, error.ctx)
        kinds = [kind for interval in expected.intervals for kind in interval]
    else:
        kinds = []
    any_name = NeelParser.IDENTIFIER in kinds
    names = []
    for kind in kinds:
        symbol = "<EOF>" if kind == Token.EOF else NeelParser.symbolicNames[kind]
        literal = NeelParser.literalNames[kind] if 0 <= kind < len(NeelParser.literalNames) else "<INVALID>"
        if symbol in _MARKS:
            names.append(_MARKS[symbol])
        elif symbol == "QUOTED" or (any_name and symbol not in RESERVED and literal.strip("'").isalpha()):
            continue
        else:
            names.append(f"`{literal[1:-1]}`" if literal != "<INVALID>" else symbol)
    return names


def _misspelt(token: Any, before: Sequence[Any]) -> tuple[Any, str] | None:
    """A name, here or right before, that is nearly a word of the language."""
    for candidate in (token, before[-1] if before else None):
        if candidate is not None and candidate.type == NeelParser.IDENTIFIER:
            close = difflib.get_close_matches(candidate.text.upper(), sorted(RESERVED), 1, 0.75)
            if close:
                return candidate, close[0]
    return None


def _hint(token: Any, before: Sequence[Any]) -> str | None:
    """A way out of the mistakes people make most."""
    opened = sum(t.type == NeelParser.LPAREN for t in before) - sum(
        t.type == NeelParser.RPAREN for t in before
    )
    if token is None:
        return f"{opened} `(` {'is' if opened == 1 else 'are'} not closed" if opened > 0 else None
    if token.type == NeelParser.RPAREN and opened == 0:
        return "this `)` closes nothing"
    name_fits = before and before[-1].type in (NeelParser.IDENTIFIER, NeelParser.LPAREN, NeelParser.COMMA)
    if opened > 0 and name_fits and token.text.upper() in RESERVED:
        return f"`{token.text}` is a word of the language; as a name it needs backticks"
    return None

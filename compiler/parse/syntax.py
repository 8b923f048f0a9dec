"""Tokens to a parse tree, and the parser's complaints to sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from antlr4 import BailErrorStrategy, CommonTokenStream, PredictionMode, Token
from antlr4.error.Errors import ParseCancellationException, RecognitionException
from antlr4.ListTokenSource import ListTokenSource

from neelc.errors import Diagnostic
from neelc.grammar.generated.NeelParser import NeelParser
from neelc.parse.expected import expected
from neelc.parse.problem import Problem
from neelc.parse.repairs import known_mistake, not_closed, repair, unclosed
from neelc.source import Span

_BEGINNINGS = (NeelParser.CREATE, NeelParser.PATTERN, NeelParser.SELECT)


def parse_tree(tokens: Sequence[Any], rule: str, end: int) -> Any:
    """The tree that `rule` of the grammar makes of the tokens, or `Problem`; the text ends at `end`."""
    try:
        return attempt(tokens, rule, PredictionMode.SLL)
    except ParseCancellationException:
        # SLL is quick and nearly always right; only LL has the last word on what is an error.
        try:
            return attempt(tokens, rule, PredictionMode.LL)
        except ParseCancellationException as cancelled:
            raise Problem(_complaint(cancelled.args[0], tokens, rule, end)) from None


def attempt(tokens: Sequence[Any], rule: str, mode: Any) -> Any:
    """As `parse_tree`, but the first error is a `ParseCancellationException`."""
    parser = NeelParser(CommonTokenStream(ListTokenSource(list(tokens))))
    parser.removeErrorListeners()
    parser._errHandler = BailErrorStrategy()
    parser._interp.predictionMode = mode
    return getattr(parser, rule)()


def _complaint(error: RecognitionException, tokens: Sequence[Any], rule: str, end: int) -> Diagnostic:
    at = _place(error, tokens)
    # Said first: the attempts to mend the text leave their marks in the parser's caches.
    where = f"where {expected(error)}"
    if at == len(tokens):
        opened = unclosed(tokens)
        hint = not_closed(opened) if opened > 0 else None
        return Diagnostic("NEEL1001", f"the statement ends {where}", Span(end, end + 1), hint)
    token = tokens[at]
    begins_statement = token.type in _BEGINNINGS and at > 0 and _reach(tokens[at:], rule) > len(tokens) - at
    mended = None if begins_statement else repair(tokens, at, lambda changed: _reach(changed, rule))
    if mended is not None and mended.culprit is not None:
        span = Span(mended.culprit.start, mended.culprit.stop + 1)
        return Diagnostic("NEEL1001", mended.message, span, mended.hint)
    hint = mended.hint if mended is not None else known_mistake(tokens, at, begins_statement)
    return Diagnostic("NEEL1001", f"found `{token.text}` {where}", Span(token.start, token.stop + 1), hint)


def _place(error: RecognitionException, tokens: Sequence[Any]) -> int:
    """Which token the parser stopped at; the number of tokens if it was the end."""
    token = error.offendingToken
    if token is None or token.type == Token.EOF:
        return len(tokens)
    return next(at for at, other in enumerate(tokens) if other is token)


def _reach(tokens: Sequence[Any], rule: str) -> int:
    """How many tokens are read before the first error; one more than there are if there is none."""
    try:
        attempt(tokens, rule, PredictionMode.LL)
    except ParseCancellationException as cancelled:
        return _place(cancelled.args[0], tokens)
    return len(tokens) + 1

"""Text to tokens: what no token begins with, how deep the text nests, where its statements end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from antlr4 import InputStream, Token

from neelc.errors import Diagnostic
from neelc.grammar.generated.NeelLexer import NeelLexer
from neelc.source import Span

# The generated parser recurses: about eight frames of Python for each level of parentheses.
MAX_NESTING = 60

_OPENING = {NeelLexer.LPAREN, NeelLexer.LBRACKET, NeelLexer.LBRACE, NeelLexer.EXCLUDE_OPEN, NeelLexer.CASE}
_CLOSING = {NeelLexer.RPAREN, NeelLexer.RBRACKET, NeelLexer.RBRACE, NeelLexer.EXCLUDE_CLOSE}
_PREFIX = {NeelLexer.BANG, NeelLexer.NOT, NeelLexer.MINUS, NeelLexer.PLUS, NeelLexer.TILDE, NeelLexer.EXISTS}


def tokens_of(text: str) -> list[Any]:
    """All tokens of the text, comments included, without the end mark."""
    lexer = NeelLexer(InputStream(text))
    lexer.removeErrorListeners()
    found: list[Any] = lexer.getAllTokens()
    return found


def stray_tokens(tokens: Sequence[Any]) -> list[Diagnostic]:
    """Characters that begin no token, and quotes that nothing closes."""
    found = []
    for token in tokens:
        if token.type == NeelLexer.UNFINISHED:
            what = "comment" if token.text.startswith("/*") else "quote"
            message = f"this {what} is not closed"
            found.append(Diagnostic("NEEL1002", message, Span(token.start, token.start + 1)))
        elif token.type == NeelLexer.STRAY:
            hint = "names with other characters than letters, digits and _ go between backticks"
            message = f"the character `{token.text}` has no meaning here"
            found.append(Diagnostic("NEEL1002", message, Span(token.start, token.stop + 1), hint))
    return found


def nesting_problem(tokens: Sequence[Any]) -> Diagnostic | None:
    """A diagnostic if the tokens nest deeper than `MAX_NESTING`."""
    depth = run = 0
    for token in tokens:
        run = run + 1 if token.type in _PREFIX else 0
        if token.type in _OPENING:
            depth += 1
        elif token.type in _CLOSING or token.type == NeelLexer.END:
            depth = max(0, depth - 1)
        if depth + run > MAX_NESTING:
            return Diagnostic(
                "NEEL1003",
                f"nested too deeply: more than {MAX_NESTING} levels",
                Span(token.start, token.stop + 1),
                "name the inner parts with CREATE QUERY and use those names",
            )
    return None


def statements_of(tokens: Sequence[Any]) -> list[list[Any]]:
    """The tokens of each statement: what stands between semicolons outside all brackets."""
    statements: list[list[Any]] = [[]]
    depth = 0
    for token in tokens:
        if token.channel != Token.DEFAULT_CHANNEL:
            continue
        if token.type in _OPENING and token.type != NeelLexer.CASE:
            depth += 1
        elif token.type in _CLOSING:
            depth = max(0, depth - 1)
        if token.type == NeelLexer.SEMI and depth == 0:
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]

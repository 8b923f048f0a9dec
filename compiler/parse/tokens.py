"""Text to tokens: what no token begins with, how deep the text nests, where its statements end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from antlr4 import InputStream, Token

from neelc.errors import Diagnostic
from neelc.grammar.generated.NeelLexer import NeelLexer
from neelc.parse.row_words import with_names
from neelc.source import Span

# The generated parser recurses: about eight frames of Python for each level of parentheses.
MAX_TOKENS = 50_000
"""Of a statement. Compiling one takes up to half a millisecond for each of them."""
MAX_NESTING = 60

# Characters of a number. A DECIMAL has 38 digits, the largest DOUBLE 309; Python reads 4,300.
MAX_DIGITS = 1000

# Text of another kind, a binary file say, has an error at every character; the first ones say it all.
MAX_STRAY = 20

_OPENING = {NeelLexer.LPAREN, NeelLexer.LBRACKET, NeelLexer.LBRACE, NeelLexer.EXCLUDE_OPEN, NeelLexer.CASE}
_CLOSING = {NeelLexer.RPAREN, NeelLexer.RBRACKET, NeelLexer.RBRACE, NeelLexer.EXCLUDE_CLOSE}
_BEGINNING = {NeelLexer.CREATE, NeelLexer.PATTERN, NeelLexer.SELECT}
_PREFIX = {NeelLexer.BANG, NeelLexer.NOT, NeelLexer.MINUS, NeelLexer.PLUS, NeelLexer.TILDE, NeelLexer.EXISTS}

_NESTING_TYPES = ("ARRAY", "MAP", "STRUCT")
_NOT_IN_TYPES = {NeelLexer.AND, NeelLexer.OR, NeelLexer.SEMI, NeelLexer.WHERE, NeelLexer.WITHIN}

# Signs of papers and word processors, and those of other languages.
_SPELLINGS = {
    "≤": "<=",
    "≥": ">=",
    "≠": "<>",
    "∧": "AND",
    "∨": "OR",
    "¬": "NOT or !",
    "−": "-",
    "–": "-",
    "×": "*",
}
_OTHER = {
    "#": "a comment begins with --",
    "@": "a parameter is written :name",
    "\\": "a string has no escapes",
}


def tokens_of(text: str) -> list[Any]:
    """All tokens of the text, comments included, without the end mark."""
    lexer = NeelLexer(InputStream(text))
    lexer.removeErrorListeners()
    found: list[Any] = lexer.getAllTokens()
    with_names(found)
    return found


def stray_tokens(tokens: Sequence[Any]) -> list[Diagnostic]:
    """Characters that begin no token, and quotes that nothing closes; at most `MAX_STRAY` of them."""
    found: list[Diagnostic] = []
    run: list[Any] = []
    for token in tokens:
        if token.type == NeelLexer.STRAY and (not run or token.start == run[-1].stop + 1):
            run.append(token)
            continue
        if run:
            found.append(_stray(run))
            run = [token] if token.type == NeelLexer.STRAY else []
        if token.type == NeelLexer.UNFINISHED:
            mark = token.text[0]
            what = {"/": "comment", "`": "backtick"}.get(mark, "quote")
            end = token.start + (2 if what == "comment" else 1)
            hint = f"inside a string, a quote is written twice: {mark * 2}" if what == "quote" else None
            found.append(Diagnostic("NEEL1002", f"this {what} is not closed", Span(token.start, end), hint))
        if len(found) >= MAX_STRAY:
            return found
    return [*found, _stray(run)] if run else found


def _stray(run: Sequence[Any]) -> Diagnostic:
    text = "".join(token.text for token in run[:20]) + ("..." if len(run) > 20 else "")
    # What cannot be seen is told by its number.
    shown = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in text)
    subject = f"the characters `{shown}` have" if len(run) > 1 else f"the character `{shown}` has"
    span = Span(run[0].start, run[-1].stop + 1)
    return Diagnostic("NEEL1002", f"{subject} no meaning here", span, _instead_of(text[0]))


def _instead_of(character: str) -> str | None:
    """What might have been meant by a character that begins no token."""
    if character.isalpha():
        return "names with other letters than a to z go between backticks"
    if character in "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u00b4":
        return "a string stands between straight quotes: 'text'"
    return f"write {_SPELLINGS[character]}" if character in _SPELLINGS else _OTHER.get(character)


def limit_problem(tokens: Sequence[Any]) -> Diagnostic | None:
    """A diagnostic if there are more tokens than `MAX_TOKENS`, if they nest deeper than `MAX_NESTING`, or if
    a number is longer than `MAX_DIGITS`: before anything is made of them."""
    if len(tokens) > MAX_TOKENS:
        message = f"a statement of {len(tokens):,} words and signs; the longest has {MAX_TOKENS:,}"
        hint = "put long lists of values into a table, and join it or select from it before the pattern"
        return Diagnostic("NEEL4090", message, Span(tokens[0].start, tokens[0].stop + 1), hint)
    depth = run = types = 0
    before = None
    for token in tokens:
        run = run + 1 if token.type in _PREFIX else 0
        types = _depth_of_types(types, token, before)
        if token.type in _OPENING:
            depth += 1
        elif token.type in _CLOSING or token.type == NeelLexer.END:
            depth = max(0, depth - 1)
        if depth + run + types > MAX_NESTING:
            return _too_deep(token, None if types else NESTED)
        if token.type == NeelLexer.NUMBER and token.stop - token.start >= MAX_DIGITS:
            count = token.stop - token.start + 1
            message = f"a number of {count:,} characters; the longest has {MAX_DIGITS:,}"
            return Diagnostic("NEEL1005", message, Span(token.start, token.stop + 1))
        before = token
    return None


def _depth_of_types(depth: int, token: Any, before: Any) -> int:
    """How many of ARRAY<, MAP< and STRUCT< are open behind a token. Elsewhere, < compares."""
    if token.type == NeelLexer.LT and before is not None and before.text.upper() in _NESTING_TYPES:
        return depth + 1
    if token.type == NeelLexer.GT:
        return max(0, depth - 1)
    return depth if token.type not in _NOT_IN_TYPES else 0


NESTED = "leave out parentheses, or name inner parts with CREATE QUERY and use those names"


def _too_deep(token: Any, hint: str | None) -> Diagnostic:
    message = f"nested too deeply: more than {MAX_NESTING} levels"
    return Diagnostic("NEEL1003", message, Span(token.start, token.stop + 1), hint)


def statements_of(tokens: Sequence[Any]) -> list[list[Any]]:
    """The tokens of each statement.

    A semicolon ends a statement outside all brackets, and before a word that only begins statements: so a
    bracket that is never closed spoils one statement, not the rest of the script.
    """
    visible = [token for token in tokens if token.channel == Token.DEFAULT_CHANNEL]
    statements: list[list[Any]] = [[]]
    depth = 0
    for token, after in zip(visible, [*visible[1:], None], strict=False):  # a text may hold no token at all
        if token.type in _OPENING and token.type != NeelLexer.CASE:
            depth += 1
        elif token.type in _CLOSING:
            depth = max(0, depth - 1)
        if token.type == NeelLexer.SEMI and (depth == 0 or (after is not None and after.type in _BEGINNING)):
            statements.append([])
            depth = 0
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def declared_name(tokens: Sequence[Any]) -> str | None:
    """The name that a statement declares as far as its tokens tell: "" for none, None if they do not tell."""
    kinds = [token.type for token in tokens]
    if kinds[0] in (NeelLexer.PATTERN, NeelLexer.SELECT, NeelLexer.LPAREN):
        last = kinds[-2:] == [NeelLexer.AS, NeelLexer.IDENTIFIER]
        return str(tokens[-1].text) if last else ""
    is_create = kinds[0] == NeelLexer.CREATE or kinds[1:2] in ([NeelLexer.STREAM], [NeelLexer.TYPE])
    names = (NeelLexer.IDENTIFIER, NeelLexer.QUOTED)
    return str(tokens[2].text) if is_create and len(tokens) > 2 and kinds[2] in names else None


def has_type_clause(tokens: Sequence[Any]) -> bool:
    """Whether a statement says TYPE BY."""
    kinds = [token.type for token in tokens]
    return (NeelLexer.TYPE, NeelLexer.BY) in pairwise(kinds)

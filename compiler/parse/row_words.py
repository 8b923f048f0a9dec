"""Words of the language that are names inside of MATCH_RECOGNIZE: what stands beside them decides.

The query around the clause is Spark's, where `pattern`, `define` or `window` are plain names of columns. A
word is a name where a value or a name is expected, if what follows can follow one: in `ORDER BY measures
MEASURES x AS y` the first is a name and the second begins a clause.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from antlr4 import Token

from neelc.grammar.generated.NeelLexer import NeelLexer as L
from neelc.ir.words import FREE_IN_ROWS

FREE = frozenset(getattr(L, word) for word in FREE_IN_ROWS) | {L.DIV, L.ILIKE, L.RLIKE, L.SUBSET, L.TO}
"""What can be a name: some reserved words, and those that are not, but stand before values themselves."""

_SIGNS = frozenset({
    L.PLUS, L.MINUS, L.STAR, L.SLASH, L.PERCENT, L.CONCAT, L.AMPERSAND, L.PIPE, L.CARET, L.TILDE, L.EQ, L.NE,
    L.LT, L.LE, L.GT, L.GE, L.NULL_SAFE, L.COMMA,
})  # fmt: skip
_BEFORE_VALUE = _SIGNS | {
    L.LPAREN, L.LBRACKET, L.COLON, L.AND, L.AS, L.BETWEEN, L.BY, L.CASE, L.DEFINE, L.DISTINCT, L.DIV, L.ELSE,
    L.FROM, L.IN, L.IS, L.LIKE, L.ILIKE, L.MEASURES, L.NOT, L.OR, L.RLIKE, L.SUBSET, L.THEN, L.TO, L.WHEN,
}  # fmt: skip
_BEHIND_VALUE = _SIGNS - {L.TILDE} | {
    L.RPAREN, L.LBRACKET, L.RBRACKET, L.DOT, L.DOTDOT, L.AND, L.OR, L.NOT, L.AS, L.ASC, L.DESC, L.NULLS, L.IS,
    L.IN, L.LIKE, L.ILIKE, L.RLIKE, L.BETWEEN, L.DIV, L.WHEN, L.THEN, L.ELSE, L.END, L.ESCAPE, L.FROM,
    L.PARTITION, L.ORDER, L.MEASURES, L.ONE, L.ALL, L.AFTER, L.PATTERN, L.WITHIN, L.SUBSET, L.DEFINE,
}  # fmt: skip


def with_names(tokens: Sequence[Any]) -> None:
    """Make names of the words that are names inside of MATCH_RECOGNIZE clauses.

    >>> from neelc.parse.tokens import tokens_of
    >>> text = "MATCH_RECOGNIZE (ORDER BY measures MEASURES A.order AS pattern PATTERN (A define+) DEFINE"
    >>> [token.text for token in tokens_of(text) if token.type == L.IDENTIFIER]
    ['measures', 'A', 'order', 'pattern', 'A', 'define']
    """
    visible = [token for token in tokens if token.channel == Token.DEFAULT_CHANNEL]
    for at, token in enumerate(visible):
        if token.type == L.MATCH_RECOGNIZE and _type(visible, at + 1) == L.LPAREN:
            _name(visible, at + 1)


def _name(tokens: Sequence[Any], opened: int) -> None:
    """Make names of words in the clause whose parenthesis is at `opened`."""
    depth, pattern = 1, 0
    for at in range(opened + 1, len(tokens)):
        token = tokens[at]
        depth += (token.type == L.LPAREN) - (token.type == L.RPAREN)
        if depth == 0 or token.type == L.SEMI:
            return
        pattern = pattern if depth >= pattern else 0
        if token.type == L.PATTERN and _type(tokens, at + 1) == L.LPAREN and not pattern:
            pattern = depth + 1
        elif (_type(tokens, at - 1) == L.DOT and token.text.isidentifier()) or (
            token.type in FREE and (pattern or (at > opened + 1 and _is_value(tokens, at)))
        ):
            token.type = L.IDENTIFIER


def _is_value(tokens: Sequence[Any], at: int) -> bool:
    """Whether a word stands where a value is expected, and before what can follow one."""
    if not _expects_value(tokens, at):
        return False
    behind = _type(tokens, at + 1)
    if tokens[at].type == L.INTERVAL and behind in (L.MINUS, L.PLUS):  # INTERVAL -5 DAY
        number, unit = _type(tokens, at + 2), _type(tokens, at + 3)
        return number != L.STRING and not (number == L.NUMBER and unit == L.IDENTIFIER)
    return behind in _BEHIND_VALUE


def _expects_value(tokens: Sequence[Any], at: int) -> bool:
    """Whether a value, or a name, is expected there: not after a value, nor where `*` is one, nor between
    NOT and the operator that it negates."""
    before = _type(tokens, at - 1)
    if before in (L.STAR, L.NOT):
        is_after_value = not _expects_value(tokens, at - 1)
        return is_after_value and _type(tokens, at - 2) != L.DOT if before == L.STAR else not is_after_value
    is_skip = before in (L.FIRST, L.LAST) and _type(tokens, at - 2) == L.TO
    return is_skip or before in _BEFORE_VALUE


def _type(tokens: Sequence[Any], at: int) -> int:
    """Of no token, the type of none."""
    return int(tokens[at].type) if 0 <= at < len(tokens) else Token.INVALID_TYPE

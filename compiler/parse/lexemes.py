"""The tokens of a text as plain values, for those who look at texts that are not finished."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from neelc.grammar.generated.NeelLexer import NeelLexer
from neelc.ir.words import RESERVED
from neelc.parse.expected import is_word
from neelc.parse.tokens import statements_of, tokens_of
from neelc.source import Span

NAME, SOFT, WORD, STRING, NUMBER, MARK, COMMENT, STRAY = (
    "name", "soft", "word", "string", "number", "mark", "comment", "stray",
)  # fmt: skip

_KINDS = {
    NeelLexer.IDENTIFIER: NAME,
    NeelLexer.QUOTED: NAME,
    NeelLexer.STRING: STRING,
    NeelLexer.BINARY: STRING,
    NeelLexer.NUMBER: NUMBER,
    NeelLexer.COMMENT: COMMENT,
    NeelLexer.STRAY: STRAY,
    NeelLexer.UNFINISHED: STRAY,
}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Lexeme:
    """A token: a NAME, a SOFT word that can be one, a WORD, STRING, NUMBER, MARK, COMMENT or STRAY."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def is_name(self) -> bool:
        return self.kind in (NAME, SOFT)

    def says(self, *words: str) -> bool:
        """Whether it is one of these words, in whatever case, or one of these marks."""
        return self.kind in (SOFT, WORD, MARK) and self.text.upper() in words


def lexemes(text: str) -> tuple[Lexeme, ...]:
    """All tokens, comments included.

    >>> [(found.kind, found.text) for found in lexemes("WITHIN 5 -- x")]
    [('word', 'WITHIN'), ('number', '5'), ('comment', '-- x')]
    """
    return _plain(tokens_of(text))


def statement_lexemes(text: str) -> tuple[tuple[Lexeme, ...], ...]:
    """The tokens of each statement, as `neelc.parse.read` divides them, without semicolons and comments."""
    return tuple(_plain(tokens) for tokens in statements_of(tokens_of(text)))


def _plain(tokens: Iterable[Any]) -> tuple[Lexeme, ...]:
    return tuple(Lexeme(_kind(token), token.text, token.start, token.stop + 1) for token in tokens)


def _kind(token: Any) -> str:
    if is_word(token.type):
        return WORD if token.text.upper() in RESERVED else SOFT
    return _KINDS.get(token.type, MARK)


def closing(found: Sequence[Lexeme]) -> str:
    """The brackets that would close those that are open.

    >>> closing(lexemes("SEQ(A a, B+ b[] WHERE a.x IN (1"))
    '))'
    """
    open_: list[str] = []
    for lexeme in found:
        if lexeme.kind == MARK and lexeme.text in _CLOSING:
            open_.append(_CLOSING[lexeme.text])
        elif lexeme.kind == MARK and open_ and lexeme.text == open_[-1]:
            open_.pop()
    return "".join(reversed(open_))

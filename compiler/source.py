"""Source text and positions in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, order=True)
class Span:
    """The characters `start` up to, not including, `end` of a source text.

    >>> Span(2, 5) | Span(9, 11)
    Span(start=2, end=11)
    """

    start: int
    end: int

    def __or__(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class Position:
    """A place as people count: line and column start at 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Source:
    r"""A named text.

    >>> source = Source("PATTERN SEQ(A a)\nWHERE b.x = 1", "query")
    >>> source.position(23)
    Position(line=2, column=7)
    >>> source.line(2)
    'WHERE b.x = 1'
    """

    text: str
    name: str = "query"

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return (0, *(i + 1 for i, c in enumerate(self.text) if c == "\n"))

    def position(self, offset: int) -> Position:
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def line(self, number: int) -> str:
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")

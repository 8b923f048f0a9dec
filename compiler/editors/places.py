"""Places as editors count them: lines from 0, and in a line units of an encoding from 0."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class Places:
    r"""The places of a text, in `units` of UTF-16 unless the editor wants others.

    >>> places = Places("SELECT '\U0001f40d' AS snake\r\nFROM zoo")
    >>> places.place(10), places.place(21), places.offset(0, 11), places.offset(1, 5)
    ((0, 11), (1, 0), 10, 26)

    >>> Places("'\U0001f40d'", "utf-8").place(2), Places("'\U0001f40d'", "utf-32").place(2)
    ((0, 5), (0, 2))

    Beyond the end of a line or of the text is its end:

    >>> places.offset(0, 99), places.offset(7, 0)
    (19, 29)
    """

    text: str
    units: str = "utf-16"

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return (0, *(end.end() for end in _LINE_END.finditer(self.text)))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and unit of a character."""
        offset = min(max(0, offset), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        return line, self._count(self.text[self._starts[line] : offset])

    def offset(self, line: int, unit: int) -> int:
        """The character at a line and a unit; inside of a pair of units, the one that they stand for."""
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = _LINE_END.search(self.text, start)
        for at in range(start, end.start() if end else len(self.text)):
            if unit <= 0:
                return at
            unit -= self._count(self.text[at])
        return end.start() if end else len(self.text)

    def _count(self, text: str) -> int:
        if self.units == "utf-8":
            return len(text.encode(errors="surrogatepass"))
        return len(text) + (sum(one > "\uffff" for one in text) if self.units == "utf-16" else 0)

"""Tables as lines of text: cells that stand two or more spaces, or a tab, apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A quote opens a string where a value can begin, so that O'Neil is a plain cell.
_CELL = re.compile(r"(?! )(?:(?<![^\s\[{(,])'(?:[^'\\]|''|\\.)*'|[^\s]|[ ](?![ \t]|$))+(?<! )")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell.

    >>> aligned([["a", "last_b"], ["10", "3"]])
    ['a   last_b', '10  3']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def split(line: str) -> list[tuple[int, str]]:
    """The cells of a line with the place each begins at.

    >>> split("1   'a  b'  [x, 'y  z']")
    [(0, '1'), (4, "'a  b'"), (12, "[x, 'y  z']")]
    """
    return [(found.start(), found[0]) for found in _CELL.finditer(line)]

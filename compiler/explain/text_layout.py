"""Lines of at most `WIDTH` columns: paragraphs, tables, titles."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

WIDTH = 100


def title(text: str, line: str = "═") -> list[str]:
    return [text, line * min(len(text), WIDTH)]


def folded(text: str, first: str = "", later: str | None = None, width: int = WIDTH) -> list[str]:
    """The lines of a text, each cut at spaces where it is too long; `first` stands before the first one.

    >>> folded("one two", "  ")
    ['  one two']
    >>> [len(line) for line in folded("word " * 30, "  - ", "    ")]
    [98, 58]
    """
    following = " " * len(first) if later is None else later
    found: list[str] = []
    for line in text.split("\n"):
        own = line[: len(line) - len(line.lstrip())]  # what is broken stays below where it began
        begin = following if found else first
        found += textwrap.wrap(
            line.strip(),
            width,
            initial_indent=begin + own,
            subsequent_indent=following + own + ("  " if own or "\n" in text else ""),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [begin.rstrip()]
    return found


def labelled(pairs: Iterable[tuple[str, str]], before: str = "", width: int = WIDTH) -> Iterator[str]:
    """Pairs of a label and a text, the texts below each other; a label that comes again is not repeated.

    >>> print(*labelled([("only", "x > 1"), ("only", "y > 1"), ("columns", "x, y")], "  "), sep="\\n")
      only     x > 1
               y > 1
      columns  x, y
    """
    listed = list(pairs)
    widest = max((len(label) for label, _ in listed), default=0)
    last = None
    for label, text in listed:
        shown = "" if label == last else label
        yield from folded(text, f"{before}{shown.ljust(widest)}  ", before + " " * (widest + 2), width)
        last = label


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Cells below each other; all columns but the first `left` ones end at the same place.

    >>> print(*table(["what", "work"], [["scan", "1,000"], ["sort", "5"]]), sep="\\n")
    what   work
    ────  ─────
    scan  1,000
    sort      5
    """
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
    lines = [header, ["─" * width for width in widths], *rows]
    return [
        "  ".join(_cell(row[at], widths[at], at < left) for at in range(len(row))).rstrip() for row in lines
    ]


def _cell(text: str, width: int, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


def indented(lines: Iterable[str], by: str = "  ") -> list[str]:
    return [by + line if line else line for line in lines]

"""The measurements as one picture: a panel for each figure, a bar for each side, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bench.row import Row

from neelc.explain.html import escape, tag

COLOURS = ("#3b6ea5", "#d9822b", "#5a9367", "#8c6bb1")
WIDTH, HEIGHT = 380.0, 210.0
"""Of the part of a panel that has the bars."""
LEFT, TOP, BOTTOM, GAP = 60.0, 46.0, 56.0, 24.0
COLUMNS = 2
STYLE = """
svg { background: #fff; font: 12px sans-serif; fill: #222 }
.title { font-weight: bold; font-size: 14px }
.grid { stroke: #ddd }
.axis { text-anchor: end }
.place, .ratio { text-anchor: middle }
.ratio { fill: #666 }
"""


def svg(rows: Sequence[Row]) -> str:
    """A picture of the rows that belong to figures."""
    figures: dict[str, list[Row]] = {}
    for row in rows:
        if row.figure:
            figures.setdefault(row.figure, []).append(row)
    panel = (LEFT + WIDTH + GAP, TOP + HEIGHT + BOTTOM)
    lines = -(-len(figures) // COLUMNS)
    wide, high = COLUMNS * panel[0] + GAP, lines * panel[1] + GAP
    drawn = (
        tag("g", *_panel(name, found), transform=f"translate({x} {y})")
        for number, (name, found) in enumerate(figures.items())
        for x, y in [(number % COLUMNS * panel[0], number // COLUMNS * panel[1])]
    )
    head = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {wide:.0f} {high:.0f}"}
    return (
        tag("svg", tag("style", escape(STYLE)), *drawn, **head, width=round(wide), height=round(high)) + "\n"
    )


def sides(rows: Sequence[Row]) -> list[str]:
    """The names of the bars, in the order in which they first occur."""
    return list(dict.fromkeys(name for row in rows for name in row.numbers if name != "ratio"))


def decades(rows: Sequence[Row]) -> tuple[int, int]:
    """The powers of ten that hold all seconds.

    >>> decades([Row("", "", numbers={"ours": 0.2, "theirs": 31})])
    (-1, 2)
    """
    values = [max(row.numbers[name], 1e-3) for row in rows for name in row.numbers if name != "ratio"]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _panel(title: str, rows: Sequence[Row]) -> Iterator[str]:
    names = sides(rows)
    low, high = decades(rows)
    yield tag("text", escape(title), x=LEFT, y=20, class_="title")
    for at, name in enumerate(names):
        x = LEFT + at * 110
        yield tag("rect", x=x, y=28, width=10, height=10, fill=COLOURS[at % len(COLOURS)])
        yield tag("text", escape(name), x=x + 14, y=37)
    for power in range(low, high + 1):
        y = _height(10.0**power, low, high)
        yield tag("line", x1=LEFT, x2=LEFT + WIDTH, y1=y, y2=y, class_="grid")
        yield tag("text", escape(f"{10.0**power:g} s"), x=LEFT - 6, y=y + 4, class_="axis")
    step = WIDTH / len(rows)
    for at, row in enumerate(rows):
        yield from _bars(row, names, LEFT + at * step, step, (low, high))


def _bars(row: Row, names: Sequence[str], left: float, step: float, decade: tuple[int, int]) -> Iterator[str]:
    bar = min(step * 0.8 / len(names), 40.0)
    begin = left + (step - bar * len(names)) / 2
    base = TOP + HEIGHT
    for at, name in enumerate(names):
        if name in row.numbers:
            top = _height(row.numbers[name], *decade)
            colour = COLOURS[at % len(COLOURS)]
            shown = tag("title", escape(f"{name}: {row.numbers[name]:g} s"))
            x = begin + at * bar
            drawn = tag("rect", x=x, y=top, width=bar - 2, height=max(base - top, 0.5), fill=colour)
            yield tag("g", shown, drawn)
    middle = left + step / 2
    yield tag("text", escape(row.at), x=middle, y=base + 18, class_="place")
    if "ratio" in row.numbers:
        yield tag("text", escape(f"{row.numbers['ratio']:.3g}x"), x=middle, y=base + 34, class_="ratio")


def _height(seconds: float, low: int, high: int) -> float:
    part = (math.log10(max(seconds, 10.0**low)) - low) / (high - low)
    return TOP + HEIGHT * (1 - part)

"""Bars to compare what costs what, each made of pieces with a colour for each kind of work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neelc.explain import numbers
from neelc.explain.tags import escape, tag

COLOURS = 12
"""Of the style sheet: c0, c1 and so on."""
LONGEST = 8.0
"""A bar so many times as long as that of the chosen form is cut: else nothing of that would be seen."""


@dataclass(frozen=True)
class Bar:
    """`remark` stands behind the length; a `soft` bar is there for comparison only."""

    name: str
    length: float
    pieces: Mapping[str, float]
    remark: str = ""
    soft: bool = False


def bars(lines: Sequence[Bar], chosen: float) -> str:
    """The bars below each other; `chosen` is the length of the one that the others are compared with."""
    names = [name for name in _names(lines) if any(line.pieces.get(name, 0) > 0 for line in lines)]
    longest = min(max(line.length for line in lines), LONGEST * chosen) or 1.0
    keys = [tag("span", tag("i", class_=_colour(at)), escape(name)) for at, name in enumerate(names)]
    drawn = [_bar(line, names, longest) for line in lines]
    return tag("div", *drawn, class_="bars") + tag("p", *keys, class_="legend")


def _names(lines: Sequence[Bar]) -> list[str]:
    return list(dict.fromkeys(name for line in lines for name in line.pieces))


def _colour(at: int) -> str:
    return f"c{at % COLOURS}"


def _bar(line: Bar, names: Sequence[str], longest: float) -> str:
    """Its pieces in proportion; a bar that is too long is cut, and looks like it."""
    scale = 100 / max(line.length, longest)
    pieces = [
        tag(
            "span",
            class_=_colour(at),
            style=f"width:{share * scale:.3f}%",
            title=f"{name}: {numbers.amount(share)}",
        )
        for at, name in enumerate(names)
        if (share := line.pieces.get(name, 0)) > 0
    ]
    return (
        tag("span", escape(line.name), class_="name baseline" if line.soft else "name")
        + tag("span", *pieces, class_="bar cut" if line.length > longest else "bar")
        + tag("span", numbers.amount(line.length), line.remark, class_="value")
    )

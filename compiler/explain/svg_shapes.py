"""The pieces of a picture: states, edges with their texts, loops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from neelc.explain.layered import Box, Point
from neelc.explain.tags import escape, number, tag

CHARACTER, LINE = 7.3, 16.0
"""Width of a character and height of a line, in the font of the page's style sheet."""
LOOP = 26.0
"""Height of a loop above or below a state, without its text."""


def width(lines: Sequence[str]) -> float:
    return CHARACTER * max(map(len, lines), default=0)


def text(lines: Sequence[str], x: float, y: float, kind: str = "plain") -> str:
    """Lines below each other, the first one at the height y."""
    spans = [
        tag("tspan", escape(line.strip()), x=x + CHARACTER * _indent(line), y=y + LINE * at)
        for at, line in enumerate(lines)
    ]
    return tag("text", *spans, class_=kind) if lines else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def frame(x: float, y: float, box: Box, rounding: float, kind: str = "frame") -> str:
    """A rectangle around a point."""
    return tag(
        "rect",
        class_=kind,
        x=x - box.width / 2,
        y=y - box.height / 2,
        width=box.width,
        height=box.height,
        rx=rounding,
    )


def curve(points: Sequence[Point]) -> str:
    """A line that leaves and arrives level.

    >>> curve([(0, 0), (10, 20)])
    'M0 0C5 0 5 20 10 20'
    """
    path = f"M{_at(*points[0])}"
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (x1 + x2) / 2
        path += f"C{_at(middle, y1)} {_at(middle, y2)} {_at(x2, y2)}"
    return path


def loop(x: float, y: float, side: int) -> str:
    """A line from a state to itself, above it (-1) or below it (1)."""
    far = y + side * LOOP * 1.25
    return f"M{_at(x - 12, y)}C{_at(x - 22, far)} {_at(x + 22, far)} {_at(x + 12, y)}"


def _at(x: float, y: float) -> str:
    return f"{number(x)} {number(y)}"


def arrow_head(name: str) -> str:
    return (
        f'<defs><marker id="{escape(name)}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker></defs>'
    )

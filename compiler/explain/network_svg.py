"""A network of operators as a picture: streams at the bottom, the result on top."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from neelc.explain import numbers
from neelc.explain.explanation import PlanNode
from neelc.explain.layered import Box, Layout, Point, layered
from neelc.explain.svg_shapes import CHARACTER, LINE, arrow_head, frame, text, width
from neelc.explain.tags import escape, number, tag

WIDEST = 46
"""Characters of a line; what is longer goes on below."""
PADDING, MARGIN = 12.0, 12.0


@dataclass
class _Drawn:
    """An operator in the picture. A stream that is read several times is drawn once."""

    kind: str
    title: str
    events: float | None
    details: list[tuple[str, str]] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        labels = max((len(label) for label, _ in self.details), default=0)
        found: list[str] = []
        last = ""
        for label, said in self.details:
            head = ("" if label == last else label).ljust(labels + 2)
            wrapped = textwrap.wrap(
                said, WIDEST - len(head), break_long_words=True, break_on_hyphens=False
            ) or [""]
            found += [head + wrapped[0], *(" " * (labels + 4) + line for line in wrapped[1:])]
            last = label
        return found

    @property
    def flow(self) -> str:
        return "" if self.events is None else f"{numbers.amount(self.events)} valid"

    @property
    def box(self) -> Box:
        # The number stands beside the title, in a smaller font.
        head = width([self.title]) * 1.08 + width([self.flow]) + 3 * PADDING
        wide = max(head, width(self.lines) + 2 * PADDING, 150.0)
        return Box(wide, LINE * (1 + len(self.lines)) + 2 * PADDING + (4 if self.lines else 0))


def network_svg(plan: PlanNode, name: str, title: str) -> str:
    """Lines lead from what is read to who reads it. `name` must differ from that of other pictures on the
    page, as for automata."""
    drawn, links = _graph(plan)
    boxes = {key: one.box for key, one in drawn.items()}
    # Layers run from left to right: a picture that rises is one that lies on its side. The result comes
    # first, so that every stream stands close to what reads it.
    found = layered({key: Box(box.height, box.width) for key, box in boxes.items()}, links, 34, 26)
    wide, high = round(found.height + 2 * MARGIN), round(found.width + 2 * MARGIN)
    arrow = f"flow-{name}"
    shapes = (arrow_head(arrow), *_edges(found, boxes, links, arrow), *_operators(found, drawn))
    return tag(
        "svg",
        tag("title", escape(title)),
        tag("g", *shapes, transform=f"translate({MARGIN:.0f} {MARGIN:.0f})"),
        class_="network",
        role="img",
        viewBox=f"0 0 {wide} {high}",
        width=wide,
        height=high,
    )


def _graph(plan: PlanNode) -> tuple[dict[str, _Drawn], list[tuple[str, str]]]:
    drawn: dict[str, _Drawn] = {}
    links: list[tuple[str, str]] = []

    def add(node: PlanNode) -> str:
        key = node.title if node.kind == "scan" else f"operator {len(drawn)}"
        one = drawn.setdefault(key, _Drawn(node.kind, node.title, node.rows))
        one.details += [detail for detail in node.details if detail not in one.details]
        for input in node.inputs:
            link = (key, add(input))
            links.extend([link] if link not in links else [])
        return key

    add(plan)
    return drawn, links


def _turned(point: Point) -> Point:
    return point[1], point[0]


def _operators(found: Layout, drawn: dict[str, _Drawn]) -> Iterator[str]:
    for key, one in drawn.items():
        (x, y), box = _turned(found.centres[key]), one.box
        left, top = x - box.width / 2, y - box.height / 2
        first = top + PADDING + LINE / 2
        yield tag(
            "g",
            frame(x, y, box, 9, "agent"),
            tag("rect", class_="stripe", x=left, y=top + 7, width=5, height=box.height - 14, rx=2.5),
            text([one.title], left + PADDING, first, "title"),
            text([one.flow], left + box.width - PADDING, first, "valid"),
            *_lines(one, left + PADDING, first + LINE + 4),
            class_=f"operator plan-{one.kind}",
        )


def _lines(one: _Drawn, left: float, top: float) -> Iterator[str]:
    """Labels are softer than what they label: each its own text."""
    labels = max((len(label) for label, _ in one.details), default=0)
    for at, line in enumerate(one.lines):
        label, said = line[: labels + 2], line[labels + 2 :]
        yield text([label], left, top + LINE * at, "soft") if label.strip() else ""
        yield text([said], left + CHARACTER * (labels + 2), top + LINE * at)


def _edges(
    found: Layout, boxes: dict[str, Box], links: Sequence[tuple[str, str]], arrow: str
) -> Iterator[str]:
    for (reader, read), path in zip(links, found.paths, strict=True):
        first, *bends, last = (_turned(point) for point in reversed(path))
        first = (first[0], _turned(found.centres[read])[1] - boxes[read].height / 2)
        last = (last[0], _turned(found.centres[reader])[1] + boxes[reader].height / 2)
        yield tag("path", d=_rising([first, *bends, last]), class_="flow", marker_end=f"url(#{arrow})")


def _rising(points: Sequence[Point]) -> str:
    """A line that leaves and arrives upright.

    >>> _rising([(0, 20), (10, 0)])
    'M0 20C0 10 10 10 10 0'
    """
    path = f"M{_at(*points[0])}"
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (y1 + y2) / 2
        path += f"C{_at(x1, middle)} {_at(x2, middle)} {_at(x2, y2)}"
    return path


def _at(x: float, y: float) -> str:
    return f"{number(x)} {number(y)}"

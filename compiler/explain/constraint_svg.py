"""The constraint graph of a temporal pattern as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from neelc.explain.constraint_graph import ConstraintGraph, GraphRelation, GraphSymbol
from neelc.explain.html import escape, tag
from neelc.explain.svg import LINE, MARGIN, Box, GraphLayout, arrow_head, curve, frame, layered, text, width

# As a picture: symbols from left to right in the order of joins, the relations on the edges between them.

_SYMBOL_WIDTH = 34
PADDING = 10.0


def constraint_svg(graph: ConstraintGraph, name: str) -> str:
    """The picture; `name` must differ from that of other pictures on the page, as for automata."""
    picture = _ConstraintPicture(graph, f"relation-{name}")
    found = layered(picture.boxes, picture.links, 30, 22)
    wide, high = round(found.width + 2 * MARGIN), round(found.height + 2 * MARGIN)
    shapes = (arrow_head(picture.arrow), *picture.lines(found), *picture.symbols(found))
    return tag(
        "svg",
        tag("title", escape(f"constraint graph: {graph.title}")),
        tag("g", *shapes, transform=f"translate({MARGIN:.0f} {MARGIN:.0f})"),
        class_="constraints",
        role="img",
        viewBox=f"0 0 {wide} {high}",
        width=wide,
        height=high,
    )


class _ConstraintPicture:
    """What is to be drawn, and how large each piece is. A relation leads in the picture from what is joined
    first to what is joined later; its arrow, from `left` to `right`."""

    def __init__(self, graph: ConstraintGraph, arrow: str) -> None:
        self.graph, self.arrow = graph, arrow
        self.order = [one.name for one in graph.symbols]
        self.texts = {one.name: _symbol_lines(one) for one in graph.symbols}
        self.boxes = {name: _box([self._title(name), *lines]) for name, lines in self.texts.items()}
        self.links: list[tuple[str, str]] = []
        for number, edge in enumerate(graph.relations):
            self.boxes[_label_name(number)] = _box(_edge_lines(edge), 7, 4)
            first, later = sorted((edge.left, edge.right), key=self.order.index)
            self.links += [(first, _label_name(number)), (_label_name(number), later)]

    def _title(self, name: str) -> str:
        return self.graph.symbols[self.order.index(name)].title

    def lines(self, found: GraphLayout) -> Iterator[str]:
        """The edges, and then their texts: a text may stand on an edge that is not its own."""
        paths = iter(found.paths)
        for edge in self.graph.relations:
            kind = "relation absent" if self.graph.is_absent(edge) else "relation"
            is_forward = self.order.index(edge.left) < self.order.index(edge.right)
            arrow = f"url(#{self.arrow})"
            markers: list[dict[str, str]] = [{}, {"marker_end": arrow}]
            if not is_forward:
                markers = [{"marker_start": arrow}, {}]
            for marker in markers:
                yield tag("path", d=curve(next(paths)), class_=kind, **marker)
        for number, edge in enumerate(self.graph.relations):
            lines, name = _edge_lines(edge), _label_name(number)
            (x, y), box = found.centres[name], self.boxes[name]
            left, top = x - box.width / 2 + 7, y - box.height / 2 + LINE / 2 + 4
            kind = "relation absent" if self.graph.is_absent(edge) else "relation"
            named = text(lines[: len(edge.lines)], left, top, "named")
            decided = text(lines[len(edge.lines) :], left, top + LINE * len(edge.lines), "soft")
            yield tag("g", frame(x, y, box, 5), named, decided, class_=kind)

    def symbols(self, found: GraphLayout) -> Iterator[str]:
        for symbol in self.graph.symbols:
            (x, y), box = found.centres[symbol.name], self.boxes[symbol.name]
            kind = "absent" if symbol.place is None else "present"
            rounding = box.height / 2 if symbol.kind == "point" else 6.0
            left, top = x - box.width / 2 + PADDING + 8, y - box.height / 2 + PADDING + LINE / 2
            yield tag(
                "g",
                tag("title", escape(f"{symbol.name} AS {symbol.definition}")),
                frame(x, y, box, min(rounding, 22.0), "body"),
                text([symbol.title], left, top, "title"),
                text(self.texts[symbol.name], left, top + LINE + 2, "soft"),
                class_=f"symbol {symbol.kind} {kind}",
            )


def _box(lines: Sequence[str], across: float = PADDING + 8, down: float = PADDING) -> Box:
    return Box(max(width(lines) + 2 * across, 70.0), LINE * len(lines) + 2 * down)


def _label_name(number: int) -> str:
    """The name of an edge's text among the boxes; no symbol has a blank in its name."""
    return f"relation {number}"


def _symbol_lines(symbol: GraphSymbol) -> list[str]:
    lines = textwrap.wrap(symbol.definition, _SYMBOL_WIDTH, break_on_hyphens=False)
    if len(lines) > 5:
        lines = [*lines[:4], "..."]
    waits = [f"for each {' and '.join(symbol.waits_for)}"] if symbol.waits_for else []
    return [*lines, *waits, *(["a point"] if symbol.kind == "point" else [])]


def _edge_lines(edge: GraphRelation) -> list[str]:
    decided = [f"decided by {' or '.join(edge.decided_by)}"] if edge.decided_by else []
    return [*edge.lines, *decided]

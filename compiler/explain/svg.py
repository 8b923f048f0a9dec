"""An automaton as a picture that needs nothing but a browser."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from neelc.explain.graphs import automaton_title, edge_lines
from neelc.explain.layered import Box, Layout, Link, Point, layered
from neelc.explain.svg_shapes import LINE, LOOP, arrow_head, curve, frame, loop, text, width
from neelc.explain.tags import escape, tag
from neelc.plan.automaton import Automaton, Edge, State

PILL = 30.0
"""Height of a state."""
RING = 4.0
"""How far the second line of a state is out."""
MARGIN = 12.0


def automaton_svg(automaton: Automaton, name: str) -> str:
    """States from left to right, what is judged written on the way from one to the next.

    `name` must differ from that of other pictures on the page: a browser draws no arrow heads that are
    defined in a hidden one.
    """
    picture = _Picture(automaton, f"arrow-{name}")
    found = layered(picture.boxes, picture.links)
    wide, high = round(found.width + 2 * MARGIN), round(found.height + 2 * MARGIN)
    shapes = (arrow_head(picture.arrow), *picture.edges(found), *picture.states(found))
    return tag(
        "svg",
        tag("title", escape(automaton_title(automaton))),
        tag("g", *shapes, transform=f"translate({MARGIN:.0f} {MARGIN:.0f})"),
        class_="automaton",
        role="img",
        viewBox=f"0 0 {wide} {high}",
        width=wide,
        height=high,
    )


@dataclass(frozen=True)
class _Joint:
    """Edges with the same text to the same state: written once. What leads `back` is laid out as if it led
    forward, so that `left` and `right` are where its ends stand."""

    lines: tuple[str, ...]
    kind: str
    left: tuple[str, ...]
    right: str
    back: bool = False


class _Picture:
    """What is to be drawn, and how large each piece is."""

    def __init__(self, automaton: Automaton, arrow: str) -> None:
        self.automaton, self.arrow = automaton, arrow
        self.loops: dict[tuple[int, str], list[str]] = {}
        for edge in automaton.edges:
            if edge.source == edge.target:
                self.loops.setdefault((edge.source, edge.kind), []).extend(_label(edge))
        self.joints = list(_joints(automaton))
        self.boxes = {_name(state): self._state_box(state) for state in automaton.states}
        self.halves = {_name(s): _half(s) + (RING if s.accepts else 0) for s in automaton.states}
        self.links: list[Link] = []
        for at, joint in enumerate(self.joints):
            self.boxes[_text(at)] = Box(width(joint.lines) + 14, LINE * len(joint.lines) + 8)
            self.links += [*((state, _text(at)) for state in joint.left), (_text(at), joint.right)]

    def _loop(self, state: State, kind: str) -> list[str]:
        return self.loops.get((state.number, kind), [])

    def _state_box(self, state: State) -> Box:
        """A state with its loops: another element above it, what is passed over below it."""
        again, ignored, checks = self._loop(state, "again"), self._loop(state, "ignore"), _checks(state)
        above = LOOP + LINE * len(again) if again else 0
        below = (LOOP + LINE if ignored else 0) + LINE * len(checks)
        # As high above as below, so that edges meet the state itself.
        return Box(max(2 * _half(state), width([*again, *checks])) + 8, PILL + 2 * max(above, below))

    def states(self, found: Layout) -> Iterator[str]:
        for state in self.automaton.states:
            x, y = found.centres[_name(state)]
            kind = "begin" if state.number == 0 else "accept" if state.accepts else "wait"
            yield tag("g", *self._around(state, x, y), *_body(state, x, y), class_=f"state {kind}")

    def _around(self, state: State, x: float, y: float) -> Iterator[str]:
        """The loops of a state and what is checked in it."""
        if again := self._loop(state, "again"):
            top = y - PILL / 2
            yield self._line(loop(x, top, -1), "end", "loop again")
            yield text(again, x, top - LOOP - LINE * (len(again) - 0.5), "again")
        low = y + PILL / 2
        if ignored := self._loop(state, "ignore"):
            yield self._line(loop(x, low, 1), "end", "loop ignore")
            yield text(ignored, x, low + LOOP + LINE / 2, "ignore")
            low += LOOP + LINE
        yield text(_checks(state), x, low + LINE / 2, "check")

    def _line(self, path: str, head: str | bool, kind: str) -> str:
        """A line; `head` says at which end it has an arrow head, if at any."""
        heads = {f"marker_{head}": f"url(#{self.arrow})"} if head else {}
        return tag("path", d=path, class_=kind, **heads)

    def edges(self, found: Layout) -> Iterator[str]:
        """All lines first: a text may stand on one that is not its own."""
        paths = iter(found.paths)
        for joint in self.joints:
            # What leads back meets its states lower, so that it can be told from what leads on.
            aside = 8.0 if joint.back else 0.0
            for state in joint.left:
                start = self._side(state, found, 1, aside)
                yield self._line(curve([start, *next(paths)[1:]]), joint.back and "start", joint.kind)
            end = self._side(joint.right, found, -1, aside)
            yield self._line(curve([*next(paths)[:-1], end]), not joint.back and "end", joint.kind)
        for at, joint in enumerate(self.joints):
            box, (x, y) = self.boxes[_text(at)], found.centres[_text(at)]
            left, top = x - box.width / 2 + 7, y - box.height / 2 + LINE / 2 + 4
            yield tag("g", frame(x, y, box, 5), text(joint.lines, left, top), class_=f"edge {joint.kind}")

    def _side(self, state: str, found: Layout, side: int, aside: float) -> Point:
        """Where a line meets a state: on its left (-1) or its right (1)."""
        x, y = found.centres[state]
        return x + side * (self.halves[state] - aside / 3), y + aside


def _body(state: State, x: float, y: float) -> Iterator[str]:
    if state.accepts:
        ring = Box(2 * (_half(state) + RING), PILL + 2 * RING)
        yield frame(x, y, ring, ring.height / 2, "ring")
    yield frame(x, y, Box(2 * _half(state), PILL), PILL / 2, "body")
    yield text([state.label], x, y, "label")


def _name(state: State) -> str:
    return str(state.number)


def _text(at: int) -> str:
    """The name of an edge's text among the boxes."""
    return f"text {at}"


def _half(state: State) -> float:
    """Half the width of a state."""
    return max(width([state.label]) + 28, 64.0) / 2


def _label(edge: Edge) -> list[str]:
    return list(edge_lines(edge, 32))


def _checks(state: State) -> list[str]:
    wrapped = (textwrap.wrap(f"if {check}", 32, subsequent_indent="  ") for check in state.checks)
    return [line for lines in wrapped for line in lines]


def _joints(automaton: Automaton) -> Iterator[_Joint]:
    between = [edge for edge in automaton.edges if edge.source != edge.target]
    backward = set(_backward(automaton.states, between))
    groups: dict[tuple[int, tuple[str, ...], str], list[str]] = {}
    for at, edge in enumerate(between):
        if at not in backward:
            groups.setdefault((edge.target, tuple(_label(edge)), edge.kind), []).append(str(edge.source))
    for (target, lines, kind), sources in groups.items():
        yield _Joint(lines, kind, tuple(sources), str(target))
    for edge in (between[at] for at in sorted(backward)):
        yield _Joint(tuple(_label(edge)), edge.kind, (str(edge.target),), str(edge.source), True)


def _backward(states: Sequence[State], edges: Sequence[Edge]) -> Iterator[int]:
    """The edges that lead back to a state on the way to them: these close a circle."""
    leaving: dict[int, list[tuple[int, int]]] = {state.number: [] for state in states}
    for at, edge in enumerate(edges):
        leaving[edge.source].append((at, edge.target))
    done: set[int] = set()
    way = {0}
    stack = [(0, iter(leaving[0]))]
    while stack:
        state, rest = stack[-1]
        step = next(rest, None)
        if step is None:
            stack.pop()
            way.discard(state)
            done.add(state)
        elif step[1] in way:
            yield step[0]
        elif step[1] not in done:
            way.add(step[1])
            stack.append((step[1], iter(leaving[step[1]])))

"""An automaton as a picture that needs nothing but a browser."""

from __future__ import annotations

import textwrap
from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from neelc.explain import words as numbers
from neelc.explain.automaton import Automaton, AutomatonState, Edge
from neelc.explain.explanation import PlanNode
from neelc.explain.graphs import automaton_title, edge_lines
from neelc.explain.html import escape, number, tag
from neelc.runtime.late_dataclass import dataclass

# Where to draw the nodes of a graph: in layers from left to right, edges as short and straight as may be.
#
# Sugiyama's steps: each node one layer after those before it; in each layer the order in which edges cross
# least; then heights at which edges are straight, without any overlap.

SWEEPS = 8
"""More do not change much."""

Point = tuple[float, float]
Link = tuple[str, str]


@dataclass(frozen=True)
class Box:
    width: float
    height: float


@dataclass(frozen=True)
class GraphLayout:
    """The centre of each box, and for each link the points it is drawn through, ends included."""

    centres: Mapping[str, Point]
    paths: Sequence[Sequence[Point]]
    width: float
    height: float


@dataclass
class _Layers:
    """The boxes with the invisible ones that long links pass through."""

    boxes: dict[str, Box]
    order: list[list[str]] = field(default_factory=list)
    before: dict[str, list[str]] = field(default_factory=dict)
    after: dict[str, list[str]] = field(default_factory=dict)


def layered(
    boxes: Mapping[str, Box], links: Sequence[Link], across: float = 28, down: float = 18
) -> GraphLayout:
    """
    >>> found = layered({"a": Box(10, 10), "b": Box(10, 10), "c": Box(10, 10)}, [("a", "b"), ("a", "c")])
    >>> found.centres["a"], found.centres["b"], found.centres["c"]
    ((5.0, 19.0), (43.0, 5.0), (43.0, 33.0))
    """
    layers, chains = _layers(boxes, links)
    best = _crossings(layers), [*map(list, layers.order)]
    for sweep in range(SWEEPS):
        _reorder(layers, sweep % 2 == 0)
        if (count := _crossings(layers)) < best[0]:
            best = count, [*map(list, layers.order)]
    layers.order = best[1]
    heights = _heights(layers, down)
    lefts, width = _columns(layers, across)
    centres = {
        name: (lefts[at] + _widest(layers, at) / 2, heights[name])
        for at, names in enumerate(layers.order)
        for name in names
    }
    paths = [_path(chain, centres, layers) for chain in chains]
    height = max((centres[name][1] + box.height / 2 for name, box in layers.boxes.items()), default=0)
    return GraphLayout({name: centres[name] for name in boxes}, paths, width, height)


def _layers(boxes: Mapping[str, Box], links: Sequence[Link]) -> tuple[_Layers, list[list[str]]]:
    depth = _depths(boxes, links)
    layers = _Layers(dict(boxes), [[] for _ in range(max(depth.values(), default=-1) + 1)])
    for name in boxes:
        layers.order[depth[name]].append(name)
    chains = []
    for at_link, (source, target) in enumerate(links):
        chain = [source]
        for at in range(depth[source] + 1, depth[target]):
            bend = f"bend {at_link} {at}"
            layers.boxes[bend] = Box(1, 8)
            layers.order[at].append(bend)
            chain.append(bend)
        chain.append(target)
        for left, right in pairwise(chain):
            layers.after.setdefault(left, []).append(right)
            layers.before.setdefault(right, []).append(left)
        chains.append(chain)
    return layers, chains


def _depths(boxes: Mapping[str, Box], links: Sequence[Link]) -> dict[str, int]:
    """The longest way to each node; links must not lead in a circle."""
    depth = dict.fromkeys(boxes, 0)
    outgoing: dict[str, list[str]] = {name: [] for name in boxes}
    waiting = dict.fromkeys(boxes, 0)
    for source, target in links:
        outgoing[source].append(target)
        waiting[target] += 1
    ready = [name for name, count in waiting.items() if count == 0]
    for name in ready:
        for target in outgoing[name]:
            depth[target] = max(depth[target], depth[name] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    assert len(ready) == len(depth), "links lead in a circle"
    return depth


def _reorder(layers: _Layers, forward: bool) -> None:
    """Each node where the mean of its neighbours is; equal ones stay as they are."""
    near = layers.before if forward else layers.after
    for names in layers.order if forward else reversed(layers.order):
        # As shares of the layer's length: layers with few nodes must not draw all of them to the top.
        places = {name: (at + 0.5) / len(others) for others in layers.order for at, name in enumerate(others)}
        names.sort(key=lambda name: _mean([places[other] for other in near.get(name, [])], places[name]))


def _crossings(layers: _Layers) -> int:
    """How many pairs of edges cross: those whose ends are in another order than their beginnings."""
    count = 0
    for left, right in pairwise(layers.order):
        places = {name: at for at, name in enumerate(right)}
        ends: list[int] = []
        for name in left:
            own = sorted(places[other] for other in layers.after.get(name, []))
            count += sum(len(ends) - bisect_right(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return count


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _heights(layers: _Layers, down: float) -> dict[str, float]:
    heights: dict[str, float] = {}
    for names in layers.order:
        heights.update(_spread([0.0] * len(names), names, layers.boxes, down))
    for sweep in range(SWEEPS):
        near = layers.before if sweep % 2 == 0 else layers.after
        for names in layers.order if sweep % 2 == 0 else reversed(layers.order):
            ideal = [_mean([heights[other] for other in near.get(name, [])], heights[name]) for name in names]
            heights.update(_spread(ideal, names, layers.boxes, down))
    top = min((heights[name] - box.height / 2 for name, box in layers.boxes.items()), default=0)
    return {name: height - top for name, height in heights.items()}


def _spread(
    ideal: Sequence[float], names: Sequence[str], boxes: Mapping[str, Box], down: float
) -> dict[str, float]:
    """The heights nearest to the `ideal` ones at which nothing overlaps, in the given order.

    Measured from where each box would stand if all were packed, heights must not decrease: the nearest such
    numbers are the means of blocks, which are merged until they are in order.
    """
    packed: list[float] = []
    edge = 0.0
    for name in names:
        packed.append(edge + boxes[name].height / 2)
        edge += boxes[name].height + down
    blocks: list[tuple[float, int]] = []
    for height, at in zip(ideal, packed, strict=True):
        mean, count = height - at, 1
        while blocks and blocks[-1][0] > mean:
            other, size = blocks.pop()
            mean, count = (mean * count + other * size) / (count + size), count + size
        blocks.append((mean, count))
    shifts = [mean for mean, count in blocks for _ in range(count)]
    return {name: at + shift for name, at, shift in zip(names, packed, shifts, strict=True)}


def _widest(layers: _Layers, at: int) -> float:
    return max((layers.boxes[name].width for name in layers.order[at]), default=0)


def _columns(layers: _Layers, across: float) -> tuple[list[float], float]:
    lefts: list[float] = []
    edge = 0.0
    for at in range(len(layers.order)):
        lefts.append(edge)
        edge += _widest(layers, at) + across
    return lefts, max(0.0, edge - across)


def _path(chain: Sequence[str], centres: Mapping[str, Point], layers: _Layers) -> list[Point]:
    """From the right side of the first box to the left side of the last one."""
    first, last = chain[0], chain[-1]
    start = (centres[first][0] + layers.boxes[first].width / 2, centres[first][1])
    end = (centres[last][0] - layers.boxes[last].width / 2, centres[last][1])
    return [start, *(centres[bend] for bend in chain[1:-1]), end]


# The pieces of a picture: states, edges with their texts, loops.

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


PILL = 30.0
"""Height of a state."""
RING = 4.0
"""How far the second line of a state is out."""
MARGIN = 12.0


def automaton_svg(automaton: Automaton, name: str) -> str:
    """States from left to right, with the conditions written on the way from one to the next.

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

    def _loop(self, state: AutomatonState, kind: str) -> list[str]:
        return self.loops.get((state.number, kind), [])

    def _state_box(self, state: AutomatonState) -> Box:
        """A state with its loops: another element above it, what is passed over below it."""
        again, ignored, checks = self._loop(state, "again"), self._loop(state, "ignore"), _checks(state)
        above = LOOP + LINE * len(again) if again else 0
        below = (LOOP + LINE if ignored else 0) + LINE * len(checks)
        # As high above as below, so that edges meet the state itself.
        return Box(max(2 * _half(state), width([*again, *checks])) + 8, PILL + 2 * max(above, below))

    def states(self, found: GraphLayout) -> Iterator[str]:
        for state in self.automaton.states:
            x, y = found.centres[_name(state)]
            kind = "begin" if state.number == 0 else "accept" if state.accepts else "wait"
            yield tag("g", *self._around(state, x, y), *_body(state, x, y), class_=f"state {kind}")

    def _around(self, state: AutomatonState, x: float, y: float) -> Iterator[str]:
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

    def edges(self, found: GraphLayout) -> Iterator[str]:
        """All lines first: a text may stand on one that is not its own."""
        paths = iter(found.paths)
        for joint in self.joints:
            # What leads back meets its states lower, to distinguish it from what leads on.
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

    def _side(self, state: str, found: GraphLayout, side: int, aside: float) -> Point:
        """Where a line meets a state: on its left (-1) or its right (1)."""
        x, y = found.centres[state]
        return x + side * (self.halves[state] - aside / 3), y + aside


def _body(state: AutomatonState, x: float, y: float) -> Iterator[str]:
    if state.accepts:
        ring = Box(2 * (_half(state) + RING), PILL + 2 * RING)
        yield frame(x, y, ring, ring.height / 2, "ring")
    yield frame(x, y, Box(2 * _half(state), PILL), PILL / 2, "body")
    yield text([state.label], x, y, "label")


def _name(state: AutomatonState) -> str:
    return str(state.number)


def _text(at: int) -> str:
    """The name of an edge's text among the boxes."""
    return f"text {at}"


def _half(state: AutomatonState) -> float:
    """Half the width of a state."""
    return max(width([state.label]) + 28, 64.0) / 2


def _label(edge: Edge) -> list[str]:
    return list(edge_lines(edge, 32))


def _checks(state: AutomatonState) -> list[str]:
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


def _backward(states: Sequence[AutomatonState], edges: Sequence[Edge]) -> Iterator[int]:
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


# A network of operators as a picture: streams at the bottom, the result on top.

WIDEST = 46
"""Characters of a line; what is longer goes on below."""
PADDING, NETWORK_MARGIN = 12.0, 12.0


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
        for label, detail in self.details:
            head = ("" if label == last else label).ljust(labels + 2)
            wrapped = textwrap.wrap(
                detail, WIDEST - len(head), break_long_words=True, break_on_hyphens=False
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
    wide, high = round(found.height + 2 * NETWORK_MARGIN), round(found.width + 2 * NETWORK_MARGIN)
    arrow = f"flow-{name}"
    shapes = (arrow_head(arrow), *_edges(found, boxes, links, arrow), *_operators(found, drawn))
    return tag(
        "svg",
        tag("title", escape(title)),
        tag("g", *shapes, transform=f"translate({NETWORK_MARGIN:.0f} {NETWORK_MARGIN:.0f})"),
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


def _operators(found: GraphLayout, drawn: dict[str, _Drawn]) -> Iterator[str]:
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
        label, detail = line[: labels + 2], line[labels + 2 :]
        yield text([label], left, top + LINE * at, "soft") if label.strip() else ""
        yield text([detail], left + CHARACTER * (labels + 2), top + LINE * at)


def _edges(
    found: GraphLayout, boxes: dict[str, Box], links: Sequence[tuple[str, str]], arrow: str
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

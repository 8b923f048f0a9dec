"""Where to draw the nodes of a graph: in layers from left to right, edges as short and straight as may be.

Sugiyama's steps: each node one layer after those before it; in each layer the order in which edges cross
least; then heights at which edges are straight, without any overlap.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 8
"""More do not change much."""

Point = tuple[float, float]
Link = tuple[str, str]


@dataclass(frozen=True)
class Box:
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
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


def layered(boxes: Mapping[str, Box], links: Sequence[Link], across: float = 28, down: float = 18) -> Layout:
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
    return Layout({name: centres[name] for name in boxes}, paths, width, height)


def _layers(boxes: Mapping[str, Box], links: Sequence[Link]) -> tuple[_Layers, list[list[str]]]:
    depth = _depths(boxes, links)
    layers = _Layers(dict(boxes), [[] for _ in range(max(depth.values(), default=-1) + 1)])
    for name in boxes:
        layers.order[depth[name]].append(name)
    chains = []
    for number, (source, target) in enumerate(links):
        chain = [source]
        for at in range(depth[source] + 1, depth[target]):
            bend = f"bend {number} {at}"
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
            wanted = [
                _mean([heights[other] for other in near.get(name, [])], heights[name]) for name in names
            ]
            heights.update(_spread(wanted, names, layers.boxes, down))
    top = min((heights[name] - box.height / 2 for name, box in layers.boxes.items()), default=0)
    return {name: height - top for name, height in heights.items()}


def _spread(
    wanted: Sequence[float], names: Sequence[str], boxes: Mapping[str, Box], down: float
) -> dict[str, float]:
    """The heights nearest to those wanted at which nothing overlaps, in the given order.

    Measured from where each box would stand if all were packed, heights must not decrease: the nearest such
    numbers are the means of blocks, which are merged until they are in order.
    """
    packed: list[float] = []
    edge = 0.0
    for name in names:
        packed.append(edge + boxes[name].height / 2)
        edge += boxes[name].height + down
    blocks: list[tuple[float, int]] = []
    for want, at in zip(wanted, packed, strict=True):
        mean, count = want - at, 1
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

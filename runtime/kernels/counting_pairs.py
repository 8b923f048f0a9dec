"""Which event may follow which, where more is asked than that it comes later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neelc.runtime.kernels import mentions
from neelc.runtime.kernels.counting_chain import SOURCE, TARGET, ChainMove
from neelc.runtime.kernels.counting_lanes import Ground
from neelc.runtime.kernels.events import Events, Numbers, Truths
from neelc.runtime.kernels.existence import extended
from neelc.runtime.kernels.frontier import Frontier
from neelc.runtime.kernels.operations import holds
from neelc.runtime.kernels.running import run
from neelc.runtime.program import Apply, Column, Value

PAIRS_AT_ONCE = 1_000_000


def is_static(condition: Value) -> bool:
    """Whether a condition is about two events of a walk and nothing that is pinned."""
    return set(mentions.of_value(condition)) <= {SOURCE, TARGET}


@dataclass(frozen=True, eq=False)
class Index:
    """The places that can be the source of a move, in an order in which those that one target can follow are
    next to each other: those of the same value, if a condition asks for that, in the order of time.

    `values` has for each place the number of the value it asks for as a target, -1 for none."""

    move: ChainMove
    on: Ground
    sources: Numbers
    keys: Numbers
    values: Numbers | None

    def ranges(self, targets: Numbers, earliest: Numbers) -> tuple[Numbers, Numbers]:
        """For each target the first of its sources, none before the place `earliest`, and how many."""
        low, high = earliest, self.on.ties[targets]
        if self.values is not None:
            offset = self.values[targets] * (len(self.on.numbers) + 1)
            low, high = low + offset, np.where(offset < 0, low, high) + offset
        left = np.searchsorted(self.keys, low, "left")
        return left, np.maximum(np.searchsorted(self.keys, high, "left") - left, 0)

    def pairs(self, targets: Numbers, left: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
        """Which of the targets may follow which place, as far as no lane matters."""
        which = np.repeat(np.arange(len(targets)), counts)
        places = np.arange(len(which)) + np.repeat(left - np.cumsum(counts) + counts, counts)
        source = self.sources[places]
        allowed = _allowed(self.move, self.on, source, targets[which])
        return which[allowed], source[allowed]


def index(move: ChainMove, on: Ground) -> Index:
    sources = np.flatnonzero(on.fits[move.source])
    for condition in move.where:
        values = _values(condition, on)
        if values is not None:
            asked, given = values
            sources = sources[given[sources] >= 0]
            keys = given[sources] * (len(on.numbers) + 1) + sources
            order = np.argsort(keys)
            return Index(move, on, sources[order], keys[order], asked)
    return Index(move, on, sources, sources, None)


def _values(condition: Value, on: Ground) -> tuple[Numbers, Numbers] | None:
    """For an equality between the two events: the number of the value that each place has as a target, and
    as a source; -1 for NULL."""
    match condition:
        case Apply("=", (Column(one, first), Column(other, second))) if {one, other} == {SOURCE, TARGET}:
            asked, given = (first, second) if one == TARGET else (second, first)
            return _numbered(on.search.events, on.numbers, asked, given)
    return None


def _numbered(events: Events, numbers: Numbers, asked: str, given: str) -> tuple[Numbers, Numbers]:
    columns = [events.columns[asked], events.columns[given]]
    _, codes = np.unique(np.concatenate([column.values[numbers] for column in columns]), return_inverse=True)
    found = []
    for column, code in zip(columns, np.split(codes, 2), strict=True):
        found.append(code if column.valid is None else np.where(column.valid[numbers], code, -1))
    return found[0], found[1]


@dataclass(frozen=True, eq=False)
class Before:
    """For each place from `low` on, the places that it may follow: those of `sources` from its entry of
    `begin` to before the next one."""

    low: int
    begin: Numbers
    sources: Numbers

    def of(self, places: Numbers) -> tuple[Numbers, Numbers]:
        """For each pair: which of `places` it is for, and the place before.

        >>> before = Before(4, np.array([0, 0, 2, 3]), np.array([4, 5, 5]))
        >>> [found.tolist() for found in before.of(np.array([6, 4, 5]))]
        [[0, 2, 2], [5, 4, 5]]
        """
        begin = self.begin[places - self.low]
        counts = self.begin[places - self.low + 1] - begin
        which = np.repeat(np.arange(len(places)), counts)
        ends = np.cumsum(counts)
        return which, self.sources[np.arange(len(which)) + np.repeat(begin - ends + counts, counts)]


def before(of: Index, earliest: Numbers, low: int) -> Before:
    """For each place from `low` on what it may follow; `earliest` has the first place that any lane with this
    place has."""
    fits = of.on.fits[of.move.target][low : low + len(earliest)]
    targets = np.flatnonzero(fits) + low
    left, counts = of.ranges(targets, earliest[targets - low])
    kept = np.zeros(len(earliest), np.int64)
    found = [np.zeros(0, np.int64)]
    for some in in_parts(counts):
        which, source = of.pairs(targets[some], left[some], counts[some])
        found.append(source)
        kept += np.bincount(targets[some][which] - low, minlength=len(kept))
    return Before(low, np.concatenate(([0], np.cumsum(kept))), np.concatenate(found))


def in_parts(counts: Numbers, most: int = PAIRS_AT_ONCE) -> list[slice]:
    """Slices of which each has as many as `most` together, or one that has more.

    >>> in_parts(np.array([2, 2, 9, 1, 1]), 4)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    beyond = np.cumsum(counts)
    found, begin = list[slice](), 0
    while begin < len(counts):
        done = int(beyond[begin] - counts[begin])
        end = max(begin + 1, int(np.searchsorted(beyond, done + most, "right")))
        found.append(slice(begin, end))
        begin = end
    return found


def _allowed(move: ChainMove, on: Ground, source: Numbers, target: Numbers) -> Truths:
    """The pairs of places for which all conditions without a pinned event hold."""
    events = {SOURCE: on.numbers[source], TARGET: on.numbers[target]}
    allowed = np.ones(len(source), bool)
    for condition in move.where:
        if is_static(condition):
            allowed &= holds(condition, events.get, on.search.events, len(source))
    for check in move.absent:
        rows = np.flatnonzero(allowed)
        named = {name: events[end][rows] for name, end in move.names}
        table = Frontier(named, {}, on.search.events.segment[events[TARGET][rows]])
        allowed[rows[extended(on.search.unowned(), check.steps, table, run)]] = False
    return allowed

"""AFTER MATCH SKIP of JEPC's patterns: of each start the first match; of these, those that do not overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from neelc.runtime.kernels.keeping import chained
from neelc.runtime.kernels.sequential.matching import (
    Bools,
    EventInstants,
    Ints,
    Matcher,
    PartialSequences,
    joined,
    tracked,
)
from neelc.runtime.kernels.sequential.program import SequentialProgram
from neelc.runtime.program import SkipTarget
from neelc.runtime.values.order import Place, place_of

MANY = 200_000
"""Each time so many matches have come, they are reduced to the first of their starts."""


def none_of(symbols: Sequence[int | None]) -> PartialSequences:
    """No matches."""
    none: Ints = np.zeros(0, dtype=np.int64)
    return PartialSequences(none, none, none, none, np.zeros((0, len(symbols)), dtype=np.int64))


def first_of_each_start(found: Iterator[PartialSequences], matcher: Matcher) -> PartialSequences:
    """For each start the match that ends first, in the order of starts; where several do, the first by the
    values of its outputs."""
    waiting = [none_of(tracked(matcher.program))]
    count = done = 0
    for ways in found:
        waiting.append(replace(ways, rows=ways.rows[:, : waiting[0].rows.shape[1]]))
        count += len(ways)
        if count > max(MANY, 2 * done):
            waiting = [_with_first_end(joined(waiting))]
            count = done = len(waiting[0])
    return _first_by_values(_with_first_end(joined(waiting)), matcher)


def _with_first_end(ways: PartialSequences) -> PartialSequences:
    """Those that no other with the same start ends before, each once, sorted by start."""
    ways = ways.chosen(np.lexsort((*ways.rows.T, ways.end, ways.instant)))
    is_first = _are_first(ways.instant)
    least = ways.end[np.maximum.accumulate(np.where(is_first, np.arange(len(ways)), 0))]
    is_new = is_first.copy()
    is_new[1:] |= (ways.rows[1:] != ways.rows[:-1]).any(axis=1)
    return ways.chosen(np.flatnonzero((ways.end == least) & is_new))


def _are_first(instants: Ints) -> Bools:
    """Which of these, in their order, are the first of their value."""
    found: Bools = np.diff(instants, prepend=-1) != 0
    return found


def _first_by_values(ways: PartialSequences, matcher: Matcher) -> PartialSequences:
    """One for each start, standing for one match. That several have the same end is rare: events of the same
    time."""
    again = np.flatnonzero(~_are_first(ways.instant))
    if len(again):
        tied = np.isin(ways.instant, ways.instant[again])
        places = np.flatnonzero(tied)
        best: dict[int, tuple[Place, int]] = {}
        values = _values(ways.chosen(places), matcher)
        for start, place, value in zip(ways.instant[places].tolist(), places.tolist(), values, strict=True):
            best[start] = min((value, place), best.get(start, (value, place)))
        chosen = [place for _, place in best.values()]
        ways = ways.chosen(np.sort(np.concatenate([np.flatnonzero(~tied), chosen]).astype(np.int64)))
    return replace(ways, weight=np.ones_like(ways.weight))


def _values(ways: PartialSequences, matcher: Matcher) -> list[Place]:
    """The values of the outputs of each match, as places in an order."""
    places = {symbol: place for place, symbol in enumerate(tracked(matcher.program))}
    columns = []
    for output in matcher.program.outputs:
        rows = ways.rows[:, places[output.symbol]]
        taken = matcher.columns[output.column].take(pa.array(rows, mask=rows < 0))
        columns.append([place_of(value) for value in taken.to_pylist()])
    return list(zip(*columns, strict=True)) if columns else [()] * len(ways)


def kept_of(ways: PartialSequences, line: EventInstants, program: SequentialProgram) -> PartialSequences:
    """Of the first matches of each start, those that are kept."""
    if program.skip == SkipTarget.START or not len(ways):
        return ways
    key = np.cumsum(line.first)[ways.instant] - 1
    return ways.chosen(chained(key, ways.instant, ways.end + 1))

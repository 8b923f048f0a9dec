"""Patterns on the worker: which rows are searched and kept, the events that the kernel reads of them, and the
matches as rows again.

Rows come in sections (`order.py`): in the plainest order, each is a key, in the order of time. All sections
but the last one seen are complete. Of the last one, with a window of `reach`, the matches that start before
`last start seen - reach` are complete as well: whatever concerns them has been seen. The rows that a later
match may need are kept; all others leave.

The first use in a worker imports NumPy and Arrow, nothing of Spark and nothing of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.coding import coded, condition_columns
from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Columns, Ints, combine
from neelc.runtime.failures import FailureContext, KernelError, too_many_matches
from neelc.runtime.kernels.events import KernelEvents
from neelc.runtime.kernels.fewest import fewest_matches
from neelc.runtime.kernels.gathering import count_of, gather, in_larger_pieces, output_schema
from neelc.runtime.kernels.matching import KeepingState, Piece, event_of, matches
from neelc.runtime.kernels.measuring import MEASURED, StepMeasures
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.moments import EventMoments, moments_of, order_codes
from neelc.runtime.order import SectionProgress, floors, in_order, sections
from neelc.runtime.program import PatternProgram, called_folds, declared_calls, registered_folds
from neelc.runtime.user_calls import UserCall as Call
from neelc.runtime.user_calls import python_values
from neelc.runtime.user_functions import AggregateFailure, Function, needed
from neelc.runtime.values.path_folds import aggregate_of
from neelc.runtime.values.statistics import OF_LISTS
from neelc.runtime.worker import (
    MOST_MATCHES,
    ROWS_AT_ONCE,
    Batches,
    BatchFunction,
    NeededRows,
    WorkerKernel,
    WorkerLimits,
    WorkerSearch,
    WorkerState,
    run,
)

_BITS = np.int64(1) << np.arange(64)


def kernel(
    program: PatternProgram,
    rows_at_once: int = ROWS_AT_ONCE,
    most_matches: int = MOST_MATCHES,
    aggregates: Mapping[str, Function] | None = None,
    measured: bool = False,
) -> BatchFunction:
    """The function that finds the matches of one partition. `aggregates` are the functions of users that
    conditions call. If it is `measured`, a last row has what its steps did: `measuring.py`."""
    if len(program.roles) > len(_BITS):
        raise ValueError(f"{len(program.roles)} roles do not fit into {len(_BITS)} bits")
    functions, limits = functions_called([program], aggregates), WorkerLimits(rows_at_once, most_matches)
    if measured:
        return partial(_run_measured, program, limits, functions)
    return pattern_kernel(program, limits, functions).function()


def _run_measured(
    program: PatternProgram, limits: WorkerLimits, functions: Mapping[str, Function], batches: Batches
) -> Batches:
    """The results of one partition, and what was done for them."""
    measures = StepMeasures.of(len(program.steps))
    schemas: list[pa.Schema] = []

    def noted() -> Batches:
        for batch in batches:
            measures.events += batch.num_rows
            schemas[:] = [batch.schema]
            yield batch

    yield from map(_with_measured, run(pattern_kernel(program, limits, functions, measures), noted()))
    for schema in schemas:  # without a row, nothing was done
        yield _measured_row(output_schema(program, schema), measures)


def _with_measured(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows with the column of counts, which they have none of."""
    schema = batch.schema.append(pa.field(MEASURED, pa.string()))
    return pa.RecordBatch.from_arrays([*batch.columns, pa.nulls(batch.num_rows, pa.string())], schema=schema)


def _measured_row(schema: pa.Schema, measures: StepMeasures) -> pa.RecordBatch:
    """The row that has the counts, and nothing else."""
    nothing = [pa.nulls(1, column.type) for column in schema]
    schema = schema.append(pa.field(MEASURED, pa.string()))
    return pa.RecordBatch.from_arrays([*nothing, pa.array([measures.to_json()])], schema=schema)


def functions_called(
    programs: Iterable[PatternProgram], aggregates: Mapping[str, Function] | None
) -> Mapping[str, Function]:
    """Of the functions that users give, those that conditions of programs call."""
    names: list[str] = []
    for program in programs:
        own = (fold.function for fold in registered_folds(program.steps))
        names += (name for name in own if name not in OF_LISTS)
        names += (call.operation for call in declared_calls(program.steps))
    return needed(aggregates or {}, names)


def pattern_kernel(
    program: PatternProgram,
    limits: WorkerLimits,
    functions: Mapping[str, Function] | None = None,
    measures: StepMeasures | None = None,
) -> WorkerKernel[KeepingProgress, Piece]:
    """The kernel that finds matches; `functions` are those of users, by name. Steps are counted in
    `measures`, if it is given."""
    begin = partial(_begin, program, functions or {}, limits.most_matches, measures)
    return WorkerKernel(begin, KeepingProgress, limits, context_of(program))


@dataclass(frozen=True)
class KeepingProgress(SectionProgress):
    """With from when on the next match may start, and end, if some of them are to be kept; `rank` as in
    `KeepingState`."""

    starts: int = FIRST_TIME
    ends: int = FIRST_TIME
    rank: int = 0


def _begin(
    program: PatternProgram,
    functions: Mapping[str, Function],
    most_matches: int | None,
    measures: StepMeasures | None,
    state: WorkerState[KeepingProgress],
    is_last: bool,
) -> PatternSearch:
    rows, left = cut(program, state, is_last)
    facts = KeepingProgress() if is_last else replace(state.facts, low=left.facts.low)
    waiting = NeededRows(facts, left.parts, left.growth)
    keeping = _keeping(program, rows, state.facts)
    return PatternSearch(program, rows, waiting, functions, most_matches, state.found, measures, keeping)


def _keeping(program: PatternProgram, rows: SearchRows | None, facts: KeepingProgress) -> KeepingState | None:
    """What is known of the matches that were kept before. With several keys, each is searched once."""
    if program.kept is None or program.kept.by or rows is None:
        return None
    keys = len(rows.heads)
    return KeepingState(np.full(keys, facts.starts), np.full(keys, facts.ends), np.full(keys, facts.rank))


def context_of(program: PatternProgram) -> FailureContext:
    """
    >>> program = PatternProgram((), (), ("A",), labels=(("a", "Recycle a"), ("b", "Washing b")))
    >>> context_of(program).part
    'Recycle a, Washing b'
    """
    part = ", ".join(label for _, label in program.labels) or None
    return FailureContext(part, program.reach, program.clock)


# Rows that are searched now, and rows that wait.


@dataclass(frozen=True)
class SearchRows:
    """Rows to find matches in: `heads` are the rows at which keys begin. To be found are the matches that
    start in the range of their key, from `low` to before `high`."""

    columns: Columns
    heads: Ints
    low: Ints
    high: Ints

    def key_text(self, program: PatternProgram, segment: int) -> dict[str, str | None]:
        """The key with this number, for messages."""
        return self.columns.key_text(program, int(self.heads[segment]))


def cut(
    program: PatternProgram,
    state: WorkerState[Any],
    is_last: bool,
    used: tuple[str, ...] | None = None,
) -> tuple[SearchRows | None, NeededRows[SectionProgress]]:
    """What is to be searched now, and what waits: the columns that the program reads, or that are `used`."""
    if not program.roles:  # no event concerns the pattern
        return None, NeededRows(SectionProgress())
    columns = combine(program, state.parts, used)
    floor = floors(program, columns.start)
    begins = sections(program, columns, floor)
    if is_last:
        rows = _search_rows(program, columns, begins, floor, state.facts.low, LAST_TIME)
        return rows, NeededRows(SectionProgress())
    tail = int(begins[-1])
    low = state.facts.low if tail == 0 else FIRST_TIME
    last = floor[tail:]
    high = int(last[-1]) - _reach(program) if _is_windowed(program) else FIRST_TIME
    if high <= max(low, int(last[0])):
        # Nothing of the last section is complete: all of it waits.
        kept = NeededRows(SectionProgress(low), state.without(tail))
        if tail == 0:
            return None, kept
        before = columns.first(tail), begins[:-1], floor[:tail]
        return _search_rows(program, *before, state.facts.low, LAST_TIME), kept
    grain = program.grain or 1
    next_start = int(last[np.searchsorted(last, high - grain, side="right")])
    first = max(next_start - _reach(program), FIRST_TIME) if program.looks_back else next_start
    done = tail + int(np.searchsorted(last, first - grain, side="right"))
    rows = _search_rows(program, columns, begins, floor, state.facts.low, high)
    return rows, NeededRows(SectionProgress(high), state.without(done))


def _search_rows(
    program: PatternProgram, columns: Columns, begins: Ints, floor: Ints, low: int, high: int
) -> SearchRows:
    """Matches of the first section start at `low` or later, those of the last one before `high`."""
    columns, heads = in_order(program, columns, begins, floor)
    second = begins[1] if len(begins) > 1 else len(floor)
    lows = np.where(heads < second, np.int64(low), FIRST_TIME)
    highs = np.where(heads >= begins[-1], np.int64(high), LAST_TIME)
    return SearchRows(columns, heads, lows, highs)


def _is_windowed(program: PatternProgram) -> bool:
    """Whether some matches of a key are complete before all of its rows are there. Which of them are kept is
    known at the end; without a key, and if only the last one kept matters, earlier."""
    is_windowed = program.reach is not None and not program.counted
    return is_windowed and (
        program.kept is None or (not program.keys and not program.kept.one_per and not program.kept.by)
    )


def _reach(program: PatternProgram) -> int:
    return program.reach or 0


# The search.

Matches = TypeVar("Matches")
Progress = TypeVar("Progress", bound=SectionProgress)


@dataclass(eq=False)
class SectionSearch(WorkerSearch[Progress, Matches]):
    """A search in `rows`, if there are some, that leaves `left`."""

    program: PatternProgram
    rows: SearchRows | None
    left: NeededRows[Progress]

    def needed(self) -> NeededRows[Progress]:
        return self.left

    def key_of(self, error: Exception) -> Mapping[str, str | None]:
        return {} if self.rows is None else key_of_failure(self.program, self.rows, error)


def key_of_failure(program: PatternProgram, rows: SearchRows, error: Exception) -> Mapping[str, str | None]:
    """The key that a search has failed at, if it is known."""
    if isinstance(error, AggregateFailure):
        return {}
    only = 0 if len(rows.heads) == 1 else None
    segment = error.segment if isinstance(error, KernelError) else only
    return {} if segment is None else rows.key_text(program, segment)


@dataclass(eq=False)
class PatternSearch(SectionSearch[KeepingProgress, Piece]):
    """A search for at most `most_matches` matches; `found` were found before."""

    functions: Mapping[str, Function]
    most_matches: int | None
    found: int
    measures: StepMeasures | None = None
    keeping: KeepingState | None = None

    def needed(self) -> NeededRows[KeepingProgress]:
        if self.keeping is None or self.program.keys or not self.left.parts:  # there is no next search
            return self.left
        known = self.keeping
        starts, ends, rank = int(known.starts[0]), int(known.ends[0]), int(known.ranks[0])
        return replace(self.left, facts=replace(self.left.facts, starts=starts, ends=ends, rank=rank))

    @cached_property
    def events(self) -> KernelEvents:
        assert self.rows is not None, "there are rows to search"
        return events_of(self.program, self.rows, self.functions)

    def matches(self) -> Iterator[Piece]:
        if self.rows is None:
            return
        fewest, most = fewest_matches(self.program, self.events), self.most_matches
        number = 0 if fewest is None else self.found + fewest.number
        every = matches(self.program, self.events, measures=self.measures, keeping=self.keeping)
        for piece in in_larger_pieces(every):
            yield piece
            # Not earlier: callers that need only a few matches, such as `show()` and LIMIT, get them.
            if fewest is not None and most is not None and number > most:
                failure = too_many_matches(number, most, foreseen=True)
                raise failure.about(**self._at(fewest.event))

    def gather(self, piece: Piece) -> Batches:
        assert self.rows is not None, "there is a match"
        columns = self.rows.columns
        return gather(output_schema(self.program, columns.schema), self.program, columns, piece)

    def count(self, piece: Piece) -> int:
        return count_of(piece)

    def location(self, piece: Piece, number: int) -> Mapping[str, object]:
        return self._at(event_of(piece, number))

    def _at(self, event: int) -> Mapping[str, object]:
        """The key and the time of an event."""
        assert self.rows is not None, "there is an event"
        key = self.rows.key_text(self.program, int(self.events.segment[event]))
        return {"key": key, "start": int(self.events.start[event])}


def events_of(
    program: PatternProgram, rows: SearchRows, functions: Mapping[str, Function] | None = None
) -> KernelEvents:
    """What the kernel reads."""
    columns = rows.columns
    segment = segments.numbers(rows.heads, len(columns.start))
    owned = owned_times(program, rows)
    counted = program.counted
    first, beyond = segments.places(segment, columns.start, columns.end) if counted else (None, None)
    conditions = {name: columns.arrays[name] for name in condition_columns(program)}
    return KernelEvents(
        start=columns.start,
        end=columns.end,
        segment=segment,
        roles=_roles(program, columns.arrays["roles"]),
        columns=coded(conditions, program.codings),
        owned=owned,
        first=first,
        beyond=beyond,
        calls=calls_of(program, functions or {}, lambda name: python_values(columns.arrays[name])),
        functions=functions or {},
        values=lambda name, numbers: python_values(columns.arrays[name].take(pa.array(numbers))),
        moments=moments_among(program, columns, segment, columns.end),
    )


def moments_among(program: PatternProgram, columns: Columns, segment: Ints, end: Ints) -> EventMoments | None:
    """The order of the events of the same time, if there is one."""
    if not program.order:
        return None
    codes = order_codes([columns.arrays[name] for name in program.order])
    return moments_of(segment, columns.start, end, codes)


def owned_times(program: PatternProgram, rows: SearchRows) -> tuple[Ints, Ints]:
    """For each key, from when to before when the matches start that are to be found."""
    if program.chunk is None:
        return rows.low, rows.high
    chunks = rows.columns.arrays[program.keys[-1]].to_numpy()[rows.heads]
    return segments.in_chunks(rows.low, rows.high, chunks, program.chunk)


def calls_of(
    program: PatternProgram, functions: Mapping[str, Function], values: Callable[[str], Sequence[object]]
) -> dict[str, Call]:
    """The functions of lists that conditions call; `values` are those that events have for them."""
    called = {**functions, **OF_LISTS}
    return {
        fold.name: Call(
            fold,
            partial(aggregate_of, fold.function, fold.type, fold.distinct)
            if fold.of_values
            else called[fold.function],
            partial(values, fold.column or ""),
        )
        for fold in called_folds(program.steps)
    }


def _roles(program: PatternProgram, column: pa.Array) -> dict[str, segments.Ints]:
    filled = column.fill_null(0) if column.null_count else column
    masks = np.asarray(filled).astype(np.int64, casting="safe", copy=False)
    return {role: np.flatnonzero(masks & _BITS[bit] != 0) for bit, role in enumerate(program.roles)}

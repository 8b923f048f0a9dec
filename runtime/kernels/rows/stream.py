"""Row patterns over streams without end.

Rows up to the watermark are complete and have their final order; later ones wait. Of each key that has new
rows among the complete ones, or from whose rows a window has closed, matches are searched that start at rows
from which it was undecided. What cannot depend on rows to come is decided: it leaves at once.

Kept are the rows that wait; of each key the rows from the first on from which a match may start that is not
decided, and the rows before it that a match looks back at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cmp_to_key
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neelc.runtime.columns import Bools, Ints, earlier, key_text, selected, times
from neelc.runtime.failures import FailureContext
from neelc.runtime.kernels.rows import navigation
from neelc.runtime.kernels.rows.automaton import RowFailure, listed
from neelc.runtime.kernels.rows.kernel import RowPiece, gathered_rows
from neelc.runtime.kernels.rows.navigation import MatchNavigation
from neelc.runtime.kernels.rows.program import NUMBER, STATE, RowOrder, RowProgram, StreamedRows
from neelc.runtime.kernels.rows.recognizing import TIME, GrowingPartitions, recognize_open
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import by_key_and_time, key_codes
from neelc.runtime.streaming import StreamMemory, StreamStep, WatermarkMove
from neelc.runtime.values.order import order
from neelc.runtime.values.times import in_zone
from neelc.runtime.worker import failure_of, one_batch

ROWS, KEYS = "rows", "keys"
"""The tables that are kept: rows, and what is remembered of keys."""
DONE, SHOWN = 1, 2
"""Bits of a kept row: no match starts there that is not decided; it is in the result, of a match."""


@dataclass(frozen=True)
class RowStream:
    """The matches of a clause, as a kernel for streams. `time_zone` is that of the session, for conditions
    that depend on it and are evaluated here."""

    streamed: StreamedRows
    time_zone: str | None = None

    def advance(
        self, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
    ) -> StreamStep:
        kept = memory.tables.get(ROWS, ())
        if not kept and not rows:
            return StreamStep((), memory)
        call = _Call(self.streamed, move)
        zone = in_zone(self.time_zone) if self.time_zone else nullcontext()
        try:
            with zone:
                return call.step([*kept, *map(self._arrived, rows)], memory.tables.get(KEYS, ()))
        except Exception as error:
            context = FailureContext(self.streamed.program.label or None, held="the rows of a partition")
            raise failure_of(error, context).about(key=call.key_of(error)) from error

    def _arrived(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        batch = selected(batch, self.streamed.columns)
        return batch.append_column(STATE, pa.array(np.zeros(batch.num_rows, dtype=np.int8)))


class _Call:
    """One call: all rows that are known, and what becomes of them."""

    def __init__(self, streamed: StreamedRows, move: WatermarkMove) -> None:
        self.streamed, self.move = streamed, move
        self.program: RowProgram = streamed.program
        self.columns: Mapping[str, pa.Array] = {}

    def key_of(self, error: Exception) -> Mapping[str, str | None]:
        if not isinstance(error, RowFailure):
            return {}
        return key_text(self.program.keys, self.columns, error.row)

    def step(self, parts: Sequence[pa.RecordBatch], keys: Sequence[pa.RecordBatch]) -> StreamStep:
        rows = one_batch(parts)
        start = times(rows.column("start"), "start")
        settled = start <= self.move.now
        if not self._has_news(start, settled):
            return StreamStep((), StreamMemory({}, _tables(parts, keys)), self._wake(start, rows))
        places = np.flatnonzero(settled)
        complete = rows.take(pa.array(places))
        known = _KnownKeys(self.streamed, complete, keys)
        active = self._active(known.codes, start[places], complete)
        chosen = np.flatnonzero(active)
        chosen = chosen[_in_order(self.streamed, complete, known.codes, chosen)]
        batches, left = self._searched(complete.take(pa.array(chosen)), known, chosen)
        waiting = np.ones(rows.num_rows, dtype=np.bool_)
        waiting[places[active]] = False
        others = rows.filter(pa.array(waiting))
        kept = tuple(part for part in (others, left) if part.num_rows)
        all_start = np.concatenate([np.asarray(part.column("start")) for part in kept]) if kept else start[:0]
        wake = self._wake(all_start, one_batch(kept)) if kept else None
        return StreamStep(batches, StreamMemory({}, _tables(kept, known.table())), wake)

    def _has_news(self, start: Ints, settled: Bools) -> bool:
        return bool((settled & ((start > self.move.before) | self._closes(start))).any())

    def _closes(self, start: Ints) -> Bools:
        """The rows whose windows the watermark passes now."""
        reach = self.program.reach
        if reach is None:
            return np.zeros(len(start), dtype=np.bool_)
        before, now = (earlier(at, reach) for at in (self.move.before, self.move.now))
        return (start > before) & (start <= now)

    def _active(self, codes: Ints, start: Ints, rows: pa.RecordBatch) -> Bools:
        """The rows of keys in which something can have been decided."""
        touched = (start > self.move.before) | self._closes(start)
        if touched.all():
            return touched
        found = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
        found[codes[touched]] = True
        return found[codes]

    def _wake(self, start: Ints, rows: pa.RecordBatch) -> int | None:
        """When the first row settles that waits, or the first window closes from whose row a match may start
        that is not decided."""
        now, reach = self.move.now, self.program.reach
        due = [start[start > now]]
        if reach is not None:
            is_open = (np.asarray(rows.column(STATE)) & DONE) == 0
            closing = start[is_open & (start <= now)] + reach
            due.append(closing[closing > now])
        found = np.concatenate(due)
        return int(found.min()) if len(found) else None

    def _searched(
        self, rows: pa.RecordBatch, known: _KnownKeys, chosen: Ints
    ) -> tuple[list[pa.RecordBatch], pa.RecordBatch]:
        """What is decided among rows in order, and the rows that are still needed."""
        count = rows.num_rows
        if not count:
            return [], rows
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        self.columns = {**columns, TIME: columns["start"]}
        codes = known.codes[chosen]
        heads = np.flatnonzero(np.diff(codes, prepend=-1)).astype(np.int64, copy=False)
        state = np.asarray(columns[STATE]).copy()
        partitions = GrowingPartitions(
            heads, (state & DONE) > 0, known.number(codes[heads]), known.is_begun(codes[heads]),
            self.move.now, self.streamed.numbered,
        )  # fmt: skip
        decided = recognize_open(self.program, self.columns, partitions)
        batches: list[pa.RecordBatch] = []
        found = np.zeros(len(heads), dtype=np.int64)
        for one in decided.found:
            seen = MatchNavigation(self.program, one, heads, count)
            all_rows = self.program.all_rows is not None
            views = navigation.all_rows_per_match(seen) if all_rows else navigation.one_row_per_match(seen)
            batches += gathered_rows(RowPiece(seen, views, self.columns))
            np.add.at(found, np.searchsorted(heads, one.start, side="right") - 1, 1)
            state[seen.taken] |= SHOWN
            state[one.start] |= SHOWN
        state[~decided.waiting] |= DONE
        first = _first_waiting(decided.waiting, heads)
        known.count(codes[heads], found, first > heads)
        batches += self._unmatched(state, first, heads)
        kept = np.arange(count) >= np.repeat(first - self.streamed.behind, np.diff(heads, append=count))
        return batches, _with_state(rows, state).filter(pa.array(kept))

    def _unmatched(self, state: NDArrayInt8, first: Ints, heads: Ints) -> Iterator[pa.RecordBatch]:
        """WITH UNMATCHED ROWS: those before the first row from which a match may start."""
        if self.program.all_rows != "UNMATCHED":
            return
        count = len(state)
        before = np.arange(count) < np.repeat(first, np.diff(heads, append=count))
        rows = np.flatnonzero(before & (state & SHOWN == 0))
        state[rows] |= SHOWN
        nothing = MatchNavigation(self.program, listed((), (), (), heads), heads, count)
        yield from gathered_rows(RowPiece(nothing, navigation.unmatched_rows(rows), self.columns))


NDArrayInt8 = np.ndarray[tuple[int], np.dtype[np.int8]]


def _first_waiting(waiting: Bools, heads: Ints) -> Ints:
    """For each partition the first row that waits, or its end."""
    count = len(waiting)
    rows = np.where(waiting, np.arange(count), count)
    first: Ints = np.minimum(np.minimum.reduceat(rows, heads), np.append(heads[1:], count))
    return first


def _with_state(rows: pa.RecordBatch, state: NDArrayInt8) -> pa.RecordBatch:
    return rows.set_column(rows.schema.get_field_index(STATE), STATE, pa.array(state))


def _tables(
    rows: Sequence[pa.RecordBatch], keys: Sequence[pa.RecordBatch]
) -> dict[str, tuple[pa.RecordBatch, ...]]:
    named = {ROWS: tuple(rows), KEYS: tuple(keys)}
    return {name: parts for name, parts in named.items() if parts}


class _KnownKeys:
    """The keys of rows, as numbers (`codes`), and what is remembered of keys, if anything is: how many
    matches they had. A key has `begun` once its first row is decided, and is remembered from then on."""

    def __init__(self, streamed: StreamedRows, rows: pa.RecordBatch, kept: Sequence[pa.RecordBatch]) -> None:
        self.streamed, self.names = streamed, list(streamed.program.keys)
        columns = [rows.column(name) for name in self.names]
        old = one_batch(kept) if kept else None
        count = 0 if old is None else old.num_rows
        if old is not None:
            columns = [
                pa.concat_arrays([old.column(name), column])
                for name, column in zip(self.names, columns, strict=True)
            ]
        self.columns = columns
        codes = key_codes(columns, count + rows.num_rows)
        self.codes = codes[count:]
        self.size = int(codes.max()) + 1 if len(codes) else 0
        # For each key the first of its rows, among the keys that are remembered and then the rows.
        self.first = np.full(self.size, -1, dtype=np.int64)
        self.first[codes[::-1]] = np.arange(len(codes))[::-1]
        self.begun = np.zeros(self.size, dtype=np.bool_)
        self.found = np.zeros(self.size, dtype=np.int64)
        if old is not None:
            self.begun[codes[:count]] = True
            self.found[codes[:count]] = np.asarray(old.column(NUMBER))

    def number(self, codes: Ints) -> Ints:
        """How many matches keys had before."""
        return self.found[codes]

    def is_begun(self, codes: Ints) -> Bools:
        return self.begun[codes]

    def count(self, codes: Ints, found: Ints, begun: Bools) -> None:
        """Keys that were searched, their new matches, and whether their first rows are decided."""
        self.begun[codes] |= begun
        self.found[codes] += found

    def table(self) -> tuple[pa.RecordBatch, ...]:
        """What is remembered of keys from now on."""
        if not self.streamed.remembers_keys or not self.begun.any():
            return ()
        begun = np.flatnonzero(self.begun)
        rows = pa.array(self.first[begun])
        arrays = [column.take(rows) for column in self.columns]
        return (
            pa.RecordBatch.from_arrays([*arrays, pa.array(self.found[begun])], names=[*self.names, NUMBER]),
        )


# The order of rows.


def _in_order(streamed: StreamedRows, rows: pa.RecordBatch, codes: Ints, chosen: Ints) -> Ints:
    """The order of the chosen rows: key after key, each by time and then by ties. What is equal in all keeps
    its order."""
    start, codes = np.asarray(rows.column("start"))[chosen], codes[chosen]
    ties = [_ranks(one, rows.column(one.column).take(pa.array(chosen))) for one in reversed(streamed.ties)]
    return np.lexsort((*ties, start, codes)) if ties else by_key_and_time(codes, start)


def _ranks(by: RowOrder, column: pa.Array) -> Ints:
    """Numbers in the order of values.

    >>> nan = float("nan")
    >>> _ranks(RowOrder("y", 1), pa.array([2.5, nan, None, -0.0, 0.0])).tolist()
    [1, 2, -1, 0, 0]
    >>> _ranks(RowOrder("s", 1, descending=True, nulls_last=True), pa.array(["b", None, "a"])).tolist()
    [-1, 1, 0]
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        _, ranks = np.unique(np.asarray(column.fill_null(0.0)) + 0.0, return_inverse=True)
    else:
        ranks = _ranks_of_values(column)
    ranks = -ranks if by.descending else ranks
    nothing = ranks.max(initial=0) + 1 if by.nulls_last else ranks.min(initial=0) - 1
    found: Ints = np.where(np.asarray(column.is_null()), nothing, ranks).astype(np.int64, copy=False)
    return found


def _ranks_of_values(column: pa.Array) -> Ints:
    try:
        coded = column.dictionary_encode()
        sorted_codes = np.asarray(pc.sort_indices(coded.dictionary))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):  # structs and arrays: rare here
        return _ranks_of_objects(column.to_pylist())
    ranks = np.zeros(len(sorted_codes) + 1, dtype=np.int64)
    ranks[sorted_codes] = np.arange(len(sorted_codes))
    found: Ints = ranks[np.asarray(coded.indices.fill_null(len(sorted_codes)))]
    return found


def _ranks_of_objects(values: Sequence[object]) -> Ints:
    def compare(one: int, other: int) -> int:
        return order(values[one], values[other])

    places = sorted(
        (place for place, value in enumerate(values) if value is not None), key=cmp_to_key(compare)
    )
    rises = [compare(one, other) != 0 for one, other in pairwise(places)]
    ranks = np.zeros(len(values), dtype=np.int64)
    ranks[places] = np.cumsum([False, *rises])[: len(places)]
    return ranks

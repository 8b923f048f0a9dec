"""Row patterns on the worker: which partitions are searched and kept, and the matches as rows.

Once all rows of some keys have come, or enough of a long one, their matches are found and become rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import astuple
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Bools, Ints, key_text
from neelc.runtime.failures import FailureContext
from neelc.runtime.kernels.rows import navigation
from neelc.runtime.kernels.rows.automaton import RowFailure, listed
from neelc.runtime.kernels.rows.navigation import MatchNavigation, RowViews
from neelc.runtime.kernels.rows.program import (
    CountOutput,
    MembershipOutput,
    Output,
    PropertyOutput,
    RowOrder,
    RowProgram,
    ValueOutput,
    ValuesOutput,
    sight,
)
from neelc.runtime.kernels.rows.recognizing import PartitionPiece, recognize, recognize_piece
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import mended, section_heads
from neelc.runtime.values.times import in_zone
from neelc.runtime.worker import (
    ROWS_AT_ONCE,
    ROWS_IN_BATCH,
    Batches,
    BatchFunction,
    NeededRows,
    WorkerKernel,
    WorkerLimits,
    WorkerSearch,
    WorkerState,
)

# Rows as they come from Spark: those of complete partitions, and pieces of a long one.
#
# Rows come sorted, those of one key together. They are collected until a key is complete. If they were
# sorted by one number instead, they are collected until a section is, and put in order then. A long key is
# searched before it is complete: what is decided is forgotten, and the rest waits for the rows that decide
# it.

SHORT = 4
"""A key with less than this part of the rows that are searched at once waits for its end."""

HEAD = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class SearchProgress:
    """How far a partition has been searched whose end has not come: `before` of its rows are forgotten. Of
    those kept, matches start at the row `begin` or later. `number` matches were found, and they took all rows
    before `matched`."""

    before: int = 0
    begin: int = 0
    number: int = 0
    matched: int = 0

    def without(self, rows: int) -> SearchProgress:
        """The same, once this many rows are forgotten."""
        return SearchProgress(self.before + rows, self.begin - rows, self.number, self.matched - rows)


@dataclass(frozen=True)
class ArrivedRows:
    """Rows in order, and the rows at which keys begin. With `progress` they are of one key, whose first rows
    came before; it may go on if it is open."""

    rows: pa.RecordBatch
    heads: Ints
    progress: SearchProgress | None = None
    is_open: bool = False


@dataclass(frozen=True)
class OpenPartitions:
    """How far long keys were searched whose end has not come. For each the number of the first row that is
    kept of it, and then the numbers of its `SearchProgress`."""

    progress: tuple[tuple[int, ...], ...] = ()


Piece = TypeVar("Piece")
PartitionSearch = Callable[[ArrivedRows], Generator[Piece, None, SearchProgress]]
"""What is found in some rows, and how far they have been searched."""


def searched_partitions(
    program: RowProgram,
    rows: pa.RecordBatch,
    facts: OpenPartitions,
    least: int | None,
    search: PartitionSearch[Piece],
) -> Generator[Piece, None, NeededRows[OpenPartitions]]:
    """Searches the keys whose rows have all come, and then those of `least` rows whose end has not; None: no
    more rows will come. In the end, what is still needed."""
    progress = {row: SearchProgress(*numbers) for row, *numbers in facts.progress}
    end = rows.num_rows if least is None else _end_of_complete(program, rows)
    if end:
        for arrived in _complete(program, rows.slice(0, end), progress):
            yield from search(arrived)
        rows, progress = rows.slice(end), {}
    # A key of few rows is not worth it: what is found is what could have been found a little later.
    if least is None or rows.num_rows < least or _settled(program, rows) < least:
        return _needed(rows, progress)
    return (yield from _searched_open(program, rows, progress, least, search))


def _complete(
    program: RowProgram, rows: pa.RecordBatch, progress: Mapping[int, SearchProgress]
) -> Iterator[ArrivedRows]:
    rows, heads, order = _in_order(program, rows)
    first = heads if order is None else order[heads]
    return _apart(rows, heads, [progress.get(row) for row in first.tolist()] if progress else [])


def _searched_open(
    program: RowProgram,
    rows: pa.RecordBatch,
    before: Mapping[int, SearchProgress],
    least: int,
    search: PartitionSearch[Piece],
) -> Generator[Piece, None, NeededRows[OpenPartitions]]:
    """Searches long keys as far as that can be decided, and forgets the rows that are done with."""
    ordered, heads, order = _in_order(program, rows.slice(0, _settled(program, rows)))
    if order is None:
        order = np.arange(ordered.num_rows)
    behind, _ = sight(program)
    kept = np.ones(rows.num_rows, dtype=np.bool_)
    progress = dict(before)
    for head, tail in zip(heads.tolist(), [*heads[1:].tolist(), ordered.num_rows], strict=True):
        if tail - head < least:
            continue
        begun = progress.pop(int(order[head]), SearchProgress())
        after = yield from search(ArrivedRows(ordered.slice(head, tail - head), HEAD, begun, True))
        # One row at least stays, to know the key again.
        forgotten = min(max(0, after.begin - behind), tail - head - 1)
        kept[order[head : head + forgotten]] = False
        progress[int(order[head + forgotten])] = after.without(forgotten)
    place = np.cumsum(kept) - 1
    progress = {int(place[row]): one for row, one in progress.items()}
    if kept.all():
        # Where nothing at all could be decided, it is not likely to be soon.
        return _needed(rows, progress, growth=4)
    return _needed(rows.filter(pa.array(kept)), progress)


def _needed(
    rows: pa.RecordBatch, progress: Mapping[int, SearchProgress], growth: int = 2
) -> NeededRows[OpenPartitions]:
    facts = OpenPartitions(tuple((row, *astuple(one)) for row, one in progress.items()))
    return NeededRows(facts, (rows,) if rows.num_rows else (), growth)


def _apart(
    rows: pa.RecordBatch, heads: Ints, progress: Sequence[SearchProgress | None]
) -> Iterator[ArrivedRows]:
    """Complete keys: each that was searched in part alone, all others together."""
    if not any(progress):
        yield ArrivedRows(rows, heads)
        return
    lengths = np.diff(heads, append=rows.num_rows)
    for head, length, one in zip(heads.tolist(), lengths.tolist(), progress, strict=True):
        if one is not None:
            yield ArrivedRows(rows.slice(head, length), HEAD, one)
    new = np.array([one is None for one in progress])
    if new.any():
        fresh = rows.filter(pa.array(np.repeat(new, lengths)))
        yield ArrivedRows(fresh, np.cumsum(lengths[new]) - lengths[new])


def _end_of_complete(program: RowProgram, rows: pa.RecordBatch) -> int:
    """The row at which the last key begins, or the last section: it may go on in the next batch."""
    if program.order is None:
        return int(_key_heads(program, rows)[-1])
    return int(section_heads(_ticks(program.order, rows))[-1])


def _settled(program: RowProgram, rows: pa.RecordBatch) -> int:
    """How many rows of an open section have their place: rows of the last tick may come in any order."""
    if program.order is None:
        return int(rows.num_rows)
    ticks = _ticks(program.order, rows)
    return len(ticks) - int(np.count_nonzero(ticks == ticks[-1]))


def _in_order(program: RowProgram, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints, Ints | None]:
    """The rows of each key together and in their order, and the rows at which keys begin; and where they were
    before, if they were not in this order."""
    if program.order is None:
        return rows, _key_heads(program, rows), None
    ticks = _ticks(program.order, rows)
    keys = [rows.column(name) for name in program.keys]
    order, heads = mended(keys, _places(program.order, rows), ticks, section_heads(ticks))
    return (rows if order is None else rows.take(pa.array(order))), heads, order


def _key_heads(program: RowProgram, rows: pa.RecordBatch) -> Ints:
    return segments.heads([rows.column(name) for name in program.keys], rows.num_rows)


def _ticks(order: RowOrder, rows: pa.RecordBatch) -> Ints:
    """The beginning of each row's tick."""
    nothing = LAST_TIME if order.nulls_last else FIRST_TIME
    ticks: Ints = np.where(_is_null(order, rows), nothing, _numbers(order, rows)) & -order.grain
    return ticks


def _places(order: RowOrder, rows: pa.RecordBatch) -> Ints:
    """Numbers in the order of rows; NULL is before or after all others, the least and greatest too.

    >>> rows = pa.record_batch({"n": pa.array([FIRST_TIME, None, 7, 7])})
    >>> _places(RowOrder("n", 1), rows).tolist(), _places(RowOrder("n", 1, nulls_last=True), rows).tolist()
    ([1, 0, 2, 2], [0, 2, 1, 1])
    """
    numbers = _numbers(order, rows)
    is_null = _is_null(order, rows)
    if not is_null.any():
        return numbers
    _, ranks = np.unique(numbers, return_inverse=True)
    found: Ints = np.where(is_null, len(numbers) if order.nulls_last else -1, ranks)
    _, places = np.unique(found, return_inverse=True)
    return places.astype(np.int64, copy=False)


def _is_null(order: RowOrder, rows: pa.RecordBatch) -> Bools:
    return np.asarray(rows.column(order.column).is_null())


def _numbers(order: RowOrder, rows: pa.RecordBatch) -> Ints:
    """The column as whole numbers that rise; of NULL, any."""
    column = rows.column(order.column)
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    numbers: Ints = np.asarray(column.cast(pa.int64()).fill_null(0))
    return ~numbers if order.descending else numbers


def recognizer(
    program: RowProgram, rows_at_once: int = ROWS_AT_ONCE, time_zone: str | None = None
) -> BatchFunction:
    """The function that finds the matches of one of Spark's partitions.

    `time_zone` is that of the session, for conditions that depend on it and are evaluated here.
    """
    limits = WorkerLimits(rows_at_once)
    begin = partial(_begin, program, max(1, limits.rows_at_once // SHORT), time_zone)
    context = FailureContext(program.label or None, held="the rows of a partition")
    return WorkerKernel(begin, OpenPartitions, limits, context).function()


def _begin(
    program: RowProgram,
    least: int,
    time_zone: str | None,
    state: WorkerState[OpenPartitions],
    is_last: bool,
) -> RowPatternSearch:
    return RowPatternSearch(program, time_zone, state.joined(), state.facts, None if is_last else least)


@dataclass(frozen=True, eq=False)
class RowPiece:
    """Rows of the result: what they show of some matches, and the columns of the input."""

    found: MatchNavigation
    views: RowViews
    columns: Mapping[str, pa.Array]


class RowPatternSearch(WorkerSearch[OpenPartitions, RowPiece]):
    """A search of all partitions that are complete, and of long ones that are not."""

    def __init__(
        self,
        program: RowProgram,
        time_zone: str | None,
        rows: pa.RecordBatch,
        facts: OpenPartitions,
        least: int | None,
    ) -> None:
        self.program, self.time_zone = program, time_zone
        self._found = searched_partitions(self.program, rows, facts, least, self._searched)
        self._columns: Mapping[str, pa.Array] = {}
        self._left: NeededRows[OpenPartitions] | None = None

    def matches(self) -> Iterator[RowPiece]:
        self._left = yield from self._found

    def needed(self) -> NeededRows[OpenPartitions]:
        assert self._left is not None, "all matches have been taken"
        return self._left

    def gather(self, piece: RowPiece) -> Batches:
        return gathered_rows(piece)

    def key_of(self, error: Exception) -> Mapping[str, str | None]:
        if not isinstance(error, RowFailure):
            return {}
        return key_text(self.program.keys, self._columns, error.row)

    def _searched(self, arrived: ArrivedRows) -> Generator[RowPiece, None, SearchProgress]:
        """The rows of the result, and how far a key has been searched."""
        program, rows, heads = self.program, arrived.rows, arrived.heads
        before, count = arrived.progress or SearchProgress(), arrived.rows.num_rows
        columns = self._columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        number, matched, zone = before.number, before.matched, self.time_zone
        is_done = np.zeros(count, dtype=np.bool_)
        is_done[: max(before.begin, matched)] = True
        with in_zone(zone) if zone else nullcontext():
            if arrived.progress is None:
                matches, decided = recognize(program, columns, heads, count), count
            else:
                piece = PartitionPiece(count, before.before, before.begin, number, arrived.is_open)
                matches, decided = recognize_piece(program, columns, piece)
            for one in matches:
                found = MatchNavigation(program, one, heads, count)
                views = navigation.all_rows_per_match if program.all_rows else navigation.one_row_per_match
                yield RowPiece(found, views(found), columns)
                number += len(one.start)
                matched = max(matched, int((one.start + one.length).max(initial=0)))
                if program.all_rows == "UNMATCHED":
                    is_done[found.taken] = True
                    is_done[one.start] = True
            if program.all_rows == "UNMATCHED":
                nothing = MatchNavigation(program, listed((), (), (), heads), heads, count)
                unmatched = navigation.unmatched_rows(np.flatnonzero(~is_done[:decided]))
                yield RowPiece(nothing, unmatched, columns)
        return SearchProgress(before.before, decided, number, matched)


def gathered_rows(piece: RowPiece) -> Batches:
    """The rows of a piece, in batches that are not too long."""
    views = piece.views
    for first in range(0, len(views.match), ROWS_IN_BATCH):
        part = slice(first, first + ROWS_IN_BATCH)
        shown = RowViews(views.match[part], views.seen[part], views.row[part])
        yield _batch(piece.found, shown, piece.columns)


def _batch(found: MatchNavigation, views: RowViews, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    program = found.program
    arrays = {
        name: columns[name].take(pa.array(views.row)) for name in dict.fromkeys((*program.keys, *program.own))
    }
    for output in program.outputs:
        arrays[output.name] = _output(output, found, views, columns)
    if not arrays:
        # Arrow would forget how many rows there are.
        raise ValueError("the program has no outputs")
    return pa.RecordBatch.from_pydict(arrays)


def _output(
    output: Output, found: MatchNavigation, views: RowViews, columns: Mapping[str, pa.Array]
) -> pa.Array:
    unmatched = views.match < 0
    match output:
        case ValueOutput(_, at, column):
            rows = found.rows(views, at)
            if column is None:
                return _names(found, found.variables_at(views, rows))
            return columns[column].take(pa.array(rows, mask=rows < 0))
        case CountOutput(_, variables, final):
            before, upto = found.numbers(views, variables, final)
            return pa.array(upto - before, mask=unmatched)
        case ValuesOutput(_, variables, column, final):
            return _values(found, views, variables, final, None if column is None else columns[column])
        case MembershipOutput(_, variables):
            mapped = found.is_mapped(variables)
            is_mapped = mapped[views.seen] if len(mapped) else np.zeros(len(views.seen), dtype=np.bool_)
            return pa.array(is_mapped & (views.seen >= 0), mask=unmatched)
        case PropertyOutput(_, "MATCH_NUMBER"):
            numbers = found.matches.number
            known = numbers[np.maximum(views.match, 0)] if len(numbers) else np.zeros_like(views.match)
            return pa.array(known, mask=unmatched)
        case PropertyOutput(_, "ROW"):
            return pa.array(views.row)
        case PropertyOutput():
            excluded = np.array(found.program.machine.excluded, dtype=np.bool_)
            places = found.matches.places
            is_excluded = excluded[places[views.seen]] if len(places) else np.zeros(len(views.seen), np.bool_)
            return pa.array(is_excluded & (views.seen >= 0))
    raise AssertionError(f"{output} is no output")


def _names(found: MatchNavigation, variables: Ints) -> pa.Array:
    names = pa.array(found.program.names, type=pa.string())
    return names.take(pa.array(variables, mask=variables < 0))


def _values(
    found: MatchNavigation, views: RowViews, variables: int, final: bool, column: pa.Array | None
) -> pa.Array:
    """For each match the values of the rows that are mapped to the variables."""
    before, upto = found.numbers(views, variables, final)
    mapped = np.flatnonzero(found.is_mapped(variables))
    lengths = upto - before
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    places = np.arange(offsets[-1]) + np.repeat(before - offsets[:-1], lengths)
    chosen = mapped[places]
    if column is None:
        values = _names(found, found.variable[chosen])
    else:
        values = column.take(pa.array(found.taken[chosen]))
    return pa.ListArray.from_arrays(pa.array(offsets), values)

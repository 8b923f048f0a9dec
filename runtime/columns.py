"""The columns of the rows that are run together, each as one Arrow array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

try:
    # `pyarrow.compute`, which methods such as `Array.take` load, makes a documented function of each of
    # Arrow's, which takes longer than to find the matches of a small file.
    from pyarrow._compute import call_function
except ImportError:  # a private module: another version of Arrow may not have it
    from pyarrow.compute import call_function

from neelc.runtime.coding import called_columns, condition_columns
from neelc.runtime.failures import COLUMN, MEMORY, NULL_TIME, FailureDetails, KernelFailure
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import PatternProgram

# Keys in a sorted table: where they begin, the times that a chunk leaves of each, how many events came
# before.

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FIRST_TIME = int(np.iinfo(np.int64).min)
LAST_TIME = int(np.iinfo(np.int64).max)


def earlier(time: int, by: int) -> int:
    """A time before another; no earlier than the first there is.

    >>> earlier(30, 10), earlier(FIRST_TIME, 10) == FIRST_TIME
    (20, True)
    """
    return max(time, FIRST_TIME + by) - by


def heads(keys: Sequence[pa.Array], count: int) -> Ints:
    """The numbers of the rows at which a key begins, in `count` > 0 rows.

    >>> rooms, wards = pa.array(["a", "a", "é", None, None]), pa.array([1, 1, 1, 1, 2])
    >>> heads([rooms, wards], 5).tolist()
    [0, 2, 3, 4]
    """
    changed = np.zeros(count, dtype=np.bool_)
    changed[0] = True
    for key in keys:
        changed[1:] |= changes(key)
    return np.flatnonzero(changed).astype(np.int64, copy=False)


def changes(column: pa.Array) -> Bools:
    """For each row but the first: whether its value is another than that of the row before. NULL equals NULL.

    >>> changes(pa.array([1.5, float("nan"), float("nan"), None, None])).tolist()
    [True, False, True, False]
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    before, after = column.slice(0, len(column) - 1), column.slice(1)
    different = _different(before, after)
    if column.null_count == 0:
        return different
    null = np.asarray(column.is_null())
    return np.where(null[1:] | null[:-1], null[1:] != null[:-1], different)


def _different(before: pa.Array, after: pa.Array) -> Bools:
    if pa.types.is_floating(before.type):
        # NaN is a key like any other: Spark made all NaNs, and both zeros, the same bits.
        bits = pa.int64() if before.type == pa.float64() else pa.int32()
        before, after = before.view(bits), after.view(bits)
    try:
        unequal = call_function("not_equal", [before, after])
    except pa.ArrowNotImplementedError:  # structs and arrays: rare as keys
        values = [*before.slice(0, 1).to_pylist(), *after.to_pylist()]
        return np.array([repr(one) != repr(other) for one, other in pairwise(values)], dtype=np.bool_)
    filled = unequal.fill_null(False) if unequal.null_count else unequal
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.bool_)


def taken(column: pa.Array, rows: pa.Array) -> pa.Array:
    """The values of these rows; NULL for a row that is NULL.

    >>> taken(pa.array(["a", "b"]), pa.array([1, None, 1])).to_pylist()
    ['b', None, 'b']
    """
    return call_function("take", [column, rows])


def numbers(first_rows: Ints, count: int) -> Ints:
    """For each of `count` rows the number of its key.

    >>> numbers(np.array([0, 2, 3]), 5).tolist()
    [0, 0, 1, 2, 2]
    """
    lengths = np.diff(first_rows, append=count)
    return np.repeat(np.arange(len(first_rows), dtype=np.int64), lengths)


def in_chunks(low: Ints, high: Ints, chunks: Ints, width: int) -> tuple[Ints, Ints]:
    """For each key the times from `low` to before `high` that lie in its chunk: chunk c is
    [c * width, (c + 1) * width).

    >>> lows, highs = in_chunks(np.array([25, -9]), np.array([99, 38]), np.array([2, 3]), 10)
    >>> lows.tolist(), highs.tolist()
    ([25, 30], [30, 38])
    """
    begin = chunks * np.int64(width)
    end = np.where(begin > LAST_TIME - width, LAST_TIME, begin + np.int64(width))
    return np.maximum(low, begin), np.minimum(high, end)


def places(segment: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """For each event, how many events of its key start before its start, and how many not after its end.

    >>> ends = np.array([3, 1, 2, 5])
    >>> [counts.tolist() for counts in places(np.array([0, 0, 0, 1]), np.array([1, 1, 2, 5]), ends)]
    [[0, 0, 2, 0], [3, 2, 3, 1]]
    """
    count = len(segment)
    if count == 0:
        return segment, segment
    rows = np.arange(count, dtype=np.int64)
    offset = np.flatnonzero(np.diff(segment, prepend=segment[0] - 1))[segment]
    tie_begins = np.diff(segment, prepend=segment[0] - 1).astype(np.bool_)
    tie_begins[1:] |= start[1:] != start[:-1]
    before = np.maximum.accumulate(np.where(tie_begins, rows, 0))
    # Starts and ends in one order, a start before an equal end: then the starts passed are those counted.
    order = np.lexsort((np.repeat([0, 1], count), np.concatenate([start, end]), np.tile(segment, 2)))
    passed = np.cumsum(order < count)
    not_after = np.empty(count, dtype=np.int64)
    is_end = order >= count
    not_after[order[is_end] - count] = passed[is_end]
    return before - offset, not_after - offset


# Types whose arrays hold 2 GiB at most, and their sisters that have no such limit.
WIDER = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}

CHUNKS = ("chunk", "chunk_width")
"""Keys that no query has."""


@dataclass(frozen=True)
class Columns:
    """What a program reads, by name. A column of much text can have the wider type of `WIDER`; `schema` has
    the types as they came."""

    arrays: Mapping[str, pa.Array]
    schema: pa.Schema

    @cached_property
    def start(self) -> Ints:
        return times(self.arrays["start"], "start")

    @cached_property
    def end(self) -> Ints:
        """The array of `start` itself for point events."""
        return times(self.arrays["end"], "end") if "end" in self.arrays else self.start

    def first(self, count: int) -> Columns:
        """The first rows only."""
        return Columns({name: array.slice(0, count) for name, array in self.arrays.items()}, self.schema)

    def take(self, rows: Ints) -> Columns:
        """The rows with these numbers, in this order."""
        numbers = pa.array(rows)
        return Columns({name: taken(array, numbers) for name, array in self.arrays.items()}, self.schema)

    def key_text(self, program: PatternProgram, row: int) -> dict[str, str | None]:
        """The key of a row, for messages; chunks are not part of the query.

        >>> keys = {"room": pa.array(["4b"]), "ward": pa.array([None], pa.int32())}
        >>> Columns(keys, pa.schema([])).key_text(PatternProgram((), (), (), keys=("room", "ward")), 0)
        {'room': '4b', 'ward': None}
        """
        return key_text([key for key in program.keys if key not in CHUNKS], self.arrays, row)


def key_text(keys: Sequence[str], columns: Mapping[str, pa.Array], row: int) -> dict[str, str | None]:
    """The key of a row, for messages.

    >>> key_text(["room"], {"room": pa.array(["4b", None]), "x": pa.array([1, 2])}, 1)
    {'room': None}
    """
    values = {key: columns[key][row].as_py() for key in keys}
    return {key: None if value is None else str(value)[:200] for key, value in values.items()}


@lru_cache(maxsize=16)
def names(program: PatternProgram) -> tuple[str, ...]:
    """The columns of the input that a program reads, each once.

    >>> names(PatternProgram((), (), ("A",), keys=("room",), lasting=True))
    ('room', 'start', 'end', 'roles')
    """
    payload = (column for output in program.outputs if output.name for column in output.columns)
    computed = sorted(condition_columns(program) | called_columns(program))
    used = (*program.keys, *program.time_columns, *program.order, "roles", *computed, *payload)
    return tuple(dict.fromkeys(used))


def selected(batch: pa.RecordBatch, used: Sequence[str]) -> pa.RecordBatch:
    """The columns that a program reads."""
    if absent := [name for name in used if name not in batch.schema.names]:
        raise KernelFailure(FailureDetails(COLUMN, f"the kernel's input has no column {', '.join(absent)}"))
    return batch.select(list(used))


def combine(
    program: PatternProgram, parts: Sequence[pa.RecordBatch], used: tuple[str, ...] | None = None
) -> Columns:
    """The columns of all parts, one after the other: those that the program reads, or that are `used`."""
    used = names(program) if used is None else used
    selected(parts[0], used)
    try:
        table = pa.Table.from_batches(parts).select(used).combine_chunks()
    except pa.ArrowInvalid as error:  # nested text, whose type is not widened
        message = "a column of the rows that one key's window holds is larger than 2 GiB"
        raise KernelFailure(FailureDetails(MEMORY, message)) from error
    return Columns({name: _one(table.column(name)) for name in used}, table.schema)


def _one(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    # More text than one array can hold.
    return pa.concat_arrays(column.cast(WIDER[column.type]).chunks)


def times(column: pa.Array, name: str) -> Ints:
    """Times as numbers.

    >>> times(pa.array([3, 5], pa.int32()), "end").dtype
    dtype('int64')
    """
    if column.null_count:
        raise KernelFailure(FailureDetails(NULL_TIME, f"an event has no {name}"))
    if not pa.types.is_integer(column.type):
        raise KernelFailure(FailureDetails(COLUMN, f"column {name} has type {column.type}, not int64"))
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)

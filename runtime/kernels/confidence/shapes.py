"""How likely each of the times of an event is, as rows have it: the name of a distribution, or weights."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neelc.runtime.columns import Bools, Columns
from neelc.runtime.kernels.events import TRIANGULAR, UNIFORM, WEIGHTED, TimeShapes
from neelc.runtime.program import TIME_SHAPE, TIME_WEIGHTS

KINDS = {"UNIFORM": UNIFORM, "TRIANGULAR": TRIANGULAR}


def with_shapes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows that are events: those that name no distribution, or one that there is, and have no weights,
    or as many as times, not negative, and not all 0.

    >>> rows = {"start": [1, 1, 1, 1], "end": [2, 2, 2, 2]}
    >>> weights = pa.array([[1, 3], [0, 0], None, [1, 2, 3]], pa.list_(pa.float64()))
    >>> names = pa.array(["Triangular", None, "square", None])
    >>> found = with_shapes(pa.RecordBatch.from_pydict({**rows, TIME_WEIGHTS: weights}))
    >>> found[TIME_WEIGHTS].to_pylist()
    [[1.0, 3.0], None]
    >>> with_shapes(pa.RecordBatch.from_pydict({**rows, TIME_SHAPE: names}))[TIME_SHAPE].to_pylist()
    ['Triangular', None, None]
    """
    kept = np.ones(batch.num_rows, bool)
    if TIME_SHAPE in batch.schema.names:
        names = pc.utf8_upper(batch[TIME_SHAPE])
        known = pc.is_in(names, pa.array(KINDS, pa.string()))
        kept &= np.asarray(pc.or_(known, names.is_null()))
    if TIME_WEIGHTS in batch.schema.names:
        kept &= _are_weights(batch)
    return batch if kept.all() else batch.filter(pa.array(kept))


def _are_weights(batch: pa.RecordBatch) -> Bools:
    column = batch[TIME_WEIGHTS]
    null = np.asarray(column.is_null())
    count = np.asarray(batch["end"]) - np.asarray(batch["start"]) + 1
    length = np.asarray(pc.fill_null(pc.list_value_length(column), 0))
    values = _values(column)
    row = np.repeat(np.arange(len(column)), length)
    with np.errstate(invalid="ignore"):
        bad = ~(np.isfinite(values) & (values >= 0))
    broken = np.bincount(row, bad, len(column)) > 0
    total = np.bincount(row, np.where(bad, 0, values), len(column))
    return np.asarray(null | ((length == count) & ~broken & (total > 0)))


def _values(column: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The elements of all lists, one after the other; NULL is no number."""
    flat = pc.list_flatten(column).cast(pa.float64())
    return np.asarray(flat.to_numpy(zero_copy_only=False), np.float64)


def time_shapes(columns: Columns) -> TimeShapes:
    """The distributions of all events.

    >>> weights = pa.array([None, [3.0, 1.0]])
    >>> found = time_shapes(Columns({"start": pa.array([1, 1]), TIME_WEIGHTS: weights}, pa.schema([])))
    >>> found.kind.tolist(), found.first.tolist(), found.until.tolist()
    ([0, 2], [0, 0], [0.0, 0.75, 1.0])
    """
    rows = len(columns.arrays["start"])
    kind, first = np.full(rows, UNIFORM, np.int8), np.zeros(rows, np.int64)
    if TIME_SHAPE in columns.arrays:
        names = pc.utf8_upper(columns.arrays[TIME_SHAPE])
        kind[np.asarray(pc.fill_null(pc.equal(names, "TRIANGULAR"), False))] = TRIANGULAR
    if TIME_WEIGHTS not in columns.arrays:
        return TimeShapes(kind, first, np.zeros(0))
    column = columns.arrays[TIME_WEIGHTS]
    kind[np.asarray(column.is_valid())] = WEIGHTED
    length = np.asarray(pc.fill_null(pc.list_value_length(column), 0)).astype(np.int64)
    # Each list gets a 0 before it.
    room = np.where(kind == WEIGHTED, length + 1, 0)
    first = np.cumsum(room) - room
    until = np.zeros(int(room.sum()))
    row = np.repeat(np.arange(rows), length)
    place = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
    values = _values(column)
    share = values / np.bincount(row, values, rows)[row]
    until[first[row] + place + 1] = share
    # Sums of all lists: what is added is far more than what is left in the end.
    sums = np.cumsum(until, dtype=np.longdouble)
    until = sums - np.repeat(sums[first[kind == WEIGHTED]], room[kind == WEIGHTED])
    return TimeShapes(kind, first, np.minimum(until, 1).astype(np.float64))

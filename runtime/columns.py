"""The columns of the rows that are run together, each as one Arrow array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa

from neelc.runtime.coding import called_columns, condition_columns
from neelc.runtime.failures import COLUMN, MEMORY, NULL_TIME, Facts, KernelFailure
from neelc.runtime.program import Program
from neelc.runtime.segments import Ints

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
        return Columns({name: array.take(numbers) for name, array in self.arrays.items()}, self.schema)

    def key_text(self, program: Program, row: int) -> dict[str, str | None]:
        """The key of a row, for messages; chunks are no part of what a query says.

        >>> keys = {"room": pa.array(["4b"]), "ward": pa.array([None], pa.int32())}
        >>> Columns(keys, pa.schema([])).key_text(Program((), (), (), keys=("room", "ward")), 0)
        {'room': '4b', 'ward': None}
        """
        values = {key: self.arrays[key][row].as_py() for key in program.keys if key not in CHUNKS}
        return {key: None if value is None else str(value)[:200] for key, value in values.items()}


@lru_cache(maxsize=16)
def names(program: Program) -> tuple[str, ...]:
    """The columns of the input that a program reads, each once.

    >>> names(Program((), (), ("A",), keys=("room",), lasting=True))
    ('room', 'start', 'end', 'roles')
    """
    times = ("start", "end") if program.lasting else ("start",)
    payload = (column for output in program.outputs if output.name for column in output.columns)
    asked = sorted(condition_columns(program) | called_columns(program))
    used = (*program.keys, *times, "roles", *asked, *payload)
    return tuple(dict.fromkeys(used))


def combine(program: Program, parts: Sequence[pa.RecordBatch]) -> Columns:
    """The columns of all parts, one after the other."""
    if absent := [name for name in names(program) if name not in parts[0].schema.names]:
        raise KernelFailure(Facts(COLUMN, f"the kernel's input has no column {', '.join(absent)}"))
    try:
        table = pa.Table.from_batches(parts).select(names(program)).combine_chunks()
    except pa.ArrowInvalid as error:  # nested text, whose type is not widened
        message = "a column of the rows that one key's window holds is larger than 2 GiB"
        raise KernelFailure(Facts(MEMORY, message)) from error
    return Columns({name: _one(table.column(name)) for name in names(program)}, table.schema)


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
        raise KernelFailure(Facts(NULL_TIME, f"an event has no {name}"))
    if not pa.types.is_integer(column.type):
        raise KernelFailure(Facts(COLUMN, f"column {name} has type {column.type}, not int64"))
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)

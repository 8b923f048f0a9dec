"""From event numbers back to rows: a struct for each variable of a match, and the match's times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import Columns
from neelc.runtime.program import Output, Program
from neelc.runtime.segments import FIRST_TIME, LAST_TIME, Bools, Ints

ROWS_IN_BATCH = 50_000
BYTES_IN_BATCH = 1 << 28

Batches = Iterator[pa.RecordBatch]
Matches = Mapping[str, Ints]
"""For each output variable the events, -1 where it is absent."""


def output_schema(program: Program, schema: pa.Schema) -> pa.Schema:
    """What a kernel makes of an input with `schema`. A column of no name is left out.

    >>> program = Program((), (Output("a", "first", (("id", "a_id"),)), Output("b", "")), ("A", "B"))
    >>> print(output_schema(program, pa.schema([("a_id", pa.int32())])))
    first: struct<id: int32>
      child 0, id: int32
    match_start: int64
    match_end: int64
    """
    columns = [pa.field(o.name, _struct(o, schema)) for o in program.outputs if o.name]
    return pa.schema([*columns, pa.field("match_start", pa.int64()), pa.field("match_end", pa.int64())])


def _struct(output: Output, schema: pa.Schema) -> pa.DataType:
    if not output.fields:
        # Arrow would forget how many rows there are.
        raise ValueError(f"output {output.name} has no fields")
    return pa.struct([pa.field(name, schema.field(column).type) for name, column in output.fields])


def gather(schema: pa.Schema, program: Program, columns: Columns, matches: Matches) -> Batches:
    """The matches as rows, in batches that are neither too long nor too heavy."""
    count = count_of(matches)
    size = _rows_in_batch(program, columns)
    for first in range(0, count, size):
        piece = {variable: numbers[first : first + size] for variable, numbers in matches.items()}
        yield from _batches(schema, program, columns, piece)


def count_of(matches: Matches) -> int:
    """How many matches there are."""
    return min((len(numbers) for numbers in matches.values()), default=0)


def _rows_in_batch(program: Program, columns: Columns) -> int:
    used = [columns.arrays[column] for o in program.outputs if o.name for _, column in o.fields]
    bytes_in_row = sum(array.nbytes / max(1, len(array)) for array in used)
    return int(min(ROWS_IN_BATCH, max(1, BYTES_IN_BATCH // max(1, bytes_in_row))))


def _batches(schema: pa.Schema, program: Program, columns: Columns, matches: Matches) -> Batches:
    try:
        yield _batch(schema, program, columns, matches)
    except pa.ArrowInvalid:
        # Some events are much larger than the average: more text than one array can hold.
        middle = count_of(matches) // 2
        if middle == 0:
            raise
        for half in (slice(None, middle), slice(middle, None)):
            yield from _batches(schema, program, columns, {v: n[half] for v, n in matches.items()})


def _batch(schema: pa.Schema, program: Program, columns: Columns, matches: Matches) -> pa.RecordBatch:
    least = np.full(count_of(matches), LAST_TIME, dtype=np.int64)
    greatest = np.full(count_of(matches), FIRST_TIME, dtype=np.int64)
    arrays: list[pa.Array] = []
    for output in program.outputs:
        numbers = matches[output.variable]
        absent = numbers < 0
        # An absent event reads the last row, and then counts for nothing.
        np.minimum(least, columns.start[numbers], out=least, where=~absent)
        np.maximum(greatest, columns.end[numbers], out=greatest, where=~absent)
        if output.name:
            type = schema.field(len(arrays)).type
            arrays.append(_structs(output, type, columns, numbers, absent if absent.any() else None))
    return pa.RecordBatch.from_arrays([*arrays, pa.array(least), pa.array(greatest)], schema=schema)


def _structs(
    output: Output, type: pa.DataType, columns: Columns, numbers: Ints, absent: Bools | None
) -> pa.Array:
    rows = pa.array(numbers, mask=absent)
    fields = [type.field(place) for place in range(type.num_fields)]
    taken = [columns.arrays[column].take(rows) for _, column in output.fields]
    typed = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(taken, fields, strict=True)
    ]
    mask = None if absent is None else pa.array(absent)
    return pa.StructArray.from_arrays(typed, fields=fields, mask=mask)


def in_larger_pieces(pieces: Iterable[Matches], size: int = ROWS_IN_BATCH) -> Iterator[Matches]:
    """The same matches in fewer pieces: none but the last has less than `size`."""
    waiting: list[Matches] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(map(count_of, waiting)) >= size:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(pieces: list[Matches]) -> Matches:
    if len(pieces) == 1:
        return pieces[0]
    return {variable: np.concatenate([piece[variable] for piece in pieces]) for variable in pieces[0]}

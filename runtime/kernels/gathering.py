"""From the numbers of events back to rows: a struct for each variable of a match, and the match's times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Columns, Ints, taken
from neelc.runtime.kernels.frontier import EventLists, none
from neelc.runtime.kernels.matching import Piece, united_columns
from neelc.runtime.program import PatternProgram, VariableOutput
from neelc.runtime.worker import ROWS_IN_BATCH, Batches

BYTES_IN_BATCH = 1 << 28


def output_schema(program: PatternProgram, schema: pa.Schema) -> pa.Schema:
    """What a kernel makes of an input with `schema`. A column of no name is left out.

    >>> outputs = VariableOutput("a", "first", (("id", "a_id"),)), VariableOutput("b", "")
    >>> program = PatternProgram((), outputs, ("A", "B"))
    >>> print(output_schema(program, pa.schema([("a_id", pa.int32())])))
    first: struct<id: int32>
      child 0, id: int32
    match_start: int64
    match_end: int64
    """
    columns = [pa.field(o.name, _struct(o, schema)) for o in program.outputs if o.name]
    return pa.schema([*columns, pa.field("match_start", pa.int64()), pa.field("match_end", pa.int64())])


def _struct(output: VariableOutput, schema: pa.Schema) -> pa.DataType:
    fields = [pa.field(name, schema.field(column).type) for name, column in output.fields]
    fields += [pa.field(inner.name, _struct(inner, schema)) for inner in output.inner if inner.name]
    if not fields:
        # Arrow would forget how many rows there are.
        raise ValueError(f"output {output.name} has no fields")
    return pa.list_(pa.struct(fields)) if output.listed else pa.struct(fields)


def gather(schema: pa.Schema, program: PatternProgram, columns: Columns, matches: Piece) -> Batches:
    """The matches as rows, in batches that are neither too long nor too heavy."""
    count = count_of(matches)
    size = _rows_in_batch(program, columns)
    for first in range(0, count, size):
        piece = {variable: _rows(column, slice(first, first + size)) for variable, column in matches.items()}
        yield from _batches(schema, program, columns, piece)


def _rows(column: Ints | EventLists, rows: slice) -> Ints | EventLists:
    return column.take(rows) if isinstance(column, EventLists) else column[rows]


def count_of(matches: Piece) -> int:
    """How many matches there are."""
    return min(map(len, matches.values()), default=0)


def _rows_in_batch(program: PatternProgram, columns: Columns) -> int:
    used = [columns.arrays[column] for o in program.outputs if o.name for column in o.columns]
    bytes_in_row = sum(array.nbytes / max(1, len(array)) for array in used)
    return int(min(ROWS_IN_BATCH, max(1, BYTES_IN_BATCH // max(1, bytes_in_row))))


def _batches(schema: pa.Schema, program: PatternProgram, columns: Columns, matches: Piece) -> Batches:
    try:
        yield _batch(schema, program, columns, matches)
    except pa.ArrowInvalid:
        # Some events are much larger than the average: more text than one array can hold.
        middle = count_of(matches) // 2
        if middle == 0:
            raise
        for half in (slice(None, middle), slice(middle, None)):
            yield from _batches(schema, program, columns, {v: _rows(n, half) for v, n in matches.items()})


def _batch(schema: pa.Schema, program: PatternProgram, columns: Columns, matches: Piece) -> pa.RecordBatch:
    least = np.full(count_of(matches), LAST_TIME, dtype=np.int64)
    greatest = np.full(count_of(matches), FIRST_TIME, dtype=np.int64)
    arrays: list[pa.Array] = []
    for output in program.outputs:
        found = [matches[name] for name, _ in output.bound]
        for column in found:
            _widen(least, greatest, column, columns)
        if output.name:
            type = schema.field(len(arrays)).type
            arrays.append(_output(output, type, columns, found))
    return pa.RecordBatch.from_arrays([*arrays, pa.array(least), pa.array(greatest)], schema=schema)


def _widen(least: Ints, greatest: Ints, column: Ints | EventLists, columns: Columns) -> None:
    """Note the times of more events of each match."""
    if isinstance(column, EventLists):
        row, place = column.row_and_place()
        numbers = column.pool[place]
        row, numbers = row[numbers >= 0], numbers[numbers >= 0]
        np.minimum.at(least, row, columns.start[numbers])
        np.maximum.at(greatest, row, columns.end[numbers])
    else:
        # An absent event reads the last row, and then counts for nothing.
        np.minimum(least, columns.start[column], out=least, where=column >= 0)
        np.maximum(greatest, columns.end[column], out=greatest, where=column >= 0)


def _output(
    output: VariableOutput, type: pa.DataType, columns: Columns, found: list[Ints | EventLists]
) -> pa.Array:
    if not output.listed:
        (numbers,) = found
        assert not isinstance(numbers, EventLists), "a single variable has an event"
        return _structs(output, type, columns, numbers)
    return _lists(output, type, columns, [column for column in found if isinstance(column, EventLists)])


def _lists(output: VariableOutput, type: pa.DataType, columns: Columns, lists: list[EventLists]) -> pa.Array:
    """The lists of an output, one for each that its iterations have events in."""
    length = lists[0].elements.length
    if output.inner:
        elements = _iterations(output, type.value_type, columns, lists)
    else:
        elements = _structs(output, type.value_type, columns, _flat(lists[0]))
    offsets = np.concatenate([[0], np.cumsum(np.maximum(length, 0))]).astype(np.int32)
    absent = pa.array(length < 0) if (length < 0).any() else None
    return pa.ListArray.from_arrays(pa.array(offsets), elements, type=type, mask=absent)


def _iterations(
    output: VariableOutput, type: pa.DataType, columns: Columns, lists: list[EventLists]
) -> pa.Array:
    """The iterations of all lists: a struct of events, and of lists."""
    fields = [type.field(place) for place in range(type.num_fields)]
    arrays: list[pa.Array] = []
    of_output = iter(lists)
    for one in output.inner:
        own = [next(of_output) for _ in one.bound]
        if one.name and one.listed:
            inner = [_each_iteration(column) for column in own]
            arrays.append(_lists(one, fields[len(arrays)].type, columns, inner))
        elif one.name:
            arrays.append(_structs(one, fields[len(arrays)].type, columns, _flat(own[0])))
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _flat(lists: EventLists) -> Ints:
    """The elements of all lists, one list after the other."""
    return lists.pool[lists.row_and_place()[1]]


def _each_iteration(lists: EventLists) -> EventLists:
    """The inner lists of all lists, one after the other."""
    if lists.groups is None:  # no row has a list
        return none(0)
    outer = lists.elements
    row, place = outer.row_and_place()
    return lists.group(row, place - outer.begin[row])


def _structs(output: VariableOutput, type: pa.DataType, columns: Columns, numbers: Ints) -> pa.Array:
    absent = numbers < 0 if (numbers < 0).any() else None
    rows = pa.array(numbers, mask=absent)
    fields = [type.field(place) for place in range(type.num_fields)]
    arrays = [taken(columns.arrays[column], rows) for _, column in output.fields]
    typed = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(arrays, fields, strict=True)
    ]
    mask = None if absent is None else pa.array(absent)
    return pa.StructArray.from_arrays(typed, fields=fields, mask=mask)


def in_larger_pieces(pieces: Iterable[Piece], size: int = ROWS_IN_BATCH) -> Iterator[Piece]:
    """The same matches in fewer pieces: none but the last has less than `size`."""
    waiting: list[Piece] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(map(count_of, waiting)) >= size:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(pieces: list[Piece]) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    return {variable: united_columns([piece[variable] for piece in pieces]) for variable in pieces[0]}

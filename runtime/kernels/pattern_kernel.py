"""From Spark to a kernel and back: the function that `DataFrame.mapInArrow` runs on each partition.

Batches of sorted rows go into a buffer (`buffer.py`, `order.py`); what leaves it becomes `KernelEvents`
(`columns.py`, `coding.py`) for the kernel; the matches become rows again. The first use in
a worker imports NumPy and Arrow, nothing of Spark and nothing of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.buffer import Buffer, SearchRows, rest, short, step
from neelc.runtime.coding import coded, condition_columns
from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Columns, Ints
from neelc.runtime.failures import (
    AGGREGATE,
    INTERNAL,
    MEMORY,
    FailureDetails,
    KernelError,
    KernelFailure,
    parse_failure,
    too_many_matches,
)
from neelc.runtime.kernels.events import KernelEvents
from neelc.runtime.kernels.fewest import fewest_matches
from neelc.runtime.kernels.frontier import EventLists
from neelc.runtime.kernels.matching import Piece, event_of, matches, united_columns
from neelc.runtime.kernels.mentions import registered
from neelc.runtime.program import PatternProgram, VariableOutput
from neelc.runtime.user_calls import UserCall as Call
from neelc.runtime.user_calls import python_values
from neelc.runtime.user_functions import AggregateFailure, Function, needed

# From event numbers back to rows: a struct for each variable of a match, and the match's times.

ROWS_IN_BATCH = 50_000
BYTES_IN_BATCH = 1 << 28

Matches = Piece
"""For each output variable the events, -1 where it is absent, or the lists."""


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


def gather(schema: pa.Schema, program: PatternProgram, columns: Columns, matches: Matches) -> Batches:
    """The matches as rows, in batches that are neither too long nor too heavy."""
    count = count_of(matches)
    size = _rows_in_batch(program, columns)
    for first in range(0, count, size):
        piece = {variable: _rows(column, slice(first, first + size)) for variable, column in matches.items()}
        yield from _batches(schema, program, columns, piece)


def _rows(column: Ints | EventLists, rows: slice) -> Ints | EventLists:
    return column.take(rows) if isinstance(column, EventLists) else column[rows]


def count_of(matches: Matches) -> int:
    """How many matches there are."""
    return min(map(len, matches.values()), default=0)


def _rows_in_batch(program: PatternProgram, columns: Columns) -> int:
    used = [columns.arrays[column] for o in program.outputs if o.name for column in o.columns]
    bytes_in_row = sum(array.nbytes / max(1, len(array)) for array in used)
    return int(min(ROWS_IN_BATCH, max(1, BYTES_IN_BATCH // max(1, bytes_in_row))))


def _batches(schema: pa.Schema, program: PatternProgram, columns: Columns, matches: Matches) -> Batches:
    try:
        yield _batch(schema, program, columns, matches)
    except pa.ArrowInvalid:
        # Some events are much larger than the average: more text than one array can hold.
        middle = count_of(matches) // 2
        if middle == 0:
            raise
        for half in (slice(None, middle), slice(middle, None)):
            yield from _batches(schema, program, columns, {v: _rows(n, half) for v, n in matches.items()})


def _batch(schema: pa.Schema, program: PatternProgram, columns: Columns, matches: Matches) -> pa.RecordBatch:
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
    lists = [column for column in found if isinstance(column, EventLists)]
    flat = [column.pool[column.row_and_place()[1]] for column in lists]
    if output.inner:
        parts = [(one, numbers) for one, numbers in zip(output.inner, flat, strict=True) if one.name]
        fields = [type.value_type.field(place) for place in range(type.value_type.num_fields)]
        inner = [
            _structs(one, field.type, columns, numbers)
            for (one, numbers), field in zip(parts, fields, strict=True)
        ]
        elements = pa.StructArray.from_arrays(inner, fields=fields)
    else:
        elements = _structs(output, type.value_type, columns, flat[0])
    length = lists[0].length
    offsets = np.concatenate([[0], np.cumsum(np.maximum(length, 0))]).astype(np.int32)
    absent = pa.array(length < 0) if (length < 0).any() else None
    return pa.ListArray.from_arrays(pa.array(offsets), elements, type=type, mask=absent)


def _structs(output: VariableOutput, type: pa.DataType, columns: Columns, numbers: Ints) -> pa.Array:
    absent = numbers < 0 if (numbers < 0).any() else None
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
    return {variable: united_columns([piece[variable] for piece in pieces]) for variable in pieces[0]}


__all__ = ["Batches", "Kernel", "KernelFailure", "kernel", "output_schema", "parse_failure"]

Batches = Iterator[pa.RecordBatch]
Kernel = Callable[[Batches], Batches]
Counting = Generator[pa.RecordBatch, None, int]
"""Batches, and at their end how many rows there were so far."""

ROWS_AT_ONCE = 250_000
MOST_MATCHES = 50_000_000

_BITS = np.int64(1) << np.arange(64)


def kernel(
    program: PatternProgram,
    rows_at_once: int = ROWS_AT_ONCE,
    most_matches: int = MOST_MATCHES,
    aggregates: Mapping[str, Function] | None = None,
) -> Kernel:
    """The function that finds the matches of one partition.

    `rows_at_once` is how many rows are collected before they are searched: a key's window stays in memory
    beside them. More than `most_matches` in one partition are a failure. `aggregates` are the functions of
    users that conditions call.
    """
    if len(program.roles) > len(_BITS):
        raise ValueError(f"{len(program.roles)} roles do not fit into {len(_BITS)} bits")
    functions = needed(aggregates or {}, (fold.function for fold in registered(program.steps)))
    return partial(_run, program, functions, max(1, rows_at_once), most_matches)


def _run(
    program: PatternProgram,
    functions: Mapping[str, Function],
    rows_at_once: int,
    most_matches: int,
    batches: Batches,
) -> Batches:
    if not program.roles:
        return
    rows, found = Buffer(), 0
    for batch in short(batches, rows_at_once):  # a failure of the input itself is not ours to explain
        with explained(program):
            rows, run = step(program, rows_at_once, rows, batch)
        if run is not None:
            found = yield from _search(program, functions, run, found, most_matches)
    with explained(program):
        run = rest(program, rows)
    if run is not None:
        yield from _search(program, functions, run, found, most_matches)


def _search(
    program: PatternProgram, functions: Mapping[str, Function], run: SearchRows, found: int, most_matches: int
) -> Counting:
    """The matches of a run, if `found` were found before."""
    with explained(program, run):
        events = events_of(program, run, functions)
        schema = output_schema(program, run.columns.schema)
        fewest, before = fewest_matches(program, events), found
        for piece in in_larger_pieces(matches(program, events)):
            count = found + count_of(piece)
            if count > most_matches:
                event = event_of(piece, most_matches - found)
                raise _at(too_many_matches(count, most_matches), event, program, run, events)
            found = count
            yield from gather(schema, program, run.columns, piece)
            # Not before: whoever wants a few matches only, as `show()` and LIMIT do, can have them.
            if fewest is not None and before + fewest.number > most_matches:
                failure = too_many_matches(before + fewest.number, most_matches, foreseen=True)
                raise _at(failure, fewest.event, program, run, events)
    return found


def _at(
    failure: KernelFailure, event: int, program: PatternProgram, run: SearchRows, events: KernelEvents
) -> KernelFailure:
    """The failure, with the key and the time of an event."""
    key = run.key_text(program, int(events.segment[event]))
    return failure.about(key=key, start=int(events.start[event]))


@contextmanager
def explained(program: PatternProgram, run: SearchRows | None = None) -> Iterator[None]:
    """Whatever goes wrong inside comes out as a `KernelFailure`, with what is known of the place."""
    try:
        yield
    except Exception as error:
        raise failure_of(error, program, run) from error


def failure_of(error: Exception, program: PatternProgram, run: SearchRows | None = None) -> KernelFailure:
    """
    >>> program = PatternProgram((), (), ("A",), labels=(("a", "Recycle a"), ("b", "Washing b")))
    >>> failure_of(KeyError("x"), program).facts.part
    'Recycle a, Washing b'
    """
    segment = 0 if run is not None and len(run.heads) == 1 else None
    match error:
        case KernelFailure():
            failure = error
        case KernelError():
            facts = FailureDetails(
                error.name, error.message, limit=error.limit, number=error.number, start=error.start
            )
            failure, segment = KernelFailure(facts), error.segment
        case AggregateFailure():
            failure, segment = KernelFailure(FailureDetails(AGGREGATE, str(error))), None
        case MemoryError():
            failure = KernelFailure(
                FailureDetails(MEMORY, "a worker has not enough memory for the rows of a window")
            )
        case _:
            failure = KernelFailure(FailureDetails(INTERNAL, f"{type(error).__name__}: {error}"))
    key = run.key_text(program, segment) if run is not None and segment is not None else {}
    part = ", ".join(label for _, label in program.labels) or None
    return failure.about(key=key, part=part, window=program.reach, clock=program.clock)


def events_of(
    program: PatternProgram, run: SearchRows, functions: Mapping[str, Function] | None = None
) -> KernelEvents:
    """What the kernel reads."""
    columns, heads = run.columns, run.heads
    segment = segments.numbers(heads, len(columns.start))
    owned = (run.low, run.high)
    if program.chunk is not None:
        chunks = columns.arrays[program.keys[-1]].take(pa.array(heads)).to_numpy()
        owned = segments.in_chunks(*owned, chunks, program.chunk)
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
        values=lambda name, numbers: python_values(columns.arrays[name].take(pa.array(numbers))),
    )


def calls_of(
    program: PatternProgram, functions: Mapping[str, Function], values: Callable[[str], Sequence[object]]
) -> dict[str, Call]:
    """The functions of users that conditions call; `values` are those that events have for them."""
    return {
        fold.name: Call(fold, functions[fold.function], partial(values, fold.column or ""))
        for fold in registered(program.steps)
    }


def _roles(program: PatternProgram, column: pa.Array) -> dict[str, segments.Ints]:
    masks = np.asarray(column.fill_null(0)).astype(np.int64, casting="safe", copy=False)
    return {role: np.flatnonzero(masks & _BITS[bit] != 0) for bit, role in enumerate(program.roles)}

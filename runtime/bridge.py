"""From Spark to a kernel and back: the function that `DataFrame.mapInArrow` runs on each partition.

Batches of sorted rows go into a buffer (`buffer.py`, `ordering.py`); what leaves it becomes `Events` for the
kernel (`segments.py`, `coding.py`); the matches become rows again (`gathering.py`). The first use in a
worker imports NumPy and Arrow, nothing of Spark and nothing of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import pyarrow as pa

from neelc.runtime import segments
from neelc.runtime.buffer import Buffer, Run, rest, short, step
from neelc.runtime.coding import coded, condition_columns
from neelc.runtime.failures import (
    AGGREGATE,
    INTERNAL,
    MEMORY,
    Facts,
    KernelFailure,
    parse_failure,
    too_many_matches,
)
from neelc.runtime.gathering import count_of, gather, in_larger_pieces, output_schema
from neelc.runtime.kernels.calling import Call
from neelc.runtime.kernels.errors import KernelError
from neelc.runtime.kernels.events import Events
from neelc.runtime.kernels.fewest import fewest_matches
from neelc.runtime.kernels.matching import event_of, matches
from neelc.runtime.kernels.mentions import registered
from neelc.runtime.program import Program
from neelc.runtime.python_values import python_values
from neelc.runtime.registered import AggregateFailure, Function, needed

__all__ = ["Batches", "Kernel", "KernelFailure", "kernel", "output_schema", "parse_failure"]

Batches = Iterator[pa.RecordBatch]
Kernel = Callable[[Batches], Batches]
Counting = Generator[pa.RecordBatch, None, int]
"""Batches, and at their end how many rows there were so far."""

ROWS_AT_ONCE = 250_000
MOST_MATCHES = 50_000_000

_BITS = np.int64(1) << np.arange(64)


def kernel(
    program: Program,
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
    program: Program,
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
    program: Program, functions: Mapping[str, Function], run: Run, found: int, most_matches: int
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


def _at(failure: KernelFailure, event: int, program: Program, run: Run, events: Events) -> KernelFailure:
    """The failure, with the key and the time of an event."""
    key = run.key_text(program, int(events.segment[event]))
    return failure.about(key=key, start=int(events.start[event]))


@contextmanager
def explained(program: Program, run: Run | None = None) -> Iterator[None]:
    """Whatever goes wrong inside comes out as a `KernelFailure`, with what is known of the place."""
    try:
        yield
    except Exception as error:
        raise failure_of(error, program, run) from error


def failure_of(error: Exception, program: Program, run: Run | None = None) -> KernelFailure:
    """
    >>> program = Program((), (), ("A",), labels=(("a", "Recycle a"), ("b", "Washing b")))
    >>> failure_of(KeyError("x"), program).facts.part
    'Recycle a, Washing b'
    """
    segment = 0 if run is not None and len(run.heads) == 1 else None
    match error:
        case KernelFailure():
            failure = error
        case KernelError():
            facts = Facts(
                error.name, error.message, limit=error.limit, number=error.number, start=error.start
            )
            failure, segment = KernelFailure(facts), error.segment
        case AggregateFailure():
            failure, segment = KernelFailure(Facts(AGGREGATE, str(error))), None
        case MemoryError():
            failure = KernelFailure(Facts(MEMORY, "a worker has not enough memory for the rows of a window"))
        case _:
            failure = KernelFailure(Facts(INTERNAL, f"{type(error).__name__}: {error}"))
    key = run.key_text(program, segment) if run is not None and segment is not None else {}
    part = ", ".join(label for _, label in program.labels) or None
    return failure.about(key=key, part=part, window=program.reach, clock=program.clock)


def events_of(program: Program, run: Run, functions: Mapping[str, Function] | None = None) -> Events:
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
    return Events(
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
    program: Program, functions: Mapping[str, Function], values: Callable[[str], Sequence[object]]
) -> dict[str, Call]:
    """The functions of users that conditions call; `values` are those that events have for them."""
    return {
        fold.name: Call(fold, functions[fold.function], partial(values, fold.column or ""))
        for fold in registered(program.steps)
    }


def _roles(program: Program, column: pa.Array) -> dict[str, segments.Ints]:
    masks = np.asarray(column.fill_null(0)).astype(np.int64, casting="safe", copy=False)
    return {role: np.flatnonzero(masks & _BITS[bit] != 0) for bit, role in enumerate(program.roles)}

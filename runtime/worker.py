"""The one loop that runs kernels: rows come in batches, are searched when there are enough, and leave when no
later match needs them.

`run` is what `DataFrame.mapInArrow` calls on each partition. It is `advance` to the end of the input; a
caller that gets its rows bit by bit calls `advance` for each bit, and may write the state between two calls
as bytes and read it again elsewhere.

A kernel says how rows are searched (`WorkerSearch`). All else is here: cutting and collecting batches, when
to search, the limit of matches, what is kept, and what a failure says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from neelc.runtime.failures import (
    AGGREGATE,
    INTERNAL,
    MEMORY,
    PACKAGE,
    STATE,
    FailureContext,
    FailureDetails,
    KernelError,
    KernelFailure,
    too_many_matches,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.user_functions import AggregateFailure
from neelc.runtime.values.functions.space import MissingPackage

Batches = Iterator[pa.RecordBatch]
BatchFunction = Callable[[Batches], Batches]
"""What `mapInArrow` takes."""

ROWS_AT_ONCE = 250_000
MOST_MATCHES = 50_000_000

# Arrow counts the bytes of a string column with 32 bits, so the rows of a search should stay below 2 GiB.
BYTES_AT_ONCE = 1 << 30

ROWS_IN_BATCH = 50_000
"""Of results."""


@dataclass(frozen=True)
class WorkerLimits:
    """`rows_at_once` is how many rows are collected before they are searched: what is still needed of those
    before stays in memory beside them. More than `most_matches` in one partition are a failure."""

    rows_at_once: int = ROWS_AT_ONCE
    most_matches: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows_at_once", max(1, self.rows_at_once))


Facts = TypeVar("Facts")
Matches = TypeVar("Matches")


@dataclass(frozen=True, eq=False)
class NeededRows(Generic[Facts]):
    """What a search leaves for those after it: the rows that a later match may have, or may be spoiled by,
    and what is known of them. They are searched again when there are `growth` times as many: so a long key is
    not read again for every batch, and the work stays linear."""

    facts: Facts
    parts: tuple[pa.RecordBatch, ...] = ()
    growth: int = 2


@dataclass(frozen=True, eq=False)
class WorkerState(Generic[Facts]):
    """All that a run knows between two batches: rows that were not searched yet or are still needed, how many
    must be there for the next search, how many matches were found, and the `facts` of the kernel."""

    facts: Facts
    parts: tuple[pa.RecordBatch, ...] = ()
    rows: int = 0
    bytes: int = 0
    due: int = 0
    found: int = 0

    def with_batch(self, batch: pa.RecordBatch) -> WorkerState[Facts]:
        return WorkerState(
            self.facts,
            (*self.parts, batch),
            self.rows + batch.num_rows,
            self.bytes + batch.nbytes,
            self.due,
            self.found,
        )

    def is_due(self, limits: WorkerLimits) -> bool:
        """Whether the rows are to be searched now."""
        is_full = self.rows >= limits.rows_at_once or self.bytes >= BYTES_AT_ONCE
        return is_full and self.rows >= self.due

    def joined(self) -> pa.RecordBatch:
        """All rows in one batch."""
        return one_batch(self.parts)

    def without(self, count: int) -> tuple[pa.RecordBatch, ...]:
        """All rows but the first `count`. Slices of the batches as they came: nothing is copied, and of one
        batch at most more is kept alive than is needed."""
        parts: list[pa.RecordBatch] = []
        skipped = 0
        for part in self.parts:
            if count < skipped + part.num_rows:
                parts.append(part.slice(max(0, count - skipped)))
            skipped += part.num_rows
        return tuple(parts)


def one_batch(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of all parts in one batch."""
    if len(parts) == 1:
        return parts[0]
    try:
        batches = pa.Table.from_batches(parts).combine_chunks().to_batches()
    except pa.ArrowInvalid:  # nested text
        batches = []
    if len(batches) != 1:
        message = "a column of the rows that are searched together is larger than 2 GiB"
        raise KernelFailure(FailureDetails(MEMORY, message))
    return batches[0]


class WorkerSearch(Protocol[Facts, Matches]):
    """One search of the rows of a state."""

    def matches(self) -> Iterator[Matches]:
        """What can be decided, in pieces that fit into memory."""

    def gather(self, matches: Matches) -> Batches:
        """A piece as rows of the result."""

    def needed(self) -> NeededRows[Facts]:
        """What is left, once all pieces have been taken."""

    def count(self, matches: Matches) -> int:
        """How many matches a piece counts for the limit."""
        return 0

    def location(self, matches: Matches, number: int) -> Mapping[str, object]:
        """Facts for a failure: where the match with this number in the piece is."""
        return {}

    def key_of(self, error: Exception) -> Mapping[str, str | None]:
        """The key whose rows an error came from, if that is known."""
        return {}


@dataclass(frozen=True)
class WorkerKernel(Generic[Facts, Matches]):
    """A program and how it is run: a value, which is pickled to workers.

    `search` begins a search of the rows of a state; if these are the last ones, all that is left is decided.
    `facts` is the type of what is known of kept rows: a dataclass of numbers and of tuples of tuples of
    numbers. Without arguments it is what is known before the first row.
    """

    search: Callable[[WorkerState[Facts], bool], WorkerSearch[Facts, Matches]]
    facts: Callable[..., Facts]
    limits: WorkerLimits
    context: FailureContext

    def function(self) -> BatchFunction:
        """What `mapInArrow` calls."""
        return partial(run, self)


def run(kernel: WorkerKernel[Any, Any], batches: Batches) -> Batches:
    """The results of one partition."""
    yield from advance(kernel, initial_state(kernel), batches, is_last=True)


def initial_state(kernel: WorkerKernel[Facts, Any]) -> WorkerState[Facts]:
    return WorkerState(kernel.facts())


def advance(
    kernel: WorkerKernel[Facts, Any],
    state: WorkerState[Facts],
    batches: Iterable[pa.RecordBatch],
    is_last: bool,
) -> Generator[pa.RecordBatch, None, WorkerState[Facts]]:
    """The results that some more batches give, and at their end the state. If they are the last ones, nothing
    is left."""
    for batch in _short(batches, kernel.limits.rows_at_once):
        state = state.with_batch(batch)
        if state.is_due(kernel.limits):
            search, state = _begun(kernel, state, is_last=False)
            state = yield from _finished(kernel, search, state.found)
    if is_last and state.rows:
        search, state = _begun(kernel, state, is_last=True)
        state = yield from _finished(kernel, search, state.found)
    return state


def _short(batches: Iterable[pa.RecordBatch], rows_at_once: int) -> Batches:
    """The same rows in batches that are not too long."""
    for batch in batches:  # a failure of the input itself is not ours to explain
        for first in range(0, batch.num_rows, rows_at_once):
            yield batch.slice(first, rows_at_once)


def _begun(
    kernel: WorkerKernel[Facts, Matches], state: WorkerState[Facts], is_last: bool
) -> tuple[WorkerSearch[Facts, Matches], WorkerState[Facts]]:
    """A search, and the state without its rows: what the search has joined is not to be in memory twice."""
    with explained(kernel.context):
        return kernel.search(state, is_last), replace(state, parts=())


def _finished(
    kernel: WorkerKernel[Facts, Matches], search: WorkerSearch[Facts, Matches], found: int
) -> Generator[pa.RecordBatch, None, WorkerState[Facts]]:
    """The results of a search, if `found` matches were found before; and the state after it."""
    with explained(kernel.context, search):
        for piece in search.matches():
            found = _counted(kernel.limits, search, piece, found)
            yield from search.gather(piece)
        needed = search.needed()
    rows = sum(part.num_rows for part in needed.parts)
    size = sum(part.nbytes for part in needed.parts)
    return WorkerState(needed.facts, needed.parts, rows, size, needed.growth * rows, found)


def _counted(limits: WorkerLimits, search: WorkerSearch[Facts, Matches], piece: Matches, before: int) -> int:
    """How many matches there are with those of a piece."""
    found, most = before + search.count(piece), limits.most_matches
    if most is not None and found > most:
        raise too_many_matches(found, most).about(**search.location(piece, most - before))
    return found


def in_batches(rows: pa.RecordBatch) -> Batches:
    """The rows of a result in batches that are not too long."""
    return (rows.slice(first, ROWS_IN_BATCH) for first in range(0, rows.num_rows, ROWS_IN_BATCH))


# Failures.


@contextmanager
def explained(context: FailureContext, search: WorkerSearch[Any, Any] | None = None) -> Iterator[None]:
    """Whatever goes wrong inside comes out as a `KernelFailure`, with what is known of the place."""
    try:
        yield
    except Exception as error:
        key = {} if search is None else search.key_of(error)
        raise failure_of(error, context).about(key=key) from error


def failure_of(error: Exception, context: FailureContext) -> KernelFailure:
    """
    >>> failure_of(KeyError("x"), FailureContext("Recycle a, Washing b")).facts.part
    'Recycle a, Washing b'
    """
    match error:
        case KernelFailure():
            failure = error
        case KernelError(name=name, message=message):
            failure = KernelFailure(
                FailureDetails(name, message, limit=error.limit, number=error.number, start=error.start)
            )
        case AggregateFailure():
            failure = KernelFailure(FailureDetails(AGGREGATE, str(error)))
        case MissingPackage():
            failure = KernelFailure(FailureDetails(PACKAGE, str(error)))
        case MemoryError():
            message = f"a worker has not enough memory for {context.held}"
            failure = KernelFailure(FailureDetails(MEMORY, message))
        case _:
            failure = KernelFailure(FailureDetails(INTERNAL, f"{type(error).__name__}: {error}"))
    return failure.about(part=context.part, window=context.window, clock=context.clock)


# What is kept as bytes: a line of JSON, then tables as streams of Arrow, one after the other.


def framed(format: int, header: Mapping[str, Any], tables: Iterable[bytes]) -> bytes:
    """What is kept, for `unframed`."""
    return b"".join([json.dumps({"format": format, **header}).encode(), b"\n", *tables])


def unframed(format: int, data: bytes) -> tuple[dict[str, Any], pa.Buffer]:
    """The header, and the tables together."""
    end = data.index(b"\n") + 1
    header = json.loads(data[:end])
    if header["format"] != format:
        message = f"the state has format {header['format']}, and this neelc reads format {format}"
        raise KernelFailure(FailureDetails(STATE, message))
    return header, pa.py_buffer(data)[end:]


def arrow_bytes(parts: Sequence[pa.RecordBatch]) -> bytes:
    """Batches as a stream of Arrow; there is at least one."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, parts[0].schema) as stream:
        for part in parts:
            stream.write_batch(part)
    return bytes(sink.getvalue())


FORMAT = 1
"""Of the state of a run."""


def state_to_bytes(state: WorkerState[Any]) -> bytes:
    """The state, for `state_from_bytes`."""
    header = {"due": state.due, "found": state.found, "facts": astuple(state.facts)}
    return framed(FORMAT, header, [arrow_bytes(state.parts)] if state.parts else [])


def state_from_bytes(kernel: WorkerKernel[Facts, Any], data: bytes) -> WorkerState[Facts]:
    """The state that was written; `kernel` is the one that it is of, or an equal one."""
    header, rows = unframed(FORMAT, data)
    parts = tuple(pa.ipc.open_stream(rows)) if len(rows) else ()
    facts = kernel.facts(*map(_tupled, header["facts"]))
    size = sum(part.nbytes for part in parts)
    count = sum(part.num_rows for part in parts)
    return WorkerState(facts, parts, count, size, header["due"], header["found"])


def _tupled(value: Any) -> Any:
    """Lists of JSON as the tuples that they were."""
    return tuple(map(_tupled, value)) if isinstance(value, list) else value

"""Networks of the event algebra over streams without end: filters, windows, correlators and aggregators, one
kernel for all of them.

All events that start up to the watermark are known, so what is valid at every instant up to it is known, too.
Between two operators there are rows of two kinds:

    closed   both ends are known; each comes once
    open     valid at the watermark, and nobody knows until when; they come again in every call

Closed rows, those of all calls, and the open ones are together all that is valid up to the watermark. So an
operator above knows as much as one over a source, and a result of the network is emitted in the call in which
the watermark reaches its end: no later, however many operators there are, and not in pieces. Its rows do not
depend on how the stream was cut into micro-batches: decision 0106.

What is kept are the rows that reach beyond the watermark. Time is in whole numbers: at a watermark w, the
instants up to w are decided, so a row that ends at w + 1 is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neelc.runtime.coding import plain
from neelc.runtime.columns import FIRST_TIME, Bools, Ints, times
from neelc.runtime.failures import FailureContext, too_many_matches
from neelc.runtime.kernels.events import KernelEvents, NullableArray
from neelc.runtime.kernels.list_aggregates import aggregated
from neelc.runtime.kernels.sequential.program import BITS, TIME, SymbolOutput, columns_of_events
from neelc.runtime.kernels.sequential.stream import SequentialStream
from neelc.runtime.kernels.snapshots.aggregating import SnapshotStretches, aggregate, stretches
from neelc.runtime.kernels.snapshots.program import (
    FOREVER,
    SOURCE,
    ComputedColumn,
    SnapshotAggregation,
    SnapshotCoalescing,
    SnapshotCorrelation,
    SnapshotCountWindow,
    SnapshotFilter,
    SnapshotInput,
    SnapshotMatching,
    SnapshotMerging,
    SnapshotNetwork,
    SnapshotOperator,
    SnapshotProjection,
    SnapshotTimeWindow,
)
from neelc.runtime.kernels.temporal.program import TemporalOutput, TemporalProgram
from neelc.runtime.kernels.temporal.program import columns_of_events as columns_of_temporal_events
from neelc.runtime.kernels.temporal.stream import TemporalStream
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import key_codes
from neelc.runtime.program import Apply, ColumnValue, Constant, Value, columns_of_value
from neelc.runtime.streaming import StreamMemory, StreamStep, WatermarkMove
from neelc.runtime.user_calls import arrow_type, python_values
from neelc.runtime.values.arithmetic import is_true
from neelc.runtime.values.operations import OPERATIONS, compiled, evaluate
from neelc.runtime.worker import MOST_MATCHES, explained

ROWS_IN_RESULT = 1 << 20
PAIRS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class SnapshotStream:
    """A network, as a kernel for streams. More than `most_matches` pairs of one correlator in one call are a
    failure."""

    network: SnapshotNetwork
    most_matches: int = MOST_MATCHES

    def advance(
        self, memory: StreamMemory, rows: Sequence[pa.RecordBatch], move: WatermarkMove
    ) -> StreamStep:
        if not rows and memory.is_empty:
            return StreamStep()
        label = self.network.label or None
        with explained(FailureContext(label, held="the events that are valid together")):
            run = NetworkRun(self, memory, rows, move)
            results = [batch for batch in run.results() if batch.num_rows]
        return StreamStep(results, StreamMemory({}, run.tables), run.wake)


def snapshot_stream(network: SnapshotNetwork, most_matches: int = MOST_MATCHES) -> SnapshotStream:
    """The kernel of a network."""
    return SnapshotStream(network, most_matches)


# Rows with their valid times.


@dataclass(frozen=True, eq=False)
class ValidRows:
    """Rows, each valid from its start to before its end. Of open ones the end is `FOREVER`."""

    columns: Mapping[str, pa.Array]
    start: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.start)

    def take(self, places: Ints) -> ValidRows:
        chosen = pa.array(places)
        columns = {name: column.take(chosen) for name, column in self.columns.items()}
        return ValidRows(columns, self.start[places], self.end[places])

    def where(self, chosen: Bools) -> ValidRows:
        return self if chosen.all() else self.take(np.flatnonzero(chosen))

    def select(self, names: Sequence[str]) -> ValidRows:
        return replace(self, columns={name: self.columns[name] for name in names})

    @property
    def batch(self) -> pa.RecordBatch:
        arrays = {**self.columns, "start": pa.array(self.start), "end": pa.array(self.end)}
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def from_batch(batch: pa.RecordBatch, names: Sequence[str] | None = None) -> ValidRows:
    """
    >>> rows = from_batch(pa.RecordBatch.from_pydict({"k": ["a"], "start": [1], "end": [3]}))
    >>> rows.columns["k"].to_pylist(), rows.end.tolist()
    (['a'], [3])
    """
    if names is None:
        names = [name for name in batch.schema.names if name not in ("start", "end")]
    start, end = times(batch.column("start"), "start"), times(batch.column("end"), "end")
    return ValidRows({name: _solid(batch.column(name)) for name in names}, start, end)


def _solid(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def united(*parts: ValidRows | None) -> ValidRows | None:
    """All rows, one after the other; None if there are none."""
    some = [part for part in parts if part is not None and len(part)]
    if len(some) < 2:
        return some[0] if some else None
    columns = {name: pa.concat_arrays([part.columns[name] for part in some]) for name in some[0].columns}
    start, end = (np.concatenate([getattr(part, name) for part in some]) for name in ("start", "end"))
    return ValidRows(columns, start, end)


def _some(rows: ValidRows | None) -> ValidRows | None:
    return rows if rows is not None and len(rows) else None


@dataclass(frozen=True, eq=False)
class RowFlow:
    """What an operator gives in one call: new rows that are closed, and all that are open."""

    closed: ValidRows | None = None
    open: ValidRows | None = None

    def each(self, change: Callable[[ValidRows], ValidRows]) -> RowFlow:
        closed, open_ = (None if rows is None else _some(change(rows)) for rows in (self.closed, self.open))
        return RowFlow(closed, open_)


@dataclass(frozen=True, eq=False)
class OperatorStep:
    """What an operator gives and keeps, and when it must be called again."""

    flow: RowFlow = field(default_factory=RowFlow)
    kept: Mapping[str, ValidRows | None] = field(default_factory=dict)
    wake: int | None = None


# A call: all operators, inputs first.


class NetworkRun:
    """One call of a network. After `results`, `tables` are what is kept."""

    def __init__(
        self, stream: SnapshotStream, memory: StreamMemory, rows: Sequence[pa.RecordBatch],
        move: WatermarkMove,
    ) -> None:  # fmt: skip
        self.network, self.most, self.memory = stream.network, stream.most_matches, memory
        self.rows, self.move = rows, move
        self.tables: dict[str, tuple[pa.RecordBatch, ...]] = {}
        self.wakes: list[int] = []

    def results(self) -> Iterator[pa.RecordBatch]:
        found = self._flow(self.network.root, "0", wants_open=False).closed
        if found is not None:
            whole = found.select(self.network.columns).batch
            for first in range(0, len(found), ROWS_IN_RESULT):
                yield whole.slice(first, ROWS_IN_RESULT)

    @property
    def wake(self) -> int | None:
        return max(self.move.now + 1, min(self.wakes)) if self.wakes else None

    def _flow(self, node: SnapshotOperator, path: str, wants_open: bool) -> RowFlow:
        match node:
            case SnapshotInput(number, columns):
                parts = [_rows_of(batch, number, columns) for batch in self.rows]
                return RowFlow(united(*parts))
            case SnapshotFilter(input, condition):
                return self._flow(input, path, wants_open).each(
                    lambda rows: rows.where(holds(condition, rows))
                )
            case SnapshotProjection(input, computed):
                return self._flow(input, path, wants_open).each(lambda rows: projected(computed, rows))
            case SnapshotTimeWindow(input):
                return self._flow(input, path, wants_open).each(lambda rows: windowed(node, rows))
            case SnapshotMerging(left, right):
                one, other = (
                    self._flow(side, f"{path}{n}", wants_open) for n, side in enumerate((left, right))
                )
                return RowFlow(united(one.closed, other.closed), united(one.open, other.open))
        below = [self._flow(one, f"{path}{place}", True) for place, one in enumerate(node.inputs)]
        kept = self._kept(path)
        match node:
            case SnapshotCountWindow():
                step = counted(node, below[0], kept, self.move)
            case SnapshotCorrelation():
                pairs = Correlation(node, below[0], below[1], kept, self.move, self.most)
                step = pairs.step(wants_open)
            case SnapshotAggregation():
                step = Aggregation(node, below[0], kept, self.move).step(wants_open)
            case SnapshotCoalescing():
                step = coalesced(node, below[0], kept, self.move)
            case SnapshotMatching():
                step = matched(node, below[0], kept, self.move, self.most)
            case _:
                raise TypeError(node)
        self._keep(path, step)
        return step.flow

    def _kept(self, path: str) -> Mapping[str, ValidRows]:
        prefix = f"{path} "
        found = {
            name.removeprefix(prefix): united(*map(from_batch, parts))
            for name, parts in self.memory.tables.items()
            if name.startswith(prefix)
        }
        return {name: rows for name, rows in found.items() if rows is not None}

    def _keep(self, path: str, step: OperatorStep) -> None:
        for name, rows in step.kept.items():
            if rows is not None and len(rows):
                self.tables[f"{path} {name}"] = (rows.batch,)
        if step.wake is not None:
            self.wakes.append(step.wake)


def _rows_of(batch: pa.RecordBatch, number: int, columns: Sequence[str]) -> ValidRows | None:
    """The rows of an input; those of others may have other columns."""
    if SOURCE in batch.schema.names:
        batch = batch.filter(pc.equal(batch.column(SOURCE), number))
    return from_batch(batch, columns) if batch.num_rows else None


# Expressions, for whole columns where all of it is numbers and truth values, else row by row.


def projected(computed: Sequence[ComputedColumn], rows: ValidRows) -> ValidRows:
    return replace(rows, columns={one.name: column_of(one.value, one.type, rows) for one in computed})


def column_of(value: Value, type: str, rows: ValidRows) -> pa.Array:
    """The values of an expression.

    >>> rows = ValidRows({"x": pa.array([1, None], pa.int32())}, np.arange(2), np.arange(2) + 1)
    >>> column_of(Apply("+", (ColumnValue("", "x"), Constant(1)), "int"), "INT", rows).to_pylist()
    [2, None]
    """
    kind = arrow_type(type)
    if isinstance(value, ColumnValue):
        return rows.columns[value.name]
    found = _of_numbers(value, rows) if _is_number(kind) else None
    if found is None:
        return pa.array(_one_by_one(value, rows), type=kind)
    values = np.broadcast_to(found.values, (len(rows),))
    unknown = None if found.valid is None else np.broadcast_to(~found.valid, (len(rows),))
    return pa.array(values, mask=unknown).cast(kind)


def holds(condition: Value, rows: ValidRows) -> Bools:
    """The rows for which a condition is TRUE.

    >>> rows = ValidRows({"k": pa.array(["a", None, "b"])}, np.arange(3), np.arange(3) + 1)
    >>> holds(Apply("=", (ColumnValue("", "k"), Constant("a"))), rows).tolist()
    [True, False, False]
    """
    found = _of_numbers(condition, rows)
    if found is None:
        return np.array([value is True for value in _one_by_one(condition, rows)], dtype=np.bool_)
    return np.broadcast_to(is_true(found), (len(rows),))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean")


def _of_numbers(value: Value, rows: ValidRows) -> NullableArray | None:
    """The value in each row, None if something in it is no number."""
    numeric = _numeric(value, rows)
    if numeric is None:
        return None
    columns = {name: plain(name, rows.columns[name]) for name in _names(value)}
    nothing = np.zeros(0, dtype=np.int64)
    events = KernelEvents(nothing, nothing, nothing, {}, columns, (nothing, nothing))
    everyone = np.arange(len(rows), dtype=np.int64)
    with np.errstate(all="ignore"):
        return evaluate(numeric, lambda _: everyone, events)


def _numeric(value: Value, rows: ValidRows) -> Value | None:
    """The expression for columns of numbers: casts need no source there."""
    match value:
        case ColumnValue(_, name):
            return value if _is_number(rows.columns[name].type) else None
        case Constant(constant):
            return value if constant is None or isinstance(constant, bool | int | float) else None
        case Apply("cast", (operand, Constant(source)), type):
            inner = _numeric(operand, rows) if source in NUMBERS and type in NUMBERS else None
            return None if inner is None else Apply("cast", (inner,), type)
        case Apply(name, operands, type):
            parts = [_numeric(operand, rows) for operand in operands]
            if OPERATIONS[name].columns is None or None in parts or type not in (None, *NUMBERS):
                return None
            return Apply(name, tuple(part for part in parts if part is not None), type)
    return None


def _names(value: Value) -> list[str]:
    return list(dict.fromkeys(column.name for column in columns_of_value(value)))


def _one_by_one(value: Value, rows: ValidRows) -> list[object]:
    names = _names(value)
    compute = compiled(value, lambda column: names.index(column.name))
    if not names:
        return [compute(())] * len(rows)
    values = zip(*(python_values(rows.columns[name]) for name in names), strict=True)
    return [compute(one) for one in values]


# Windows.


def windowed(node: SnapshotTimeWindow, rows: ValidRows) -> ValidRows:
    """
    >>> rows = ValidRows({}, np.array([11, 1]), np.array([12, 2]))
    >>> found = windowed(SnapshotTimeWindow(SnapshotInput(0, ()), 14, 10), rows)
    >>> found.start.tolist(), found.end.tolist()
    ([20, 10], [30, 20])
    """
    start = rows.start
    end = np.where(rows.end == FOREVER, FOREVER, rows.end + np.int64(node.longer))
    if node.jump is None:
        return replace(rows, end=end)
    jump = np.int64(node.jump)
    start = start + -start % jump
    end = np.where(end == FOREVER, FOREVER, end + -end % jump)
    return replace(rows, start=start, end=end).where(start < end)


OWN, BEGIN = "own count", "begin"
"""Columns of the rows that a window of events keeps: how many events of the key there are up to each, 0 if
that is not known yet; and when it has come into the window, FOREVER if it has not."""


def counted(
    node: SnapshotCountWindow, flow: RowFlow, kept: Mapping[str, ValidRows], move: WatermarkMove
) -> OperatorStep:
    """The latest events: only when events start matters, so each is taken once, when it is first seen."""
    new = _first_seen(flow, move)
    rows = united(kept.get("events"), None if new is None else _uncounted(new))
    if rows is None:
        return OperatorStep()
    seen, pending = rows.where(rows.start <= move.now), rows.where(rows.start > move.now)
    wake = int(pending.start.min()) if len(pending) else None
    if not len(seen):
        return OperatorStep(kept={"events": rows}, wake=wake)
    count = len(seen)
    key = key_codes([_equalized(seen.columns[name]) for name in node.keys], count)
    order = np.lexsort((seen.start, key))
    seen, key = seen.take(order), key[order]
    own, begin, end = _counts(node, seen, key)
    columns = {name: column for name, column in seen.columns.items() if name not in (OWN, BEGIN)}
    valid = ValidRows(columns, begin, end)
    ended, begun = end != FOREVER, begin != FOREVER
    left = replace(seen, columns={**columns, OWN: pa.array(own), BEGIN: pa.array(begin)}).where(~ended)
    flow = RowFlow(_some(valid.where(ended & (begin < end))), _some(valid.where(begun & ~ended)))
    return OperatorStep(flow, {"events": united(left, pending)}, wake)


def _first_seen(flow: RowFlow, move: WatermarkMove) -> ValidRows | None:
    """Rows that were not seen before, for operators that count events, however long these are valid. An open
    one that has yet to start will come again."""
    rows = united(flow.closed, flow.open)
    if rows is None:
        return None
    is_first = rows.start > move.before
    is_first &= (rows.end != FOREVER) | (rows.start <= move.now)
    return rows.where(is_first)


def _uncounted(rows: ValidRows) -> ValidRows:
    count = len(rows)
    counts = {OWN: pa.array(np.zeros(count, np.int64)), BEGIN: pa.array(np.full(count, FOREVER))}
    return replace(rows, columns={**rows.columns, **counts}, end=np.full(count, FOREVER))


def _counts(node: SnapshotCountWindow, rows: ValidRows, key: Ints) -> tuple[Ints, Ints, Ints]:
    """Of rows in the order of key and start: how many of the key there are up to each, and when it comes into
    the window and leaves it."""
    own, begin = (rows.columns[name].to_numpy().copy() for name in (OWN, BEGIN))
    count, new = len(rows), own == 0
    # New events come after the old ones of their key, so the count goes on from the greatest.
    head = np.flatnonzero(np.diff(key, prepend=-1))
    of_key = np.repeat(np.arange(len(head)), np.diff(head, append=count))
    passed = np.maximum.reduceat(own, head)[of_key]
    place = np.cumsum(new)
    before = (place - new)[head][of_key]
    last = np.append((np.diff(rows.start) != 0) | (np.diff(key) != 0), True)
    # Simultaneous events have one count: that of the last of them.
    tied = np.flatnonzero(last)[np.searchsorted(np.flatnonzero(last), np.arange(count))]
    own = np.where(new, passed + (place - before)[tied], own)
    shown = np.maximum(own // node.jump * node.jump - passed, -node.jump)
    width = np.int64(2 * (node.size + node.jump) + int(new.sum()) + 2)
    offset = np.int64(node.size + node.jump)
    at = np.flatnonzero(new)
    line = of_key[at] * width + shown[at] + offset

    if not len(at):
        return own, begin, np.full(count, FOREVER)

    def first(least: Ints) -> Ints:
        """When the window first shows so many events of the key of each row."""
        wanted = np.minimum(np.maximum(least - passed, -offset) + offset, width - 1)
        found = np.searchsorted(line, of_key * width + wanted)
        row = at[np.minimum(found, len(at) - 1)]
        inside = (found < len(line)) & (of_key[row] == of_key)
        return np.where(inside, rows.start[row], FOREVER)

    return own, np.where(begin == FOREVER, first(own), begin), first(own + node.size)


# Patterns: the matches that end at an instant are known when the watermark reaches it.


def matched(
    node: SnapshotMatching, flow: RowFlow, kept: Mapping[str, ValidRows], move: WatermarkMove, most: int
) -> OperatorStep:
    stream: SequentialStream | TemporalStream
    if isinstance(node.program, TemporalProgram):
        names = columns_of_temporal_events(node.program)
        stream = TemporalStream(node.program, most)
    else:
        names = columns_of_events(node.program)
        stream = SequentialStream(node.program, most)
    new = _first_seen(flow, move)
    memory = {name: (old.batch.select(("start", *names)),) for name, old in kept.items()}
    rows = [] if new is None or not len(new) else [_events_of(node, new).batch]
    step = stream.advance(StreamMemory({}, memory), rows, move)
    found = [_matches_of(node, batch) for batch in step.results]
    left = {name: united(*map(_kept_events, parts)) for name, parts in step.memory.tables.items()}
    return OperatorStep(RowFlow(united(*found)), left, step.wake)


def _events_of(node: SnapshotMatching, rows: ValidRows) -> ValidRows:
    """Rows as the program reads them."""
    bits = np.zeros(len(rows), dtype=np.int64)
    for number, name in enumerate(node.symbols):
        emits = np.ones(1, bool) if name is None else is_true(plain(name, rows.columns[name]))
        bits |= np.where(emits, np.int64(1 << number), np.int64(0))
    columns = {name: rows.columns[own] for own, name in node.columns}
    columns |= {name: _equalized(columns[name]) for name in node.program.keys}
    return replace(rows, columns={**columns, BITS: pa.array(bits)})


def _kept_events(batch: pa.RecordBatch) -> ValidRows:
    start = times(batch.column("start"), "start")
    columns = {name: batch.column(name) for name in batch.schema.names if name != "start"}
    return ValidRows(columns, start, start + 1)


def _matches_of(node: SnapshotMatching, batch: pa.RecordBatch) -> ValidRows:
    last = times(batch.column(TIME), TIME)
    taken: tuple[SymbolOutput | TemporalOutput, ...] = node.program.outputs
    outputs = zip(taken, node.outputs, strict=True)
    columns = {name: batch.column(output.name) for output, name in outputs}
    for one in node.lists:
        assert isinstance(one.elements, ColumnValue), "the lists are those of an output"
        columns[one.name] = aggregated(one, columns[one.elements.name])
    for name in {one.elements.name for one in node.lists if isinstance(one.elements, ColumnValue)}:
        del columns[name]
    return ValidRows(columns, last, last + np.int64(node.lasting))


# Correlators: pairs of rows that are valid together.


@dataclass(frozen=True, eq=False)
class Correlation:
    """One call of a correlator. Rows that were closed before are `kept`: pairs of two of them have been
    emitted. A pair with an open row is closed when the other one is over."""

    node: SnapshotCorrelation
    left: RowFlow
    right: RowFlow
    kept: Mapping[str, ValidRows]
    move: WatermarkMove
    most: int

    def step(self, wants_open: bool) -> OperatorStep:
        left, right = self._side("left", self.left, 0), self._side("right", self.right, 1)
        closed: list[ValidRows] = []
        open_: list[ValidRows] = []
        if left.rows is not None and right.rows is not None:
            for pairs in self._pairs(left, right, left.rows, right.rows):
                found, is_closed = self._valid(pairs, wants_open)
                closed.append(found.where(is_closed))
                pending = found.where(~is_closed)
                open_.append(replace(pending, end=np.full(len(pending), FOREVER)))
                if (total := sum(map(len, closed))) > self.most:
                    raise too_many_matches(total, self.most)
        kept = {"left": left.left_over(self.move.now), "right": right.left_over(self.move.now)}
        has_open = self.left.open is not None or self.right.open is not None
        return OperatorStep(RowFlow(united(*closed), united(*open_)), kept, self._wake(kept, has_open))

    def _side(self, name: str, flow: RowFlow, place: int) -> CorrelatedSide:
        equal = [pair[place] for pair in self.node.equal]
        new, open_ = (_with_keys(rows, equal) for rows in (flow.closed, flow.open))
        return CorrelatedSide(self.kept.get(name), new, open_)

    def _pairs(
        self, left: CorrelatedSide, right: CorrelatedSide, left_rows: ValidRows, right_rows: ValidRows
    ) -> Iterator[RowPairs]:
        """All pairs of rows that are valid together, unless both were kept."""
        columns = [
            pa.concat_arrays([_equalized(left_rows.columns[one]), _equalized(right_rows.columns[other])])
            for one, other in self.node.equal
        ]
        count, others = len(left_rows), np.arange(len(right_rows))
        key = key_codes(columns, count + len(others))
        search = PairSearch(
            key[:count], left_rows.start, left_rows.end, key[count:], right_rows.start, right_rows.end
        )
        old = np.arange(left.old_rows)
        active = search.pairs(np.arange(left.old_rows, count), others)
        for one, other in chain(active, search.pairs(old, others[right.old_rows :])):
            is_closed = (one < left.closed_rows) & (other < right.closed_rows)
            yield RowPairs(left_rows, right_rows, one, other, is_closed)

    def _valid(self, pairs: RowPairs, wants_open: bool) -> tuple[ValidRows, Bools]:
        """The pairs for which the condition holds, and which of them are closed."""
        now = self.move.now
        pairs = replace(pairs, are_closed=pairs.are_closed | (pairs.end <= now + 1))
        # Whether an open row is still valid when the other begins is known only up to the watermark.
        pairs = pairs.where(pairs.are_closed | (pairs.start <= now) if wants_open else pairs.are_closed)
        if self.node.condition is not None:
            tested = pairs.rows(set(_names(self.node.condition)))
            pairs = pairs.where(holds(self.node.condition, tested))
        return pairs.rows(), pairs.are_closed

    def _wake(self, kept: Mapping[str, ValidRows | None], has_open: bool) -> int | None:
        """Without open rows, when nothing is needed any more."""
        ends = [rows.end for rows in kept.values() if rows is not None and len(rows)]
        if not ends:
            return None
        whole = np.concatenate(ends)
        return int(whole.min() if has_open else whole.max()) - 1


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Rows of the left, each with one of the right, by their numbers; a pair is valid as long as both are."""

    left: ValidRows
    right: ValidRows
    one: Ints
    other: Ints
    are_closed: Bools

    @cached_property
    def start(self) -> Ints:
        return np.maximum(self.left.start[self.one], self.right.start[self.other])

    @cached_property
    def end(self) -> Ints:
        return np.minimum(self.left.end[self.one], self.right.end[self.other])

    def where(self, chosen: Bools) -> RowPairs:
        if chosen.all():
            return self
        return RowPairs(self.left, self.right, self.one[chosen], self.other[chosen], self.are_closed[chosen])

    def rows(self, names: set[str] | None = None) -> ValidRows:
        """The pairs as rows, with some columns or with all."""
        columns = {
            name: column.take(pa.array(places))
            for rows, places in ((self.left, self.one), (self.right, self.other))
            for name, column in rows.columns.items()
            if names is None or name in names
        }
        return ValidRows(columns, self.start, self.end)


@dataclass(frozen=True, eq=False)
class CorrelatedSide:
    """The rows of one side: those that were closed before, those that are closed now, those that are open."""

    old: ValidRows | None
    new: ValidRows | None
    open: ValidRows | None

    @cached_property
    def rows(self) -> ValidRows | None:
        return united(self.old, self.new, self.open)

    @property
    def old_rows(self) -> int:
        return 0 if self.old is None else len(self.old)

    @property
    def closed_rows(self) -> int:
        return self.old_rows + (0 if self.new is None else len(self.new))

    def left_over(self, now: int) -> ValidRows | None:
        """The closed rows that reach beyond the watermark."""
        closed = united(self.old, self.new)
        return None if closed is None else _some(closed.where(closed.end > now + 1))


def _with_keys(rows: ValidRows | None, equal: Sequence[str]) -> ValidRows | None:
    """Rows without NULL in a column that must be equal to another."""
    if rows is None or not any(rows.columns[name].null_count for name in equal):
        return rows
    known = np.ones(len(rows), dtype=np.bool_)
    for name in equal:
        known &= np.asarray(rows.columns[name].is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
    return _some(rows.where(known))


def _equalized(column: pa.Array) -> pa.Array:
    """A column in which equal numbers have equal bits: zero has two forms, and NaN many."""
    if not pa.types.is_floating(column.type):
        return column
    values = np.asarray(column.fill_null(0.0).to_numpy(zero_copy_only=False))
    zero, nan = np.array([0.0, np.nan], values.dtype)
    values = np.where(np.isnan(values), nan, values + zero)
    return pa.array(values, type=column.type, mask=np.asarray(column.is_null()))


@dataclass(frozen=True, eq=False)
class PairSearch:
    """Rows of two sides with equal keys that are valid together.

    Of two such rows one does not start before the other: so it is found among the rows of its key that start
    while the other is valid, and these are neighbours in the order of key and start.
    """

    left_key: Ints
    left_start: Ints
    left_end: Ints
    right_key: Ints
    right_start: Ints
    right_end: Ints

    def pairs(self, left: Ints, right: Ints) -> Iterator[tuple[Ints, Ints]]:
        """The pairs among some rows, in pieces.

        >>> rows = np.array([0, 0]), np.array([1, 6]), np.array([5, 8])
        >>> found = PairSearch(*rows, np.array([0, 1]), np.array([4, 1]), np.array([7, 9]))
        >>> [(one.tolist(), other.tolist()) for one, other in found.pairs(np.arange(2), np.arange(2))]
        [([0], [0]), ([1], [0])]
        """
        if not len(left) or not len(right):
            return
        starts = np.unique(np.concatenate([self.left_start[left], self.right_start[right]]))
        width = np.int64(len(starts) + 1)

        def line(key: Ints, time: Ints) -> Ints:
            return key * width + np.searchsorted(starts, time)

        begins = line(self.left_key[left], self.left_start[left])
        ends = line(self.left_key[left], self.left_end[left])
        others_begin = line(self.right_key[right], self.right_start[right])
        others_end = line(self.right_key[right], self.right_end[right])
        for one, other in _starting_within(others_begin, begins, ends):
            yield left[one], right[other]
        for other, one in _starting_within(begins, others_begin + 1, others_end):
            yield left[one], right[other]


def _starting_within(begins: Ints, low: Ints, high: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Of all ranges from `low` to before `high` and all numbers in them: the places of both."""
    order = np.argsort(begins, kind="stable")
    line = begins[order]
    first, beyond = np.searchsorted(line, low), np.searchsorted(line, high)
    lengths = np.maximum(beyond - first, 0)
    total = np.concatenate([[0], np.cumsum(lengths)])
    row = 0
    while row < len(lengths):
        until = max(row + 1, int(np.searchsorted(total, total[row] + PAIRS_AT_ONCE, side="right")) - 1)
        size = lengths[row:until]
        which = np.repeat(np.arange(row, until), size)
        if len(which):
            inside = np.arange(len(which)) - np.repeat(total[row:until] - total[row], size)
            yield which, order[first[which] + inside]
        row = until


# Aggregators.


@dataclass(frozen=True, eq=False)
class Aggregation:
    """One call of an aggregator.

    A stretch of time in which the same rows are valid is over when a row comes or goes. What is valid at the
    watermark is in a stretch that is not over: a row that is kept starts, from now on, when that stretch did,
    so that the next call finds its beginning. For open rows, which come again as they were, the beginnings
    are kept as `marks`.
    """

    node: SnapshotAggregation
    flow: RowFlow
    kept: Mapping[str, ValidRows]
    move: WatermarkMove

    def step(self, wants_open: bool) -> OperatorStep:
        closed = united(self.kept.get("rows"), self._read(self.flow.closed))
        rows = united(closed, self._read(self.flow.open))
        if rows is None:
            return OperatorStep()
        now = self.move.now
        # What starts at the next instant ends a stretch there, whatever else may come.
        visible = rows.start <= now + 1
        if not visible.any():
            return OperatorStep(kept={"rows": closed}, wake=_next_change(closed, now))
        is_closed = np.arange(len(rows)) < (0 if closed is None else len(closed))
        pending = rows.where(~visible & is_closed)
        shown, is_closed = rows.where(visible), is_closed[visible]
        marks = self.kept.get("marks")
        key, since = self._since(shown, marks)
        shown = replace(shown, start=np.maximum(shown.start, since[key]))
        touched = self._touched(shown, key, wants_open)
        found, left, left_marks = self._over(shown, key, is_closed, touched, wants_open)
        if not touched.all():
            left = united(left, shown.where(~touched & is_closed))
            left_marks = united(left_marks, self._marks(shown, key, since, ~touched & ~is_closed))
        kept = united(left, pending)
        return OperatorStep(found, {"rows": kept, "marks": left_marks}, _next_change(kept, now))

    def _read(self, rows: ValidRows | None) -> ValidRows | None:
        """The columns that are read; equal keys have equal bits."""
        if rows is None:
            return None
        program = self.node.program
        names = [one.column for one in program.aggregates if one.column is not None]
        columns = {name: rows.columns[name] for name in names}
        keys = {name: _equalized(rows.columns[name]) for name in program.keys}
        return replace(rows, columns={**keys, **columns})

    def _since(self, shown: ValidRows, marks: ValidRows | None) -> tuple[Ints, Ints]:
        """The keys of the rows as numbers; and for each number when its stretch has begun, if that is
        kept."""
        names, count = self.node.program.keys, len(shown)
        whole = united(shown.select(names), marks)
        assert whole is not None, "there are rows"
        key = key_codes([whole.columns[name] for name in names], len(whole))
        since = np.full(int(key.max()) + 1, FIRST_TIME)
        if marks is not None:
            since[key[count:]] = marks.start
        return key[:count], since

    def _touched(self, shown: ValidRows, key: Ints, wants_open: bool) -> Bools:
        """The rows of keys in which something comes or goes."""
        changes = (shown.end <= self.move.now + 1) | (shown.start > self.move.before)
        if wants_open or changes.all():
            return np.ones(len(shown), dtype=np.bool_)
        found = np.zeros(int(key.max()) + 1, dtype=np.bool_)
        found[key[changes]] = True
        return found[key]

    def _over(
        self, shown: ValidRows, key: Ints, is_closed: Bools, touched: Bools, wants_open: bool
    ) -> tuple[RowFlow, ValidRows | None, ValidRows | None]:
        """The stretches of the rows, and what is left of these."""
        now = self.move.now
        # Whatever comes after the watermark is one instant, which is not over.
        end = np.minimum(shown.end, np.int64(now + 2))
        order = _in_order(key, shown.start, np.flatnonzero(touched & (shown.start < end)))
        if not len(order):
            return RowFlow(), None, None
        rows, key, end, is_closed = shown.take(order), key[order], end[order], is_closed[order]
        found = stretches(key, rows.start, end)
        over = found.end <= now + 1
        current = ~over & (found.begin <= now)
        # A stretch that is over at the next instant is followed by one that begins there.
        since = np.full(int(key[-1]) + 1, now + 1)
        since[found.key[current]] = found.begin[current]
        flow = RowFlow(
            self._results(rows, key, _chosen(found, over)),
            self._results(rows, key, _chosen(found, current), is_open=True) if wants_open else None,
        )
        lasts = is_closed & (rows.end > now + 1)
        left = replace(rows, start=since[key]).where(lasts)
        return flow, left, self._marks(rows, key, since, ~is_closed)

    def _results(
        self, rows: ValidRows, key: Ints, found: SnapshotStretches, is_open: bool = False
    ) -> ValidRows | None:
        if not len(found):
            return None
        program, first = self.node.program, np.zeros(int(key[-1]) + 1, dtype=np.int64)
        heads = np.flatnonzero(np.diff(key, prepend=-1))
        first[key[heads]] = heads
        columns = {name: rows.columns[name].take(pa.array(first[found.key])) for name in program.keys}
        columns |= {one.name: aggregate(one, rows.columns, found) for one in program.aggregates}
        return ValidRows(columns, found.begin, np.full(len(found), FOREVER) if is_open else found.end)

    def _marks(self, rows: ValidRows, key: Ints, since: Ints, chosen: Bools) -> ValidRows | None:
        """When the stretches of the keys of some rows have begun."""
        places = np.flatnonzero(chosen)
        if not len(places):
            return None
        _, first = np.unique(key[places], return_index=True)
        marked = rows.take(places[first]).select(self.node.program.keys)
        begun = since[key[places[first]]]
        return replace(marked, start=begun, end=begun)


def _in_order(key: Ints, start: Ints, places: Ints) -> Ints:
    """Some rows in the order of key and start."""
    if not len(places):
        return places
    key, start = key[places], start[places]
    low = int(start.min())
    span = int(start.max()) - low + 1
    if (int(key.max()) + 1) * span < FOREVER:
        return places[np.argsort(key * np.int64(span) + (start - np.int64(low)), kind="stable")]
    return places[np.lexsort((start, key))]


def _chosen(found: SnapshotStretches, which: Bools) -> SnapshotStretches:
    """Some of the stretches."""
    names = ("begin", "end", "key", "started", "ended", "place")
    return replace(found, **{name: getattr(found, name)[which] for name in names})


def _next_change(kept: ValidRows | None, now: int) -> int | None:
    """The watermark at which the next row comes, or one is over."""
    if kept is None or not len(kept):
        return None
    changes = np.where(kept.start > now, kept.start, kept.end - 1)
    return int(changes.min())


# Canonical intervals.


def coalesced(
    node: SnapshotCoalescing, flow: RowFlow, kept: Mapping[str, ValidRows], move: WatermarkMove
) -> OperatorStep:
    """The intervals that are over. What is valid k times has k levels, of which the beginnings are kept as
    `levels`. Of a row that has started, all that matters is when it ends.

    An interval is over when the watermark reaches its end: until then an equal row could begin there."""
    now, names = move.now, node.program.keys
    closed = united(kept.get("rows"), _equal_rows(flow.closed, names))
    rows = united(closed, _equal_rows(flow.open, names))
    begun = None
    if rows is not None:
        begun = _some(rows.where((rows.start > move.before) & (rows.start <= now)))
    over = None if closed is None else _some(closed.where(closed.end <= now))
    left = None if closed is None else _some(closed.where(closed.end > now))
    starts = united(kept.get("levels"), begun)
    wake = None if left is None else int(np.where(left.start > now, left.start, left.end).min())
    if starts is None:
        return OperatorStep(kept={"rows": left}, wake=wake)
    count = len(starts)
    columns = {name: starts.columns[name] for name in names}
    if over is not None:
        columns = {name: pa.concat_arrays([columns[name], over.columns[name]]) for name in names}
    ended = 0 if over is None else len(over)
    key = key_codes(list(columns.values()), count + ended)
    time = starts.start if over is None else np.concatenate([starts.start, over.end])
    opened, closing = _levels(key, time, count)
    levels = starts.take(opened[closing < 0])
    levels = replace(levels, end=np.full(len(levels), FOREVER))
    done = opened[closing >= 0]
    found = replace(starts.take(done), end=time[closing[closing >= 0]])
    return OperatorStep(RowFlow(_some(found), _some(levels)), {"rows": left, "levels": levels}, wake)


def _equal_rows(rows: ValidRows | None, names: Sequence[str]) -> ValidRows | None:
    if rows is None:
        return None
    return replace(rows, columns={name: _equalized(rows.columns[name]) for name in names})


def _levels(key: Ints, time: Ints, starts: int) -> tuple[Ints, Ints]:
    """The first `starts` changes are starts, the others ends. The starts that open a level, and for each the
    end that closes it, -1 if none does. At one instant starts and ends make up for each other.

    >>> opened, closing = _levels(np.zeros(5, int), np.array([1, 3, 5, 3, 7]), 3)
    >>> opened.tolist(), closing.tolist()
    ([0, 2], [-1, 4])
    """
    sign = np.where(np.arange(len(key)) < starts, 1, -1)
    order = np.lexsort((time, key))
    keys, when, sign = key[order], time[order], sign[order]
    new = np.flatnonzero((np.diff(keys, prepend=-1) != 0) | (np.diff(when, prepend=when[:1] - 1) != 0))
    net = np.add.reduceat(sign, new)
    instant = np.repeat(np.arange(len(new)), np.diff(new, append=len(keys)))
    # Of the changes of an instant, so many of the sign that prevails stay.
    rank = _rank_within(instant, sign)
    stays = (sign == np.sign(net)[instant]) & (rank < np.abs(net)[instant])
    chosen, step, owner = order[stays], sign[stays], keys[stays]
    heads = np.flatnonzero(np.diff(owner, prepend=-1))
    depth = np.cumsum(step)
    depth -= np.repeat((depth - step)[heads], np.diff(heads, append=len(owner)))
    level = np.where(step > 0, depth, depth + 1)
    turns = np.lexsort((np.arange(len(level)), level, owner))
    opens = np.flatnonzero(step[turns] > 0)
    following = np.minimum(opens + 1, len(turns) - 1)
    is_closed = (opens + 1 < len(turns)) & (step[turns[following]] < 0)
    return chosen[turns[opens]], np.where(is_closed, chosen[turns[following]], -1)


def _rank_within(instant: Ints, sign: Ints) -> Ints:
    """The number of each change among those of its instant and its sign."""
    group = instant * 2 + (sign > 0)
    order = np.argsort(group, kind="stable")
    sorted_ = group[order]
    heads = np.flatnonzero(np.diff(sorted_, prepend=-1))
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(heads, np.diff(heads, append=len(group)))
    return rank

"""A query answered by the kernel, in process: what Spark would compute for it is computed by the
reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from neelc.ir.program import Match
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.columns import CODE, unit_of
from neelc.pattern.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.runtime.kernels.events import KernelEvents, NullableArray, Numbers
from neelc.runtime.kernels.frontier import EventLists
from neelc.runtime.kernels.matching import Piece, matches
from neelc.runtime.kernels.pattern_kernel import calls_of
from neelc.runtime.moments import moments_of
from neelc.runtime.program import PatternProgram, VariableOutput
from neelc.runtime.reference import Tables, read
from neelc.runtime.reference.events import in_order, ranked
from neelc.runtime.reference.model import Binding, ReferenceEvent, binding_key
from neelc.runtime.values.order import comparable
from neelc.tools.cases.streaming.pattern import complete, functions_of, key, raw_values, roles


def planned_for(match: Match) -> KernelPlan:
    """How the kernel executes a query; `Unsupported` if it cannot."""
    return kernel_plan(match, partition_keys(match), unit_of(match))


def kernel_matches(
    match: Match, tables: Tables, most_rows: int = 2_000_000, planned: KernelPlan | None = None
) -> list[Binding]:
    """The bindings that the kernel finds. To plan takes longer than to find them, so many streams may share
    what was `planned`."""
    planned = planned or planned_for(match)
    found = list(ranked(read(match, tables, {})))
    key_of = {event: key(planned, match, event) for event in found}
    ordered = sorted(found, key=lambda event: (repr(key_of[event]), event.first))
    if not ordered:
        return []
    events = as_arrays(planned, match, ordered, [repr(key_of[event]) for event in ordered])
    bindings = []
    for piece in matches(planned.program, events, most_rows):
        rows = range(min(map(len, piece.values())))
        bindings += [binding(planned.program, piece, row, ordered) for row in rows]
    return complete(planned, bindings)


def binding(program: PatternProgram, piece: Piece, row: int, events: Sequence[ReferenceEvent]) -> Binding:
    """One of the matches of a piece."""
    return {str(output.variable): bound(output, piece, row, events) for output in program.outputs}


def bound(output: VariableOutput, piece: Piece, row: int, events: Sequence[ReferenceEvent]) -> object:
    columns = [piece[name] for name, _ in output.bound]
    if not output.listed:
        (numbers,) = columns
        assert not isinstance(numbers, EventLists)
        return event_at(int(numbers[row]), events)
    return listed(output, [column for column in columns if isinstance(column, EventLists)], row, events)


def listed(
    output: VariableOutput, columns: Sequence[EventLists], row: int, events: Sequence[ReferenceEvent]
) -> object:
    """The list of a row; None: no list."""
    length = int(columns[0].elements.length[row])
    if length < 0:
        return None
    if not output.inner:
        return tuple(event_at(number, events) for number in elements(columns[0], row))
    return tuple(iteration(output, columns, row, number, events) for number in range(length))


def iteration(
    output: VariableOutput,
    columns: Sequence[EventLists],
    row: int,
    number: int,
    events: Sequence[ReferenceEvent],
) -> Mapping[str, object]:
    found: dict[str, object] = {}
    of_output = iter(columns)
    for inner in output.inner:
        own = [next(of_output) for _ in inner.bound]
        if inner.listed:
            lists = [column.group(np.array([row]), np.array([number])) for column in own]
            found[str(inner.variable)] = listed(inner, lists, 0, events)
        else:
            found[str(inner.variable)] = event_at(elements(own[0], row)[number], events)
    return dict(sorted(found.items()))


def elements(column: EventLists, row: int) -> list[int]:
    begin, length = int(column.begin[row]), int(column.length[row])
    return [int(number) for number in column.pool[begin : begin + length]]


def event_at(number: int, events: Sequence[ReferenceEvent]) -> ReferenceEvent | None:
    return events[number] if number >= 0 else None


def as_arrays(
    planned: KernelPlan, match: Match, events: Sequence[ReferenceEvent], keys: Sequence[str]
) -> KernelEvents:
    unit = LENGTHS[planned.plan.unit]
    start = np.array([event.start // unit for event in events], np.int64)
    end = np.array([event.end // unit for event in events], np.int64) if planned.program.lasting else start
    numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
    segment = np.array([numbers[key] for key in keys], np.int64)
    first, beyond = places(start, end, segment) if planned.program.counted else (None, None)
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    owned = (np.full(len(numbers), low), np.full(len(numbers), high))
    columns = dict(values(planned, match, events))
    raw = raw_of(planned, match, events)
    calls = calls_of(planned.program, functions_of(match), raw)
    players = dict(roles(planned, match, events))
    ranks = np.array([event.rank for event in events], np.int64)
    return KernelEvents(
        start, end, segment, players, columns, owned, first, beyond, calls,
        lambda name, numbers: [raw(name)[number] for number in numbers],
        functions_of(match),
        moments=moments_of(segment, start, end, ranks) if planned.program.order else None,
    )  # fmt: skip


def raw_of(
    planned: KernelPlan, match: Match, events: Sequence[ReferenceEvent]
) -> Callable[[str], Sequence[object]]:
    """What the columns of events hold, for the functions of users."""
    columns = {column.name: column for column in planned.columns}
    return lambda name: list(raw_values(columns[name], match, events))


def places(start: Numbers, end: Numbers, segment: Numbers) -> tuple[Numbers, Numbers]:
    first = [int(np.sum((segment == s) & (start < t))) for s, t in zip(segment, start, strict=True)]
    beyond = [int(np.sum((segment == s) & (start <= t))) for s, t in zip(segment, end, strict=True)]
    return np.array(first, np.int64), np.array(beyond, np.int64)


def values(
    planned: KernelPlan, match: Match, events: Sequence[ReferenceEvent]
) -> Iterator[tuple[str, NullableArray]]:
    groups = {name: group for group in planned.program.codings for name in group}
    raw = {column.name: list(raw_values(column, match, events)) for column in planned.columns}
    for column in planned.columns:
        found: Sequence[object] = raw[column.name]
        if column.form == CODE:
            together = {comparable(v) for name in groups[column.name] for v in raw[name] if v is not None}
            codes = {value: number for number, value in enumerate(sorted(together))}  # type: ignore[type-var]
            found = [None if value is None else codes[comparable(value)] for value in found]
        if all(value is None or isinstance(value, bool | int | float) for value in found):
            valid = np.array([value is not None for value in found], bool)
            yield column.name, NullableArray(np.array([value or 0 for value in found], kind_of(found)), valid)


def kind_of(found: Sequence[object]) -> type[np.generic]:
    if found and all(isinstance(value, bool | None) for value in found):
        return np.bool_
    return np.float64 if any(isinstance(value, float) for value in found) else np.int64


def as_bindings(bindings: Sequence[Mapping[str, object]]) -> Counter[object]:
    """Bindings to be compared; what is absent need not be named. The simultaneous events of a collapsed list
    have no order."""
    return Counter(
        frozenset((name, binding_key(in_time(value))) for name, value in binding.items() if value is not None)
        for binding in bindings
    )


def in_time(value: object) -> object:
    if isinstance(value, tuple) and all(isinstance(one, ReferenceEvent) for one in value):
        return in_order(replace(one, rank=0, ranks=1) for one in value)  # not all engines know ranks
    return value

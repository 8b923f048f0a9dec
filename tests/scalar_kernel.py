"""What a program means: nested loops over events. The kernel must find the same matches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from neelc.runtime.kernels.events import KernelEvents
from neelc.runtime.program import (
    ALL,
    LATEST,
    Absent,
    AnyBound,
    Apply,
    BetweenGroups,
    Bounds,
    Choose,
    ColumnValue,
    Constant,
    EventName,
    FilterStep,
    KernelStep,
    PatternProgram,
    Present,
    Rename,
    Take,
    Value,
    When,
    Within,
)


@dataclass(frozen=True)
class Event:
    number: int
    start: int
    end: int
    segment: int
    first: int
    beyond: int
    values: Mapping[str, object]


@dataclass(frozen=True)
class Row:
    bound: Mapping[EventName, Event]
    marks: Mapping[str, int]
    segment: int | None = None


def scalar_matches(program: PatternProgram, events: KernelEvents) -> Counter[tuple[int, ...]]:
    """How often each match is found; -1 is an absent event."""
    all_events = event_list(events)
    roles = {role: [all_events[n] for n in numbers.tolist()] for role, numbers in events.roles.items()}
    found: Counter[tuple[int, ...]] = Counter()
    variables = list(dict.fromkeys(output.variable for output in program.outputs))
    for row in rows_after(program.steps, Row({}, {}), roles):
        members = [row.bound[name] for name in variables if name in row.bound]
        if not members:
            continue
        low, high = (int(limit[members[0].segment]) for limit in events.owned)
        if low <= min(event.start for event in members) < high:
            found[tuple(row.bound[name].number if name in row.bound else -1 for name in variables)] += 1
    return Counter(dict.fromkeys(found, 1)) if program.unique else found


def event_list(events: KernelEvents) -> list[Event]:
    def value(name: str, number: int) -> object:
        column = events.columns[name]
        return None if column.valid is not None and not column.valid[number] else column.values[number].item()

    return [
        Event(
            number,
            int(events.start[number]),
            int(events.end[number]),
            int(events.segment[number]),
            0 if events.first is None else int(events.first[number]),
            0 if events.beyond is None else int(events.beyond[number]),
            {name: value(name, number) for name in events.columns},
        )
        for number in range(len(events.start))
    ]


Roles = Mapping[str, list[Event]]


def rows_after(steps: tuple[KernelStep, ...], row: Row, roles: Roles) -> Iterator[Row]:
    if not steps:
        yield row
        return
    for extended in rows_after_one(steps[0], row, roles):
        yield from rows_after(steps[1:], extended, roles)


def rows_after_one(step: KernelStep, row: Row, roles: Roles) -> Iterator[Row]:
    if not is_concerned(row, step.when):
        yield row
        return
    match step:
        case Choose(mark, count):
            for choice in range(count):
                yield replace(row, marks={**row.marks, mark: choice})
        case Take():
            yield from taken(step, row, roles)
        case Rename(variable, new):
            bound = {name: event for name, event in row.bound.items() if name not in (variable, new)}
            yield replace(row, bound=bound | ({new: row.bound[variable]} if variable in row.bound else {}))
        case FilterStep(condition):
            if value_of(condition, row) is True:
                yield row
        case AnyBound(variables):
            if any(variable in row.bound for variable in variables):
                yield row
        case Absent(steps):
            if not any(True for _ in rows_after(steps, row, roles)):
                yield row
        case Present(steps):
            if any(True for _ in rows_after(steps, row, roles)):
                yield row


def is_concerned(row: Row, when: When) -> bool:
    return all(row.marks.get(mark) == choice for mark, choice in when)


def taken(step: Take[Value], row: Row, roles: Roles) -> Iterator[Row]:
    fitting = []
    for event in roles[step.role]:
        extended = Row({**row.bound, step.variable: event}, row.marks, event.segment)
        if (
            row.segment in (None, event.segment)
            and is_inside(event, step.bounds, row)
            and all(row.bound[name] != event for name in step.differs if name in row.bound)
            and not any(is_past(event, chain, row, roles) for chain in step.until)
            and all(value_of(condition, extended) is True for condition in step.where)
        ):
            fitting.append(extended)
    if step.pick == ALL or not fitting:
        yield from fitting
    elif step.pick == LATEST:
        yield max(fitting, key=lambda r: (r.bound[step.variable].start, r.bound[step.variable].number))
    else:
        yield min(fitting, key=lambda r: (r.bound[step.variable].end, r.bound[step.variable].number))


def is_past(event: Event, chain: tuple[Take[Value], ...], row: Row, roles: Roles) -> bool:
    """Whether the events of a chain, whichever, can all have ended before the event starts."""
    some = tuple(replace(take, pick=ALL) for take in chain)
    return any(
        all(found.bound[take.variable].end < event.start for take in chain)
        for found in rows_after(some, row, roles)
    )


def is_inside(event: Event, bounds: Bounds, row: Row) -> bool:
    return (
        all(event.start > other.end for other in group(bounds.after, row))
        and all(event.end < other.start for other in group(bounds.before, row))
        and all(is_within(event, within, row) for within in bounds.within)
        and all(is_between(event, between, row) for between in bounds.between)
    )


def group(variables: tuple[EventName, ...], row: Row) -> list[Event]:
    return [row.bound[name] for name in variables if name in row.bound]


def is_within(event: Event, within: Within, row: Row) -> bool:
    def start(one: Event) -> int:
        return one.first if within.counted else one.start

    def end(one: Event) -> int:
        return one.beyond if within.counted else one.end

    members = group(within.events, row)
    return (
        all(start(event) >= end(other) - within.width for other in members)
        and all(end(event) <= start(other) + within.width for other in members)
        and (not within.member or end(event) - start(event) <= within.width)
    )


def is_between(event: Event, between: BetweenGroups, row: Row) -> bool:
    one, other = group(between.one, row), group(between.other, row)
    for earlier, later in ((one, other), (other, one)):
        if earlier and later and max(e.end for e in earlier) < min(e.start for e in later):
            return max(e.end for e in earlier) < event.start and event.end < min(e.start for e in later)
    return False


def value_of(value: Value, row: Row) -> object:
    match value:
        case Constant(constant):
            return constant
        case ColumnValue(variable, name):
            return row.bound[variable].values[name] if variable in row.bound else None
        case Apply("agrees", (ColumnValue(one), ColumnValue(other))) if (
            one not in row.bound or other not in row.bound
        ):
            return True
        case Apply(operation, operands):
            return applied(operation, [value_of(operand, row) for operand in operands])
    raise TypeError(value)


def applied(operation: str, values: list[object]) -> object:
    """The few operations that sampled programs use."""
    match operation, values:
        case "and", _:
            return False if False in values else None if None in values else True
        case "or", _:
            return True if True in values else None if None in values else False
        case "not", [one]:
            return None if one is None else not one
        case "isnull", [one]:
            return one is None
    left, right = (rank(value) for value in values)
    if left is None or right is None:
        return None
    return {"agrees": left == right, "=": left == right, "<>": left != right, "<": left < right}[operation]


def rank(value: object) -> tuple[bool, float] | None:
    """NaN is the greatest number, and is equal to itself."""
    if value is None:
        return None
    assert isinstance(value, int | float)
    return (True, 0.0) if math.isnan(value) else (False, value)

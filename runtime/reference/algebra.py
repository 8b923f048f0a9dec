"""The event algebra, executed: the definition of chapter 6 of the JEPC thesis.

An event stream is a list of payloads, each with its valid time `[start, end)`; the snapshot of an instant is
the multiset of the payloads that are valid there. Filters, correlators and aggregators do at every instant
what selection, join and grouping do to a table. An aggregator is computed so, snapshot by snapshot, from one
instant at which something changes to the next. Filters and correlators take whole events, which is the same:
what holds for a payload holds at all instants of its valid time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from neelc.ir import algebra as a
from neelc.ir.expressions import Expr
from neelc.ir.names import bare
from neelc.ir.program import Clock, OutputColumn
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import ALWAYS, FOREVER, Time, ValidPayload, named, payload_key, steady
from neelc.runtime.reference.model import EvaluationContext, LimitReached, ReferenceEvent, moment, nanoseconds
from neelc.runtime.reference.question import length
from neelc.runtime.reference.sequential import sequential
from neelc.runtime.reference.temporal import matches_of
from neelc.runtime.values.order import comparable

# Windows: how long an event stays valid (JEPC thesis, 6.3.2 and 7.3).


def time_window(window: a.TimeWindow, event: ValidPayload) -> ValidPayload:
    """At an instant t an event of the instant u is valid if t - w < u <= t; if the window jumps, t is cut to
    the last multiple of the jump: "making the granularity of the time domain coarser".

    So it is valid from the first multiple that is not before u, until the first that is not before u + w.
    """
    jump = a.instant(window.clock) if window.jump is None else length(window.jump)
    last = event.end - a.instant(window.clock)
    return replace(
        event, start=not_before(event.start, jump), end=not_before(last + length(window.size), jump)
    )


def not_before(time: Time, step: int) -> Time:
    """The first multiple of `step` that is not before a time.

    >>> [not_before(time, 10) for time in (-11, -10, 0, 1)]
    [-10, -10, 0, 10]
    """
    return time if time == FOREVER else -(-time // step) * step


def count_window(window: a.CountWindow, events: Sequence[ValidPayload]) -> Iterator[ValidPayload]:
    """ "First partitions an event stream and then applies a window to each partition separately"."""
    partitions: dict[object, list[ValidPayload]] = {}
    for event in events:
        key = tuple(comparable(evaluate(one, event.context)) for one in window.partition)
        partitions.setdefault(key, []).append(event)
    for partition in partitions.values():
        yield from _counted(window, partition)


def _counted(window: a.CountWindow, events: Sequence[ValidPayload]) -> Iterator[ValidPayload]:
    """With c(t) for the number of events up to t, those of t included: at t an event of the instant
    u is valid if c(t) - N < c(u) <= c(t); if the window jumps, c(t) is cut to the last multiple of the jump.

    Simultaneous events have one c, so they come and go together: docs/decisions/0041.
    """
    starts = sorted(event.start for event in events)
    counts = [bisect_right(starts, time) for time in starts]
    shown = [count // window.jump * window.jump for count in counts]
    for event in events:
        own = bisect_right(starts, event.start)
        begins = (time for time, count in zip(starts, shown, strict=True) if own <= count)
        ends = (time for time, count in zip(starts, shown, strict=True) if own <= count - window.size)
        yield replace(event, start=next(begins, FOREVER), end=next(ends, FOREVER))


# Agents that users register, on the reference interpreter: functions from lists of rows to one.


class AgentFailure(RuntimeError):
    """An agent has raised, or has returned an invalid value. `name` is that of the agent."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def agent_rows(agent: a.Agent, inputs: Sequence[Sequence[ValidPayload]], clock: Clock) -> list[ValidPayload]:
    """What the agent makes of the rows of its inputs, each with the payload's columns, `ts` and `te`. `clock`
    is that of the whole SELECT."""
    if agent.rows is None:
        message = f"the agent {agent.name} is a function on DataFrames, so it runs on Spark only"
        raise AgentFailure(agent.name, message)
    rows = [[_row(event, agent, clock) for event in sorted(input, key=steady)] for input in inputs]
    try:
        made = list(agent.rows(*rows))
    except Exception as error:
        message = f"the agent {agent.name} failed: {type(error).__name__}: {error}"
        raise AgentFailure(agent.name, message) from error
    return [_valid(row, agent, clock) for row in made]


def _row(event: ValidPayload, agent: a.Agent, clock: Clock) -> dict[str, object]:
    (of,) = event.binding.values()
    start, end = (
        None if time in (ALWAYS, FOREVER) else moment(int(time), agent.clock, clock) for time in _times(event)
    )
    return {**of.attributes, a.START: start, a.END: end}


def _times(event: ValidPayload) -> tuple[Time, Time]:
    return event.start, event.end


def _valid(row: object, agent: a.Agent, clock: Clock) -> ValidPayload:
    names = [bare(column.name) for column in agent.columns]
    if not isinstance(row, Mapping) or any(name not in row for name in (*names, a.START, a.END)):
        required = ", ".join((*names, a.START, a.END))
        raise AgentFailure(agent.name, f"the agent {agent.name} gave {row!r}, which has no {required}")
    unit = agent.clock.unit or "MILLISECOND"
    start, end = (nanoseconds(row[name], unit, clock) for name in (a.START, a.END))
    if start is None or (end is not None and end <= start):
        raise AgentFailure(agent.name, f"the agent {agent.name} gave {row!r}, which is valid at no instant")
    values = {name: row[name] for name in names}
    return ValidPayload(named(agent.variable, values), start, FOREVER if end is None else end)


MAX_COMBINATIONS = 1_000_000
"""How many combinations of events one correlator may try."""

Read = Callable[[a.StreamSource | a.RelationSource], list[ValidPayload]]
"""The events of a source."""


def events(operator: a.Operator, read: Read, clock: Clock) -> list[ValidPayload]:
    """The event stream that an operator stands for; `clock` is that of the whole SELECT."""
    below = [events(one, read, clock) for one in a.inputs_of(operator)]
    match operator:
        case a.StreamSource():
            return read(operator)
        case a.RelationSource():
            return [replace(one, start=ALWAYS, end=FOREVER) for one in read(operator)]
        case a.TimeWindow():
            return [one for one in (time_window(operator, event) for event in below[0]) if one.lasts]
        case a.CountWindow():
            return [one for one in count_window(operator, below[0]) if one.lasts]
        case a.Filter(_, condition):
            return [one for one in below[0] if holds(condition, one)]
        case a.Correlator(_, condition):
            return list(correlated(below, condition))
        case a.Aggregator():
            return list(aggregated(operator, below[0]))
        case a.Projection(_, variable, outputs):
            return [replace(one, binding=made(variable, outputs, one.context)) for one in below[0]]
        case a.Coalesced():
            return list(coalesced(below[0]))
        case a.PatternMatcher():
            return list(matched(operator, below[0]))
        case a.TemporalMatcher():
            return list(matched_in_time(operator, below[0]))
        case a.Merger():
            return [event for several in below for event in several]
        case a.Agent():
            return agent_rows(operator, below, clock)
    raise AssertionError(f"{type(operator).__name__} has no meaning")


def holds(condition: Expr | None, event: ValidPayload) -> bool:
    return condition is None or evaluate(condition, event.context) is True


def correlated(inputs: Sequence[list[ValidPayload]], condition: Expr | None) -> Iterator[ValidPayload]:
    """At every instant the combinations of all payloads: valid together, as long as all are."""
    together = [ValidPayload({}, ALWAYS, FOREVER)]
    for events in inputs:
        if len(together) * len(events) > MAX_COMBINATIONS:
            detail = f"a correlator has {len(together)} x {len(events)} combinations of events to try"
            raise LimitReached("MAX_COMBINATIONS", MAX_COMBINATIONS, detail)
        pairs = (left.with_other(right) for left in together for right in events)
        together = [pair for pair in pairs if pair.lasts]
    return (one for one in together if holds(condition, one))


def aggregated(operator: a.Aggregator, input: Sequence[ValidPayload]) -> Iterator[ValidPayload]:
    """ "On each snapshot that is not empty", "separately for each group of events with identical values"."""
    groups: dict[object, list[ValidPayload]] = {}
    for event in input:
        key = tuple(comparable(evaluate(group.expression, event.context)) for group in operator.groups)
        groups.setdefault(key, []).append(event)
    outputs = (*operator.groups, *operator.aggregates)
    for group in groups.values():
        # In an order that depends on values only: sums of floating point numbers do depend on it.
        group.sort(key=steady)
        for start, end in pairwise(changes(group)):
            snapshot = [event.context for event in group if event.start <= start < event.end]
            if snapshot:
                context = EvaluationContext(snapshot[0].binding, matches=snapshot)
                values = {output.name: evaluate(output.expression, context) for output in outputs}
                named_groups = {one.name: of_group(values[one.name]) for one in operator.groups}
                yield ValidPayload(named(operator.variable, {**values, **named_groups}), start, end)


def of_group(value: object) -> object:
    """The value of a group: both zeros are one group, which Spark calls 0.0.

    >>> of_group(-0.0), of_group(7)
    (0.0, 7)
    """
    return value + 0.0 if isinstance(value, float) else value


def changes(events: Sequence[ValidPayload]) -> list[Time]:
    """The instants at which something begins or ends, in order; between two of them nothing changes."""
    return sorted({time for event in events for time in (event.start, event.end)})


def coalesced(input: Sequence[ValidPayload]) -> Iterator[ValidPayload]:
    """For every payload and every k, the longest intervals in which it is there at least k times."""
    equal: dict[object, list[ValidPayload]] = {}
    for event in input:
        equal.setdefault(payload_key(event), []).append(event)
    for group in equal.values():
        times = changes(group)
        counts = [sum(event.start <= time < event.end for event in group) for time in times]
        for least in range(1, max(counts) + 1):
            start: Time | None = None
            for time, count in zip(times, counts, strict=True):
                if count >= least and start is None:
                    start = time
                elif count < least and start is not None:
                    yield replace(group[0], start=start, end=time)
                    start = None
            assert start is None, "at the last of the times everything has ended"


def matched(operator: a.PatternMatcher, input: Sequence[ValidPayload]) -> Iterator[ValidPayload]:
    """ "The timestamp of the output event is set to the timestamp of the last symbol event"."""
    rows = [next(iter(event.binding.values())).attributes for event in input]
    times = [int(event.start) for event in input]
    for match in sequential(operator.clause, rows, times):
        last = times[match.events[-1].row]
        names = [column.name for column in operator.clause.output]
        values = dict(zip(names, match.values, strict=True))
        yield ValidPayload(named(operator.variable, values), last, last + a.instant(operator.clock))


def matched_in_time(operator: a.TemporalMatcher, input: Sequence[ValidPayload]) -> Iterator[ValidPayload]:
    """A match is valid from the instant on at which it is decided, or from the last end that it tells."""
    rows = [next(iter(event.binding.values())).attributes for event in input]
    names = [column.name for column in operator.clause.output]
    for match in matches_of(operator.clause, rows, [int(event.start) for event in input]):
        values = dict(zip(names, match.values, strict=True))
        end = match.valid + a.instant(operator.clock)
        yield ValidPayload(named(operator.variable, values), match.valid, end)


def made(
    variable: str, outputs: Sequence[OutputColumn], context: EvaluationContext
) -> dict[str, ReferenceEvent]:
    """A payload computed from others."""
    return named(variable, {output.name: evaluate(output.expression, context) for output in outputs})

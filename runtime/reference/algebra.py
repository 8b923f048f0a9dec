"""The event algebra, executed: the definition of chapter 6 of the JEPC thesis.

An event stream is a list of payloads, each with its valid time `[start, end)`; the snapshot of an instant is
the multiset of the payloads that are valid there. Filters, correlators and aggregators do at every instant
what selection, join and grouping do to a table. An aggregator is computed so, snapshot by snapshot, from one
instant at which something changes to the next. Filters and correlators take whole events, which is the same:
what holds for a payload holds at all instants of its valid time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from neelc.ir import algebra as a
from neelc.ir.expr import Expr
from neelc.ir.logical import Clock, OutputColumn
from neelc.runtime.reference.agents import agent_rows
from neelc.runtime.reference.algebra_windows import count_window, time_window
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Context, Event, LimitReached, comparable
from neelc.runtime.reference.sequential import sequential
from neelc.runtime.reference.valid import ALWAYS, FOREVER, Time, Valid, named, payload_key, steady

MAX_COMBINATIONS = 1_000_000
"""How many combinations of events one correlator may try."""

Read = Callable[[a.Source | a.Relation], list[Valid]]
"""The events of a source."""


def events(operator: a.Operator, read: Read, clock: Clock) -> list[Valid]:
    """The event stream that an operator stands for; `clock` is that of the whole SELECT."""
    below = [events(one, read, clock) for one in a.inputs_of(operator)]
    match operator:
        case a.Source():
            return read(operator)
        case a.Relation():
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
        case a.Agent():
            return agent_rows(operator, below, clock)
    raise AssertionError(f"{type(operator).__name__} has no meaning")


def holds(condition: Expr | None, event: Valid) -> bool:
    return condition is None or evaluate(condition, event.context) is True


def correlated(inputs: Sequence[list[Valid]], condition: Expr | None) -> Iterator[Valid]:
    """At every instant the combinations of all payloads: valid together, as long as all are."""
    together = [Valid({}, ALWAYS, FOREVER)]
    for events in inputs:
        if len(together) * len(events) > MAX_COMBINATIONS:
            detail = f"a correlator has {len(together)} x {len(events)} combinations of events to try"
            raise LimitReached("MAX_COMBINATIONS", MAX_COMBINATIONS, detail)
        pairs = (left.with_other(right) for left in together for right in events)
        together = [pair for pair in pairs if pair.lasts]
    return (one for one in together if holds(condition, one))


def aggregated(operator: a.Aggregator, input: Sequence[Valid]) -> Iterator[Valid]:
    """ "On each snapshot that is not empty", "separately for each group of events with identical values"."""
    groups: dict[object, list[Valid]] = {}
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
                context = Context(snapshot[0].binding, matches=snapshot)
                values = {output.name: evaluate(output.expression, context) for output in outputs}
                named_groups = {one.name: of_group(values[one.name]) for one in operator.groups}
                yield Valid(named(operator.variable, {**values, **named_groups}), start, end)


def of_group(value: object) -> object:
    """The value of a group: both zeros are one group, which Spark calls 0.0.

    >>> of_group(-0.0), of_group(7)
    (0.0, 7)
    """
    return value + 0.0 if isinstance(value, float) else value


def changes(events: Sequence[Valid]) -> list[Time]:
    """The instants at which something begins or ends, in order; between two of them nothing changes."""
    return sorted({time for event in events for time in (event.start, event.end)})


def coalesced(input: Sequence[Valid]) -> Iterator[Valid]:
    """For every payload and every k, the longest intervals in which it is there at least k times."""
    equal: dict[object, list[Valid]] = {}
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


def matched(operator: a.PatternMatcher, input: Sequence[Valid]) -> Iterator[Valid]:
    """ "The timestamp of the output event is set to the timestamp of the last symbol event"."""
    rows = [next(iter(event.binding.values())).attributes for event in input]
    times = [int(event.start) for event in input]
    for match in sequential(operator.clause, rows, times):
        last = times[match.rows[-1]]
        names = [column.name for column in operator.clause.output]
        values = dict(zip(names, match.values, strict=True))
        yield Valid(named(operator.variable, values), last, last + a.instant(operator.clock))


def made(variable: str, outputs: Sequence[OutputColumn], context: Context) -> dict[str, Event]:
    """A payload computed from others."""
    return named(variable, {output.name: evaluate(output.expression, context) for output in outputs})

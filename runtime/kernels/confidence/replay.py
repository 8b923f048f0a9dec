"""Whether a match stands at given times: the bounds of the steps that found it, checked once more.

The steps of a program find events by ranges. Where times are imprecise, these ranges are as wide as any
world allows. In one world each event has one time, and a match stands there if its events keep to the bounds
of the same steps at these times. Here times are columns: one entry for each of many combinations of times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from neelc.runtime.kernels.events import Numbers, Truths
from neelc.runtime.kernels.taking import FAR, LONGEST
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Bounds,
    ElementName,
    EventName,
    KernelStep,
    ListName,
    Rename,
    RepeatStep,
    Take,
    Value,
    When,
    is_composite,
)


@dataclass(frozen=True, eq=False)
class TimedBinding:
    """What steps have bound: the times of the event of each variable, those of the elements of each list, and
    the choices that were made."""

    variables: Mapping[EventName, Numbers]
    lists: Mapping[ListName, Sequence[Numbers]] = field(default_factory=dict)
    choices: Mapping[str, int] = field(default_factory=dict)

    def made(self, when: When) -> bool:
        return all(self.choices.get(mark) == choice for mark, choice in when)


Times = dict[EventName, Numbers]
"""The times of the events that are bound so far."""


Counting = Callable[[Numbers, Numbers], Numbers]
"""How many events are from one time to another."""


def stands(
    steps: Sequence[KernelStep], found: TimedBinding, around: Times, counting: Counting | None = None
) -> tuple[Truths, Times]:
    """For each combination of times, whether the events keep to the bounds of the steps; and the times by the
    names that later steps have for them. `around` is bound already. Windows that count events are not looked
    at without `counting`.

    >>> a, b = np.array([1, 1, 2]), np.array([2, 9, 2])
    >>> steps = (Take("a", "A"), Take("b", "B", Bounds(after=("a",))))
    >>> stands(steps, TimedBinding({"a": a, "b": b}), {})[0].tolist()
    [True, True, False]
    """
    times = dict(around)
    good: Truths = np.ones((), bool)
    for place, step in enumerate(steps):
        if not found.made(step.when):
            continue
        match step:
            case Take():
                time = found.variables[last_name(step.variable, steps[place + 1 :], found)]
                good = good & is_inside(time, step.bounds, times, counting)
                times[step.variable] = time
            case Rename(old, new):
                if old in times:
                    times[new] = times.pop(old)
            case RepeatStep():
                good = good & _repeated(step, found, times, counting)
    return good, times


def last_name(name: EventName, steps: Sequence[KernelStep], found: TimedBinding) -> EventName:
    """What an event is called after all steps: branches of an OR that share it have names of their own."""
    for step in steps:
        if isinstance(step, Rename) and step.variable == name and found.made(step.when):
            name = step.new
    return name


def _repeated(
    step: RepeatStep[Value], found: TimedBinding, times: Times, counting: Counting | None
) -> Truths:
    """Whether each iteration of a list keeps to its bounds; adds the names that the list has afterwards."""
    lists = [found.lists.get(name.events, ()) for name in step.names]
    good: Truths = np.ones((), bool)
    for number in range(len(lists[0])):
        own = TimedBinding(
            {name: of[number] for name, of in zip(step.names, lists, strict=True)}, {}, found.choices
        )
        kept, _ = stands(step.next if number else step.first, own, times, counting)
        good = good & kept
        for name in step.names:
            time = own.variables[name]
            times[replace(name, lag=1)] = times[name.at(-1)] = time
            times.setdefault(name.at(1), time)
        if is_composite(step.names, step.variable):
            every = list(own.variables.values())
            times[ElementName(step.variable, -1)] = np.maximum.reduce(every)
            times.setdefault(ElementName(step.variable, 1), np.minimum.reduce(every))
    for name, of in zip(step.names, lists, strict=True):
        times.pop(replace(name, lag=1), None)
        for place in step.places:
            at = place - 1 if place > 0 else len(of) + place
            if 0 <= at < len(of):
                times[name.at(place)] = of[at]
    return good


def is_inside(time: Numbers, bounds: Bounds, times: Times, counting: Counting | None = None) -> Truths:
    low, high = interval(bounds, times)
    good = (low <= time) & (time <= high)
    for within in bounds.within:
        if within.counted and counting is not None:
            every = [time, *(times[name] for name in within.events if name in times)]
            good = good & (counting(np.minimum.reduce(every), np.maximum.reduce(every)) <= within.width)
    return np.asarray(good)


def interval(bounds: Bounds, times: Times) -> tuple[Numbers, Numbers]:
    """The first and the last time that bounds allow, given the times of other events. Windows that count
    events are not looked at.

    >>> a, b = np.array([1, 4]), np.array([9, 9])
    >>> [limit.tolist() for limit in interval(Bounds(after=("a",), before=("b", "c")), {"a": a, "b": b})]
    [[2, 5], [8, 8]]
    """
    low, high = np.full((), -FAR), np.full((), FAR)
    for name in bounds.after:
        if name in times:
            low = np.maximum(low, times[name] + 1)
    for name in bounds.before:
        if name in times:
            high = np.minimum(high, times[name] - 1)
    for within in bounds.within:
        if not within.counted:
            for name in (name for name in within.events if name in times):
                width = min(within.width, LONGEST)
                low, high = np.maximum(low, times[name] - width), np.minimum(high, times[name] + width)
    for between in bounds.between:
        groups = [[times[name] for name in names if name in times] for names in (between.one, between.other)]
        start, end = _gap(groups[0], groups[1])
        low, high = np.maximum(low, start), np.minimum(high, end)
    return low, high


def _gap(one: list[Numbers], other: list[Numbers]) -> tuple[Numbers, Numbers]:
    """Strictly between two groups, whichever is first; no time where they overlap or one has no event."""
    if not one or not other:
        return np.full((), FAR), np.full((), -FAR)
    ends = np.maximum.reduce(one), np.maximum.reduce(other)
    starts = np.minimum.reduce(one), np.minimum.reduce(other)
    forwards, backwards = ends[0] < starts[1], ends[1] < starts[0]
    low = np.where(forwards, ends[0] + 1, np.where(backwards, ends[1] + 1, FAR))
    high = np.where(forwards, starts[1] - 1, np.where(backwards, starts[0] - 1, -FAR))
    return low, high

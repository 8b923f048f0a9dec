"""Events as columns: what a kernel reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.moments import EventMoments

if TYPE_CHECKING:
    from neelc.runtime.user_calls import UserCall as Call

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NullableArray:
    """A computed column; what `values` has where `valid` is false is NULL. `valid` None: there is no NULL."""

    values: NDArray[Any]
    valid: Truths | None = None


UNIFORM, TRIANGULAR, WEIGHTED = range(3)


@dataclass(frozen=True, eq=False)
class TimeShapes:
    """How likely each of the times of imprecise events is: `kind` is UNIFORM, TRIANGULAR or WEIGHTED. Of a
    weighted event, `until` has from place `first` on the probabilities that it is before the first of its
    times, not after it, not after the second, and so on."""

    kind: NDArray[np.int8]
    first: Numbers
    until: NDArray[np.float64]

    def take(self, rows: Numbers | slice) -> TimeShapes:
        return TimeShapes(self.kind[rows], self.first[rows], self.until)


@dataclass(frozen=True, eq=False)
class KernelEvents:
    """The events of one or more segments; a segment has the events of one key.

    Events are sorted by segment, then by start; an event's number is its place here. Point events have one
    array as `start` and `end`. `roles` has for each role the numbers of the events that can play it, sorted.

    `owned` has for each segment a range: only matches that start in it, from `low` to before `high`, are
    found; the start of a match is the least start of its events.

    Windows that count events need `first`, the number of events of the segment that start before the event
    does, and `beyond`, the number of those that start before or when it ends.

    `shapes` says how likely the times of imprecise events are, if they are not all equally likely.
    `moments` are there where columns order events of the same time: then events are sorted by these, too.

    `calls` are the functions of users, by the names of their folds. `values` are those that a column has for
    some events, as Python has them. `functions` are those of users that take columns.
    """

    start: Numbers
    end: Numbers
    segment: Numbers
    roles: Mapping[str, Numbers]
    columns: Mapping[str, NullableArray]
    owned: tuple[Numbers, Numbers]
    first: Numbers | None = None
    beyond: Numbers | None = None
    calls: Mapping[str, Call] = field(default_factory=dict)
    values: Callable[[str, Numbers], Sequence[object]] | None = None
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    shapes: TimeShapes | None = None
    moments: EventMoments | None = None

    @property
    def first_moment(self) -> Numbers:
        """By which starts are compared with each other, and with ends."""
        return self.start if self.moments is None else self.moments.first

    @property
    def last_moment(self) -> Numbers:
        """By which ends are compared."""
        return self.end if self.moments is None else self.moments.last

    @property
    def lasting(self) -> bool:
        return self.end is not self.start


def part(events: KernelEvents, low: int, high: int) -> KernelEvents:
    """The events from number `low` to before `high`; segments keep their numbers."""

    def cut(column: Numbers | None) -> Numbers | None:
        return None if column is None else column[low:high]

    start = events.start[low:high]
    roles = {}
    for role, numbers in events.roles.items():
        begin, end = np.searchsorted(numbers, (low, high))
        roles[role] = numbers[begin:end] - low
    columns = {
        name: NullableArray(c.values[low:high], None if c.valid is None else c.valid[low:high])
        for name, c in events.columns.items()
    }
    return KernelEvents(
        start,
        events.end[low:high] if events.lasting else start,
        events.segment[low:high],
        roles,
        columns,
        events.owned,
        cut(events.first),
        cut(events.beyond),
        {name: call.moved(low) for name, call in events.calls.items()},
        None if events.values is None else partial(_values_from, events.values, low),
        events.functions,
        shapes=None if events.shapes is None else events.shapes.take(slice(low, high)),
        moments=None if events.moments is None else events.moments.part(low, high),
    )


def _values_from(
    values: Callable[[str, Numbers], Sequence[object]], low: int, name: str, numbers: Numbers
) -> Sequence[object]:
    return values(name, numbers + low)

"""Payloads with the time in which they are valid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from neelc.runtime.reference.model import Context, Event, comparable

Time = int | float
"""Nanoseconds; only the two ends of all time are no integers."""

ALWAYS, FOREVER = -math.inf, math.inf


@dataclass(frozen=True)
class Valid:
    """A payload, valid in `[start, end)`: what each variable stands for.

    >>> Valid({}, 3, 5).with_other(Valid({}, 4, FOREVER))
    Valid(binding={}, start=4, end=5)
    """

    binding: Mapping[str, Event]
    start: Time
    end: Time

    @property
    def lasts(self) -> bool:
        """Whether there is an instant at which it is valid."""
        return self.start < self.end

    @property
    def context(self) -> Context:
        return Context(self.binding)

    def with_other(self, other: Valid) -> Valid:
        """Both payloads, as long as both are valid."""
        binding = {**self.binding, **other.binding}
        return Valid(binding, max(self.start, other.start), min(self.end, other.end))


def named(variable: str, attributes: Mapping[str, object]) -> dict[str, Event]:
    """Attributes under the name of a variable."""
    return {variable: Event(variable, 0, variable, 0, 0, attributes, (None, None))}


def payload_key(event: Valid) -> object:
    """Equal for equal payloads."""
    found = ((variable, of.attributes) for variable, of in sorted(event.binding.items()))
    return tuple(
        (variable, *((key, comparable(value)) for key, value in of.items())) for variable, of in found
    )


def steady(event: Valid) -> tuple[Time, Time, str]:
    """An order of events that depends on what they are only."""
    return event.start, event.end, repr(payload_key(event))

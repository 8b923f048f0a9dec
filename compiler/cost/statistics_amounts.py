"""How many events a stream has, or a type in it, and how many in a second."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from neelc.cost import defaults
from neelc.cost.statistics_known import Knowledge, Number, best, rank, weakest
from neelc.ir.logical import Stream

ASSUMED = "assumed"

# What says how many events of a type there are.
_AMOUNTS = ("EVENTS", "RATE", "SHARE")


@dataclass(frozen=True)
class Amounts:
    """Events of `stream`, only those of the type `value` if it is not None.

    `named` is how many types of the stream the query names.
    """

    stream: Stream
    value: str | None
    knowledge: Knowledge
    named: int = 1

    def said(self, measure: str, subject: str = "") -> Number | None:
        """What is known about the stream as a whole."""
        return self.knowledge.number(self.stream, measure, None, subject)

    @cached_property
    def stream_events(self) -> Number:
        """Events of the stream: as somebody says, or from their rate and the time they take."""
        rate, span = self.said("RATE"), self.said("SPAN")
        made = Number(rate.value * span.value, weakest(rate, span)) if rate and span else None
        assumed = max(defaults.events(self.stream), self._of_types("EVENTS"))
        return best((self.said("EVENTS"), made)) or Number(assumed, ASSUMED)

    @cached_property
    def stream_rate(self) -> Number:
        """Events of the stream per second: as somebody says, or from their number and the time they take."""
        events, span = self.stream_events, self.said("SPAN")
        if events.value == 0:
            return events
        made = Number(events.value / span.value, weakest(events, span)) if span and span.value > 0 else None
        assumed = max(defaults.rate(self.stream), self._of_types("RATE"))
        return best((self.said("RATE"), made)) or Number(assumed, ASSUMED)

    @cached_property
    def _seconds(self) -> Number:
        events, rate = self.stream_events, self.stream_rate
        return Number(events.value / rate.value if rate.value > 0 else 0.0, weakest(events, rate))

    def _of_types(self, measure: str) -> float:
        """What is said of single types, together: the stream has at least that."""
        types = self.knowledge.types(self.stream, (measure,))
        numbers = [self.knowledge.number(self.stream, measure, type) for type in types]
        return sum(number.value for number in numbers if number is not None)

    @cached_property
    def events(self) -> Number:
        """Events of the type."""
        return self._amount(self.stream_events, per_second=False)

    @cached_property
    def rate(self) -> Number:
        """Events of the type per second."""
        return self._amount(self.stream_rate, per_second=True)

    def _amount(self, whole: Number, per_second: bool) -> Number:
        """The share of the type in what the whole stream has, or what is said about the type itself."""
        if self.value is None:
            return whole
        said = self._said_amount(self.value)
        if said is None:
            return Number(self._rest * whole.value, ASSUMED)
        measure, number = said
        seconds = self._seconds
        match measure, per_second:
            case ("SHARE", _):
                return Number(number.value * whole.value, weakest(number, whole))
            case ("EVENTS", True):
                rate = number.value / seconds.value if seconds.value > 0 else 0.0
                return Number(rate, weakest(number, seconds))
            case ("RATE", False):
                return Number(number.value * seconds.value, weakest(number, seconds))
        return number

    def _said_amount(self, type: str) -> tuple[str, Number] | None:
        """The best of what is said about the number of events of a type, and which measure that is."""
        found = [(m, n) for m in _AMOUNTS if (n := self.knowledge.number(self.stream, m, type))]
        return min(found, key=lambda pair: rank(pair[1].origin), default=None)

    @cached_property
    def _rest(self) -> float:
        """The share of a type that nothing is said about: an equal part of what the others leave."""
        others = self.knowledge.types(self.stream, _AMOUNTS)
        taken = sum(self._share(other) for other in others)
        said = self.said("DISTINCT", self.stream.type_column or "")
        types = said.value if said else max(defaults.TYPES, self.named)
        return max(0.0, 1.0 - taken) / max(1.0, types - len(others))

    def _share(self, type: str) -> float:
        said = self._said_amount(type)
        assert said is not None
        measure, number = said
        whole = {"SHARE": 1.0, "EVENTS": self.stream_events.value, "RATE": self.stream_rate.value}[measure]
        return number.value / whole if whole > 0 else 0.0

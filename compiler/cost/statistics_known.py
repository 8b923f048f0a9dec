"""What is known about streams: single numbers, each with its origin, and looking them up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from neelc.cost.facts import ORIGINS
from neelc.cost.statistics_conditions import text_of
from neelc.ir.logical import Stream
from neelc.ir.names import same
from neelc.ir.statistics import Statistic
from neelc.ir.units import LENGTHS
from neelc.parse import expression


class Number(NamedTuple):
    """A number and where it comes from."""

    value: float
    origin: str


@dataclass(frozen=True)
class Known:
    """`measure` of a stream, or of the events of a type in it, is `value`.

    `measure` is one of `MEASURES`, with LEAST and GREATEST for RANGE. A RATE is per second, a SPAN in
    seconds. `stream` is bare, `type` in source form. `subject` is a bare column or the text of a condition.
    """

    stream: str
    measure: str
    value: float
    origin: str
    type: str | None = None
    subject: str = ""


def known(stream: str, said: Iterable[Statistic], origin: str) -> tuple[Known, ...]:
    """What the statistics say about a stream.

    >>> from decimal import Decimal
    >>> [one] = known("S", [Statistic("RATE", (Decimal(90),), unit="MINUTE")], "declared")
    >>> one.measure, one.value
    ('RATE', 1.5)
    """
    return tuple(found for statistic in said for found in _known(stream, statistic, origin))


def _known(stream: str, statistic: Statistic, origin: str) -> Iterator[Known]:
    values = [float(number) for number in statistic.numbers]
    seconds = LENGTHS[statistic.unit or "SECOND"] / LENGTHS["SECOND"]
    subject = statistic.column or ""
    if statistic.condition is not None:
        subject = text_of(expression(str(statistic.condition)))
    measures: tuple[str, ...] = (statistic.measure,)
    match statistic.measure:
        case "RATE":
            values = [value / seconds for value in values]
        case "SPAN":
            values = [value * seconds for value in values]
        case "RANGE":
            measures = ("LEAST", "GREATEST")
    for measure, value in zip(measures, values, strict=True):
        yield Known(stream, measure, value, origin, statistic.type, subject)


def rank(origin: str) -> int:
    """How far an origin can be trusted; the least is the best."""
    return ORIGINS.index(origin)


def weakest(*numbers: Number | str) -> str:
    """The origin of what is made of several numbers: that of the least certain one.

    >>> weakest(Number(1, "declared"), Number(2, "assumed"), "file")
    'assumed'
    """
    return max((one if isinstance(one, str) else one.origin for one in numbers), key=rank)


def best(numbers: Iterable[Number | None]) -> Number | None:
    """The most certain of some numbers, the first of those that are equally certain."""
    found = [number for number in numbers if number is not None]
    return min(found, key=lambda number: rank(number.origin), default=None)


@dataclass(frozen=True)
class Knowledge:
    """All that is known from outside the script. What WITH STATS says is in the streams themselves."""

    known: tuple[Known, ...] = ()

    def number(
        self, stream: Stream, measure: str, type: str | None = None, subject: str = ""
    ) -> Number | None:
        """What the best source says, about exactly this type; `type=None` is the stream as a whole."""
        several = self._index(stream).get((measure, subject), ())
        return best(Number(one.value, one.origin) for one in several if _is_about(one, type))

    def about(self, stream: Stream, measure: str) -> list[Known]:
        """All numbers of a measure, whatever type or subject they are about."""
        return [one for (m, _), several in self._index(stream).items() if m == measure for one in several]

    def types(self, stream: Stream, measures: Sequence[str]) -> list[str]:
        """The types that one of the measures is known for, each once, in source form."""
        found: list[str] = []
        for one in (one for measure in measures for one in self.about(stream, measure)):
            if one.type is not None and not any(same(one.type, other) for other in found):
                found.append(one.type)
        return found

    @cached_property
    def _indexes(self) -> dict[int, tuple[Stream, _Index]]:
        return {}

    def _index(self, stream: Stream) -> _Index:
        """What is known about a stream, by measure and subject."""
        # By identity: to hash a stream with all it declares costs more than the answer.
        if id(stream) not in self._indexes:
            index: _Index = {}
            outside = (one for one in self.known if one.stream == stream.name)
            for one in (*known(stream.name, stream.statistics, "declared"), *outside):
                index.setdefault((one.measure, one.subject), []).append(one)
            self._indexes[id(stream)] = stream, index
        return self._indexes[id(stream)][1]


_Index = dict[tuple[str, str], list[Known]]


def _is_about(one: Known, type: str | None) -> bool:
    return one.type is None if type is None else one.type is not None and same(one.type, type)

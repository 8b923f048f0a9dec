"""The members of a type together.

Amounts are added, shares are averaged by the number of events, and of distinct values the most are taken:
what two streams call alike mostly takes its values from one domain. What is put together is as certain as its
weakest part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from neelc.cost.statistics_amounts import ASSUMED
from neelc.cost.statistics_columns import MemberNumbers
from neelc.cost.statistics_known import Knowledge, Number, weakest
from neelc.ir.logical import Column, Match
from neelc.ir.names import bare, same


@dataclass(frozen=True)
class Members:
    """The members of a type; every event is in one of them only."""

    parts: tuple[MemberNumbers, ...]

    @property
    def streams(self) -> list[str]:
        return list(dict.fromkeys(part.stream.name for part in self.parts))

    def events(self) -> Number:
        return added(part.events for part in self.parts)

    def rate(self) -> Number:
        return added(part.rate for part in self.parts)

    def distinct(self, attribute: str) -> Number:
        found = self._with_column(attribute)
        if not found:
            return Number(1.0, ASSUMED)
        numbers = [part.distinct(column, self._among(part)) for part, column in found]
        if all(part.is_constant(column) for part, column in found):
            return added(numbers)  # each type has a value of its own in the type column
        return Number(max(number.value for number in numbers), weakest(*numbers))

    def nulls(self, attribute: str) -> Number:
        # A stream without the column has NULL there: docs/decisions/0021.
        return self._mean(attribute, MemberNumbers.nulls, missing=1.0)

    def most_frequent(self, attribute: str) -> Number:
        found = self._with_column(attribute)
        if len(found) > 1 and all(part.is_constant(column) for part, column in found):
            events = [part.events for part, _ in found]
            total = added(events)
            share = max(number.value for number in events) / total.value if total.value > 0 else 1.0
            return Number(share, total.origin)
        return self._mean(attribute, MemberNumbers.most_frequent, missing=0.0)

    def bounds(self, attribute: str) -> tuple[Number, Number] | None:
        found = self._with_column(attribute)
        least = [part.about("LEAST", column.name) for part, column in found]
        greatest = [part.about("GREATEST", column.name) for part, column in found]
        low, high = [n for n in least if n], [n for n in greatest if n]
        if not found or len(low) < len(found) or len(high) < len(found):
            return None
        return (
            Number(min(number.value for number in low), weakest(*low)),
            Number(max(number.value for number in high), weakest(*high)),
        )

    def selectivity(self, text: str) -> Number | None:
        """The share of events that meet a condition on one event, if it is said for all members."""
        said = [(part, part.about("SELECTIVITY", text)) for part in self.parts]
        known = [(part, share) for part, share in said if share is not None]
        return mean(known) if known and len(known) == len(said) else None

    def _with_column(self, attribute: str) -> list[tuple[MemberNumbers, Column]]:
        return [(part, column) for part in self.parts if (column := part.column(attribute))]

    def _among(self, part: MemberNumbers) -> Number:
        """The events of all members in the stream of one of them."""
        return added(other.events for other in self.parts if other.stream.name == part.stream.name)

    def _mean(
        self, attribute: str, share: Callable[[MemberNumbers, Column], Number], missing: float
    ) -> Number:
        columns = ((part, part.column(attribute)) for part in self.parts)
        return mean([(part, share(part, c) if c else Number(missing, "declared")) for part, c in columns])


def members_of(query: Match, types: Iterable[str], knowledge: Knowledge) -> Members:
    """The members of some types of a query; a stream as a whole holds all of its types."""
    wanted = set(types)
    members = [member for known in query.types if known.name in wanted for member in known.members]
    whole = {member.stream for member in members if member.value is None}
    found: list[tuple[str, str | None]] = []
    alike: dict[tuple[str, str | None], list[str | None]] = {}
    for member in members:
        value = None if member.stream in whole else member.value
        others = alike.setdefault((member.stream, value and bare(value).casefold()), [])
        if not any(_is_same(value, other) for other in others):
            others.append(value)
            found.append((member.stream, value))
    streams = {stream.name: stream for stream in query.streams}
    named = {name: _types_named(query, name) for name in dict.fromkeys(name for name, _ in found)}
    return Members(tuple(MemberNumbers(streams[s], v, knowledge, named[s]) for s, v in found))


def _is_same(left: str | None, right: str | None) -> bool:
    return left is right or (left is not None and right is not None and same(left, right))


def _types_named(query: Match, stream: str) -> int:
    members = (member for known in query.types for member in known.members)
    return len({member.value for member in members if member.stream == stream and member.value is not None})


def added(numbers: Iterable[Number]) -> Number:
    several = list(numbers)
    return Number(sum(number.value for number in several), weakest(*several))


def mean(shares: list[tuple[MemberNumbers, Number]]) -> Number:
    """The mean of shares, weighted by the events of the members they are shares of."""
    if len(shares) == 1:
        return shares[0][1]
    weights = [part.events for part, _ in shares]
    origin = weakest(*weights, *(share for _, share in shares))
    total = sum(weight.value for weight in weights)
    if total == 0:
        return Number(sum(share.value for _, share in shares) / len(shares), origin)
    weighted = (w.value * share.value for w, (_, share) in zip(weights, shares, strict=True))
    return Number(sum(weighted) / total, origin)

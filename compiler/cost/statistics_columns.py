"""What a column holds: in the events of a stream, or of one type in it."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.bind.catalog import is_integer
from neelc.cost import defaults
from neelc.cost.statistics_amounts import ASSUMED, Amounts
from neelc.cost.statistics_known import Number, weakest
from neelc.ir.logical import Column
from neelc.ir.names import find


@dataclass(frozen=True)
class MemberNumbers(Amounts):
    """All numbers of one member of a type."""

    def column(self, attribute: str) -> Column | None:
        """The column of that name; None where the stream has none, and the attribute is always NULL."""
        found = find(attribute, [column.name for column in self.stream.columns])
        return next((column for column in self.stream.columns if column.name == found), None)

    def is_constant(self, column: Column) -> bool:
        """Whether it is the type column, which holds the same value in all events of the type."""
        return self.value is not None and column.name == self.stream.type_column

    def of_type(self, measure: str, subject: str) -> Number | None:
        """What is said about the events of the type only."""
        if self.value is None:
            return None
        return self.knowledge.number(self.stream, measure, self.value, subject)

    def about(self, measure: str, subject: str) -> Number | None:
        """What is said about the events of the type, or else about all events of the stream."""
        return self.of_type(measure, subject) or self.said(measure, subject)

    def distinct(self, column: Column, among: Number) -> Number:
        """Distinct values: at least 1, and not more than there are events.

        `among` is the number of events of all members in this stream: what is said about the whole stream,
        or assumed, holds for all of them together.
        """
        if self.is_constant(column):
            return Number(1.0, "declared")
        found, events = self.of_type("DISTINCT", column.name), self.events
        if found is None:
            events = among
            found = self.said("DISTINCT", column.name)
        found = found or Number(self._assumed_distinct(column, events.value), ASSUMED)
        if found.value > events.value:
            found = Number(events.value, weakest(found, events))
        return Number(max(1.0, found.value), found.origin)

    def _assumed_distinct(self, column: Column, events: float) -> float:
        if column.name in (self.stream.start, self.stream.end, self.stream.latest):
            return events
        if column.name == self.stream.type_column:
            return float(max(defaults.TYPES, self.named))
        assumed = defaults.distinct(column.type, events)
        least, greatest = self.about("LEAST", column.name), self.about("GREATEST", column.name)
        if least and greatest and is_integer(column.type):
            return min(assumed, greatest.value - least.value + 1)
        return assumed

    def nulls(self, column: Column) -> Number:
        """The share of events without a value."""
        if self.is_constant(column) or column.name == self.stream.start:
            # A row without a time is no event, and one without a type is of no type.
            return Number(0.0, "declared")
        return self.about("NULLS", column.name) or Number(defaults.NULLS, ASSUMED)

    def most_frequent(self, column: Column) -> Number:
        """The share of the commonest value; if nothing is said, all values are equally common."""
        if self.is_constant(column):
            return Number(1.0, "declared")
        values = self.distinct(column, self.events)
        even = Number((1.0 - self.nulls(column).value) / values.value, ASSUMED)
        return self.about("MOST FREQUENT", column.name) or even

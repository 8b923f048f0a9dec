"""`h OVERLAPS p` between two events of a pattern becomes comparisons of their end points."""

from __future__ import annotations

from dataclasses import replace

from neelc.catalog.catalog import KnownType
from neelc.ir import expressions as e
from neelc.ir.end_points import COMPARISONS, EndComparison, EndPoint
from neelc.ir.names import written
from neelc.ir.program import Clock, Stream
from neelc.ir.types import BIGINT, LENGTHS
from neelc.pattern.bind.references import LIST, ONE, PartialReference, References
from neelc.runtime.late_dataclass import dataclass


@dataclass(frozen=True)
class RelatedEvent:
    """One of two events, and how its streams hold its time."""

    event: e.EventRef
    known: KnownType
    clock: Clock

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(entry.stream for entry in self.known.entries if entry.stream is not None)

    @property
    def lasts(self) -> bool:
        """Whether it may end after it starts."""
        return any(stream.end is not None and not stream.only_points for stream in self.streams)

    @property
    def may_be_endless(self) -> bool:
        """Whether its end may be NULL, which is after all times: of what a SELECT makes."""
        return self.lasts and any(stream.half_open for stream in self.streams)

    def time(self, end: bool) -> e.Expr:
        """Its start or its end: the column, where it is the same in all its streams."""
        is_end = end and self.lasts
        columns = {(stream.end or stream.start) if is_end else stream.start for stream in self.streams}
        if len(columns) == 1 and not any(stream.query for stream in self.streams):
            column = self.known.attribute(written(columns.pop()))
            if column is not None:
                return e.Attribute(self.event, written(column.name), column.type)
        return e.EventTime(self.event, "te" if is_end else "ts", self.clock.type)


def bind_relation(node: e.AllenRelation, references: References) -> e.Expr:
    """The relation as comparisons; NULL in place of one that was reported."""
    left, right = (_related(side, node, references) for side in (node.left, node.right))
    if left is None or right is None:
        return references.nothing(node)
    if (left.clock.unit is None) != (right.clock.unit is None):
        message = f"the times of `{left.event}` and `{right.event}` cannot be compared: "
        message += f"{left.clock} and {right.clock}"
        hint = "convert one of them in an earlier query"
        references.findings.report("NEEL3070", message, node.span, hint)
        return references.nothing(node)
    found = (_compared(one, {"A": left, "B": right}) for one in COMPARISONS[node.relation])
    operands = tuple(dict.fromkeys(replace(one, span=node.span) for one in found))
    return e.RelatedEvents(operands, left.event, node.relation, right.event, span=node.span)


def _related(side: e.Expr, node: e.AllenRelation, references: References) -> RelatedEvent | None:
    """The event that one side of a relation names; None after a report."""
    found = references.reach(side)
    if found is None:
        return None
    report, span = references.findings.report, references.findings.at(side, node)
    if not isinstance(found, PartialReference):
        hint = f"name the variables of two events: h {node.relation} p"
        report("NEEL3070", f"{node.relation} relates two events, and `{side}` is a value", span, hint)
        return None
    if found.reached == LIST:
        references.whole(found, side)
        return None
    if found.reached != ONE or e.is_many(found.event):
        what = "one iteration" if found.reached != ONE else "many events"
        hint = "name one of its events: k[i].a" if found.reached != ONE else "b[i] stands for each of them"
        report("NEEL3070", f"{node.relation} relates two events, and `{side}` is {what}", span, hint)
        return None
    known = references.place.types.get(found.variable.type or "")
    if known is None:
        return None
    if known.clock is None:
        references.report_clocks(found, known, span)
        return None
    if any(entry.stream is not None and entry.stream.latest is not None for entry in known.entries):
        message = f"the times of `{side}` are imprecise: which relation it has to another event is not known"
        report("NEEL3070", message, span, "SEQ, AND and WITHIN are defined for imprecise times")
        return None
    return RelatedEvent(found.event, known, known.clock)


def _compared(comparison: EndComparison, events: dict[str, RelatedEvent]) -> e.Expr:
    """A comparison of two end points, in the finer of their units. An end that is NULL is after all times."""
    left, right = (events[point.symbol] for point in (comparison.left, comparison.right))
    first, second = (
        _in_unit(one.time(point.end), one.clock, other.clock)
        for one, other, point in ((left, right, comparison.left), (right, left, comparison.right))
    )
    first_open, second_open = (
        _is_open(one, point) for one, point in ((left, comparison.left), (right, comparison.right))
    )
    if comparison.op == "=":
        return e.Binary("<=>" if first_open or second_open else "=", first, second)
    test: e.Expr = e.Binary("<", first, second)
    if second_open:
        test = e.Disjunction((e.IsNull(second), test))
    return e.Conjunction((e.IsNull(first, negated=True), test)) if first_open else test


def _is_open(event: RelatedEvent, point: EndPoint) -> bool:
    return point.end and event.may_be_endless


def _in_unit(time: e.Expr, clock: Clock, other: Clock) -> e.Expr:
    """A time in the finer unit of two clocks."""
    if clock.unit is None or other.unit is None or LENGTHS[clock.unit] <= LENGTHS[other.unit]:
        return time
    factor = LENGTHS[clock.unit] // LENGTHS[other.unit]
    return e.Binary("*", e.Cast(time, BIGINT, implicit=True), e.Literal(factor, BIGINT))

"""GROUP BY, aggregates and HAVING: the aggregator below the list of a SELECT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from neelc.bind.algebra_outputs import Listed, plain_name
from neelc.bind.findings import Findings
from neelc.bind.functions import is_aggregate
from neelc.bind.output_names import output_name
from neelc.ir import expr as e
from neelc.ir.algebra import AGGREGATES, Operator, instant
from neelc.ir.algebra_events import has_only_points, is_time
from neelc.ir.logical import Clock, OutputColumn
from neelc.ir.names import written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.script import Select
from neelc.ir.typeof import type_of
from neelc.ir.units import LENGTHS

VARIABLE = "groups"
"""What the payload of an aggregator is known by, above it and in no text."""

NAMES = {"mean": "avg"}
"""Other names of aggregates."""


@dataclass(frozen=True)
class Groups:
    """What an aggregator computes, and the columns of the result in its terms."""

    groups: tuple[OutputColumn, ...]
    aggregates: tuple[OutputColumn, ...]
    outputs: tuple[Listed, ...]
    having: e.Expr | None


def group_columns(keys: Sequence[tuple[e.Expr, e.Expr]]) -> tuple[OutputColumn, ...]:
    """GROUP BY: the expressions, as written and as bound, with names that differ."""
    found: dict[e.Expr, OutputColumn] = {}
    for said, bound in keys:
        name = plain_name(said)
        while any(other.name == name for other in found.values()):
            name += "_"
        found.setdefault(bound, OutputColumn(name, bound, type_of(bound), span=said.span))
    return tuple(found.values())


def grouped(
    columns: Sequence[Listed], groups: tuple[OutputColumn, ...], having: e.Expr | None, findings: Findings
) -> Groups:
    """The list and HAVING over groups. "All attributes used for grouping are automatically added to the
    output schema" (JEPC thesis, 7.6): those that no column shows."""
    aggregates: dict[e.Expr, OutputColumn] = {}
    made = _Above(groups, aggregates, findings)
    outputs = [replace(one, output=made.column(one)) for one in columns]
    shown = {one.output.expression for one in columns}
    added = [made.of_group(group) for group in groups if group.expression not in shown]
    above = None if having is None else made.value(having, having)
    return Groups(groups, tuple(aggregates.values()), (*outputs, *added), above)


@dataclass
class _Above:
    """Expressions in terms of what the aggregator computes; aggregates are added where they are named."""

    groups: tuple[OutputColumn, ...]
    aggregates: dict[e.Expr, OutputColumn]
    findings: Findings

    def column(self, listed: Listed) -> OutputColumn:
        output = listed.output
        is_grouped = any(group.expression == output.expression for group in self.groups)
        if listed.source is not None and not is_grouped:
            message = "`*` stands for columns that are neither grouped nor aggregated"
            hint = "list those of GROUP BY, and aggregates"
            self.findings.report("NEEL3207", message, self.findings.at(output), hint)
            return output
        return replace(output, expression=self.value(output.expression, output))

    def of_group(self, group: OutputColumn) -> Listed:
        return Listed(replace(group, expression=_attribute(group)))

    def value(self, node: e.Expr, place: Node) -> e.Expr:
        group = next((one for one in self.groups if one.expression == node), None)
        if group is not None:
            return _attribute(group)
        if isinstance(node, e.Aggregate):
            return _attribute(self._aggregate(node))
        if isinstance(node, e.Attribute):
            if isinstance(place, OutputColumn) and place.expression is node and place.span is not None:
                node = replace(node, span=place.span)
            message = f"`{node.name}` is neither grouped nor aggregated"
            hint = f"add it to GROUP BY, or choose one value: max({node.name})"
            self.findings.report("NEEL3207", message, self.findings.at(node, place), hint)
            return node

        def below(child: Node) -> Node:
            return self.value(child, place) if isinstance(child, e.Expr) else map_children(child, below)

        return map_children(node, below)

    def _aggregate(self, node: e.Aggregate) -> OutputColumn:
        node = replace(node, name=NAMES.get(node.name, node.name))
        is_known = node.function is not None or node.name in AGGREGATES
        if not is_known or (node.distinct and (node.name != "count" or node.argument is None)):
            said = f"{node.name}(DISTINCT ...)" if node.distinct else node.name
            message = f"`{said}` is no aggregate of snapshots"
            hint = f"there are {', '.join(AGGREGATES)}, count(DISTINCT ...), and registered ones"
            self.findings.report("NEEL3305", message, self.findings.at(node), hint)
        if node not in self.aggregates:
            self.aggregates[node] = OutputColumn(self._free(node), node, node.type, span=node.span)
        return self.aggregates[node]

    def _free(self, node: e.Aggregate) -> str:
        name = output_name(node)
        taken = {one.name for one in (*self.groups, *self.aggregates.values())}
        while name in taken:
            name += "_"
        return name


def aggregates_in(expression: e.Expr) -> Iterator[e.Aggregate]:
    """The aggregates in a bound expression."""
    return (node for node in walk(expression) if isinstance(node, e.Aggregate))


def refuse_instants(
    query: Select, below: Operator, groups: tuple[OutputColumn, ...], clock: Clock, findings: Findings
) -> None:
    """Refuse aggregates of events that are valid for one instant each: most likely not one result for each
    instant is meant, but one of all events. Who groups by the time says that it is."""
    is_known = findings.knows(findings.at(query))
    if is_known or not has_only_points(below) or any(is_time(one.expression, below) for one in groups):
        return
    shortest = next(unit for unit, length in LENGTHS.items() if length == instant(clock))
    window = "10 MINUTES" if LENGTHS["MINUTE"] % instant(clock) == 0 else f"10 {shortest}S"
    written = (node for item in query.items for node in walk(item) if isinstance(node, e.Call))
    place = next((call for call in written if is_aggregate(call)), query)
    message = "SELECT aggregates per instant, and no event here lasts longer than an instant"
    hint = (
        f"add a window after the stream, such as WINDOW(TIME {window}), or use spark.sql for an ordinary "
        f"aggregate; WINDOW(TIME 1 {shortest}) aggregates per instant"
    )
    findings.report("NEEL3081", message, findings.at(place, query), hint)


def _attribute(column: OutputColumn) -> e.Attribute:
    return e.Attribute(e.Variable(VARIABLE), written(column.name), column.type, span=column.span)

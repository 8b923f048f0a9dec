"""SELECT: from the query as it is written to a network of operators with all names resolved."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.bind.algebra_groups import VARIABLE, aggregates_in, group_columns, grouped, refuse_instants
from neelc.bind.algebra_outputs import Listed, listed, with_aliases, with_own_names
from neelc.bind.algebra_sources import Item, bind_sources, check_relations, joined_clock
from neelc.bind.catalog import Catalog
from neelc.bind.findings import Findings
from neelc.bind.query import bind_query
from neelc.bind.relations import Names, Relation
from neelc.bind.typing import typed, typed_condition
from neelc.ir import algebra as a
from neelc.ir import expr as e
from neelc.ir.logical import Column, OutputColumn
from neelc.ir.names import written
from neelc.ir.script import PatternQuery, Query, Select


def bind_select(query: Select, catalog: Catalog, findings: Findings) -> a.Algebra | None:
    """The query as a network; None if something in it has been reported."""
    before = len(findings.diagnostics)
    bound = _selected(query, "result", catalog, findings)
    if bound.operator is None or bound.clock is None or len(findings.diagnostics) > before:
        return None
    return a.Algebra(bound.operator, bound.clock, span=query.span)


def query_columns(query: Query, catalog: Catalog, findings: Findings) -> tuple[Column, ...] | None:
    """The columns of any query, without those of the valid time; None when they cannot be known."""
    match query:
        case Select():
            return _selected(query, "result", catalog, findings).relation.columns
        case PatternQuery():
            bound = bind_query(query, catalog, findings)
            return None if bound is None else bound.columns
    return None


def _selected(query: Select, name: str, catalog: Catalog, findings: Findings) -> Item:
    """The query as a source of this name."""

    def subquery(inner: Query, alias: str) -> Item:
        assert isinstance(inner, Select)
        return _selected(inner, alias, catalog, findings)

    items = bind_sources(query.sources, catalog, findings, subquery)
    check_relations(query.sources, items, findings)
    relations = tuple(item.relation for item in items)
    names = Names(relations, findings)
    where = None if query.where is None else _condition(query.where, names, "WHERE", findings)
    columns = listed(query.items, relations, findings)
    _refuse_order(query, findings)
    below = _correlated(items, where)
    made = _aggregated(query, below, columns, names, findings)
    outputs = with_own_names(made.columns, query, findings)
    is_open = any(relation.columns is None for relation in relations)
    star = any(isinstance(item.expression, e.Star) for item in query.items)
    known = None if is_open and star else tuple(Column(one.name, one.type) for one in outputs)
    relation, clock = Relation(name, known), joined_clock(items)
    if made.operator is None or clock is None or below is None:
        return Item(relation, None, clock)
    if made.is_aggregated:
        refuse_instants(query, below, made.groups, clock, findings)
    variable = written(name)
    projected = a.Projection(made.operator, variable, outputs, span=query.span)
    told = _distinct(projected, variable) if query.distinct else projected
    # Of an aggregate, changes are events. This SELECT says which payload changes, so that whatever reads it,
    # by name or as a subquery, reads the same events.
    is_told = query.distinct or made.is_aggregated
    return Item(relation, a.Coalesced(told, span=query.span) if is_told else told, clock)


def _condition(expression: e.Expr, names: Names, place: str, findings: Findings) -> e.Expr:
    bound = typed_condition(names.resolved(expression), place, findings.report)
    if place == "WHERE":
        _refuse_aggregates(bound, place, findings)
    return bound


def _refuse_aggregates(bound: e.Expr, place: str, findings: Findings) -> None:
    for aggregate in aggregates_in(bound):
        message = f"{place} judges single events: it has no aggregates"
        findings.report("NEEL2109", message, findings.at(aggregate), "HAVING judges groups")


def _refuse_order(query: Select, findings: Findings) -> None:
    """A stream goes on, and its order is that of time."""
    if query.order_by:
        place = findings.at(query.order_by[0])
        message, hint = (
            "the events of a stream have no order but time",
            "leave ORDER BY out; sort the result, in Python with .orderBy(...)",
        )
        findings.report("NEEL3303", message, place, hint)
    if query.limit is not None:
        place = findings.word("LIMIT", query, nth=-1)
        message = "at every instant all payloads count"
        hint = "leave LIMIT out; take some of the result, in Python with .limit(10)"
        findings.report("NEEL3303", message, place, hint)


def _correlated(items: tuple[Item, ...], where: e.Expr | None) -> a.Operator | None:
    operators = tuple(item.operator for item in items if item.operator is not None)
    if len(operators) < len(items):
        return None
    if len(operators) > 1:
        return a.Correlator(operators, where)
    return operators[0] if where is None else a.Filter(operators[0], where, span=where.span)


@dataclass(frozen=True)
class _Made:
    """The columns of the list, over the operator below it."""

    operator: a.Operator | None
    columns: tuple[Listed, ...]
    is_aggregated: bool = False
    groups: tuple[OutputColumn, ...] = ()


def _aggregated(
    query: Select, below: a.Operator | None, columns: list[Listed], names: Names, findings: Findings
) -> _Made:
    """The list over groups, if there are any."""
    said = [with_aliases(_by_place(key, query), query.items, names.plain) for key in query.group_by]
    keys = [(key, typed(names.resolved(key), findings.report)[0]) for key in said]
    having = None
    if query.having is not None:
        judged = with_aliases(query.having, query.items, names.plain)
        having = _condition(judged, names, "HAVING", findings)
    has_aggregate = any(any(aggregates_in(one.output.expression)) for one in columns)
    if not keys and having is None and not has_aggregate:
        return _Made(below, tuple(columns))
    for _, key in keys:
        _refuse_aggregates(key, "GROUP BY", findings)
    made = grouped(columns, group_columns(keys), having, findings)
    if below is None:
        return _Made(None, made.outputs, True)
    operator: a.Operator = a.Aggregator(below, VARIABLE, made.groups, made.aggregates, span=query.span)
    if made.having is not None:
        operator = a.Filter(operator, made.having, span=made.having.span)
    return _Made(operator, made.outputs, True, made.groups)


def _by_place(key: e.Expr, query: Select) -> e.Expr:
    """`GROUP BY 2` is by the second column of the list, as in Spark."""
    if isinstance(key, e.Literal) and type(key.value) is int and 1 <= key.value <= len(query.items):
        return query.items[key.value - 1].expression
    return key


def _distinct(input: a.Projection, variable: str) -> a.Operator:
    """At every instant each payload once: groups of equal payloads."""
    groups = tuple(
        OutputColumn(one.name, of, one.type) for one, of in zip(input.outputs, input.payload, strict=True)
    )
    return a.Aggregator(input, variable, groups, span=input.span)

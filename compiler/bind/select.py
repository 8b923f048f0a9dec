"""SELECT queries: names and types are checked, though nothing runs them yet."""

from __future__ import annotations

from neelc.bind.catalog import Catalog
from neelc.bind.findings import Findings
from neelc.bind.functions import is_aggregate
from neelc.bind.output_names import output_name
from neelc.bind.query import bind_query
from neelc.bind.relations import Names, Relation
from neelc.bind.row_patterns import matched_columns
from neelc.bind.suggest import did_you_mean
from neelc.bind.typing import typed, typed_condition
from neelc.ir import expr as e
from neelc.ir.logical import Column
from neelc.ir.names import bare, find, same, written
from neelc.ir.node import walk
from neelc.ir.rows import Output
from neelc.ir.script import FromItem, FromMatchmaker, FromQuery, FromStream, PatternQuery, Query, Select


def select_columns(query: Select, catalog: Catalog, findings: Findings) -> tuple[Column, ...] | None:
    """The columns of the result; None when a source, which has been reported, leaves them open."""
    relations = _relations(query, catalog, findings)
    names = Names(relations, findings)
    if query.where is not None:
        typed_condition(names.resolved(query.where), "WHERE", findings.report)
    grouped = [names.resolved(x) for x in query.group_by]
    for key in grouped:
        typed(key, findings.report)
    if query.having is not None:
        typed_condition(names.resolved(query.having), "HAVING", findings.report)
    columns = [column for item in query.items for column in _item(item, query, relations, grouped, findings)]
    outputs = (*relations, Relation("SELECT", tuple(columns))) if query.order_by else ()
    for item in query.order_by:
        # ORDER BY sees the result's columns first, so it cannot be ambiguous with the source's.
        by_result = find(str(item.expression), [written(c.name) for c in columns])
        if by_result is None:
            typed(Names(outputs, findings).resolved(item.expression), findings.report)
    if any(relation.columns is None for relation in relations) and _has_star(query):
        return None
    # "All attributes used for grouping are automatically added to the output schema" (JEPC thesis, 7.6).
    added = [_column_of(key) for key in grouped]
    return (*columns, *(c for c in added if c is not None and c.name not in {x.name for x in columns}))


def _relations(query: Select, catalog: Catalog, findings: Findings) -> tuple[Relation, ...]:
    found: list[Relation] = []
    for item in query.sources:
        relation = _relation(item, catalog, findings)
        twice = next((r for r in found if same(written(r.name), written(relation.name))), None)
        if twice is not None and relation.name:
            message = f"two sources are called `{relation.name}`"
            place = findings.word(written(relation.name), item)
            findings.report("NEEL2009", message, place, "give one of them another name with AS")
        found.append(relation)
    return tuple(found)


def _relation(item: FromItem, catalog: Catalog, findings: Findings) -> Relation:
    """The columns of one element of FROM, after its row pattern if it has one."""
    columns = _source_columns(item, catalog, findings)
    own = item.name if isinstance(item, FromStream) else ""
    source = Relation(bare(item.alias or own), columns)
    for name in item.window.partition_by if item.window is not None else ():
        Names((source,), findings).resolved(e.Name((name,), span=findings.word(name, item.window, nth=-1)))
    if item.matcher is None:
        return source
    matched = matched_columns(item.matcher, source, findings)
    return Relation(bare(item.matcher_alias) if item.matcher_alias else source.name, matched)


def _source_columns(item: FromItem, catalog: Catalog, findings: Findings) -> tuple[Column, ...] | None:
    match item:
        case FromStream(name=name):
            entry = catalog.entry(name)
            if entry is None:
                hint = did_you_mean(name, catalog.entries, "streams") or "declare it with CREATE STREAM"
                place = findings.word(name, item)
                findings.report("NEEL2004", f"unknown stream `{name}`", place, hint)
                return None
            return entry.columns if entry.stream is None else entry.stream.columns
        case FromQuery(query=Query() as inner):
            return query_columns(inner, catalog, findings)
        case FromMatchmaker(attributes=attributes):
            return tuple(Column(bare(a.name), a.type) for a in attributes)
    return None


def query_columns(query: Query, catalog: Catalog, findings: Findings) -> tuple[Column, ...] | None:
    """The columns of any query."""
    match query:
        case Select():
            return select_columns(query, catalog, findings)
        case PatternQuery():
            bound = bind_query(query, catalog, findings)
            return None if bound is None else tuple(Column(o.name, o.type) for o in bound.outputs)
    return None


def _item(
    item: Output, query: Select, relations: tuple[Relation, ...], grouped: list[e.Expr], findings: Findings
) -> list[Column]:
    if isinstance(item.expression, e.Star):
        return _star(item.expression, relations, findings)
    before = len(findings.diagnostics)
    value = Names(relations, findings).resolved(item.expression)
    _, kind = typed(value, findings.report)
    if len(findings.diagnostics) == before and _is_aggregating(query) and not _fits_groups(value, grouped):
        message = f"`{item.expression}` is neither grouped nor aggregated"
        hint = f"add it to GROUP BY, or choose one value: max({item.expression})"
        findings.report("NEEL3207", message, findings.at(item.expression, item), hint)
    name = item.alias or written(_plain_name(item.expression))
    return [Column(bare(name), kind)]


def _plain_name(expression: e.Expr) -> str:
    return bare(expression.parts[-1]) if isinstance(expression, e.Name) else output_name(expression)


def _star(star: e.Star, relations: tuple[Relation, ...], findings: Findings) -> list[Column]:
    if star.qualifier is None:
        return [column for relation in relations for column in relation.columns or ()]
    chosen = [r for r in relations if same(star.qualifier, written(r.name))]
    if not chosen:
        hint = did_you_mean(star.qualifier, [r.name for r in relations], "sources")
        findings.report("NEEL2003", f"unknown name `{star.qualifier}`", findings.at(star), hint)
    return [column for relation in chosen for column in relation.columns or ()]


def _is_aggregating(query: Select) -> bool:
    return bool(query.group_by) or any(_holds_aggregate(item.expression) for item in query.items)


def _holds_aggregate(expression: e.Expr) -> bool:
    return any(isinstance(node, e.Call) and is_aggregate(node) for node in walk(expression))


def _fits_groups(value: e.Expr, grouped: list[e.Expr]) -> bool:
    """Whether every column in `value` is a grouping expression or stands inside an aggregate."""
    if value in grouped or is_aggregate(value):
        return True
    if isinstance(value, e.Attribute):
        return False
    inner = [node for node in walk(value) if node is not value and isinstance(node, e.Expr)]
    direct = [node for node in inner if not any(node in walk(other) for other in inner if other is not node)]
    return all(_fits_groups(node, grouped) for node in direct)


def _column_of(key: e.Expr) -> Column | None:
    return Column(bare(key.name), key.type) if isinstance(key, e.Attribute) else None


def _has_star(query: Select) -> bool:
    return any(isinstance(item.expression, e.Star) for item in query.items)

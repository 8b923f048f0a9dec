"""Relations as one statement of Spark SQL; streams are tables or views of their names."""

from __future__ import annotations

import json
import textwrap
from dataclasses import fields, is_dataclass
from typing import Any

from sqlglot import exp

from neelc.engines.spark.relations import (
    AggregateRows,
    BesideRow,
    Extend,
    Items,
    Join,
    Let,
    LookUp,
    Ordered,
    Read,
    Relation,
    Relations,
    SelectColumns,
    Union,
    Where,
)
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.scalar.spark.trees import Sql, alias, identifier, raw, with_alias

_KINDS = {"INNER": "", "LEFT SEMI": "LEFT SEMI ", "LEFT ANTI": "LEFT ANTI ", "LEFT OUTER": "LEFT "}


def sql_text(relations: Relations) -> str:
    """The statement; raises `UnsupportedQuery` if a relation has no form in SQL.

    >>> from neelc.engines.spark.relations import Let
    >>> chosen = SelectColumns("t", (("x", "x"),), "y > 1")
    >>> print(sql_text(Relations((Let("t", Read("T")), Let("result", chosen)))))
    WITH t AS (
      SELECT
        *
      FROM `T`
    )
    SELECT
      x
    FROM t
    WHERE
      y > 1
    """
    if not relations.is_relational:
        raise UnsupportedQuery("SQL for a plan with a kernel")
    *before, last = relations.lets
    statement = _query(last.relation)
    for let in before:
        statement = statement.with_(let.name, as_=_query(let.relation), copy=False)
    return str(statement.sql("spark", pretty=True, normalize_functions=False))


def _query(relation: Relation) -> exp.Select:
    match relation:
        case Read(stream):
            return _select(["*"], alias(stream))
        case SelectColumns(source, items, where, having, distinct):
            select = _select(_aliased(items), source, where, distinct)
            return select if having is None else _select(["*"], select.subquery(), having)
        case Extend(source, items):
            return _select(["*", *_aliased(items)], source)
        case Where(source, condition):
            return _select(["*"], source, condition)
        case Union(sources):
            return _select(
                ["*"], raw("(" + " UNION ALL BY NAME ".join(f"SELECT * FROM {s}" for s in sources) + ")")
            )
        case Join((left, one), (right, other), on, kind, items):
            joined = raw(f"{left} AS {one} {_KINDS[kind]}JOIN {right} AS {other} ON {on}")
            return _select(_aliased(items) or [f"{one}.*"], joined)
        case LookUp(source, column, values, name):
            on = f"{identifier(column, 'event')} = known.key"
            joined = raw(f"{source} AS event LEFT JOIN {values} AS known ON {on}")
            return _select(["event.*", with_alias("known.value", name)], joined)
        case Ordered(source, order, limit):
            select = _select(["*"], source)
            by = [raw(f"{text} {direction}") for text, direction in order]
            select.set("order", exp.Order(expressions=by))
            return select if limit is None else select.limit(limit, copy=False)
        case BesideRow(source, row):
            return _select(["*"], raw(f"{source} CROSS JOIN {row}"))
        case AggregateRows(source, groups, items):
            select = _select(_aliased((*groups, *items)), source)
            return select.group_by(*(raw(text) for text, _ in groups), copy=False) if groups else select
        case _:
            raise UnsupportedQuery("SQL for a plan with a kernel")


def _select(
    items: list[str], source: str | Sql, where: str | None = None, distinct: bool = False
) -> exp.Select:
    table = raw(source) if isinstance(source, str) else source
    select = exp.Select(expressions=[raw(item) for item in items])
    select.set("from_", exp.From(this=table))
    if where is not None:
        select.set("where", exp.Where(this=raw(where)))
    return select.distinct(copy=False) if distinct else select


def _aliased(items: Items) -> list[str]:
    return [with_alias(text, name) for text, name in items]


# The physical plan for people and for programs: its relations one by one.

WIDTH = 100


def plan_text(relations: Relations, strategies: tuple[tuple[str, str], ...]) -> str:
    """Each relation with what it is for and what it is made of."""
    head = [f"strategy: {strategy}{f' for {name}' if name else ''}" for name, strategy in strategies]
    return "\n".join([*head, *map(_paragraph, relations.lets)])


def _paragraph(let: Let) -> str:
    lines = [f"\n{let.name}: {type(let.relation).__name__}"]
    if let.comment:
        lines += textwrap.wrap(let.comment, WIDTH, initial_indent="    -- ", subsequent_indent="    -- ")
    for name, value in _record(let.relation).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines += textwrap.wrap(
            f"{name}: {text}",
            WIDTH,
            initial_indent="    ",
            subsequent_indent="        ",
            break_long_words=False,
        )
    return "\n".join(lines)


def plan_json(relations: Relations, strategies: tuple[tuple[str, str], ...]) -> str:
    """The same as JSON."""
    record = {
        "strategies": [{"query": name or None, "strategy": strategy} for name, strategy in strategies],
        "relations": [
            {
                "name": let.name,
                "kind": type(let.relation).__name__,
                "for": let.comment,
                **_record(let.relation),
            }
            for let in relations.lets
        ],
    }
    return json.dumps(record, indent=2, ensure_ascii=False)


def _record(value: Any) -> Any:
    """A value as JSON has it; values that are not given are left out."""
    if is_dataclass(value):
        pairs = ((slot.name, _record(getattr(value, slot.name))) for slot in fields(value))
        return {name: part for name, part in pairs if part not in (None, (), [], "", False, {})}
    if isinstance(value, tuple):
        return [_named(item) for item in value]
    return value


def _named(item: object) -> Any:
    """A dataclass in a list, with its kind."""
    record = _record(item)
    return {type(item).__name__: record} if is_dataclass(item) else record

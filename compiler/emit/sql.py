"""Relations as one statement of Spark SQL; streams are tables or views of their names."""

from __future__ import annotations

from sqlglot import exp

from neelc.emit.literals import alias, with_alias
from neelc.emit.relations import (
    AgentCall,
    Aggregate,
    Called,
    Extend,
    Items,
    Join,
    Kernel,
    Read,
    Relation,
    Relations,
    Select,
    Sorted,
    SparkQuery,
    Union,
    Where,
)
from neelc.emit.syntax import Sql, raw
from neelc.plan.unsupported import Unsupported

_KINDS = {"INNER": "", "LEFT SEMI": "LEFT SEMI ", "LEFT ANTI": "LEFT ANTI ", "LEFT OUTER": "LEFT "}


def sql_text(relations: Relations) -> str:
    """The statement; raises `Unsupported` if a relation has no form in SQL.

    >>> from neelc.emit.relations import Let
    >>> print(sql_text(Relations((Let("t", Read("T")), Let("result", Select("t", (("x", "x"),), "y > 1"))))))
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
        raise Unsupported("SQL for a plan with a kernel")
    *before, last = relations.lets
    statement = _query(last.relation)
    for let in before:
        statement = statement.with_(let.name, as_=_query(let.relation), copy=False)
    return str(statement.sql("spark", pretty=True, normalize_functions=False))


def _query(relation: Relation) -> exp.Select:
    match relation:
        case Read(stream):
            return _select(["*"], alias(stream))
        case Select(source, items, where, having, distinct):
            found = _select(_aliased(items), source, where, distinct)
            return found if having is None else _select(["*"], found.subquery(), having)
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
        case Aggregate(source, groups, items):
            found = _select(_aliased((*groups, *items)), source)
            return found.group_by(*(raw(text) for text, _ in groups), copy=False) if groups else found
        case Sorted() | Kernel() | Called() | SparkQuery() | AgentCall():
            raise Unsupported("SQL for a plan with a kernel")
    raise TypeError(f"{type(relation).__name__} is not a relation")


def _select(
    items: list[str], source: str | Sql, where: str | None = None, distinct: bool = False
) -> exp.Select:
    table = raw(source) if isinstance(source, str) else source
    found = exp.Select(expressions=[raw(item) for item in items])
    found.set("from_", exp.From(this=table))
    if where is not None:
        found.set("where", exp.Where(this=raw(where)))
    return found.distinct(copy=False) if distinct else found


def _aliased(items: Items) -> list[str]:
    return [with_alias(text, name) for text, name in items]

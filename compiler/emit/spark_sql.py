"""Texts of Spark SQL, as sqlglot reads them: whether one is a query, and which tables it reads."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

QUERY = "QUERY"

Tree = Any
"""A node of sqlglot's; versions differ in the class that all of them have in common."""


@dataclass(frozen=True)
class Statement:
    """A text that was understood: `kind` is QUERY, or the word for another statement; `tables` are the names,
    part by part, that no WITH of the text defines; `does_more` if a query writes or starts a program."""

    kind: str
    tables: tuple[tuple[str, ...], ...] = ()
    does_more: str | None = None

    @property
    def is_query(self) -> bool:
        return self.kind == QUERY


def read_statement(text: str) -> Statement | None:
    """The one statement of a text; None if sqlglot does not understand it.

    >>> read_statement("WITH c AS (SELECT * FROM t) FROM c SELECT x")
    Statement(kind='QUERY', tables=(('t',),), does_more=None)
    >>> read_statement("FROM t INSERT INTO u SELECT *").kind
    'INSERT'
    >>> read_statement("SELECT 1; SELECT 2") is read_statement("SELECT FROM FROM") is None
    True
    """
    log = logging.getLogger("sqlglot")
    before, log.disabled = log.disabled, True  # what it does not understand, it tells there as well
    try:
        found = [one for one in sqlglot.parse(text, dialect="spark") if one is not None]
    except (SqlglotError, RecursionError):
        return None
    finally:
        log.disabled = before
    if len(found) != 1:
        return None
    return _statement(found[0])


def _statement(tree: Tree) -> Statement | None:
    kind = _kind(tree)
    if kind is None:
        return None
    into = tree.find(exp.Into)
    script = tree.find(exp.QueryTransform)
    more = "INTO" if into is not None else "TRANSFORM" if script is not None else None
    tables = tuple(_parts(one) for one in tree.find_all(exp.Table) if _is_read(one))
    return Statement(kind, tables, more)


def _kind(tree: Tree) -> str | None:
    """What a statement is; None for what is none, such as an expression."""
    if isinstance(tree, exp.Query | exp.Values):
        inner = tree.find(exp.DML, exp.DDL, exp.Command)
        is_plain = inner is None or isinstance(inner, exp.Query)
        return QUERY if is_plain else _word(inner)
    return None if isinstance(tree, exp.Condition | exp.Alias) else _word(tree)


def _word(tree: Tree | None) -> str:
    """
    >>> _word(sqlglot.parse_one("CREATE TABLE t AS SELECT 1")), _word(exp.MultitableInserts())
    ('CREATE', 'INSERT')
    """
    match tree:
        case exp.MultitableInserts():
            return "INSERT"
        case exp.Command():
            return str(tree.this).upper()
    return type(tree).__name__.upper()


def _parts(table: exp.Table) -> tuple[str, ...]:
    """The parts of a table's name."""
    return tuple(part.name for part in table.parts)


def _is_read(table: exp.Table) -> bool:
    """Whether it names a table: no function, and no name that a WITH around it defines. A definition sees
    those before it, and itself if they are RECURSIVE."""
    if isinstance(table.this, exp.Func):
        return False
    return len(table.parts) != 1 or not any(same_name(table.name, name) for name in _names_around(table))


def _names_around(node: Tree) -> Iterator[str]:
    below, here = node, node.parent
    while here is not None:
        if isinstance(here, exp.With):
            place = next(place for place, one in enumerate(here.expressions) if one is below)
            yield from (one.alias for one in here.expressions[: place + bool(here.args.get("recursive"))])
            below, here = here, here.parent  # the query that has this WITH has been looked at
            if here is None:
                return
        elif isinstance(here, exp.Query | exp.DML):
            yield from (one.alias for one in _definitions(here))
        below, here = here, here.parent


def _definitions(query: Tree) -> list[Tree]:
    # Versions of sqlglot differ in the name of this argument.
    found = query.args.get("with_") or query.args.get("with")
    return found.expressions if isinstance(found, exp.With) else []


def same_name(left: str, right: str) -> bool:
    """Whether two bare names are one for Spark, which does not look at their case."""
    return left.casefold() == right.casefold()

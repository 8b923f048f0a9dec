"""PATTERN in the FROM of a SELECT: a query of its own, with a name that nobody can write by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from neelc.ir.names import quote
from neelc.ir.node import Node, map_children
from neelc.ir.script import CreateQuery, FromQuery, FromStream, PatternQuery, RunQuery, Select, Statement


def with_named_patterns(statements: Iterator[Statement]) -> Iterator[Statement]:
    """The statements; before each one its PATTERNs in FROM, as queries whose names it reads.

    >>> from neelc.ir.script import Script
    >>> from neelc.ir.show import format_script
    >>> from neelc.parse import script
    >>> text = "SELECT x FROM (PATTERN SEQ(A a, B b) WITHIN 5 RETURN a.x AS x) AS p WINDOW(TIME 9);"
    >>> named = with_named_patterns(iter(script(text).statements))
    >>> print(format_script(Script(tuple(named))).rstrip())
    CREATE QUERY `pattern 1` AS
      PATTERN SEQ(A a, B b)
      WITHIN 5
      RETURN a.x AS x;
    <BLANKLINE>
    SELECT x
    FROM `pattern 1` AS p WINDOW(TIME 9);
    """
    numbers = count(1)
    for statement in statements:
        if isinstance(statement, CreateQuery | RunQuery) and isinstance(statement.query, Select):
            found: list[Statement] = []
            changed = _named(statement, numbers, found)
            yield from found
            assert isinstance(changed, CreateQuery | RunQuery)
            yield changed
        else:
            yield statement


def _named(node: Node, numbers: Iterator[int], found: list[Statement]) -> Node:
    match node:
        case FromQuery(alias, window, matcher, matcher_alias, query=PatternQuery() as pattern):
            name = quote(f"pattern {next(numbers)}")
            found.append(CreateQuery(name, pattern, span=pattern.span))
            return FromStream(alias, window, matcher, matcher_alias, name=name, span=node.span)
    changed = map_children(node, lambda child: _named(child, numbers, found))
    return changed if changed is node else replace(changed, span=node.span)

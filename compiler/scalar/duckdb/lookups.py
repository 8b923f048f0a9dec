"""Numbers that are looked up by texts: `CASE lower(kind) WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 0 END`.

A condition that the text is one of those that are looked up says no more than that the number is not 0, and
DuckDB tests the number faster.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from neelc.scalar.duckdb.spelling import parsed


def beside_lookup(number: str, condition: str) -> list[Any] | None:
    """The conjuncts of a condition, less the one that is true just where a number that is looked up is not 0;
    None if it has no such conjunct. Both are texts of Spark.

    >>> number = "CASE lower(kind) WHEN 'a' THEN 1 WHEN 'b' THEN 4 ELSE 0 END"
    >>> [one.sql() for one in beside_lookup(number, "lower(kind) IN ('b', 'a') AND NOT id IS NULL")]
    ['NOT id IS NULL']
    >>> beside_lookup(number, "lower(kind) IN ('a') AND NOT id IS NULL") is None
    True
    """
    case = parsed(number).unnest()
    if not isinstance(case, exp.Case) or case.this is None or not _is_number(case.args.get("default"), 0):
        return None
    branches = case.args["ifs"]
    if not all(_is_number(one.args["true"]) and not _is_number(one.args["true"], 0) for one in branches):
        return None
    whens = {one.this for one in branches}
    tree = parsed(condition).unnest()
    conjuncts = [one.unnest() for one in (tree.flatten() if isinstance(tree, exp.And) else [tree])]
    kept = [one for one in conjuncts if not _asks_for(one, case.this, whens)]
    return None if len(kept) == len(conjuncts) else kept


def _asks_for(node: Any, subject: Any, values: set[Any]) -> bool:
    return isinstance(node, exp.In) and node.this == subject and set(node.expressions) == values


def _is_number(node: Any, value: int | None = None) -> bool:
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return is_number and (value is None or node.this == str(value))

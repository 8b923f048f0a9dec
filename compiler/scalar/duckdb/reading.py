"""What is read of sqlglot's trees: the arguments of each kind of node that this package looks at.

sqlglot puts what it reads into arguments of nodes, and has new ones with each version. Whoever does not look
at one drops it, and with it a part of the query: so each that holds something is in this table, or the query
is refused by its name.
"""

from __future__ import annotations

from typing import Any

from neelc.scalar.duckdb.pieces import UnspelledOperation

_BINARY = "this expression"
_QUERY = "with_ order limit offset sort cluster distribute"

READ: dict[str, str] = {
    **dict.fromkeys(
        "Add And BitwiseAnd BitwiseOr BitwiseXor EQ GT GTE IntDiv LT LTE Mod Mul".split(), _BINARY
    ),
    **dict.fromkeys("NEQ NullSafeEQ NullSafeNEQ Or Sub Escape Dot Extract Filter".split(), _BINARY),
    **dict.fromkeys("BitwiseLeftShift BitwiseRightShift RegexpLike UnsignedRightShift".split(), _BINARY),
    **dict.fromkeys(
        "All Any BitwiseNot Boolean Exists From Having HexString IgnoreNulls Neg Not RawString".split(),
        "this",
    ),
    **dict.fromkeys("Paren Parameter Placeholder RespectNulls Var Where Qualify".split(), "this"),
    **dict.fromkeys("Cube Distribute GroupingSets Rollup Tuple".split(), "expressions"),
    **dict.fromkeys("CurrentDate CurrentTimestamp Localtimestamp Null".split(), ""),
    "Alias": "this alias",
    "Aliases": "this expressions",
    "Anonymous": "this expressions",
    "Between": "this low high",
    "Bracket": "this expressions offset",
    "CTE": "this alias",
    "Case": "this ifs default",
    "Cast": "this to",
    "Cluster": "expressions",
    "Concat": "expressions",
    "Column": "this table db catalog",
    "ColumnDef": "this kind",
    "DPipe": "this expression",
    "DataType": "this expressions",
    "DataTypeParam": "this",
    "Distinct": "expressions",
    "Div": "this expression",
    "Except": f"{_QUERY} this expression distinct",
    "Group": "expressions grouping_sets cube rollup all",
    "ILike": "this expression negate",
    "Identifier": "this",
    "If": "this true false",
    "In": "this expressions query",
    "Intersect": f"{_QUERY} this expression distinct",
    "Interval": "this unit",
    "IntervalSpan": "this expression",
    "Is": "this expression negate",
    "Join": "this on side kind using method",
    "Lambda": "this expressions",
    "Lateral": "this view outer alias",
    "Like": "this expression negate",
    "Limit": "expression",
    "Literal": "this is_string",
    "Offset": "expression",
    "Order": "expressions",
    "Ordered": "this desc nulls_first",
    "Select": f"{_QUERY} expressions distinct from_ laterals joins where group having windows qualify",
    "Sort": "expressions",
    "Star": "except_",
    "StrPosition": "this substr position",
    "Subquery": f"{_QUERY} this alias joins",
    "Table": "this alias joins",
    "TableAlias": "this columns",
    "TryCast": "this to",
    "Union": f"{_QUERY} this expression distinct by_name",
    "Values": "expressions alias order limit offset",
    "Window": "this partition_by order spec alias",
    "WindowSpec": "kind start start_side end end_side",
    "With": "expressions recursive",
    "WithinGroup": "this expression",
}
"""The kinds of nodes -> their arguments that are read, or refused by whoever reads the others."""

MEANINGLESS: dict[str, str] = {
    "Bracket": "safe",
    "Cast": "safe",
    "Concat": "coalesce safe",
    "DPipe": "safe",
    "DataType": "nested kind",
    "Div": "typed safe",
    "Identifier": "quoted",
    "Placeholder": "kind",
    "Select": "hint",
    "TryCast": "safe",
    "Window": "over",
}
"""Arguments that say nothing about Spark's values: how other dialects differ, and how the query is to run."""

_READ = {
    name: frozenset(one.rstrip("_") for one in f"{text} {MEANINGLESS.get(name, '')}".split())
    for name, text in READ.items()
}
_MEANINGLESS = {name: frozenset(text.split()) for name, text in MEANINGLESS.items()}


def refuse_what_is_not_read(tree: Any) -> None:
    """Raises `UnspelledOperation` if a part of a tree is none that this package looks at.

    >>> from sqlglot import parse_one
    >>> refuse_what_is_not_read(parse_one("SELECT x FROM t TABLESAMPLE (10 PERCENT)", dialect="databricks"))
    Traceback (most recent call last):
    ...
    neelc.scalar.duckdb.pieces.UnspelledOperation: TABLESAMPLE (10 PERCENT)
    """
    pending = [tree]
    while pending:
        node = pending.pop()
        known = _READ.get(type(node).__name__)
        if known is None:
            raise UnspelledOperation(_shown(node), node)
        for name, value in node.args.items():
            if value is None or value is False or value == []:
                continue
            name = name.rstrip("_")  # as older versions of sqlglot have it
            if name not in known:
                raise UnspelledOperation(_argument(node, name, value), node)
            if name in _MEANINGLESS.get(type(node).__name__, ()):
                continue
            inside = value if isinstance(value, list) else [value]
            pending += (one for one in inside if hasattr(one, "args"))


def _shown(node: Any) -> str:
    text = str(node.sql(dialect="databricks")).strip()
    return text if len(text) <= 80 else f"{text[:80]} ..."


def _argument(node: Any, name: str, value: Any) -> str:
    """What an argument is called: as it is written, if it is a node."""
    first = value[0] if isinstance(value, list) else value
    if hasattr(first, "args"):
        return _shown(first)
    return f"{name.strip('_').replace('_', ' ').upper()} of {node.key.upper()}"

"""UNION and EXCEPT: what SQL does with two tables, done with the snapshots of every instant.

A snapshot is a multiset of payloads. UNION ALL adds up how often a payload is there. UNION and EXCEPT are
about sets, as in SQL: a payload is there once, if one side has it, or if the left one has it and the right
one does not. Payloads are equal as DISTINCT compares them: NULL equals NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

from neelc.findings import Findings
from neelc.ir import algebra as a
from neelc.ir import expressions as e
from neelc.ir.names import written
from neelc.ir.program import Column, OutputColumn
from neelc.ir.script import CombinedSelect, SetOperator
from neelc.ir.types import INT, DataType
from neelc.scalar.operators import cast_to, common, is_nested
from neelc.source import Span

VARIABLE = "both sides"
"""What the payloads of both sides are known by in EXCEPT; nobody writes it by chance."""

Columns = tuple[Column, ...]


def combined_columns(
    query: CombinedSelect, left: Columns | None, right: Columns | None, findings: Findings
) -> Columns | None:
    """The columns of the result: names of the left side, types that both have room in. None, and a report, if
    there are none."""
    if left is None or right is None:
        return None
    if len(left) != len(right):
        message = f"{query.operator} combines {_counted(left)} with {_counted(right)}"
        hint = "both sides must have as many, in the same order"
        findings.report("NEEL3308", message, _place(query, findings), hint)
        return None
    types = [_common(one.type, other.type) for one, other in zip(left, right, strict=True)]
    for one, other, type in zip(left, right, types, strict=True):
        if type is None:
            both = f"`{one.name}`, {one.type}, and `{other.name}`, {other.type}"
            message = f"{query.operator} puts {both}, into one column"
            cast = f"CAST({written(other.name)} AS {one.type})"
            hint = f"columns are combined by their places; cast one of them: {cast}"
            findings.report("NEEL3308", message, _place(query, findings), hint)
            return None
    return tuple(Column(one.name, type) for one, type in zip(left, types, strict=True) if type is not None)


def _place(query: CombinedSelect, findings: Findings) -> Span:
    return query.operator_keyword or findings.at(query)


def _counted(columns: Columns) -> str:
    return f"{len(columns)} column{'' if len(columns) == 1 else 's'}"


def _common(left: DataType, right: DataType) -> DataType | None:
    """A text does not become a number by itself here, and what has parts stays as it is."""
    if left != right and (is_nested(left) or is_nested(right)):
        return None
    return common(left, right, strings=False)


def combined_operator(
    query: CombinedSelect, variable: str, columns: Columns, sides: Sequence[a.Operator]
) -> a.Operator:
    """The operator whose payload has these columns, of this variable. Mergers and aggregators are all that is
    needed, so that every engine that has these has UNION and EXCEPT."""
    if query.operator is SetOperator.EXCEPT:
        return _except(query, variable, columns, sides)
    inputs = tuple(a.Projection(one, variable, _outputs(one, columns)) for one in sides)
    merged = a.Merger(inputs, span=query.span)
    if query.operator is SetOperator.UNION_ALL:
        return merged
    once = a.Aggregator(merged, variable, _same(columns, merged.payload), span=query.span)
    return a.Coalesced(once, span=query.span)


def _except(
    query: CombinedSelect, variable: str, columns: Columns, sides: Sequence[a.Operator]
) -> a.Operator:
    """Of equal payloads the largest number of a side is 0, if the right side, 1, has none of them."""
    side = "side"
    while any(side.casefold() == one.name.casefold() for one in columns):
        side += "_"
    name = written(VARIABLE)
    inputs = tuple(
        a.Projection(one, name, (*_outputs(one, columns), OutputColumn(side, e.Literal(number, INT), INT)))
        for number, one in enumerate(sides)
    )
    merged = a.Merger(inputs, span=query.span)
    *payload, number = merged.payload
    most = OutputColumn(side, e.Aggregate("max", number, INT), INT)
    grouped = a.Aggregator(merged, name, _same(columns, payload), (most,), span=query.span)
    *payload, last = grouped.payload
    left = a.Filter(grouped, e.Binary("=", last, e.Literal(0, INT)), span=query.span)
    return a.Coalesced(
        a.Projection(left, variable, _same(columns, payload), span=query.span), span=query.span
    )


def _outputs(side: a.Operator, columns: Columns) -> tuple[OutputColumn, ...]:
    """The payload of a side, as the columns of the result."""
    pairs = zip(columns, side.payload, strict=True)
    return tuple(OutputColumn(one.name, _cast(of, one.type), one.type) for one, of in pairs)


def _cast(attribute: e.Attribute, type: DataType) -> e.Expr:
    assert attribute.type is not None, "a bound attribute has a type"
    return cast_to(attribute, attribute.type, type)


def _same(columns: Columns, payload: Sequence[e.Attribute]) -> tuple[OutputColumn, ...]:
    return tuple(OutputColumn(one.name, of, one.type) for one, of in zip(columns, payload, strict=True))

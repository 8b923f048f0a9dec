"""Constants: dates that exist, intervals that make sense, numbers that fit their type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from neelc.bind.checking import Report, Typed, wrong
from neelc.ir import types
from neelc.ir.expr import Interval, Literal
from neelc.ir.intervals import counts_months, interval_value
from neelc.ir.moments import date_of, timestamp_ntz_of, timestamp_of

_READERS: dict[types.DataType, tuple[Callable[[str], object], str]] = {
    types.DATE: (date_of, "DATE '2020-01-31'"),
    types.TIMESTAMP: (timestamp_of, "TIMESTAMP '2020-01-31 12:30:00'"),
    types.TIMESTAMP_NTZ: (timestamp_ntz_of, "TIMESTAMP_NTZ '2020-01-31 12:30:00'"),
}


def literal(node: Literal, report: Report) -> Typed:
    """A constant and its type; an integer has the first of INT, BIGINT and DECIMAL that holds it.

    >>> literal(Literal(3_000_000_000, types.INT), print)[1]
    Simple(name='BIGINT')
    """
    match node.type, node.value:
        case types.Simple("INT" | "BIGINT"), int(value):
            return _integer(node, value, report)
        case types.Simple("DATE" | "TIMESTAMP" | "TIMESTAMP_NTZ" as name), str(text):
            read, example = _READERS[types.SIMPLE_TYPES[name]]
            if read(text) is None:
                hint = f"for example {example}; years go from 1 to 9999"
                report("NEEL2107", f"'{text}' is not a {name}", node.span, hint)
                return wrong(node)
    return node, node.type


def _integer(node: Literal, value: int, report: Report) -> Typed:
    type: types.DataType = node.type
    if type == types.INT and not -(2**31) <= value < 2**31:
        type = types.BIGINT
    if type == types.BIGINT and not -(2**63) <= value < 2**63:
        type = types.Decimal(len(str(abs(value))), 0)
    if isinstance(type, types.Decimal) and type.precision > 38:
        report("NEEL2107", "this number has more than the 38 digits of a DECIMAL", node.span, None)
        return wrong(node)
    return (node if type == node.type else replace(node, type=type)), type


def interval(node: Interval, report: Report) -> Typed:
    """An interval constant."""
    try:
        interval_value(node)
    except ValueError as problem:
        report(
            "NEEL2107",
            str(problem),
            node.span,
            "for example INTERVAL '5' MINUTE, or INTERVAL '1' DAY '2' HOUR",
        )
        return wrong(node)
    return node, types.YEAR_INTERVAL if counts_months(node) else types.DAY_INTERVAL

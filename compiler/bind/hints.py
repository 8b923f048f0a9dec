"""Ways out of type errors."""

from __future__ import annotations

from neelc.bind.coercion import is_number
from neelc.ir.typeof import INTERVALS
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    DataType,
    Map,
    Struct,
)

EXAMPLES: dict[DataType, str] = {
    DATE: "a date is written DATE '2020-01-31'",
    TIMESTAMP: "a timestamp is written TIMESTAMP '2020-01-31 12:00:00'; unix_millis(x) makes it a number",
    TIMESTAMP_NTZ: "a local time is written TIMESTAMP_NTZ '2020-01-31 12:00:00'",
}


def hint_for_comparison(left: DataType, right: DataType) -> str:
    """What would fit, for two types that cannot be compared.

    >>> from neelc.ir.types import DAY_INTERVAL, INT
    >>> hint_for_comparison(DAY_INTERVAL, INT)
    "an interval is written INTERVAL '5' SECOND"
    """
    kinds = (left, right)
    for kind in kinds:
        if isinstance(kind, Map):
            return "maps have no order and no equality; their values can be compared: m['key']"
        if isinstance(kind, Array):
            return "of a list b[], one element, b[1] or b[last], or an aggregate, max(b[].x), can be compared"
        if isinstance(kind, Struct):
            return "the fields of a struct can be compared: a.position.x"
    if all(kind in INTERVALS for kind in kinds):
        return "a month has no fixed number of days: both sides must count days, or both months"
    for kind in kinds:
        if kind in INTERVALS:
            return "an interval is written INTERVAL '5' SECOND"
        if kind in EXAMPLES:
            return EXAMPLES[kind]
    if BOOLEAN in (left, right):
        return "a BOOLEAN is a condition of its own: x, or NOT x"
    return f"CAST(... AS {left if is_number(left) or left == STRING else right}) converts a value"


def hint_for_operands(op: str, left: DataType, right: DataType) -> str | None:
    """What would fit, for an operator that is not defined for two types.

    >>> from neelc.ir.types import INT
    >>> hint_for_operands("+", TIMESTAMP, INT)
    "time is added as an interval: ts + INTERVAL '5' SECOND"
    """
    kinds = (left, right)
    if left == DATE and right == BIGINT and op in ("+", "-"):
        return "days are added as an INT: CAST(... AS INT)"
    if op in ("+", "-") and any(kind in EXAMPLES for kind in kinds) and any(map(is_number, kinds)):
        return "time is added as an interval: ts + INTERVAL '5' SECOND"
    if any(kind in INTERVALS for kind in kinds) and any(map(is_number, kinds)) and op in ("+", "-"):
        return "an interval is written INTERVAL '5' SECOND"
    if kinds == (STRING, STRING):
        return "|| joins strings" if op == "+" else "CAST(... AS DOUBLE) makes a string a number"
    if op == "DIV":
        return "DIV divides whole numbers; / divides all"
    if any(isinstance(kind, Array) and is_number(kind.element) for kind in kinds):
        return "of a list b[], one element, b[1] or b[last], or an aggregate, sum(b[].x), is a number"
    return None

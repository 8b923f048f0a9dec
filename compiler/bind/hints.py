"""Ways out of type errors."""

from __future__ import annotations

from neelc.bind.coercion import is_number
from neelc.ir.typeof import INTERVALS
from neelc.ir.types import BOOLEAN, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, Array, DataType, Map

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
    for one in (left, right):
        if isinstance(one, Map):
            return "maps have no order and no equality; compare their values: m['key']"
        if isinstance(one, Array) and not isinstance(left if one is right else right, Array):
            return "of a list b[], one element, b[1] or b[last], or an aggregate, max(b[].x), can be compared"
    for one in (left, right):
        if one in INTERVALS:
            return "an interval is written INTERVAL '5' SECOND" if left != right else ""
        if one in EXAMPLES:
            return EXAMPLES[one]
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
    if op in ("+", "-") and any(kind in EXAMPLES for kind in kinds) and any(map(is_number, kinds)):
        return "time is added as an interval: ts + INTERVAL '5' SECOND"
    if any(kind in INTERVALS for kind in kinds) and any(map(is_number, kinds)) and op in ("+", "-"):
        return "an interval is written INTERVAL '5' SECOND"
    if kinds == (STRING, STRING):
        return "|| joins strings" if op == "+" else "CAST(... AS DOUBLE) makes a string a number"
    if op == "DIV":
        return "DIV divides whole numbers; / divides all"
    if any(isinstance(kind, Array) for kind in kinds):
        return "of a list b[], one element, b[1] or b[last], or an aggregate, sum(b[].x), is a number"
    return None

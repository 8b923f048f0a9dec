"""What depends on the time zone of the session, which is known only where a query runs."""

from __future__ import annotations

from neelc.ir import expr as e
from neelc.ir.moments import has_zone
from neelc.ir.node import Node, children, remembered, walk
from neelc.ir.typeof import INTERVALS, type_of
from neelc.ir.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType

_CLOCKS = (DATE, STRING, TIMESTAMP_NTZ)
_CALLS = frozenset({"date_trunc", "hour", "minute", "second", "unix_timestamp"})


def is_zoned(expression: Node) -> bool:
    """Whether a value may be another one in another time zone, for the same events.

    >>> noon = e.Literal("2024-03-31 12:00:00", TIMESTAMP)
    >>> is_zoned(noon), is_zoned(e.Literal("2024-03-31 12:00:00Z", TIMESTAMP))
    (True, False)
    >>> is_zoned(e.Cast(e.Attribute(e.Variable("a"), "ts", TIMESTAMP), STRING))
    True

    Instants are compared, and counted as numbers, in the same way everywhere.

    >>> start, end = (e.Attribute(e.Variable(name), "ts", TIMESTAMP) for name in ("a", "b"))
    >>> is_zoned(e.Binary("<", start, end)), is_zoned(e.Binary("-", end, start))
    (False, True)
    """
    return _is_zoned(expression) or any(map(_has_zoned, children(expression)))


@remembered  # trees are asked part by part
def _has_zoned(node: Node) -> bool:
    return is_zoned(node)


def _is_zoned(node: Node) -> bool:
    match node:
        case e.Literal(str(text), type):
            return type == TIMESTAMP and not has_zone(text)
        case e.Cast(operand, target):
            source = type_of(operand, inside_aggregate=True)
            return (_holds(source, (TIMESTAMP,)) and _holds(target, _CLOCKS)) or (
                _holds(source, _CLOCKS) and _holds(target, (TIMESTAMP,))
            )
        case e.Call(name):
            return name.lower() in _CALLS
        case e.Extract(operand=operand):
            return type_of(operand, inside_aggregate=True) == TIMESTAMP
        case e.Binary(op, left, right) if op in ("+", "-"):
            kinds = [type_of(side, inside_aggregate=True) for side in (left, right)]
            return TIMESTAMP in kinds and (
                kinds[0] == kinds[1] or kinds[0] in INTERVALS or kinds[1] in INTERVALS
            )
    return False


def _holds(type: DataType, wanted: tuple[DataType, ...]) -> bool:
    """Whether a type is one of these, or has one inside."""
    return any(part in wanted for part in walk(type))

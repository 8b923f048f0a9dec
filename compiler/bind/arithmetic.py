"""Types of arithmetic: which operands an operator takes and what they are cast to."""

from __future__ import annotations

from dataclasses import replace

from neelc.bind.checking import Report, Typed, cast, literal_integer, wrong
from neelc.bind.coercion import INTEGERS, REALS, common, common_of, is_nested, is_number
from neelc.bind.hints import hint_for_operands
from neelc.ir import decimals
from neelc.ir.expr import BITWISE, Binary, Call, Case, Cast, Expr, Interval, Literal, Unary
from neelc.ir.intervals import is_whole_days
from neelc.ir.typeof import DATETIMES, INTERVALS, binary_type, type_of
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
    Simple,
)
from neelc.source import Span

Sides = tuple[DataType, DataType]
DAY_COUNTS = tuple(type for type in INTEGERS if type != BIGINT)


def unary(node: Unary, operand: Typed, report: Report) -> Typed:
    """`-`, `+` and `~`.

    >>> unary(Unary("-", Literal("5", STRING)), (Literal("5", STRING), STRING), print)[1]
    Simple(name='DOUBLE')
    """
    kind = operand[1]
    target: DataType | None
    if node.op == "~":
        target = INT if kind == VOID else kind if kind in INTEGERS else None
    else:
        target = DOUBLE if kind in (STRING, VOID) else kind if is_number(kind) or kind in INTERVALS else None
    if target is None:
        fitting = "an integer" if node.op == "~" else "a number or an interval"
        hint = "NOT negates a condition" if kind == BOOLEAN else None
        report("NEEL2102", f"`{node.op}` takes {fitting}, not {kind}", node.span, hint)
        return wrong(node)
    least = _least(node.op, operand[0], node.span)
    if least is not None:
        return least, least.type
    return replace(node, operand=cast(operand, target)), target


def _least(op: str, operand: Expr, span: Span | None) -> Literal | None:
    """The least INT and BIGINT: without their sign they are too large for the type."""
    match operand:
        case Literal(value, Simple("BIGINT")) if op == "-" and value == 2**31:
            return Literal(-(2**31), INT, span=span)
        case Literal(value, Decimal(19, 0)) if op == "-" and value == 2**63:
            return Literal(-(2**63), BIGINT, span=span)
    return None


def binary(node: Binary, left: Typed, right: Typed, report: Report) -> Typed:
    """Arithmetic, bits and `||`.

    >>> five, text = (Literal(5, INT), INT), (Literal("6", STRING), STRING)
    >>> binary(Binary("/", five[0], text[0]), five, text, print)[1]
    Simple(name='DOUBLE')
    """
    sides = _sides(node.op, left, right)
    if sides is None:
        message = f"`{node.op}` is not defined for {left[1]} and {right[1]}"
        report("NEEL2101", message, node.span, hint_for_operands(node.op, left[1], right[1]))
        return wrong(node)
    typed = replace(node, left=cast(left, sides[0]), right=cast(right, sides[1]))
    return typed, binary_type(node.op, *sides)


def _sides(op: str, left: Typed, right: Typed) -> Sides | None:
    """What both sides are cast to, or None."""
    kinds = (left[1], right[1])
    if op == "||":
        shared = joined(kinds)
        return None if shared is None else (shared, shared)
    if any(kind in DATETIMES for kind in kinds):
        return _moments(op, left, right)
    if any(kind in INTERVALS for kind in kinds):
        return _intervals(op, *kinds)
    return numbers(op, left, right)


def joined(types: tuple[DataType, ...]) -> DataType | None:
    """The type that `||` and concat give: an array of arrays, BINARY of BINARY, else STRING.

    >>> joined((INT, STRING)), joined((Array(INT), INT))
    (Simple(name='STRING'), None)
    """
    if any(isinstance(type, Array) for type in types):
        return common_of(types)
    if any(is_nested(type) for type in types):
        return None
    return BINARY if BINARY in types and all(type in (BINARY, VOID) for type in types) else STRING


def numbers(op: str, left: Typed, right: Typed) -> Sides | None:
    """What two numbers, or texts of numbers, are cast to."""
    kinds = (left[1], right[1])
    if kinds == (VOID, VOID):
        shared: DataType | None = INT if op in BITWISE else BIGINT if op == "DIV" else DOUBLE
    else:
        shared = common(*kinds)
    if shared is None or not is_number(shared):
        return None
    if (op in BITWISE and shared not in INTEGERS) or (op == "DIV" and shared in REALS):
        return None
    if isinstance(shared, Decimal):
        return _exact(left, shared), _exact(right, shared)
    return (DOUBLE, DOUBLE) if op == "/" else (shared, shared)


def _exact(side: Typed, shared: Decimal) -> Decimal:
    """The decimal type of a side; of an integer that is written down: as many digits as it has."""
    written = literal_integer(side[0])
    if written is not None and side[1] in INTEGERS:
        return Decimal(len(str(abs(written))), 0)
    return decimals.as_decimal(side[1]) or shared


def _moments(op: str, left: Typed, right: Typed) -> Sides | None:
    """Dates and timestamps: what lies between two, and what comes a while after or before one."""
    one, other = left[1], right[1]
    if op == "-" and other in (*DATETIMES, VOID, STRING) and one in (*DATETIMES, VOID, STRING):
        if one == STRING or other == STRING or VOID in (one, other):
            shared: DataType | None = other if one in (STRING, VOID) else one
        elif {one, other} == {TIMESTAMP, TIMESTAMP_NTZ}:
            shared = TIMESTAMP_NTZ  # a difference is one of clocks
        else:
            shared = common(one, other)
        return None if shared is None else (shared, shared)
    if op == "+" and other in DATETIMES and one not in DATETIMES:
        swapped = _moments(op, right, left)
        return None if swapped is None else (swapped[1], swapped[0])
    if op not in ("+", "-") or one not in DATETIMES:
        return None
    if one == DATE and other in DAY_COUNTS:
        return one, other
    span = DAY_INTERVAL if other == VOID else other
    if span not in INTERVALS:
        return None
    # A date stays a date after whole days, months and years; otherwise it has a time of day.
    stays = one != DATE or span == YEAR_INTERVAL or counts_whole_days(right[0])
    return (one if stays else TIMESTAMP), span


def counts_whole_days(expression: Expr) -> bool:
    """Whether an interval is Spark's INTERVAL DAY, which counts days and nothing smaller.

    >>> from neelc.ir.expr import IntervalPart
    >>> counts_whole_days(Interval((IntervalPart("1", "DAY"),)))
    True
    """
    match expression:
        case Interval():
            return is_whole_days(expression)
        case Unary(_, operand):
            return counts_whole_days(operand)
        case Binary("-", left, right) if type_of(left) == DATE and type_of(right) == DATE:
            return True
        case Binary("+" | "-", left, right):
            return counts_whole_days(left) and counts_whole_days(right)
        case Case(whens=whens, otherwise=otherwise):
            results = [when.result for when in whens] + ([otherwise] if otherwise else [])
            return all(counts_whole_days(result) for result in results)
        case Call("coalesce" | "nvl" | "ifnull" | "greatest" | "least" | "abs", arguments):
            return all(counts_whole_days(argument) for argument in arguments)
        case Literal(None) | Cast(Literal(None)):
            return True
    return False


def _intervals(op: str, left: DataType, right: DataType) -> Sides | None:
    """Intervals: added, compared in size with DIV, made longer and shorter by numbers."""
    if op in ("+", "-", "DIV") and {left, right} <= {left if left in INTERVALS else right, VOID}:
        span = left if left in INTERVALS else right
        return span, span
    if op == "*" and right in INTERVALS and left not in INTERVALS:
        swapped = _intervals(op, right, left)
        return None if swapped is None else (swapped[1], swapped[0])
    if op in ("*", "/") and left in INTERVALS and (is_number(right) or right in (STRING, VOID)):
        return left, DOUBLE if right in (STRING, VOID) else right
    return None

"""Arithmetic as text that cannot fail: Spark's try_ functions, but only where an operation can fail."""

from __future__ import annotations

import datetime
import decimal

from sqlglot import exp

from neelc.emit.literals import constant, interval
from neelc.emit.syntax import UNARY, Sql, at, binary, call, cast, junction, raw, try_cast, when
from neelc.emit.written import Constant, Written
from neelc.ir.expr import BITWISE
from neelc.ir.moments import Months
from neelc.ir.typeof import DATETIMES, INTERVALS
from neelc.ir.types import (
    BIGINT,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    STRING,
    DataType,
)
from neelc.ir.types import Decimal as DecimalType

TRY = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
INTEGER_NAMES = tuple(_BITS)
MAX_PRECISION = 38


def unary(op: str, operand: Written) -> Sql:
    """`-`, `+` or `~`; the least integer has no negative."""
    if op == "+":
        return operand.sql
    if op == "~":
        return exp.BitwiseNot(this=at(operand.sql, UNARY))
    negated = negative(operand.value)
    if negated is not None and not _is_least(operand):
        return constant(negated, operand.type)
    if operand.type in INTERVALS or operand.is_integer:
        return call("try_subtract", _zero(operand.type), operand.sql)
    return exp.Neg(this=at(operand.sql, UNARY + 1))


def negative(value: Constant) -> Constant:
    """The constant with the other sign, None if it is not known or no number."""
    match value:
        case bool() | str() | bytes() | None:
            return None
        case Months(count):
            return Months(-count)
        case decimal.Decimal():
            return value.copy_negate() if value else value
    return -value


def _is_least(operand: Written) -> bool:
    return operand.is_integer and operand.value == least(operand.type)


def least(type: DataType) -> int:
    """The least value of an integer type."""
    return -(1 << _BITS[str(type)] - 1)


def _zero(type: DataType) -> Sql:
    if type in INTERVALS:
        return interval(datetime.timedelta(0) if type == DAY_INTERVAL else Months(0))
    return constant(0, type)


def arithmetic(op: str, left: Written, right: Written, type: DataType) -> Sql:
    """`left op right` of that type, NULL where it cannot be computed."""
    if op in BITWISE or op == "||":
        return binary(op, left.sql, right.sql)
    if left.type in DATETIMES or right.type in DATETIMES:
        return _times(op, left, right)
    if op == "DIV":
        return _quotient(left, right)
    if (op == "%" and not left.is_decimal) or (op == "/" and type == DOUBLE):
        return _operation(op, left, right, can_fail=not is_nonzero(right))
    if isinstance(type, DecimalType):
        return _operation(op, left, right, _may_not_fit(op, left, right))
    return _operation(op, left, right, can_fail=type not in (FLOAT, DOUBLE, STRING))


def _operation(op: str, left: Written, right: Written, can_fail: bool) -> Sql:
    return call(TRY[op], left.sql, right.sql) if can_fail else binary(op, left.sql, right.sql)


def is_nonzero(divisor: Written) -> bool:
    """Whether the divisor is a constant other than 0."""
    if isinstance(divisor.value, datetime.timedelta | Months):
        return divisor.value not in (datetime.timedelta(0), Months(0))
    return isinstance(divisor.value, int | float | decimal.Decimal) and divisor.value != 0


def _may_not_fit(op: str, left: Written, right: Written) -> bool:
    """Whether a decimal operation may fail: the divisor be 0, or the result have more than 38 digits."""
    one, other = left.as_decimal, right.as_decimal
    whole = max(one.precision - one.scale, other.precision - other.scale)
    match op:
        case "+" | "-":
            return whole + max(one.scale, other.scale) + 1 > MAX_PRECISION
        case "*":
            return one.precision + other.precision + 1 > MAX_PRECISION
        case "%":
            return not is_nonzero(right) or whole + max(one.scale, other.scale) > MAX_PRECISION
    digits = one.precision - one.scale + other.scale + max(6, one.scale + other.precision + 1)
    return not is_nonzero(right) or digits > MAX_PRECISION


def _quotient(left: Written, right: Written) -> Sql:
    """DIV, for which Spark has no try_ function."""
    if left.is_decimal or right.is_decimal:
        return _decimal_quotient(left, right)
    divisor = right.sql if is_nonzero(right) else call("nullif", right.sql, _zero(right.type))
    plain = binary("DIV", left.sql, divisor)
    if BIGINT not in (left.type, right.type) or (is_nonzero(right) and right.value != -1):
        return plain
    # The one quotient that BIGINT cannot hold.
    too_large = [binary("=", left.sql, constant(least(BIGINT), BIGINT)), binary("=", right.sql, raw("-1"))]
    return when((junction(exp.And, too_large), constant(None, BIGINT)), otherwise=plain)


def _decimal_quotient(left: Written, right: Written) -> Sql:
    one, other = left.as_decimal, right.as_decimal
    divisor = right.sql if is_nonzero(right) else call("nullif", right.sql, raw("0"))
    if one.precision - one.scale + other.scale <= 18:
        return binary("DIV", left.sql, divisor)
    # Spark's DIV drops the digits that BIGINT has no room for.
    whole = call(
        "try_divide", call("try_subtract", left.sql, call("try_mod", left.sql, right.sql)), right.sql
    )
    return try_cast(whole, "BIGINT")


def _times(op: str, left: Written, right: Written) -> Sql:
    """Dates and timestamps: what lies between two, and what comes a while after or before one."""
    if left.type in DATETIMES and right.type in DATETIMES:
        return _difference(left, right)
    moment, span = (left, right) if left.type in DATETIMES else (right, left)
    if span.type not in INTERVALS:
        return binary(op, left.sql, right.sql)  # days after a date
    if moment.type == DATE and span.type == DAY_INTERVAL:
        days = span.sql if isinstance(span.value, datetime.timedelta) else cast(span.sql, "INTERVAL DAY")
        return call(TRY[op], moment.sql, days)
    return call(TRY[op], moment.sql, span.sql)


def _difference(left: Written, right: Written) -> Sql:
    """Of two TIMESTAMPs it is one of clocks, an hour more or less where summer time begins or ends."""
    if DATE in (left.type, right.type):
        return binary("-", left.sql, right.sql)
    return call("try_subtract", left.sql, right.sql)

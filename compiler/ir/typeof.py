"""The type of an expression whose implicit casts are explicit: it can be read off, nothing is checked."""

from __future__ import annotations

from neelc.ir import expr as e
from neelc.ir.decimals import arithmetic
from neelc.ir.intervals import counts_months
from neelc.ir.many import is_array_of_path
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    INT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
)

INTERVALS = (DAY_INTERVAL, YEAR_INTERVAL)
DATETIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def type_of(expression: e.Expr, inside_aggregate: bool = False) -> DataType:
    """The type of a typed expression.

    A path over a list, `b[].price`, is an array unless it stands inside an aggregate.

    >>> price = e.Attribute(e.Each(e.Variable("b")), "price", INT)
    >>> type_of(price) == Array(INT), type_of(price, inside_aggregate=True) == INT
    (True, True)
    """
    match expression:
        case e.Attribute() | e.Whole() | e.EventTime() | e.Field() | e.Item():
            if not inside_aggregate and is_array_of_path(expression):
                return Array(expression.type)
            return expression.type
        case e.Literal() | e.Cast() | e.MatchProperty() | e.Aggregate() | e.RowValue():
            return expression.type
        case e.Call(type=type):
            return VOID if type is None else type
        case e.Interval():
            return YEAR_INTERVAL if counts_months(expression) else DAY_INTERVAL
        case e.Unary(operand=operand) | e.RunningFinal(operand=operand):
            return type_of(operand, inside_aggregate)
        case e.Binary(op, left, right):
            return binary_type(op, type_of(left, inside_aggregate), type_of(right, inside_aggregate))
        case e.Case(whens=whens):
            return type_of(whens[0].result, inside_aggregate)
        case e.Extract(field, operand):
            return extract_type(field, type_of(operand, inside_aggregate))
        case e.Filtered(call):
            return type_of(call, inside_aggregate)
        case e.Name() | e.Member() | e.Subscript() | e.Slice() | e.Star() | e.Parameter() | e.NestedQuery():
            return VOID
    return BOOLEAN


def binary_type(op: str, left: DataType, right: DataType) -> DataType:
    """The type of `left op right`, once both sides have been cast to what the operator takes.

    >>> binary_type("-", TIMESTAMP, TIMESTAMP) == DAY_INTERVAL, binary_type("+", DATE, INT) == DATE
    (True, True)
    """
    if op in e.COMPARISONS:
        return BOOLEAN
    if op == "DIV":
        return BIGINT
    if op == "-" and left in DATETIMES and right in DATETIMES:
        return DAY_INTERVAL
    if isinstance(left, Decimal) and isinstance(right, Decimal) and op in e.ARITHMETIC:
        return arithmetic(op, left, right)
    # What remains is of the type of its operands, which are equal, except in: date + days,
    # timestamp + interval, interval * number, where one of them gives the type and the other does not.
    for kinds in (DATETIMES, INTERVALS):
        if left in kinds or right in kinds:
            return left if left in kinds else right
    return left


# The fields EXTRACT knows, and the other names that Spark has for them.
FIELDS = {
    "YEAR": "Y YEARS YR YRS",
    "YEAROFWEEK": "",
    "QUARTER": "QTR",
    "MONTH": "MON MONS MONTHS",
    "WEEK": "W WEEKS",
    "DAY": "D DAYS",
    "DAYOFWEEK": "DOW",
    "DAYOFWEEK_ISO": "DOW_ISO",
    "DOY": "",
    "HOUR": "H HOURS HR HRS",
    "MINUTE": "M MIN MINS MINUTES",
    "SECOND": "S SEC SECONDS SECS",
}
_FIELD_OF = {name: field for field, synonyms in FIELDS.items() for name in (field, *synonyms.split())}
INTERVAL_FIELDS: dict[DataType, tuple[str, ...]] = {
    YEAR_INTERVAL: ("YEAR", "MONTH"),
    DAY_INTERVAL: ("DAY", "HOUR", "MINUTE", "SECOND"),
}


def extract_field(name: str) -> str | None:
    """The field that a name in EXTRACT stands for, None if there is none.

    >>> extract_field("SECONDS"), extract_field("DOW"), extract_field("EPOCH")
    ('SECOND', 'DAYOFWEEK', None)
    """
    return _FIELD_OF.get(name.upper())


def extract_type(field: str, operand: DataType) -> DataType:
    """The type of EXTRACT(field FROM operand)."""
    known = extract_field(field)
    if known == "SECOND":
        return Decimal(8, 6)
    if operand in INTERVALS and known in ("MONTH", "HOUR", "MINUTE"):
        return TINYINT
    return INT

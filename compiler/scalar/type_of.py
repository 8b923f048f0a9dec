"""The type of an expression whose implicit casts are explicit: it can be read off, nothing is checked."""

from __future__ import annotations

from neelc.ir import expressions as e
from neelc.ir.expressions import is_array_of_path
from neelc.ir.names import bare
from neelc.ir.node import Node, children, remembered, walk
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
    Map,
    SimpleType,
    Struct,
)
from neelc.runtime.values.times import has_zone
from neelc.runtime.values.types import ArrayOf, DecimalOf, MapOf, StructOf, ValueType
from neelc.scalar.decimals import arithmetic
from neelc.scalar.intervals import counts_months

INTERVALS = (DAY_INTERVAL, YEAR_INTERVAL)
DATETIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def type_of(expression: e.Expr, inside_aggregate: bool = False) -> DataType:
    """The type of a typed expression.

    A path over a list, `b[].price`, is an array unless it stands inside an aggregate.

    >>> price = e.Attribute(e.EveryElement(e.Variable("b")), "price", INT)
    >>> type_of(price) == Array(INT), type_of(price, inside_aggregate=True) == INT
    (True, True)
    """
    match expression:
        case e.Attribute() | e.WholeEvent() | e.EventTime() | e.Field() | e.ElementAccess():
            if not inside_aggregate and is_array_of_path(expression):
                return Array(expression.type)
            return expression.type
        case e.Literal() | e.Cast() | e.MatchProperty() | e.Aggregate() | e.RowValue():
            return expression.type
        case e.Call(type=type) | e.LambdaParameter(type=type):
            return VOID if type is None else type
        case e.Lambda(body=body):
            return type_of(body, inside_aggregate)
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
        case e.FilteredCall(call):
            return type_of(call, inside_aggregate)
        case (
            e.Name()
            | e.MemberAccess()
            | e.Subscript()
            | e.Slice()
            | e.Star()
            | e.Parameter()
            | e.NestedQuery()
        ):
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


@remembered
def value_type(type: DataType) -> ValueType:
    """The type as the runtime names it.

    >>> value_type(Array(Decimal(10, 2))), value_type(DAY_INTERVAL)
    (ArrayOf(element=DecimalOf(precision=10, scale=2)), 'interval day to second')
    """
    match type:
        case SimpleType(name):
            return name.lower()
        case Decimal(precision, scale):
            return DecimalOf(precision, scale)
        case Array(element):
            return ArrayOf(value_type(element))
        case Map(key, value):
            return MapOf(value_type(key), value_type(value))
        case Struct(fields):
            return StructOf(tuple((bare(field.name), value_type(field.type)) for field in fields))
    raise TypeError(f"no expression has the type {type}")


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


# What depends on the time zone of the session, which is known only where a query runs.

_CLOCKS = (DATE, STRING, TIMESTAMP_NTZ)
_CALLS = frozenset(
    """convert_timezone date_format date_trunc hour make_timestamp make_timestamp_ltz minute months_between
    second timestampdiff to_json try_make_timestamp try_make_timestamp_ltz try_to_timestamp
    unix_timestamp""".split()
)


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
    return is_zoned_itself(expression) or any(map(_has_zoned, children(expression)))


@remembered  # trees are asked part by part
def _has_zoned(node: Node) -> bool:
    return is_zoned(node)


def is_zoned_itself(node: Node) -> bool:
    """Whether what a node does with its operands depends on the time zone."""
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


def _holds(type: DataType, searched: tuple[DataType, ...]) -> bool:
    """Whether a type is one of these, or has one inside."""
    return any(part in searched for part in walk(type))

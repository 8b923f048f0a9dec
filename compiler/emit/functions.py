"""Calls of scalar functions: most are Spark's own, some can fail there or depend on the session."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from neelc.emit import patterns
from neelc.emit.arithmetic import arithmetic, is_nonzero, least
from neelc.emit.functions_of_times import TIMES
from neelc.emit.literals import constant, spark_type
from neelc.emit.syntax import Sql, binary, call, cast, is_not_null, junction, raw, string, try_cast, when
from neelc.emit.written import Written
from neelc.ir.names import bare
from neelc.ir.types import DOUBLE, FLOAT, DataType, Map, Struct

Arguments = tuple[Written, ...]


def function(name: str, arguments: Arguments, type: DataType) -> Sql:
    """The text of a call."""
    if name in SPECIAL:
        return SPECIAL[name](name, arguments, type)
    return plain(name, arguments, type)


def plain(name: str, arguments: Arguments, _: DataType) -> Sql:
    return call(name, *(argument.sql for argument in arguments))


def _absolute(name: str, arguments: Arguments, type: DataType) -> Sql:
    (operand,) = arguments
    if not operand.is_integer:
        return plain(name, arguments, type)
    return call(name, call("nullif", operand.sql, constant(least(type), type)))


def _remainder(_: str, arguments: Arguments, type: DataType) -> Sql:
    left, right = arguments
    return arithmetic("%", left, right, type)


def _positive_remainder(name: str, arguments: Arguments, type: DataType) -> Sql:
    left, right = arguments
    return call(name, left.sql, right.sql if is_nonzero(right) else call("nullif", right.sql, raw("0")))


def _towards(name: str, arguments: Arguments, type: DataType) -> Sql:
    """ceil and floor."""
    operand = arguments[0]
    if len(arguments) > 1 and arguments[1].value is None:
        return constant(None, type)
    if operand.type not in (FLOAT, DOUBLE):
        return plain(name, arguments, type)
    if len(arguments) > 1:
        exact = try_cast(operand.sql, spark_type(operand.as_decimal))
        return call(name, exact, arguments[1].sql)
    fits = binary("<", call("abs", operand.sql), raw("9223372036854775808D"))
    not_a_number = call("isnan", operand.sql)
    return when((junction(exp.Or, [fits, not_a_number]), call(name, operand.sql)))


def _rounded(name: str, arguments: Arguments, type: DataType) -> Sql:
    operand = arguments[0]
    places = arguments[1].value if len(arguments) > 1 else 0
    if places is None:
        return constant(None, type)  # it is written as a number, but not one that INT can hold
    if not operand.is_integer or (isinstance(places, int) and places >= 0):
        return plain(name, arguments, type)
    exact = cast(operand.sql, spark_type(operand.as_decimal))
    return try_cast(call(name, exact, arguments[1].sql), spark_type(type))


def _place(name: str, arguments: Arguments, type: DataType) -> Sql:
    """locate and position: Spark's own finds nothing at a place that is NULL, and says 0."""
    found = plain(name, arguments, type)
    if len(arguments) < 3 or isinstance(arguments[2].value, int):
        return found
    return when((is_not_null(arguments[2].sql), found))


def _element_at(_: str, arguments: Arguments, __: DataType) -> Sql:
    collection, key = arguments
    place = key.sql
    if not isinstance(collection.type, Map) and not (isinstance(key.value, int) and key.value):
        place = call("nullif", place, raw("0"))
    return call("try_element_at", collection.sql, place)


def _size(_: str, arguments: Arguments, __: DataType) -> Sql:
    """Spark's own size of NULL is -1, or NULL in strict mode."""
    (collection,) = arguments
    is_map = isinstance(collection.type, Map)
    return call("array_size", call("map_keys", collection.sql) if is_map else collection.sql)


def _struct(name: str, arguments: Arguments, type: DataType) -> Sql:
    """The names are written out: a reference may have another name in the text than in the query."""
    assert isinstance(type, Struct)
    values = arguments[1::2] if name == "named_struct" else arguments
    parts = ((string(bare(field.name)), value.sql) for field, value in zip(type.fields, values, strict=True))
    return call("named_struct", *(part for pair in parts for part in pair))


Special = Callable[[str, Arguments, DataType], Sql]
SPECIAL: dict[str, Special] = {
    "abs": _absolute,
    "cardinality": _size,
    "ceil": _towards,
    "ceiling": _towards,
    "element_at": _element_at,
    "floor": _towards,
    "locate": _place,
    "mod": _remainder,
    "named_struct": _struct,
    "position": _place,
    "pmod": _positive_remainder,
    "regexp_replace": lambda _, arguments, __: patterns.regexp_replace(*arguments),
    "round": _rounded,
    "size": _size,
    "split": lambda _, arguments, __: patterns.split(*arguments),
    "struct": _struct,
    **TIMES,
}

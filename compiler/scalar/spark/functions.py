"""Calls of scalar functions: most are Spark's own, some can fail there or depend on the session."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from neelc.ir.expressions import BITWISE
from neelc.ir.names import bare
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)
from neelc.ir.types import Decimal as DecimalType
from neelc.runtime.values.functions.space import PREFIX, SPATIAL
from neelc.runtime.values.functions.times import DAYS_OF_WEEK
from neelc.runtime.values.times import Months
from neelc.scalar.spark.trees import (
    ATOM,
    BIT_OR,
    MICROSECOND,
    NTZ_EPOCH,
    UNARY,
    Constant,
    Sql,
    TypedSql,
    at,
    between,
    binary,
    call,
    cast,
    constant,
    field,
    interval,
    is_not_null,
    junction,
    raw,
    rlike,
    spark_type,
    string,
    text,
    try_cast,
    when,
)
from neelc.scalar.type_of import DATETIMES, INTERVALS

# Functions of dates and timestamps whose text is not a plain call.


def _same(_: str, arguments: Arguments, __: DataType) -> Sql:
    """to_date and to_timestamp: the binder's cast of the argument has done it."""
    return arguments[0].sql


def _unix(name: str, arguments: Arguments, _: DataType) -> Sql:
    """unix_seconds and its kin: before 4.3, Spark does not count those of a TIMESTAMP_NTZ, as if in UTC."""
    (moment,) = arguments
    if moment.type != TIMESTAMP_NTZ:
        return call(name, moment.sql)
    since = binary("-", moment.sql, raw(NTZ_EPOCH))
    return call(name, call("timestamp_micros", binary("DIV", since, raw(MICROSECOND))))


def _unix_timestamp(name: str, arguments: Arguments, _: DataType) -> Sql:
    (moment,) = arguments
    if moment.type == STRING:
        seconds = rlike(moment.sql, r"\A[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?!(?s:.))")
        return when((seconds, call(name, try_cast(moment.sql, "TIMESTAMP"))))
    return call(name, moment.sql)


def _timestamp_millis(name: str, arguments: Arguments, _: DataType) -> Sql:
    (count,) = arguments
    if count.type != BIGINT:
        return call(name, count.sql)
    return call("timestamp_micros", call("try_multiply", count.sql, raw("1000L")))


def _timestamp_seconds(name: str, arguments: Arguments, _: DataType) -> Sql:
    (count,) = arguments
    if count.type == BIGINT:
        return call("timestamp_micros", call("try_multiply", count.sql, raw("1000000L")))
    if not isinstance(count.type, Decimal):
        return call(name, count.sql)
    micros = call("timestamp_micros", try_cast(call("try_multiply", count.sql, raw("1000000")), "BIGINT"))
    if count.type.scale <= 6:
        return micros
    return when((binary("=", count.sql, call("round", count.sql, raw("6"))), micros))


def _in_units(name: str, arguments: Arguments, _: DataType) -> Sql:
    """The unit is a word of Spark's grammar."""
    unit, *moments = arguments
    return call(name, raw(str(unit.value).upper()), *(one.sql for one in moments))


def _of_parts(name: str, arguments: Arguments, type: DataType) -> Sql:
    return plain(name if name.startswith("try_") else f"try_{name}", arguments, type)


def _in_zones(name: str, arguments: Arguments, type: DataType) -> Sql:
    """from_utc_timestamp and its kin: a zone that there is not fails."""
    zones = arguments[:-1] if name == "convert_timezone" else arguments[1:]
    result = plain(name, arguments, type)
    return (
        result
        if all(isinstance(one.value, str) and _is_zone(one.value) for one in zones)
        else attempted(result, type)
    )


def _is_zone(name: str) -> bool:
    """Whether every Spark has a zone of that name: UTC, or an offset."""
    return re.fullmatch(r"UTC|[+-](0\d|1[0-7]):[0-5]\d", name) is not None


def _next_day(name: str, arguments: Arguments, type: DataType) -> Sql:
    known = str(arguments[1].value).upper() in DAYS_OF_WEEK
    return plain(name, arguments, type) if known else _attempted(name, arguments, type)


TIMES: dict[str, Callable[[str, Arguments, DataType], Sql]] = {
    "convert_timezone": _in_zones,
    "from_utc_timestamp": _in_zones,
    "make_date": lambda name, arguments, type: _attempted(name, arguments, type),
    "make_dt_interval": lambda name, arguments, type: _attempted(name, arguments, type),
    "make_timestamp": _of_parts,
    "make_timestamp_ltz": _of_parts,
    "make_timestamp_ntz": _of_parts,
    "make_ym_interval": lambda name, arguments, type: _attempted(name, arguments, type),
    "next_day": _next_day,
    "timestamp_millis": _timestamp_millis,
    "timestamp_seconds": _timestamp_seconds,
    "timestampdiff": _in_units,
    "to_date": _same,
    "to_timestamp": _same,
    "to_timestamp_ntz": lambda name, arguments, type: _attempted(name, arguments, type),
    "to_utc_timestamp": _in_zones,
    "unix_micros": _unix,
    "unix_millis": _unix,
    "unix_seconds": _unix,
    "unix_timestamp": _unix_timestamp,
}


# LIKE, and functions of regular expressions: a pattern that means nothing gives NULL.

_LIKES: dict[str, type[Sql]] = {"LIKE": exp.Like, "ILIKE": exp.ILike}
# Regular expressions that Java surely takes: characters, simple classes and escapes, groups, quantifiers.
_CHARACTER = r"[\w\s.,:;<>=!@#%&~'\"/^$-]|\\[dDwWsSbB.\\/+*?|()\[\]{}^$-]"
_CLASS = r"\[\^?(?:[\w\s.,:;/]|\w-\w|\\[dDwWsS.\\-])+-?\]"
_COUNT = r"[*+?]|\{\d{1,3}(?:,\d{0,3})?\}"
_TAKEN = re.compile(rf"(?:(?:{_CHARACTER}|{_CLASS})(?:{_COUNT})?|\||\((?:\?:)?(?![?*+{{])|\)[*+?]?)*\Z")


def like(operand: TypedSql, pattern: TypedSql, kind: str, escape: str | None) -> Sql:
    """`operand LIKE | ILIKE | RLIKE pattern [ESCAPE escape]`."""
    if kind not in _LIKES:
        return _matches(operand, pattern)
    mark = escape or "\\"
    test: Sql = _LIKES[kind](this=at(operand.sql, BIT_OR), expression=at(pattern.sql, BIT_OR))
    if escape is not None:
        test = exp.Escape(this=test, expression=string(escape))
    well_formed = _well_formed(mark)
    if pattern.value is None:
        shown = call("lower", pattern.sql) if kind == "ILIKE" else pattern.sql
        return when((rlike(shown, well_formed), test))
    given = str(pattern.value).lower() if kind == "ILIKE" else str(pattern.value)
    return test if re.match(well_formed, given) else constant(None, BOOLEAN)


def _well_formed(mark: str) -> str:
    """The patterns of LIKE in which each mark stands before `_`, `%` or itself."""
    escape = re.escape(mark) if mark in "\\^]-[&" else mark
    return rf"(?s)\A(?:[^{escape}]|{re.escape(mark)}[_%{escape}])*\z".replace(r"\z", r"(?!.)")


def _matches(operand: TypedSql, pattern: TypedSql) -> Sql:
    if _is_taken(pattern):
        return exp.RegexpLike(this=at(operand.sql, BIT_OR), expression=at(pattern.sql, BIT_OR))
    # Not RLIKE: it compiles a constant pattern before any CASE can keep it from failing.
    matched = binary(">", call("regexp_instr", operand.sql, pattern.sql), raw("0"))
    return when((_means_something(pattern), matched))


def _is_taken(pattern: TypedSql) -> bool:
    """Whether the pattern is written down and surely well formed."""
    value = pattern.value
    if not isinstance(value, str) or _TAKEN.match(value) is None:
        return False
    try:
        re.compile(value)
    except re.error:
        return False
    return True


def _means_something(pattern: TypedSql) -> Sql:
    # try_to_binary is the one function that makes NULL of any failure inside its argument.
    return is_not_null(_attempt(cast(call("regexp_instr", string(""), pattern.sql), "STRING")))


def _attempt(sql: Sql) -> Sql:
    return call("try_to_binary", sql, string("utf-8"))


def regexp_replace(operand: TypedSql, pattern: TypedSql, by: TypedSql, *start: TypedSql) -> Sql:
    """`start` is where to begin; Spark takes it only as a constant."""
    if start and not isinstance(start[0].value, int):
        return _replaced_from(operand, pattern, by, start[0].sql)
    plain = call("regexp_replace", operand.sql, pattern.sql, by.sql, *(one.sql for one in start))
    positive = all(isinstance(one.value, int) and one.value > 0 for one in start)
    if positive and _is_taken(pattern) and isinstance(by.value, str) and not set(by.value) & set("$\\"):
        return plain
    return cast(_attempt(plain), "STRING")


def _replaced_from(operand: TypedSql, pattern: TypedSql, by: TypedSql, start: Sql) -> Sql:
    rest = replace(operand, sql=call("substring", operand.sql, start), value=None)
    changed = call(
        "concat", call("left", operand.sql, binary("-", start, raw("1"))), regexp_replace(rest, pattern, by)
    )
    beyond = binary(">", start, call("greatest", call("length", operand.sql), raw("1")))
    known = [is_not_null(pattern.sql), is_not_null(by.sql)]
    return when((junction(exp.And, [beyond, *known]), operand.sql), (binary(">", start, raw("0")), changed))


def split(operand: TypedSql, pattern: TypedSql, *limit: TypedSql) -> Sql:
    plain = call("split", operand.sql, pattern.sql, *(one.sql for one in limit))
    return plain if _is_taken(pattern) else when((_means_something(pattern), plain))


def _extracted(name: str, arguments: Arguments, type: DataType) -> Sql:
    """regexp_extract and its kin: a group that the pattern does not have fails, where there is a match."""
    if name == "regexp_substr":
        # Spark's own compiles a constant pattern before anything can keep it from failing.
        first = _extracted("regexp_extract", (*arguments, TypedSql(raw("0"), INT, 0)), type)
        return call("nullif", first, string(""))
    result = plain(name, arguments, type)
    pattern, group = arguments[1], arguments[2].value if len(arguments) > 2 else 1
    counts_groups = name in ("regexp_extract", "regexp_extract_all")
    if _is_taken(pattern):
        groups = re.compile(str(pattern.value)).groups
        if not counts_groups or (isinstance(group, int) and 0 <= group <= groups):
            return result
    return attempted(result, type)


def attempted(result: Sql, type: DataType) -> Sql:
    """A value of that type, NULL where it cannot be computed."""
    if type == STRING:
        return cast(_attempt(result), "STRING")
    if type == BINARY:
        return call("unhex", cast(_attempt(call("hex", result)), "STRING"))
    if type == TIMESTAMP:
        micros = cast(_attempt(cast(call("unix_micros", result), "STRING")), "STRING")
        return call("timestamp_micros", try_cast(micros, "BIGINT"))
    if isinstance(type, Array | Map | Struct):
        return when((is_not_null(_attempt(cast(result, "STRING"))), result))
    return try_cast(cast(_attempt(cast(result, "STRING")), "STRING"), spark_type(type))


def _attempted(name: str, arguments: Arguments, type: DataType) -> Sql:
    return attempted(plain(name, arguments, type), type)


# Arithmetic as text that cannot fail: Spark's try_ functions, but only where an operation can fail.

TRY = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
MAX_PRECISION = 38


def unary(op: str, operand: TypedSql) -> Sql:
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


def _is_least(operand: TypedSql) -> bool:
    return operand.is_integer and operand.value == least(operand.type)


def least(type: DataType) -> int:
    """The least value of an integer type."""
    return -(1 << _BITS[str(type)] - 1)


def _zero(type: DataType) -> Sql:
    if type in INTERVALS:
        return interval(datetime.timedelta(0) if type == DAY_INTERVAL else Months(0))
    return constant(0, type)


def arithmetic(op: str, left: TypedSql, right: TypedSql, type: DataType) -> Sql:
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


def _operation(op: str, left: TypedSql, right: TypedSql, can_fail: bool) -> Sql:
    return call(TRY[op], left.sql, right.sql) if can_fail else binary(op, left.sql, right.sql)


def is_nonzero(divisor: TypedSql) -> bool:
    """Whether the divisor is a constant other than 0."""
    if isinstance(divisor.value, datetime.timedelta | Months):
        return divisor.value not in (datetime.timedelta(0), Months(0))
    return isinstance(divisor.value, int | float | decimal.Decimal) and divisor.value != 0


def _may_not_fit(op: str, left: TypedSql, right: TypedSql) -> bool:
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


def _quotient(left: TypedSql, right: TypedSql) -> Sql:
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


def _decimal_quotient(left: TypedSql, right: TypedSql) -> Sql:
    one, other = left.as_decimal, right.as_decimal
    divisor = right.sql if is_nonzero(right) else call("nullif", right.sql, raw("0"))
    if one.precision - one.scale + other.scale <= 18:
        return binary("DIV", left.sql, divisor)
    # Spark's DIV drops the digits that BIGINT has no room for.
    whole = call(
        "try_divide", call("try_subtract", left.sql, call("try_mod", left.sql, right.sql)), right.sql
    )
    return try_cast(whole, "BIGINT")


def _times(op: str, left: TypedSql, right: TypedSql) -> Sql:
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


def _difference(left: TypedSql, right: TypedSql) -> Sql:
    """Of two TIMESTAMPs it is one of clocks, an hour more or less where summer time begins or ends."""
    if DATE in (left.type, right.type):
        return binary("-", left.sql, right.sql)
    return call("try_subtract", left.sql, right.sql)


Arguments = tuple[TypedSql, ...]


def lambda_name(name: str) -> str:
    """How a lambda's parameter is called: not like a column.

    >>> lambda_name("x"), lambda_name("unit price")
    ('neelc_x', 'neelc_756e6974207072696365')
    """
    return f"neelc_{name if re.fullmatch('[A-Za-z0-9_]+', name) else name.encode().hex()}"


def lambda_function(names: Sequence[str], body: Sql) -> Sql:
    return exp.Lambda(this=body, expressions=[raw(lambda_name(name)) for name in names])


def function(name: str, arguments: Arguments, type: DataType) -> Sql:
    """The text of a call."""
    if name in SPECIAL:
        return SPECIAL[name](name, arguments, type)
    if name in SPATIAL:
        return plain(PREFIX + name, arguments, type)
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
    not_too_small = binary(">=", operand.sql, raw("-9223372036854775808D"))
    not_too_large = binary("<", operand.sql, raw("9223372036854775808D"))
    not_a_number = call("isnan", operand.sql)
    fits = junction(exp.And, [not_too_small, not_too_large])
    return when((junction(exp.Or, [fits, not_a_number]), call(name, operand.sql)))


MOST_PLACES = 38
"""For more places, Spark fails to round even a whole number, which stays what it is."""


def _rounded(name: str, arguments: Arguments, type: DataType) -> Sql:
    operand = arguments[0]
    places = arguments[1].value if len(arguments) > 1 else 0
    if places is None:
        return constant(None, type)  # it is written as a number, but not one that INT can hold
    if operand.is_integer and isinstance(places, int) and places > MOST_PLACES:
        return operand.sql
    if not operand.is_integer or (isinstance(places, int) and places >= 0):
        return plain(name, arguments, type)
    exact = cast(operand.sql, spark_type(operand.as_decimal))
    return try_cast(call(name, exact, arguments[1].sql), spark_type(type))


def _place(name: str, arguments: Arguments, type: DataType) -> Sql:
    """locate and position: Spark's own finds nothing at a place that is NULL, and says 0."""
    result = plain(name, arguments, type)
    if len(arguments) < 3 or isinstance(arguments[2].value, int):
        return result
    return when((is_not_null(arguments[2].sql), result))


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


def _slice(name: str, arguments: Arguments, type: DataType) -> Sql:
    """A place 0 and a length below 0 fail."""
    array, start, length = arguments
    place = start.sql if _is_nonzero(start) else call("nullif", start.sql, raw("0"))
    known = isinstance(length.value, int) and length.value >= 0
    count = length.sql if known else when((binary(">=", length.sql, raw("0")), length.sql))
    return call(name, array.sql, place, count)


def _array_insert(name: str, arguments: Arguments, type: DataType) -> Sql:
    array, number, value = arguments
    if _is_nonzero(number):
        return plain(name, arguments, type)
    return call(name, array.sql, call("nullif", number.sql, raw("0")), value.sql)


def _map(name: str, arguments: Arguments, type: DataType) -> Sql:
    """map and its kin fail where a key is NULL or there twice. To try and to see does not help: Spark's
    builder of maps keeps the keys of a row that failed."""
    return when((_are_keys(_keys_of(name, arguments)), plain(name, arguments, type)))


def _keys_of(name: str, arguments: Arguments) -> Sql:
    match name:
        case "map":
            return call("array", *(key.sql for key in arguments[::2]))
        case "map_concat":
            return call("concat", *(call("map_keys", one.sql) for one in arguments))
        case "map_from_entries":
            entries = arguments[0].type
            assert isinstance(entries, Array) and isinstance(entries.element, Struct)
            return raw(field(text(at(arguments[0].sql, ATOM)), bare(entries.element.fields[0].name)))
    return arguments[0].sql


def _are_keys(keys: Sql) -> Sql:
    """Whether no key is NULL, or there twice."""
    return binary(
        "=", call("array_size", call("array_distinct", call("array_compact", keys))), call("array_size", keys)
    )


def _map_from_arrays(name: str, arguments: Arguments, type: DataType) -> Sql:
    keys, values = arguments
    as_many = binary("=", call("array_size", keys.sql), call("array_size", values.sql))
    return when((junction(exp.And, [as_many, _are_keys(keys.sql)]), plain(name, arguments, type)))


def _str_to_map(name: str, arguments: Arguments, type: DataType) -> Sql:
    given, pairs, values = (*arguments, *DELIMITERS[len(arguments) - 1 :])
    split_pairs = call("split", given.sql, pairs.sql)
    first = text(call("get", call("split", raw("pair_"), values.sql, raw("2")), raw("0")))
    keys = call("transform", split_pairs, raw(f"pair_ -> {first}"))
    tests = [_means_something(one) for one in (pairs, values) if not _is_taken(one)]
    result = when((_are_keys(keys), plain(name, arguments, type)))
    return when((junction(exp.And, tests), result)) if tests else result


DELIMITERS = (TypedSql(string(","), STRING, ","), TypedSql(string(":"), STRING, ":"))


def _sequence(name: str, arguments: Arguments, type: DataType) -> Sql:
    """NULL where the steps lead away from the end, or are too many for an array."""
    start, stop, *step = (one.sql for one in arguments)
    span = call("try_subtract", cast(stop, "BIGINT"), cast(start, "BIGINT"))
    if not step:
        return when((between(span, raw(str(-LONGEST)), raw(str(LONGEST))), plain(name, arguments, type)))
    steps = binary("DIV", span, call("nullif", cast(step[0], "BIGINT"), raw("0L")))
    upwards = [binary(">", step[0], raw("0")), binary("<", start, stop)]
    downwards = [binary("<", step[0], raw("0")), binary(">", start, stop)]
    leads = junction(exp.Or, [junction(exp.And, upwards), junction(exp.And, downwards)])
    fits = junction(exp.And, [leads, binary("<", steps, raw(str(LONGEST)))])
    return when((binary("=", start, stop), call("array", start)), (fits, plain(name, arguments, type)))


LONGEST = 2**31 - 17
"""Steps of a sequence: arrays have one element more."""


def _is_nonzero(number: TypedSql) -> bool:
    return isinstance(number.value, int) and number.value != 0


def _struct(name: str, arguments: Arguments, type: DataType) -> Sql:
    """The names are written out: a reference may have another name in the text than in the query."""
    assert isinstance(type, Struct)
    values = arguments[1::2] if name == "named_struct" else arguments
    parts = ((string(bare(field.name)), value.sql) for field, value in zip(type.fields, values, strict=True))
    return call("named_struct", *(part for pair in parts for part in pair))


def _converted(name: str, arguments: Arguments, type: DataType) -> Sql:
    """conv, NULL for a number of more than 64 bits: some sessions fail there, others give the largest."""
    text, base, _ = arguments
    if not isinstance(base.value, int) or not 2 <= base.value <= 36:
        return constant(None, type)
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"[: base.value]
    known = call("regexp_extract", text.sql, string(f"(?i)^ *-?([{digits}]*)"), raw("1"))

    def number(part: Sql) -> Sql:
        found = try_cast(cast(_attempt(call(name, part, base.sql, raw("10"))), "STRING"), "DECIMAL(20, 0)")
        return call("if", binary("=", part, string("")), raw("0"), found)

    without_last = call("left", known, binary("-", call("length", known), raw("1")))
    total = binary("+", binary("*", number(without_last), base.sql), number(call("right", known, raw("1"))))
    return when((binary("<", total, raw(str(2**64))), plain(name, arguments, type)))


def _levenshtein(name: str, arguments: Arguments, type: DataType) -> Sql:
    """Spark's own takes a limit that is NULL for 0, unless it is constant."""
    result = plain(name, arguments, type)
    if len(arguments) < 3 or isinstance(arguments[2].value, int):
        return result
    return when((is_not_null(arguments[2].sql), result))


def _encoded(name: str, arguments: Arguments, type: DataType) -> Sql:
    """Only some characters have bytes in some character sets."""
    is_universal = str(arguments[1].value).upper().startswith("UTF")
    return plain(name, arguments, type) if is_universal else _attempted(name, arguments, type)


def _mask(name: str, arguments: Arguments, _: DataType) -> Sql:
    """Spark wants to see the NULLs that leave characters as they are."""
    text, *marks = arguments
    return call(name, text.sql, *(exp.Null() if mark.value is None else mark.sql for mark in marks))


def _split_part(name: str, arguments: Arguments, type: DataType) -> Sql:
    text, delimiter, number = arguments
    known = isinstance(number.value, int) and number.value
    return call(name, text.sql, delimiter.sql, number.sql if known else call("nullif", number.sql, raw("0")))


def _from_json(name: str, arguments: Arguments, type: DataType) -> Sql:
    """With the mode that Spark has anyway: with two arguments, from_json is how plans read cells of files.
    The schema is written again, because a name in it may be a reserved word."""
    schema, mode = string(spark_type(type)), call("map", string("mode"), string("PERMISSIVE"))
    return call(name, arguments[0].sql, schema, mode)


def _tried(name: str, arguments: Arguments, type: DataType) -> Sql:
    return plain(f"try_{name}", arguments, type)


def _variant_get(_: str, arguments: Arguments, type: DataType) -> Sql:
    return call("try_variant_get", arguments[0].sql, arguments[1].sql, string(spark_type(type)))


def _to_binary(_: str, arguments: Arguments, type: DataType) -> Sql:
    return plain("try_to_binary", arguments, type)


Special = Callable[[str, Arguments, DataType], Sql]


def _own_hash(name: str, arguments: Arguments, type: DataType) -> Sql:
    """Plans hash, too, and DuckDB may do that in its own way: what a query asks for stands in `coalesce`."""
    return call("coalesce", plain(name, arguments, type))


SPECIAL: dict[str, Special] = {
    "abs": _absolute,
    "array_insert": _array_insert,
    "bround": _rounded,
    "cardinality": _size,
    "ceil": _towards,
    "ceiling": _towards,
    "conv": _converted,
    "decode": _attempted,
    "element_at": _element_at,
    "elt": _attempted,
    "encode": _encoded,
    "floor": _towards,
    "from_json": _from_json,
    "levenshtein": _levenshtein,
    "locate": _place,
    "map": _map,
    "map_concat": _map,
    "map_from_arrays": _map_from_arrays,
    "map_from_entries": _map,
    "mask": _mask,
    "mod": _remainder,
    "parse_json": _tried,
    "named_struct": _struct,
    "position": _place,
    "pmod": _positive_remainder,
    "regexp_count": _extracted,
    "regexp_extract": _extracted,
    "regexp_extract_all": _extracted,
    "regexp_instr": _extracted,
    "regexp_replace": lambda _, arguments, __: regexp_replace(*arguments),
    "regexp_substr": _extracted,
    "round": _rounded,
    "sequence": _sequence,
    "size": _size,
    "slice": _slice,
    "split": lambda _, arguments, __: split(*arguments),
    "split_part": _split_part,
    "str_to_map": _str_to_map,
    "struct": _struct,
    "to_binary": _to_binary,
    "try_to_binary": _to_binary,
    "unbase64": _attempted,
    "url_decode": lambda _, arguments, type: plain("try_url_decode", arguments, type),
    **TIMES,
    "try_variant_get": _variant_get,
    "variant_get": _variant_get,
    "xxhash64": _own_hash,
}

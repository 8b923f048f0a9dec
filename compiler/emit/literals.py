"""Names, types and constants as Spark SQL writes them: whatever they hold, they end where they should."""

from __future__ import annotations

import datetime
import decimal
import re

from sqlglot import exp

from neelc.emit.syntax import Sql, cast, quoted, raw, string, text
from neelc.emit.words import KEYWORDS
from neelc.ir.moments import (
    Months,
    date_of,
    has_zone,
    instant_text,
    timestamp_ntz_of,
    timestamp_of,
    timestamp_text,
)
from neelc.ir.names import bare, quote
from neelc.ir.scalar import Literal
from neelc.ir.show_literal import show_literal
from neelc.ir.types import Array, DataType, Map, Simple, Struct
from neelc.ir.types import Decimal as DecimalType

MICROSECOND = "INTERVAL '0.000001' SECOND"
NTZ_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z", re.ASCII)


def alias(name: str) -> str:
    r"""A bare name where one is given, after AS and in types: quoted, unless it is a plain word that means
    nothing else.

    >>> print(alias("price"), alias("Price"), alias("select"), alias("a` --"))
    price `Price` `select` `a`` --`

    Spark replaces `${env:HOME}` and the like in a text before it reads it, quoted or not.

    >>> print(alias("${env:HOME}"))
    IDENTIFIER('`$\{env:HOME}`')
    """
    if _PLAIN.match(name) and name not in KEYWORDS:
        return name
    if _is_replaced(name):
        return f"IDENTIFIER({quoted(quote(name))})"
    return text(exp.to_identifier(name, quoted=True))


def identifier(name: str, of: str = "") -> str:
    """The column of that bare name, of the relation `of` or of the only one.

    >>> print(identifier("price"), identifier("Price", "l"), identifier("end"), identifier("größe"))
    price l.`Price` `end` `größe`

    With spark.sql.parser.quotedRegexColumnNames, what is not made of letters and digits is a regular
    expression between backticks, wherever a column can stand.

    >>> print(identifier("unit price"), identifier("x.y", "l"))
    IDENTIFIER('`unit price`') IDENTIFIER('l.`x.y`')
    """
    prefix = f"{of}." if of else ""
    if _is_word(name):
        return f"{prefix}{alias(name)}"
    return f"IDENTIFIER({quoted(prefix + quote(name))})"


def with_alias(text: str, name: str) -> str:
    """An expression as the column of that bare name.

    >>> print(with_alias("x + 1", "y"), with_alias("y", "y"), with_alias("`Y`", "Y"), sep=", ")
    x + 1 AS y, y, `Y`
    """
    return text if text == alias(name) == identifier(name) else f"{text} AS {alias(name)}"


def field(base: str, name: str) -> str:
    r"""The field of that bare name in the struct that an atom stands for.

    >>> print(field("r", "price"), field("r", "end"), field("r", "unit price"), field("r", "${env:HOME}"))
    r.price r.`end` r['unit price'] r['$\{env:HOME}']
    """
    return f"{base}.{alias(name)}" if _is_word(name) else f"{base}[{quoted(name)}]"


def _is_word(name: str) -> bool:
    """Whether Spark takes a name for one even where backticks hold regular expressions."""
    return all(c <= "\uffff" and (c.isalpha() or c.isdecimal() or c == "_") for c in name)


def _is_replaced(name: str) -> bool:
    """Whether backticks do not keep a name as it is: see `alias`; or it is no text at all."""
    return "${" in name or any("\ud800" <= character <= "\udfff" for character in name)


def spark_type(type: DataType) -> str:
    """The type as DDL.

    >>> from neelc.ir.types import INT, StructField
    >>> spark_type(Struct((StructField("`x y`", INT), StructField("z", Array(DecimalType(5, 2))))))
    'STRUCT<`x y`: INT, z: ARRAY<DECIMAL(5, 2)>>'
    """
    match type:
        case Simple(name):
            return name
        case DecimalType(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case Array(element):
            return f"ARRAY<{spark_type(element)}>"
        case Map(key, value):
            return f"MAP<{spark_type(key)}, {spark_type(value)}>"
        case Struct(fields):
            inside = ", ".join(f"{alias(bare(f.name))}: {spark_type(f.type)}" for f in fields)
            return f"STRUCT<{inside}>"
    raise AssertionError(f"{type} has no text")


def literal(value: object, type: DataType) -> str:
    """The text of a constant of that type.

    >>> from neelc.ir.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP
    >>> print(literal(5, BIGINT), literal(-1.5, DOUBLE), literal("x", STRING), literal(None, INT))
    5L -1.5D 'x' CAST(NULL AS INT)
    >>> print(literal("2020-01-31 12:00:00+02:00", TIMESTAMP), literal("2020-1-31", TIMESTAMP))
    TIMESTAMP '2020-01-31 10:00:00Z' TIMESTAMP '2020-01-31 00:00:00'
    """
    return text(constant(value, type))


def constant(value: object, type: DataType) -> Sql:
    """A constant as a tree."""
    match value:
        case None:
            return exp.Null() if type == Simple("VOID") else cast(exp.Null(), spark_type(type))
        case decimal.Decimal():
            return _decimal(value, type)
        case bytes() | bool():
            return raw(show_literal(Literal(value, type)))
        case int() | float():
            return _number(Literal(value, type))
        case datetime.timedelta() | Months():
            return interval(value)
        case str() if type == Simple("STRING"):
            return string(value)
    return _moment(value, type)


def _number(node: Literal) -> Sql:
    shown = show_literal(node)
    return exp.Neg(this=raw(shown[1:])) if shown.startswith("-") else raw(shown)


def _decimal(value: decimal.Decimal, type: DataType) -> Sql:
    number = _number(Literal(value, type))
    scale = max(-int(value.as_tuple().exponent), 0)
    written = max(len(format(abs(value), "f").replace(".", "").lstrip("0")), scale, 1)
    return number if type == DecimalType(written, scale) else cast(number, spark_type(type))


def _moment(value: object, type: DataType) -> Sql:
    """A date or a timestamp, given as one or as the text of one. An instant is written in UTC; a text
    without a zone stays without, so that it is read in that of the session that runs the query."""
    assert isinstance(type, Simple), type
    match type.name, value:
        case "DATE", _:
            date = date_of(value) if isinstance(value, str) else value
            return raw(f"DATE '{date}'")
        case "TIMESTAMP", str() | datetime.datetime():
            if isinstance(value, str) and not has_zone(value):
                local = timestamp_ntz_of(value)
                assert local is not None
                return raw(f"TIMESTAMP '{timestamp_text(local)}'")
            instant = timestamp_of(value) if isinstance(value, str) else value
            assert instant is not None
            return raw(f"TIMESTAMP '{instant_text(instant)}'")
        case "TIMESTAMP_NTZ", str() | datetime.datetime():
            local = timestamp_ntz_of(value) if isinstance(value, str) else value
            assert local is not None
            return raw(f"TIMESTAMP_NTZ '{timestamp_text(local)}'")
    raise AssertionError(f"{value!r} is no constant of {type}")


_LENGTHS = {
    "DAY": datetime.timedelta(days=1),
    "HOUR": datetime.timedelta(hours=1),
    "MINUTE": datetime.timedelta(minutes=1),
}


def interval(value: datetime.timedelta | Months) -> Sql:
    """An interval constant, in the largest unit that it is a whole number of.

    >>> text(interval(datetime.timedelta(hours=26))), text(interval(datetime.timedelta(seconds=-1.5)))
    ("INTERVAL '26' HOUR", "INTERVAL '-1.5' SECOND")
    """
    if isinstance(value, Months):
        years, rest = divmod(value.count, 12)
        return raw(f"INTERVAL '{value.count}' MONTH" if rest or not years else f"INTERVAL '{years}' YEAR")
    for unit, length in _LENGTHS.items():
        if not value % length:
            return raw(f"INTERVAL '{value // length}' {unit}")
    microseconds = value // datetime.timedelta(microseconds=1)
    seconds = decimal.Decimal(microseconds).scaleb(-6).normalize()
    return raw(f"INTERVAL '{seconds:f}' SECOND")

"""Data and the columns that their stream declares: do they fit? For all engines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neelc.catalog.readers.text import CellTable
from neelc.engines.spark.relations import Items
from neelc.engines.spark.scans import by_format
from neelc.errors import Diagnostic, NeelError
from neelc.ir.program import Column, Stream
from neelc.ir.types import (
    BINARY,
    DOUBLE,
    FLOAT,
    GEOMETRY,
    SIMPLE_TYPES,
    STRING,
    DataType,
    Decimal,
    SimpleType,
    stored,
)
from neelc.runtime.values.functions.space import PREFIX
from neelc.scalar.operators import is_number
from neelc.scalar.spark.trees import identifier, spark_type
from neelc.source import Source, Span

_INTEGERS = [SIMPLE_TYPES[name] for name in ("TINYINT", "SMALLINT", "INT", "BIGINT")]
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}


def table_without_rows(columns: Iterable[Column], name: str) -> CellTable:
    """The columns of a stream's data as a table: the names are the line that messages show."""
    types = {column.name: column.type for column in columns}
    return CellTable(Source(", ".join(types), f"stream {name}"), list(types), (), declared=types)


def fitted_columns(columns: Sequence[Column], stream: Stream) -> Items | None:
    """What makes the columns of a stream out of those of its data, in Spark's SQL; None if they are these
    already.

    Raises `NeelError` if one is missing, or of a type whose values the declared one does not hold.
    """
    table = table_without_rows(columns, stream.name)
    positions = table.positions(stream.own_columns)
    there = [table.columns()[at] for at in positions if at is not None]
    pairs = list(zip(stream.own_columns, there, strict=True))
    texts = stream.texts
    wrong = [
        _misfit(column, found, table)
        for column, found in pairs
        if not holds(column.type, found.type) and not (column.name in texts and found.type == STRING)
    ]
    if wrong:
        raise NeelError(wrong, table.source)
    if all(column == found and found.type != GEOMETRY for column, found in pairs):
        return None
    return tuple((_expression(column, found, stream), column.name) for column, found in pairs)


def _expression(column: Column, found: Column, stream: Stream) -> str:
    text = identifier(found.name)
    if column.name in stream.texts and found.type == STRING:
        return by_format(found.name, stream.timestamp_format or "", stream.name)
    if column.type == GEOMETRY and found.type == BINARY:
        return f"{PREFIX}st_geomfromwkb({text})"
    if found.type == GEOMETRY:  # Spark's own, which no other engine has
        return f"{PREFIX}st_geomfromwkb(st_asbinary({text}))"
    return text if stored(column.type) == stored(found.type) else f"CAST({text} AS {spark_type(column.type)})"


def _misfit(column: Column, found: Column, table: CellTable) -> Diagnostic:
    before = list(table.names)[: list(table.names).index(found.name)]
    at = sum(len(name) + len(", ") for name in before)
    message = f"column `{found.name}` is of type {found.type}, but declared as {column.type}"
    hint = "declare it with that type, or cast it first"
    return Diagnostic("NEEL5003", message, Span(at, at + len(found.name)), hint)


def holds(wide: DataType, narrow: DataType) -> bool:
    """Whether every value of `narrow` is a value of `wide`, or can be written as one: STRING holds all,
    and a GEOMETRY may be a text or bytes.

    >>> from neelc.ir.types import BIGINT, INT, TIMESTAMP
    >>> holds(BIGINT, INT), holds(INT, BIGINT), holds(STRING, TIMESTAMP), holds(Decimal(10, 0), INT)
    (True, False, True, True)
    """
    if wide == GEOMETRY:
        return narrow in (GEOMETRY, STRING, BINARY, SIMPLE_TYPES["VOID"])
    match wide, narrow:
        case _ if wide == narrow or narrow == SIMPLE_TYPES["VOID"]:
            return True
        case Decimal(precision, scale), Decimal(digits, places):
            return scale >= places and precision - scale >= digits - places
        case Decimal(precision, scale), SimpleType(name) if name in _DIGITS:
            return precision - scale >= _DIGITS[name]
        case SimpleType(), SimpleType() if wide in _INTEGERS and narrow in _INTEGERS:
            return _INTEGERS.index(wide) >= _INTEGERS.index(narrow)
    if wide == DOUBLE:
        return is_number(narrow)
    return (wide == FLOAT and narrow in _INTEGERS[:2]) or (
        wide == STRING and isinstance(narrow, SimpleType | Decimal)
    )

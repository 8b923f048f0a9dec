"""A DataFrame and the columns that its stream declares: do they fit?"""

from __future__ import annotations

from neelc.api.schemas import columns_of
from neelc.api.streams import Frame
from neelc.bind.coercion import is_number
from neelc.data.delimited import CellTable
from neelc.emit.file_values import by_format
from neelc.emit.literals import alias, identifier, spark_type
from neelc.errors import Diagnostic, NeelError
from neelc.ir.logical import Column, Stream
from neelc.ir.types import DOUBLE, FLOAT, SIMPLE_TYPES, STRING, DataType, Decimal, Simple
from neelc.source import Source, Span

_INTEGERS = [SIMPLE_TYPES[name] for name in ("TINYINT", "SMALLINT", "INT", "BIGINT")]
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}


def table_of(frame: Frame, name: str) -> CellTable:
    """The columns of a DataFrame as a table without rows: the names are the line that messages show."""
    columns = columns_of(frame.schema)
    names = [column.name for column in columns]
    source = Source(", ".join(names), f"stream {name}")
    return CellTable(source, names, (), declared={column.name: column.type for column in columns})


def fitted(frame: Frame, stream: Stream) -> Frame:
    """The DataFrame with the columns of the stream: `frame` itself if it has them.

    Raises `NeelError` if one is missing, or of a type whose values the declared one does not hold.
    """
    table = table_of(frame, stream.name)
    positions = table.positions(stream.columns)
    there = [table.columns()[at] for at in positions if at is not None]
    pairs = list(zip(stream.columns, there, strict=True))
    texts = stream.texts
    wrong = [
        _misfit(column, found, table)
        for column, found in pairs
        if not holds(column.type, found.type) and not (column.name in texts and found.type == STRING)
    ]
    if wrong:
        raise NeelError(wrong, table.source)
    if all(column == found for column, found in pairs):
        return frame
    return frame.selectExpr(*(_expression(column, found, stream) for column, found in pairs))


def _expression(column: Column, found: Column, stream: Stream) -> str:
    text = identifier(found.name)
    if column.name in stream.texts and found.type == STRING:
        read = by_format(found.name, stream.timestamp_format or "", stream.name)
        return f"{read} AS {alias(column.name)}"
    value = text if column.type == found.type else f"CAST({text} AS {spark_type(column.type)})"
    return f"{value} AS {alias(column.name)}"


def _misfit(column: Column, found: Column, table: CellTable) -> Diagnostic:
    before = list(table.names)[: list(table.names).index(found.name)]
    at = sum(len(name) + len(", ") for name in before)
    message = f"column `{found.name}` is of type {found.type}, but declared as {column.type}"
    hint = "declare it as it is, or cast it before"
    return Diagnostic("NEEL5003", message, Span(at, at + len(found.name)), hint)


def holds(wide: DataType, narrow: DataType) -> bool:
    """Whether every value of `narrow` is a value of `wide`, or can be written as one: STRING holds all.

    >>> from neelc.ir.types import BIGINT, INT, TIMESTAMP
    >>> holds(BIGINT, INT), holds(INT, BIGINT), holds(STRING, TIMESTAMP), holds(Decimal(10, 0), INT)
    (True, False, True, True)
    """
    match wide, narrow:
        case _ if wide == narrow or narrow == SIMPLE_TYPES["VOID"]:
            return True
        case Decimal(precision, scale), Decimal(digits, places):
            return scale >= places and precision - scale >= digits - places
        case Decimal(precision, scale), Simple(name) if name in _DIGITS:
            return precision - scale >= _DIGITS[name]
        case Simple(), Simple() if wide in _INTEGERS and narrow in _INTEGERS:
            return _INTEGERS.index(wide) >= _INTEGERS.index(narrow)
    if wide == DOUBLE:
        return is_number(narrow)
    return (wide == FLOAT and narrow in _INTEGERS[:2]) or (
        wide == STRING and isinstance(narrow, Simple | Decimal)
    )

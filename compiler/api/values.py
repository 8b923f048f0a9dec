"""Rows of Spark as rows of the reference interpreter, so that both are printed alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from neelc.files import CallError
from neelc.ir.logical import Column
from neelc.ir.moments import UTC, in_zone, zone_of
from neelc.ir.names import bare
from neelc.ir.types import BINARY, TIMESTAMP, Array, DataType, Map, Struct

TIME_ZONE = "spark.sql.session.timeZone"


@contextmanager
def clock_of(spark: Any) -> Iterator[None]:
    """What is read, judged and printed inside has the clock of a session of Spark."""
    name = str(spark.conf.get(TIME_ZONE))
    try:
        zone = zone_of(name)
    except ValueError:
        raise CallError(f"{TIME_ZONE}={name}: this Python knows no such time zone") from None
    with in_zone(zone):
        yield


def values_of(rows: Iterable[Sequence[Any]], columns: Sequence[Column]) -> Iterator[tuple[object, ...]]:
    """The rows with values as `neelc.data.values` describes them."""
    types = [column.type for column in columns]
    for row in rows:
        yield tuple(value_of(value, type) for value, type in zip(row, types, strict=True))


def value_of(value: Any, type: DataType) -> object:
    """
    >>> from neelc.ir.types import INT, StructField
    >>> value_of([(1,), None], Array(Struct((StructField("x", INT),))))
    [{'x': 1}, None]
    """
    match type, value:
        case _, None:
            return None
        case Array(element), _:
            return [value_of(item, element) for item in value]
        case Struct(fields), _:
            return {bare(f.name): value_of(item, f.type) for f, item in zip(fields, value, strict=True)}
        case Map(of, to), _:
            return {value_of(key, of): value_of(item, to) for key, item in value.items()}
    if type == TIMESTAMP:  # PySpark gives it in the local time of this process
        return value.astimezone(UTC)
    return bytes(value) if type == BINARY else value

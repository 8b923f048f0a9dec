"""Operations that the runtime computes for DuckDB, as functions of Arrow arrays: row by row, as its table
says. And values of Arrow as those of the runtime, and back."""

from __future__ import annotations

import datetime
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from neelc.catalog.readers.text import TypeMismatch, from_text
from neelc.ir.expressions import DeclaredFunction
from neelc.ir.names import bare
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    GEOMETRY,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    VOID,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)
from neelc.runtime.failures import FailureContext
from neelc.runtime.program import Apply, ColumnValue, Constant, Value
from neelc.runtime.space_columns import column_of_space
from neelc.runtime.values.datetime_patterns import timestamp_by
from neelc.runtime.values.functions.space import SPATIAL
from neelc.runtime.values.operations import compiled
from neelc.runtime.values.order import extreme
from neelc.runtime.values.scalars import FAILURES, binary, half_up
from neelc.runtime.values.statistics import STATISTICS, mode, percentiles
from neelc.runtime.values.times import Months, day_interval
from neelc.runtime.values.types import ValueType, fit
from neelc.runtime.vector_columns import column_of_call
from neelc.runtime.worker import explained
from neelc.scalar.duckdb.pieces import EvaluatedCall, duck_type
from neelc.scalar.duckdb.variants import JSON_OF
from neelc.scalar.functions import READERS
from neelc.scalar.type_of import value_type
from neelc.scalar.variants import variant_json

if TYPE_CHECKING:
    import pyarrow as pa


def register(
    connection: Any, calls: Iterable[EvaluatedCall], clock: Callable[[], AbstractContextManager[object]]
) -> None:
    """Give a connection the functions that it calls. `clock` makes the session's time zone that of the
    runtime."""
    for call in calls:
        connection.create_function(
            call.name,
            _function(call, clock),
            [duck_type(type) for type in call.operands],
            duck_type(call.type),
            type="arrow",
            null_handling="special",
        )


def _function(
    call: EvaluatedCall, clock: Callable[[], AbstractContextManager[object]]
) -> Callable[..., pa.Array]:
    import pyarrow as pa

    if call.declared is not None:
        return _with_places(_declared(call.declared), len(call.operands))
    if call.operation in SPATIAL:
        return _with_places(_spatial(call), len(call.operands))
    fixed = dict(call.constants)
    given = iter(range(len(call.operands)))
    operands: list[Value] = [
        Constant(fixed[place]) if place in fixed else ColumnValue("", str(next(given)))
        for place in range(len(call.operands) + len(fixed))
    ]
    value = Apply(call.operation, tuple(operands), value_type(call.type))
    own = OTHER_OPERATIONS.get(call.operation)
    if call.operation == JSON_OF:
        own = partial(variant_json, kind=call.operands[0])
    elif call.operation == "from_json of a cell":
        own = _reading(call.type)
    elif own is not None and fixed:
        own = _with_constants(own, [fixed[place] for place in sorted(fixed)])
    # A VARIANT is a JSON text, and these read it.
    as_text = call.operation in READERS
    readers = [_same if as_text and type == VARIANT else reader_of(type) for type in call.operands]
    write, type = writer_of(call.type), arrow_type(call.type)
    made: list[Callable[[Sequence[Any]], Any]] = []

    def function(*arrays: Any) -> Any:
        with clock():
            if not made:  # what is constant is computed by the clock of the session
                made.append(
                    _own(own, value_type(call.type)) if own else compiled(value, lambda one: int(one.name))
                )
            (compute,) = made
            columns = [values_of(array, read) for read, array in zip(readers, arrays, strict=True)]
            found = (compute(row) for row in zip(*columns, strict=True))
            return pa.array([None if one is None else write(one) for one in found], type)

    return _with_places(function, len(readers))


def _with_places(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """DuckDB asks how many arguments there are."""
    places = [inspect.Parameter(f"x{place}", inspect.Parameter.POSITIONAL_ONLY) for place in range(count)]
    function.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]
    return function


def _declared(function: DeclaredFunction) -> Callable[..., Any]:
    """A function of users, of whole arrays."""
    takes, python = tuple(map(str, function.takes)), function.python
    assert python is not None, "spelled with Python code only"

    def call(*arrays: Any) -> Any:
        solid = [one.combine_chunks() if hasattr(one, "combine_chunks") else one for one in arrays]
        return column_of_call(function.name, python, takes, str(function.returns), solid)

    return call


def _spatial(called: EvaluatedCall) -> Callable[..., Any]:
    """A function of geometries, of whole arrays."""
    fixed = dict(called.constants)

    def call(*arrays: Any) -> Any:
        solid = [one.combine_chunks() if hasattr(one, "combine_chunks") else one for one in arrays]
        with explained(FailureContext(held="the rows of a query")):
            return column_of_space(called.operation, solid, fixed)

    return call


# Operations that Spark's texts need and the language does not have.


def _reading(type: DataType) -> Callable[[str], object]:
    """from_json: what the reference's reader makes of a cell."""

    def read(text: str) -> object:
        try:
            return from_text(text, type)
        except TypeMismatch:
            return None

    return read


def _with_constants(operation: Callable[..., object], constants: Sequence[object]) -> Callable[..., object]:
    return lambda *operands: operation(*operands, *constants)


OTHER_OPERATIONS: dict[str, Callable[..., object]] = {
    **STATISTICS,
    "array_max": lambda values: extreme(values, 1),
    "array_min": lambda values: extreme(values, -1),
    "average of days": lambda total, count: day_interval(half_up(int(total), int(count))),
    "average of months": lambda total, count: Months(half_up(int(total), int(count))),
    "try_to_timestamp": lambda text, pattern: timestamp_by(pattern, text),
    "mode": mode,
    "percentiles": percentiles,
    "sum": lambda values: reduce(partial(binary, "+"), values) if values else None,
}
"""Of values that are not NULL. Where they fail, there is NULL."""


def _own(operation: Callable[..., object], type: ValueType) -> Callable[[Sequence[Any]], Any]:
    def compute(row: Sequence[Any]) -> object:
        try:
            return None if any(one is None for one in row) else fit(operation(*row), type)
        except FAILURES:
            return None

    return compute


# Values of Arrow as the runtime has them, and back.


def values_of(array: Any, read: Callable[[Any], Any]) -> list[Any]:
    """The values of an array. Times too far away for Python are NULL."""
    try:
        values = array.to_pylist()
    except (OverflowError, ValueError):
        values = [_value_of(one) for one in array]
    return [None if one is None else read(one) for one in values]


def _value_of(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return None


UTC = datetime.UTC


def _same(value: Any) -> Any:
    return value


def reader_of(type: DataType) -> Callable[[Any], Any]:
    """Of Arrow's values those of the runtime."""
    match type:
        case Array(element):
            read = reader_of(element)
            return lambda values: [None if one is None else read(one) for one in values]
        case Map(key, value):
            key_reader, value_reader = reader_of(key), reader_of(value)
            return lambda pairs: {
                key_reader(one): None if other is None else value_reader(other) for one, other in pairs
            }
        case Struct(fields):
            readers = {bare(field.name): reader_of(field.type) for field in fields}
            return lambda row: {
                name: None if row[name] is None else read(row[name]) for name, read in readers.items()
            }
    if type == TIMESTAMP:
        return lambda moment: moment.astimezone(UTC)
    if type == DAY_INTERVAL:
        return lambda micros: datetime.timedelta(microseconds=micros)
    if type == YEAR_INTERVAL:
        return Months
    return json.loads if type == VARIANT else _same


def writer_of(type: DataType) -> Callable[[Any], Any]:
    """Of the runtime's values those of Arrow."""
    match type:
        case Array(element):
            write = writer_of(element)
            return lambda values: [None if one is None else write(one) for one in values]
        case Map(key, value):
            key_writer, value_writer = writer_of(key), writer_of(value)
            return lambda found: [
                (key_writer(one), None if other is None else value_writer(other))
                for one, other in found.items()
            ]
        case Struct(fields):
            writers = {bare(field.name): writer_of(field.type) for field in fields}
            return lambda row: {
                name: None if row[name] is None else write(row[name]) for name, write in writers.items()
            }
    if type == DAY_INTERVAL:
        return lambda span: span // datetime.timedelta(microseconds=1)
    if type == YEAR_INTERVAL:
        return lambda span: span.count
    return _same


def arrow_type(type: DataType) -> pa.DataType:
    """The type of Arrow that DuckDB has for a type."""
    import pyarrow as pa

    match type:
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element):
            return pa.list_(arrow_type(element))
        case Map(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Struct(fields):
            return pa.struct([(bare(field.name), arrow_type(field.type)) for field in fields])
    simple: dict[DataType, pa.DataType] = {
        VOID: pa.int32(),
        BOOLEAN: pa.bool_(),
        TINYINT: pa.int8(),
        SMALLINT: pa.int16(),
        INT: pa.int32(),
        BIGINT: pa.int64(),
        FLOAT: pa.float32(),
        DOUBLE: pa.float64(),
        STRING: pa.string(),
        BINARY: pa.binary(),
        GEOMETRY: pa.string(),
        DATE: pa.date32(),
        TIMESTAMP: pa.timestamp("us", "UTC"),
        TIMESTAMP_NTZ: pa.timestamp("us"),
        DAY_INTERVAL: pa.int64(),
        YEAR_INTERVAL: pa.int32(),
        VARIANT: pa.string(),
    }
    return simple[type]

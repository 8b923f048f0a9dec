"""Columns of Arrow as the Python values that functions of users are given, and back."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from neelc.runtime.failures import FailureContext
from neelc.runtime.kernels.events import NullableArray, Numbers
from neelc.runtime.kernels.frontier import EventLists
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import Fold
from neelc.runtime.user_functions import Function, called, needed
from neelc.runtime.values import arithmetic
from neelc.runtime.values.arithmetic import Array
from neelc.runtime.worker import explained

_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(-?\d+)\)\Z")

TYPES: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "GEOMETRY": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}


def arrow_type(text: str) -> pa.DataType:
    """The type that Spark writes so.

    >>> arrow_type("ARRAY<DECIMAL(5, 2)>")
    ListType(list<item: decimal128(5, 2)>)
    """
    if text.startswith("ARRAY<"):
        return pa.list_(arrow_type(text[len("ARRAY<") : -1]))
    if size := _DECIMAL.match(text):
        return pa.decimal128(int(size[1]), int(size[2]))
    return TYPES[text]


def python_values(column: pa.Array) -> list[object]:
    """The values as the reference interpreter has them: moments in UTC, structs and maps as dictionaries.

    >>> python_values(pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32())))
    [{'a': 1}, None]
    """
    solid = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    change, found = _change(solid.type), solid.to_pylist()
    if change is None:
        return list(found)
    return [None if value is None else change(value) for value in found]


Change = Callable[..., object]


def _change(type: pa.DataType) -> Change | None:
    """What is to be done with values of a type that are not NULL; None: nothing."""
    if pa.types.is_timestamp(type):
        return None if type.tz is None else _in_utc
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        inner = _change(type.value_type)
        return None if inner is None else lambda value: [_changed(one, inner) for one in value]
    if pa.types.is_map(type):
        key, item = _change(type.key_type), _change(type.item_type)
        return lambda value: {_changed(one, key): _changed(other, item) for one, other in value}
    if pa.types.is_struct(type):
        fields = {field.name: _change(field.type) for field in type}
        return lambda value: {name: _changed(value[name], change) for name, change in fields.items()}
    return None


def _changed(value: object, change: Change | None) -> object:
    return value if value is None or change is None else change(value)


def _in_utc(value: datetime.datetime) -> datetime.datetime:
    return value.astimezone(datetime.UTC)


def as_column(values: Sequence[object], type: str) -> pa.Array:
    """Values of a type, as a column."""
    return pa.array(values, arrow_type(type))


# Users' functions of the lists of complete matches: columns of lists become columns of results.

Call = tuple[str, str, str, str]
"""The name of a function, the column of its lists, that of its results, and their type."""


def aggregated(frame: Any, calls: Sequence[Call], aggregates: Mapping[str, Function]) -> Any:
    """The DataFrame with a column for each call in place of the column of its lists."""
    functions = needed(aggregates, (name for name, *_ in calls))
    rest = frame.drop(*(column for _, column, *_ in calls))
    # An own word for the schema would have to say all columns of the matches again.
    shape = rest.selectExpr("*", *(f"CAST(NULL AS {type}) AS `{result}`" for *_, result, type in calls))
    return frame.mapInArrow(partial(_run, tuple(calls), functions), shape.schema)


def _run(
    calls: Sequence[Call], functions: Mapping[str, Function], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    lists = {column for _, column, *_ in calls}
    for batch in batches:
        with explained(FailureContext(held="the lists of matches")):
            columns = {name: batch.column(name) for name in batch.schema.names if name not in lists}
            for name, column, result, type in calls:
                values = [called(name, functions[name], type, one) for one in _values(batch.column(column))]
                columns[result] = as_column(values, type)
            yield pa.RecordBatch.from_pydict(columns)


def _values(lists: pa.Array) -> Iterator[list[Any]]:
    """The values of each list; none where there is no list."""
    for value in python_values(lists):
        yield value if isinstance(value, list) else []


# Aggregates that users register, for many lists at once: one call of Python for each list that is new.
#
# A list is identified by the numbers of its events, and one list is part of many partial matches: the
# result of a function for it is cached.

MOST_CACHED = 100_000
"""How many results are cached."""

Members = tuple[int, ...]
"""The numbers of a list's events; -1 where an iteration has none."""


@dataclass(frozen=True, eq=False)
class UserCall:
    """A function and the values that events have for it, which are looked at when the first list is.

    `offset` is the number of the first event: events may be cut into groups."""

    fold: Fold
    function: Function
    column: Callable[[], Sequence[object]]
    offset: int = 0
    cache: dict[Members, object] = field(default_factory=dict)

    @cached_property
    def values(self) -> Sequence[object]:
        return self.column()

    def moved(self, offset: int) -> UserCall:
        """For events whose numbers begin that much later."""
        return replace(self, column=lambda: self.values, offset=self.offset + offset, cache={})

    def ordered(self, order: Numbers) -> UserCall:
        """For the same events in another order, which has the number that each had."""
        return replace(self, column=lambda: [self.values[number] for number in order.tolist()], cache={})

    def of(self, members: Members) -> object:
        """What the function gives for a list."""
        if members not in self.cache:
            if len(self.cache) >= MOST_CACHED:
                self.cache.clear()
            values = [None if number < 0 else self.values[number + self.offset] for number in members]
            self.cache[members] = self._called(values)
        return self.cache[members]

    def _called(self, values: list[object]) -> object:
        fold = self.fold
        if fold.of_values:
            return self.function(values)
        return called(fold.function, self.function, str(fold.type or ""), values)


def nothing(rows: int) -> Array:
    """Empty lists, to be grown: an array of tuples, whose parts go where their rows do."""
    return np.fromiter((() for _ in range(rows)), object, rows)


def grown(lists: Array, numbers: Numbers) -> Array:
    """With one more event in each list.

    >>> grown(grown(nothing(2), np.array([7, 8])), np.array([9, 9])).tolist()
    [(7, 9), (8, 9)]
    """
    pairs = zip(lists, numbers.tolist(), strict=True)
    # Where there was no list, there may be a 0: what `Frontier` fills columns with.
    return np.fromiter(((*(one or ()), number) for one, number in pairs), object, len(numbers))


def members(lists: EventLists) -> Iterable[Members]:
    """The events of each row's list; none, if there is no list."""
    for begin, length in zip(lists.begin.tolist(), lists.length.tolist(), strict=True):
        yield tuple(lists.pool[begin : begin + max(length, 0)].tolist())


def results(call: UserCall, lists: Iterable[Members]) -> NullableArray:
    """What the function gives for each of the lists, as numbers or truth values; or, of one that is of values
    as Python has them, as such."""
    found = [call.of(tuple(one or ())) for one in lists]
    valid = np.array([value is not None for value in found], bool)
    if call.fold.of_values:
        return NullableArray(np.fromiter(found, object, len(found)), valid)
    type = call.fold.type
    assert isinstance(type, str), "numbers or truth values"
    kind = np.bool_ if type == "boolean" else np.float64 if type in ("float", "double") else np.int64
    values = np.array([kind() if value is None else value for value in found], kind)
    return arithmetic.cast(NullableArray(values, valid), type)

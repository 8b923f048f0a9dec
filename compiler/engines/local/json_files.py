"""Files with a JSON object on each line as queries of DuckDB, with the reference interpreter's values.

DuckDB finds the lines and takes the values out of them. A value of the form that its type usually has is
DuckDB's own; all others, and all values of a line that DuckDB might read in another way, are made from the
line by the reference's reader, one by one: so is what does not fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count, islice

import pyarrow as pa

from neelc.catalog.data_files import DataFile, as_pattern
from neelc.catalog.readers.text import TypeMismatch, from_value, position, read_json, shortened
from neelc.engines.local.csv_files import BYTE_ORDER_MARK, HEAD, check_harmless, chunks_of
from neelc.engines.local.functions import arrow_type, writer_of
from neelc.engines.local.program import Types
from neelc.engines.local.tables import DataScan, DuckFunction
from neelc.errors import NeelError
from neelc.ir.names import bare
from neelc.ir.program import Column
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Array,
    DataType,
    Decimal,
    Struct,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.pieces import EvaluatedCall, NameScope, duck_type, quoted, text_literal
from neelc.scalar.duckdb.spelling import spelled
from neelc.source import Source

_HARMLESS: dict[str, tuple[str, ...]] = {
    "mode": ("failfast",),
    "multiline": ("false",),
    "encoding": ("utf-8", "utf8"),
    "recursivefilelookup": ("false",),
}

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
DATETIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)

# What DuckDB takes for JSON, and Python does not, or reads in another way: commas before a bracket, and texts
# with characters that have no form in UTF-8.
UNUSUAL = r",\s*[\]}]|\\u0000|\\u[dD][89abAB]|[:,\[]\s*-?(?:[Ii]|N)"
LONG_NUMBER = r"[0-9.]{16}"
_numbers = count()
MOST_SOUGHT = 8
"""Up to this many keys are sought in a line to see whether there are equal ones."""
LONGEST_OBJECT = 64 * 2**20
"""Bytes of a line, at most."""


def json_scan(
    files: Sequence[DataFile],
    options: Mapping[str, str],
    types: Types,
    stream: str,
    calls: dict[str, EvaluatedCall],
    zone: str,
) -> DataScan:
    """The columns of these types."""
    check_json(options)
    groups: dict[_Alike, list[DataFile]] = {}
    for file in files:
        head = next(chunks_of(file, HEAD), b"")
        keys = tuple(keys_of(head, types, file.name).items())
        alike = _Alike(file.partition, file.compression, head.startswith(BYTE_ORDER_MARK), keys)
        groups.setdefault(alike, []).append(file)
    reader = JsonReader(types, stream, calls, zone, {})
    selects = [reader.select(group, alike) for alike, group in groups.items()]
    return DataScan(" UNION ALL ".join(selects), types, {}, tuple(reader.functions.values()))


def check_json(options: Mapping[str, str]) -> None:
    """Fail for an option of Spark's that is not known, or has a value that it must not have."""
    check_harmless(options, _HARMLESS, "json")


@dataclass(frozen=True)
class _Alike:
    """What files have in common that one query reads; `keys` are those of the columns."""

    partition: tuple[tuple[str, str | None], ...]
    compression: str | None
    is_marked: bool
    keys: tuple[tuple[str, str], ...]


def keys_of(head: bytes, names: Iterable[str], file: str) -> dict[str, str]:
    r"""The keys of columns in a file that begins so: another case than the column's, if it has that.

    >>> keys_of(b'{"ID": 1}\n{"x": 2}\n', ["id", "x", "y"], "a.json")
    {'id': 'ID', 'x': 'x', 'y': 'y'}
    """
    lines = head.removeprefix(BYTE_ORDER_MARK).decode(errors="replace").split("\n")
    known: dict[str, None] = {}
    for line in islice(lines, 100):
        with suppress(NeelError):
            known |= dict.fromkeys(read_json(Source(line, file), {}).names)
    keys = list(known)
    places = {name: position(name, keys) for name in names}
    return {name: name if place is None else keys[place] for name, place in places.items()}


@dataclass(frozen=True)
class ReadyForm:
    """A condition that DuckDB's own value is the right one, and that value."""

    test: str
    value: str


@dataclass(frozen=True)
class JsonReader:
    """Makes queries for the columns of a stream; `functions` are those that they call."""

    types: Types
    stream: str
    calls: dict[str, EvaluatedCall]
    zone: str
    functions: dict[tuple[str, str], DuckFunction]

    def select(self, files: Sequence[DataFile], alike: _Alike) -> str:
        keys, partition = dict(alike.keys), dict(alike.partition)
        own = {name: type for name, type in self.types.items() if name not in partition}
        form = json.dumps({keys[name]: "JSON" for name in own}, ensure_ascii=False)
        lines = f"SELECT line, {_transformed(form) if own else 'NULL'} AS found FROM ({_lines(files, alike)})"
        texts = [
            f"json_extract_string(found.{quoted(keys[name])}, '$') AS {quoted(_text(name))}"
            for name, type in own.items()
            if type in DATETIMES
        ]
        plain = f"{self._is_plain([keys[name] for name in own])} AS plain"
        middle = f"SELECT {', '.join(['line', 'found', *texts, plain])} FROM ({lines})"
        columns = [
            self._partition_value(name, partition[name])
            if name in partition
            else self._value(name, keys[name])
            for name in self.types
        ]
        items = (f"{text} AS {quoted(name)}" for text, name in zip(columns, self.types, strict=True))
        return f"SELECT {', '.join(items)} FROM ({middle})"

    def _is_plain(self, keys: Sequence[str]) -> str:
        has_decimals = any(isinstance(type, Decimal) for type in self.types.values())
        unusual = f"{UNUSUAL}|{LONG_NUMBER}" if has_decimals else UNUSUAL
        tests = [
            "line IS NOT NULL",
            "starts_with(line, '{')",
            f"NOT regexp_matches(line, {text_literal(unusual)})",
        ]
        # Of equal keys DuckDB takes the first, and Python the last.
        once = "len(json_keys(line)) = len(list_distinct(json_keys(line)))"
        if len(keys) <= MOST_SOUGHT:
            written = (_sought(json.dumps(key, ensure_ascii=False)) for key in keys)
            seen = " OR ".join(f"line LIKE {text_literal(f'%{k}%{k}%')} ESCAPE '~'" for k in written)
            # Of OR, DuckDB computes both sides for all rows.
            once = f"CASE WHEN {seen or 'FALSE'} THEN {once} ELSE TRUE END"
        return " AND ".join([*tests, once])

    def _value(self, name: str, key: str) -> str:
        own, type = f"found.{quoted(key)}", self.types[name]
        slow = f"{self._function(name, key).name}(line)"
        ready = self._ready(name, own, type)
        if ready is None:
            return f"CASE WHEN plain AND {own} IS NULL THEN NULL ELSE {slow} END"
        return (
            f"CASE WHEN NOT plain THEN {slow} WHEN {own} IS NULL THEN NULL"
            f" WHEN {ready.test} THEN {ready.value} ELSE {slow} END"
        )

    def _ready(self, name: str, own: str, type: DataType) -> ReadyForm | None:
        if type not in DATETIMES:
            return ready_form(f"CAST({own} AS VARCHAR)", type)
        scope = NameScope({"": {_text(name): STRING}}, calls=self.calls, zone=self.zone)
        cast = spelled(f"try_cast(trim(`{_text(name).replace('`', '``')}`) AS {type})", scope).text
        return ReadyForm(f"starts_with({own}, '\"') AND {cast} IS NOT NULL", cast)

    def _partition_value(self, name: str, value: str | None) -> str:
        type = duck_type(self.types[name])
        return f"CAST({'NULL' if value is None else text_literal(value)} AS {type})"

    def _function(self, name: str, key: str) -> DuckFunction:
        """What makes the value of a column from a whole line."""
        if (name, key) not in self.functions:
            type = self.types[name]
            call = f"neelc_json_{next(_numbers)}"  # a stream may be read twice
            made = line_function(Column(name, type), key, self.stream, self.zone)
            self.functions[name, key] = DuckFunction(call, made, "VARCHAR", duck_type(type))
        return self.functions[name, key]


def _text(name: str) -> str:
    return f"text of {name}"


def _sought(text: str) -> str:
    return re.sub("([~%_])", r"~\1", text)


def _transformed(form: str) -> str:
    return f"CASE WHEN json_valid(line) THEN json_transform(line, {text_literal(form)}) END"


def _lines(files: Sequence[DataFile], alike: _Alike) -> str:
    """The lines of files; NULL for those that are not JSON."""
    paths = ", ".join(text_literal(as_pattern(file.path)) for file in files)
    compression = text_literal(alike.compression or ("none" if alike.is_marked else "uncompressed"))
    if not alike.is_marked:
        settings = (
            f"ignore_errors = true, compression = {compression}, maximum_object_size = {LONGEST_OBJECT}"
        )
        return f"SELECT CAST(json AS VARCHAR) AS line FROM read_ndjson_objects([{paths}], {settings})"
    # DuckDB's reader of JSON takes no byte order mark. No JSON has this character as it is.
    settings = (
        "auto_detect = false, header = false, columns = {'line': 'VARCHAR'}, delim = chr(31), quote = '',"
        f" escape = '', strict_mode = false, compression = {compression}, max_line_size = {LONGEST_OBJECT}"
    )
    trimmed = "trim(line, chr(32) || chr(9) || chr(13))"
    return f"SELECT {trimmed} AS line FROM read_csv([{paths}], {settings}) WHERE {trimmed} <> ''"


def ready_form(text: str, type: DataType, depth: int = 0) -> ReadyForm | None:
    """When a text of JSON has the usual form of a type, and its value then; None if DuckDB has no such."""

    def matches(form: str) -> str:
        return f"regexp_full_match({text}, '{form}')"

    cast = f"TRY_CAST({text} AS {duck_type(type)})"
    match type:
        case Decimal(precision) if precision <= 18:
            test = matches(r"-?[0-9]{1,7}(\.[0-9]{1,8})?")
            return ReadyForm(f"{test} AND {cast} IS NOT NULL", cast)
        case Array(element):
            return _array_form(text, element, depth)
        case Struct():
            return _struct_form(text, type, depth)
    if type in INTEGERS:
        return ReadyForm(f"{matches('-?[0-9]{1,18}')} AND {cast} IS NOT NULL", cast)
    if type in (DOUBLE, FLOAT):
        value = f"CAST(TRY_CAST({text} AS DOUBLE) AS {duck_type(type)})"
        return ReadyForm(matches(r"-?[0-9]{1,15}(\.[0-9]{1,15})?"), value)
    if type == BOOLEAN:
        return ReadyForm(f"{text} IN ('true', 'false')", f"{text} = 'true'")
    if type == STRING:
        value = f"CASE WHEN starts_with({text}, '\"') THEN json_extract_string({text}, '$') ELSE {text} END"
        return ReadyForm(f"(starts_with({text}, '\"') OR {matches('-?[0-9]{1,18}|true|false')})", value)
    return None


def _array_form(text: str, element: DataType, depth: int) -> ReadyForm | None:
    one = f"CAST(e{depth} AS VARCHAR)"
    inner = ready_form(one, element, depth + 1)
    if inner is None:
        return None
    items, is_null = f"CAST({text} AS JSON[])", f"coalesce({one}, 'null') = 'null'"
    others = f"list_filter({items}, lambda e{depth}: NOT ({is_null} OR {inner.test}))"
    value = f"list_transform({items}, lambda e{depth}: CASE WHEN {is_null} THEN NULL ELSE {inner.value} END)"
    return ReadyForm(f"CASE WHEN starts_with({text}, '[') THEN len({others}) = 0 ELSE FALSE END", value)


def _struct_form(text: str, type: Struct, depth: int) -> ReadyForm | None:
    tests, values = [f"starts_with({text}, '{{')"], []
    for field in type.fields:
        name = bare(field.name)
        pointer = "/" + name.replace("~", "~0").replace("/", "~1")
        one = f"CAST(json_extract({text}, {text_literal(pointer)}) AS VARCHAR)"
        inner = ready_form(one, field.type, depth)
        if inner is None:
            return None
        # A key that is not there may be there in another case.
        tests.append(f"{one} IS NOT NULL AND ({one} = 'null' OR {inner.test})")
        values.append(f"{quoted(name)} := CASE WHEN {one} <> 'null' THEN {inner.value} END")
    return ReadyForm(" AND ".join(tests), f"struct_pack({', '.join(values)})")


def line_function(column: Column, key: str, stream: str, zone: str) -> Callable[[pa.Array], pa.Array]:
    """What the reference's reader makes of lines."""
    write, type = writer_of(column.type), arrow_type(column.type)

    def value(line: str | None) -> object:
        if line is None:
            raise ValueError(f"NEEL5004: a line is not JSON that can be read (stream `{stream}`)")
        try:
            (found,) = read_json(Source(line), {}).objects
        except NeelError as error:
            raise ValueError(f"NEEL5004: {error.diagnostics[0].message} (stream `{stream}`)") from None
        raw = found.get(key)
        try:
            made = from_value(raw, column.type)
        except TypeMismatch:
            place = f"(column `{column.name}` of stream `{stream}`)"
            message = f"NEEL5003: `{shortened(raw)}` is not of type {column.type} {place}"
            raise ValueError(message) from None
        return None if made is None else write(made)

    def function(lines: pa.Array) -> pa.Array:
        with in_zone(zone):
            return pa.array([value(line) for line in lines.to_pylist()], type)

    return function

"""Files and data in memory, as the local engine reads them: like the reference interpreter, or like Spark."""

from __future__ import annotations

import datetime
import decimal
import gzip
import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as parquet
import pytest

from neelc.catalog.data_files import data_files
from neelc.catalog.location import Location
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.functions import reader_of
from neelc.engines.local.given import as_local_table
from neelc.engines.local.plan import local_program
from neelc.engines.local.reading import read_failure, scanned, size_of
from neelc.engines.local.tables import DataSize, LocalTable
from neelc.engines.spark.compiled import stream_read
from neelc.engines.spark.relations import Let, Read, Relations
from neelc.errors import NeelError
from neelc.ir.program import Column, Stream
from neelc.ir.script import Property
from neelc.ir.types import (
    BIGINT,
    BINARY,
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
    Map,
    Struct,
    StructField,
)
from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation
from neelc.source import Source, Span

Rows = list[tuple[object, ...]]
ZONE = "America/New_York"


def stream(path: Path, types: Mapping[str, DataType], options: Mapping[str, str], kind: str | None) -> Stream:
    columns = tuple(Column(name, type) for name, type in types.items())
    given = tuple(Property(key, value) for key, value in options.items())
    return Stream("S", columns, "", path=str(path), options=given, format=kind)


def local_rows(
    read: Read, tables: Mapping[str, LocalTable] | None = None
) -> tuple[Rows, Mapping[str, DataType]]:
    calls: dict[str, EvaluatedCall] = {}
    table = (tables or {}).get(read.stream)
    if table is None:
        scan = scanned(read, calls, ZONE)
        table = LocalTable(scan, scan.types, read=read)
    program = local_program(Relations((Let("s", read),)), {read.stream: table.types}, calls)
    try:
        rows = LocalEngine(ZONE, 1).run(program, {read.stream: table}).query().to_arrow_table()
    except duckdb.Error as error:
        failure = read_failure(table, error, ZONE)
        if failure is None:
            raise
        raise failure from None
    readers = [reader_of(type) for type in table.types.values()]
    columns = [
        [None if one is None else reader(one) for one in column.to_pylist()]
        for reader, column in zip(readers, rows.columns, strict=True)
    ]
    return list(zip(*columns, strict=True)), table.types


def outcome(compute: Any) -> object:
    """Rows, or the codes and messages of what is wrong. NaN is equal to NaN."""
    try:
        rows = compute()
    except NeelError as error:
        return [(one.code, one.message) for one in error.diagnostics]
    return repr(rows).replace("Decimal('-0.00')", "Decimal('0.00')")  # DECIMAL has one zero


def of_reference(path: Path, types: Mapping[str, DataType], options: Mapping[str, str], kind: str) -> Rows:
    location = Location(str(path), path, Source(""), Span(0, 1), kind, options)
    columns = [Column(name, type) for name, type in types.items()]
    with in_zone(ZONE):
        tables = location.tables()
        return [tuple(row.values()) for table in tables for row in table.rows(columns)]


def agree(
    path: Path, types: Mapping[str, DataType], options: Mapping[str, str] | None = None, kind: str = "csv"
) -> object:
    options = options or {}
    read = stream_read(stream(path, types, options, kind))
    expected = outcome(lambda: of_reference(path, types, options, kind))
    assert outcome(lambda: local_rows(read)[0]) == expected, path.read_bytes()[:300]
    return expected


def explained(query: str) -> str:
    found = duckdb.sql(f"EXPLAIN {query}")
    assert found is not None
    return str(found.fetchall()[0][1])


# CSV.

TEXTS = {"a": STRING, "b": STRING}

CSV_FILES = {
    "plain": b"a,b\n1,x\n2,y\n",
    "without a last line break": b"a,b\n1,x\n2,y",
    "line breaks of Windows": b"a,b\r\n1,x\r\n2,y\r\n",
    "line breaks of old": b"a,b\r1,x\r2,y\r",
    "several line breaks": b"a,b\n1,x\r\n2,y\n3,z\r4,u\n",
    "several line breaks, of Windows first": b"a,b\r\n1,x\n2,y\r\n",
    "line breaks in quotes": b'a,b\n1,"x\r\ny"\n2,"p\nq\r"\n',
    "line breaks in quotes and of Windows": b'a,b\r\n1,"x\ny"\r\n2,"p\r\nq"\r\n',
    "empty and quoted": b'a,b\n"",\n,""\n',
    "empty lines": b"a,b\n\n1,x\n\n\n2,y\n\n",
    "empty lines of Windows": b"a,b\r\n\r\n1,x\r\n\r\n2,y\r\n",
    "empty lines first": b"\n\na,b\n1,x\n",
    "blanks": b'a,b\n 1 , x \n" 2 "," "\n',
    "blanks before a quote": b'a,b\n1, "x"\n',
    "blanks after a quote": b'a,b\n1,"x" \n',
    "blanks beside inner quotes": b'a,b\n1,"x "" y"\n2,""" "\n',
    "quotes inside": b'a,b\n1,x"y\n2,z""w\n',
    "quotes in quotes": b'a,b\n1,"x""y"\n2,""""\n3,"""a"""\n',
    "letters after a quote": b'a,b\n1,"x"y\n2,z\n',
    "a quote that is not closed": b'a,b\n1,"x\n2,z\n',
    "delimiters in quotes": b'a,b\n"1,2","3,"\n',
    "too few": b"a,b\n1\n2,z\n",
    "too many": b"a,b\n1,2,3\n2,z\n",
    "too many, and empty": b"a,b\n1,2,\n2,z\n",
    "too many in the last line": b"a,b\n1,2\n2,,",
    "empty at the end": b"a,b\n1,\n2,",
    "byte order mark": b"\xef\xbb\xbfa,b\n1,x\n",
    "byte order mark and quote": b'\xef\xbb\xbf"a",b\n1,x\n',
    "unicode": "a,b\n1,h\u00e9\U0001f600\u2028\u00a0\n".encode(),
    "not UTF-8": b"a,b\n1,\xff\n",
    "zero": b"a,b\n1,x\x00y\n",
    "long": b"a,b\n1," + b"x" * 3_000_000 + b"\n2,y\n",
    "long and quoted": b'a,b\n1,"' + b"x,\n" * 1_000_000 + b'"\n2,y\n',
    "nothing": b"",
    "only line breaks": b"\n\n",
    "only a header": b"a,b\n",
    "only a header, without a line break": b"a,b",
    "hash": b"a,b\n#1,x\n",
    "backslash": b'a,b\n\\1,"x\\"\n2,\\\n',
    "line of blanks": b"a,b\n1,x\n  \n2,y\n",
    "words": b"a,b\nNULL,null\nNaN,\\N\n",
    "another order": b"b,a\n1,x\n",
    "more columns": b"c,b,d,a\n1,2,3,4\n5,6,,\n",
    "another case": b"A,B\n1,2\n",
    "both cases": b"A,a,b\n1,2,3\n",
    "missing": b"a,c\n1,2\n",
    "twice": b"a,b,a\n1,2,3\n",
    "no name": b"a,,b\n1,2,3\n",
    "quoted names": b'"a","b"\n1,2\n',
    "line breaks in the first quotes": b'"x\r\r\r\n",a,b\r1,2,3\r',
    "names over lines": b'"x\ny",a,b\n1,2,3\n',
}


@pytest.mark.parametrize("name", CSV_FILES)
def test_csv_files_have_the_rows_of_the_reference(name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(CSV_FILES[name])
    agree(path, TEXTS)


OPTIONS = [
    {"sep": ";"},
    {"delimiter": "||"},
    {"sep": "\\t"},
    {"quote": "'"},
    {"quote": ""},
    {"nullValue": "NA"},
    {"header": "false"},
    {"header": "FALSE", "sep": "|", "nullValue": "-", "quote": "'"},
]
LETTERS = ["a", "1", "\n", "\n", "\r\n", "\r", " ", "x", "\u00e9", "\\", "#", "NA", "-"]


def random_csv(chance: random.Random, options: Mapping[str, str], width: int) -> str:
    """Mostly records of the right width, with letters that have a meaning."""
    delimiter = options.get("sep", options.get("delimiter", ",")).replace("\\t", "\t")
    quote = options.get("quote", '"') or '"'
    end = chance.choice(["\n", "\n", "\r\n", "\r", None])
    letters = [*LETTERS, delimiter, quote, quote * 2]

    def field() -> str:
        text = "".join(chance.choices(letters, k=chance.randint(0, 3)))
        form = chance.random()
        if form < 0.4:
            return quote + text.replace(quote, quote * 2) + quote
        if form < 0.9:
            text = "".join(one for one in text if one not in "\r\n" + delimiter + quote)
        return text if form < 0.98 else f" {quote}{text}{quote}"

    lines = [delimiter.join("ab"[:width])] if options.get("header", "true") == "true" else []
    for _ in range(chance.randint(0, 4)):
        fields = width if chance.random() < 0.95 else chance.randint(1, 3)
        lines.append(delimiter.join(field() for _ in range(fields)))
    if chance.random() < 0.1:
        lines.insert(chance.randint(0, len(lines)), "")
    text = "".join(line + (end or chance.choice(["\n", "\r\n", "\r"])) for line in lines)
    return text if chance.random() < 0.7 else text.rstrip("\r\n")


@pytest.mark.parametrize("place", range(len(OPTIONS) + 2))
def test_random_csv_files_have_the_rows_of_the_reference(place: int, tmp_path: Path) -> None:
    options: dict[str, str] = OPTIONS[place - 2] if place > 1 else {}
    chance = random.Random(place)
    path = tmp_path / "s.csv"
    for number in range(60):
        width = 1 if number % 5 == 0 else 2
        path.write_bytes(random_csv(chance, options, width).encode())
        agree(path, dict(list(TEXTS.items())[:width]), options)


def test_values_of_csv_files_are_those_of_the_reference(tmp_path: Path) -> None:
    types = {
        "i": INT, "l": BIGINT, "t": TINYINT, "d": DOUBLE, "b": BOOLEAN, "n": Decimal(6, 2), "day": DATE,
        "at": TIMESTAMP, "local": TIMESTAMP_NTZ, "s": STRING,
    }  # fmt: skip
    path = tmp_path / "s.csv"
    header = ",".join(types)
    good = ["1, 2 ,3,4.5,TRUE,1.235,2024-05-01,2024-05-01 10:00:00,2024-05-01T10:00:00.5, x ", ",,,,,,,,,"]
    path.write_text("\n".join([header, *good]))
    assert "1.24" in str(agree(path, types))
    for name, wrong in (
        ("i", "1.5"),
        ("t", "200"),
        ("b", "yes"),
        ("d", "1,5"),
        ("at", "soon"),
        ("n", "99999"),
    ):
        path.write_text(f'x,{name}\n1,"{wrong}"\n')
        assert "is not of type" in str(agree(path, {name: types[name]}))


NESTED: dict[str, DataType] = {
    "list": Array(BIGINT),
    "lists": Array(Array(STRING)),
    "point": Struct((StructField("x", DOUBLE), StructField("Y", Array(STRING)))),
    "odd": Struct((StructField("`it's`", INT), StructField("`a b`", TIMESTAMP))),
    "map": Map(STRING, INT),
    "times": Map(DATE, TIMESTAMP),
    "prices": Array(Decimal(6, 2)),
    "flags": Map(STRING, BOOLEAN),
    "several": Array(Struct((StructField("id", SMALLINT), StructField("local", TIMESTAMP_NTZ)))),
}
CELLS = (
    "", "null", " null ", "[]", "{}", "[1]", "[1, 2, null]", " [ 1 , 2 ] ", "[1.5]", '["1"]', '["a", null]',
    "[[1], []]", '[["a"], null]', "[[null]]", '{"x": 1, "y": ["a"]}', '{"X": 1.5}',
    '{"x": null, "Y": [], "z": 0}', '{"x": "NaN"}', '{"x": 1, "x": 2}',
    '{"it\'s": 1, "a b": "2024-05-01 10:00:00"}', '{"a b": "soon"}', '{"k": 1, "l": null}', '{"k": "2"}',
    '{"k": 1.5}', '{"k": true}', '{"2024-05-01": "2024-05-01T10:00:00Z"}', '{"x": "2024-05-01"}',
    "[1.005, 2]", "[99999]", '[{"id": 1, "local": "2024-05-01 10:00:00"}, {"ID": 2}, null]',
    '[{"id": 40000}]', "1", '"x"', "x", "[1", "[1,]", "[1] 2", "{'x': 1}", "[NaN]", '{"x": 1e400}',
    "\u00e9", "[\u00a01]", '["\\u00e9\\n"]', "[123456789012345678901]", "[" * 2000,
)  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_nested_cells_of_csv_files_are_those_of_the_reference(name: str, tmp_path: Path) -> None:
    path, seen = tmp_path / "s.csv", set()
    for cell in CELLS:
        quoted = cell.replace('"', '""')
        path.write_text(f'n,{name}\n1,"{quoted}"\n2,\n')
        found = agree(path, {"n": INT, name: NESTED[name]})
        seen.add("is not of type" in str(found))
    assert seen == {True, False}


def cased(chance: random.Random, name: str) -> str:
    return chance.choice([name, name.lower(), name.upper()])


def random_json(chance: random.Random, type: DataType, depth: int = 0) -> object:
    """Mostly a value of the type."""
    if chance.random() < 0.12 or depth > 4:
        return chance.choice([None, 1, "x", [], {}, True, 2.5, [1]])
    match type:
        case Array(element):
            return [random_json(chance, element, depth + 1) for _ in range(chance.randint(0, 3))]
        case Map(key, value):
            keys = ["2024-05-01", "k"] if key == DATE else ["k", "l", ""]
            return {
                chance.choice(keys): random_json(chance, value, depth + 1)
                for _ in range(chance.randint(0, 2))
            }
        case Struct(fields):
            names = [cased(chance, field.name.strip("`")) for field in fields]
            return {
                name: random_json(chance, f.type, depth + 1) for name, f in zip(names, fields, strict=True)
            }
    return chance.choice([1, -7, "3", "2024-05-01 10:00:00", 1.25, "", True])


@pytest.mark.parametrize("name", NESTED)
def test_random_nested_cells_are_those_of_the_reference(name: str, tmp_path: Path) -> None:
    chance, path = random.Random(name), tmp_path / "s.csv"
    for _ in range(40):
        cell = json.dumps(random_json(chance, NESTED[name]), ensure_ascii=chance.random() < 0.5)
        path.write_text(f"""{name}\n"{cell.replace('"', '""')}"\n""")
        agree(path, {name: NESTED[name]})


def test_columns_of_csv_files_are_read_as_they_are_used(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("a,b,c\n1,2,3\n")
    read = stream_read(stream(path, {"a": STRING, "c": STRING}, {}, None))
    plan = explained(f"SELECT c FROM ({scanned(read, {}).text})")
    assert "READ_CSV" in plan and "c0" not in plan


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"comment": "#"}, "`comment` is not an option of csv files in the local engine"),
        ({"encoding": "UTF-32"}, "`encoding` of csv files cannot be `UTF-32` in the local engine"),
        ({"escape": "\\"}, "`escape` of csv files cannot be `\\` in the local engine"),
        ({"mode": "PERMISSIVE"}, "`mode` of csv files cannot be `PERMISSIVE` in the local engine"),
    ],
)
def test_options_that_are_not_known_are_refused_by_name(
    options: dict[str, str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.csv"
    path.write_text("a,b\n1,2\n")
    read = stream_read(stream(path, TEXTS, options, "csv"))
    assert outcome(lambda: local_rows(read)) == [("NEEL5006", message)]


def test_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes("a,b\n1,h\u00e9\n".encode("latin-1"))
    read = stream_read(stream(path, TEXTS, {"encoding": "ISO-8859-1"}, None))
    assert local_rows(read)[0] == [("1", "h\u00e9")]


# JSON.

POINT = Struct((StructField("x", DOUBLE), StructField("y", Array(STRING))))
JSON_TYPES: dict[str, DataType] = {
    "i": INT,
    "l": BIGINT,
    "d": DOUBLE,
    "f": FLOAT,
    "b": BOOLEAN,
    "s": STRING,
    "n": Decimal(10, 2),
    "day": DATE,
    "at": TIMESTAMP,
    "local": TIMESTAMP_NTZ,
    "list": Array(BIGINT),
    "point": POINT,
    "map": Map(STRING, INT),
    "bytes": BINARY,
    "small": SMALLINT,
}

JSON_FILES = {
    "plain": b'{"i": 1, "s": "x"}\n{"i": 2}\n',
    "empty lines": b'\n{"i": 1}\n   \n\r\n{"i":2}',
    "line breaks of Windows": b'{"i": 1}\r\n{"i": 2}\r\n',
    "byte order mark": b'\xef\xbb\xbf{"i": 1}\n\n{"i": 2, "s": "y"}\n',
    "nothing": b"",
    "null": b'{"i": null, "s": null, "list": null, "point": null, "map": null}\n',
    "not known": b'{"zzz": 1}\n',
    "numbers as texts": b'{"i": "1", "d": " 2.5 ", "b": "true", "n": "1.005", "list": ["3"]}\n',
    "texts of numbers": b'{"s": 1}\n{"s": 1.50}\n{"s": true}\n{"s": 1e5}\n{"s": 123456789012345678901}\n',
    "texts of objects": b'{"s": {"a":1}}\n{"s": [1,"x"]}\n',
    "escapes": b'{"s": "a\\n\\"b\\\\ \\u00e9 \\ud83d\\ude00 \\/"}\n{"s": "\\u0000"}\n',
    "unicode": '{"s": "h\u00e9\U0001f600"}\n'.encode(),
    "equal keys": b'{"i": 1, "s": "i", "i": 2}\n{"i": 3, "point": {"i": 4}}\n',
    "keys in another case": b'{"I": 1, "S": "x"}\n{"I": 2}\n',
    "words of numbers": b'{"d": NaN}\n{"d": -Infinity}\n{"d": "Inf"}\n',
    "numbers": b'{"d": 1e400, "f": 0.1}\n{"d": -0.0, "f": 16777217}\n{"d": 0.1, "f": 1e39}\n',
    "decimals": b'{"n": 1.005}\n{"n": 12345678.125}\n{"n": 1.00499999999999999999999}\n{"n": 1e3}\n',
    "times": b'{"day": "2024-05-01", "at": "2024-05-01T10:00:00Z", "local": "2024-05-01 10:00:00.5"}\n'
    b'{"at": "2024-05-01 10:00:00", "day": " 2024-5-1 "}\n{"at": "2024-05-01T10:00:00.123+02:00"}\n',
    "nested": b'{"list": [1, null, 3], "point": {"x": 1, "y": ["a", null]}, "map": {"k": 1, "l": null}}\n'
    b'{"list": [], "point": {"x": 1.5}, "map": {}}\n{"point": {"X": 2, "Y": [1.50]}}\n',
    "bytes": b'{"bytes": "aGk="}\n',
    "comma at the end": b'{"i": 1,}\n',
    "not JSON": b'{"i": 1}\n{"i": x}\n',
    "cut off": b'{"i": 1}\n{"i": ',
    "two on a line": b'{"i": 1} {"i": 2}\n',
    "over lines": b'{"i":\n1}\n',
    "no object": b"[1]\n",
    "no object either": b'"x"\n',
    "not UTF-8": b'{"s": "\xff"}\n',
    "a fraction": b'{"i": 1.5}\n',
    "too large": b'{"i": 3000000000}\n',
    "too small": b'{"small": -32769}\n',
    "a text": b'{"l": "soon"}\n',
    "a boolean": b'{"l": true}\n',
    "no boolean": b'{"b": 1}\n',
    "no time": b'{"at": "soon"}\n',
    "a number as a time": b'{"at": 1700000000}\n',
    "a fraction inside": b'{"list": [1, 2.5]}\n',
    "no list": b'{"list": {"a": 1}}\n',
    "no struct": b'{"point": [1]}\n',
    "no map": b'{"map": 1}\n',
    "a list as a map": b'{"map": [1]}\n',
    "pairs as a map": b'{"map": [["k", 1]]}\n',
    "no bytes": b'{"bytes": "?"}\n',
    "a decimal that is too large": b'{"n": 123456789}\n',
}


def test_equal_keys_of_json(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(JSON_FILES["equal keys"] + b'{"s": "i", "i": 5}\n{"i%": 1, "i_": 2, "i_": 3}\n')
    agree(path, {"i": INT, "s": STRING, "i_": INT}, kind="json")


@pytest.mark.parametrize("name", JSON_FILES)
def test_json_files_have_the_rows_of_the_reference(name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(JSON_FILES[name])
    agree(path, JSON_TYPES, kind="json")


JSON_VALUES = (
    "0", "1", "-7", "2.5", "1e3", "-0.0", "300", "99999999999", "true", "false", "null", '"x"', '"1"',
    '" 2 "', '"2024-05-01"', '"2024-05-01T10:00:00Z"', "[]", "[1]", "[1, null]", '["a"]', "{}",
    '{"x": 1, "y": []}',
    '{"x": null, "y": null}', '"aGk="', '""', '"a,}"', '{"k": 1}', "1.10", '"\\u00e9"',
    "12345678901234567890",
)  # fmt: skip


@pytest.mark.parametrize("name", JSON_TYPES)
def test_random_json_values_are_those_of_the_reference(name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    for value in JSON_VALUES:
        path.write_text(f'{{"{name}": {value}, "other": 1}}\n')
        agree(path, {name: JSON_TYPES[name], "other": INT}, kind="json")


def test_options_of_json_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"i": 1}\n')
    read = stream_read(stream(path, {"i": INT}, {"allowComments": "true"}, "json"))
    message = "`allowComments` is not an option of json files in the local engine"
    assert outcome(lambda: local_rows(read)) == [("NEEL5006", message)]


# Parquet, ORC and Arrow.

DAY = datetime.date(2024, 5, 1)
NOON = datetime.datetime(2024, 5, 1, 12, 0, 0, 123456)
UTC_NOON = NOON.replace(tzinfo=datetime.UTC)

COLUMNS: dict[str, tuple[pa.Array, DataType, object]] = {
    "u8": (pa.array([255], pa.uint8()), SMALLINT, 255),
    "u16": (pa.array([65535], pa.uint16()), INT, 65535),
    "u32": (pa.array([2**32 - 1], pa.uint32()), BIGINT, 2**32 - 1),
    "u64": (pa.array([2**64 - 1], pa.uint64()), Decimal(20, 0), decimal.Decimal(2**64 - 1)),
    "i8": (pa.array([-1], pa.int8()), TINYINT, -1),
    "f32": (pa.array([1.5], pa.float32()), FLOAT, 1.5),
    "f64": (pa.array([0.1]), DOUBLE, 0.1),
    "bool": (pa.array([True]), BOOLEAN, True),
    "text": (pa.array(["x"]), STRING, "x"),
    "large": (pa.array(["x"], pa.large_string()), STRING, "x"),
    "dictionary": (pa.array(["x"]).dictionary_encode(), STRING, "x"),
    "bytes": (pa.array([b"x"]), BINARY, b"x"),
    "fixed": (pa.array([b"xy"], pa.binary(2)), BINARY, b"xy"),
    "day": (pa.array([DAY]), DATE, DAY),
    "local": (pa.array([NOON], pa.timestamp("us")), TIMESTAMP_NTZ, NOON),
    "nanos": (pa.array([NOON], pa.timestamp("ns")), TIMESTAMP_NTZ, NOON),
    "instant": (pa.array([UTC_NOON], pa.timestamp("us", "Europe/Paris")), TIMESTAMP, UTC_NOON),
    "instant_ns": (pa.array([UTC_NOON], pa.timestamp("ns", "UTC")), TIMESTAMP, UTC_NOON),
    "decimal": (
        pa.array([decimal.Decimal("1.50")], pa.decimal128(10, 2)), Decimal(10, 2), decimal.Decimal("1.50")
    ),
    "list": (pa.array([[1, None]], pa.list_(pa.uint8())), Array(SMALLINT), [1, None]),
    "struct": (
        pa.array([{"a": 1, "b": "x"}], pa.struct([("a", pa.uint16()), ("b", pa.string())])),
        Struct((StructField("a", INT), StructField("b", STRING))),
        {"a": 1, "b": "x"},
    ),
    "map": (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())), Map(STRING, INT), {"k": 1}),
}  # fmt: skip
TABLE = pa.table({name: array for name, (array, _, _) in COLUMNS.items()})
EXPECTED = [tuple(value for _, _, value in COLUMNS.values())]
EXPECTED_TYPES = {name: type for name, (_, type, _) in COLUMNS.items()}


def test_parquet_files_have_the_types_of_spark(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "s.parquet")
    rows, types = local_rows(Read("S", str(tmp_path / "s.parquet"), "parquet"))
    assert types == EXPECTED_TYPES
    assert rows == EXPECTED


def test_old_times_of_parquet_are_instants(tmp_path: Path) -> None:
    table = pa.table({"at": pa.array([NOON])})
    parquet.write_table(table, tmp_path / "s.parquet", use_deprecated_int96_timestamps=True)
    assert local_rows(Read("S", str(tmp_path / "s.parquet"), "parquet")) == ([(UTC_NOON,)], {"at": TIMESTAMP})


def test_columns_of_types_that_spark_does_not_have_are_left_out(tmp_path: Path) -> None:
    table = pa.table({"clock": pa.array([datetime.time(1)]), "a": [1]})
    parquet.write_table(table, tmp_path / "s.parquet")
    assert local_rows(Read("S", str(tmp_path / "s.parquet"), "parquet")) == ([(1,)], {"a": BIGINT})


def test_arrow_files(tmp_path: Path) -> None:
    pa.feather.write_feather(TABLE, str(tmp_path / "s.feather"), compression="zstd")
    assert local_rows(Read("S", str(tmp_path / "s.feather"), "parquet")) == (EXPECTED, EXPECTED_TYPES)
    with pa.OSFile(str(tmp_path / "s.arrows"), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as out:
        out.write_table(TABLE)
    assert local_rows(Read("S", str(tmp_path / "s.arrows"), "arrow")) == (EXPECTED, EXPECTED_TYPES)


def test_orc_files(tmp_path: Path) -> None:
    names = ["i8", "f64", "bool", "text", "bytes", "day", "decimal", "map"]
    pa.orc.write_table(TABLE.select(names), tmp_path / "s.orc")
    rows, types = local_rows(Read("S", str(tmp_path / "s.orc"), "orc"))
    assert types == {name: EXPECTED_TYPES[name] for name in names}
    assert rows == [tuple(COLUMNS[name][2] for name in names)]


def test_parquet_files_with_columns_in_another_order(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"B": ["y"], "a": pa.array([2]), "c": [0]}), tmp_path / "2.parquet")
    parquet.write_table(pa.table({"a": pa.array([3])}), tmp_path / "3.parquet")
    rows, types = local_rows(Read("S", str(tmp_path), "parquet"))
    assert types == {"a": BIGINT, "b": STRING}
    assert sorted(rows) == [(1, "x"), (2, "y"), (3, None)]
    parquet.write_table(pa.table({"a": ["x"]}), tmp_path / "4.parquet")
    message = f"{tmp_path}/4.parquet: column `a` is of type STRING, in other files BIGINT"
    assert outcome(lambda: local_rows(Read("S", str(tmp_path), "parquet"))) == [("NEEL5003", message)]


def test_conditions_are_pushed_into_parquet_files(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": range(9), "b": range(9)}), tmp_path / "s.parquet")
    text = scanned(Read("S", str(tmp_path / "s.parquet"), "parquet"), {}).text
    plan = explained(f"SELECT a FROM ({text}) WHERE b > 7")
    assert "PARQUET" in plan and "Filters" in plan


@pytest.mark.parametrize("kind", ["parquet", "orc", "arrow"])
def test_broken_files_are_named(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "s.data"
    path.write_bytes(b"no such thing at all")
    found = str(outcome(lambda: local_rows(Read("S", str(path), kind))))
    assert found.startswith("[('NEEL5001', ") and f"{path}: not a" in found


def test_files_that_are_cut_off_are_named(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    parquet.write_table(pa.table({"a": list(range(100_000))}), path)
    content = bytearray(path.read_bytes())
    content[100:4000] = b"\x00" * 3900
    path.write_bytes(content)
    found = str(outcome(lambda: local_rows(Read("S", str(path), "parquet"))))
    assert (
        found
        == f"[('NEEL5001', '{path}: not a Parquet file that can be read: Snappy decompression failure')]"
    )
    gz = tmp_path / "s.csv.gz"
    gz.write_bytes(gzip.compress(b"a,b\n" + b"1,x\n" * 100_000)[:-300])
    read = stream_read(stream(gz, TEXTS, {}, "csv"))
    assert str(outcome(lambda: local_rows(read))).startswith("[('NEEL5001'")


# Paths.


@pytest.mark.parametrize(
    "name", ["it's.csv", 'a "b".csv', "h\u00e9 \U0001f600.csv", "day [1].csv", "a*?{b,c}.csv"]
)
def test_names_of_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("a,b\n1,2\n")
    (tmp_path / "ab.csv").write_text("a,b\n3,4\n")
    agree(path, TEXTS)


def written(path: Path, text: str = "a,b\n1,x\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_directories_and_patterns(tmp_path: Path) -> None:
    written(tmp_path / "d" / "part-1.csv")
    written(tmp_path / "d" / "part-2.csv", "b,a\ny,2\n")
    written(tmp_path / "d" / "_SUCCESS", "")
    written(tmp_path / "d" / ".part-1.csv.crc", "")
    written(tmp_path / "d" / "below" / "part-3.csv")
    agree(tmp_path / "d", TEXTS)
    read = stream_read(stream(tmp_path / "d" / "part-{1,[2-3]}.c?v", TEXTS, {}, "csv"))
    assert sorted(local_rows(read)[0]) == [("1", "x"), ("2", "y")]
    written(tmp_path / "d" / "part-4.csv", "a\n1\n")
    agree(tmp_path / "d", TEXTS)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        read = stream_read(stream(path, TEXTS, {}, "csv"))
        expected = outcome(lambda path=path: of_reference(path, TEXTS, {}, "csv"))
        assert outcome(lambda read=read: local_rows(read)) == expected
    for name in ("/dev/null", "s3://bucket/a.csv"):
        assert str(outcome(lambda name=name: data_files(name))).startswith("[('NEEL5001'")


def test_partitions(tmp_path: Path) -> None:
    for day, place, number in (("1", "a%20b", 1), ("2", "__HIVE_DEFAULT_PARTITION__", 2)):
        directory = tmp_path / f"day={day}" / f"place={place}"
        directory.mkdir(parents=True)
        parquet.write_table(pa.table({"n": [number]}), directory / "part.parquet")
    rows, types = local_rows(Read("S", str(tmp_path), "parquet"))
    assert types == {"n": BIGINT, "day": INT, "place": STRING}
    assert sorted(rows) == [(1, 1, "a b"), (2, 2, None)]
    written(tmp_path / "other.parquet")
    assert "beside directories of partitions" in str(
        outcome(lambda: local_rows(Read("S", str(tmp_path), "parquet")))
    )


def test_partitions_of_text_files(tmp_path: Path) -> None:
    written(tmp_path / "c" / "day=1" / "p.csv", "a\nx\n")
    written(tmp_path / "c" / "day=2" / "p.csv", "a\ny\n")
    read = stream_read(stream(tmp_path / "c", {"a": STRING, "day": INT}, {}, "csv"))
    assert sorted(local_rows(read)[0]) == [("x", 1), ("y", 2)]
    written(tmp_path / "j" / "day=1" / "p.json", '{"a": "x"}\n')
    read = stream_read(stream(tmp_path / "j", {"a": STRING, "day": INT}, {}, "json"))
    assert local_rows(read)[0] == [("x", 1)]


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_compressed_files(ending: str, tmp_path: Path) -> None:
    codec = pa.Codec({"gz": "gzip", "zst": "zstd"}[ending])
    for kind, text in (
        ("csv", b'a,b\n1, "x"\n2,y\n'),
        ("csv", b"a,b\n1,x\n"),
        ("json", b'{"a": "1", "b": "x"}'),
    ):
        path = tmp_path / f"s.{kind}.{ending}"
        with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), codec.name) as file:
            file.write(text)
        plain = tmp_path / f"s.{kind}"
        plain.write_bytes(text)
        found = local_rows(stream_read(stream(path, TEXTS, {}, kind)))[0]
        assert found == of_reference(plain, TEXTS, {}, kind)


def test_what_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv.bz2")
    read = stream_read(stream(path, TEXTS, {}, "csv"))
    message = f"{path}: files of `.bz2` are not read here"
    assert outcome(lambda: local_rows(read)) == [("NEEL5001", message)]
    message = "`delta` is not a format that the local engine reads"
    assert outcome(lambda: local_rows(Read("S", str(path), "delta"))) == [("NEEL5006", message)]
    with pytest.raises(UnspelledOperation):
        scanned(Read("S", str(path), "csv", is_streaming=True), {})
    assert outcome(lambda: local_rows(Read("S"))) == [("NEEL5005", "stream `S` has no data")]


# Data in memory.


def given_rows(value: Any) -> tuple[Rows, Mapping[str, DataType]]:
    return local_rows(Read("S"), {"S": as_local_table(value)})


def test_tables_of_arrow() -> None:
    half = TABLE.append_column("half", pa.array([1.5], pa.float16()))
    rows, types = given_rows(half)
    assert types == {**EXPECTED_TYPES, "half": FLOAT}
    assert rows == [(*EXPECTED[0], 1.5)]
    reader = pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches())
    assert given_rows(reader) == (EXPECTED, EXPECTED_TYPES)
    assert given_rows(pa.dataset.dataset(TABLE)) == (EXPECTED, EXPECTED_TYPES)
    span = pa.table({"span": pa.array([1_500], pa.duration("ms"))})
    assert given_rows(span)[0] == [(datetime.timedelta(seconds=1.5),)]


def test_frames_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"a": [1, 2], "x": [0.5, math.nan], "k": pandas.Categorical(["u", "v"]), "t": [UTC_NOON, UTC_NOON]}
    )
    rows, types = given_rows(frame)
    assert types == {"a": BIGINT, "x": DOUBLE, "k": STRING, "t": TIMESTAMP}
    assert rows == [(1, 0.5, "u", UTC_NOON), (2, None, "v", UTC_NOON)]


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1], "s": ["x"]})
    assert given_rows(frame) == ([(1, "x")], {"a": BIGINT, "s": STRING})


def test_relations_of_duckdb() -> None:
    rows, types = given_rows(duckdb.sql("SELECT 1 AS a, 'x' AS s, DATE '2024-05-01' AS d"))
    assert (rows, types) == ([(1, "x", DAY)], {"a": INT, "s": STRING, "d": DATE})


def test_lists_of_rows() -> None:
    rows, types = given_rows([{"a": 1, "s": "x", "l": [1]}, {"a": None}])
    assert types == {"a": BIGINT, "s": STRING, "l": Array(BIGINT)}
    assert rows == [(1, "x", [1]), (None, None, None)]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            pa.table({"clock": pa.array([datetime.time(1)])}),
            "column `clock` is of type time64\\[us\\], which",
        ),
        (pa.table([[1], [2]], names=["a", "A"]), "two columns are called `A`"),
        ([1], "a row is a dict, not a int"),
        ("x.csv", "not a str"),
        ([{"a": 1}, {"a": "x"}], "values of a column have several types"),
        ([{"a": 2**70}], "values of a column have several types, or one that Spark does not have"),
    ],
)
def test_data_that_have_no_table(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        as_local_table(value)


# Sizes.


def test_sizes(tmp_path: Path) -> None:
    for number in range(3):
        parquet.write_table(pa.table({"a": range(5)}), tmp_path / f"{number}.parquet")
    found = size_of(data_files(str(tmp_path)))
    assert (found.files, found.rows) == (3, 15) and found.bytes > 0
    path = written(tmp_path / "s.csv")
    assert size_of(data_files(str(path))) == DataSize(1, path.stat().st_size, None)
    assert size_of([]) == DataSize(0, 0, None)


def sequence_of(lines: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_only_unusual_lines_of_json_are_read_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.json"
    path.write_text(sequence_of([{"i": number, "s": "x", "d": 0.5} for number in range(1000)]))

    def fail(*_: object) -> object:
        raise AssertionError("read in Python")

    read = stream_read(stream(path, {"i": BIGINT, "s": STRING, "d": DOUBLE}, {}, None))
    monkeypatch.setattr("neelc.engines.local.json_files.from_value", fail)
    assert len(local_rows(read)[0]) == 1000

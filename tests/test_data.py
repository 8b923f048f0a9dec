"""Reading tables: formats, types, and the errors for data that do not fit."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neelc.catalog import inputs as cells
from neelc.catalog import inputs as layout
from neelc.catalog.inputs import merged
from neelc.catalog.location import Location
from neelc.catalog.readers.text import TypeMismatch, from_text, read_csv, read_json
from neelc.errors import NeelError
from neelc.ir.program import Column
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
    TINYINT,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
    StructField,
)
from neelc.source import Source, Span

UTC = datetime.UTC


def location(path: Path, **more: str) -> Location:
    options = {key: value for key, value in more.items() if key != "format"}
    return Location(path.name, path, Source(path.name, "--stream"), Span(0, 1), more.get("format"), options)


def error(path: Path, *columns: Column, **more: str) -> str:
    """The error when the file is read with these columns."""
    with pytest.raises(NeelError) as raised:
        for table in location(path, **more).tables():
            table.rows(columns)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        ("127", TINYINT, 127),
        (" 5 ", INT, 5),
        ("1e3", DOUBLE, 1000.0),
        ("-Infinity", DOUBLE, float("-inf")),
        ("0.1", FLOAT, 0.10000000149011612),
        ("1.005", Decimal(5, 2), decimal.Decimal("1.01")),
        ("TRUE", BOOLEAN, True),
        (" x", STRING, " x"),
        ("ab", BINARY, b"ab"),
        ("2024-02-29", DATE, datetime.date(2024, 2, 29)),
        ("2024-02-29 10:00:00.5", TIMESTAMP, datetime.datetime(2024, 2, 29, 10, 0, 0, 500000, UTC)),
        ("2024-02-29T10:00:00", TIMESTAMP_NTZ, datetime.datetime(2024, 2, 29, 10)),
        ("1 00:00:00", DAY_INTERVAL, datetime.timedelta(days=1)),
        ("[1, 2.5]", Array(DOUBLE), [1.0, 2.5]),
    ],
)
def test_texts_of_types(text: str, type: DataType, value: object) -> None:
    assert from_text(text, type) == value


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("128", TINYINT),
        ("1.0", INT),
        ("9" * 5000, BIGINT),
        ("1_000", BIGINT),
        ("1,5", DOUBLE),
        ("1000", Decimal(5, 2)),
        ("yes", BOOLEAN),
        ("2023-02-29", DATE),
        ("2024-02-29 25:00:00", TIMESTAMP),
        ("[1", Array(INT)),
        ("", INT),
    ],
)
def test_texts_that_do_not_fit(text: str, type: DataType) -> None:
    with pytest.raises(TypeMismatch):
        from_text(text, type)


LONGEST = datetime.timedelta(microseconds=2**63 - 1)
VALUES: list[tuple[DataType, st.SearchStrategy[object]]] = [
    (BIGINT, st.integers(-(2**63), 2**63 - 1)),
    (DOUBLE, st.floats(allow_nan=False)),
    (BOOLEAN, st.booleans()),
    (STRING, st.text()),
    (BINARY, st.binary(max_size=4)),
    (DATE, st.dates()),
    (TIMESTAMP, st.datetimes(timezones=st.just(UTC))),
    (DAY_INTERVAL, st.timedeltas(-LONGEST, LONGEST)),
    (Decimal(10, 2), st.decimals(-999, 999, places=2)),
]
NESTED: list[tuple[DataType, st.SearchStrategy[object]]] = [
    *((Array(type), st.lists(st.none() | values, max_size=3)) for type, values in VALUES),
    *((Map(STRING, type), st.dictionaries(st.text(), values, max_size=3)) for type, values in VALUES),
    *(
        (
            Struct((StructField("x", type), StructField("`a b`", STRING))),
            st.fixed_dictionaries({"x": v, "a b": st.text()}),
        )
        for type, v in VALUES
    ),
]


@given(st.data())
def test_a_cell_is_read_back_as_it_was_written(data: st.DataObject) -> None:
    type, values = data.draw(st.sampled_from([*VALUES, *NESTED]))
    value = data.draw(st.none() | values)
    text = cells.render(value, type)
    assert cells.parse(text, type) == value
    # In a table, between two others, it stays one cell.
    assert [cell for _, cell in layout.split(f"1  {text}  x")] == ["1", text, "x"]


TRADES = [Column("ts", BIGINT), Column("name", STRING)]


@pytest.mark.parametrize(
    ("text", "options", "rows"),
    [
        ("ts,name\n1,a\n", {}, [(1, "a")]),
        ("name,ts,more\r\na,1,x\r\n", {}, [(1, "a")]),
        ("TS,Name\n1,a", {}, [(1, "a")]),
        ('ts,name\n1,"a, ""b""\nc"\n2,""\n3,\n', {}, [(1, 'a, "b"\nc'), (2, ""), (3, None)]),
        ("ts\tname\n1\ta b\n", {"delimiter": "\\t"}, [(1, "a b")]),
        ("ts;name\n1;NA\n", {"sep": ";", "nullValue": "NA"}, [(1, None)]),
        ("1,a\n\n2,b\n", {"header": "false"}, [(1, "a"), (2, "b")]),
        ("ts,name\n", {}, []),
    ],
)
def test_csv(text: str, options: dict[str, str], rows: list[tuple[int, str]]) -> None:
    found = read_csv(Source(text), options).rows(TRADES)
    assert [(row["ts"], row["name"]) for row in found] == rows


def test_types_are_inferred_from_csv() -> None:
    first = "1,1,true,2024-05-01,2024-05-01 10:00:00,x,"
    second = "-2,2.5,FALSE,2024-05-02,2024-05-01T11:00:00Z,1,"
    text = f"a,b,c,d,e,f,g\n{first}\n{second}\n"
    kinds = [str(column.type) for column in read_csv(Source(text), {}).columns()]
    assert kinds == ["BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "STRING", "VOID"]


def test_types_are_inferred_from_json() -> None:
    first = '{"a": 1, "b": [1, 2.5]}'
    second = '{"a": 2, "c": {"x": "2024-05-01 10:00:00"}, "d": 1}'
    text = f'{first}\n{second}\n{{"d": "x", "e": null}}\n'
    kinds = {column.name: str(column.type) for column in read_json(Source(text), {}).columns()}
    assert kinds == {
        "a": "BIGINT",
        "b": "ARRAY<DOUBLE>",
        "c": "STRUCT<x: TIMESTAMP>",
        "d": "STRING",
        "e": "VOID",
    }
    assert str(merged([read_json(Source('{"b": []}'), {})])[0].type) == "ARRAY<STRING>"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "ts,nam\n1,a\n", "error[NEEL5002]: no column `name` in a.csv\n --> a.csv:1:1"),
        ("a.csv", "ts,nam\n1,a\n", "hint: did you mean `nam`?"),
        (
            "a.csv",
            "ts,name\nx,a\n",
            "error[NEEL5003]: `x` is not of type BIGINT (column `ts`)\n --> a.csv:2:1",
        ),
        ("a.csv", "ts,name\n" + "x,a\n" * 9, "hint: 4 more values do not fit"),
        ("a.csv", "ts,name\n1,a,b\n", "error[NEEL5004]: 3 fields where 2 are expected\n --> a.csv:2:1"),
        ("a.csv", 'ts,name\n1,"a\n', "error[NEEL5004]: this quote is not closed\n --> a.csv:2:3"),
        ("a.csv", "ts,ts\n", "error[NEEL5004]: two columns are called `ts`"),
        ("a.csv", "ts,,name\n", "error[NEEL5004]: column 2 has no name"),
        ("a.csv", "", "error[NEEL5004]: no header line"),
        ("a.json", '{"ts": 1}\n[1]\n', "error[NEEL5004]: a line is not a JSON object\n --> a.json:2:1"),
        ("a.json", '{"ts": 1}\n{"ts": }\n', "error[NEEL5004]: not JSON: expecting value\n --> a.json:2:8"),
        (
            "a.json",
            '{"name": "a", "ts": 1.5}\n',
            "error[NEEL5003]: `1.5` is not of type BIGINT (column `ts`)\n --> a.json:1:15",
        ),
        ("a.dat", "", "error[NEEL5006]: unknown format of a.dat"),
    ],
)
def test_data_that_do_not_fit(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert message in error(path, *TRADES)


def test_options_and_formats_that_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("ts,name\n")
    assert "`delimeter` is not an option of csv files" in error(path, *TRADES, delimeter=";")
    assert "did you mean delimiter?" in error(path, *TRADES, delimeter=";")
    assert "`avro` is not a format" in error(path, *TRADES, format="avro")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "error[NEEL5001]: no such file: a.csv" in error(tmp_path / "a.csv", *TRADES)
    (tmp_path / "parts").mkdir()
    assert "error[NEEL5001]: no files in parts" in error(tmp_path / "parts", *TRADES)
    (tmp_path / "latin.csv").write_bytes(b"ts,name\n1,\xe9\n")
    assert "error[NEEL5001]: latin.csv: not UTF-8 text (byte 11)" in error(tmp_path / "latin.csv", *TRADES)


def test_a_directory_is_all_its_files(tmp_path: Path) -> None:
    parts = tmp_path / "trades.csv"
    parts.mkdir()
    (parts / "part-1.csv").write_text("ts,name\n1,a\n")
    (parts / "part-0.csv").write_text("name,ts\nb,2\n")
    (parts / "_SUCCESS").write_text("")
    rows = [row for table in location(parts).tables() for row in table.rows(TRADES)]
    assert rows == [{"ts": 2, "name": "b"}, {"ts": 1, "name": "a"}]


def test_types_of_several_files_are_widened(tmp_path: Path) -> None:
    """A file in which a column has no value says nothing about its type."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    kinds = (pyarrow.int32(), pyarrow.int64(), pyarrow.null())
    for place, (kind, value) in enumerate(zip(kinds, (1, 5_000_000_000, None), strict=True)):
        schema = pyarrow.schema([("ts", kind), ("x", pyarrow.float32() if place else pyarrow.int16())])
        table = pyarrow.Table.from_pylist([{"ts": value, "x": 2}], schema)
        (tmp_path / "parts").mkdir(exist_ok=True)
        parquet.write_table(table, tmp_path / "parts" / f"{place}.parquet")
    tables = location(tmp_path / "parts").tables()
    columns = merged(tables)
    assert [str(column.type) for column in columns] == ["BIGINT", "DOUBLE"]
    assert [row["ts"] for table in tables for row in table.rows(columns)] == [1, 5_000_000_000, None]
    texts = [read_csv(Source(text), {}) for text in ("ts,x\n", "ts,x\n1,2.5\n")]
    assert [str(column.type) for column in merged(texts)] == ["BIGINT", "DOUBLE"]


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="notimpl: needs the extra neelc[parquet]")
    parquet = pytest.importorskip("pyarrow.parquet")
    moment = datetime.datetime(2024, 5, 1, 10, tzinfo=UTC)
    schema = pyarrow.schema(
        [
            ("ts", pyarrow.timestamp("ns", tz="UTC")),
            ("name", pyarrow.dictionary(pyarrow.int32(), pyarrow.string())),
            ("size", pyarrow.decimal128(10, 2)),
            ("tags", pyarrow.list_(pyarrow.struct([("x", pyarrow.int16())]))),
            ("more", pyarrow.map_(pyarrow.string(), pyarrow.float64())),
        ]
    )
    row = {"ts": moment, "name": "a", "size": decimal.Decimal("1.50"), "tags": [{"x": 1}], "more": {"k": 0.5}}
    parquet.write_table(pyarrow.Table.from_pylist([row, dict.fromkeys(row)], schema), tmp_path / "a.parquet")
    (table,) = location(tmp_path / "a.parquet").tables()
    columns = table.columns()
    kinds = ["TIMESTAMP", "STRING", "DECIMAL(10, 2)", "ARRAY<STRUCT<x: SMALLINT>>", "MAP<STRING, DOUBLE>"]
    assert [str(column.type) for column in columns] == kinds
    assert [
        str(column.type) for column in location(tmp_path / "a.parquet").tables(True)[0].columns()
    ] == kinds
    assert table.rows(columns) == [row, dict.fromkeys(row)]
    message = error(tmp_path / "a.parquet", Column("name", BIGINT))
    assert message.startswith(
        "error[NEEL5003]: `a` is not of type BIGINT (column `name`)\n --> a.parquet:1:1\n"
    )
    (tmp_path / "b.parquet").write_text("no")
    assert "error[NEEL5001]: b.parquet: not a Parquet file" in error(
        tmp_path / "b.parquet", Column("name", BIGINT)
    )


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_text("")
    assert "reading Parquet requires pyarrow" in error(tmp_path / "a.parquet", *TRADES)

"""neelc as a library: streams from DataFrames, the catalog and paths; the result is a DataFrame of Spark."""

from __future__ import annotations

import datetime
import decimal
import linecache
import warnings
from pathlib import Path
from typing import Any, cast

import pytest

import neelc

SCHEMA = "ts BIGINT, sym STRING, price DOUBLE"
ROWS = [(1, "A", 10.0), (2, "B", 11.0), (3, "B", None), (4, "C", 13.5)]
UP = "PATTERN SEQ(A a, B b) WHERE b.price > a.price WITHIN 10 SECONDS RETURN a.ts AS a, b.ts AS b"


@pytest.fixture(scope="module")
def trades(spark: Any) -> Any:
    return spark.createDataFrame(ROWS, SCHEMA)


def rows(frame: Any) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_sql(spark: Any, trades: Any) -> None:
    frame = neelc.sql(spark, UP, Trades=neelc.stream(trades, type="sym", unit="s"))
    assert frame.columns == ["a", "b"]
    assert rows(frame) == [(1, 2)]


def test_a_session(spark: Any, trades: Any) -> None:
    neel = neelc.Session(spark)
    neel.register("Trades", trades, timestamp="ts", type="sym", unit="SECONDS")
    assert rows(neel.sql(UP)) == [(1, 2)]
    query = neel.compile(UP)
    assert "def query(spark: SparkSession, streams: " in query.source
    assert rows(query.to_df()) == [(1, 2)]
    assert "What the numbers rest on" in query.explain(mode="cost")
    assert neel.explain(UP).startswith("query 1\n")
    assert neel.explain(UP, format="json").startswith("{")
    # One given with the call goes before the one that is registered.
    assert rows(neel.sql(UP, trades=neelc.stream(trades.where("ts <> 2"), type="sym", unit="s"))) == []


def test_nothing_runs_before_an_action(spark: Any, trades: Any) -> None:
    failing = trades.selectExpr("ts", "CAST(raise_error('it ran') AS STRING) AS sym", "price")
    frame = neelc.sql(spark, UP, Trades=neelc.stream(failing, type="sym", unit="s"))
    assert frame.columns == ["a", "b"]
    with pytest.raises(Exception, match="it ran"):
        frame.collect()


@pytest.mark.parametrize("name", ["payments", "PAYMENTS"])
def test_views_of_the_catalog(name: str, spark: Any, trades: Any) -> None:
    trades.createOrReplaceTempView("payments")
    try:
        text = f"PATTERN SEQ({name} a, {name} b) WHERE b.price > a.price WITHIN 10 RETURN a.ts, b.ts"
        assert rows(neelc.sql(spark, text)) == [(1, 2), (1, 4), (2, 4)]
        assert rows(neelc.sql(spark, "PATTERN Any x RETURN x.ts", Any="payments")) == [(1,), (2,), (3,), (4,)]
        text = "PATTERN SEQ(A a, B b) FROM payments"
        with pytest.raises(neelc.NeelQueryError, match=r"NEEL2005|NEEL2012"):
            neelc.sql(spark, text)
    finally:
        spark.catalog.dropTempView("payments")


def test_paths(spark: Any, trades: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("price,TS,sym\n10,1,A\n11,2,B\n,3,B\n13.5,4,C\n")
    (tmp_path / "t.json").write_text(
        '{"ts": 1, "sym": "A", "price": 10}\n{"ts": 2, "sym": "B", "price": 11}\n'
    )
    trades.write.parquet(str(tmp_path / "t"))
    for name in ("t.csv", "t.json", "t"):
        given = neelc.stream(str(tmp_path / name), type="sym", unit="s")
        assert rows(neelc.sql(spark, UP, Trades=given)) == [(1, 2)], name
    declared = f"CREATE STREAM Trades ({SCHEMA}) TIMESTAMP BY ts UNIT SECONDS TYPE BY sym; {UP}"
    for name in ("t.csv", "t.json", "t"):
        assert rows(neelc.sql(spark, declared, Trades=str(tmp_path / name))) == [(1, 2)], name
    text = f"CREATE STREAM Trades TIMESTAMP BY ts UNIT SECONDS TYPE BY sym FROM '{tmp_path}/t.csv'; {UP}"
    assert rows(neelc.sql(spark, text)) == [(1, 2)]


def test_a_value_that_does_not_fit_fails_the_run(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ts,sym,price\n1,A,10\n2,B,mu'ch\n")
    text = f"CREATE STREAM Trades ({SCHEMA}) TIMESTAMP BY ts UNIT SECONDS TYPE BY sym; {UP}"
    frame = neelc.sql(spark, text, Trades=str(tmp_path / "t.csv"))
    with pytest.raises(Exception, match="NEEL5003") as raised:
        frame.collect()
    failure = neelc.explain_failure(raised.value)
    assert failure is not None and failure.__cause__ is raised.value
    assert str(failure) == (
        "error[NEEL5003]: `mu'ch` is not of type DOUBLE (column `price` of stream `Trades`)"
    )
    assert (failure.getCondition(), failure.getSqlState()) == ("NEEL5003", "22000")


def test_arguments(spark: Any, trades: Any) -> None:
    text = "PATTERN SEQ(A a, C c) WHERE c.price >= :least WITHIN :w RETURN a.ts AS a, c.ts AS c"
    given = neelc.stream(trades, type="sym", unit="s")
    for window, found in (("10 SECONDS", 1), (datetime.timedelta(seconds=10), 1), ("2 SECONDS", 0)):
        frame = neelc.sql(spark, text, {"least": decimal.Decimal("13.5"), "w": window}, Trades=given)
        assert len(rows(frame)) == found
    days = spark.createDataFrame([(datetime.date(2024, 5, day),) for day in (1, 2, 3)], "time DATE")
    text = "PATTERN Days d WHERE d.time > :day RETURN d.time"
    assert rows(neelc.sql(spark, text, args={"day": datetime.date(2024, 5, 2)}, Days=days)) == [
        (datetime.date(2024, 5, 3),)
    ]


def test_columns_are_those_that_the_script_declares(spark: Any, trades: Any) -> None:
    text = "CREATE STREAM Trades (TS BIGINT, price DOUBLE) TIMESTAMP BY ts; PATTERN Trades t RETURN t"
    narrow = trades.selectExpr("CAST(ts AS INT) AS ts", "CAST(price AS FLOAT) AS Price", "sym")
    frame = neelc.sql(spark, text, Trades=narrow)
    assert frame.schema.simpleString() == "struct<t:struct<TS:bigint,price:double>>"
    with pytest.raises(neelc.NeelQueryError) as raised:
        neelc.sql(spark, text, Trades=trades.drop("price"))
    assert str(raised.value).startswith("error[NEEL5002]: ") and "ts, sym" in str(raised.value)
    with pytest.raises(neelc.NeelQueryError) as raised:
        neelc.sql(spark, text, Trades=trades.selectExpr("ts", "sym AS price"))
    assert str(raised.value).startswith(
        "error[NEEL5003]: column `price` is of type STRING, but declared as DOUBLE\n --> stream Trades:1:5\n"
    )


def test_a_type_column_of_numbers_holds_names(spark: Any) -> None:
    frame = spark.createDataFrame([(1, 7), (2, 8)], "ts BIGINT, code INT")
    text = "PATTERN SEQ(`7` a, `8` b) WITHIN 10 RETURN a.ts AS a, b.ts AS b"
    assert rows(neelc.sql(spark, text, S=neelc.stream(frame, type="code"))) == [(1, 2)]


def test_wrong_queries(spark: Any, trades: Any) -> None:
    with pytest.raises(neelc.NeelError) as raised:
        neelc.sql(spark, "PATTERN SEQ(A a, B b)\nWHERE c.price > 1", Trades=neelc.stream(trades, type="sym"))
    error = raised.value
    assert isinstance(error, neelc.NeelQueryError)
    assert (error.getCondition(), error.getSqlState()) == ("NEEL2001", "42000")
    assert error.getMessage() == str(error) and str(error).startswith("error[NEEL2001]: unknown")
    parameters = error.getMessageParameters()
    assert (parameters["line"], parameters["column"]) == ("2", "7")
    assert "hint" in parameters and "message" in parameters


def test_an_ordinary_aggregate_is_left_to_spark(spark: Any, trades: Any) -> None:
    """`count(*)` per instant would be four rows here, where one is meant."""
    with pytest.raises(neelc.NeelError, match=r"(?s)SELECT aggregates per instant.*spark\.sql") as caught:
        neelc.sql(spark, "SELECT count(*) FROM Trades", Trades=trades)
    assert [one.code for one in caught.value.diagnostics] == ["NEEL3081"]


def test_a_stream_without_data(spark: Any) -> None:
    text = "CREATE STREAM T (ts BIGINT) TIMESTAMP BY ts; PATTERN T t"
    query = neelc.Session(spark).compile(text)
    with pytest.raises(neelc.NeelQueryError, match="NEEL5005"):
        query.to_df()


@pytest.mark.parametrize(
    ("text", "call", "message"),
    [
        (UP, {"Trdes": None}, "unknown stream `Trdes`: did you mean `Trades`?"),
        (UP, {"args": {"w": 1}}, "unknown argument `w`: the query has no parameters"),
        (UP + ", :w", {"w": "1 HOUR"}, "`w` is a parameter of the query: give it in args={\"w\": '1 HOUR'}"),
        (UP + ", :w", {"w": 5}, '`w` is a parameter of the query: give it in args={"w": 5}'),
        ("CREATE TYPE T AS (A, B)", {}, "the script has no query"),
        ("PATTERN No n", {"No": None}, "stream No: which column is the timestamp? Say timestamp=COLUMN in"),
    ],
)
def test_wrong_calls(text: str, call: dict[str, Any], message: str, spark: Any, trades: Any) -> None:
    untimed = trades.withColumnRenamed("ts", "t")
    given = {name: untimed if value is None else value for name, value in call.items()}
    if "Trdes" in call:
        given = {"Trdes": trades}
    if "No" not in call:
        given["Trades"] = neelc.stream(trades, type="sym")
    with pytest.raises(ValueError) as raised:
        neelc.sql(spark, text, **given)
    assert message in str(raised.value)


def test_what_a_stream_cannot_be(spark: Any, trades: Any) -> None:
    import pyarrow
    from pyspark.sql import functions as F

    table, wrong = pyarrow.table({"ts": [1]}), cast(Any, F.col("ts"))
    whole = "a stream is a DataFrame of Spark, the name of a table or a path, not"
    for value, said in (
        (5, "an int"),
        (table.to_pandas(), "a DataFrame of pandas: give spark.createDataFrame(pdf)"),
        (table, "a Table of PyArrow: give spark.createDataFrame(table)"),
        (spark.read, "a DataFrameReader: call .load() first"),
    ):
        with pytest.raises(TypeError) as raised:
            neelc.sql(spark, "PATTERN T t", T=value)
        assert str(raised.value) == f"{whole} {said}"
    for call, said in (
        (lambda: neelc.stream(trades, timestamp=wrong), "timestamp"),
        (lambda: neelc.stream(trades, then_by=[wrong]), "then_by"),
        (lambda: neelc.funnel(trades, by=wrong), "by"),
    ):
        with pytest.raises(TypeError) as raised:
            call()
        expected = 'is the name of a column, as a text, not a Column: "ts" instead of F.col("ts")'
        assert str(raised.value) == f"{said} {expected}"
    with pytest.raises(TypeError, match="df is a DataFrame of Spark, not a DataFrame of pandas: give spark"):
        neelc.match_recognize(table.to_pandas(), pattern="A")
    with pytest.raises(ValueError, match="no unit blinks; units: NANOSECOND"):
        neelc.stream("trades.csv", unit="blinks")
    with pytest.raises(ValueError, match="there are simple, rewrite, cost, nfa, all"):
        neelc.Session(spark).explain("PATTERN T t", mode="full", T=spark.range(1).selectExpr("id AS ts"))


def test_streams_named_like_arguments(spark: Any, trades: Any) -> None:
    """What can only be a stream is one, whatever its name."""
    given = {name: trades.withColumn("sym", trades.sym) for name in ("options", "agents", "strategy", "args")}
    for name, frame in given.items():
        text = f"PATTERN SEQ({name} a, {name} b) WHERE b.price > a.price WITHIN 10 RETURN a.ts, b.ts"
        assert rows(neelc.sql(spark, text, **{name: frame})) == [(1, 2), (1, 4), (2, 4)]
    neel = neelc.Session(spark)
    assert neel.explain("PATTERN mode m RETURN m.ts", mode=trades).startswith("query 1\n")
    with pytest.raises(ValueError, match="unknown stream `options`: the query reads `T`"):
        neelc.sql(spark, "PATTERN T t", T=trades, options=cast(Any, neelc.stream(trades)))


UNBOUNDED = "PATTERN SEQ(A a, B b) WHERE b.price > a.price"


def test_warnings(spark: Any, trades: Any) -> None:
    """Python is told what the command line tells: once, at the line of the caller."""
    given: dict[str, Any] = {"Trades": neelc.stream(trades, type="sym", unit="s")}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        neelc.sql(spark, UNBOUNDED, **given)
        neelc.Session(spark).compile(UNBOUNDED, **given)
    assert [one.category for one in told] == [neelc.NeelWarning] * 2
    first = told[0].message
    assert isinstance(first, neelc.NeelWarning) and first.code == "NEEL6003"
    assert first.diagnostic.hint and first.diagnostic.hint in str(first)
    assert str(first).startswith("warning[NEEL6003]: ") and UNBOUNDED in str(first)
    assert all(Path(one.filename) == Path(__file__) for one in told)
    assert (
        linecache.getline(told[1].filename, told[1].lineno).strip().startswith("neelc.Session(spark).compile")
    )


def test_a_warning_is_told_once(spark: Any, trades: Any) -> None:
    """Also if somebody changes a filter in between, and Python forgets what it has shown."""
    given: dict[str, Any] = {"Trades": neelc.stream(trades, type="sym", unit="s")}
    text = UNBOUNDED + " RETURN a.ts"
    with warnings.catch_warnings(record=True) as told:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        for _ in range(3):
            neelc.sql(spark, text, **given)
            warnings.simplefilter("ignore", FutureWarning)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", neelc.NeelWarning)
        for _ in range(2):
            with pytest.raises(neelc.NeelWarning, match="NEEL6003"):
                neelc.sql(spark, text, **given)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        neelc.sql(spark, text + ", b.ts", **given)
    assert len(told) == 1, "another query is warned of again"


def test_a_warning_that_was_not_shown_is_told_later(spark: Any, trades: Any) -> None:
    given: dict[str, Any] = {"Trades": neelc.stream(trades, type="sym", unit="s")}
    text = UNBOUNDED + " RETURN b.ts"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("ignore")
        neelc.sql(spark, text, **given)
        warnings.simplefilter("default")
        neelc.sql(spark, text, **given)
    assert len(told) == 1


def test_notes(spark: Any) -> None:
    """What an action has noticed of the events that it read; nothing is run for it."""
    rows = [(1_700_000_000, "Login"), (1_700_000_009, "Transfer")]
    neel = neelc.Session(spark)
    neel.register("E", spark.createDataFrame(rows, "ts BIGINT, kind STRING"), type="kind")
    query: Any = neel.compile("PATTERN SEQ(Login l, Tranfser t) WITHIN 10 SECONDS")
    with pytest.raises(ValueError, match="nothing is observed"):
        query.notes()
    frame = query.to_df(observe=True)
    with pytest.raises(ValueError, match="no action has read the events yet"):
        query.notes()
    assert frame.count() == 0
    first, second = query.notes()
    assert first == "no event is of type `Tranfser`; did you mean `Transfer`?"
    assert second.startswith(
        "`ts` of stream `E` is read in milliseconds: its first time is 1970-01-20; if it"
    )
    assert query.notes() == (first, second)
    assert "observe" not in query.source
    neel.register("E", spark.createDataFrame(rows, "ts BIGINT, kind STRING"), type="kind", unit="s")
    for strategy in ("kernel", "join"):
        query = neel.compile("PATTERN SEQ(Login l, TRANSFER t) WITHIN 10 SECONDS", strategy=strategy)
        assert query.to_df(observe=True).count() == 1 and query.notes() == ()
    query = neel.compile("PATTERN SEQ(Login l, Tranfser t) WITHIN 10 SECONDS", strategy="join")
    assert query.to_df(observe=True).count() == 0
    (note,) = query.notes()
    dropped = "Spark did not read stream `E` to its end: nothing is known of its types"
    assert note in (dropped, "no event is of type `Tranfser`; did you mean `Transfer`?")


def test_a_type_that_parquet_files_do_not_have(spark: Any, tmp_path: Path) -> None:
    """Known before anything runs: the column of types is small."""
    path = str(tmp_path / "e.parquet")
    spark.createDataFrame([(1, "Login"), (2, "Transfer")], "ts BIGINT, kind STRING").write.parquet(path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        text = "PATTERN SEQ(Login l, Tranfser t) WITHIN 10 SECONDS"
        neelc.sql(spark, text, E=neelc.stream(path, type="kind", unit="s"))
        columns = "(ts BIGINT, kind STRING)"
        declared = f"CREATE STREAM E {columns} TIMESTAMP BY ts UNIT SECONDS TYPE BY kind FROM '{path}';"
        neelc.sql(spark, f"{declared} {text}")
        neelc.sql(spark, text.replace("Tranfser", "TRANSFER"), E=neelc.stream(path, type="kind", unit="s"))
    found = [one.message for one in told if isinstance(one.message, neelc.NeelWarning)]
    assert [one.code for one in found] == ["NEEL6131"] * 2
    assert found[0].diagnostic.message == "no event is of type `Tranfser`"
    assert found[0].diagnostic.hint == "did you mean `Transfer`?" and "^^^^^^^^^^" in str(found[0])

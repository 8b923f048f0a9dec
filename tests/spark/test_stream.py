"""`neelc stream` in the session of the tests: files and a real Kafka broker as sources and sinks;
tests/cli/test_stream_spark.py starts sessions of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from command_line import Here
from kafka_broker import Broker

SCRIPT = """\
CREATE STREAM Bank (ts TIMESTAMP, kind STRING, account BIGINT, amount DOUBLE)
  TIMESTAMP BY ts TYPE BY kind WATERMARK 10 SECONDS;
CREATE QUERY Alerts AS PATTERN SEQ(Login l, Withdraw w) WHERE [account] AND w.amount > 900 WITHIN 1 MINUTE
  RETURN l.account AS account, w.ts AS at, w.amount AS amount;
"""

Values = dict[str, Any]


def event(second: int, kind: str, account: int, amount: float | None = None) -> Values:
    time = f"2024-03-01T10:{second // 60:02}:{second % 60:02}Z"
    return {"ts": time, "kind": kind, "account": account, "amount": amount}


EVENTS = [
    event(0, "Login", 1),
    event(5, "Withdraw", 1, 950.0),
    event(7, "Login", 2),
    event(9, "Withdraw", 2, 20.0),
    event(30, "Withdraw", 2, 1000.5),
]
LATER = [event(50, "Withdraw", 2, 2000.0), event(3, "Withdraw", 1, 1e6), event(55, "Login", 3)]
"""The second comes late: the watermark is at 20 s."""
FOUND = [(1, "2024-03-01T10:00:05", 950.0), (2, "2024-03-01T10:00:30", 1000.5)]
FOUND_LATER = [(2, "2024-03-01T10:00:50", 2000.0)]


@pytest.fixture
def neelc(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("neelc.api.spark_session.session", lambda *settings: nullcontext(spark))
    (tmp_path / "in").mkdir()
    here = Here(tmp_path, capsys)
    here.write("fraud.neel", SCRIPT)
    return here


def lines(values: Iterable[Values]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def rows(values: Iterable[Values]) -> list[tuple[Any, ...]]:
    return sorted((one["account"], one["at"][:19], one["amount"]) for one in values)


def written(directory: Path) -> list[Values]:
    """The rows that Spark has committed to a directory of JSON files."""
    found = [line for path in directory.glob("part-*.json") for line in path.read_text().splitlines()]
    return [json.loads(line) for line in found]


def test_matches_on_standard_output_and_a_page(neelc: Here) -> None:
    neelc.write("in/a.json", lines(EVENTS))
    done = neelc("stream", "fraud.neel", "--stream", "Bank=in", "--once", "--report", "page.html")
    assert done.status == 0, done.err
    assert rows(map(json.loads, done.out.splitlines())) == FOUND
    assert "batch 0: 5 events" in done.err and "2 matches, 0 late" in done.err
    assert done.err.splitlines()[-1].startswith("2 matches in ")
    page = neelc.read("page.html")
    assert "complete" in page and "1000.5" in page and 'http-equiv="refresh"' not in page


def test_a_later_run_goes_on_from_the_checkpoint(neelc: Here) -> None:
    neelc.write("in/a.json", lines(EVENTS))
    run = (
        "stream",
        "fraud.neel",
        "--stream",
        "Bank=in",
        "--checkpoint",
        "state",
        "--out",
        "alerts",
        "--once",
    )
    done = neelc(*run)
    assert (done.status, done.out) == (0, ""), done.err
    assert done.err.splitlines()[-1].endswith("the same command goes on from state")
    assert rows(written(neelc.directory / "alerts")) == FOUND
    neelc.write("in/b.json", lines(LATER))
    done = neelc(*run)
    assert done.status == 0 and "1 match, 1 late" in done.err, done.err
    assert rows(written(neelc.directory / "alerts")) == [*FOUND, *FOUND_LATER]
    refused = neelc(*(word.replace("state", "other") for word in run))
    assert refused.status == 2 and "it holds rows of a run with another checkpoint" in refused.err


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_files_of_other_formats(format: str, spark: Any, neelc: Here) -> None:
    frame = spark.createDataFrame(
        [(one["ts"], one["kind"], one["account"], one["amount"]) for one in EVENTS],
        "ts STRING, kind STRING, account BIGINT, amount DOUBLE",
    )
    if format == "parquet":
        frame = frame.selectExpr("CAST(ts AS TIMESTAMP) AS ts", "kind", "account", "amount")
    frame.coalesce(1).write.mode("overwrite").option("header", "true").format(format).save(
        str(neelc.directory / "in")
    )
    done = neelc("stream", "fraud.neel", "--stream", f"Bank=in,format={format}", "--once", "--format", "csv")
    assert done.status == 0, done.err
    assert done.out.splitlines()[0] == "account,at,amount" and len(done.out.splitlines()) == 3


def test_a_header_with_other_columns_fails_the_run(neelc: Here) -> None:
    neelc.write("in/a.csv", "ts,type,account,amount\n2024-03-01 10:00:00,Login,1,\n")
    done = neelc("stream", "fraud.neel", "--stream", "Bank=in,format=csv", "--once")
    assert done.status == 3
    assert "/in/a.csv does not have the columns of the stream: `type` where `kind` is declared" in done.err


def test_a_record_that_cannot_be_read_fails_the_run_with_its_place(neelc: Here) -> None:
    neelc.write("in/a.json", lines(EVENTS) + '{"ts": "2024-03-01T10:00:40Z", "account": "many"}\n')
    done = neelc("stream", "fraud.neel", "--stream", "Bank=in", "--once")
    assert (done.status, done.out) == (3, "")
    assert (
        "error[NEEL5090]: stream `Bank`: a record is not a JSON object with the declared columns" in done.err
    )
    assert "in/a.json" in done.err and '"account": "many"' in done.err and "at org.apache" not in done.err


def test_bad_records_are_set_aside(neelc: Here) -> None:
    neelc.write("in/a.json", lines(EVENTS) + "no JSON\n\n[1]\n")
    run = (
        "stream",
        "fraud.neel",
        "--stream",
        "Bank=in",
        "--once",
        "--checkpoint",
        "state",
        "--out",
        "alerts",
    )
    done = neelc(*run, "--bad-records", "bad")
    assert done.status == 0, done.err
    assert rows(written(neelc.directory / "alerts")) == FOUND
    bad = written(neelc.directory / "bad" / "Bank")
    assert sorted(one["record"] for one in bad) == ["[1]", "no JSON"]
    assert all(one["place"].endswith("in/a.json") for one in bad)


def test_from_kafka_to_kafka(neelc: Here, kafka: Broker) -> None:
    for topic in ("bank", "alerts"):
        kafka.create(topic, partitions=2)
    kafka.produce("bank", EVENTS)
    run = ("stream", "fraud.neel", "--stream", f"Bank={kafka.url('bank')}", "--checkpoint", "state", "--once")
    done = neelc(*run, "--out", f"{kafka.url('alerts')},key=account")
    assert (done.status, done.out) == (0, ""), done.err
    assert rows(kafka.consume("alerts", 1)) == FOUND
    kafka.produce("bank", LATER)
    done = neelc(*run, "--out", f"{kafka.url('alerts')},key=account")
    assert done.status == 0 and "1 match, 1 late" in done.err, done.err
    assert rows(kafka.consume("alerts", 1)) == sorted([*FOUND, *FOUND_LATER])


def test_a_poison_record_of_kafka(neelc: Here, kafka: Broker) -> None:
    """It is named by topic, partition and offset; a tombstone is one, too."""
    kafka.create("poisoned")
    kafka.produce("poisoned", [*EVENTS, b"\xff\xfe", None])
    run = ("stream", "fraud.neel", "--stream", f"Bank={kafka.url('poisoned')}", "--once")
    done = neelc(*run)
    assert (done.status, done.out) == (3, "")
    assert "error[NEEL5090]" in done.err and "(topic poisoned, partition 0, offset 5)" in done.err
    done = neelc(*run, "--checkpoint", "state", "--out", "alerts", "--bad-records", "bad")
    assert done.status == 0, done.err
    assert rows(written(neelc.directory / "alerts")) == FOUND
    bad = {one["place"]: one["record"] for one in written(neelc.directory / "bad" / "Bank")}
    assert list(map(str, sorted(bad))) == [f"topic poisoned, partition 0, offset {at}" for at in (5, 6)]
    assert bad["topic poisoned, partition 0, offset 6"] == "no value"


def test_avro(spark: Any, neelc: Here, kafka: Broker) -> None:
    """The declared columns are the schema; a file may name the writer's."""
    from pyspark.sql.avro.functions import to_avro
    from pyspark.sql.functions import struct

    from neelc.api.connectors import avro_schema
    from neelc.ir.program import Column
    from neelc.ir.types import BIGINT, DOUBLE, STRING, TIMESTAMP

    columns = [Column("ts", TIMESTAMP), Column("kind", STRING), Column("account", BIGINT)]
    schema = avro_schema([*columns, Column("amount", DOUBLE)])
    values = [(one["ts"], one["kind"], one["account"], one["amount"]) for one in EVENTS]
    frame = spark.createDataFrame(values, "ts STRING, kind STRING, account BIGINT, amount DOUBLE")
    frame = frame.selectExpr("CAST(ts AS TIMESTAMP) AS ts", "kind", "account", "amount")
    records = frame.select(to_avro(struct("*"), schema).alias("value"))
    kafka.create("encoded")
    kafka.produce("encoded", [bytes(row.value) for row in records.collect()])
    neelc.write("bank.avsc", schema)
    for more in ("", ",schema=bank.avsc"):
        given = f"Bank={kafka.url('encoded')},format=avro{more}"
        done = neelc("stream", "fraud.neel", "--stream", given, "--once")
        assert done.status == 0, done.err
        assert rows(map(json.loads, done.out.splitlines())) == FOUND
    kafka.produce("encoded", [b"\x02"])
    done = neelc("stream", "fraud.neel", "--stream", f"Bank={kafka.url('encoded')},format=avro", "--once")
    assert done.status == 3 and "(topic encoded, partition 0, offset 5): 02" in done.err, done.err

"""`neelc stream`: what is refused before Spark starts, and what is said of micro-batches."""

from __future__ import annotations

from typing import Any

import pytest
from command_line import Here

from neelc.api.connectors import KAFKA, RATE, StreamAddress, address_of, required, with_packages
from neelc.cli.stream import line_of, numbers_of
from neelc.files import CallError
from neelc.runtime.streaming import FORMAT
from neelc.tools.report.live import BatchNumbers

SCRIPT = """CREATE STREAM Bank (ts TIMESTAMP, kind STRING, account BIGINT)
  TIMESTAMP BY ts TYPE BY kind WATERMARK 10 SECONDS;
PATTERN SEQ(Login l, Withdraw w) WHERE [account] WITHIN 1 MINUTE RETURN l.account AS account;
"""
KAFKA_URL = "kafka://localhost:9092/bank"


@pytest.fixture
def bank(neelc: Here, monkeypatch: pytest.MonkeyPatch) -> Here:
    def start(*_: object) -> None:
        raise AssertionError("Spark is started")

    monkeypatch.setattr("neelc.api.spark_session.session", start)
    neelc.write("bank.neel", SCRIPT)
    (neelc.directory / "in").mkdir()
    return neelc


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "stream: no stream is given; --stream NAME=SOURCE says where its events come from"),
        ("--stream Bank", "--stream Bank: not of the form NAME=SOURCE[,key=value]"),
        ("--stream Bank=nowhere", "--stream Bank=nowhere: no such directory: nowhere"),
        (
            "--stream Bank=bank.neel",
            "--stream Bank=bank.neel: bank.neel is a file; name the directory that files are added to",
        ),
        (
            "--stream Bank=in,watermark=soon",
            "--stream Bank=in,watermark=soon: watermark: `soon` is not a length of time; "
            "for example 10 seconds",
        ),
        (
            "--stream Bnak=in",
            "stream Bnak: declare its columns: CREATE STREAM Bnak (...); the script declares Bank",
        ),
        ("--stream Bank=kafka://x/bank", "kafka://x/bank: not of the form kafka://host:port/topic"),
        ("--stream Bank=rate://fast", "rate://fast: not of the form rate://ROWS-PER-SECOND"),
        ("--stream Bank=delta://in", "delta://in: not one of kafka, rate, files"),
        (
            "--stream Bank=in,fromat=csv",
            "--stream Bank=in,fromat=csv: no setting fromat; did you mean format?",
        ),
        (
            f"--stream Bank={KAFKA_URL},format=csv",
            f"--stream Bank={KAFKA_URL},format=csv: no format csv here; formats: json, avro",
        ),
        (
            f"--stream Bank={KAFKA_URL},schema=x.avsc",
            f"--stream Bank={KAFKA_URL},schema=x.avsc: schema=FILE is for format=avro",
        ),
        (
            f"--stream Bank={KAFKA_URL} --stream Other=rate",
            "--stream Other=...: no query reads it; streams that are read: Bank",
        ),
        (
            "--stream Bank=in --out alerts",
            "stream --out alerts: name a directory for the state: --checkpoint DIR",
        ),
        (
            "--stream Bank=in --out delta://alerts --checkpoint state --format csv",
            "stream --out delta://alerts: its rows are not csv; leave out --format",
        ),
        ("--stream Bank=in --trigger 5", "stream --trigger 5: not a length of time, such as '5 seconds'"),
        ("--stream Bank=in --buckets 0", "stream --buckets 0: at least 1 is required"),
        (
            "--stream Bank=in --bad-records bad",
            "stream --bad-records: it requires --checkpoint DIR, so that each is written once",
        ),
        (
            "--stream Bank=in,format=csv --checkpoint state --bad-records bad",
            "stream --bad-records: only for JSON and Avro, not for the format of Bank",
        ),
        (
            "--stream Bank=in --remote sc://x",
            "stream --remote: rows of a remote session go to a directory or to Kafka: --out",
        ),
        (
            "--stream Bank=in --report page.txt",
            "stream --report page.txt: a page is written to a file that ends in .html",
        ),
    ],
)
def test_wrong_calls(words: str, sentence: str, bank: Here) -> None:
    done = bank("stream", "bank.neel", *words.split())
    assert (done.status, done.out, done.err) == (2, "", f"neelc: {sentence}\n")


def test_output_inside_of_a_source_is_refused(bank: Here) -> None:
    done = bank("stream", "bank.neel", "--stream", "Bank=in", "--out", "in/alerts", "--checkpoint", "state")
    assert done.status == 2 and "it is inside in, the data of stream Bank" in done.err
    done = bank("stream", "bank.neel", "--stream", "Bank=in", "--out", "out", "--checkpoint", "out/state")
    assert done.status == 2 and "is inside it; use separate directories" in done.err


STREAMED = ("stream", "bank.neel", "--stream", "Bank=in", "--checkpoint", "state", "--out", "alerts")


def test_a_changed_query_is_refused_before_it_starts(bank: Here) -> None:
    start(bank, has_batch=True)
    start(bank, SCRIPT.replace("RETURN l.account AS account", "RETURN l.account + 1 AS next"))
    start(bank)
    bank.write("bank.neel", SCRIPT.replace("1 MINUTE", "2 MINUTES"))
    done = bank(*STREAMED, "--buckets", "4")
    assert (done.status, done.out, done.err) == (
        3,
        "",
        "error[NEEL5091]: the checkpoint was written by another query. window: was 1 MINUTE, is 2 MINUTES; "
        "buckets: was 16, is 4. Start with a new checkpoint and a new output, or restore the query\n",
    )
    start(bank)


def test_a_query_without_state_is_another_one(bank: Here) -> None:
    clause = "SEQ(Login l, Withdraw w) WHERE [account] WITHIN 1 MINUTE"
    start(bank, SCRIPT.replace(clause, "Login l WHERE l.account > 1"), has_batch=True)
    bank.write("bank.neel", SCRIPT)
    assert "pattern: was none, is SEQ(Login l, Withdraw w WHERE [account])" in bank(*STREAMED).err


def test_a_query_may_change_before_its_first_micro_batch(bank: Here) -> None:
    start(bank)
    start(bank, SCRIPT.replace("1 MINUTE", "2 MINUTES"), has_batch=True)
    bank.write("bank.neel", SCRIPT)
    assert "window: was 2 MINUTES, is 1 MINUTE" in bank(*STREAMED).err


def test_a_checkpoint_that_does_not_name_its_query_stays_so(bank: Here) -> None:
    """Its buckets are checked: what is tried must not be taken for what was written."""
    (bank.directory / "state/commits").mkdir(parents=True)
    bank.write("state/commits/0", "v1")
    start(bank)
    assert not (bank.directory / "state/neelc").exists()
    (bank.directory / "state/neelc").mkdir()
    bank.write("state/neelc/query.json", "[]")
    start(bank)


def test_state_of_another_version(bank: Here) -> None:
    start(bank, has_batch=True)
    file = "state/neelc/query.json"
    bank.write(file, bank.read(file).replace(f'"format": {FORMAT}', '"format": 99'))
    done = bank(*STREAMED)
    assert done.status == 3 and f"has format 99, and this neelc reads format {FORMAT}" in done.err


def test_a_checkpoint_that_is_a_file(bank: Here) -> None:
    bank.write("state", "")
    done = bank(*STREAMED)
    assert done.status == 2 and done.err == "neelc: stream --checkpoint state: Not a directory\n"


def start(bank: Here, script: str = SCRIPT, has_batch: bool = False) -> None:
    """Come as far as Spark; then, perhaps, a micro-batch ends."""
    bank.write("bank.neel", script)
    done = bank(*STREAMED)
    assert "Spark is started" in done.err
    if has_batch:
        (bank.directory / "state/commits").mkdir()
        bank.write("state/commits/0", "v1")


def test_a_stream_without_a_watermark(bank: Here) -> None:
    bank.write("bank.neel", SCRIPT.replace(" WATERMARK 10 SECONDS", ""))
    done = bank("stream", "bank.neel", "--stream", "Bank=in")
    assert done.status == 1 and done.err.startswith("error[NEEL4140]: stream `Bank` has no watermark")


def test_state_without_a_bound(bank: Here) -> None:
    bank.write("bank.neel", SCRIPT.replace(" WITHIN 1 MINUTE", ""))
    done = bank("stream", "bank.neel", "--stream", "Bank=in")
    assert done.status == 1 and "error[NEEL4131]" in done.err


def test_undeclared_columns_of_kafka(bank: Here) -> None:
    bank.write("bank.neel", "PATTERN SEQ(Bank a, Bank b) WITHIN 1 MINUTE")
    done = bank("stream", "bank.neel", "--stream", f"Bank={KAFKA_URL},watermark=5 seconds")
    assert (done.status, done.err) == (
        2,
        "neelc: stream Bank: declare its columns: CREATE STREAM Bank (...)\n",
    )


def test_packages_are_those_of_this_spark() -> None:
    addresses = [StreamAddress(KAFKA, format="avro"), StreamAddress("delta"), StreamAddress(RATE)]
    needed = required(addresses)
    assert needed == ["kafka", "delta", "avro"]
    found = with_packages({"spark.jars": "/lib/spark-avro_2.13-4.1.1.jar"}, needed, "4.1.1")
    assert found["spark.jars.packages"].split(",") == [
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1",
        "io.delta:delta-spark_4.1_2.13:latest.release",
    ]
    assert found["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"


def test_addresses_are_read_and_written() -> None:
    for text in ("kafka://a:1,b:2/t.x-y", "rate://20", "s3://bucket/x", "data/in"):
        assert str(address_of(text, (KAFKA, RATE, "files"))) == text
    with pytest.raises(CallError):
        address_of("kafka://a:1/", [KAFKA])


PROGRESS: dict[str, Any] = {
    "batchId": 3,
    "timestamp": "2024-03-01T10:00:00.000Z",
    "durationMs": {"triggerExecution": 500},
    "eventTime": {"watermark": "2024-03-01T09:59:50.000Z", "max": "2024-03-01T10:00:00.000Z"},
    "sources": [{"numInputRows": 100}, {"numInputRows": 20}],
    "stateOperators": [
        {"memoryUsedBytes": 9_000_000, "customMetrics": {"stateOnCurrentVersionSizeBytes": 2_000_000}}
    ],
    "observedMetrics": {
        "neelc": {"events": 90, "late": 4, "matches": 7, "kept": 5, "kept_bytes": 100},
        "neelc rows": {"rows": 6, "example": '{"a":1}'},
    },
}


def test_the_line_of_a_micro_batch() -> None:
    numbers = numbers_of(PROGRESS)
    assert numbers == BatchNumbers(
        3,
        PROGRESS["timestamp"],
        120,
        0.5,
        6,
        4,
        2_000_000,
        1709287190.0,
        1709287200.0,
        '{"a":1}',
    )
    assert line_of(numbers) == (
        "batch 3: 120 events (240/s), 6 matches, 4 late, state 2.0 MB, watermark 10 s behind"
    )
    bare = numbers_of({"batchId": 0, "timestamp": "", "eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}})
    assert line_of(bare) == "batch 0: 0 events (0/s), 0 matches, 0 late, state 0.0 MB"

"""TIMESTAMP BY ts FORMAT '...': Spark and the reference read the same, from DataFrames and from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from on_spark import clock

import neelc
from neelc.runtime.values.datetime_patterns import timestamp_by
from neelc.runtime.values.times import UTC

TEXTS = {
    "dd/MM/yyyy HH:mm": ["31/12/2024 23:59", "1/12/2024 23:59", "31/02/2024 00:00", "31/12/2024 24:00", " "],
    "d/M/y H:m": ["1/2/2024 3:4", "01/02/2024 03:04", "001/2/2024 3:4", "1/2/24 3:4", "1/13/2024 3:4", "x"],
    "MM/dd/yy hh:mm a": ["02/01/24 01:05 PM", "02/01/24 12:05 am", "02/01/24 13:05 PM", "02/01/24 00:05 AM"],
    "hh:mm d.M.yyyy": ["01:05 1.2.2024", "12:05 1.2.2024"],
    "d MMM yyyy": ["1 Feb 2024", "1 feb 2024", "1 February 2024", "1 Feb 24"],
    "MMMM d, yyyy": ["February 1, 2024", "feb 1, 2024", "FEBRUARY 29, 2023"],
    "yyyyMMddHHmmss": ["20240331023000", "20241027023000", "2024033102300", "202403310230000"],
    "Hmm d/M/yyyy": ["1230 1/2/2024", "930 1/2/2024", "30 1/2/2024"],
    "yyyy-MM-dd'T'HH:mm:ss.SSS": ["2024-02-01T10:11:12.123", "2024-02-01T10:11:12.1", "2024-02-01T10:11:12"],
    "yyyy-MM-dd HH:mm:ss[.SSSSSS]": ["2024-02-01 10:11:12", "2024-02-01 10:11:12.123456", "x"],
    "yyyy-MM-dd HH:mm:ssX": ["2024-02-01 10:11:12Z", "2024-02-01 10:11:12+02", "2024-02-01 10:11:12+0230"],
    "yyyy-MM-dd HH:mm:ssXX": ["2024-02-01 10:11:12+0230", "2024-02-01 10:11:12Z", "2024-02-01 10:11:12+02"],
    "yyyy-MM-dd HHXXX": ["2024-02-01 10+02:30", "2024-02-01 10Z", "2024-02-01 10+0230"],
    "yyyy-MM-dd HH VV": ["2024-07-01 10 America/New_York", "2024-07-01 10 UTC", "2024-07-01 10 x"],
    "yyyy": ["2024", "24", "20240"],
    "dd.MM.yyyy": ["31.03.2024", "31-03-2024"],
    "HH:mm": ["10:30"],
    "'at' HH 'o''clock' dd/MM/yyyy": ["at 10 o'clock 01/02/2024", "AT 10 O'CLOCK 01/02/2024"],
    "dd/MM/yyyy''HH": ["01/02/2024'10"],
}  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_texts_are_the_same_times(spark: Any, zone: str) -> None:
    pairs = [(pattern, text) for pattern, texts in TEXTS.items() for text in texts]
    problems = []
    with clock(spark, zone):
        for pattern in TEXTS:
            quoted = pattern.replace("'", "\\'")
            frame = spark.createDataFrame(
                [pair for pair in pairs if pair[0] == pattern], "p STRING, t STRING"
            )
            for row in frame.selectExpr("t", f"try_to_timestamp(t, '{quoted}') AS found").collect():
                theirs = None if row.found is None else row.found.astimezone(UTC)
                if timestamp_by(pattern, row.t) != theirs:
                    problems.append((pattern, row.t, timestamp_by(pattern, row.t), theirs))
    assert problems == []


QUERY = "PATTERN SEQ(A a, B b) WITHIN 1 HOUR RETURN a.ts, hour(b.ts) AS h"
ROWS = [("02/01/2024 09:00", "A"), ("01/02/2024 08:00", "B"), ("02/01/2024 09:30", "B"), (None, "B")]


def told(frame: Any) -> list[tuple[str, int]]:
    return [(str(row[0]), row[1]) for row in frame.selectExpr("CAST(a_ts AS STRING)", "h").collect()]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_a_dataframe_and_files(spark: Any, zone: str, tmp_path: Path) -> None:
    expected = [("2024-01-02 09:00:00", 9)]
    options: dict[str, Any] = {"timestamp": "ts", "type": "kind", "timestamp_format": "dd/MM/yyyy HH:mm"}
    texts = spark.createDataFrame(ROWS, "ts STRING, kind STRING")
    for kind in ("csv", "json", "parquet"):
        texts.coalesce(1).write.format(kind).option("header", "true").save(str(tmp_path / kind))
    with clock(spark, zone):
        assert told(neelc.sql(spark, QUERY, S=neelc.stream(texts, **options))) == expected
        for kind in ("csv", "json", "parquet"):
            path = str(tmp_path / kind)
            given = neelc.stream(path, format=kind, **options)
            assert told(neelc.sql(spark, QUERY, S=given)) == expected, kind
            script = (
                "CREATE STREAM S (ts STRING, kind STRING) TIMESTAMP BY ts FORMAT 'dd/MM/yyyy HH:mm' "
                f"TYPE BY kind FROM '{path}' FORMAT {kind}; {QUERY}"
            )
            assert told(neelc.sql(spark, script)) == expected, kind
            # The source alone, as somebody would check it in: reading the file, and given texts.
            source: dict[str, Any] = {}
            exec(str(neelc.Session(spark).compile(script).source), source)
            assert told(source["query"](spark, {})) == expected, kind
            assert told(source["query"](spark, {"S": texts})) == expected, kind
        why = neelc.why(spark, QUERY, S=neelc.stream(texts, **options))
        assert "2024-01-02 09:00:00" in str(why)


def test_what_is_written_otherwise_fails_the_run(spark: Any) -> None:
    texts = spark.createDataFrame([("13/13/2024 09:00", "A")], "ts STRING, kind STRING")
    given = neelc.stream(texts, timestamp="ts", type="kind", timestamp_format="dd/MM/yyyy HH:mm")
    with pytest.raises(Exception) as raised:
        neelc.sql(spark, "PATTERN A a RETURN a.ts", S=given).collect()
    failure = neelc.explain_failure(raised.value)
    assert failure is not None and failure.getCondition() == "NEEL5003"
    said = "`13/13/2024 09:00` is not written as dd/MM/yyyy HH:mm (column `ts` of stream `S`)"
    assert said in str(failure)
    with pytest.raises(neelc.NeelQueryError, match="FORMAT 'dd/MM/yyyy HH:mm'"):
        neelc.sql(spark, "PATTERN A a RETURN a.ts", S=neelc.stream(texts, timestamp="ts", type="kind"))
    with pytest.raises(ValueError, match="no letter `Q`"):
        given = neelc.stream(texts, timestamp="ts", type="kind", timestamp_format="QQ")
        neelc.sql(spark, "PATTERN A a RETURN a.ts", S=given)

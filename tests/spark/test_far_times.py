"""Times at the ends of BIGINT: found, or refused by name; strict or not, by every strategy and by SELECT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import neelc

FIRST, LAST = -(2**63), 2**63 - 1
KEYED = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 RETURN a.t AS a, b.t AS b"


@pytest.fixture(params=["true", "false"])
def session(spark: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", "true")


def stream(spark: Any, rows: list[tuple[int, str, int]]) -> Any:
    frame = spark.createDataFrame(rows, "t BIGINT, kind STRING, id INT").coalesce(1)
    return neelc.stream(frame, timestamp="t", type="kind")


NEAR = [
    (LAST - 10, "A", 1), (LAST - 7, "B", 1), (LAST, "B", 1), (LAST - 1, "A", 2), (LAST, "B", 2),
    (FIRST, "A", 3), (FIRST + 1, "B", 3), (FIRST + 7, "B", 3),
]  # fmt: skip


def test_a_kernel_compares_them(session: Any) -> None:
    found = neelc.sql(session, KEYED, strategy="kernel", S=stream(session, NEAR)).collect()
    assert sorted(map(tuple, found)) == [(FIRST, FIRST + 1), (LAST - 10, LAST - 7), (LAST - 1, LAST)]


REFUSED = {
    "join": (KEYED, "join"),
    "window": ("PATTERN SEQ(!C c, A a, !C d) WHERE [id] WITHIN 5 RETURN a.t", "window"),
    "contiguity": (f"{KEYED.replace(' RETURN', ' USING STRICT CONTIGUITY RETURN')}", "window"),
    "no key": ("PATTERN SEQ(A a, B b) WITHIN 5 RETURN a.t", "kernel"),
    "counted, no key": ("PATTERN SEQ(A a, B b) WITHIN 5 RETURN count(*) AS n", None),
    "SELECT": ("SELECT count(*) AS n FROM S WINDOW(TIME 5 MILLISECONDS)", None),
    "SELECT with a jump": ("SELECT count(*) AS n FROM S WINDOW(TIME 6 SECONDS JUMP 2 SECONDS)", None),
    "sequential": (
        "SELECT x FROM S MATCH_RECOGNIZE_SEQUENTIAL (PARTITION BY id MEASURES a.t AS x WITHIN 5 MILLISECONDS "
        "PATTERN a b DEFINE a AS kind = 'A', b AS kind = 'B')",
        None,
    ),
    "finer than the stream": ("PATTERN SEQ(A a, T x) WITHIN 5 SECONDS RETURN a.t", None),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("time", [FIRST, 2**62])
def test_what_spark_computes_with_them_is_refused(session: Any, name: str, time: int) -> None:
    text, strategy = REFUSED[name]
    streams = {"S": stream(session, [(0, "A", 1), (time, "A", 1), (time, "B", 1)])}
    if name.startswith("finer"):
        moments = session.sql("SELECT TIMESTAMP '2024-01-01' AS ts")
        streams["T"] = neelc.stream(moments, timestamp="ts")
    frame = neelc.sql(session, text, strategy=strategy, **streams)
    with pytest.raises(Exception) as raised:
        frame.collect()
    failure = neelc.explain_failure(raised.value)
    assert failure is not None, raised.value
    assert failure.getCondition() == "NEEL5070"
    assert f"the time {time} is too far from" in str(failure)


@pytest.mark.parametrize("name", REFUSED)
def test_a_time_with_room_for_windows_is_not(session: Any, name: str) -> None:
    text, strategy = REFUSED[name]
    if name.startswith("finer"):
        pytest.skip("never: microseconds have room for less")
    far = 2**62 - 1
    rows = [(-far, "A", 1), (1 - far, "B", 1), (far - 1, "A", 2), (far, "B", 2)]
    assert neelc.sql(session, text, strategy=strategy, S=stream(session, rows)).collect()

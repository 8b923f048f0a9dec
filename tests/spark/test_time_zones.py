"""In every time zone, over the changes of its clock, three agree: Spark's own SQL, what is written for Spark,
and the reference interpreter with that zone."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest
from expressions import COLUMNS, check, context
from like_spark import AGREED, events_of, like_ours, same, spark_type, widest

from neelc.ir import expressions as e
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.values.times import UTC, Months, in_zone
from neelc.scalar.spark.expressions import sql

ZONES = ["America/New_York", "Asia/Kolkata", "Europe/Berlin", "Australia/Lord_Howe", "-03:30"]

# Where the clocks of New York, Berlin and Lord Howe (by half an hour) change; before time zones; midnight.
INSTANTS = [
    "2024-03-10 06:59:59.999999", "2024-03-10 07:00:00", "2024-03-10 07:30:00",
    "2024-03-31 00:30:00", "2024-03-31 00:59:59.5", "2024-03-31 01:00:00", "2024-03-31 01:30:00",
    "2024-10-26 23:59:00", "2024-10-27 00:15:00", "2024-10-27 00:59:59", "2024-10-27 01:00:00",
    "2024-10-27 01:15:00", "2024-10-27 02:00:00", "2024-11-03 05:15:00", "2024-11-03 06:15:00",
    "2024-04-06 14:45:00", "2024-04-06 15:15:00", "2024-10-05 15:30:00",
    "1883-11-18 17:00:00", "1970-01-01 00:00:00", "1969-12-31 23:59:59.25", "2024-12-31 23:30:00",
]  # fmt: skip

# What clocks show: times that they leave out or show twice among them.
CLOCKS = [
    "2024-03-10 02:00:00", "2024-03-10 02:30:00", "2024-03-10 03:00:00", "2024-03-31 02:15:00",
    "2024-03-31 01:59:59", "2024-10-27 02:00:00", "2024-10-27 02:45:00", "2024-10-27 03:00:00",
    "2024-11-03 01:30:00", "2024-10-06 02:15:00", "2024-04-07 01:45:00", "2024-02-29 00:00:00",
    "2024-03-30 02:30:00", "2024-11-02 01:30:00", "2024-09-27 02:30:00", "2024-03-31 00:00:00",
    "2023-10-29 02:30:00", "2024-04-30 02:30:00", "1901-12-13 20:45:52", "2040-07-01 12:00:00",
    "2024-10-05 02:15:00", "2024-01-31 02:30:00",
]  # fmt: skip

EXPRESSIONS = """
hour(a.ts)
minute(a.ts)
second(a.ts)
year(a.ts)
month(a.ts)
day(a.ts)
dayofweek(a.ts)
hour(a.ntz)
hour(a.s)
hour(a.dt)
EXTRACT(HOUR FROM a.ts)
EXTRACT(SECOND FROM a.ts)
EXTRACT(DAY FROM a.ts)
EXTRACT(WEEK FROM a.ts)
CAST(a.ts AS STRING)
CAST(a.ts AS DATE)
CAST(a.ts AS TIMESTAMP_NTZ)
CAST(a.ts AS BIGINT)
CAST(a.ntz AS TIMESTAMP)
CAST(a.dt AS TIMESTAMP)
CAST(a.s AS TIMESTAMP)
CAST(CAST(a.ntz AS TIMESTAMP) AS STRING)
CAST(array(a.ts) AS ARRAY<STRING>)
CAST(array(a.s) AS ARRAY<TIMESTAMP>)
to_date(a.ts)
to_timestamp(a.dt)
to_timestamp(a.s)
a.ts || '!'
a.ts > '2024-03-31 02:30:00'
a.ts = '2024-10-27 02:15:00'
a.ts >= TIMESTAMP '2024-03-10'
a.ts < TIMESTAMP '2024-10-27 01:00:00Z'
a.ts BETWEEN '2024-03-31 01:00:00' AND '2024-03-31 03:00:00 Europe/Berlin'
a.ts IN ('2024-03-31 03:00:00', '1970-01-01')
a.ts = a.ntz
a.ts > a.dt
a.ntz > a.dt
a.dt = a.ts
greatest(a.ts, a.ntz)
coalesce(a.dt, a.ts)
CASE WHEN hour(a.ts) < 3 THEN a.ntz ELSE a.ts END
a.ts - a.ntz
a.ts - TIMESTAMP '2024-03-30 12:00:00'
TIMESTAMP '2024-03-31 12:00:00' - TIMESTAMP '2024-03-30 12:00:00'
a.ts - '2024-10-01'
a.ts - a.dt
a.ts + INTERVAL '1' DAY
a.ts - INTERVAL '1' DAY
a.ts + INTERVAL '23' HOUR
a.ts + INTERVAL '24' HOUR
a.ts + INTERVAL '1 12' DAY TO HOUR
a.ts - INTERVAL '1 12' DAY TO HOUR
a.ts + INTERVAL '1' MONTH
a.ts - INTERVAL '1' YEAR
a.ts + a.ds
a.ts - a.ds
a.ts + a.ym
a.ts - a.ym
a.ntz + INTERVAL '1' DAY
CAST(a.ntz AS TIMESTAMP) + INTERVAL '1' DAY
CAST(a.ntz AS TIMESTAMP) + INTERVAL '1' MONTH
CAST(a.ntz AS TIMESTAMP) - INTERVAL '1' DAY
a.dt + INTERVAL '1' HOUR
date_trunc('year', a.ts)
date_trunc('quarter', a.ts)
date_trunc('month', a.ts)
date_trunc('week', a.ts)
date_trunc('day', a.ts)
date_trunc('hour', a.ts)
date_trunc('minute', a.ts)
date_trunc('second', a.ts)
date_trunc('millisecond', a.ts)
date_trunc('hour', a.ntz)
date_trunc(CASE WHEN a.dt < '2024-06-01' THEN 'DAY' ELSE 'HOUR' END, a.ts)
unix_timestamp(a.ts)
unix_timestamp(a.ntz)
unix_timestamp(a.dt)
unix_timestamp(a.s)
unix_seconds(a.ts)
unix_millis(a.ntz)
unix_micros(a.ntz)
timestamp_seconds(unix_seconds(a.ts))
datediff(a.ts, a.ntz)
date_add(a.ts, 1)
""".split("\n")[1:-1]

# Lines of expressions.txt that speak of times.
OTHERS = [
    line
    for line in AGREED
    if any(word in line[0] for word in ("a.ts", "a.ntz", "a.dt", "TIMESTAMP", "unix_"))
]


def rows() -> list[dict[str, object]]:
    spans = [datetime.timedelta(days=1), datetime.timedelta(days=-1, hours=-5), datetime.timedelta(hours=30)]
    return [
        dict.fromkeys(COLUMNS)
        | {
            "ts": datetime.datetime.fromisoformat(instant).replace(tzinfo=UTC),
            "ntz": datetime.datetime.fromisoformat(clock),
            "dt": datetime.date.fromisoformat(clock[:10]),
            "s": clock,
            "ds": spans[number % 3],
            "ym": Months((1, -1, 12)[number % 3]),
        }
        for number, (instant, clock) in enumerate(zip(INSTANTS, CLOCKS, strict=True))
    ]


ROWS = rows()


def refs(node: e.Expr) -> str | None:
    return f"a.{node.name}" if isinstance(node, e.Attribute) else None


def view(spark: Any) -> Any:
    """The rows, each a struct `a`; made in UTC, whatever the session's zone is then."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    selects = []
    for row in ROWS:
        months = row["ym"]
        assert isinstance(months, Months) and isinstance(row["ds"], datetime.timedelta)
        selects.append(
            f"SELECT TIMESTAMP '{row['ts']}' AS ts, TIMESTAMP_NTZ '{row['ntz']}' AS ntz, "
            f"DATE '{row['dt']}' AS dt, '{row['s']}' AS s, "
            f"make_dt_interval(0, 0, 0, {row['ds'].total_seconds():.6f}) AS ds, "
            f"make_ym_interval(0, {months.count}) AS ym"
        )
    return spark.sql(" UNION ALL ".join(selects)).selectExpr("struct(*) AS a")


@pytest.fixture(
    scope="module",
    params=[(zone, ansi) for zone in ZONES for ansi in ("true",)] + [("Europe/Berlin", "false")],
)
def session(spark: Any, request: pytest.FixtureRequest) -> Iterator[tuple[Any, str]]:
    zone, ansi = request.param
    view(spark).createOrReplaceTempView("moments")
    events_of(spark).createOrReplaceTempView("a")
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    yield spark, zone
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.catalog.dropTempView("moments")
    spark.catalog.dropTempView("a")


def test_expressions_agree_over_the_changes_of_a_clock(session: tuple[Any, str]) -> None:
    spark, zone = session
    strict = spark.conf.get("spark.sql.ansi.enabled") == "true"
    texts = [text for text in EXPRESSIONS if strict or text != "a.ts - '2024-10-01'"]  # refused if not strict
    checked = [check(text) for text in texts]
    assert [one.reports for one in checked if one.reports] == []
    written = [sql(one.expression, refs) for one in checked]
    columns = [f"{text} AS c{number}" for number, text in enumerate((*texts, *written))]
    frame = spark.sql(f"SELECT {', '.join(columns)} FROM moments")
    found = [list(column) for column in zip(*frame.collect(), strict=True)]
    problems = []
    for number, one in enumerate(checked):
        kind = widest(frame.schema[number + len(checked)].dataType.simpleString())
        assert kind == spark_type(one.type), texts[number]
        with in_zone(zone):
            ours = [evaluate(one.expression, EvaluationContext({"a": event(row)})) for row in ROWS]
        own, emitted = (
            [like_ours(value, one.type) for value in found[place]]
            for place in (number, number + len(checked))
        )
        for row, values in enumerate(zip(ours, own, emitted, strict=True)):
            if not same(values[0], values[1]) or not same(values[1], values[2]):
                problems.append((texts[number], INSTANTS[row], CLOCKS[row], *values))
    assert problems == []


def event(row: dict[str, object]) -> ReferenceEvent:
    return ReferenceEvent("S", 0, "A", 0, 0, row, (0, 0))


def test_types_and_values_of_the_corpus_agree(session: tuple[Any, str]) -> None:
    spark, zone = session
    if spark.conf.get("spark.sql.ansi.enabled") != "true":
        pytest.skip("never: the corpus has what fails or is refused in a strict session only")
    frame = spark.sql(f"SELECT {', '.join(theirs or ours for ours, theirs in OTHERS)} FROM a")
    found = list(zip(*frame.collect(), strict=True))
    problems = []
    for (text, _), column in zip(OTHERS, found, strict=True):
        one = check(text)
        for number, value in enumerate(column):
            with in_zone(zone):
                ours = evaluate(one.expression, context(number))
            if not same(ours, like_ours(value, one.type)):
                problems.append((text, number, ours, value))
    assert problems == []

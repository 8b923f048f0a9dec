"""`neelc run --stats-out` on Spark: the counts of the reference, without a job or a scan of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from asked_cases import CASES, PATHS
from asked_cases import questions as questions_of
from command_line import Here
from on_spark import Asking, Question, answered, clock, configured, frames
from statistics_scripts import FILES, PATTERNS, RUNS, rows

from neelc.api.gathering import RunObservations
from neelc.api.query import run_source
from neelc.engines.reference_counts import counted_in_tables
from neelc.engines.spark.observing import observed_script
from neelc.errors import NeelError
from neelc.explain.analysis import roles_of
from neelc.pattern.cost.gathering import StreamCounts, questions
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pipeline import plan_program, write_program
from neelc.runtime.reference import Result
from neelc.tools import cases
from neelc.tools.cases.run import compare


@pytest.fixture
def neelc(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("neelc.cli.run_on_spark.session", lambda *settings: nullcontext(spark))
    monkeypatch.setattr("neelc.cli.progress.ELSEWHERE", 3600)
    here = Here(tmp_path, capsys, "spark")
    for name, text in FILES.items():
        here.write(name, text)
    return here


def gathered(neelc: Here, script: str, *more: str) -> tuple[dict[str, Any], str]:
    neelc.write("script.neel", script)
    done = neelc("run", "script.neel", "--stats-out", "stats.json", *more)
    assert done.status == 0, done.err
    return json.loads(neelc.read("stats.json")), done.err


@pytest.mark.parametrize(("script", "more"), RUNS)
def test_spark_counts_what_the_reference_counts(script: str, more: tuple[str, ...], neelc: Here) -> None:
    found, said = gathered(neelc, script, *more)
    assert "note:" not in said
    if "--strategy" in more:
        more = ()
    expected, _ = gathered(neelc, script, *more, "--engine", "reference")
    assert found == expected
    assert neelc("explain", "script.neel", "--stats", "stats.json").status == 0


def test_no_job_is_added(spark: Any, neelc: Here) -> None:
    """Jobs of a run that writes Parquet: one action, with statistics or without."""
    neelc.write("script.neel", PATTERNS)
    spark.sparkContext.setJobGroup("plain", "")
    assert neelc("run", "script.neel", "--out", "plain.parquet").status == 0
    spark.sparkContext.setJobGroup("counted", "")
    assert neelc("run", "script.neel", "--out", "counted.parquet", "--stats-out", "s.json").status == 0
    tracker = spark.sparkContext.statusTracker()
    plain, counted = (len(tracker.getJobIdsForGroup(name)) for name in ("plain", "counted"))
    assert 0 < counted <= plain


def test_statistics_that_the_run_is_planned_with_are_renewed(neelc: Here) -> None:
    neelc.write("stats.json", '{"streams": {"trades": {"events": 5}}}')
    found, _ = gathered(neelc, PATTERNS, "--stats", "stats.json")
    assert found["streams"]["trades"]["events"] > 300


def test_nothing_is_written_where_the_run_fails(neelc: Here) -> None:
    neelc.write("script.neel", PATTERNS)
    neelc.write("stats.json", "before")
    neelc.write("trades.csv", rows().replace("\n400,", "\nnone,"))
    assert neelc("run", "script.neel", "--stats-out", "stats.json").status == 3
    assert neelc.read("stats.json") == "before"


def test_statistics_in_python(spark: Any, tmp_path: Path) -> None:
    import neelc

    events = spark.createDataFrame(
        [(n, "AB"[n % 2], n % 5, float(n)) for n in range(100)], "ts BIGINT, kind STRING, id INT, x DOUBLE"
    )
    text = "PATTERN SEQ(A a, B b) WHERE [id] AND a.x < 50 WITHIN 10 MILLISECONDS RETURN a.ts AS a, b.ts AS b"
    session = neelc.Session(spark)
    session.register("S", events, timestamp="ts", type="kind", unit="ms")
    query = session.compile(text)
    with pytest.raises(ValueError, match=r"nothing is observed: statistics\(\) is for to_df\(observe=True\)"):
        query.statistics()
    frame = query.to_df(observe=True)
    with pytest.raises(ValueError, match="no action has read all events yet"):
        query.statistics()
    rows = frame.count()
    found = query.statistics()
    assert found == {
        "streams": {
            "S": {
                "events": 100,
                "seconds": 0.099,
                "types": {"A": {"events": 50, "selectivities": {"x < 50": 0.5}}, "B": {"events": 50}},
                "columns": {"id": {"distinct": 5, "nulls": 0.0}},
            }
        },
        "queries": {"query 1": {"rows": rows}},
    }
    (tmp_path / "stats.json").write_text(json.dumps(found))
    for stats in (found, str(tmp_path / "stats.json")):
        informed = neelc.Session(spark, stats=stats)
        informed.register("S", events, timestamp="ts", type="kind", unit="ms")
        assert "about 75 rows" in str(informed.explain(text)) and "*" in str(session.explain(text))
        assert informed.compile(text).to_df().count() == rows


SHARE = 40
"""One case of so many."""


def test_cases_are_counted_as_by_the_reference(spark: Any) -> None:
    """Everything that can be observed is, and the rows are still those that the cases expect."""
    found = list(observed_cases(spark, [CASES / "nulls" / "minus-zero.case", *PATHS[::SHARE]]))
    assert len(found) > 8
    assert [problem for problem in found if problem] == []


@dataclass
class ObservedCase:
    """A case whose script is observed: what is counted, and its rows."""

    one: Question
    observed: RunObservations
    frame: Any

    def problem(self, result: Result | str) -> str:
        """What is wrong with what was counted; nothing, if it is as the reference counts it."""
        if isinstance(result, str):
            return "" if "NEEL5070" in result else result
        counted, name = self.observed.streams(), self.one.program.queries[-1].name or "last"
        expected = counted_in_tables(self.observed.asked, self.one.tables)
        if {stream: nearest(one, expected[stream]) for stream, one in counted.items()} != expected:
            return f"{counted} instead of {expected}"
        rows = self.observed.rows("last")
        if rows[name] != len(result.rows):
            return f"{rows} instead of {len(result.rows)} rows"
        outcome = compare(cases.load(CASES / self.one.name).expected, result)
        return "" if outcome.passed else outcome.diff


def nearest(counted: StreamCounts, expected: StreamCounts) -> StreamCounts:
    """The counts; distinct values, which Spark counts approximately, as expected where they are near it."""
    values = (
        (exact if abs(found - exact) <= max(1, 0.15 * exact) else found, present)
        for (found, present), (exact, _) in zip(counted.values, expected.values, strict=True)
    )
    return replace(counted, values=tuple(values))


def observed_cases(spark: Any, paths: Sequence[Path]) -> Iterator[str]:
    """What is wrong with each case, or nothing."""
    by_zone: dict[str, list[Question]] = {}
    for one in questions_of(paths):
        by_zone.setdefault(one.zone, []).append(one)
    with configured(spark, Asking()):
        for zone, some in by_zone.items():
            with clock(spark, zone):
                for case in (observed_case(spark, one) for one in some):
                    if case is not None:
                        # Each in a job of its own: a plan of many with observations takes longer to make.
                        ((_, result),) = answered([(case.one, case.frame)])
                        problem = case.problem(result)
                        yield f"{case.one.name}: {problem}" if problem else ""


def observed_case(spark: Any, one: Question) -> ObservedCase | None:
    try:
        planned = plan_program(one.program)
    except (UnsupportedQuery, NeelError):
        return None
    asked = questions(one.program, [len(one.program.queries) - 1])
    script = observed_script(write_program(planned), asked, [len(roles_of(query)) for query in planned])
    observed = RunObservations(script, asked)
    given = frames(spark, one, Asking())
    frame = run_source(script.source, spark, given, script.aggregates, observed.by_key)
    return ObservedCase(one, observed, frame)

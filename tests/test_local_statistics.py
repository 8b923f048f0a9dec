"""What the local engine counts and notices: as the reference does, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from asked_cases import PATHS
from asked_cases import questions as questions_of
from command_line import Here
from in_local import table_of
from on_spark import Question
from statistics_scripts import FILES, PATTERNS, RUNS

import neelc
from neelc.api.local_frame import LocalFrame
from neelc.api.local_observed import LocalObservations
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.plan import local_program
from neelc.engines.reference_counts import counted_in_tables
from neelc.engines.spark.observing import observed_script
from neelc.errors import NeelError
from neelc.pattern.cost.gathering import questions
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pipeline import plan_program, write_program
from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.pieces import UnspelledOperation


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    monkeypatch.chdir(tmp_path)
    found = Here(tmp_path, capsys)
    for name, text in FILES.items():
        found.write(name, text)
    return found


def gathered(here: Here, engine: str, *more: str) -> str:
    done = here("run", "script.neel", "--engine", engine, "--stats-out", "stats.json", *more)
    assert done.status == 0 and "note:" not in done.err, done.err
    return here.read("stats.json")


@pytest.mark.parametrize(("script", "more"), RUNS)
def test_the_file_of_the_reference(script: str, more: tuple[str, ...], here: Here) -> None:
    here.write("script.neel", script)
    found = gathered(here, "local", *more)
    assert found == gathered(here, "reference", *(() if "--strategy" in more else more))


def test_rows_of_a_file_of_statistics_are_those_of_the_run(here: Here) -> None:
    here.write("script.neel", PATTERNS)
    rows = len(here("run", "script.neel", "--engine", "local", "--format", "csv").out.splitlines()) - 1
    assert json.loads(gathered(here, "local"))["queries"]["query 2"] == {"rows": rows} and rows


SHARE = 4
"""One case of so many."""


@pytest.mark.long
def test_cases_are_counted_as_by_the_reference() -> None:
    found = list(counted_cases(PATHS[::SHARE]))
    assert len(found) > 100
    assert [problem for problem in found if problem] == []


def test_cases_of_imprecise_times_are_counted_as_by_the_reference() -> None:
    found = list(counted_cases([path for path in PATHS if path.parent.name == "confidence"]))
    assert len(found) > 30
    assert [problem for problem in found if problem] == []


def counted_cases(paths: Sequence[Path]) -> Iterator[str]:
    """What is wrong with each case, or nothing."""
    for one in questions_of(paths):
        problem = counted_case(one)
        if problem is not None:
            yield f"{one.name}: {problem}" if problem else ""


def counted_case(one: Question) -> str | None:
    """None if the case does not run here."""
    try:
        planned = plan_program(one.program)
    except (UnsupportedQuery, NeelError):
        return None
    asked = questions(one.program, [len(one.program.queries) - 1])
    script = observed_script(write_program(planned), asked)
    tables = {stream.name: table_of(stream, one.tables[stream.name]) for stream in one.streams}
    try:
        program = local_program(script.relations, {name: table.types for name, table in tables.items()})
    except UnspelledOperation:
        return None
    run = LocalEngine(one.zone, 1).run(program, tables, script.aggregates)
    observed = LocalObservations(script, asked, run)
    assert observed.streams() == {} and observed.rows("last") == {}, "before the run"
    try:
        count = LocalFrame.of(run).count()
    except neelc.NeelRunError:
        return None
    with in_zone(one.zone):
        counted, expected = observed.streams(), counted_in_tables(asked, one.tables)
    if counted != expected:
        return f"{counted} instead of {expected}"
    rows, name = observed.rows("last"), one.program.queries[-1].name or "last"
    return "" if rows[name] == count else f"{rows} instead of {count} rows"


# In Python.

TEXT = "PATTERN SEQ(A a, B b) WHERE [id] AND a.x < 50 WITHIN 10 MILLISECONDS RETURN a.ts AS a, b.ts AS b"
EVENTS = [{"ts": n, "kind": "AB"[n % 2], "id": n % 5, "x": float(n)} for n in range(100)]


def compiled(text: str, events: Any, **settings: Any) -> Any:
    session = neelc.local()
    session.register("S", events, timestamp="ts", type="kind", **settings)
    return session.compile(text)


def test_statistics_in_python() -> None:
    query = compiled(TEXT, EVENTS, unit="ms")
    with pytest.raises(ValueError, match=r"nothing is observed: statistics\(\) is for to_df\(observe=True\)"):
        query.statistics()
    frame = query.to_df(observe=True)
    with pytest.raises(ValueError, match="no action has read all events yet"):
        query.statistics()
    with pytest.raises(ValueError, match="no action has read the events yet"):
        query.notes()
    rows = frame.count()
    assert query.notes() == ()
    assert query.statistics() == {
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


def test_notes_in_python() -> None:
    events = [{**row, "ts": 1_700_000_000 + row["ts"]} for row in EVENTS]  # type: ignore[operator]
    query = compiled(TEXT.replace("B b", "Bb b"), events)
    query.to_df(observe=True).count()
    types, unit = query.notes()
    assert types == "no event is of type `Bb`; did you mean `B`?"
    assert unit.startswith("`ts` of stream `S` is read in milliseconds: its first time is 1970-01-20")
    query = compiled(TEXT, pa.Table.from_pylist(EVENTS).slice(0, 0), unit="ms")
    query.to_df(observe=True).count()
    assert query.notes() == ("stream `S` has no events",)


# Notes of a run.

NOTED = """CREATE STREAM trades (ts BIGINT, sym STRING, id BIGINT, price DOUBLE)
  TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY sym{};
PATTERN SEQ(A a, !`n` n, Xy x, {} z) WITHIN 10 SECONDS RETURN a.ts AS a;
"""


def notes(here: Here, engine: str, *more: str) -> list[str]:
    done = here("run", "script.neel", "--engine", engine, *more)
    assert done.status == 0, done.err
    return [line for line in done.err.splitlines() if line.startswith("note:")]


@pytest.mark.parametrize("last", ["B", "Cc"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("large", [False, True])
def test_types_that_no_event_has(
    last: str, ending: str, large: bool, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ending == "parquet":
        import pyarrow.csv
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.csv.read_csv("trades.csv"), "trades.parquet")
    if large:
        monkeypatch.setattr("neelc.engines.local.tables.MANY_ROWS", 10)
        monkeypatch.setattr("neelc.engines.local.tables.MANY_BYTES", 10)
        monkeypatch.setattr("neelc.engines.local.noticing.FIRST", 1)
    here.write("script.neel", NOTED.format(f" FROM 'trades.{ending}'", last))
    found = notes(here, "local")
    assert found == notes(here, "reference")
    assert "note: no event is of type `Xy`" in found
    assert any("`Cc`; did you mean" in line for line in found) == (last == "Cc")


def test_a_stream_without_events(here: Here) -> None:
    here.write("trades.csv", "ts,sym,id,price\n")
    here.write("script.neel", NOTED.format(" FROM 'trades.csv'", "B"))
    assert notes(here, "local") == notes(here, "reference") == ["note: stream `trades` has no events"]


def test_notes_on_rules(here: Here) -> None:
    here.write(
        "script.neel", NOTED.format(" FROM 'trades.csv'", "B").replace("PATTERN", "CREATE QUERY q AS PATTERN")
    )
    assert notes(here, "local", "--all") == notes(here, "reference", "--all") != []

"""Time lines of the local engine, without Spark: pictures are those of the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from asked_cases import PATHS, question
from drawn_pictures import drawn
from in_local import made_locally, table_of
from on_spark import Question
from time_lines import EVENTS, SCHEMA, Made, TimeLines, content

import neelc
from neelc.api.local_drawing import LocalDrawing
from neelc.api.local_frame import LocalFrame
from neelc.api.timeline import DrawnScript, FrameDrawing
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.given import as_local_table
from neelc.errors import NeelError
from neelc.runtime.values.times import in_zone
from neelc.tools import cases
from neelc.tools.report.drawing import DrawnQuery, drawn_query, reference_picture

PAIRS = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 2"


class TestTimeLinesOfTheLocalEngine(TimeLines):
    @pytest.fixture
    def session(self) -> neelc.Session:
        return neelc.local()

    @pytest.fixture
    def made(self) -> Made:
        return made_locally


def table() -> pa.Table:
    return made_locally(EVENTS, SCHEMA)


# What events are made of.


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: rows.to_pylist(),
        lambda rows: rows.to_pandas().astype({"ts": "Int64", "id": "Int64"}),
        lambda rows: rows.to_reader(),
        lambda rows: LocalFrame.of_stream(LocalEngine(), "rows", as_local_table(rows)),
    ],
    ids=["dicts", "pandas", "reader", "local frame"],
)
def test_data_in_memory(make: Callable[[pa.Table], Any]) -> None:
    line = neelc.timeline(make(table()), PAIRS, name="S", timestamp="ts", type="kind", unit="s")
    assert content(line.picture) == content(drawn(PAIRS, EVENTS))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pa.parquet.write_table(table(), path)
    line = neelc.timeline(str(path), PAIRS, name="S", timestamp="ts", type="kind", unit="s")
    assert content(line.picture) == content(drawn(PAIRS, EVENTS))
    other = tmp_path / "events"
    path.rename(other)
    given = neelc.stream(str(other), timestamp="ts", type="kind", unit="s", format="parquet")
    assert content(neelc.timeline(given, PAIRS, name="S").picture) == content(drawn(PAIRS, EVENTS))


@pytest.mark.parametrize("form", ["arrow", "df", "frame", "file"])
def test_results_of_queries_have_their_times(form: str, tmp_path: Path) -> None:
    stream = neelc.stream(table(), timestamp="ts", type="kind", unit="s")
    found = neelc.local().sql(f"{PAIRS} RETURN a.id, match_start, match_end", S=stream)
    path = tmp_path / "found.csv"
    found.write(path)
    forms: dict[str, Callable[[], object]] = {
        "arrow": found.arrow,
        "df": found.df,
        "frame": lambda: found,
        "file": lambda: str(path),
    }
    events = neelc.timeline(forms[form]()).picture.shown.events
    assert {event.end > event.start for event in events} == {True}


def test_what_is_no_data() -> None:
    with pytest.raises(TypeError, match="events is a DataFrame of Spark, data of the local engine or a path"):
        neelc.timeline(7)
    with pytest.raises(TypeError, match="for tables, compile a query"):
        neelc.timeline("trades")
    with pytest.raises(neelc.NeelError, match="no such file"):
        neelc.timeline("nowhere/trades.csv")


def test_a_query_that_the_engine_does_not_run() -> None:
    session = neelc.local()
    session.register_agent("union", lambda one: one, columns="id BIGINT")
    query = session.compile("SELECT id FROM union(S)", S=neelc.stream(table(), timestamp="ts", unit="s"))
    with pytest.raises(neelc.NeelQueryError, match="NEEL4150"):
        query.timeline()


# Pictures of many queries.


def drawn_locally(asked: Question, subject: DrawnQuery, script: DrawnScript) -> dict[str, Any]:
    engine = LocalEngine(asked.zone, 1)
    frames = {
        one.name: LocalFrame.of_stream(engine, one.name, table_of(one, asked.tables[one.name]))
        for one in asked.streams
    }
    place = len(asked.program.queries) - 1
    return content(FrameDrawing(LocalDrawing(engine), script, place, frames).picture(subject))


@pytest.mark.long
def test_cases() -> None:
    """Queries that read others have rows with more columns than those of the reference."""
    compared = 0
    for path in PATHS[::12]:
        asked = question(path)
        if asked is None or len(asked.program.queries) > 1 or path.parent.name == "algebra":
            continue
        source = cases.load(path).query
        with in_zone(asked.zone):
            subject = DrawnQuery(path.name, "", "", drawn_query(asked.program.queries[0], source))
            try:
                found = drawn_locally(asked, subject, DrawnScript(source, asked.program))
            except NeelError as error:
                assert "not supported" in str(error)
                continue
            assert found == content(reference_picture(subject, asked.program, 0, asked.tables)), path.name
        compared += 1
    assert compared > 50

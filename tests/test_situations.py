"""Pictures of MATCH_RECOGNIZE_TEMPORAL: the runs of symbols in lanes, matches, relations, values."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn_pictures import Rows, drawn

import neelc
from neelc.cli import main
from neelc.runtime.reference import temporal
from neelc.tools.report.page import limits, report_page, summary
from neelc.tools.report.picture import Picture
from neelc.tools.report.record import record

HEAD = (
    "CREATE STREAM S (ts BIGINT, id BIGINT, heat INT, load INT, note STRING) TIMESTAMP BY ts UNIT SECOND;\n"
)
QUERY = """SELECT * FROM S AS r MATCH_RECOGNIZE_TEMPORAL (
  PARTITION BY r.id
  MEASURES START(H).id AS id, START(L).ts AS loaded
  PATTERN H OVERLAPS L, !O
  WITHIN 1 HOUR
  DEFINE H AS TEMP(r.heat > 80), L AS TEMP(r.load > 50), O AS r.note = 'off'
);"""
READINGS = [(90, 10), (92, 60), (95, 80), (70, 85), (60, 90), (60, 20), (85, 20)]


def readings(*keys: int) -> Rows:
    return [
        {"ts": at, "id": key, "heat": heat + key, "load": load if key == 7 else 0, "note": None}
        for key in keys
        for at, (heat, load) in enumerate(READINGS, 1)
    ]


def lanes(picture: Picture, with_values: bool = False) -> list[tuple[str, int, int]]:
    """The bars: lane, start and end in seconds."""
    names = picture.symbols if with_values else picture.symbol_names
    return [
        (
            ", ".join(map(str, picture.lane(one))),
            one.start // 10**9,
            one.end // 10**9,
        )
        for one in picture.shown.events
        if one.type in names
    ]


def test_bars_are_the_runs_of_symbols() -> None:
    picture = drawn(QUERY, readings(7, 3), head=HEAD)
    assert sorted(lanes(picture)) == [
        ("3, H", 1, 3),
        ("3, H", 7, 7),
        ("7, H", 1, 3),
        ("7, H", 7, 7),
        ("7, L", 2, 5),
    ]
    [panel] = picture.panels
    assert [(one.values, one.relations) for one in panel.found] == [((7, 2, 3), ("H OVERLAPS L (HLHL)",))]
    assert [column.name for column in panel.columns] == ["id", "loaded", "decided at"]
    assert summary(picture) == "1 match among 5 situations."
    found = record(picture)
    assert found["lanes"][:5] == ["3, H", "3, L", "3, O", "3, heat (values)", "3, load (values)"]
    assert found["group"] == [0] * 5 + [1] * 5 and found["groups"] == ["3", "7"]
    heights = [one for one in found["scale"] if one is not None]
    assert len(heights) == 2 * 14 and min(heights) == 0 and max(heights) == 1


def test_without_a_partition_and_without_numbers() -> None:
    query = "SELECT * FROM S MATCH_RECOGNIZE_TEMPORAL (MEASURES A.ts AS a PATTERN A BEFORE B DEFINE A AS note = 'a', B AS TEMP(note = 'b'))"  # noqa: E501
    rows = [{"ts": at, "id": 1, "heat": None, "load": None, "note": note} for at, note in enumerate("axbb")]
    picture = drawn(query, rows, head=HEAD)
    assert sorted(lanes(picture, True)) == [
        ("A", 0, 0),
        ("B", 2, 3),
        *(("events", at, at) for at in range(4)),
    ]
    assert [one.relations for one in picture.panels[0].found] == [("A BEFORE B (A.ABB)",)]
    assert record(picture)["groups"] == ["all"]
    assert '<option value="">every' not in report_page([picture])


def test_symbols_that_depend_on_others_have_all_their_runs() -> None:
    query = """SELECT * FROM S AS r MATCH_RECOGNIZE_TEMPORAL (MEASURES START(A).ts AS a PATTERN A BEFORE B
      DEFINE A AS TEMP(r.heat > 80), B AS TEMP(r.heat > START(A).heat))"""
    picture = drawn(query, readings(7), head=HEAD)
    assert [one for one in lanes(picture) if one[0] == "B"] == [("B", 2, 3)]


def test_a_column_called_symbol_is_no_lane() -> None:
    head = "CREATE STREAM S (ts BIGINT, symbol STRING, heat INT) TIMESTAMP BY ts UNIT SECOND;\n"
    query = "SELECT * FROM S AS r MATCH_RECOGNIZE_TEMPORAL (PARTITION BY symbol MEASURES A.ts AS a PATTERN A DEFINE A AS r.heat > 1)"  # noqa: E501
    picture = drawn(query, [{"ts": 1, "symbol": "x", "heat": 2}], head=head)
    assert lanes(picture) == [("x, A", 1, 1)]
    assert next(iter(picture.keys.values())) == ("symbol", "symbol_")


def test_too_many_choices_leave_the_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporal, "MAX_CONFIGURATIONS", 2)
    picture = drawn(QUERY, readings(7), head=HEAD)
    [panel] = picture.panels
    assert panel.problem is not None and "MAX_CONFIGURATIONS" in panel.problem
    assert len(lanes(picture)) == 3
    assert "MAX_CONFIGURATIONS" in report_page([picture])


def test_values_are_left_out_before_bars() -> None:
    picture = drawn(QUERY, readings(7), head=HEAD, most=5)
    assert lanes(picture, True) == lanes(picture) != []
    assert "There are too many events to draw their values, too." in [*limits(picture)]


def test_what_is_around_the_clause_is_told() -> None:
    around = QUERY.replace("SELECT *", "SELECT id").replace(");", ") WHERE loaded > 100;")
    picture = drawn(around, readings(7), head=HEAD)
    assert len(picture.panels[0].found) == 1
    assert [*limits(picture)] == [
        "What the query does with the matches is not drawn: all matches of the clause are."
    ]


SCRIPT = HEAD.replace(";\n", " FROM 'r.csv' FORMAT csv;\n") + QUERY


@pytest.fixture
def script(tmp_path: Path) -> Path:
    lines = [f"{r['ts']},{r['id']},{r['heat']},{r['load']}," for r in readings(7, 3)]
    (tmp_path / "r.csv").write_text("\n".join(["ts,id,heat,load,note", *lines]) + "\n")
    (tmp_path / "q.neel").write_text(SCRIPT)
    return tmp_path / "q.neel"


def test_the_local_engine_draws_the_same(script: Path, tmp_path: Path) -> None:
    pages = []
    for engine in ("reference", "local"):
        page = tmp_path / f"{engine}.html"
        assert main(["run", str(script), "--engine", engine, "--report", str(page)]) == 0
        pages.append(page.read_text())
    assert pages[0] == pages[1] and "H OVERLAPS L (HLHL)" in pages[0]


def test_of_more_events_than_a_picture_shows_whole_partitions(script: Path) -> None:
    found = neelc.timeline(
        str(script.parent / "r.csv"), QUERY, name="S", timestamp="ts", unit="SECOND", most_events=10
    )
    assert {one[0][0] for one in lanes(found.picture)} == {"3"}
    assert any("14 events of 2 partitions" in text for text in limits(found.picture))
    assert "<canvas" in found.html and found._repr_html_().startswith("<iframe")

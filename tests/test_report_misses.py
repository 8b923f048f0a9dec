"""What a picture says of lanes without matches: how far they came, and what stopped them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from browser import browser, page
from drawn_pictures import drawn, rows
from test_report_page import opened, text

from neelc.tools.report.page import report_page
from neelc.tools.report.picture import LaneMiss
from neelc.tools.report.record import packed, record

QUERY = "PATTERN SEQ(A a, !D d, B b, C c) WHERE [id] AND c.x != 'bad' WITHIN 6"


def misses(events: Sequence[Mapping[str, object]], query: str = QUERY) -> dict[object, LaneMiss]:
    return {one.lane[0]: one for one in drawn(query, events).misses}


def said(text: str, query: str = QUERY) -> tuple[str, str, list[object]]:
    """Of a lane with the events of a text: how far it came, what stopped it, and the events of that run."""
    one = misses(rows(text), query)[1]
    return one.steps, one.text, [event.attributes["x"] for event in one.events]


def test_a_step_that_has_no_event() -> None:
    assert said("a.b") == ("2 of 3 steps", "no C c after 2", ["a0", "b2"])
    assert said("a.bbx") == ("2 of 3 steps", "no C c after 2", ["a0", "b2"])


def test_a_window_that_is_too_short() -> None:
    assert said("a.b.....c") == (
        "2 of 3 steps",
        "C c: WITHIN 6 SECONDS fails (8 seconds, 2 seconds too long)",
        ["a0", "b2"],
    )


def test_a_negation_rejects_a_run_that_has_all_steps() -> None:
    steps, why, events = said("ad.b.c")
    assert (steps, events) == ("3 of 3 steps", ["a0", "b3", "c5"])
    assert why == "stopped by !D d: D 1"
    assert misses(rows("ad.b.c"))[1].is_whole


def test_no_event_to_start_with() -> None:
    assert said("b.c") == ("0 of 3 steps", "there is no A to start with", [])


def test_of_several_starts_the_one_that_came_furthest() -> None:
    assert said("a.......a.b")[2] == ["a8", "b10"]
    assert said("aa......b", "PATTERN SEQ(A a, A d, B b) WHERE [id] WITHIN 4")[0] == "2 of 3 steps"


def test_lanes_with_matches_have_none() -> None:
    found = misses([*rows("abc", 7), *rows("a", 8), *rows("e", 9)])
    assert set(found) == {8, 9}


def test_nothing_is_said_where_it_is_not_known() -> None:
    """Where types are lanes, where somebody chose the lanes, and beside several strategies."""
    events = [*rows("abc", 7), *rows("a", 8)]
    assert drawn(QUERY, events).misses
    assert not drawn("PATTERN SEQ(A a, B b) WITHIN 6", events).misses
    assert not drawn(QUERY, events, key=["x"]).misses
    assert not drawn(QUERY, events, compare=True).misses
    strict = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 6 USING STRICT CONTIGUITY"
    assert drawn(strict, events).misses and not drawn(strict, events, most=3).misses


def test_the_page_has_their_events_by_number() -> None:
    data = packed(record(drawn(QUERY, [*rows("abc", 7), *rows("a.b", 8)])))
    (miss,) = data["misses"]
    assert data["lanes"][miss["lane"]] == "8"
    assert [data["events"]["lane"][event] for event in miss["events"]] == [miss["lane"]] * 2
    assert "stopped at C c: there is none" in miss["more"]


ROWS = """SELECT * FROM S MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES LAST(down.x) AS last
  PATTERN (strt up+ down) DEFINE up AS kind = 'B', down AS kind = 'C')"""


def test_partitions_of_rows_say_how_many_fit() -> None:
    found = misses([*rows("abbc", 7), *rows("abbbd", 8), *rows("a", 9)], ROWS)
    assert set(found) == {8, 9}
    assert (found[8].steps, [event.row for event in found[8].events]) == ("4 rows fit", [4, 5, 6, 7])
    assert found[8].text == "DOWN: kind = 'C' fails (kind = 'D')"
    assert (found[9].steps, found[9].text) == ("1 row fits", "the partition has no more rows")
    assert not drawn(ROWS, rows("a", 9), key=["x"]).misses


@pytest.mark.skipif(browser() is None, reason="never: no Chromium on this machine")
def test_the_lane_says_it(tmp_path: Path) -> None:
    with page() as found:
        opened(
            found,
            tmp_path / "misses.html",
            report_page([drawn(QUERY, [*rows("abc", 7), *rows("a.b", 8), *rows("c", 9)])]),
        )
        assert "how far a lane without matches came" in text(found, ".counts")
        place = """(() => { const [line] = timelines, [stage] = line.stages;
          const lane = line.model.lanes.indexOf("8");
          const box = stage.canvas.getBoundingClientRect();
          return [box.left + 20, box.top + stage.y(line.view.row[lane])]; })()"""
        x, y = found.value(place)
        found.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        assert "2 of 3 steps: no C c after 2" in text(found, ".tip")
        assert found.problems == []

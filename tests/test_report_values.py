"""Odd values in a picture: lanes that look alike, texts that no file can hold, times far from each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from browser import Page, browser, page
from drawn_pictures import drawn, rows
from test_report_page import opened, settled

from neelc.tools.report.page import limits, report_page
from neelc.tools.report.picture import Picture
from neelc.tools.report.record import record

UP = "PATTERN SEQ(A a, B b) WITHIN 10"


def lanes(keys: Sequence[tuple[str, str | None]]) -> tuple[list[str], list[int]]:
    """The lanes of events with these values of `kind` and `x`, and which of them each event is in."""
    some = [{"ts": at, "kind": kind, "id": 1, "x": x} for at, (kind, x) in enumerate(keys)]
    data = record(drawn(UP, some, key=["kind", "x"]))
    return data["lanes"], data["events"]["lane"]


def test_lanes_are_told_apart_by_their_values() -> None:
    assert lanes([("A", ""), ("A", "NULL"), ("A", None), ("A", "")]) == (
        ["A, ''", "A, 'NULL'", "A, NULL"],
        [0, 1, 2, 0],
    )
    assert lanes([("a, b", "c"), ("a", "b, c")]) == (["a, 'b, c'", "'a, b', c"], [1, 0])


def test_half_a_pair_of_surrogates() -> None:
    picture = drawn(UP, [{**row, "x": "\ud800"} for row in rows("ab")], key=["x"], most=1)
    text = report_page([picture])
    assert '"\\ud800"' in text
    assert "\ud800" in next(limits(picture))
    assert "those of ?, from 0 to 0" in text


ANCIENT = """CREATE STREAM S (ts TIMESTAMP, kind STRING, id BIGINT, x STRING) TIMESTAMP BY ts TYPE BY kind;
"""


def ancient() -> Picture:
    """An event two thousand years before a match of five microseconds."""
    late = datetime(2024, 1, 1, tzinfo=UTC)
    times = {"C": datetime(1, 1, 1, tzinfo=UTC), "A": late, "B": late + timedelta(microseconds=5)}
    some = [{"ts": ts, "kind": kind, "id": 1, "x": kind} for kind, ts in times.items()]
    return drawn("PATTERN SEQ(A a, B b) WITHIN 1 SECOND", some, head=ANCIENT)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if browser() is None:
        pytest.skip("never: no Chromium on this machine")
    with page() as found:
        opened(found, tmp_path_factory.mktemp("page") / "report.html", report_page([ancient()]), width=1700)
        yield found
        assert found.problems == []


def test_a_match_far_from_the_first_event(shown: Page) -> None:
    """Where two numbers that follow each other are eight microseconds apart."""
    shown.value("timelines[0].view.walk(0, 1)")
    settled(shown)
    marks = shown.value("timelines[0].model.clock.marks(...timelines[0].view.range, 15)")
    assert 2 <= len(marks) <= 16
    assert len({at for at, _ in marks}) == len(marks)
    assert "2024-01-01" in [label for _, label in marks]


def test_times_before_1970_and_after_9999(shown: Page) -> None:
    def text(first: int, kind: str = "time") -> object:
        return shown.value(f"new Clock({{ kind: {kind!r}, unit: null, first: '{first}' }}).text(0)")

    assert text(-1) == "1969-12-31 23:59:59.999999"
    assert text(-1_000_000) == "1969-12-31 23:59:59"
    assert text(253_402_300_800_000_005) == "10000-01-01 00:00:00.000005"
    assert text(2_932_897, "date") == "10000-01-01"


MODEL = """(() => {{ const data = JSON.parse(document.getElementById("pictures").textContent)[0];
  const matches = {rows}.map(([from, to]) => [[], [], [], [], from, to, 0]);
  const events = {{ start: [], end: null, lane: [], type: [], values: [], stream: [], types: [] }};
  const panels = [{{ ...data.panels[0], matches }}];
  const model = new Model({{ ...data, events, lanes: ["results"], panels }});
  return [model.range, model.panels[0].end]; }})()"""


def test_rows_without_an_end_last_as_long_as_anything(shown: Page) -> None:
    """Also where no event is drawn."""
    found = shown.value(MODEL.format(rows="[[0, null], [50, null]]"))
    assert found == [[-1, 51], [50, 50]]
    assert shown.value(MODEL.format(rows="[[0, 100], [5, null]]"))[1] == [100, 100]


CROWD = """(() => { const tall = [], many = [...Array(70000).fill(1), ...Array(35000).fill(9)];
  const view = { range: [0, 30], hidden: new Set(), isFound: () => true };
  const stage = { view, labels: 0, per: 1, width: 30,
    model: { types: [["A", 0]], type: many.map(() => 0), colour: [0] }, palette: { types: ["red"] }, base: 28,
    y: () => 50, work: 0, pen: { fillRect: (x, y, width, height) => tall.push(height) } };
  Stage.prototype.crowd.call(stage, { start: many, items: many.map((_, event) => event) }, 0);
  return tall; })()"""


def test_more_events_on_a_pixel_than_small_numbers_count(shown: Page) -> None:
    assert shown.value(CROWD) == pytest.approx([20, 10])

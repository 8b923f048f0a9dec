"""Odd values in a picture: lanes that look alike, texts that no file can hold, times far from each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import pytest
from browser import Page, browser, page
from drawn_pictures import LASTING, drawn, rows
from test_report_page import opened, settled

from neelc.tools.report.page import limits, report_page
from neelc.tools.report.picture import Picture
from neelc.tools.report.record import packed, record

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
  const events = {{ start: [], end: null, lane: [], type: [], stream: [], types: [], columns: [] }};
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
    model: { types: [["A", 0]], type: many.map(() => 0), colour: [0] }, palette: { types: ["red"] },
    of: { tint: many.map(() => FREE) },
    y: () => 50, work: 0, pen: { fillRect: (x, y, width, height) => tall.push(height) } };
  Stage.prototype.crowd.call(stage, { start: many, items: many.map((_, event) => event) }, 0);
  return tall; })()"""


def test_more_events_on_a_pixel_than_small_numbers_count(shown: Page) -> None:
    assert shown.value(CROWD) == pytest.approx([14, 7])


TIMES = """(() => { const [{ model }] = timelines, [[stored]] = model.data.events.columns;
  return [...model.lane.keys()].map((event) => [stored, model.values.of(event)[0]]); })()"""


@pytest.mark.skipif(browser() is None, reason="never: no Chromium on this machine")
def test_a_column_that_is_the_time_is_not_stored(tmp_path: Path) -> None:
    """The page writes times as the columns of the stream have them."""
    stamps = ["2024-03-01 08:00:00", "2024-03-01 08:00:00.5", "2024-03-31 03:30:00.000001"]
    head = "CREATE STREAM S (ts TIMESTAMP, kind STRING, id BIGINT, x STRING) TIMESTAMP BY ts TYPE BY kind;\n"
    at = [datetime.fromisoformat(stamp).replace(tzinfo=UTC) for stamp in stamps]
    events = [{"ts": time, "kind": "A", "id": 1, "x": "a"} for time in at]
    data = record(drawn("PATTERN SEQ(A a, A b) WITHIN 1 SECOND", events, head=head))
    assert [values[0] for values in data["events"]["values"]] == stamps
    path = tmp_path / "times.html"
    path.write_text(report_page([drawn("PATTERN SEQ(A a, A b) WITHIN 1 SECOND", events, head=head)]))
    with page() as found:
        found.open(path)
        assert found.value(TIMES) == [[None, stamp] for stamp in stamps]


def test_what_is_packed_is_what_there_was() -> None:
    events = [
        {"ts": at, "te": at + at % 3, "kind": "AB"[at % 2], "id": at % 2, "x": "NULL" if at % 5 else None}
        for at in range(40)
    ]
    data = record(drawn("PATTERN SEQ(A a, B b) WITHIN 2", events, head=LASTING))
    small = packed(data)["events"]
    assert list(accumulate(small["since"])) == data["events"]["start"]
    ends = [start + length for start, length in zip(data["events"]["start"], small["end"], strict=True)]
    assert ends == data["events"]["end"]
    ((_, *columns),) = small["columns"]
    assert small["columns"][0][0] is None and columns[-1] == {"texts": ["NULL"], "at": [0] * 40}

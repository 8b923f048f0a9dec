"""The page of a time line in a browser, where there is one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browser import Page, browser, page
from drawn_pictures import LASTING, drawn, rows

from neelc.explain.html import framed
from neelc.tools.report.page import report_page

pytestmark = pytest.mark.skipif(browser() is None, reason="never: no Chromium on this machine")

QUERY = "PATTERN SEQ(A a, !D d, B b, C c) WHERE [id] WITHIN 6 RETURN a.x AS first, c.x AS last"
EVENTS = [*rows("abc....abc", 7), *rows("a..d.bc", 8), *rows(".e.e", 9), *rows("..a.b.c", 6)]


@dataclass(frozen=True)
class Why:
    key: object
    time: object
    text: str


NOTES = [Why(8, 0, "d at 3 was in the way <of it>")]


def opened(found: Page, path: Path, html: str, **how: Any) -> None:
    path.write_text(html)
    found.open(path, **how)
    settled(found)


def settled(found: Page) -> None:
    """Wait until all frames that are due have been drawn."""
    found.call(
        "Runtime.evaluate",
        expression="new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
        awaitPromise=True,
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("page") / "report.html"
    picture = drawn(QUERY, EVENTS, notes=NOTES)
    with page() as found:
        opened(found, path, report_page([picture]))
        yield found
        assert found.problems == []


@pytest.fixture(autouse=True)
def afresh(request: pytest.FixtureRequest) -> None:
    """Each test begins with all of the time and no filter."""
    if "shown" in request.fixturenames:
        found = request.getfixturevalue("shown")
        found.value("""{ const { view } = timelines[0]; view.hidden.clear(); view.fit(); view.select(null);
          view.set({ onlyMatched: false, onlyLane: null, search: "" }); }""")
        settled(found)


def text(found: Page, selector: str) -> str:
    settled(found)
    shown_text: str = found.value(f"document.querySelector({selector!r}).innerText")
    return " ".join(shown_text.split())


def click(found: Page, selector: str) -> None:
    found.value(f"document.querySelector({selector!r}).click()")
    settled(found)


def mouse(found: Page, kind: str, x: float, y: float, **more: Any) -> None:
    found.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)


def place_of(found: Page, event: str) -> tuple[float, float]:
    """Where an event, known by its text `x`, is on the screen."""
    script = f"""(() => {{ const [line] = timelines, [stage] = line.stages, {{ model }} = line;
      const at = model.lane.findIndex((_, at) => model.values.of(at).includes({event!r}));
      const box = stage.canvas.getBoundingClientRect();
      return [box.left + stage.x(model.start[at]), box.top + stage.yOf(at)]; }})()"""
    x, y = found.value(script)
    return x, y


def test_what_the_page_says(shown: Page) -> None:
    assert text(shown, ".why") == "3 matches among 15 events."
    assert "by id: 4, 2 of them with matches" in text(shown, ".summary dl")
    assert text(shown, ".seen") == "4 lanes, 15 events"
    assert lanes(shown) == ["6", "7", "8", "9"]


def test_pointing_at_an_event_shows_its_attributes(shown: Page) -> None:
    mouse(shown, "mouseMoved", *place_of(shown, "b8"))
    assert text(shown, ".tip").startswith("B 8 ts 8 kind B id 7 x b8 in 1 match")
    mouse(shown, "mouseMoved", 5, 5)
    settled(shown)
    assert shown.value("document.querySelector('.tip').hidden")


def test_pointing_at_an_arc_shows_the_match_and_its_scope(shown: Page) -> None:
    (x0, y0), (x1, _) = place_of(shown, "a2"), place_of(shown, "b4")
    rise = shown.value(f"timelines[0].stages[0].rise({x1 - x0})")
    mouse(shown, "mouseMoved", (x0 + x1) / 2, y0 - rise)
    shown_text = text(shown, ".tip")
    assert shown_text.startswith("Match 2 2, 4 seconds first a2 last c6")
    assert "!D d none between 2 and 4" in shown_text


def test_a_click_keeps_an_event_and_leads_to_its_match(shown: Page) -> None:
    x, y = place_of(shown, "c9")
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        mouse(shown, kind, x, y, button="none" if kind == "mouseMoved" else "left", clickCount=1)
    assert "x c9 in 1 match" in text(shown, ".details")
    click(shown, ".details [data-match]")
    assert text(shown, ".details").startswith("Match 3")
    assert text(shown, ".walk .place") == "3 of 3"


def test_a_note_says_why(shown: Page) -> None:
    script = """(() => { const [stage] = timelines[0].stages, box = stage.canvas.getBoundingClientRect();
      const row = timelines[0].view.row[timelines[0].model.data.notes[0][0]];
      return [box.left + stage.x(0), box.top + stage.y(row) + 11]; })()"""
    mouse(shown, "mouseMoved", *shown.value(script))
    assert text(shown, ".tip") == "8 0 d at 3 was in the way <of it>"


def lanes(found: Page) -> list[str]:
    names: list[str] = found.value("timelines[0].view.lanes.map((lane) => timelines[0].model.lanes[lane])")
    return names


def test_the_order_of_lanes(shown: Page) -> None:
    """Those with matches come first, in an order that can be chosen."""
    for order, expected in {"first": ["7", "6"], "most": ["7", "6"], "name": ["6", "7"]}.items():
        shown.value(f"document.querySelector('[data-order]').value = {order!r}")
        shown.value("document.querySelector('[data-order]').dispatchEvent(new Event('change'))")
        assert lanes(shown) == [*expected, "8", "9"]


def test_filters(shown: Page) -> None:
    click(shown, ".chip[data-type='0']")
    assert text(shown, ".seen") == "4 lanes, 11 events"
    assert shown.value("document.querySelector('.chip').getAttribute('aria-pressed')") == "false"
    click(shown, ".chip[data-type='0']")
    click(shown, "[data-matched]")
    assert text(shown, ".seen").startswith("2 of 4 lanes")
    click(shown, "[data-matched]")
    type_in(shown, "[data-search]", "E3")
    assert text(shown, ".seen").startswith("1 of 4 lanes")
    type_in(shown, "[data-search]", "")
    shown.value("{ const list = document.querySelector('[data-key]'); list.value = 3; }")
    shown.value("document.querySelector('[data-key]').dispatchEvent(new Event('change'))")
    assert text(shown, ".seen").startswith("1 of 4 lanes")
    shown.value("document.querySelector('[data-key]').value = ''")


def type_in(found: Page, selector: str, value: str) -> None:
    element = f"document.querySelector({selector!r})"
    found.value(f"{element}.value = {value!r}; {element}.dispatchEvent(new Event('input'))")
    settled(found)


def width(found: Page) -> float:
    settled(found)
    share: float = found.value(
        "(([a, b], [c, d]) => (b - a) / (d - c))(timelines[0].view.range, timelines[0].model.range)"
    )
    return share


def test_zoom_and_pan_with_buttons_keys_and_wheel(shown: Page) -> None:
    click(shown, "[data-do=in]")
    assert width(shown) == pytest.approx(0.6)
    shown.value("document.querySelector('.scroller').focus()")
    shown.press("+")
    assert width(shown) == pytest.approx(0.36)
    before = shown.value("timelines[0].view.range[0]")
    shown.press("ArrowRight")
    assert shown.value("timelines[0].view.range[0]") > before
    shown.press("0")
    assert width(shown) == 1
    x, y = place_of(shown, "b8")
    mouse(shown, "mouseWheel", x, y, deltaX=0, deltaY=-60, modifiers=2)
    assert width(shown) < 0.7
    assert place_of(shown, "b8")[0] == pytest.approx(x, abs=1)  # what is under the pointer stays there
    click(shown, "[data-do=fit]")
    assert width(shown) == 1


def test_dragging_moves_and_marks(shown: Page) -> None:
    click(shown, "[data-do=in]")
    x, y = place_of(shown, "a7")
    drag(shown, (x + 30, y + 20), (x - 60, y + 20))
    assert place_of(shown, "a7")[0] == pytest.approx(x - 90, abs=2)
    drag(shown, (500, y + 20), (700, y + 20), modifiers=8)
    assert width(shown) < 0.25


def drag(found: Page, start: tuple[float, float], end: tuple[float, float], **more: Any) -> None:
    mouse(found, "mousePressed", *start, button="left", buttons=1, clickCount=1, **more)
    for part in (0.5, 1):
        x, y = (a + (b - a) * part for a, b in zip(start, end, strict=True))
        mouse(found, "mouseMoved", x, y, button="left", buttons=1, **more)
    mouse(found, "mouseReleased", *end, button="left", clickCount=1, **more)
    settled(found)


def test_from_match_to_match_and_from_event_to_event_with_keys(shown: Page) -> None:
    shown.value("document.querySelector('.scroller').focus()")
    shown.press("n")
    shown.press("n")
    assert text(shown, ".details").startswith("Match 2")
    shown.press("p")
    assert text(shown, ".details").startswith("Match 1")
    shown.press("Escape")
    assert text(shown, ".details").startswith("Point at")
    shown.press(".")
    shown.press(".")
    assert "x b4" in text(shown, ".details")


def test_the_table_of_matches(shown: Page) -> None:
    shown.value("document.querySelector('.matches').open = true")
    assert text(shown, ".matches summary") == "3 matches as a table"
    assert text(shown, ".matches tbody tr:nth-child(2)") == "2 2 4 seconds 6 a2 c6"
    click(shown, ".matches tbody tr:nth-child(2) button")
    assert text(shown, ".details").startswith("Match 2")


def test_light_and_dark(shown: Page) -> None:
    """The canvas takes the colours of the page."""
    script = """(() => { const copy = document.createElement("canvas").getContext("2d");
      copy.drawImage(timelines[0].stages[0].canvas, 0, 0);
      return copy.getImageData(200, 10, 1, 1).data[0]; })()"""
    before = shown.value(script)
    click(shown, ".theme")
    assert abs(shown.value(script) - before) > 150
    click(shown, ".theme")
    assert shown.value(script) == before


@pytest.mark.parametrize("width", [360, 900])
def test_no_page_is_wider_than_its_window(width: int, tmp_path: Path) -> None:
    with page() as found:
        html = report_page([drawn(QUERY, EVENTS, compare=True), drawn(QUERY, EVENTS)])
        opened(found, tmp_path / "report.html", html, width=width, dark=width < 400)
        assert found.value("document.documentElement.scrollWidth <= innerWidth")
        assert found.value("document.querySelectorAll('.scroller').length") == 5
        assert found.problems == []


def test_strategies_move_together(tmp_path: Path) -> None:
    with page() as found:
        opened(found, tmp_path / "report.html", report_page([drawn(QUERY, EVENTS, compare=True)]))
        captions = found.value("all('figcaption').map((one) => one.innerText.replace(/\\s+/g, ' '))")
        assert captions[:2] == ["SKIP TILL ANY MATCH 3 matches", "SKIP TILL NEXT MATCH 3 matches"]
        click(found, "[data-do=in]")
        assert len(set(found.value("timelines[0].stages.map((stage) => stage.x(3))"))) == 1
        assert found.problems == []


def test_fifty_thousand_events(tmp_path: Path) -> None:
    """Whatever is looked at, a frame draws a few thousand things, and each move draws a frame."""
    chance = random.Random(1)
    many = [
        {"ts": at, "kind": chance.choice("ABCDE"), "id": chance.randrange(3), "x": str(at)}
        for at in range(50_000)
    ]
    picture = drawn("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 2", many)
    with page() as found:
        opened(found, tmp_path / "report.html", report_page([picture]))
        assert text(found, ".seen") == "3 lanes, 50,000 events"
        for step in range(24):
            before = found.value("timelines[0].frames")
            found.value(f"timelines[0].view.{['zoom(0.6)', 'pan(0.2)', 'walk(0, 1)'][step % 3]}")
            settled(found)
            assert found.value("timelines[0].frames") > before
            assert found.value("timelines[0].stages[0].work") < 10_000
        type_in(found, "[data-search]", "4999")
        assert found.value("timelines[0].view.found.reduce((a, b) => a + b)") == 15
        assert found.problems == []


def test_rows_of_match_recognize(tmp_path: Path) -> None:
    """The variables are at the rows of the match that is chosen, and chips have their colours."""
    clause = (
        "PARTITION BY id ORDER BY ts MEASURES LAST(up.x) AS top PATTERN (strt up+) DEFINE up AS x > PREV(x)"
    )
    picture = drawn(f"SELECT * FROM S MATCH_RECOGNIZE ({clause})", EVENTS)
    with page() as found:
        opened(found, tmp_path / "rows.html", report_page([picture]))
        assert "STRT 6 UP 9" in text(found, ".tools")
        assert "rows over time" in text(found, ".counts") and "4 lanes, 15 rows" in text(found, ".counts")
        click(found, "[data-do=next]")
        said = text(found, ".details")
        assert "top" in said and "STRT STRT 0 UP UP 1" in said
        assert found.problems == []


READINGS = "CREATE STREAM S (ts BIGINT, id BIGINT, heat INT, load INT) TIMESTAMP BY ts UNIT SECOND;\n"
OVERLAPS = """SELECT * FROM S AS r MATCH_RECOGNIZE_TEMPORAL (PARTITION BY r.id MEASURES START(H).ts AS hot
  PATTERN H OVERLAPS L DEFINE H AS TEMP(r.heat > 80), L AS TEMP(r.load > 50))"""
HEATS = [(90, 10), (92, 60), (95, 80), (70, 85), (60, 90), (60, 20)]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1400, 480])
def test_situations_stand_in_lanes_of_their_key(tmp_path: Path, dark: bool, width: int) -> None:
    events = [
        {"ts": at, "id": key, "heat": heat, "load": load if key == 7 else 0}
        for key in (3, 7)
        for at, (heat, load) in enumerate(HEATS, 1)
    ]
    picture = drawn(OVERLAPS, events, head=READINGS)
    with page() as found:
        opened(found, tmp_path / "lanes.html", report_page([picture]), dark=dark, width=width)
        view = "timelines[0].view"
        # The key with a match comes first, with all of its lanes.
        assert found.value(f"{view}.lanes.map((lane) => {view}.model.lanes[lane])") == [
            *(f"{key}, {lane}" for key in (7, 3) for lane in ("H", "L", "heat (values)", "load (values)"))
        ]
        high = "(t) => [...t.stages[0].model.scale.keys()].filter((e) => t.stages[0].model.scale[e] === {}).map((e) => t.stages[0].yOf(e))"  # noqa: E501
        assert min(found.value(f"({high.format(0)})(timelines[0])")) > min(
            found.value(f"({high.format(1)})(timelines[0])")
        )
        click(found, "[data-do=next]")
        told = text(found, ".details")
        assert "H OVERLAPS L (HLHL)" in told and "decided at" in told
        assert text(found, ".counts .seen") == "8 lanes, 3 situations"
        assert found.value("document.documentElement.scrollWidth <= innerWidth")
        stage = "timelines[0].stages[0]"
        points = found.value(f"{stage}.points(0)")
        middle = [(points[0][at] + points[1][at]) / 2 for at in (0, 2)]
        assert found.value(f"{stage}.at({middle[0]}, {middle[1]})")["kind"] == "match"
        found.value("document.querySelector('[data-key]').value = 0")
        found.value("document.querySelector('[data-key]').dispatchEvent(new Event('change'))")
        assert text(found, ".counts .seen") == "4 of 8 lanes, 1 situation"
        assert found.problems == []


def test_events_that_last_tell_their_relations(tmp_path: Path) -> None:
    events = [
        {"ts": 0, "te": 5, "kind": "A", "id": 1, "x": "a"},
        {"ts": 3, "te": 8, "kind": "B", "id": 1, "x": "b"},
    ]
    picture = drawn("PATTERN AND(A a, B b) WHERE [id] AND a OVERLAPS b WITHIN 9", events, head=LASTING)
    with page() as found:
        opened(found, tmp_path / "lasting.html", report_page([picture]))
        click(found, "[data-do=next]")
        assert "a OVERLAPS b" in text(found, ".details")
        assert found.problems == []


def stretched(keys: int = 40, each: int = 300) -> list[dict[str, object]]:
    """Much time, in which each key has a match now and then: the first one is late."""
    chance = random.Random(3)
    found = []
    for key in range(keys):
        at = chance.randrange(200)
        for number in range(each):
            at += chance.randrange(1, 200)
            kind = "B" if number > 40 and chance.random() < 0.05 else "A" if chance.random() < 0.5 else "D"
            found.append({"ts": at, "kind": kind, "id": key, "x": f"{key}/{number}"})
    return sorted(found, key=lambda row: int(str(row["ts"])))


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    picture = drawn("CREATE QUERY Pairs AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 60", stretched())
    with page() as found:
        opened(found, tmp_path_factory.mktemp("page") / "long.html", report_page([picture]))
        yield found
        assert found.problems == []


VIEW, STAGE = "timelines[0].view", "timelines[0].stages[0]"
ARCS = """(() => { const [stage] = timelines[0].stages, { view, of } = stage, [first, last] = stage.rows();
  const isInSight = (match, row = view.row[of.lane[match]]) => row >= first && row < last
    && of.end[match] >= view.range[0] && of.start[match] <= view.range[1];
  const drawn = stage.bundles.flatMap(({ items }) => items);
  const counts = stage.bundles.map(({ items }) => items.length);
  return [drawn, [...of.matches.keys()].filter((match) => isInSight(match)), counts]; })()"""
SMALLEST = """(() => { const [stage] = timelines[0].stages, box = stage.canvas.getBoundingClientRect();
  const several = stage.bundles.filter(({ items }) => items.length > 1);
  const [one] = several.sort((a, b) => a.items.length - b.items.length), [x, y] = stage.crest(one);
  return [box.left + x, box.top + y, one.items.length]; })()"""


def test_a_long_time_opens_at_the_first_match(long: Page) -> None:
    low, high = long.value(f"{VIEW}.range")
    first, whole = long.value("[timelines[0].model.panels[0].start[0], timelines[0].model.range[1]]")
    assert low < first < low + (high - low) / 4
    assert high - low < whole / 4
    top = long.value(f"{VIEW}.row[timelines[0].model.panels[0].lane[0]]")
    assert top == 0 and long.value("document.querySelector('[data-order]').value") == "first"
    assert text(long, ".seen").startswith("40 lanes, 12,000 events")


def test_short_matches_are_seen_where_events_are_far_apart(tmp_path: Path) -> None:
    """The first screen is no wider than thirty matches, however few events that shows."""
    events = [
        {"ts": 500 * pair + at, "kind": kind, "id": 1, "x": ""}
        for pair in range(60)
        for at, kind in ((0, "A"), (2, "B"))
    ]
    with page() as found:
        picture = drawn("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 2", events)
        opened(found, tmp_path / "report.html", report_page([picture]))
        low, high = found.value(f"{VIEW}.range")
        start, end = found.value(
            "[timelines[0].model.panels[0].start[0], timelines[0].model.panels[0].end[0]]"
        )
        assert low < start < end < high and high - low <= 30 * (end - start)
        assert found.problems == []


def test_the_title_is_the_name_of_the_query(long: Page) -> None:
    assert text(long, "h2") == "Pairs"
    assert long.value("document.title").startswith("Pairs: ")
    assert report_page([drawn(QUERY, EVENTS)]).count("<h2>some</h2>") == 1


def test_at_each_zoom_every_match_in_sight_is_in_one_arc(long: Page) -> None:
    """What lies together is one arc with its number; nothing is left out, and nothing is drawn twice."""
    long.value(f"{VIEW}.fit()")
    most = []
    for _ in range(10):
        settled(long)
        shown_matches, there, counts = long.value(ARCS)
        assert len(set(shown_matches)) == len(shown_matches)
        assert there and set(there) <= set(shown_matches)
        assert len(counts) <= 70 * 20
        most.append(max(counts))
        long.value(f"{VIEW}.zoom(0.5, timelines[0].model.panels[0].start[0])")
    assert most[0] > 1 and most[-1] == 1, "zooming in leads to single matches"


def test_the_number_of_an_arc_can_be_pointed_at_and_zoomed_into(long: Page) -> None:
    long.value(f"{VIEW}.fit()")
    settled(long)
    x, y, count = long.value(SMALLEST)
    mouse(long, "mouseMoved", x, y)
    assert text(long, ".tip").startswith(f"{count} matches first")
    before = width(long)
    for kind in ("mousePressed", "mouseReleased"):
        mouse(long, kind, x, y, button="left", clickCount=1)
    assert width(long) < before / 3


def test_events_have_the_colours_of_their_variables(tmp_path: Path) -> None:
    """Two variables of one type can be told apart, and events in no match from both."""
    picture = drawn("PATTERN SEQ(A a, A c) WHERE [id] WITHIN 2", [*rows("aa", 1), *rows("..a", 2)])
    with page() as found:
        opened(found, tmp_path / "colours.html", report_page([picture]))
        assert text(found, ".chip") == "A a c 3"
        assert found.value("[...timelines[0].model.panels[0].tint]") == [0, 1, 255]
        assert found.value(
            "timelines[0].stages[0].palette.types[0] !== timelines[0].stages[0].palette.types[1]"
        )
        assert found.problems == []


def test_in_a_frame_the_picture_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "frame.html"
    path.write_text(framed(report_page([drawn(QUERY, EVENTS)])))
    with page() as found:
        found.open(path, width=1000, height=700)
        found.picture(tmp_path / "frame.png")
    inner = report_page([drawn(QUERY, EVENTS)]).replace("window.parent !== window", "true")
    with page() as found:
        opened(found, tmp_path / "inner.html", inner, width=980, height=640)
        top, bottom = found.value(
            "(({ top, bottom }) => [top, bottom])(document.querySelector('.stages').getBoundingClientRect())"
        )
        assert top < 110 and bottom < 640
        assert found.value("document.querySelector('.tools').getBoundingClientRect().top") > bottom
        assert found.problems == []

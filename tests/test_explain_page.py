"""The HTML page in a browser, where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Page, browser, page
from explaining import explain
from pattern_examples import STREAM

from neelc.explain.page import as_html

SCRIPT = STREAM + (
    "CREATE QUERY first AS PATTERN SEQ(A a, SEQ(B b, SEQ(C c, SEQ(D d, E e)))) WHERE [id] WITHIN 1 MINUTE;\n"
    "CREATE QUERY second AS PATTERN SEQ(A a, SEQ(B b, C c)+ k[], AND(D d, E e)) WITHIN 1 MINUTE;\n"
    "CREATE QUERY third AS SELECT a.id AS id, c.n AS n FROM S AS a WINDOW(TIME 5), "
    "(SELECT id, count(*) AS n FROM S AS b WINDOW(TIME 9) GROUP BY id) AS c WHERE a.id = c.id AND a.x > 3;\n"
    "CREATE QUERY fourth AS SELECT * FROM S AS s MATCH_RECOGNIZE_TEMPORAL (MEASURES START(A).x AS x "
    "PATTERN A BEFORE B, (BCBC; B MEETS C; B DURING C), !D, D DURING C, A OVERLAPS C, P DURING A WITHIN 9 "
    "DEFINE A AS TEMP(s.x > 1), B AS TEMP(s.x > 2), C AS TEMP(s.x > 3), D AS TEMP(s.x > 4), P AS s.x = 5);\n"
)

pytestmark = pytest.mark.skipif(browser() is None, reason="never: no Chromium on this machine")


@pytest.fixture(scope="module", params=["light", "dark"])
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("page") / "plan.html"
    path.write_text(as_html(explain(SCRIPT), "rewrite"))
    with page() as found:
        found.open(path, dark=request.param == "dark")
        yield found


def visible(shown: Page, selector: str) -> list[str]:
    """The texts of the elements that can be seen."""
    script = f"all({selector!r}).filter(e => e.getClientRects().length).map(e => e.textContent.trim())"
    found: list[str] = shown.value(script)
    return found


def click(shown: Page, selector: str) -> None:
    shown.value(f"all({selector!r}).find(e => e.getClientRects().length).click()")


def test_one_query_at_a_time(shown: Page) -> None:
    assert visible(shown, "h2") == ["first"]
    click(shown, "nav a:nth-child(2)")
    assert visible(shown, "h2") == ["second"]
    click(shown, "nav a:nth-child(1)")
    assert visible(shown, "h2") == ["first"]


def test_steps_are_walked_through_with_buttons_and_keys(shown: Page) -> None:
    click(shown, "[data-tab=rewrite]")
    count = shown.value("all('article')[0].querySelectorAll('.step').length")
    assert count >= 3
    assert visible(shown, ".place") == [f"step 1 of {count}"]
    click(shown, "[data-go='1']")
    shown.press("ArrowRight")
    assert visible(shown, ".place") == [f"step 3 of {count}"]
    shown.press("ArrowLeft")
    click(shown, "[data-go='-1']")
    shown.press("ArrowLeft")
    assert visible(shown, ".place") == [f"step 1 of {count}"]
    assert len(visible(shown, ".step")) == 1
    click(shown, ".stepper ol li:nth-child(2) button")
    assert visible(shown, ".place") == [f"step 2 of {count}"]


def test_what_changed_is_marked_in_the_part_and_in_the_whole(shown: Page) -> None:
    click(shown, ".stepper ol li:nth-child(1) button")
    assert "SEQ(" in "".join(visible(shown, ".before .part mark"))
    assert visible(shown, ".before .all") == []
    click(shown, ".controls input")
    assert visible(shown, ".before .all")[0].startswith("PATTERN")
    assert visible(shown, ".before .part") == []
    click(shown, ".controls input")


def test_each_tab_shows_its_panel(shown: Page) -> None:
    for name, inside in {"simple": ".plan", "cost": ".bars", "nfa": "svg.automaton"}.items():
        click(shown, f"[role=tab][data-tab={name}]")
        assert len(visible(shown, "[role=tabpanel]")) == 1
        assert len(visible(shown, inside)) == 1


def test_texts_of_the_automaton_do_not_leave_their_frames(shown: Page) -> None:
    click(shown, "[role=tab][data-tab=nfa]")
    script = """all("svg .edge").filter(e => e.getClientRects().length).map(e => {
      const text = e.querySelector("text").getBBox(), frame = e.querySelector("rect").getBBox();
      return text.x >= frame.x - 1 && text.x + text.width <= frame.x + frame.width + 1;
    })"""
    found = shown.value(script)
    assert found and all(found)


def test_a_select_is_drawn_as_a_network(shown: Page) -> None:
    click(shown, "nav a:nth-child(3)")
    assert visible(shown, "h2") == ["third"]
    click(shown, "[role=tab][data-tab=simple]")
    assert len(visible(shown, "svg.network")) == 1
    titles = visible(shown, "svg.network .title")
    assert titles.count("stream S") == 1, "a stream that is read twice is drawn once"
    assert {"select result", "correlate", "aggregate groups", "filter"} <= set(titles)
    in_sight = "all('svg.network path.flow').filter(e => e.getClientRects().length).length"
    assert shown.value(in_sight) == len(titles)
    inside = """all("svg.network .operator").filter(e => e.getClientRects().length).map(e => {
      const frame = e.querySelector(".agent").getBBox();
      return [...e.querySelectorAll("text")].every(t => t.getBBox().x >= frame.x &&
        t.getBBox().x + t.getBBox().width <= frame.x + frame.width + 1);
    })"""
    assert all(shown.value(inside))
    click(shown, "nav a:nth-child(1)")


def test_a_select_has_steps_prices_and_relations(shown: Page) -> None:
    click(shown, "nav a:nth-child(3)")
    click(shown, "[role=tab][data-tab=rewrite]")
    assert "COALESCE" in "".join(visible(shown, ".before .part mark"))
    click(shown, "[data-go='1']")
    assert "FILTER" in "".join(visible(shown, ".after .part mark"))
    click(shown, "[role=tab][data-tab=cost]")
    assert visible(shown, ".bars .name") == ["as executed", "as written"]
    click(shown, "[role=tab][data-tab=spark]")
    assert visible(shown, "td code")[-1] == "result"
    assert len(visible(shown, "[role=tabpanel]")) == 1
    click(shown, "nav a:nth-child(1)")


def test_a_temporal_pattern_has_a_constraint_graph(shown: Page) -> None:
    click(shown, "nav a:nth-child(4)")
    click(shown, "[data-tab=nfa]")
    assert visible(shown, "svg.constraints text.title") == ["1. A", "2. C", "3. B", "4. P", "no D"]
    outside = """all(".symbol, g.relation", document.querySelector("svg.constraints")).flatMap((g) => {
      const frame = g.querySelector("rect").getBoundingClientRect();
      return [...g.querySelectorAll("text")].map((t) => [t.getBoundingClientRect(), frame, t.textContent]);
    }).filter(([t, f]) => t.width &&
      (t.left < f.left || t.right > f.right || t.top < f.top || t.bottom > f.bottom))"""
    assert shown.value(f"{outside}.map((one) => one[2])") == []
    dashed = "getComputedStyle(document.querySelector('svg.constraints .absent .body')).strokeDasharray"
    assert shown.value(dashed) != "none"
    click(shown, "nav a:nth-child(1)")


def test_light_and_dark(shown: Page) -> None:
    before = shown.value("getComputedStyle(document.body).backgroundColor")
    click(shown, ".theme")
    assert shown.value("getComputedStyle(document.body).backgroundColor") != before
    click(shown, ".theme")
    assert shown.value("getComputedStyle(document.body).backgroundColor") == before


def test_no_page_is_wider_than_the_window(shown: Page) -> None:
    assert shown.value("document.documentElement.scrollWidth <= innerWidth")


def test_the_page_complains_about_nothing(shown: Page) -> None:
    assert shown.problems == []


def test_without_scripts_everything_is_there(tmp_path: Path) -> None:
    (tmp_path / "plan.html").write_text(as_html(explain(SCRIPT), "simple"))
    with page() as found:
        found.open(tmp_path / "plan.html", scripts=False)
        assert found.value("document.querySelectorAll('.step').length") >= 3
        script = "[...document.querySelectorAll('.step, .plan, svg')].every(e => e.getClientRects().length)"
        assert found.value(script)


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (400, 900)])
def test_the_plan_is_seen_without_scrolling(width: int, height: int, tmp_path: Path) -> None:
    """The query and what is said of it stand beside the plan, or below it."""
    path = tmp_path / "plan.html"
    path.write_text(as_html(explain(SCRIPT), "simple"))
    with page() as found:
        found.open(path, width=width, height=height)
        box = "document.querySelector('.operation').getBoundingClientRect()"
        assert found.value(f"{box}.bottom") < height / 2
        summary = "document.querySelector('.summary').getBoundingClientRect()"
        assert found.value(f"{summary}.left >= {box}.right || {summary}.top >= {box}.bottom")
        assert found.value("document.documentElement.scrollWidth <= innerWidth")

"""The page of a query that runs over streams, as text and in a browser, where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import browser, page

from neelc.tools.report.live import MOST_BATCHES, BatchNumbers, LivePage


def running(batches: int = 60) -> LivePage:
    """A page of micro-batches with some of everything."""
    found = LivePage("Alerts <fraud>", {"stream Bank": "kafka://localhost:9092/bank"})
    for number in range(batches):
        at = f"2024-03-01T10:{number // 60 % 60:02}:{number % 60:02}.000Z"
        matches = number * 7 % 23
        example = f'{{"account":{number},"note":"<b>"}}' if matches else None
        watermark, newest = (1709287200.0 + number, 1709287212.5 + number) if number else (None, 1709287200.0)
        late = int(number % 13 == 0)
        found.add(
            BatchNumbers(
                number,
                at,
                1000 + number * 31 % 500,
                0.25,
                matches,
                late,
                number * 40_000,
                watermark,
                newest,
                example,
            )
        )
    return found


def test_a_page_that_runs_is_read_again_and_one_that_has_ended_is_not() -> None:
    shown = running()
    assert '<meta http-equiv="refresh" content="2">' in shown.html("running")
    assert "http-equiv" not in shown.html("stopped")
    assert (
        "Alerts &lt;fraud&gt;" in shown.html("running")
        and "<b>" not in shown.html("running").split("<h3>")[1]
    )


def test_a_page_before_the_first_micro_batch() -> None:
    assert "no micro-batch has ended yet" in LivePage("q", {}).html("running")


def test_what_is_kept_has_a_bound() -> None:
    shown = running(1000)
    assert len(shown.batches) == MOST_BATCHES and len(shown.examples) == 12
    assert shown.events == sum(1000 + number * 31 % 500 for number in range(1000))


def test_without_events_the_newest_time_stays() -> None:
    shown = running(3)
    last = shown.add(BatchNumbers(3, "2024-03-01T10:00:03.000Z", 0, 0.1, 0, 0, 10, 1709287205.0))
    assert last.lag == 1709287214.5 - 1709287205.0


@pytest.mark.skipif(browser() is None, reason="never: no Chromium on this machine")
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_in_a_browser(dark: bool, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(running().html("running"))
    with page() as found:
        found.open(path, width=1280, height=1000, dark=dark)
        assert found.value("document.querySelectorAll('.chart svg').length") == 6
        assert found.value("document.querySelectorAll('.chart rect').length") == 120, "two charts have bars"
        lowest = "Math.min(...[...document.querySelectorAll('.chart rect')].map(r => r.height.baseVal.value))"
        assert found.value(lowest) >= 0
        assert found.value("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off"
        found.picture(tmp_path / "page.png", whole=True)
        assert found.problems == []


@pytest.mark.skipif(browser() is None, reason="never: no Chromium on this machine")
def test_the_page_refreshes_itself(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(running().html("running"))
    with page() as found:
        found.open(path)
        path.write_text(running(90).html("stopped"))
        found.await_load()
        assert found.value("document.querySelector('.status').textContent.trim()") == "stopped"
        assert found.problems == []

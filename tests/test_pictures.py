"""The pictures of the documentation are what docs/images/draw.py draws; `pytest --update` writes them."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from repository import ROOT

IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 150_000


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(IMAGES))
    return importlib.import_module("draw")


@pytest.mark.parametrize("name", ["hospital", "strategies", "scopes", "pushdown", "benchmarks"])
def test_pictures_are_up_to_date(name: str, draw: ModuleType, update: bool) -> None:
    drawn, path = getattr(draw, name)(), IMAGES / f"{name}.svg"
    if update:
        path.write_text(drawn)
    assert drawn == path.read_text()


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*.[sp][vn]g")), ids=lambda path: path.name)
def test_pictures_are_small(path: Path) -> None:
    assert path.stat().st_size <= MOST_BYTES


def test_all_screenshots_are_made_by_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(IMAGES))
    known = importlib.import_module("screenshots").SCREENSHOTS
    assert sorted(known) == sorted(path.stem for path in IMAGES.glob("*.png"))
    pages = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    assert not [name for name in known if f"images/{name}.png" not in pages], "each is shown somewhere"


@pytest.mark.parametrize("number", [0, 1, 3], ids=["SEQ", "AND", "a window of its own"])
def test_negations_look_where_the_picture_says(number: int, draw: ModuleType) -> None:
    """One more event of the missing type at each instant: inside of the scope there is no match. A scope has
    the borders of windows, and not the events of the match."""
    pattern, intervals = draw.SCOPES[number]
    for left, right, text in intervals:
        probes = range(21)
        events = [row for t in probes for row in ((8, "A", t), (12, "B", t), (t, text[-1], t))]
        query = f"PATTERN {pattern} WHERE [key] WITHIN 10 SECONDS RETURN a.key"
        alone = {row["a_key"] for row in draw.asked(query, events)}
        assert set(probes) - alone == {t for t in range(left, right + 1) if t not in (8, 12)} | {
            t for t in (8, 12) if left < t < right
        }

"""The page of the grammar and its pictures belong to grammar/Neel.g4."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import browser, page
from repository import ROOT

from neelc.grammar.page import HIDDEN, INLINED, file_name, parts_of, rules, shown_rules, svg, symbols
from neelc.grammar.page import page as page_text

PAGE = ROOT / "docs" / "reference" / "grammar.md"
PICTURES = ROOT / "docs" / "reference" / "grammar"

# What the column of a page in the site has room for.
WIDEST_PICTURE = 760


@pytest.fixture(scope="module")
def pictures() -> dict[str, str]:
    return {file_name(rule.name): svg(rule) for rule in shown_rules()}


def test_the_page_is_current(update: bool) -> None:
    if update:
        PAGE.write_text(page_text())
    assert PAGE.read_text() == page_text(), "run pytest --update tests/test_grammar_page.py"


def test_the_pictures_are_current(pictures: dict[str, str], update: bool) -> None:
    if update:
        PICTURES.mkdir(exist_ok=True)
        for old in PICTURES.glob("*.svg"):
            old.unlink()
        for name, text in pictures.items():
            (PICTURES / name).write_text(text)
    there = {path.name: path.read_text() for path in PICTURES.glob("*.svg")}
    assert there == pictures, "run pytest --update tests/test_grammar_page.py"


def test_pictures_fit_the_page(pictures: dict[str, str]) -> None:
    widths = {name: float(re.findall(r'width="([\d.]+)"', text)[-1]) for name, text in pictures.items()}
    assert {name: width for name, width in widths.items() if width > WIDEST_PICTURE} == {}


def test_every_rule_is_somewhere() -> None:
    known = {rule.name: rule for rule in rules()}
    assert set(INLINED) | set(HIDDEN) <= set(known)
    # All that can be reached from a statement, a rule that is hidden or shown in another picture included.
    reached, todo = {"statement"}, ["statement"]
    while todo:
        for name in symbols(known[todo.pop()].body):
            if name in known and name not in reached:
                reached.add(name)
                todo.append(name)
    assert reached | {"singleStatement", "singlePattern", "singleExpression", "singleWindow"} == set(known)


def test_every_part_has_a_picture() -> None:
    names = {rule.name for rule in shown_rules()}
    assert {part for rule in shown_rules() for part in parts_of(rule)} <= names


@pytest.mark.skipif(browser() is None, reason="never: no Chromium on this machine")
def test_pictures_are_not_cut(tmp_path: Path) -> None:
    inside = "".join(path.read_text() for path in sorted(PICTURES.glob("*.svg")))
    (tmp_path / "all.html").write_text(f"<meta charset=utf-8>{inside}")
    script = """[...document.querySelectorAll('svg')].filter(svg => {
      const box = svg.querySelector('g').getBBox(), all = svg.viewBox.baseVal;
      return box.x < 0 || box.y < 0 || box.x + box.width > all.width || box.y + box.height > all.height;
    }).map(svg => svg.textContent).join()"""
    with page() as found:
        found.open(tmp_path / "all.html")
        assert found.value("document.querySelectorAll('svg').length") > 20
        assert found.value(script) == ""
        assert found.problems == []

"""The catalogue of errors, the cases that show them, and the page that lists them say the same."""

from __future__ import annotations

import re
from pathlib import Path

from repository import ROOT

from neelc import cases
from neelc.errors import CATALOGUE

PAGE = ROOT / "docs" / "reference" / "errors.md"
ERRORS = ROOT / "tests" / "cases" / "errors"
CODE = re.compile(r"error\[(NEEL\d{4})\]")

# Our own bugs have no query that shows them; test_cli.py makes one happen.
WITHOUT_CASE = {code for code in CATALOGUE if code.startswith("NEEL9")}

TITLES = {
    "1": "Syntax",
    "2": "Names and types",
    "3": "Meaning of patterns",
    "4": "Planning, and what is not supported yet",
    "5": "Data and runs",
    "9": "Bugs of neelc",
}


def shown() -> dict[str, Path]:
    """The case that shows a code: of several the one with the fewest errors and the shortest query."""
    found: dict[str, list[tuple[int, int, str, Path]]] = {}
    for path in sorted(path for path in ERRORS.rglob("*.case") if path.name != "wanted.case"):
        case = cases.load(path)
        if isinstance(case.expected, str):
            codes = CODE.findall(case.expected)
            for code in codes:
                found.setdefault(code, []).append((len(codes), len(case.query.text), path.name, path))
    return {code: min(candidates)[3] for code, candidates in sorted(found.items())}


def page() -> str:
    """docs/reference/errors.md."""
    lines = [
        "# Errors",
        "",
        "Every error has a code, a place and a sentence, and a hint where one can be given; "
        "`neelc check --format json` gives the same as records.",
        "This page is written by `pytest --update` from `compiler/errors.py` and `tests/cases/errors/`.",
    ]
    cases_by_code = shown()
    for first, title in TITLES.items():
        codes = [code for code in sorted(CATALOGUE) if code[4] == first]
        if codes:
            lines += ["", f"## {title}"]
        for code in codes:
            lines += ["", f"### {code}", "", sentence(CATALOGUE[code])]
            if code in cases_by_code:
                lines += ["", "```text", *example(cases_by_code[code], code).split("\n"), "```"]
    return "\n".join(lines) + "\n"


def sentence(title: str) -> str:
    return title[0].upper() + title[1:] + "."


def example(path: Path, code: str) -> str:
    """The diagnostic with this code in the case's text."""
    expected = cases.load(path).expected
    assert isinstance(expected, str)
    texts = re.split(r"\n\n(?=error\[)", expected)
    return next(text for text in texts if text.startswith(f"error[{code}]"))


def test_every_code_has_a_case() -> None:
    assert sorted(set(CATALOGUE) - WITHOUT_CASE - set(shown())) == []


def test_the_page_lists_every_error(update: bool) -> None:
    if update:
        PAGE.write_text(page())
    assert PAGE.exists() and PAGE.read_text() == page(), "run pytest --update, and read what changed"


def test_no_unknown_code_appears() -> None:
    places = [*ERRORS.rglob("*.case"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "compiler").rglob("*.py")]
    found = {code for place in places for code in re.findall(r"NEEL\d{4}\b", place.read_text())}
    assert sorted(found - set(CATALOGUE)) == []


def test_titles_are_one_line_each_and_differ() -> None:
    assert len(set(CATALOGUE.values())) == len(CATALOGUE)
    assert [
        title for title in CATALOGUE.values() if len(title) > 90 or "\n" in title or title.endswith(".")
    ] == []

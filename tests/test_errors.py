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
WHY = re.compile(r"^# Why: (.*)$", re.MULTILINE)

# The comment of a case that is the example of a code.
SHOWN = "# Shown for {} in docs/reference/errors.md."

# Our own bugs have no query that shows them; tests/cli/test_main.py makes one happen.
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
    """The case that shows a code: one that says so, else one with few errors, a hint and a short query."""
    found: dict[str, list[tuple[bool, int, bool, int, Path]]] = {}
    for path in sorted(path for path in ERRORS.rglob("*.case") if path.name != "wanted.case"):
        case = cases.load(path)
        if isinstance(case.expected, str):
            codes = CODE.findall(case.expected)
            for code in codes:
                chosen, hint = SHOWN.format(code) in case.text, "= hint:" in example(path, code)
                rank = (not chosen, len(codes), not hint, len(case.query.text), path)
                found.setdefault(code, []).append(rank)
    return {code: min(candidates)[-1] for code, candidates in sorted(found.items())}


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
            path = cases_by_code.get(code)
            lines += ["", f"### {code}", "", sentence(CATALOGUE[code], path)]
            if path is not None:
                lines += ["", "```text", *example(path, code).split("\n"), "```"]
    return "\n".join(lines) + "\n"


def sentence(title: str, path: Path | None) -> str:
    """What is wrong, and the rule that the example breaks."""
    why = WHY.search(cases.load(path).text) if path is not None else None
    rule = why[1] if why is not None else "no query shows it; the message asks to report it."
    return f"{title[0].upper()}{title[1:]}. {rule[0].upper()}{rule[1:]}"


def example(path: Path, code: str) -> str:
    """The diagnostic with this code in the case's text."""
    expected = cases.load(path).expected
    assert isinstance(expected, str)
    texts = re.split(r"\n\n(?=error\[)", expected)
    return next(text for text in texts if text.startswith(f"error[{code}]"))


def test_every_case_says_which_rule_is_broken() -> None:
    paths = [path for path in ERRORS.rglob("*.case") if path.name != "wanted.case"]
    assert [path.name for path in paths if not WHY.search(path.read_text())] == []


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

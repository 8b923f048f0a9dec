"""The catalogue of errors, the cases that show them, and the page that lists them say the same."""

from __future__ import annotations

import re
from pathlib import Path

from repository import ROOT

from neelc.errors import CATALOGUE
from neelc.tools import cases

PAGE = ROOT / "docs" / "reference" / "errors.md"
ERRORS = ROOT / "tests" / "cases" / "errors"
LINTS = ROOT / "tests" / "cases" / "lints"
CODE = re.compile(r"(?:error|warning)\[(NEEL\d{4})\]")
WHY = re.compile(r"^# Why: (.*)$", re.MULTILINE)

# The comment of a case that is the example of a code.
SHOWN = "# Shown for {} in docs/reference/errors.md."

# Our own bugs have no query that shows them; tests/cli/test_main.py makes one happen. Neither have failures
# of Spark; tests/spark/test_run.py has some.
WITHOUT_CASE = {
    "NEEL2221": "it is the message of Spark's analysis; tests/spark/test_recognize_on_spark.py has some.",
    "NEEL4002": "by the estimate, which rests on statistics; the message tells it, and how to allow it.",
    "NEEL4090": "the longest statement has 50,000 words and signs; tests/test_bombs.py has some.",
    "NEEL4130": "the message tells what to do; tests/spark/test_api.py has some.",
    "NEEL4131": "the message says what would be kept, and what to add; tests/test_compiled.py has some.",
    "NEEL4132": "the message says which row, and what to return; tests/test_streams.py has some.",
    "NEEL4138": "the message says what cannot be read, and why; tests/test_stream_network.py has some.",
    "NEEL4140": "it is in the schema of the DataFrame; tests/spark/test_streaming_frames.py has some.",
    "NEEL4141": "the message says which; tests/spark/test_streaming_frames.py has some.",
    "NEEL4142": "the message says which; tests/spark/test_streaming_frames.py has some.",
    "NEEL4144": "the message says which, and what to do; tests/test_streams.py has one.",
    "NEEL4150": "the message says what it lacks; Spark runs the query. tests/test_local.py has one.",
    "NEEL4143": "the message says which; tests/spark/test_streaming_frames.py has some.",
    "NEEL4136": "over streams without end only; tests/test_algebra_streams.py has some.",
    "NEEL4134": "of MATCH_RECOGNIZE over a streaming DataFrame; tests/test_row_streams.py has some.",
    "NEEL4135": "of MATCH_RECOGNIZE over a streaming DataFrame; tests/test_row_streams.py has some.",
    "NEEL5070": "±4611686018427387903 is the farthest; tests/spark/test_far_times.py has some.",
    "NEEL5090": "the message has its place and the record; tests/spark/test_stream.py has some.",
    "NEEL5093": "shapely is there where tests run; tests/test_space.py takes it away.",
    "NEEL5091": "the message says what has changed, and the ways out; tests/cli/test_stream.py has some.",
    "NEEL5071": "MATCH_RECOGNIZE orders rows by it; tests/spark/test_row_streams_on_spark.py has one.",
    "NEEL5101": "it is the message of Spark or DuckDB in one line; on a worker, with the part and the key.",
    "NEEL5102": "the message tells which, and what to do; tests/spark/test_ship.py has some.",
    "NEEL5103": "the message tells which, and what to do; tests/spark/test_ship.py has some.",
    "NEEL6131": "in Python, where a stream is a path of Parquet files; `neelc run` has a note instead.",
    "NEEL9001": "no query shows it; the message asks to report it.",
}

TITLES = {
    "1": "Syntax",
    "2": "Names and types",
    "3": "Meaning of patterns",
    "4": "Planning, and what is not supported yet",
    "5": "Data and runs",
    "6": "Warnings",
    "9": "Bugs of neelc",
}


INTRODUCTIONS = {
    "6": "A query with warnings is valid and can be run, but it is probably not what is intended. "
    "`neelc check` shows its warnings, `neelc explain` those of a PATTERN, and `neelc run` prints a line for "
    "each; the exit code stays 0. In Python they are [`NeelWarning`s](api.md#warnings). All but NEEL6131 "
    "follow from the form of the query alone, whatever the events are.",
}


def paths() -> list[Path]:
    """The cases that are about diagnostics."""
    found = sorted((*ERRORS.rglob("*.case"), *LINTS.rglob("*.case")))
    return [path for path in found if path.name != "wanted.case"]


def diagnostics(case: cases.CaseFile) -> str:
    """The errors that a case expects, or the warnings."""
    return case.expected if isinstance(case.expected, str) else case.warnings or ""


def shown() -> dict[str, Path]:
    """The case that shows a code: one that says so, else one with few errors, a hint and a short query."""
    found: dict[str, list[tuple[bool, int, bool, int, Path]]] = {}
    for path in paths():
        case = cases.load(path)
        codes = CODE.findall(diagnostics(case))
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
        "Every error has a code, a position and a sentence, and a hint where possible; "
        "`neelc check --format json` prints them as records.",
        "`pytest --update` writes this page from `compiler/errors.py` and the cases in "
        "`tests/cases/errors/` and `tests/cases/lints/`.",
    ]
    cases_by_code = shown()
    for first, title in TITLES.items():
        codes = [code for code in sorted(CATALOGUE) if code[4] == first]
        if codes:
            lines += ["", f"## {title}", *(("", INTRODUCTIONS[first]) if first in INTRODUCTIONS else ())]
        for code in codes:
            path = cases_by_code.get(code)
            lines += ["", f"### {code}", "", sentence(code, path)]
            if path is not None:
                lines += ["", "```text", *example(path, code).split("\n"), "```"]
    return "\n".join(lines) + "\n"


def sentence(code: str, path: Path | None) -> str:
    """What is wrong, and the rule that the example breaks."""
    title = CATALOGUE[code]
    why = WHY.search(cases.load(path).text) if path is not None else None
    rule = why[1] if why is not None else WITHOUT_CASE[code]
    return f"{title[0].upper()}{title[1:]}. {rule[0].upper()}{rule[1:]}"


def example(path: Path, code: str) -> str:
    """The diagnostic with this code in the case's text."""
    texts = re.split(r"\n\n(?=(?:error|warning)\[)", diagnostics(cases.load(path)))
    return next(text for text in texts if f"[{code}]:" in text.partition("\n")[0])


def test_every_case_says_which_rule_is_broken() -> None:
    assert [path.name for path in paths() if not WHY.search(path.read_text())] == []


def test_every_code_has_a_case() -> None:
    assert sorted(set(CATALOGUE) - set(WITHOUT_CASE) - set(shown())) == []


def test_the_page_lists_every_error(update: bool) -> None:
    if update:
        PAGE.write_text(page())
    assert PAGE.exists() and PAGE.read_text() == page(), "run pytest --update, and read what changed"


def test_no_unknown_code_appears() -> None:
    places = [
        *ERRORS.rglob("*.case"),
        *LINTS.rglob("*.case"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "compiler").rglob("*.py"),
    ]
    found = {code for place in places for code in re.findall(r"NEEL\d{4}\b", place.read_text())}
    assert sorted(found - set(CATALOGUE)) == []


def test_titles_are_one_line_each_and_differ() -> None:
    assert len(set(CATALOGUE.values())) == len(CATALOGUE)
    assert [
        title for title in CATALOGUE.values() if len(title) > 90 or "\n" in title or title.endswith(".")
    ] == []

"""Every sentence of the definition about words between parts, kept matches, THEN BY and functions has a case.

tests/sentences.txt lists the sentences in their order, each with the files that show it. These run on the
reference, the kernels, the local engine and Spark, as all cases do; here, those that can run so are also run
as streams, within a window that is longer than all of their events.
"""

from __future__ import annotations

import re

import pytest
from repository import ROOT
from test_cases_as_streams import WINDOWS, differing, some_ways

from neelc.tools import cases

CASES = ROOT / "tests" / "cases"
TABLE = ROOT / "tests" / "sentences.txt"
DEFINITION = ROOT / "docs" / "reference" / "definition.md"
SECTIONS = ("3.5", "3.6", "3.7", "3.8")
DIRECTORIES = ("following", "kept", "ties")
"""Whose cases are about these sections."""

NOT_AS_STREAMS: dict[str, set[str]] = {
    "following": set(),
    "kept": {
        "aggregates",
        "distinct",
        "one-per-optional",
        "per-key-among-consecutive-events",
        "per-key-among-counted-events",
    },
    "ties": set(),
}
"""The cases that are refused over streams whatever window they have."""


def sentences(text: str, section: str) -> list[str]:
    """The sentences of a section, with the number of it.

    >>> sentences("### 3.5 Words\\nOne\\nsentence.\\n- Two. `... Three`: three.\\n## 4", "3.5")
    ['3.5 One sentence.', '3.5 Two.', '3.5 `... Three`: three.']
    """
    found = re.search(rf"^### {re.escape(section)} [^\n]*\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, section
    paragraphs = re.split(r"\n(?=- )|\n\n", found[1].strip())
    lines = (" ".join(paragraph.removeprefix("- ").split()) for paragraph in paragraphs)
    split = (re.split(r"(?<=[^.]\.)\s+(?=[A-Z`])", line) for line in lines)
    return [f"{section} {sentence}" for several in split for sentence in several]


def table() -> dict[str, list[str]]:
    """The files that show each sentence."""
    found: dict[str, list[str]] = {}
    for line in TABLE.read_text().splitlines():
        if line.startswith(" "):
            list(found.values())[-1].append(line.strip())
        else:
            found[line] = []
    return found


def test_every_sentence_is_in_the_table() -> None:
    text = DEFINITION.read_text()
    assert list(table()) == [one for section in SECTIONS for one in sentences(text, section)]


def test_every_sentence_has_a_case() -> None:
    shown = table()
    assert [sentence for sentence, files in shown.items() if not files] == []
    assert [one for files in shown.values() for one in files if not (CASES / one).is_file()] == []


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_cases_of_a_section_run_as_streams(directory: str) -> None:
    wrong, refused, ran = [], [], 0
    for path in sorted((CASES / directory).glob("*.case")):
        case = cases.load(path)
        diff = differing(case, WINDOWS[0], some_ways(path))
        if diff is None:
            outcome = cases.run_as_stream(case, some_ways(path))
            diff = outcome.diff
            refused += [path.stem] if outcome.refusal else []
        wrong += [f"{path.name}: {diff}"] if diff else []
        ran += 1
    assert wrong == []
    assert set(refused) == NOT_AS_STREAMS[directory] and ran > len(refused)

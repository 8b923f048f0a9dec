"""The warnings about the script of a case."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from neelc.cases.file import Case
from neelc.errors import render_all
from neelc.ir.logical import Program
from neelc.lints import lints

NO_WARNINGS = "no warnings"


def warnings_of(case: Case, program: Program) -> str:
    """The full text of all warnings; spaces at the end of a line would be lost in a file."""
    text = render_all(lints(program, case.query), case.query)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def warning_problems(case: Case, program: Program) -> Iterator[str]:
    """What a case says about warnings and is not so. Without a `warnings` section it says nothing."""
    if case.warnings is None:
        return
    found = warnings_of(case, program)
    if found != case.warnings:
        expected, actual = ((text or NO_WARNINGS).split("\n") for text in (case.warnings, found))
        diff = (line.rstrip() for line in difflib.ndiff(expected, actual) if not line.startswith("?"))
        yield "warnings differ:\n" + "\n".join(diff)


def warnings_section(text: str) -> list[str]:
    """The lines of a section that holds these warnings."""
    return ["warnings", *text.split("\n")] if text else ["warnings none"]

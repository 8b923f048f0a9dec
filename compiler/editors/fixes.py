"""What the hint of a problem says to write, as a change of the text.

A hint is prose. What it proposes is offered only if the text has fewer errors with it: it is tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from neelc.editors.document import Document
from neelc.editors.problems import ERROR, Problem, problems
from neelc.ir.names import written
from neelc.source import Span

_MEANT = re.compile(r"did you mean (?:`(?P<name>[^`]+)`|(?P<word>\w+))\?")
_WRITE = re.compile(r"write (?P<text>[^,;]+?)(?: instead)?(?:$|[,;])")


@dataclass(frozen=True)
class Fix:
    """Write `text` at `span`, and the problem is gone."""

    text: str
    span: Span
    problem: Problem

    @property
    def title(self) -> str:
        return f"write {self.text}"


def fixes(document: Document, asked: Span) -> tuple[Fix, ...]:
    """The changes for the problems in a part of the text.

    >>> text = "CREATE STREAM s (ts BIGINT, price INT) TIMESTAMP BY ts; PATTERN s a WHERE a.prise = 1"
    >>> [(fix.title, fix.span.start) for fix in fixes(Document(text), Span(76, 76))]
    [('write price', 76)]
    """
    found = problems(document)
    errors = _errors(found)
    return tuple(
        fix
        for problem in found
        if problem.diagnostic.span.start <= asked.end and asked.start <= problem.diagnostic.span.end
        for fix in _proposed(problem)
        if _errors(problems(_changed(document, fix))) < errors
    )


def _errors(found: tuple[Problem, ...]) -> int:
    return sum(problem.severity == ERROR for problem in found)


def _changed(document: Document, fix: Fix) -> Document:
    text = document.text[: fix.span.start] + fix.text + document.text[fix.span.end :]
    return replace(document, text=text)


def _proposed(problem: Problem) -> Iterator[Fix]:
    hint = problem.diagnostic.hint or ""
    span = problem.diagnostic.span
    if meant := _MEANT.match(hint):
        yield Fix(written(meant["name"]) if meant["name"] else meant["word"], span, problem)
    if proposed := _WRITE.match(hint):
        yield Fix(proposed["text"], span, problem)

"""Plan files: a query, `----`, and how it is rewritten. `pytest --update` writes what comes out now.

All forms are there, with every step; of the one that cost chooses, tests/explanations has the explanation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from textwrap import indent

import pytest
from repository import ROOT

from neelc import syntax as parse
from neelc.ir.program import Match
from neelc.pattern.rules.batches import SIMPLIFY, UNUSED
from neelc.pattern.rules.driver import FORMS, rewrite
from neelc.pattern.rules.rule import Rewriting
from neelc.program import bind
from neelc.source import Source

PLANS = sorted((ROOT / "tests" / "plans").glob("*.plan"))
LINE = "\n----\n"


def plan_text(script: str) -> str:
    """What becomes of the queries of a script: the logical plan, then each form and the steps to it."""
    source = Source(script)
    program = bind(parse.script(source), source)
    return "\n".join(line for query in program.queries for line in _plan(query.match))


def _plan(match: Match) -> Iterator[str]:
    yield "== logical plan"
    yield str(match).rstrip()
    simple = rewrite(match, (*SIMPLIFY, *UNUSED))
    yield from _rewriting("simplified", simple, match)
    for name, batches in FORMS.items():
        if batches:
            yield from _rewriting(name, rewrite(simple.query, batches), simple.query)


def _rewriting(name: str, rewriting: Rewriting, before: Match) -> Iterator[str]:
    yield f"\n== {name}"
    numbers = count(1)
    for step in rewriting.steps:
        yield f"{next(numbers)}. {step.rule}"
        yield _labelled("before", step.before or before)
        yield _labelled("after", step.after or step.query)
        before = step.query
    for refusal in rewriting.refusals:
        yield f"not done: {refusal.rule}: {refusal.reason}"
        if refusal.part:
            yield _labelled("in", refusal.part)
    yield f"= {rewriting.query.pattern}"


def _labelled(label: str, node: object) -> str:
    text = str(node).rstrip()
    return f"   {label.ljust(7)}{text}" if "\n" not in text else f"   {label}\n{indent(text, '     ')}"


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_plan(path: Path, update: bool) -> None:
    script, _, expected = path.read_text().partition(LINE)
    found = plan_text(script) + "\n"
    if update and found != expected:
        path.write_text(script + LINE + found)
    else:
        assert found == expected, "pytest --update writes what comes out now"

"""Explanations of scripts as tests ask for them."""

from __future__ import annotations

from functools import cache

from pattern_examples import STREAM

from neelc.catalog.statistics.numbers import Statistics
from neelc.explain.explanation import Explanation, Report
from neelc.explain.report import report
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import script


@cache
def explain(text: str, name: str = "script.neel") -> Report:
    """The report on all queries of a script."""
    source = Source(text, name)
    parsed = script(source)
    program = bind(parsed, source)
    return report(name, parsed, program, Statistics(), range(len(program.queries)), source)


def explain_pattern(text: str) -> Explanation:
    """The explanation of `PATTERN text` over a stream of any types."""
    return explain(f"{STREAM}PATTERN {text};").queries[0]

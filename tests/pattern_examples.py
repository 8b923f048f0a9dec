"""What rules do to queries that are written as text: for the examples in their docstrings and for tests."""

from __future__ import annotations

from functools import cache

from neelc.ir.program import Match
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.columns import unit_of
from neelc.pattern.plan.emission import StreamPlan, streamed_pattern
from neelc.pattern.plan.kernel_plan import kernel_plan
from neelc.pattern.rules.driver import rewrite
from neelc.pattern.rules.rule import PartRule, PatternBatch
from neelc.program import bind
from neelc.runtime.program import PatternProgram
from neelc.source import Source
from neelc.syntax import script

STREAM = """CREATE STREAM S (ts BIGINT, kind STRING, id BIGINT, user STRING, x DOUBLE, n INT)
  TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY kind;
"""
"""Point events of any type."""
LASTING = """CREATE STREAM S (ts BIGINT, te BIGINT, kind STRING, id BIGINT, x DOUBLE)
  TIMESTAMP BY ts UNIT MILLISECONDS END BY te TYPE BY kind;
"""
"""Events of any type that may last."""
IMPRECISE = """CREATE STREAM S (lo BIGINT, hi BIGINT, kind STRING, id BIGINT, user STRING, x DOUBLE, n INT)
  TIMESTAMP BETWEEN lo AND hi UNIT MILLISECONDS TYPE BY kind;
"""
"""Events of any type that may have happened at several times."""


@cache
def query(text: str, head: str = STREAM) -> Match:
    """The bound query `PATTERN text` over the stream S of `head`.

    >>> print(query("SEQ(A a, B b) WHERE a.x > 1").pattern)
    SEQ(A a, B b WHERE a.x > 1)
    """
    source = Source(f"{head}PATTERN {text};")
    return bind(script(source), source).queries[-1].match


def after(rule: PartRule, text: str, head: str = STREAM) -> str | None:
    """The pattern of a query after a rule was applied wherever it applies; None when it does not apply."""
    found = rewrite(query(text, head), [PatternBatch(rule.__name__, "an example", parts=(rule,))])
    if found.steps:
        return str(found.query.pattern)
    return "".join(f"refused: {refusal.reason}" for refusal in found.refusals) or None


def imprecise_query(text: str) -> Match:
    """The bound query `PATTERN text` over events with imprecise times."""
    return query(text, IMPRECISE)


def kernel_program(match: Match) -> PatternProgram:
    """The program of a query for the kernel."""
    return kernel_plan(match, partition_keys(match), unit_of(match)).program


def stream_plan(text: str) -> tuple[Match, StreamPlan]:
    """A query, and how it runs over streams."""
    match = query(text)
    planned = kernel_plan(match, partition_keys(match), unit_of(match))
    return match, StreamPlan(planned, streamed_pattern(planned))

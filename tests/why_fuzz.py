"""`make fuzz`: what `neelc why` claims, compared with the reference on random queries and streams.

- A start is reported to have a match exactly if the reference finds a match that starts with it.
- Whatever is reported to match has a match from that start when the reference runs it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

from fuzz_runner import fuzz
from generate.ordered import with_order
from generate.rewritable import sample

from neelc.ir.program import Match
from neelc.runtime.reference import LimitReached, candidates, read
from neelc.runtime.reference.model import Binding, ReferenceEvent, bound_events
from neelc.runtime.reference.worlds import find_matches
from neelc.tools.why.courses import starters
from neelc.tools.why.explaining import StartExplainer
from neelc.tools.why.model import StartExplanation
from neelc.tools.why.questions import AnswerCache, begins, leads

MAX_CANDIDATES = 5_000
"""Queries that need more are left out: they tell no more than smaller ones."""
STREAMS = 2


def starts_with(match: Match, binding: Binding, start: ReferenceEvent) -> bool:
    if match.is_imprecise:
        return leads(binding, start, {name for _, name in starters(match.pattern)})
    return begins(binding, start)


def bindings(match: Match, events: tuple[ReferenceEvent, ...]) -> list[Binding] | None:
    """The matches of a query; None when the reference would need too long."""
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        try:
            # COLLAPSED brings matches of several starts together.
            return [found.binding for found in find_matches(replace(match, collapsed=False), events)]
        except LimitReached:
            return None


def wrong(match: Match, events: tuple[ReferenceEvent, ...], tally: Counter[str]) -> Iterator[str]:
    """The wrong explanations of a query over some events."""
    found = bindings(match, events)
    if found is None:
        return
    matching = {e for one in found for e in bound_events(one) if starts_with(match, one, e)}
    explaining = StartExplainer(match, AnswerCache(events))
    starts = explaining.starts()
    if missing := matching.difference(starts):
        yield f"{missing} start matches, and are no start events"
    for start in starts:
        explanation = explaining.explanation(start, {})
        tally[{True: "matching", False: "not matching", None: "undecided"}[explanation.matches]] += 1
        if explanation.matches is not None and explanation.matches != (start in matching):
            yield f"{start}: reported to have a match: {explanation.matches}"
        yield from wrong_proposals(explanation, start, events, tally)


def wrong_proposals(
    explanation: StartExplanation,
    start: ReferenceEvent,
    events: tuple[ReferenceEvent, ...],
    tally: Counter[str],
) -> Iterator[str]:
    assert explanation.lines, "there is something to say"
    for proposal in explanation.proposals:
        found = bindings(proposal.query, events)
        if found is None:
            continue
        tally["relaxations"] += 1
        if not any(starts_with(proposal.query, one, start) for one in found):
            yield f"{start}: reported to match {proposal.text}"


def check(number: int, tally: Counter[str]) -> list[str]:
    """The wrong explanations of the query with this number, over its streams."""
    random_sample = with_order(sample(number, STREAMS), number)
    match = random_sample.match
    tally["pairs"] += len(random_sample.tables)
    return [
        f"query {number}: {match.pattern} WITHIN {match.within} USING {match.strategy}: {problem}"
        for tables in random_sample.tables
        for problem in wrong(match, tuple(read(match, tables, {})), tally)
    ]


if __name__ == "__main__":
    sys.exit(fuzz(check, "why_fuzz", 2000))

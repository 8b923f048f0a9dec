"""Partial matches of random queries on random streams: the reference against the prefixes run one by one,
and the kernel, by itself and through the bridge, against the reference. A part of `make fuzz`.

    PYTHONPATH=tests .venv/bin/python -m partial_fuzz --queries 1000 --seed 1
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction

from bench.baselines import baseline_plan, iterative, judged_last
from fuzz_runner import fuzz
from generate.partial import HEAD, Query, drawn
from in_bridge import bridge_matches, way
from in_kernel import kernel_matches, planned_for
from invariants import check

from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.rules.driver import forms
from neelc.program import bind
from neelc.runtime.reference import Tables, matches
from neelc.runtime.reference.model import Binding
from neelc.runtime.reference.results import rows_of
from neelc.runtime.reference.worlds import WeighedMatch
from neelc.runtime.values.order import comparable
from neelc.source import Source
from neelc.syntax import script

Rows = Counter[object]


def bound(text: str) -> Match:
    source = Source(f"{HEAD}{text};")
    match = bind(script(source), source).queries[-1].match
    check(match)
    return match


def rows(match: Match, found: Iterable[Binding]) -> Rows:
    """What is returned: of matches that are equal in this, any may be kept."""
    made = rows_of(match, [WeighedMatch(binding, Fraction(1)) for binding in found])
    return Counter(comparable(row.values) for row in made)


def differences(seed: int) -> Iterator[str]:
    """What is wrong with the answers to one query."""
    query, events = drawn(seed)
    tables = {"S": events}
    match = bound(query.text)
    expected = rows(match, matches(match, tables))
    reported = Counter((row[0], row[-4], row[-2]) for row in expected.elements())  # type: ignore[index]
    if reported != Counter(run_one_by_one(query, tables)):
        yield f"query {seed}: {query.text}\n{events}\nthe prefixes tell otherwise"
    for name, form in ((None, match), *((form.name, form.rewriting.query) for form in forms(match))):
        for by, answer in answers(form, tables, seed):
            if answer != expected:
                lost, added = expected - answer, answer - expected
                yield f"query {seed}, {name}, {by}: {query.text}\n{events}\n- {lost}\n+ {added}"


def run_one_by_one(query: Query, tables: Tables) -> Iterator[tuple[object, int, str]]:
    """Of each start how many steps it comes, and why not further: by a query for each question."""
    ends = query.ends
    last = {start: number for number in range(len(ends)) for start in starts(query.prefix(number), tables)}
    reasons = {
        number: [(why, starts(text, tables)) for why, text in query.relaxed(number)]
        for number in range(1, len(ends))
    }
    for start, number in last.items():
        why = next((why for why, found in reasons.get(number + 1, ()) if start in found), "no event")
        yield start, min(number + 1, query.steps), "complete" if number == len(ends) - 1 else why


def starts(text: str, tables: Tables) -> set[object]:
    match = bound(text)
    return {row[0] for row in rows(match, matches(match, tables))}  # type: ignore[index]


def answers(match: Match, tables: Tables, seed: int) -> Iterator[tuple[str, Rows]]:
    yield "the reference", rows(match, matches(match, tables))
    try:
        planned = planned_for(match)
    except UnsupportedQuery:
        return
    for changed in (iterative, judged_last) if match.strategy == SelectionStrategy.ANY_MATCH else ():
        baseline = baseline_plan(match, partition_keys(match), "MILLISECOND", changed, changed is iterative)
        yield changed.__name__, rows(match, kernel_matches(match, tables, planned=baseline))
    yield "the kernel", rows(match, kernel_matches(match, tables, (1, 3, 2_000_000)[seed % 3], planned))
    yield "the bridge", rows(match, bridge_matches(match, tables, way(seed), planned))


def check_query(number: int, seen: Counter[str]) -> Iterator[str]:
    seen["queries"] += 1
    yield from differences(number)


if __name__ == "__main__":
    sys.exit(fuzz(check_query, "partial_fuzz", 1000, "queries"))

"""Random queries that keep some of their matches: the reference in every form of a query, the kernel, by
itself and through the bridge, and streams, against the reference. A part of `make fuzz`; `local_fuzz.py` has
the local engine.

    PYTHONPATH=tests .venv/bin/python -m kept_fuzz --pairs 10000 --seed 1
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice
from unittest.mock import patch

from answers import MAX_CANDIDATES, case_text
from fuzz_runner import fuzz
from generate.kept import kept_beside_others, kept_sample
from generate.rewritable import Sample
from generate.witnesses import Tables
from in_bridge import bridge_matches, way
from in_kernel import kernel_matches, planned_for
from in_stream import arrival, stream_matches
from shrinking import shrunk

from neelc.errors import NeelError
from neelc.ir.program import Match
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.rules.driver import forms
from neelc.runtime.reference import LimitReached, candidates, matches
from neelc.runtime.reference.model import Binding
from neelc.runtime.reference.results import rows_of
from neelc.runtime.reference.worlds import WeighedMatch, find_matches
from neelc.runtime.values.order import comparable

Rows = Counter[object]


def rows(match: Match, found: Iterable[Binding]) -> Rows:
    """What is returned: of matches that are equal in this and in their times, any may be kept."""
    made = rows_of(match, [WeighedMatch(binding, Fraction(1)) for binding in found])
    return Counter(comparable(row.values) for row in made)


def by_reference(match: Match, tables: Tables) -> Rows:
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        return rows(match, matches(match, tables))


def answers(match: Match, tables: Tables, seed: int, seen: Counter[str]) -> Iterator[tuple[str, Rows]]:
    """What the query finds, in each form and each way."""
    written = [("written", match), *((form.name, form.rewriting.query) for form in forms(match))]
    for name, form in written:
        if form is not match:
            yield f"{name}, by the reference", by_reference(form, tables)
        try:
            planned = planned_for(form)
        except UnsupportedQuery as refusal:
            seen[f"refused: {refusal.what.partition('`')[0].strip()[-40:]}"] += 1
            continue
        found = kernel_matches(form, tables, (1, 3, 2_000_000)[seed % 3], planned)
        yield f"{name}, by the kernel", rows(form, found)
        yield f"{name}, by the bridge", rows(form, bridge_matches(form, tables, way(seed), planned))


def streamed_differences(match: Match, tables: Tables, seed: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong if the events come in micro-batches: those that are late take no part."""
    try:
        found = stream_matches(match, tables, arrival(seed), planned_for(match))
    except UnsupportedQuery as refusal:
        seen[f"not over streams: {refusal.what[-40:]}"] += 1
        return
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        expected = rows(match, (one.binding for one in find_matches(match, found.events)))
    answer = rows(match, found.matches)
    seen["streamed"] += 1
    seen["streamed, with matches"] += bool(expected)
    if answer != expected:
        lost, added = dict(expected - answer), dict(answer - expected)
        yield f"over a stream, {arrival(seed)}: lost {lost}, added {added}"


def differences(found: Sample, seed: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with the answers to one query."""
    for number, tables in enumerate(found.tables):
        try:
            expected = by_reference(found.match, tables)
            seen["pairs"] += 1
            seen["with matches"] += bool(expected)
            for by, answer in answers(found.match, tables, seed + number, seen):
                if answer != expected:
                    lost, added = expected - answer, answer - expected
                    yield f"{by}: lost {dict(lost)}, added {dict(added)}\n{case_text(found, tables, by)}"
            for problem in streamed_differences(found.match, tables, seed + number, seen):
                yield f"{problem}\n{case_text(found, tables, 'a stream')}"
        except LimitReached:
            seen["left out as too large"] += 1


def drawn(number: int) -> Sample | None:
    """One query in five keeps matches of each key beside events of other keys."""
    return kept_beside_others(number) if number % 5 == 4 else kept_sample(number)


def check_query(number: int, seen: Counter[str]) -> Iterator[str]:
    found = drawn(number)
    if found is None:
        return
    for problem in differences(found, number, seen):
        small = shrunk(found, lambda smaller: differs(smaller, number))
        told = next(differences(small, number, Counter()), problem)
        yield f"query {number}: {told}"
        return


def check_as_written(number: int, seen: Counter[str]) -> Iterator[str]:
    """The same, without looking for a smaller query that is broken, too."""
    found = drawn(number)
    if found is not None:
        yield from islice(differences(found, number, seen), 1)


def differs(found: Sample, seed: int) -> bool:
    """Whether something is wrong with a sample, which may be no query at all."""
    try:
        return any(True for _ in differences(found, seed, Counter()))
    except NeelError:
        return False


if __name__ == "__main__":
    sys.exit(fuzz(check_query, "kept_fuzz", 10_000, "pairs", until=check_as_written))

"""The kernel for imprecise times compared with the enumeration of possible worlds, on random queries and
streams.

    PYTHONPATH=tests .venv/bin/python -m imprecise_fuzz --queries 1000 --first 5000
    PYTHONPATH=tests .venv/bin/python -m imprecise_fuzz --kind exists --queries 1000

Without a kind, what dynamic programming weighs: sequences, and negations in their gaps.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from random import Random

from fuzz_runner import Check, findings_of, fuzz_parser, outcome, seen_table
from generate import imprecise_worlds
from generate.imprecise import events, query_text
from in_bridge import way
from in_imprecise import Weighed, weighed
from pattern_examples import IMPRECISE, imprecise_query, query

from neelc.errors import NeelError
from neelc.ir.program import Match
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.rules.driver import forms
from neelc.runtime.reference import LimitReached, Tables, read
from neelc.runtime.reference.model import Binding, binding_key
from neelc.runtime.reference.worlds import find_matches

STREAMS = 3
FEW = 6
"""How many events a stream has at most where all worlds of all queries are made."""


class Different(AssertionError):
    """The kernel finds other matches, or other confidences."""


def check_query(number: int, seen: Counter[str], worlds: int = 250) -> None:
    """A random query over some streams; raises `Different`."""
    chance = Random(number)
    seen["queries"] += 1
    with suppress(NeelError):  # not all that parses can be executed
        text = query_text(chance)
        match = imprecise_query(text)
        for place in range(STREAMS):
            with suppress(LimitReached):
                compare(match, {"S": events(chance, text, worlds)}, number * STREAMS + place, seen)


def check_kind(kind: str, number: int, seen: Counter[str], worlds: int = 16) -> None:
    """A random query of a kind that is weighed at all combinations of times; raises `Different`."""
    chance = Random(f"{kind} {number}")
    seen["queries"] += 1
    with suppress(NeelError):
        text, head = drawn(chance, kind)
        match = query(text, head)
        for place in range(STREAMS):
            rows = events(chance, text, worlds, FEW)
            if kind == imprecise_worlds.SHAPED:
                rows = imprecise_worlds.shaped(chance, rows)
            with suppress(LimitReached):
                compare(match, {"S": rows}, number * STREAMS + place, seen)


def drawn(chance: Random, kind: str) -> tuple[str, str]:
    """A query of a kind, and the declaration of its stream."""
    if kind != imprecise_worlds.SHAPED:
        return imprecise_worlds.query_text(chance, kind), IMPRECISE
    text = query_text(chance) if chance.random() < 0.5 else imprecise_worlds.query_text(chance)
    return text, imprecise_worlds.HEAD.format(chance.choice(imprecise_worlds.SHAPES))


def compare(match: Match, tables: Tables, seed: int, seen: Counter[str]) -> None:
    """A query in all its forms, over one stream."""
    expected = {
        key(found.binding, match.collapsed): float(found.confidence)
        for found in find_matches(match, read(match, tables, {}))
    }
    for name, form in ways_to_write(match):
        try:
            found = weighed(form, tables, way(seed))
        except UnsupportedQuery as refusal:
            seen[f"refused: {refusal.what.partition('`')[0]}"] += 1
            continue
        seen["pairs"] += 1
        seen["with matches"] += bool(expected)
        seen["uncertain"] += any(chance < 1 for chance in expected.values())
        if not is_same(found, expected, match.collapsed):
            raise Different(f"{name}: {form}\n{tables}\n{way(seed)}\nfound {found}\nexpected {expected}")


def ways_to_write(match: Match) -> Iterator[tuple[str, Match]]:
    """The query as it is written, and in each form that differs from it."""
    seen = {match}
    yield "written", match
    for form in forms(match):
        if form.rewriting.query not in seen:
            seen.add(form.rewriting.query)
            yield form.name, form.rewriting.query


def key(binding: Binding, collapsed: bool = False) -> object:
    """A binding as a value; rewriting drops variables that are never bound. Of a `collapsed` list the order
    of events with the same times is open."""
    known = {name: value for name, value in binding.items() if value is not None}
    if collapsed:
        known = {name: frozenset(one) if isinstance(one, tuple) else one for name, one in known.items()}
    return binding_key(known)


def is_same(found: Weighed, expected: Mapping[object, float], collapsed: bool = False) -> bool:
    known = {key(binding, collapsed): confidence for binding, confidence in found}
    return (
        len(known) == len(found)
        and known.keys() == expected.keys()
        and all(abs(known[one] - expected[one]) <= 1e-9 for one in known)
    )


def main() -> int:
    parser = fuzz_parser("imprecise_fuzz", 500, "queries")
    parser.add_argument("--kind", choices=(*imprecise_worlds.KINDS, imprecise_worlds.SHAPED))
    options, begin = parser.parse_args(), time.monotonic()
    check: Check = check_query if options.kind is None else partial(check_kind, options.kind)
    findings = findings_of(check, options, "queries")
    return outcome(seen_table(findings.seen, time.monotonic() - begin), findings.broken)


if __name__ == "__main__":
    sys.exit(main())

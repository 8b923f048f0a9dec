"""The kernel for imprecise times compared with the enumeration of possible worlds, on random queries and
streams.

    PYTHONPATH=tests .venv/bin/python -m imprecise_fuzz --queries 1000 --first 5000
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from random import Random

from fuzz_runner import fuzz
from generate.imprecise import events, query_text
from in_bridge import way
from in_imprecise import Weighed, weighed
from pattern_examples import imprecise_query

from neelc.errors import NeelError
from neelc.ir.program import Match
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.rules.driver import forms
from neelc.runtime.reference import LimitReached, Tables, read
from neelc.runtime.reference.model import Binding, binding_key
from neelc.runtime.reference.worlds import find_matches

STREAMS = 3


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


def compare(match: Match, tables: Tables, seed: int, seen: Counter[str]) -> None:
    """A query in all its forms, over one stream."""
    expected = {
        key(found.binding): float(found.confidence) for found in find_matches(match, read(match, tables, {}))
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
        if not is_same(found, expected):
            raise Different(f"{name}: {form}\n{tables}\n{way(seed)}\nfound {found}\nexpected {expected}")


def ways_to_write(match: Match) -> Iterator[tuple[str, Match]]:
    """The query as it is written, and in each form that differs from it."""
    seen = {match}
    yield "written", match
    for form in forms(match):
        if form.rewriting.query not in seen:
            seen.add(form.rewriting.query)
            yield form.name, form.rewriting.query


def key(binding: Binding) -> object:
    """A binding as a value; rewriting drops variables that are never bound."""
    return binding_key({name: value for name, value in binding.items() if value is not None})


def is_same(found: Weighed, expected: Mapping[object, float]) -> bool:
    known = {key(binding): confidence for binding, confidence in found}
    return (
        len(known) == len(found)
        and known.keys() == expected.keys()
        and all(abs(known[one] - expected[one]) <= 1e-9 for one in known)
    )


if __name__ == "__main__":
    sys.exit(fuzz(check_query, "imprecise_fuzz", 500, "queries"))

"""Sets of rules, executed together in one pass, compared with each rule alone on the reference; a part of
`make fuzz`.

    PYTHONPATH=tests python -m rules_fuzz --sets 10000 --seed 1

A set has random queries and variants of them, which have parts in common: with a negation less, another
window, another order, without an event, or with keys that are finer and coarser, also by a hierarchy.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from unittest.mock import patch

from answers import MAX_CANDIDATES
from fuzz_runner import fuzz
from generate.ordered import with_order
from generate.rewritable import Sample, sample
from generate.variants import variants
from in_bridge import way
from in_kernel import as_bindings, planned_for
from in_rules import set_matches

from neelc.ir.expressions import SameAttributes, conjoin, conjuncts
from neelc.ir.names import written
from neelc.ir.patterns import targets
from neelc.ir.program import Column, LevelColumn, Match, Stream
from neelc.ir.types import BIGINT
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan import rule_keys
from neelc.pattern.plan import rule_sets as plans
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.rule_keys import RulePlan
from neelc.runtime.kernels.rules import judging
from neelc.runtime.reference import LimitReached, Tables, candidates, matches


def check_set(number: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with the set of a number."""
    random = Random(number)
    drawn = (sample(number * 20 + place) for place in range(random.randint(1, 9)))
    # All rules of a set order events of the same time, or none.
    found = [with_order(one, number, share=1.1 if number % 5 == 0 else 0.0) for one in drawn]
    found = [one for one in found if {*one.match.streams} <= {*found[0].match.streams}][:4]
    if not found:
        return
    rules = list(planned_rules(found, random, seen))[: random.randint(2, 12)]
    if len(rules) < 2:
        return
    for place, events in enumerate(found[0].tables[:2]):
        tables = {**events, LEVELS.name: levels(random)}
        expected = {rule.name: answer(rule.query, tables) for rule in rules}
        known = [rule for rule in rules if expected[rule.name] is not None]
        if len(known) < 2:
            continue
        how = way(number + place)
        with (
            patch.object(judging, "RANKED", random.choice([1, 3, 24])),
            patch.object(plans, "JUDGED_BY_SPARK", random.choice([0, 62])),
            patch.object(rule_keys, "CANDIDATE", random.choice([0.0, 0.0, rule_keys.CANDIDATE])),
        ):
            sets = plans.rule_sets(known)
            together = {name: rows for one in sets for name, rows in set_matches(one, tables, how).items()}
        trees = [tree for one in sets for tree in one.program.trees]
        joined = [choice for one in sets for choice in one.choices if choice.joins]
        seen["passes joined"] += len(joined)
        seen["passes joined by a level"] += any(LEVEL in choice.coarser for choice in joined)
        seen["trees"] += len(trees)
        seen["rules in trees"] += sum(len(tree.members) for tree in trees)
        seen["tests of values"] += sum(len(role.tests) for one in sets for role in one.program.roles)
        seen["sets"] += 1
        seen["rules"] += len(known)
        seen["rules with matches"] += sum(bool(expected[rule.name]) for rule in known)
        for rule in known:
            if as_bindings(together[rule.name]) != expected[rule.name]:
                others = "\n".join(f"  {one.name}: {one.query.pattern}" for one in known)
                yield f"set {number}, stream {place}, {how}: {rule.name} differs\n{others}"


def answer(query: Match, tables: Tables) -> Counter[object] | None:
    """What the reference finds; None if that takes too long, or the query is none."""
    try:
        with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
            return Counter(dict.fromkeys(as_bindings(matches(query, tables)), 1))
    except LimitReached:
        return None


def planned_rules(found: Sequence[Sample], random: Random, seen: Counter[str]) -> Iterator[RulePlan]:
    """Queries and their variants, in any order, as far as the kernel finds their matches."""
    queries = [query for one in found for query in with_keys(replace(one.match, outputs=()), random)]
    random.shuffle(queries)
    for number, query in enumerate(queries):
        try:
            chunked = random.random() < 0.2
            rule = RulePlan(f"R{number}", query, planned_for(query), partition_keys(query), chunked)
            yield shuffled(rule, random) if random.random() < 0.2 else rule
        except UnsupportedQuery:
            seen["not for the kernel"] += 1


def shuffled(rule: RulePlan, random: Random) -> RulePlan:
    """The rule, taking some of its events first, in any order."""
    names = list(targets(rule.query.pattern))
    return plans.reordered(rule, tuple(random.sample(names, random.randint(1, len(names)))))


def with_keys(query: Match, random: Random) -> Iterator[Match]:
    """Variants of the query; some have more keys."""
    yield from variants(query, random)
    if random.random() < 0.5:
        yield from (keyed(query, names) for names in random.sample(KEYS, 3))


# The same pattern with several keys, one of which may be a level of another.

LEVEL = "level of id"
LEVELS = Stream("Levels", (Column("id", BIGINT), Column("level", BIGINT)), "")
KEYS = (("id",), ("id", "x"), (LEVEL,), (LEVEL, "x"), ("x",))


def levels(random: Random) -> list[dict[str, object]]:
    """A level of some ids; of others it is not known."""
    values = random.choices([1, 2, None], k=6)
    return [{"id": id, "level": value} for id, value in enumerate(values) if random.random() < 0.9]


def keyed(query: Match, names: tuple[str, ...]) -> Match:
    """The query with more attributes that are equal on all events."""
    where = conjoin([*conjuncts(query.pattern.where), SameAttributes(tuple(map(written, names)))])
    found = replace(query, pattern=replace(query.pattern, where=where))
    if LEVEL not in names:
        return found
    column, derived = Column(LEVEL, BIGINT, "id"), LevelColumn(LEVEL, "id", "H", LEVELS, "id", "level")
    streams = (
        replace(one, columns=(*one.columns, column), derived=(*one.derived, derived)) for one in query.streams
    )
    types = (replace(one, columns=(*one.columns, column)) for one in query.types)
    return replace(found, streams=tuple(streams), types=tuple(types))


if __name__ == "__main__":
    sys.exit(fuzz(check_set, "rules_fuzz", 10_000, "sets"))

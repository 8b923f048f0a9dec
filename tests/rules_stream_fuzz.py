"""Sets of rules over streams, compared with each rule alone; a part of `make fuzz`.

    PYTHONPATH=tests python -m rules_stream_fuzz --sets 2000 --seed 1

A set has random queries with windows, and variants of them. Its events come in random micro-batches, out of
order, some of them late; what the kernel keeps is written and read between any two calls. Each rule must give
the matches that the reference finds among the events that were not late, each once; and each in the
micro-batch in which the rule, executed alone over the same stream, gives it.
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
from generate.rewritable import Sample
from in_bridge import as_table
from in_kernel import as_bindings
from in_rule_streams import StreamedSet, stream_set
from in_stream import arrival, calls
from rules_fuzz import LEVELS, levels, planned_rules
from stream_fuzz import drawn

from neelc.pattern.plan import rule_sets as plans
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.emission import streamed_pattern
from neelc.pattern.plan.rule_keys import RulePlan
from neelc.pattern.plan.rule_sets import RuleSetPlan
from neelc.runtime.kernels.pattern_stream import PatternStream
from neelc.runtime.kernels.rules import judging
from neelc.runtime.reference import LimitReached, Tables, candidates
from neelc.runtime.reference.worlds import find_matches
from neelc.tools.cases.streaming.pattern import binding_of, complete, functions_of, numbered


def check_set(number: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with the set of a number."""
    random = Random(number)
    found = samples(number, random)
    if not found:
        return
    rules = [rule for rule in planned_rules(found, random, seen) if can_stream(rule, seen)]
    rules = rules[: random.randint(2, 12)]
    if len(rules) < 2:
        return
    with patch.object(plans, "JUDGED_BY_SPARK", random.choice([0, 62])):
        made = plans.streamed_rule_set(rules, random.random() < 0.8)
    with patch.object(judging, "RANKED", random.choice([1, 3, 24])):
        for place, tables in enumerate(streams_of(found)):
            yield from check(made, rules, tables, number + place, seen)


def samples(number: int, random: Random) -> list[Sample]:
    """Queries over the same streams."""
    found = [one for one in (drawn(number * 20 + place) for place in range(random.randint(1, 9))) if one]
    return [one for one in found if {*one.match.streams} <= {*found[0].match.streams}][:4]


def streams_of(found: Sequence[Sample]) -> list[Tables]:
    """Streams in which one of the queries has matches, as far as they have all that is read."""
    names = {stream.name for stream in found[0].match.streams}
    known = {LEVELS.name: levels(Random(0))}
    return [{**one.tables[0], **known} for one in found if names <= {*one.tables[0]}]


def can_stream(rule: RulePlan, seen: Counter[str]) -> bool:
    try:
        streamed_pattern(rule.planned)
    except UnsupportedQuery:
        seen["not over streams"] += 1
        return False
    return True


def check(
    made: RuleSetPlan, rules: Sequence[RulePlan], tables: Tables, seed: int, seen: Counter[str]
) -> Iterator[str]:
    """What is wrong with a set, made of some of the rules, over a stream."""
    how = arrival(seed)
    if seed % 3 == 0:  # more events are late than where a stream is like most
        how = replace(how, delay=10, slack=seed % 2)
    streamed = stream_set(made, tables, how)
    seen["sets"] += 1
    seen["sets with several keys"] += len(made.parts) > 1
    seen["rules in trees"] += sum(len(tree.members) for tree in made.program.trees)
    seen["tests of values"] += sum(len(role.tests) for role in made.program.roles)
    seen["sets with late events"] += bool(streamed.stream.late)
    bounded = all(one.window is not None or one.single for one in made.timings)
    if bounded and not streamed.memory.is_empty:
        yield f"set {seed}, {how}: {streamed.memory.rows} events are never forgotten"
    for rule in rules:
        what = f"set {seed}, {how}: {rule.name}"
        others = "\n".join(f"  {one.name}: {one.query.pattern} {one.query.strategy}" for one in made.plans)
        for problem in differences(rule, streamed, seen):
            yield f"{what} {problem}\n{others}"


def differences(rule: RulePlan, streamed: StreamedSet, seen: Counter[str]) -> Iterator[str]:
    events = streamed.events([stream.name for stream in rule.query.streams])
    try:
        with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
            reference = [one.binding for one in find_matches(rule.query, events)]
    except LimitReached:
        seen["left out as too large"] += 1
        return
    expected = Counter(dict.fromkeys(as_bindings(reference), 1))
    found = as_bindings(streamed.matches(rule.name))
    seen["rules"] += 1
    seen["rules with matches"] += bool(expected)
    seen["matches"] += expected.total()
    if found != expected:
        lost, added = (expected - found).total(), (found - expected).total()
        yield f"has {lost} matches lost, {added} added"
        return
    for place, (one, other) in enumerate(zip(streamed.calls, alone(rule, streamed), strict=True)):
        if as_bindings(one[rule.name]) != other:
            yield f"does not give the same as alone in micro-batch {place}"
            return


def alone(rule: RulePlan, streamed: StreamedSet) -> Iterator[Counter[object]]:
    """What the rule gives in each micro-batch, if it is executed alone."""
    program = numbered(rule.planned.program)
    every = [*streamed.stream.events, *streamed.stream.more]
    pattern = streamed_pattern(replace(rule.planned, program=program))
    kernel = PatternStream(pattern, functions=functions_of(rule.query))
    table = as_table(rule.planned, program, rule.query, every)
    for rows, _ in calls(kernel, table, streamed.stream.batches):
        yield as_bindings(complete(rule.planned, [binding_of(program, row, every) for row in rows]))


if __name__ == "__main__":
    sys.exit(fuzz(check_set, "rules_stream_fuzz", 2_000, "sets"))

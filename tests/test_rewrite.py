"""Rewriting keeps what queries find: a quick share of `make fuzz`; and the check itself notices mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import mutate
import pytest
import rewriting
from generate.rewritable import Sample, sample
from rewriting import Broken, Tally, check_sample
from shrinking import counter_example

from neelc.ir import patterns as p
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rule import PatternBatch
from neelc.tools import cases

QUERIES = 240
STREAMS = 2


@pytest.fixture(scope="module")
def tally() -> Tally:
    """What was seen on the first few queries of `make fuzz`."""
    seen = Tally()
    for number in range(QUERIES):
        found = sample(1_000_000 + number, STREAMS)
        try:
            check_sample(found, seen)
        except Broken as broken:
            raise counter_example(found, broken) from None
    return seen


@pytest.mark.long
def test_every_step_finds_what_the_query_finds(tally: Tally) -> None:
    assert tally.queries == QUERIES
    assert tally.too_large < QUERIES * STREAMS / 50


@pytest.mark.long
def test_queries_have_matches(tally: Tally) -> None:
    assert tally.with_matches > 0.4 * tally.pairs


@pytest.mark.long
def test_rules_fire(tally: Tally) -> None:
    """Random queries that no rule fires on test nothing. Rare rules may need more queries than these."""
    # `complete_fuzz` draws WHEN COMPLETE: few of these queries have a negation at an end.
    silent = set(rewriting.rules()) - set(tally.fired) - {"when_complete_to_condition"}
    assert len(silent) <= 2, sorted(silent)
    for number in range(QUERIES, 8 * QUERIES):
        if not silent:
            break
        found = rewriting.ways(sample(1_000_000 + number, 1).match, silent)
        silent -= {step.rule for way in found for step in way.rewriting.steps}
    assert sorted(silent) == []


def test_a_sample_depends_on_its_number_only() -> None:
    assert sample(7) == sample(7)
    assert sample(7).script != sample(8).script


def forget_negation(part: p.Pattern, facts: QueryFacts) -> p.Pattern | None:
    """A rule that is wrong: it drops a negation after an event."""
    if not isinstance(part, p.Seq):
        return None
    kept = [inner for inner in part.parts if not isinstance(inner, p.Not)]
    return replace(part, parts=tuple(kept))


def lose_name(part: p.Pattern, facts: QueryFacts) -> p.Pattern | None:
    """A rule that breaks a promise."""
    return replace(part, variable=None) if isinstance(part, p.Event) else None


@pytest.fixture
def wrong_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    rules = {rule.__name__: PatternBatch("x", "y", parts=(rule,)) for rule in (forget_negation, lose_name)}
    monkeypatch.setattr(rewriting, "rules", lambda: rules)
    yield


def first_broken_by(rule: str) -> tuple[Sample, Broken]:
    for number in range(100):
        found = sample(number)
        try:
            check_sample(found, Tally(), [rule])
        except Broken as broken:
            return found, broken
    raise AssertionError("nothing was broken")


def test_a_wrong_rule_is_found_and_the_counter_example_is_small(wrong_rules: None, tmp_path: Path) -> None:
    small = counter_example(*first_broken_by("forget_negation"), ["forget_negation"])
    head, _, text = str(small).partition("\n\n")
    assert re.match(
        r"forget_negation changes what a query finds: .* added \(forget_negation alone, step 1\)\n"
        r"before: SEQ\(.*!.*\).*\nafter:  SEQ\([^!]*\).*\nwhole:  ",
        head,
    ), head
    path = tmp_path / "found.case"
    path.write_text(text)
    case = cases.load(path)
    assert cases.run_case(case).passed, "the report is a case to keep"
    assert sum(len(events.table) for events in case.events) <= 3
    assert len(case.query.text) < 200


def test_a_broken_promise_names_the_rule(wrong_rules: None) -> None:
    _, broken = first_broken_by("lose_name")
    assert broken.rule == "lose_name"
    assert "lose_name breaks a promise of the plan: every Event that is not repeated has a variable" in str(
        broken
    )


@pytest.mark.parametrize(
    "mutation", list(mutate.mutations()), ids=lambda mutation: f"{mutation.rule}: {mutation.guard}"
)
def test_a_guard_that_is_to_be_broken_is_there(mutation: mutate.Mutation) -> None:
    assert mutate.problem(mutation) is None

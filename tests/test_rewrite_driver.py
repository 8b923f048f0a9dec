"""The driver of the rewriter, with toy rules: order, fixpoint, steps, refusals, rules without an end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import product

import pytest
from generate.rewritable import sample
from pattern_examples import query

from neelc.ir.patterns import And, Event, Or, Pattern, Seq, all_parts
from neelc.ir.program import Match
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.batches import OPERATORS_IN
from neelc.pattern.rules.driver import forms, operators_in, rewrite
from neelc.pattern.rules.rule import PatternBatch, RefusalReason, Rewriting
from neelc.rewriting import RuleLoop


def drop_last(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """Lists lose parts until there are two."""
    return replace(part, parts=part.parts[:-1]) if isinstance(part, Seq | And) and part.parts[2:] else None


def seq_to_and(part: Pattern, facts: QueryFacts) -> Pattern | None:
    return And(part.parts) if isinstance(part, Seq) else None


def and_to_seq(part: Pattern, facts: QueryFacts) -> Pattern | None:
    return Seq(part.parts) if isinstance(part, And) else None


def keep_disjunction(part: Pattern, facts: QueryFacts) -> Pattern | RefusalReason | None:
    return RefusalReason("it is dear to us") if isinstance(part, Or) else None


def to_distinct(match: Match) -> Match | None:
    return None if match.distinct else replace(match, distinct=True)


def to_plain(match: Match) -> Match | None:
    return replace(match, distinct=False) if match.distinct else None


def done(text: str, *batches: PatternBatch) -> Rewriting:
    return rewrite(query(text), batches)


def steps_of(rewriting: Rewriting) -> list[tuple[str, str, str]]:
    return [(step.rule, str(step.before), str(step.after)) for step in rewriting.steps]


def test_innermost_parts_come_first_and_each_is_done_before_the_next() -> None:
    found = done("SEQ(A a, AND(B b, C c, D d, E e), F f)", PatternBatch("x", "y", parts=(drop_last,)))
    assert steps_of(found) == [
        ("drop_last", "AND(B b, C c, D d, E e)", "AND(B b, C c, D d)"),
        ("drop_last", "AND(B b, C c, D d)", "AND(B b, C c)"),
        ("drop_last", "SEQ(A a, AND(B b, C c), F f)", "SEQ(A a, AND(B b, C c))"),
    ]


def test_a_step_holds_the_whole_query_after_it() -> None:
    found = done("SEQ(A a, AND(B b, C c, D d), F f)", PatternBatch("x", "y", parts=(drop_last,)))
    assert [str(step.query.pattern) for step in found.steps] == [
        "SEQ(A a, AND(B b, C c), F f)",
        "SEQ(A a, AND(B b, C c))",
    ]
    assert found.query == found.steps[-1].query


def test_of_two_rules_the_first_one_is_tried_first() -> None:
    text = "SEQ(A a, B b, C c)"
    assert [s.rule for s in done(text, PatternBatch("x", "y", parts=(drop_last, seq_to_and))).steps] == [
        "drop_last",
        "seq_to_and",
    ]
    assert [s.rule for s in done(text, PatternBatch("x", "y", parts=(seq_to_and, drop_last))).steps] == [
        "seq_to_and",
        "drop_last",
    ]


def test_rules_on_the_query_run_after_those_on_its_parts() -> None:
    found = done("SEQ(A a, B b)", PatternBatch("x", "y", parts=(seq_to_and,), wholes=(to_distinct,)))
    assert steps_of(found) == [
        ("seq_to_and", "SEQ(A a, B b)", "AND(A a, B b)"),
        ("to_distinct", "None", "None"),
    ]
    assert found.query.distinct


def test_batches_run_one_after_the_other() -> None:
    found = done(
        "SEQ(A a, B b)",
        PatternBatch("x", "y", parts=(seq_to_and,)),
        PatternBatch("z", "y", parts=(and_to_seq,)),
    )
    assert [step.rule for step in found.steps] == ["seq_to_and", "and_to_seq"]
    assert found.query == query("SEQ(A a, B b)")


def test_what_no_rule_changes_is_the_same_object() -> None:
    match = query("SEQ(A a, B b)")
    found = rewrite(match, [PatternBatch("x", "y", parts=(and_to_seq,), wholes=(to_plain,))])
    assert found.query is match and found.steps == () and found.refusals == ()


def test_a_change_to_an_equal_part_is_no_step() -> None:
    def copy(part: Pattern, facts: QueryFacts) -> Pattern | None:
        return replace(part) if isinstance(part, Event) else None

    assert done("SEQ(A a, B b)", PatternBatch("x", "y", parts=(copy,))).steps == ()


def test_refusals_are_told_once_with_what_the_rule_looked_at() -> None:
    batch = PatternBatch("x", "y", parts=(keep_disjunction, drop_last))
    found = done("SEQ(A a, OR(B b, C c), D d)", batch, batch)
    assert [(r.rule, r.reason, str(r.part)) for r in found.refusals] == [
        ("keep_disjunction", "it is dear to us", "OR(B b, C c)")
    ]


def test_a_refusal_of_what_is_no_longer_there_is_not_told() -> None:
    batch = PatternBatch("x", "y", parts=(keep_disjunction, drop_last))
    assert done("SEQ(A a, D d, OR(B b, C c))", batch).refusals == ()


def test_facts_are_about_the_query_as_it_stands() -> None:
    seen: list[str] = []

    def look(part: Pattern, facts: QueryFacts) -> Pattern | None:
        if isinstance(part, Seq):
            seen.append(str(facts.query.pattern))
        return None

    done("SEQ(A a, AND(B b, C c, D d))", PatternBatch("x", "y", parts=(drop_last, look)))
    assert set(seen) == {"SEQ(A a, AND(B b, C c))"}


@pytest.mark.parametrize(
    "batch",
    [
        PatternBatch("forth and back", "y", parts=(seq_to_and, and_to_seq), most=7),
        PatternBatch("forth and back", "y", wholes=(to_distinct, to_plain), most=7),
    ],
    ids=["on parts", "on queries"],
)
def test_rules_that_undo_each_other_are_an_error(batch: PatternBatch) -> None:
    with pytest.raises(
        RuleLoop, match=r"batch forth and back came to no end in 7 passes; the last rules were "
    ):
        done("SEQ(A a, B b)", batch)


def test_a_rule_that_grows_without_end_is_an_error() -> None:
    def grow(part: Pattern, facts: QueryFacts) -> Pattern | None:
        return Seq((part,)) if isinstance(part, Event) else None

    def grow_more(part: Pattern, facts: QueryFacts) -> Pattern | None:
        return Seq((part,)) if isinstance(part, Seq) else None

    with pytest.raises(RuleLoop):
        done("SEQ(A a, B b)", PatternBatch("x", "y", parts=(grow, grow_more), most=20))


def test_rules_that_are_not_tried_would_not_fire() -> None:
    skipped: Counter[str] = Counter()
    for match in (sample(number).match for number in range(150)):
        seen = (match, *(step.query for form in forms(match) for step in form.rewriting.steps))
        for one in seen:
            facts = QueryFacts(partial(replace, one))
            for part, (rule, operators) in product(all_parts(one.pattern), OPERATORS_IN.items()):
                if not operators_in(part).issuperset(operators):
                    skipped[rule.__name__] += 1
                    assert rule(part, facts) is None, f"{rule.__name__} on {part}"
    assert set(skipped) == {rule.__name__ for rule in OPERATORS_IN}

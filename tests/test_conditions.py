"""Conditions mean what they meant, before and after rules: tricky ones, random ones, and what Spark knows.

A condition may change its value where that is UNKNOWN or FALSE, never where it is TRUE or becomes so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest
from expressions import ROWS, check, context
from generate import streams
from generate.conditions import Seen, comparisons, conditions, number, terms, together
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from pattern_examples import query as parsed_query

from neelc.errors import NeelError
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import conjuncts
from neelc.ir.node import Node, transform, walk
from neelc.ir.program import Match
from neelc.ir.script import PatternQuery
from neelc.ir.types import DOUBLE
from neelc.pattern.analysis import regions as judging
from neelc.pattern.analysis import truth
from neelc.pattern.analysis import truth as claims
from neelc.pattern.analysis import truth as contradiction
from neelc.pattern.analysis import truth as order_of_values
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.analysis.truth import always, contradict
from neelc.pattern.rules import find_contradiction, simplify_condition
from neelc.pattern.rules.driver import rewrite
from neelc.pattern.rules.fold_constants import fold_constants
from neelc.pattern.rules.rule import PatternBatch
from neelc.program import bind
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Binding, ReferenceEvent
from neelc.runtime.reference.question import conditions as reference_conditions
from neelc.runtime.reference.question import holds
from neelc.scalar.evaluate_constants import FALSE, TRUE, UNKNOWN, as_literal, folded
from neelc.scalar.signatures import SCALARS
from neelc.scalar.type_of import type_of
from neelc.source import Source
from neelc.syntax.printer import format_script

LINES = (Path(__file__).parent / "spark" / "expressions.txt").read_text().splitlines()
TEXTS = [line.lstrip("!@ ").partition(" => ")[0] for line in LINES if line and not re.match("#|@?\\?", line)]


@pytest.mark.parametrize("row", range(3))
def test_folding_keeps_values_and_types(row: int) -> None:
    """Each expression that is compared with Spark, as it is and with constants for the event's attributes."""

    def constant(node: Node) -> Node | None:
        if isinstance(node, e.Attribute) and node.event == e.Variable("a"):
            return as_literal(ROWS[row][node.name], node.type)
        return None

    for text in TEXTS:
        found = check(text).expression
        with_constants = transform(found, constant)
        assert isinstance(with_constants, e.Expr)
        for expression in (found, with_constants):
            for changed in (folded(expression), truth.simpler(expression), truth.simpler(folded(expression))):
                assert type_of(changed) == type_of(expression), text
                assert repr(evaluate(changed, context(row))) == repr(evaluate(expression, context(row))), text


def test_no_function_depends_on_more_than_its_arguments() -> None:
    """What does must never be folded: `is_constant` would have to know it."""
    names = {line.partition("(")[0] for line in SCALARS.split("\n")}
    assert not [
        name for name in names if re.match("rand|now|current|uuid|shuffle|monotonic|input_file", name)
    ]


# Random conditions on SEQ(A a, B b[], C? c), and random events for them: `c` may be absent, `b` empty.

A, B, C = Seen("a"), Seen("b", True), Seen("c")
_CONSTANTS: SearchStrategy[e.Expr] = st.integers(0, 3).map(number) | st.just(UNKNOWN)


@st.composite
def larger(draw: DrawFn, inner: SearchStrategy[e.Expr]) -> e.Expr:
    """A condition made of others, or of one term and constants."""
    term = draw(terms(draw(st.sampled_from([A, B, C]))))
    operands = tuple(draw(st.lists(inner, min_size=2, max_size=3)))
    inverse = draw(st.booleans())
    match draw(st.integers(0, 7)):
        case 0:
            return e.Conjunction(operands)
        case 1 | 2:
            return e.Disjunction(operands)
        case 3:
            return e.Negation(operands[0])
        case 4:
            return e.IsTruth(operands[0], draw(st.sampled_from([True, False, None])), inverse)
        case 5:
            return e.InList(term, tuple(draw(st.lists(_CONSTANTS, min_size=1, max_size=3))), inverse)
        case 6:
            return e.Between(term, draw(_CONSTANTS), draw(_CONSTANTS), inverse)
    other = draw(st.sampled_from([term, draw(_CONSTANTS), draw(terms(A))]))
    op = draw(st.sampled_from(e.COMPARISONS))
    return e.IsDistinct(term, other, inverse) if draw(st.booleans()) else e.Binary(op, term, other)


SIMPLE: SearchStrategy[e.Expr] = st.one_of(
    st.sampled_from([A, B, C]).flatmap(lambda first: conditions(first, [A, B, C])),
    st.sampled_from([A, C]).flatmap(lambda first: comparisons(first, [A])),
    st.sampled_from([TRUE, FALSE, UNKNOWN]),
)
CONDITIONS = st.recursive(SIMPLE, larger, max_leaves=4)
LEAST = st.sampled_from([0, 1, 2])
VALUES: SearchStrategy[object] = st.sampled_from([0, 1, 2, 3, None])


@st.composite
def queries(draw: DrawFn) -> Match:
    """A bound query with random conditions; those that the binder refuses, as they range over two lists, do
    not count."""
    parts = (p.Event("A", "a"), p.Repeat(p.Event("B"), draw(LEAST), None, "b"), p.Optional(p.Event("C", "c")))
    where = together(draw(st.lists(CONDITIONS, min_size=1, max_size=3)))
    script = streams.script_of(PatternQuery(p.Seq(parts), where=where))
    try:
        return bind(script, Source(format_script(script))).queries[0].match
    except NeelError:
        return draw(queries())


@st.composite
def bindings(draw: DrawFn, query: Match) -> Binding:
    """Events for the variables of a query, in the order of the SEQ."""
    assert isinstance(query.pattern, p.Seq) and isinstance(query.pattern.parts[1], p.Repeat)
    least = query.pattern.parts[1].least
    times = iter(range(9))

    def event() -> ReferenceEvent:
        time = next(times)
        return ReferenceEvent(
            "S", time, "A", time, time, {"x": draw(VALUES), "id": draw(VALUES)}, (time, time)
        )

    first = event()
    elements = tuple(event() for _ in range(draw(st.integers(least, least + 2))))
    return {"a": first, "b": elements, "c": event() if draw(st.booleans()) else None}


@st.composite
def judgements(draw: DrawFn) -> tuple[Match, Sequence[Binding]]:
    query = draw(queries())
    return query, draw(st.lists(bindings(query), min_size=3, max_size=6))


RULES = (fold_constants, simplify_condition.simplify_condition, find_contradiction.find_contradiction)


def is_true(where: e.Expr | None, binding: Binding) -> bool:
    return all(holds(condition, binding) for condition in reference_conditions(where))


def is_kept(judgement: tuple[Match, Sequence[Binding]]) -> bool:
    """Whether the condition is TRUE for the same events after each step."""
    query, events = judgement
    steps = rewrite(query, [PatternBatch("conditions", "under test", parts=RULES)]).steps
    wheres = [query.pattern.where, *(step.query.pattern.where for step in steps)]
    return all(len({is_true(where, binding) for where in wheres}) == 1 for binding in events)


@settings(max_examples=120)
@given(judgements())
def test_conditions_are_true_for_the_same_events(judgement: tuple[Match, Sequence[Binding]]) -> None:
    assert is_kept(judgement)


@settings(max_examples=60)
@given(judgements())
def test_what_is_always_true_or_never_is(judgement: tuple[Match, Sequence[Binding]]) -> None:
    query, events = judgement
    for conjunct in conjuncts(query.pattern.where):
        expected = always(conjunct, query.pattern, QueryFacts(lambda: query))
        assert expected is None or all(is_true(conjunct, binding) is expected for binding in events)


# Conditions in which some law matters, each checked on all small choices of events.
TRICKY = """
NOT a.x > 1
NOT (a.x > 1 OR c.x IS NULL)
NOT a.x = NULL
NOT a.x < a.x
NOT (a.x IN (1, NULL) AND c.x > 0)
a.x = a.x
a.x <=> NULL
a.x NOT IN (1, NULL)
(a.x > 1) IS NOT TRUE
(a.x > 1) IS TRUE AND (c.x > 1) IS UNKNOWN
a.x > 1 OR NOT a.x > 1
a.x > CAST('Infinity' AS DOUBLE)
a.x > 0 AND a.x < 1
a.x < c.x AND c.x <= a.x
a.x IS NULL AND c.x + a.x > 0
a.x IS NULL OR a.x < 1 AND a.x > 0
c.x > 1 AND c.x < 1 OR a.x = 2
(a.x <=> c.x) = (a.n IS NULL) AND a.x IS NULL
b[i].x <> b[i].x
b[i].x > 1 AND b[i].x < 1
b[i].x > b[i-1].x AND b[i].x < b[i-1].x
NOT (b[i].x <= 1 OR b[i-1].x <= 1)
b[i].x > b[i-1].x OR TRUE
count(b[]) > 0 AND count(b[]) < 1
b[1].x > 1 AND b[1].x IS NULL
b[2].x IS NULL AND b[last].x > 1
a.ts IS NULL OR c.ts <= a.ts
c.ts IS NULL AND a.ts IS NOT NULL
""".strip().splitlines()


def event(place: int, x: float | None) -> ReferenceEvent:
    return ReferenceEvent("S", place, "A", place, place, {"ts": place, "x": x, "n": None}, (place, place))


def small_choices() -> list[Binding]:
    lists = [xs for length in range(3) for xs in product((0.0, 2.0, None), repeat=length)]
    return [
        {"a": event(0, x), "b": tuple(map(event, (1, 2), xs)), "c": None if y == 9 else event(3, y)}
        for x, xs, y in product((0.0, 1.0, 2.0, math.nan, None), lists, (0.0, 2.0, None, 9))
    ]


def is_kept_in_small(text: str) -> bool:
    """Whether a tricky condition is TRUE for the same small choices of events after each step."""
    choices = small_choices()
    kept = is_kept((parsed_query(f"SEQ(A a, B* b[], C? c) WHERE {text}"), choices))
    return kept and is_kept(
        (parsed_query(f"SEQ(A a, B+ b[], C? c) WHERE {text}"), [c for c in choices if c["b"]])
    )


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_conditions_are_true_for_the_same_events(text: str) -> None:
    assert is_kept_in_small(text)


CLAIMS = claims.claims  # a test below replaces it


def first(condition: e.Expr) -> Iterator[claims.Claim]:
    return CLAIMS(condition.operands[0] if isinstance(condition, e.Disjunction) else condition)


NO_RANGE = (None, 0)
BROKEN: dict[str, tuple[object, str, object]] = {
    "NOT > is <": (truth, "OPPOSITE", {**truth.OPPOSITE, ">": "<"}),
    "UNKNOWN is FALSE": (truth, "UNKNOWN", FALSE),
    "NULL has an order": (truth, "OPPOSITE", {**truth.OPPOSITE, "<=>": "<>"}),
    "any conjunct may lose its i": (judging, "range_of", lambda conjunct: NO_RANGE),
    "what is FALSE for an element is FALSE": (simplify_condition, "range_of", lambda conjunct: NO_RANGE),
    "all lists have elements": (find_contradiction, "range_of", lambda conjunct: NO_RANGE),
    "OR is its first operand": (contradiction, "claims", first),
    "no number is greater than infinity": (order_of_values, "_ENDS", {DOUBLE: (-math.inf, math.inf)}),
    "what is compared is there": (contradiction, "_needed", walk),
    "SEQ has no absent parts": (find_contradiction, "contradict", lambda c, order: contradict(c, order)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_law_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, attribute, value = BROKEN[name]
    monkeypatch.setattr(module, attribute, value)
    assert not all(map(is_kept_in_small, TRICKY))

"""Lists of events and all their parts: what holds for them, as the reference interpreter judges it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import combinations, product
from math import inf, nan

from hypothesis import strategies as st

from neelc import syntax as parse
from neelc.ir import expressions as e
from neelc.ir.expressions import conjuncts
from neelc.ir.patterns import Pattern
from neelc.pattern.plan.consistency import Claim, Consistency, ListPlaces, shapes
from neelc.program import bind
from neelc.runtime.reference.evaluate import evaluate, one_by_one
from neelc.runtime.reference.model import Binding, EvaluationContext, ReferenceEvent
from neelc.runtime.reference.question import ReferenceCondition, condition, holds, holds_at, places_of
from neelc.source import Source

STREAM = """CREATE STREAM S (ts BIGINT, kind STRING, x DOUBLE, n INT, l BIGINT, f FLOAT, m DECIMAL(20, 2),
  w DECIMAL(38, 0), s STRING, ok BOOLEAN) TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY kind;
"""


@cache
def pattern(text: str) -> Pattern:
    """The pattern that the conditions of these tests are about, with the condition `text`."""
    source = Source(f"{STREAM}PATTERN SEQ(A a, B+ b[], C* c[], D d) WHERE {text} WITHIN 100;")
    return bind(parse.script(source), source).queries[-1].match.pattern


# Values among which small differences, order, signs, rounding and overflow all matter.
VALUES: dict[str, tuple[object, ...]] = {
    "x": (None, nan, inf, -inf, -0.0, 0.0, 0.1, 1.0, 3.0, 7.5, -2.0, 1e308, -40.0, 120.0, 2.0**53),
    "n": (None, 0, 1, 2, 4, -1, -3, 50, 2**31 - 1, -(2**31)),
    "l": (None, 0, 3, -2, 2**63 - 1, -(2**63)),
    "f": (None, nan, 0.0, 1.5, -3.0),
    "m": (None, *map(Decimal, ("0.00", "1.50", "-3.25", "9" * 18 + ".99"))),
    "w": (None, Decimal(0), Decimal(7), Decimal("9" * 38)),
    "s": (None, "", "u", "vv"),
    "ok": (None, True, False),
}


def bindings(chance: random.Random) -> Binding:
    """A match: two events and two lists, of which the second may be empty."""

    def event(row: int) -> ReferenceEvent:
        # Few values for each list: equal ones, and lists without NULL, must not be rare.
        attributes = {name: chance.choice(values) for name, values in few.items()}
        return ReferenceEvent("S", row, "B", row, row, {"ts": row, **attributes}, (row, row))

    few = {name: chance.choices(values, k=chance.randint(1, 4)) for name, values in VALUES.items()}
    b = tuple(event(row) for row in range(10, 10 + chance.randint(1, 4)))
    c = tuple(event(row) for row in range(20, 20 + chance.randint(0, 2)))
    return {"a": event(1), "b": b, "c": c, "d": event(30)}


def filtered(binding: Binding, where: e.Expr | None) -> Binding | None:
    """Without the elements for which a condition about each element fails: they are discarded first. None if
    nothing remains."""
    for conjunct in conjuncts(where):
        reference = condition(conjunct)
        if [shape for _, shape in shapes(conjunct)] == [ListPlaces.ELEMENT] and isinstance(
            reference.ranged, e.Variable
        ):
            name = reference.ranged.name
            members = binding[name]
            assert isinstance(members, tuple)
            kept = [event for place, event in enumerate(members) if holds_at(reference, binding, place)]
            binding = {**binding, name: tuple(kept)}
    return binding if binding["b"] else None


@dataclass(frozen=True)
class Part:
    """A binding with a part of each list, where element i is now, and whether the condition holds."""

    binding: Binding
    place: int | None
    holds: bool


def parts(reference: ReferenceCondition, binding: Binding, place: int | None) -> Iterator[Part]:
    """Every part of the lists that has the element at `place` in it; of b, none that is empty."""
    members = {
        name: list_ for name, list_ in binding.items() if isinstance(list_, tuple) and name in reference.names
    }
    name = reference.ranged.name if isinstance(reference.ranged, e.Variable) else None
    kept = None if name is None or place is None else members[name][place]
    for choice in product(*(sublists(list_) for list_ in members.values())):
        smaller = {**binding, **dict(zip(members, choice, strict=True))}
        mine = smaller.get(name or "")
        if not smaller["b"] or (kept is not None and (not isinstance(mine, tuple) or kept not in mine)):
            continue
        now = mine.index(kept) if isinstance(mine, tuple) and kept is not None else None
        yield Part(smaller, now, holds_at(reference, smaller, now))


def sublists(members: tuple[object, ...]) -> list[tuple[object, ...]]:
    return [part for size in range(len(members) + 1) for part in combinations(members, size)]


def is_met(claim: Claim, binding: Binding, place: int | None) -> bool:
    """Whether a claim is made for these lists: nothing in its proviso is NULL."""
    context = EvaluationContext(binding, place)
    return claim is not None and all(
        evaluate(one, context) is not None for element in claim for one in one_by_one(element, context)
    )


def violations(claimed: Consistency, binding: Binding) -> Iterator[str]:
    """Which claims a binding disproves; "not ..." if the claim is not made, or not for this binding."""
    reference = condition(claimed.condition)
    for place in places_of(reference, binding):
        whole = holds_at(reference, binding, place)
        for part in parts(reference, binding, place):
            if whole and not part.holds:
                yield f"true: {place} {part}" if is_met(claimed.true, binding, place) else "not true"
            if part.holds and not whole:
                yield f"false: {place} {part}" if is_met(claimed.false, binding, place) else "not false"
                if (part.place or 0) >= claimed.lag and is_met(claimed.false_later, binding, place):
                    yield f"later: {place} {part}"
    if claimed.is_adjacent and holds(reference, binding):
        for part in parts(reference, binding, None):
            if not holds(reference, part.binding):
                yield f"transitive: {part}" if claimed.is_transitive else "not transitive"


RANGES = st.sampled_from(
    "b[] b[] b[] b[..i-1] b[..i-1] b[..i] b[..i-2] b[..last] b[..last-1] b[..2] c[]".split()
)
LISTED = st.sampled_from("max max min min sum sum avg first last stddev_pop count".split())
ARGUMENTS = st.sampled_from(
    """{0}.x|{0}.x|{0}.n|{0}.l|{0}.f|{0}.m|{0}.w|{0}.ok|{0}.s|abs({0}.x)|abs({0}.n)|abs({0}.l)|-abs({0}.n)
    |abs({0}.m)|abs({0}.w)|length({0}.s)|abs({0}.x) + abs({0}.n)|abs({0}.x * {0}.n)|{0}.x + b[i].x|{0}.x * 2
    |CAST({0}.x AS INT)|abs({0}.f) / 3|1|-2|{0}.ts|{0}.x > 1|abs({0}.x - b[i-1].x)""".split("|")
)
SINGLE = st.sampled_from("5 -1 0 100 2.5 a.x a.n d.x d.m b[i].x b[i].n b[i].f b[i].x*a.x a.ok b[i].s".split())
PLACES = st.sampled_from("b[i-1].x b[i-1].n b[1].x b[last].x b[2].n b[i-2].x b[last-1].n count(c[])".split())
STEPS = st.sampled_from(
    "{0} + 1|{0} - 2.5|{0} * 2|{0} / 3|-{0}|2 - {0}|{0} * -1|abs({0})|{0} + a.x".split("|")
)


def _aggregates(draw: st.DrawFn) -> str:
    distinct = "DISTINCT " if draw(st.integers(0, 5)) == 0 else ""
    return f"{draw(LISTED)}({distinct}{draw(ARGUMENTS).strip().format(draw(RANGES))})"


@st.composite
def values(draw: st.DrawFn) -> str:
    """A value, as text, which need not have a type that fits."""
    found = draw(st.sampled_from((_aggregates, _aggregates, lambda d: d(SINGLE), lambda d: d(PLACES))))(draw)
    return f"({draw(STEPS).format(found)})" if draw(st.integers(0, 3)) == 0 else found


FORMS = st.sampled_from(
    """{0} < {1}|{0} <= {1}|{0} > {1}|{0} >= {1}|{0} = {1}|{0} <> {1}|{0} <=> {1}|{0} BETWEEN {1} AND {2}
    |{0} NOT BETWEEN {1} AND {2}|{0} IS NULL|{0} IS NOT NULL|{0} IN ({1}, {2})|{3}({4}.ok)|{3}({4}.x > 1)
    |NOT {3}({4}.ok)|b[i].x {5} b[i-1].x|b[i].n {5} b[i-1].n + {6}|b[i-1].x - {6} {5} b[i].x""".split("|")
)
OPERATORS = st.sampled_from("< <= > >= = <> <=>".split())
LOGIC = st.sampled_from("every some bool_and bool_or any".split())


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    sides = (draw(values()), draw(st.one_of(SINGLE, values())), draw(SINGLE))
    rest = (draw(LOGIC), draw(RANGES), draw(OPERATORS), draw(st.integers(-2, 2)))
    return f"({draw(FORMS).strip().format(*sides, *rest)})"


def conditions() -> st.SearchStrategy[str]:
    """Conditions as text."""
    return st.recursive(
        comparisons(),
        lambda inner: st.one_of(
            inner.map(lambda one: f"(NOT {one})"),
            st.tuples(inner, st.sampled_from(("AND", "OR")), inner).map(lambda parts: f"({' '.join(parts)})"),
            st.tuples(inner, st.sampled_from(("TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN"))).map(
                lambda parts: f"({parts[0]} IS {parts[1]})"
            ),
        ),
        max_leaves=3,
    )

"""Conditions that name the variables of a pattern as the language allows: `a.x`, `b[i].x`, `k[last].a.x`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.allen import ALLEN
from neelc.ir.types import INT


@dataclass(frozen=True)
class Seen:
    """A variable that a condition may name; `inner` are those of a composite closure's body."""

    name: str
    is_list: bool = False
    inner: tuple[Seen, ...] = ()


def seen_in(node: p.Pattern) -> tuple[Seen, ...]:
    """The variables of `node` that can be named from outside it, once all have names."""
    return tuple(_seen(node))


def _seen(node: p.Pattern) -> Iterator[Seen]:
    match node:
        case p.Event(_, str() as name):
            yield Seen(name)
        case p.Repeat(p.Event(_, None), variable=str() as name):
            yield Seen(name, True)
        case p.Repeat(part, variable=str() as name):
            yield Seen(name, True, seen_in(part))
        case p.Exists(dropped, part):
            yield from (variable for variable in _seen(part) if variable.name not in dropped)
        case p.Optional(part):
            yield from _seen(part)
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts) | p.Or(parts):
            for part in parts:
                yield from _seen(part)


def number(value: int) -> e.Literal:
    return e.Literal(value, INT)


LAST, CURRENT = e.Name(("last",)), e.Name(("i",))
BEFORE = e.Binary("-", CURRENT, number(1))
_PLACES: SearchStrategy[e.Expr] = st.sampled_from(
    [number(1), LAST, e.Binary("-", LAST, number(1)), number(2)]
)
_ATTRIBUTES = st.sampled_from(["x", "id"])
_CONSTANTS = st.integers(0, 3).map(number)
_COMPARISONS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_AGGREGATES = st.sampled_from(["sum", "min", "max", "avg", "count"])


def member(base: e.Expr, name: str) -> e.Expr:
    """`base.name`, as the parser writes it."""
    return e.Name((*base.parts, name)) if isinstance(base, e.Name) else e.MemberAccess(base, name)


@st.composite
def attributes(draw: DrawFn, base: e.Expr, variable: Seen, place: e.Expr | None = None) -> e.Expr:
    """An attribute of `variable`, whose text is `base`; of a list, the element at `place` or at any."""
    if variable.is_list:
        base = e.Subscript(base, draw(_PLACES) if place is None else place)
    if variable.inner:
        inner = draw(st.sampled_from(variable.inner))
        return draw(attributes(member(base, inner.name), inner))
    return member(base, draw(_ATTRIBUTES))


@st.composite
def aggregates(draw: DrawFn, variable: Seen, upper: e.Expr | None = None) -> e.Expr:
    """`count(b[])`, `sum(b[].x)`, `max(b[..i-1].x)` of a list."""
    elements: e.Expr = e.Slice(e.Name((variable.name,)), upper)
    singles = [inner for inner in variable.inner if not inner.is_list]
    if variable.inner and not singles:
        return e.Call("count", (elements,))
    if singles:
        elements = member(elements, draw(st.sampled_from(singles)).name)
    elif draw(st.booleans()):
        return e.Call("count", (elements,))
    return e.Call(draw(_AGGREGATES), (member(elements, draw(_ATTRIBUTES)),))


@st.composite
def terms(draw: DrawFn, variable: Seen) -> e.Expr:
    """A value that does not depend on `i`."""
    if variable.is_list and draw(st.booleans()):
        return draw(aggregates(variable))
    found = draw(attributes(e.Name((variable.name,)), variable))
    return e.Binary("+", found, number(1)) if draw(st.integers(0, 4)) == 4 else found


@st.composite
def each_element(draw: DrawFn, variable: Seen, others: Sequence[Seen]) -> e.Expr:
    """A condition on every element of a list: `b[i].x > b[i-1].x`."""
    name = e.Name((variable.name,))
    right: list[SearchStrategy[e.Expr]] = [
        _CONSTANTS,
        attributes(name, variable, BEFORE),
        aggregates(variable, BEFORE),
        *map(terms, others),
    ]
    left = draw(attributes(name, variable, CURRENT))
    return e.Binary(draw(_COMPARISONS), left, draw(st.one_of(right)))


@st.composite
def comparisons(draw: DrawFn, first: Seen, others: Sequence[Seen]) -> e.Expr:
    if draw(st.integers(0, 9)) == 9:
        return e.IsNull(draw(terms(first)), draw(st.booleans()))
    right = draw(st.one_of(_CONSTANTS, *map(terms, others)))
    return e.Binary(draw(_COMPARISONS), draw(terms(first)), right)


def event_of(variable: Seen, place: e.Expr) -> e.Expr | None:
    """The event of a variable, of a list that at `place`; None of a closure of composites."""
    name = e.Name((variable.name,))
    return None if variable.inner else e.Subscript(name, place) if variable.is_list else name


@st.composite
def relations(draw: DrawFn, first: Seen, others: Sequence[Seen]) -> e.Expr | None:
    """`a OVERLAPS b`, `b[i] DURING a`; None if there are no two events."""
    left = event_of(first, draw(st.sampled_from([CURRENT, LAST])))
    events = [event for other in others if other != first and (event := event_of(other, number(1)))]
    if left is None or not events:
        return None
    return e.AllenRelation(left, draw(st.sampled_from(list(ALLEN))), draw(st.sampled_from(events)))


@st.composite
def conditions(draw: DrawFn, first: Seen, others: Sequence[Seen]) -> e.Expr:
    """One conjunct about `first`, maybe compared with `others`."""
    if first.is_list and draw(st.booleans()):
        return draw(each_element(first, others))
    match draw(st.integers(0, 8)):
        case 8 if related := draw(relations(first, others)):
            return e.Negation(related) if draw(st.booleans()) else related
        case 7:
            either = [draw(comparisons(first, others)) for _ in range(2)]
            return e.Disjunction(tuple(either))
        case 6:
            return e.Negation(draw(comparisons(first, others)))
    return draw(comparisons(first, others))


def together(conjuncts: Sequence[e.Expr]) -> e.Expr | None:
    """The conjuncts as the parser would have read them."""
    return e.Conjunction(tuple(conjuncts)) if len(conjuncts) > 1 else next(iter(conjuncts), None)

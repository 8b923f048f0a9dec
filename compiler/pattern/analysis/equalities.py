"""Equalities between values of events: `a.x = b.y`, and what follows from several of them.

A term is an expression that names one variable and has one value in a match: `a.x`, `CAST(a.n AS
BIGINT)`, `b[1].x`; or a constant. Where `s = t` and `t = u` are both TRUE, so is `s = u`: none of the
three is NULL, both comparisons are made in the same type (casts are part of a term), and Spark's order on
the values of a type is total, with NaN equal to itself and -0.0 equal to 0.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from neelc.ir import patterns as p
from neelc.ir.expressions import (
    Attribute,
    Binary,
    EveryElement,
    Expr,
    Index,
    ListElement,
    SameAttributes,
    Variable,
    conjuncts,
    names_in,
)
from neelc.ir.names import same
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import Listing, declared, inner_parts
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.ir.types import DataType
from neelc.pattern.analysis.regions import CURRENT, QueryRoles, plain, range_of, region_conjuncts, spots
from neelc.runtime.late_dataclass import dataclass


@dataclass(frozen=True)
class Equality:
    """`left = right`, both of them terms."""

    left: Expr
    right: Expr

    @property
    def sides(self) -> tuple[Expr, Expr]:
        return self.left, self.right

    def condition(self) -> Expr:
        return Binary("=", self.left, self.right)


def equality(conjunct: Expr) -> Equality | None:
    """The equality that a condition is, if it is one.

    >>> from pattern_examples import query
    >>> def read(text):
    ...     return equality(query(text).pattern.where)
    >>> [str(side) for side in read("SEQ(A a, B b) WHERE a.x + 1 = b.n").sides]
    ['a.x + 1', 'b.n']

    Not one between sums over several variables, nor one on each element of a list: if the list is empty it
    says nothing.

    >>> read("SEQ(A a, B b) WHERE a.x + b.x = 1"), read("SEQ(A a, B* b[]) WHERE a.x = b[i].x")
    (None, None)
    """
    match conjunct:
        case Binary("=", left, right) if left != right:
            single = len(names_in(left)) <= 1 and len(names_in(right)) <= 1 and names_in(conjunct)
            return Equality(left, right) if single and range_of(conjunct)[0] is None else None
    return None


def equalities(conditions: Iterable[Expr]) -> Iterator[Equality]:
    """Those of the conditions that are equalities."""
    for condition in conditions:
        if (equal := equality(condition)) is not None:
            yield equal


def classes(known: Iterable[Equality]) -> tuple[tuple[Expr, ...], ...]:
    """The terms that equalities make equal, class by class, in the order they are first named.

    >>> from neelc.ir.expressions import conjuncts
    >>> from pattern_examples import query
    >>> where = query("SEQ(A a, B b, C c) WHERE a.x = b.x AND a.id = 5 AND c.x = b.x").pattern.where
    >>> for terms in classes(equalities(conjuncts(where))):
    ...     print(*terms)
    a.x b.x c.x
    a.id 5
    """
    groups: dict[Expr, dict[Expr, None]] = {}
    number: dict[Expr, int] = {}
    for equal in known:
        for side in equal.sides:
            number.setdefault(side, len(number))
        sides = [groups.setdefault(side, {side: None}) for side in equal.sides]
        first, second = sorted(sides, key=lambda group: number[next(iter(group))])
        if first is not second:
            first.update(second)
            groups.update(dict.fromkeys(second, first))
    distinct = {id(group): group for group in groups.values()}
    return tuple(tuple(group) for group in distinct.values())


# What follows from equalities: which ones are worth adding where a region is evaluated.


@dataclass(frozen=True)
class RegionEqualities:
    """What must hold where a region is evaluated, by its own conditions and by those around it.

    `equal` are equalities; `each` those on each element of a list, the element's side first; `chains` terms
    of an element that equal the same term of the element before; `same` the attributes of an `[id]`, each
    with the variables concerned.
    """

    roles: QueryRoles
    equal: tuple[Equality, ...] = ()
    each: tuple[Equality, ...] = ()
    chains: tuple[Expr, ...] = ()
    same: tuple[tuple[str, frozenset[str]], ...] = ()

    @classmethod
    def around(cls, roles: QueryRoles) -> RegionEqualities:
        """What is known around the whole pattern: PARTITION BY implies an `[id]`."""
        everything = declared(roles.query.pattern)
        return cls(roles, same=tuple((name, everything) for name in roles.query.partition))

    def and_of(self, part: p.Pattern) -> RegionEqualities:
        """With the conditions of the region of `part`."""
        return replace(self.and_that(region_conjuncts(part)), same=(*self.same, *alike_in(part)))

    def and_that(self, conditions: Iterable[Expr]) -> RegionEqualities:
        conditions = tuple(conditions)
        equal = (*self.equal, *equalities(conditions))
        each, chains = (*self.each, *_of_elements(conditions)), (*self.chains, *_chains(conditions))
        return replace(self, equal=equal, each=each, chains=chains)

    def has(self, one: Expr, other: Expr) -> bool:
        """Whether a condition states that the two are equal, rather than implying it."""
        sides = {one, other}
        if any(sides == set(equal.sides) for equal in (*self.equal, *self.each)):
            return True
        match plain(one), plain(other):
            case Attribute(name=name) as left, Attribute(name=also) as right if same(name, also):
                named = names_in(left) | names_in(right)
                return any(same(name, key) and named <= names for key, names in self.same)
        return False

    def classes(self, near: frozenset[str]) -> tuple[tuple[Expr, ...], ...]:
        """The terms that are equal, class by class; with those of the variables `near` that an `[id]`
        concerns."""
        return classes((*self.equal, *(equal for equal, is_list in self._alike(near) if not is_list)))

    def elements(self, near: frozenset[str]) -> Iterator[Equality]:
        """What each element of a list is equal to; of the lists `near`, also by an `[id]`."""
        yield from self.each
        yield from (equal for equal, is_list in self._alike(near) if is_list)

    def _alike(self, near: frozenset[str]) -> Iterator[tuple[Equality, bool]]:
        """The attribute of each event that an `[id]` concerns, with that of the first of the same type; and
        whether the event is the element of a list."""
        near = near.union(*(names_in(side) for equal in self.equal for side in equal.sides))
        for name, variables in self.same:
            first: dict[DataType, Expr] = {}
            roles = self.roles.of_variables(near & variables)
            for role in sorted(roles, key=lambda role: role.is_list):
                term = role.attribute(name)
                if term is not None and not role.is_list:
                    yield Equality(first.setdefault(term.type, term), term), False
                elif term is not None and term.type in first:
                    yield Equality(term, first[term.type]), True


def alike_in(part: p.Pattern) -> Iterator[tuple[str, frozenset[str]]]:
    """The attributes of every `[id]` in the region of `part`, each with the variables it concerns."""
    for spot in spots(part):
        yield from ((name, declared(spot.part)) for name in same_at(spot.part))


def same_at(part: p.Pattern) -> Iterator[str]:
    """The attributes of the `[id]`s at a part."""
    for conjunct in conjuncts(part.where):
        if isinstance(conjunct, SameAttributes):
            yield from conjunct.attributes


def _of_elements(conditions: Iterable[Expr]) -> Iterator[Equality]:
    """The equalities on each element of a list. Not on `b[i-1]`, which is never the last element."""
    for condition in conditions:
        match condition:
            case Binary("=", left, right):
                for one, other in ((left, right), (right, left)):
                    if is_of_element(one) and range_of(other)[0] is None:
                        yield Equality(one, other)


def is_of_element(term: Expr) -> bool:
    """Whether a term names the element `b[i]` of a list, or `k[i].a`, and no other event."""
    nodes = tuple(walk(term))
    variables = sum(isinstance(node, Variable) for node in nodes)
    elements = sum(isinstance(node, ListElement) and _is_current(node) for node in nodes)
    return 0 < elements == variables and not any(isinstance(node, EveryElement) for node in nodes)


def _is_current(reference: ListElement) -> bool:
    return isinstance(reference.base, Variable) and reference.index == CURRENT


def _chains(conditions: Iterable[Expr]) -> Iterator[Expr]:
    """The terms `b[i].x` of conditions `b[i].x = b[i-1].x`."""
    for condition in conditions:
        match condition:
            case Binary("=", left, right):
                pairs = ((left, right), (right, left))
                yield from (one for one, other in pairs if is_of_element(one) and other == _before(one))


def _before(term: Expr) -> Expr | None:
    """A term of `b[i]` as one of `b[i-1]`; None if it is no such term."""

    def change(node: Node) -> Node | None:
        return (
            replace(node, index=Index("CURRENT", -1))
            if isinstance(node, ListElement) and node.index == CURRENT
            else None
        )

    changed = transform(term, change)
    return changed if isinstance(changed, Expr) and changed is not term else None


@dataclass(frozen=True)
class EqualityScope:
    """Where equalities are to be added: `own` are the variables of the region, `sure` those that are bound
    whenever it is evaluated; `visible` may be named; `lifts` if equalities without own variables help too."""

    own: frozenset[str]
    sure: frozenset[str]
    visible: frozenset[str]
    lifts: bool = False


def missing(known: RegionEqualities, place: EqualityScope) -> Iterator[Expr]:
    """The equalities worth adding, as conditions."""
    named = {side for equal in known.equal for side in equal.sides}
    groups = known.classes(place.own)
    for group in groups:
        yield from _missing_in(group, known, place, named)
    for equal in known.elements(place.own):
        group = next((group for group in groups if equal.right in group), ())
        if names_in(equal.left) <= place.own:
            for constant in (term for term in group if not names_in(term)):
                if not known.has(equal.left, constant):
                    yield Equality(equal.left, constant).condition()


def _missing_in(
    group: tuple[Expr, ...], known: RegionEqualities, place: EqualityScope, named: set[Expr]
) -> Iterator[Expr]:
    order = known.roles.order

    def in_text(term: Expr) -> int:
        return max(order[name] for name in names_in(term))

    constants = [term for term in group if not names_in(term)]
    bound = (term for term in group if names_in(term) <= place.visible)
    # A term that only an `[id]` concerns may belong to a variable that is NULL.
    terms = [term for term in bound if names_in(term) and (term in named or names_in(term) <= place.sure)]
    inner = sorted((term for term in terms if names_in(term) <= place.own), key=in_text)
    outer = sorted((term for term in terms if term not in inner), key=in_text)
    pairs: list[tuple[Expr, Expr]] = []
    if constants:
        pairs += [(term, constant) for term in (*inner, *outer * place.lifts) for constant in constants]
    elif outer:
        pairs += [(term, outer[0]) for term in inner if not any(known.has(term, o) for o in outer)]
        pairs += [*pairwise(outer)] if place.lifts else []
    else:
        pairs += pairwise(inner)
    yield from (Equality(*pair).condition() for pair in pairs if not known.has(*pair))


# Shortcuts: values that must occur elsewhere for an event to matter (NEEL+, 4.2, SIP).


@dataclass(frozen=True)
class Shortcut:
    """`outer`, a term of a variable, is compared with `inner`, a term of one beside it or nested beside it.

    An event for the outer variable whose value is not among the values of the events of the inner
    variable's type can be in no match; or, if the part is `negative`, nothing needs to be looked for.
    """

    outer: Expr
    inner: Expr
    negative: bool

    def __str__(self) -> str:
        return f"{self.outer} {'NOT ' * self.negative}IN {self.inner}"


def shortcuts(query: Match) -> tuple[Shortcut, ...]:
    """The predicates of a query by which the values of one event's type can filter those of another.

    NEEL+'s example query 6, where `r` is nested and `i` is not. The thesis has shortcuts for predicates
    between queries and their sub-queries. What is flattened was one before, so parts of one list count too;
    there either side can filter the other, and the statistics decide.

    >>> from pattern_examples import query
    >>> for shortcut in shortcuts(query("SEQ(DELL d, SEQ(RIMM r, CSCO c), INTC i) WHERE r.x = i.x")):
    ...     print(shortcut)
    i.x IN r.x
    >>> print(*shortcuts(query("SEQ(DELL d, RIMM r, INTC i) WHERE r.x = i.x")), sep="; ")
    r.x IN i.x; i.x IN r.x
    >>> print(*shortcuts(query("SEQ(A a, !SEQ(B b, (C c : c.id = a.id)), D d)")))
    a.id NOT IN c.id

    Proof. The condition stands in the region of the outer variable or around it, or in that of an EXISTS, a
    repetition that is not empty, or one negation inside it. If it is not in a negation there is no match
    unless it is TRUE, so the outer value is that of an event of the inner type. In one, a binding of its
    part makes it TRUE; where no event of the inner type has the outer value there is no such binding.

    Not for a condition in a branch of an OR or in an optional part: the match can do without. Under SKIP
    TILL NEXT MATCH an event that fits must be taken, even if that leads nowhere, and where contiguity is
    required every event counts: there, only negations have shortcuts.

    >>> shortcuts(query("SEQ(A a, OR(SEQ(B b, (C c : c.id = a.id)), D d))"))
    ()
    """
    any_match = query.strategy == SelectionStrategy.ANY_MATCH
    ways = tuple(_ways(query.pattern, ()))
    events = {name: several[0] for name, several in _events(ways).items() if len(several) == 1}
    candidates = (
        shortcut for way in ways for c in conjuncts(way[-1].where) for shortcut in _of(c, way, events)
    )
    return tuple(dict.fromkeys(shortcut for shortcut in candidates if shortcut.negative or any_match))


Way = tuple[p.Pattern, ...]
"""A part, at the end, and the parts around it, from the whole pattern on."""


def _ways(part: p.Pattern, around: Way) -> Iterator[Way]:
    way = (*around, part)
    yield way
    for inner in inner_parts(part):
        yield from _ways(inner, way)


def _events(ways: Iterable[Way]) -> dict[str | None, list[Way]]:
    """The ways to each variable of an event: several, if branches of an OR share it."""
    ways_to: dict[str | None, list[Way]] = {}
    for way in ways:
        if isinstance(way[-1], p.Event):
            ways_to.setdefault(way[-1].variable, []).append(way)
    return ways_to


def _of(conjunct: Expr, at: Way, events: Mapping[str | None, Way]) -> Iterator[Shortcut]:
    """The shortcuts of a condition on the last part of `at`."""
    equal = equality(conjunct)
    if equal is None:
        return
    for outer, inner in (equal.sides, equal.sides[::-1]):
        way, nested = (events.get(next(iter(names_in(side)), None)) for side in (outer, inner))
        if way is None or nested is None or not _is_beside(nested, way):
            continue
        negations = _negations_between(way, at)
        if negations is not None:
            yield Shortcut(outer, inner, negations > 0)


def _is_beside(inner: Way, outer: Way) -> bool:
    """Whether an event stands in the list that the other event is a part of, or in a list inside it."""
    around, inside = _list_around(outer), _list_around(inner)
    return 0 < len(around) <= len(inside) and _in_common(around, inside) == len(around)


def _list_around(way: Way) -> Way:
    length = max((place for place, part in enumerate(way) if isinstance(part, Listing)), default=-1)
    return way[: length + 1]


def _in_common(one: Way, other: Way) -> int:
    """How many parts around are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left is not right), min(len(one), len(other)))


def _negations_between(way: Way, at: Way) -> int | None:
    """How many negations there are between an event and a condition about it; None if the match, or
    what is negated, can do without the condition."""
    start = max(_in_common(way, at) - 1, 0)
    negations = 0
    for place, part in enumerate(at[start:], start):
        is_last = place == len(at) - 1
        match part:
            case p.Not():
                negations += 1
            case p.ClosureGap():
                return None  # there may be no second element, and so no gap
            case p.Optional() if place > start or not is_last:
                return None
            case p.Or() | p.Repeat(least=0) if not is_last:
                return None
    return negations if negations < 2 else None

"""Equalities between values of events: `a.x = b.y`, and what follows from several of them.

A term is an expression that speaks of one variable and has one value in a match: `a.x`, `CAST(a.n AS
BIGINT)`, `b[1].x`; or a constant. Where `s = t` and `t = u` are both TRUE, so is `s = u`: none of the
three is NULL, both comparisons are made in the same type (casts are part of a term), and Spark's order on
the values of a type is total, with NaN equal to itself and -0.0 equal to 0.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from neelc.ir import patterns as p
from neelc.ir.conditions import conjuncts, names_in
from neelc.ir.expressions import (
    Attribute,
    Binary,
    EveryElement,
    Expr,
    Index,
    ListElement,
    SameAttributes,
    Variable,
)
from neelc.ir.names import same
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import declared
from neelc.ir.types import DataType
from neelc.pattern.analysis.regions import CURRENT, QueryRoles, plain, range_of, region_conjuncts, spots


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

    Not one between sums over several variables, nor one that is said of each element of a list: if the
    list is empty it says nothing.

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
        if (found := equality(condition)) is not None:
            yield found


def classes(known: Iterable[Equality]) -> tuple[tuple[Expr, ...], ...]:
    """The terms that equalities make equal, class by class, in the order they are first named.

    >>> from neelc.ir.conditions import conjuncts
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
    found = {id(group): group for group in groups.values()}
    return tuple(tuple(group) for group in found.values())


# What follows from equalities: which ones are worth adding where a region is judged.


@dataclass(frozen=True)
class RegionEqualities:
    """What must hold where a region is judged, by its own conditions and by those around it.

    `equal` are equalities; `each` those said of each element of a list, the element's side first; `chains`
    terms of an element that equal the same of the one before; `same` the attributes of an `[id]`, each with
    the variables concerned.
    """

    roles: QueryRoles
    equal: tuple[Equality, ...] = ()
    each: tuple[Equality, ...] = ()
    chains: tuple[Expr, ...] = ()
    same: tuple[tuple[str, frozenset[str]], ...] = ()

    @classmethod
    def around(cls, roles: QueryRoles) -> RegionEqualities:
        """What is known around the whole pattern: PARTITION BY asks for an `[id]`."""
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
        """Whether it is said that the two are equal, not only to be concluded."""
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
    """The equalities said of each element of a list. Not of `b[i-1]`: the last element is none before."""
    for condition in conditions:
        match condition:
            case Binary("=", left, right):
                for one, other in ((left, right), (right, left)):
                    if is_of_element(one) and range_of(other)[0] is None:
                        yield Equality(one, other)


def is_of_element(term: Expr) -> bool:
    """Whether a term speaks of the element `b[i]` of a list, or of `k[i].a`, and of no other event."""
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
    whenever it is judged; `visible` may be named; `lifts` if what concerns no own variable is of use too."""

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
    # A term that only an `[id]` speaks of may be one of a variable that is NULL.
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

"""Which value all events of a match have in common, because conditions make it equal.

`cover` starts from a term of one event, the seed, and goes through the pattern, region by region. It
finds for each role (each variable of an event, and each list of events) a term that must have the seed's
value, or says which role has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts, names_in
from neelc.ir.expr import Attribute, Expr, Same, Variable
from neelc.ir.names import same
from neelc.ir.parts import targets
from neelc.rewrite.consequences import Known, alike_in
from neelc.rewrite.elements import concerns, element_of, inside_closure
from neelc.rewrite.regions import TOGETHER, spots
from neelc.rewrite.roles import Role, Roles, plain


@dataclass(frozen=True)
class Loose:
    """A role that no condition ties to the others."""

    variable: str


Terms = dict[Role, Expr]


def cover(part: p.Pattern, key: tuple[Expr, ...], known: Known, timed: bool) -> Terms | Loose:
    """For each role in the region of `part`, and inside it, a term that equals those in `key`.

    `known` is what must hold around the region. With `timed` it must be clear as soon as an event is bound,
    from the events bound before it: SKIP TILL NEXT MATCH takes an event that cannot be judged yet.

    >>> from neelc.rewrite.examples import query
    >>> found = query("SEQ(A a, !(B b : b.n = a.id), C+ c[], D d) WHERE c[i].id = d.id AND a.id = d.id")
    >>> roles = Roles(found)
    >>> seed = next(sure_roles(found.pattern, roles)).term("id")
    >>> print(*cover(found.pattern, (seed,), Known(roles), timed=False).values())
    a.id d.id b.n c.id
    >>> cover(found.pattern, (seed,), Known(roles), timed=True)
    Loose(variable='c')
    """
    known = _with_region(known, part, timed)
    sure = tuple(sure_roles(part, known.roles))
    key = _spread(key, known, frozenset(role.variable for role in sure), timed)
    found: Terms = {}
    terms: dict[frozenset[str], list[Expr]] = {}
    for term in key:
        terms.setdefault(names_in(term), []).append(term)
    for role in sure:
        mine = terms.get(frozenset({role.variable}))
        if not mine:
            return Loose(role.variable)
        # Of several terms, one of the same name as the first term of the key.
        found[role] = next((term for term in mine if is_alike(term, key[0])), mine[0])
    for container in _containers(part):
        inside = _cover_inside(container, key, known, timed)
        if isinstance(inside, Loose):
            return inside
        found |= inside
    return found


def sure_roles(part: p.Pattern, roles: Roles) -> Iterator[Role]:
    """The single events that are bound whenever the region of `part` is, in the order of the text."""
    for spot in spots(part):
        match spot.part:
            case p.Event(_, str() as variable) as event if variable not in spot.hidden:
                yield roles.of(event)


def _with_region(known: Known, part: p.Pattern, timed: bool) -> Known:
    conditions = (
        conjunct
        for spot in spots(part)
        for conjunct in conjuncts(spot.part.where)
        if not isinstance(conjunct, Same) and spot.sees(conjunct)
        # The condition of a component is not judged before a run gets there.
        if not timed or names_in(conjunct).intersection(targets(spot.part))
    )
    return replace(known.and_that(conditions), same=(*known.same, *alike_in(part)))


def _containers(part: p.Pattern) -> Iterator[p.Pattern]:
    """The parts of a region that have regions of their own inside."""
    if isinstance(part, TOGETHER):
        for inner in part.parts:
            yield from _containers(inner)
    elif not isinstance(part, p.Event):
        yield part


def _cover_inside(part: p.Pattern, key: tuple[Expr, ...], known: Known, timed: bool) -> Terms | Loose:
    match part:
        case p.Repeat(p.Event() as event):
            role = known.roles.of(event, part.variable)
            term = element_of(role, key, known, timed)
            return Loose(role.variable) if term is None else {role: term}
        case p.Repeat(inner, variable=str() as variable):
            return cover(inner, key, inside_closure(known, variable, timed), timed)
        case p.Optional(inner):
            return cover(inner, key, known.and_that(conjuncts(part.where)), timed)
        case p.Not(inner):
            return cover(inner, key, known, timed=False)
        case p.Exists(_, inner):
            return cover(inner, key, known, timed)
        case p.Or(parts):
            found: Terms = {}
            for branch in parts:
                inside = cover(branch, key, known, timed)
                if isinstance(inside, Loose):
                    return inside
                found |= inside
            return found
    raise AssertionError(f"{type(part).__name__} has no region inside")


def _spread(key: tuple[Expr, ...], known: Known, near: frozenset[str], timed: bool) -> tuple[Expr, ...]:
    """All terms that equal those in `key`; of what an `[id]` makes equal, those of the variables `near`."""
    found = dict.fromkeys(key)
    edges = [
        (plain(one), plain(other))
        for equal in known.equal
        for one, other in (equal.sides, equal.sides[::-1])
        if not timed or _is_earlier(one, other, known.roles)
    ]
    near = near.union(*(names_in(one) for one, _ in edges))
    before = 0
    while len(found) > before:
        before = len(found)
        for one, other in edges:
            if one in found:
                found[other] = None
        for name, variables in known.same:
            if any(concerns(name, variables, term) for term in found):
                roles = known.roles.of_variables(near & variables)
                terms = (role.attribute(name) for role in roles if not role.is_list)
                found.update(dict.fromkeys(term for term in terms if term is not None))
    return tuple(found)


def _is_earlier(one: Expr, other: Expr, roles: Roles) -> bool:
    """Whether the events of a term are bound before those of another; constants are no events."""
    names, others = names_in(one), names_in(other)
    return bool(names and others) and max(map(roles.order.__getitem__, names)) < min(
        map(roles.order.__getitem__, others)
    )


def is_alike(one: Expr, other: Expr) -> bool:
    """Whether two terms are the same attribute of two events."""
    match one, other:
        case Attribute(Variable(), name), Attribute(Variable(), also):
            return same(name, also)
    return False

"""Partition keys: by which values the events of a query can be kept apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from neelc.ir import patterns as p
from neelc.ir.expressions import (
    Attribute,
    Expr,
    Index,
    InnerVariable,
    ListElement,
    RelatedEvents,
    SameAttributes,
    Variable,
    conjuncts,
    names_in,
    together,
    written_conjuncts,
)
from neelc.ir.names import bare, same, written
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import all_parts, targets
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.equalities import Equality, RegionEqualities, alike_in, same_at
from neelc.pattern.analysis.regions import CURRENT, QueryFacts, QueryRoles, VariableRole, plain, spots
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.operators import cast_to, common_of
from neelc.scalar.type_of import type_of

# What each element of a list must be equal to.


def element_of(
    role: VariableRole, key: tuple[Expr, ...], known: RegionEqualities, timed: bool
) -> Expr | None:
    """A term of the events of a list that equals those in `key` on each of them; it is written as if the
    list's variable stood for one event.

    Either each element is compared with a key, `b[i].id = a.id`, or all elements are compared with each other
    and one of them with a key: `b[i].id = b[i-1].id AND b[1].id = a.id`; or an `[id]` says it.
    """
    order = known.roles.order
    mine = {role.variable}
    for equal in known.each:
        before = not timed or all(order[name] < order[role.variable] for name in names_in(equal.right))
        if names_in(equal.left) == mine and plain(equal.right) in key and before:
            return _as_single(equal.left, CURRENT)
    for name, variables in known.same:
        term = role.attribute(name)
        if term and role.variable in variables and any(concerns(name, variables, other) for other in key):
            return _as_single(term, CURRENT)
    for chained in known.chains:
        if names_in(chained) == mine and any(plain(_at(chained, place)) in key for place in _ends(timed)):
            return _as_single(chained, CURRENT)
    return None


def _ends(timed: bool) -> tuple[Index, ...]:
    """Elements that stand for all, where each equals the one before: the last is known last."""
    return (Index("FIRST"),) if timed else (Index("FIRST"), Index("LAST"))


def concerns(name: str, variables: frozenset[str], term: Expr) -> bool:
    """Whether a term is that attribute of one of the variables."""
    match term:
        case Attribute(Variable(variable), also):
            return variable in variables and same(name, also)
    return False


def _at(term: Expr, place: Index) -> Expr:
    """A term of `b[i]` as one of another element."""

    def change(node: Node) -> Node | None:
        return replace(node, index=place) if isinstance(node, ListElement) and node.index == CURRENT else None

    changed = transform(term, change)
    assert isinstance(changed, Expr)
    return changed


def _as_single(term: Expr, place: Index) -> Expr:
    """A term of `b[i]` as one of an event `b`."""

    def change(node: Node) -> Node | None:
        return node.base if isinstance(node, ListElement) and node.index == place else None

    changed = transform(plain(term), change)
    assert isinstance(changed, Expr)
    return changed


def inside_closure(known: RegionEqualities, closure: str, timed: bool = False) -> RegionEqualities:
    """What is known in an iteration of the closure of a composite: `k[i].a.id = z.id` is `a.id = z.id` there,
    and `k[i].a.id = k[i-1].a.id` is `a.id = k[1].a.id`.

    >>> from pattern_examples import query
    >>> from neelc.pattern.analysis.regions import QueryRoles
    >>> match = query("SEQ(Z z, SEQ(A a, B b)+ k[]) WHERE k[i].a.id = z.id")
    >>> known = inside_closure(RegionEqualities(QueryRoles(match)).and_of(match.pattern), "k")
    >>> print(*(equal.condition() for equal in known.equal))
    a.id = z.id
    """

    def change(node: Node) -> Node | None:
        match node:
            case InnerVariable(ListElement(Variable(name), index), inner) if (
                name == closure and index == CURRENT
            ):
                return Variable(inner)
        return None

    chained = (Equality(term, _at(term, place)) for term in known.chains for place in _ends(timed))
    inside: list[Equality] = []
    for equal in (*known.each, *chained):
        term = transform(equal.left, change)
        if isinstance(term, Expr) and term is not equal.left and closure not in names_in(term):
            inside.append(Equality(term, equal.right))
    return replace(known, equal=(*known.equal, *inside))


# Which value all events of a match have in common, because conditions make it equal.
#
# `cover` starts from a term of one event, the seed, and goes through the pattern, region by region. It
# finds for each role (each variable of an event, and each list of events) a term that must have the seed's
# value, or says which role has none.


@dataclass(frozen=True)
class LooseRole:
    """A role that no condition ties to the others."""

    variable: str


Terms = dict[VariableRole, Expr]


def cover(part: p.Pattern, key: tuple[Expr, ...], known: RegionEqualities, timed: bool) -> Terms | LooseRole:
    """For each role in the region of `part`, and inside it, a term that equals those in `key`.

    `known` is what must hold around the region. With `timed` it must be clear as soon as an event is bound,
    from the events bound before it: SKIP TILL NEXT MATCH takes an event that cannot be checked yet.

    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, !(B b : b.n = a.id), C+ c[], D d) WHERE c[i].id = d.id AND a.id = d.id")
    >>> roles = QueryRoles(match)
    >>> seed = next(sure_roles(match.pattern, roles)).term("id")
    >>> print(*cover(match.pattern, (seed,), RegionEqualities(roles), timed=False).values())
    a.id d.id b.n c.id
    >>> cover(match.pattern, (seed,), RegionEqualities(roles), timed=True)
    LooseRole(variable='c')
    """
    known = _with_region(known, part, timed)
    sure = tuple(sure_roles(part, known.roles))
    key = _spread(key, known, frozenset(role.variable for role in sure), timed)
    covered: Terms = {}
    terms: dict[frozenset[str], list[Expr]] = {}
    for term in key:
        terms.setdefault(names_in(term), []).append(term)
    for role in sure:
        mine = terms.get(frozenset({role.variable}))
        if not mine:
            return LooseRole(role.variable)
        # Of several terms, one of the same name as the first term of the key.
        covered[role] = next((term for term in mine if is_alike(term, key[0])), mine[0])
    for container in _containers(part):
        inside = _cover_inside(container, key, known, timed)
        if isinstance(inside, LooseRole):
            return inside
        covered |= inside
    return covered


def sure_roles(part: p.Pattern, roles: QueryRoles) -> Iterator[VariableRole]:
    """The single events that are bound whenever the region of `part` is, in the order of the text."""
    for spot in spots(part):
        match spot.part:
            case p.Event(_, str() as variable) as event if variable not in spot.hidden:
                yield roles.of(event)


def _with_region(known: RegionEqualities, part: p.Pattern, timed: bool) -> RegionEqualities:
    conditions = (
        conjunct
        for spot in spots(part)
        for conjunct in conjuncts(spot.part.where)
        if not isinstance(conjunct, SameAttributes) and spot.sees(conjunct)
        # The condition of a component is not checked before a run gets there.
        if not timed or names_in(conjunct).intersection(targets(spot.part))
    )
    return replace(known.and_that(conditions), same=(*known.same, *alike_in(part)))


def _containers(part: p.Pattern) -> Iterator[p.Pattern]:
    """The parts of a region that have regions of their own inside."""
    if isinstance(part, p.Joint):
        for inner in part.parts:
            yield from _containers(inner)
    elif not isinstance(part, p.Event):
        yield part


def _cover_inside(
    part: p.Pattern, key: tuple[Expr, ...], known: RegionEqualities, timed: bool
) -> Terms | LooseRole:
    match part:
        case p.Repeat(gaps=gaps) if gaps:
            body = _cover_inside(replace(part, gaps=()), key, known, timed)
            return _together(body, *(cover(gap.part, key, known, timed=False) for gap in gaps))
        case p.Repeat(p.Event() as event):
            role = known.roles.of(event, part.variable)
            term = element_of(role, key, known, timed)
            return LooseRole(role.variable) if term is None else {role: term}
        case p.Repeat(inner, variable=str() as variable):
            return cover(inner, key, inside_closure(known, variable, timed), timed)
        case p.Optional(inner):
            return cover(inner, key, known.and_that(conjuncts(part.where)), timed)
        case p.Not(inner):
            return cover(inner, key, known, timed=False)
        case p.Exists(_, inner):
            return cover(inner, key, known, timed)
        case p.Or(parts):
            return _together(*(cover(branch, key, known, timed) for branch in parts))
    raise AssertionError(f"{type(part).__name__} has no region inside")


def _together(*regions: Terms | LooseRole) -> Terms | LooseRole:
    """The terms of all regions, or the first role that has none."""
    covered: Terms = {}
    for inside in regions:
        if isinstance(inside, LooseRole):
            return inside
        covered |= inside
    return covered


def _spread(
    key: tuple[Expr, ...], known: RegionEqualities, near: frozenset[str], timed: bool
) -> tuple[Expr, ...]:
    """All terms that equal those in `key`; of what an `[id]` makes equal, those of the variables `near`."""
    equal_terms = dict.fromkeys(key)
    edges = [
        (plain(one), plain(other))
        for equal in known.equal
        for one, other in (equal.sides, equal.sides[::-1])
        if not timed or _is_earlier(one, other, known.roles)
    ]
    near = near.union(*(names_in(one) for one, _ in edges))
    before = 0
    while len(equal_terms) > before:
        before = len(equal_terms)
        for one, other in edges:
            if one in equal_terms:
                equal_terms[other] = None
        for name, variables in known.same:
            if any(concerns(name, variables, term) for term in equal_terms):
                roles = known.roles.of_variables(near & variables)
                terms = (role.attribute(name) for role in roles if not role.is_list)
                equal_terms.update(dict.fromkeys(term for term in terms if term is not None))
    return tuple(equal_terms)


def _is_earlier(one: Expr, other: Expr, roles: QueryRoles) -> bool:
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


@dataclass(frozen=True)
class Key:
    """A value that all events of a match have in common, also those that negations look for.

    `terms` has, for each variable of an event, the expression that gives the value; a list's variable stands
    for one of its events. All have the same type.
    """

    name: str
    terms: tuple[tuple[str, Expr], ...]

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(str(term) for _, term in self.terms)}"


def partition_keys(query: Match) -> tuple[Key, ...]:
    """Every key by which the events can be partitioned without losing or adding a match.

    >>> from pattern_examples import query
    >>> def show(text):
    ...     print(*partition_keys(query(text)), sep="; ")
    >>> show("SEQ(A a, !B b, C+ c[], EXISTS d : D d) WHERE [id]")
    id: a.id, b.id, c.id, d.id
    >>> show("SEQ(A a, !(B b : b.n = a.id), C+ c[]) WHERE c[i].id = a.id WITHIN 9")
    id: a.id, b.n, c.id

    The matches of the whole are those of the partitions: matches, not rows, as DISTINCT and aggregates
    look at all of them. Proof: in a match all events have the same key, and so has whatever its negations
    and EXISTS look for, so events of other keys change nothing. NULL is a key like others: events without
    a value can be a match if nothing is compared with them, as with `a` above.

    A branch of an OR that is a single event is tied to nothing, and has the key of the others:

    >>> show("OR(A a, SEQ(B b, C c)) WHERE b.id = c.id")
    id: a.id, b.id, c.id

    There is none if an event is not tied to the others, in some branch or for some element:

    >>> show("SEQ(A a, B? b, C c) WHERE a.id = c.id")
    <BLANKLINE>
    >>> show("SEQ(A a, B+ b[]) WHERE b[1].id = a.id")
    <BLANKLINE>

    Nor if one event could stand for two variables with different keys: it would have to be in two
    partitions, and in the wrong one it could miss what a negation looks for. Nor where events of other
    keys matter: WITHIN n EVENTS without PARTITION BY counts them, STRICT CONTIGUITY does not allow them
    in between, and a COLLAPSED list without a single variable beside it joins the matches of all keys.
    AFTER MATCH SKIP and its kin compare all matches of their partition.

    >>> show("SEQ(A a, A b) WHERE a.id = b.n")
    <BLANKLINE>
    >>> show("SEQ(A a, B b) WHERE [id] WITHIN 5 EVENTS")
    <BLANKLINE>
    >>> show("SEQ(A a, B b) PARTITION BY id WITHIN 5 EVENTS")
    id: a.id, b.id
    >>> show("SEQ(A a, B b) WHERE a.id = b.id AFTER MATCH SKIP PAST LAST EVENT")
    <BLANKLINE>
    >>> show("SEQ(A a, B b) WHERE [id] AND a.n = b.n AFTER MATCH SKIP PAST LAST EVENT")
    id: a.id, b.id
    """
    if query.collapsed and not _binds_a_single(query.pattern):
        return ()
    roles = QueryRoles(query)
    keys: dict[str, Key] = {}
    for key in _keys(query, roles):
        if key is not None and _is_unambiguous(key, roles):
            keys.setdefault(key.name, key)
    if _counts_others(query):
        partition = [bare(name) for name in query.partition if query.strategy != SelectionStrategy.STRICT]
        return tuple(keys[name] for name in partition if name in keys)
    if query.kept is not None:
        return tuple(keys[name] for name in map(bare, query.kept.partition) if name in keys)
    return tuple(keys.values())


def lasting_keys(query: Match) -> tuple[Key, ...]:
    """The keys of a query, but for times that a relation requires to be equal: these say what is at one
    instant, not what belongs together.

    >>> from pattern_examples import LASTING, query
    >>> [key.name for key in lasting_keys(query("AND(A a, B b) WHERE a.id = b.id AND a STARTS b", LASTING))]
    ['id']
    """

    def unrelated(node: Node) -> Node | None:
        if not isinstance(node, p.Pattern) or not any(isinstance(each, RelatedEvents) for each in walk(node)):
            return None
        kept = (one for one in written_conjuncts(node.where) if not isinstance(one, RelatedEvents))
        return replace(node, where=together(kept))

    pattern = transform(query.pattern, unrelated)
    assert isinstance(pattern, p.Pattern)
    return partition_keys(query if pattern is query.pattern else replace(query, pattern=pattern))


def _counts_others(query: Match) -> bool:
    """Whether events that are in no match can matter."""
    windows = [query.within, *(part.within for part in all_parts(query.pattern))]
    counted = any(window is not None and window.unit == "EVENT" for window in windows)
    return counted or query.strategy.is_contiguous


def _binds_a_single(part: p.Pattern) -> bool:
    """Whether every match binds a variable of a single event."""
    return any(
        (isinstance(spot.part, p.Event) and spot.part.variable not in spot.hidden)
        or (isinstance(spot.part, p.Or) and not spot.hidden and all(map(_binds_a_single, spot.part.parts)))
        for spot in spots(part)
    )


def _keys(query: Match, roles: QueryRoles) -> Iterator[Key | None]:
    for name in (*query.partition, *same_at(query.pattern)):
        terms: Terms = {role: term for role in roles.all if (term := role.term(name))}
        yield _key(bare(name), terms) if len(terms) == len(roles.all) else None
    for name, covering in _coverings(
        query.pattern, RegionEqualities.around(roles), query.strategy == SelectionStrategy.NEXT_MATCH
    ).items():
        yield _key(name, covering)


def _coverings(part: p.Pattern, known: RegionEqualities, timed: bool) -> dict[str, Terms]:
    """By name, what makes the events of a match equal that are not tied to anything around `part`."""
    first = next(sure_roles(part, known.roles), None)
    if first is not None:
        covers = {_name(seed): cover(part, (seed,), known, timed) for seed in _seeds(first, known.roles)}
        return {name: terms for name, terms in covers.items() if not isinstance(terms, LooseRole)}
    if not isinstance(part, p.Or):
        return {}
    around = known.and_of(part)
    branches = [_coverings(branch, around, timed) for branch in part.parts]
    names = dict.fromkeys(name for branch in branches for name in branch)
    for branch, covered in zip(part.parts, branches, strict=True):
        covered.update(_borrowed(branch, [name for name in names if name not in covered], around, timed))
    shared = [name for name in names if all(name in branch for branch in branches)]
    return {
        name: {role: term for branch in branches for role, term in branch[name].items()} for name in shared
    }


def _borrowed(
    part: p.Pattern, names: list[str], known: RegionEqualities, timed: bool
) -> Iterator[tuple[str, Terms]]:
    """What makes the events of a branch equal in attributes that only other branches compare: of a single
    event, any of them does."""
    first = next(sure_roles(part, known.roles), None)
    for name in names if first is not None else ():
        term = first.term(written(name)) if first is not None else None
        terms = None if term is None else cover(part, (term,), known, timed)
        if terms is not None and not isinstance(terms, LooseRole):
            yield name, terms


def _seeds(role: VariableRole, roles: QueryRoles) -> Iterator[Expr]:
    """The terms of a role that something is compared with."""
    yield from roles.compared.get(role.variable, ())
    yield from (term for name in roles.same if (term := role.term(name)))


def _name(seed: Expr) -> str:
    return bare(seed.name) if isinstance(seed, Attribute) else str(seed)


def _key(name: str, terms: Terms) -> Key | None:
    """The key, with all terms cast to one type: what is equal stays equal. None if there is no such type, or
    if one variable, of two branches, has two terms."""
    by_variable = {role.variable: term for role, term in terms.items()}
    kind = common_of((type_of(term) for term in by_variable.values()), strings=False)
    if kind is None or any(by_variable[role.variable] != term for role, term in terms.items()):
        return None
    return Key(name, tuple((name, cast_to(term, type_of(term), kind)) for name, term in by_variable.items()))


def _is_unambiguous(key: Key, roles: QueryRoles) -> bool:
    """Whether no event could have two values of the key, as one variable or as another."""
    facts = QueryFacts(lambda: roles.query)
    terms = dict(key.terms)
    shapes = dict.fromkeys((role.type.name, _shape(terms[role.variable])) for role in roles.all)
    return all(
        one[1] == other[1] or not facts.may_overlap(one[0], other[0])
        for one, other in combinations(shapes, 2)
    )


def _shape(term: Expr) -> Node:
    """The term, whatever variable it is of."""
    return transform(plain(term), lambda node: Variable("") if isinstance(node, Variable) else None)

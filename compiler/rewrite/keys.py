"""Partition keys: by which values the events of a query can be kept apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from neelc.bind.coercion import cast_to, common_of
from neelc.ir import pattern as p
from neelc.ir.expr import Attribute, Expr, Variable
from neelc.ir.logical import Match
from neelc.ir.names import bare, written
from neelc.ir.node import Node, transform
from neelc.ir.parts import all_parts
from neelc.ir.typeof import type_of
from neelc.rewrite.consequences import Known, same_at
from neelc.rewrite.coverage import Loose, Terms, cover, sure_roles
from neelc.rewrite.facts import Facts
from neelc.rewrite.judging import NEXT_MATCH
from neelc.rewrite.regions import spots
from neelc.rewrite.roles import Role, Roles, plain

STRICT, PARTITIONED = "STRICT CONTIGUITY", "PARTITION CONTIGUITY"


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

    >>> from neelc.rewrite.examples import query
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

    >>> show("SEQ(A a, A b) WHERE a.id = b.n")
    <BLANKLINE>
    >>> show("SEQ(A a, B b) WHERE [id] WITHIN 5 EVENTS")
    <BLANKLINE>
    >>> show("SEQ(A a, B b) PARTITION BY id WITHIN 5 EVENTS")
    id: a.id, b.id
    """
    if query.collapsed and not _binds_a_single(query.pattern):
        return ()
    roles = Roles(query)
    found: dict[str, Key] = {}
    for key in _keys(query, roles):
        if key is not None and _is_unambiguous(key, roles):
            found.setdefault(key.name, key)
    if _counts_others(query):
        partition = [bare(name) for name in query.partition if query.strategy != STRICT]
        return tuple(found[name] for name in partition if name in found)
    return tuple(found.values())


def _counts_others(query: Match) -> bool:
    """Whether events that are in no match can matter."""
    windows = [query.within, *(part.within for part in all_parts(query.pattern))]
    counted = any(window is not None and window.unit == "EVENT" for window in windows)
    return counted or query.strategy in (STRICT, PARTITIONED)


def _binds_a_single(part: p.Pattern) -> bool:
    """Whether every match binds a variable of a single event."""
    return any(
        (isinstance(spot.part, p.Event) and spot.part.variable not in spot.hidden)
        or (isinstance(spot.part, p.Or) and not spot.hidden and all(map(_binds_a_single, spot.part.parts)))
        for spot in spots(part)
    )


def _keys(query: Match, roles: Roles) -> Iterator[Key | None]:
    for name in (*query.partition, *same_at(query.pattern)):
        terms: Terms = {role: term for role in roles.all if (term := role.term(name))}
        yield _key(bare(name), terms) if len(terms) == len(roles.all) else None
    for name, found in _coverings(query.pattern, Known.around(roles), query.strategy == NEXT_MATCH).items():
        yield _key(name, found)


def _coverings(part: p.Pattern, known: Known, timed: bool) -> dict[str, Terms]:
    """By name, what makes the events of a match equal that are not tied to anything around `part`."""
    first = next(sure_roles(part, known.roles), None)
    if first is not None:
        covers = {_name(seed): cover(part, (seed,), known, timed) for seed in _seeds(first, known.roles)}
        return {name: terms for name, terms in covers.items() if not isinstance(terms, Loose)}
    if not isinstance(part, p.Or):
        return {}
    around = known.and_of(part)
    branches = [_coverings(branch, around, timed) for branch in part.parts]
    names = dict.fromkeys(name for branch in branches for name in branch)
    for branch, found in zip(part.parts, branches, strict=True):
        found.update(_borrowed(branch, [name for name in names if name not in found], around, timed))
    shared = [name for name in names if all(name in branch for branch in branches)]
    return {
        name: {role: term for branch in branches for role, term in branch[name].items()} for name in shared
    }


def _borrowed(part: p.Pattern, names: list[str], known: Known, timed: bool) -> Iterator[tuple[str, Terms]]:
    """What makes the events of a branch equal in attributes that only other branches compare: of a single
    event, any of them does."""
    first = next(sure_roles(part, known.roles), None)
    for name in names if first is not None else ():
        term = first.term(written(name)) if first is not None else None
        terms = None if term is None else cover(part, (term,), known, timed)
        if terms is not None and not isinstance(terms, Loose):
            yield name, terms


def _seeds(role: Role, roles: Roles) -> Iterator[Expr]:
    """The terms of a role that something is compared with."""
    yield from roles.compared.get(role.variable, ())
    yield from (term for name in roles.same if (term := role.term(name)))


def _name(seed: Expr) -> str:
    return bare(seed.name) if isinstance(seed, Attribute) else str(seed)


def _key(name: str, terms: Terms) -> Key | None:
    """The key, with all terms cast to one type: what is equal stays equal. None if there is no such type, or
    if one variable, of two branches, has two terms."""
    found = {role.variable: term for role, term in terms.items()}
    kind = common_of((type_of(term) for term in found.values()), strings=False)
    if kind is None or any(found[role.variable] != term for role, term in terms.items()):
        return None
    return Key(name, tuple((name, cast_to(term, type_of(term), kind)) for name, term in found.items()))


def _is_unambiguous(key: Key, roles: Roles) -> bool:
    """Whether no event could have two values of the key, as one variable or as another."""
    facts = Facts(lambda: roles.query)
    terms = dict(key.terms)
    shapes = dict.fromkeys((role.type.name, _shape(terms[role.variable])) for role in roles.all)
    return all(
        one[1] == other[1] or not facts.may_overlap(one[0], other[0])
        for one, other in combinations(shapes, 2)
    )


def _shape(term: Expr) -> Node:
    """The term, whatever variable it is of."""
    return transform(plain(term), lambda node: Variable("") if isinstance(node, Variable) else None)

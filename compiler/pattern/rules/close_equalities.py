"""The rule `close_equalities`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.expressions import conjuncts
from neelc.ir.node import Node, map_children
from neelc.ir.patterns import targets
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.equalities import EqualityScope, RegionEqualities, missing
from neelc.pattern.analysis.regions import QueryRoles, spots, with_condition


def close_equalities(query: Match) -> Match | None:
    """Terms equal to the same term are equal: add the equalities that let conditions be checked earlier.

    A term that is equal to a constant is compared with it directly, so that each event can be checked
    alone. If a class of equal terms has no constant, those of variables that stand next to each other in
    the text are compared, so that each event can be checked as soon as the one before it is known.

    >>> from pattern_examples import query
    >>> print(close_equalities(query("SEQ(A a, B b) WHERE a.x = b.x AND b.x = 5")).pattern)
    SEQ(A a, B b WHERE a.x = b.x AND b.x = 5 AND a.x = 5)
    >>> print(close_equalities(query("SEQ(A a, B b, C c) WHERE a.x = c.x AND c.x = b.x")).pattern)
    SEQ(A a, B b, C c WHERE a.x = c.x AND c.x = b.x AND a.x = b.x)

    In a negation, or another part with a region of its own, the variables around it are as good as
    constants. An `[id]` makes the id of every event in its part equal, those of negative parts too.

    >>> print(close_equalities(query("SEQ(A a, !(B b : b.id = c.id), C c) WHERE c.id = 5")).pattern)
    SEQ(A a, !(B b : b.id = c.id AND b.id = 5), C c WHERE c.id = 5)
    >>> print(close_equalities(query("SEQ(A a, B+ b[], !C c, D d) WHERE [id] AND a.id = 5")).pattern)
    SEQ(A a, B+ b[], !(C c : c.id = 5), D d WHERE [id] AND a.id = 5 AND d.id = 5 AND b[i].id = 5)

    Proof. What is added follows from conditions that must be TRUE for the same binding: those of the same
    region, and those of the regions around it, without which there is no match, whatever this region
    says. So it is TRUE where they are. It stays in its class of terms, so that once each has been added
    nothing is missing: the rule comes to an end.

    Not from conditions of a region inside, which may not have been evaluated, and not through a condition on
    every element of a list, which says nothing if the list is empty.

    >>> close_equalities(query("SEQ(A a, OR((B b : b.x = 5), C c), D? d WHERE a.x = b.x)"))
    >>> close_equalities(query("SEQ(B* b[], A a, C c WHERE b[i].x = a.x AND b[i].x = c.x)"))

    Under SKIP TILL NEXT MATCH a condition that is checked earlier makes a run skip an event that it would
    have taken. There, only negative parts are closed.

    >>> close_equalities(query("SEQ(A a, B b, C c) WHERE a.x = c.x AND b.x = c.x USING SKIP TILL NEXT MATCH"))
    """
    known = RegionEqualities.around(QueryRoles(query))
    visible = frozenset(targets(query.pattern))
    timed = query.strategy == SelectionStrategy.NEXT_MATCH
    pattern = _closed(query.pattern, known, EqualityScope(visible, visible, visible), timed)
    return None if pattern is query.pattern else replace(query, pattern=pattern)


def _closed(part: p.Pattern, known: RegionEqualities, place: EqualityScope, timed: bool) -> p.Pattern:
    """`part`, the root of a region, with what follows from what is known."""
    known = known.and_of(part)
    place = replace(place, sure=_sure(part) & place.own, visible=place.visible | set(targets(part)))
    new = () if timed else tuple(missing(known, place))
    inside = _with_regions(part, known.and_that(new), place.visible, timed)
    return with_condition(inside, *new) if new else inside


def _sure(part: p.Pattern) -> frozenset[str]:
    """The variables of single events that are bound whenever the region of `part` is satisfied."""
    events = (spot.part for spot in spots(part))
    return frozenset(event.variable for event in events if isinstance(event, p.Event) and event.variable)


def _with_regions(
    part: p.Pattern, known: RegionEqualities, visible: frozenset[str], timed: bool
) -> p.Pattern:
    """`part` with the regions inside it closed."""

    def change(child: Node) -> Node:
        if not isinstance(child, p.Pattern) or isinstance(child, p.ClosureGap):
            return child
        if isinstance(part, p.Joint):
            return _with_regions(child, known, visible, timed)
        place = EqualityScope(frozenset(targets(child)), frozenset(), visible)
        match part:
            case p.Exists(variables):
                place = replace(place, own=frozenset(variables), lifts=True)
            case p.Repeat(variable=str() as variable):
                place = replace(place, visible=visible - {variable})
            case p.Optional():
                return _closed(child, known.and_that(conjuncts(part.where)), place, timed)
        return _closed(child, known, place, timed and not isinstance(part, p.Not))

    return map_children(part, change)

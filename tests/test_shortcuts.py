"""Shortcuts: which events can be left out, or need no look at a negation, by the values of another part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from generate import streams, tied
from generate.streams import Row
from hypothesis import HealthCheck, assume, given, settings
from pattern_examples import query
from test_keys import matches

from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, names_in
from neelc.ir.patterns import declared
from neelc.ir.program import Match
from neelc.pattern.analysis.equalities import Shortcut, shortcuts
from neelc.pattern.analysis.regions import QueryRoles
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import members, read_events
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.reference.worlds import find_matches
from neelc.runtime.values.order import comparable

SOME = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def value(term: Expr, event: ReferenceEvent) -> object:
    (variable,) = names_in(term)
    return comparable(evaluate(term, EvaluationContext({variable: event})))


def values(match: Match, term: Expr, events: Sequence[ReferenceEvent]) -> set[object]:
    """The values of a term among the events of its variable's type, NULL apart."""
    (variable,) = names_in(term)
    (role,) = [role for role in QueryRoles(match).all if role.variable == variable]
    return {value(term, event) for event in members(match.types, events)[role.type.name]} - {None}


def semi_joined(match: Match, shortcut: Shortcut, events: Sequence[ReferenceEvent]) -> list[ReferenceEvent]:
    """The events without those that could only be the outer variable, and have a value that the inner one
    does not have."""
    known = values(match, shortcut.inner, events)
    (outer,) = names_in(shortcut.outer)
    of_type = members(match.types, events)

    def stays(event: ReferenceEvent) -> bool:
        roles = [role.variable for role in QueryRoles(match).all if event in of_type[role.type.name]]
        return roles != [outer] or value(shortcut.outer, event) in known

    return [event for event in events if stays(event)]


@SOME
@given(tied.nested(negative=False), streams.rows(most=9))
def test_a_semi_join_loses_no_match(match: Match, rows: list[Row]) -> None:
    found = [shortcut for shortcut in shortcuts(match) if not shortcut.negative]
    assume(found)
    events = list(read_events(match.streams[0], rows))
    for shortcut in found:
        assert matches(match, semi_joined(match, shortcut, events)) == matches(match, events), str(shortcut)


def without_negation(match: Match, shortcut: Shortcut) -> Match | None:
    """The query without the negation of the inner variable, if that stands in the list of the whole."""
    pattern = match.pattern
    if not isinstance(pattern, p.Seq | p.And):
        return None
    kept = tuple(part for part in pattern.parts if not is_negation_of(shortcut.inner, part))
    return replace(match, pattern=replace(pattern, parts=kept)) if len(kept) < len(pattern.parts) else None


def is_negation_of(term: Expr, part: p.Pattern) -> bool:
    return isinstance(part, p.Not) and names_in(term) <= declared(part)


@SOME
@given(tied.nested(negative=True), streams.rows(most=9))
def test_where_the_value_does_not_occur_a_negation_need_not_be_judged(match: Match, rows: list[Row]) -> None:
    found = [(s, plain) for s in shortcuts(match) if s.negative and (plain := without_negation(match, s))]
    assume(found)
    events = list(read_events(match.streams[0], rows))
    for shortcut, plain in found:
        known = values(match, shortcut.inner, events)
        (outer,) = names_in(shortcut.outer)
        with_it = {repr(each.binding) for each in find_matches(match, events)}
        for each in find_matches(plain, events):
            event = each.binding[outer]
            if isinstance(event, ReferenceEvent) and value(shortcut.outer, event) not in known:
                assert repr(each.binding) in with_it, str(shortcut)


def texts(text: str) -> list[str]:
    return [str(shortcut) for shortcut in shortcuts(query(text))]


def test_what_a_match_can_do_without_filters_nothing() -> None:
    assert texts("SEQ(A a, SEQ(B b, (C c : c.id = a.id))?)") == []
    assert texts("SEQ(A a, SEQ(B b, (C c : c.id = a.id))* k[])") == []
    assert texts("SEQ(A a, !SEQ(B b, !(C c : c.id = a.id), D d), E e)") == []


def test_what_it_cannot_do_without_does() -> None:
    assert texts("SEQ(A a, B b) WHERE a.id = b.id") == ["a.id IN b.id", "b.id IN a.id"]
    assert texts("SEQ(A a, SEQ(B b, (C c : c.id = a.id))+ k[])") == ["a.id IN c.id"]
    assert texts("SEQ(A a, SEQ(B b, C c)?) WHERE a.id = c.id") == ["a.id IN c.id"]
    assert texts("SEQ(A a, EXISTS c : SEQ(B b, (C c : c.id = a.id)))") == ["a.id IN c.id"]

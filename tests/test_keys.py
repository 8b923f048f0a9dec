"""Partition keys: cut by a key, the events give the matches of the whole."""

from __future__ import annotations

from collections.abc import Sequence

from generate import streams, tied
from generate.streams import Row
from hypothesis import HealthCheck, assume, given, settings
from pattern_examples import query

from neelc.ir.program import Match
from neelc.pattern.analysis.keys import Key, partition_keys
from neelc.pattern.analysis.regions import QueryRoles
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import members, read_events
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent, attribute, binding_key
from neelc.runtime.reference.worlds import find_matches
from neelc.runtime.values.order import comparable
from neelc.scalar.type_of import type_of


def matches(match: Match, events: Sequence[ReferenceEvent]) -> list[str]:
    return sorted(repr(binding_key(found.binding)) for found in find_matches(match, events))


def partitions(match: Match, key: Key, events: Sequence[ReferenceEvent]) -> list[list[ReferenceEvent]]:
    """The events by key. Those that no variable can be bound to may be counted: they go by the attribute."""
    terms = dict(key.terms)
    of_type = members(match.types, events)
    found: dict[object, list[ReferenceEvent]] = {}
    for event in events:
        roles = [role for role in QueryRoles(match).all if event in of_type[role.type.name]]
        values = {
            comparable(evaluate(terms[r.variable], EvaluationContext({r.variable: event}))) for r in roles
        }
        (value,) = values or {comparable(attribute(event, key.name))}
        found.setdefault(value, []).append(event)
    return list(found.values())


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(tied.queries(), streams.rows(most=9))
def test_the_matches_of_the_partitions_are_those_of_the_whole(match: Match, rows: list[Row]) -> None:
    keys = partition_keys(match)
    assume(keys)
    events = list(read_events(match.streams[0], rows))
    for key in keys:
        apart = [found for part in partitions(match, key, events) for found in matches(match, part)]
        assert sorted(apart) == matches(match, events), str(key)


def test_every_variable_has_a_term() -> None:
    text = "SEQ(A a, !(B b : b.id = a.id), EXISTS c : (C c : c.id = a.id), SEQ((D d : d.n = a.id), E e)+ k[])"
    (key,) = partition_keys(query(f"{text} WHERE k[i].e.id = a.id"))
    assert str(key) == "id: a.id, b.id, c.id, d.n, e.id"
    assert len({str(type_of(term)) for _, term in key.terms}) == 1, "in one type"


def test_branches_may_have_different_attributes() -> None:
    text = "OR(SEQ(A a, B b WHERE a.id = b.n), SEQ(C c, D d WHERE c.id = d.id))"
    assert [str(key) for key in partition_keys(query(text))] == ["id: a.id, b.n, c.id, d.id"]

"""The reference interpreter against the oracle: two readings of the language, compared on queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import oracle
import pytest
from generate import patterns, streams
from generate.streams import Row
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from repository import ROOT

from neelc import syntax as parse
from neelc.ir import patterns as p
from neelc.ir.expressions import AllenRelation
from neelc.ir.node import walk
from neelc.ir.program import Match
from neelc.ir.script import CreateStream, PatternQuery, RunQuery, Script, SelectionStrategy, Timestamp
from neelc.ir.types import LENGTHS
from neelc.program import bind
from neelc.runtime.reference import matches
from neelc.runtime.reference.events import read_events
from neelc.runtime.reference.model import binding_key
from neelc.runtime.reference.worlds import find_matches
from neelc.source import Source
from neelc.syntax.printer import format_script

QUESTIONS = [
    line
    for line in (ROOT / "tests/oracle/questions.txt").read_text().splitlines()
    if not line.startswith("--")
]
IMPRECISE = replace(streams.INTERVAL_STREAM, timestamp=Timestamp("ts", "te", "MILLISECOND"), end=None)


def bound(query: PatternQuery, stream: CreateStream = streams.STREAM) -> Match:
    script = Script((stream, RunQuery(query)))
    return bind(script, Source(format_script(script))).queries[0].match


@cache
def bound_match(question: str, stream: CreateStream) -> Match:
    source = Source(f"{format_script(Script((stream,)))}\nPATTERN {question};")
    return bind(parse.script(source), source).queries[0].match


def expected_matches(match: Match, rows: list[Row]) -> dict[object, oracle.Binding]:
    try:
        return oracle.matches(match, read_events(match.streams[0], rows))
    except oracle.TooMany:
        reject()


def assert_agreement(match: Match, rows: list[Row]) -> None:
    """Both find the same matches."""
    found = {binding_key(binding) for binding in matches(match, {"S": rows})}
    assert found == expected_matches(match, rows).keys()


def in_order(rows: list[Row], moved: Iterable[int] = ()) -> list[Row]:
    """The same times, but A comes before B and B before C, so that sequences are found; `moved` ones last."""
    times = sorted((row.get("ts"), row.get("te")) for row in rows)
    kinds = sorted(str(row["kind"]) for row in rows)
    for place in moved:
        kinds.append(kinds.pop(place % len(kinds)))
    return [
        {**row, "ts": start, "kind": kind, **({"te": end} if "te" in row else {})}
        for row, (start, end), kind in zip(rows, times, kinds, strict=True)
    ]


@pytest.mark.parametrize("strategy", SelectionStrategy)
@settings(max_examples=2 * settings().max_examples)
@given(data=st.data(), lasting=st.booleans())
def test_random_queries(strategy: SelectionStrategy, data: st.DataObject, lasting: bool) -> None:
    query = data.draw(patterns.queries(strategies=[strategy] * 5))
    match = bound(replace(query, returns=None), streams.INTERVAL_STREAM if lasting else streams.STREAM)
    rows = data.draw(streams.rows(most=6, lasting=lasting))
    assert_agreement(match, rows)
    assert_agreement(match, in_order(rows))


@settings(max_examples=10 * settings().max_examples)
@given(st.sampled_from(QUESTIONS), st.data(), st.booleans())
def test_questions_that_are_easily_misread(question: str, data: st.DataObject, lasting: bool) -> None:
    match = bound_match(question, streams.INTERVAL_STREAM if lasting else streams.STREAM)
    rows = data.draw(streams.rows(most=7, types=("A", "B", "C"), lasting=lasting))
    moved = data.draw(st.sets(st.integers(0, 6), max_size=2)) if rows else ()
    assert_agreement(match, in_order(rows, moved))


@given(patterns.queries(), streams.rows(most=6))
def test_collapsed(query: PatternQuery, rows: list[Row]) -> None:
    lists = [node for node in walk(query.pattern) if isinstance(node, p.Repeat)]
    # Iterations of composites cannot be joined.
    assume(lists and all(isinstance(node.part, p.Event) for node in lists))
    match = bound(replace(query, returns=None))
    joined = oracle.collapsed(expected_matches(match, rows).values())
    found = matches(replace(match, collapsed=True), {"S": rows})
    assert {binding_key(binding) for binding in found} == {binding_key(binding) for binding in joined}
    assert len(found) == len(joined)


@given(patterns.queries(depth=1), streams.rows(most=4, lasting=True))
def test_confidence(query: PatternQuery, rows: list[Row]) -> None:
    # A relation by its name needs events that last for a known time.
    assume(not any(isinstance(node, AllenRelation) for node in walk(query)))
    assert_confidence(bound(replace(query, returns=None), IMPRECISE), rows)


@settings(max_examples=3 * settings().max_examples)
@given(st.sampled_from(QUESTIONS), streams.rows(most=4, types=("A", "B", "C"), lasting=True))
def test_confidence_of_questions(question: str, rows: list[Row]) -> None:
    assert_confidence(bound_match(question, IMPRECISE), in_order(rows))


def assert_confidence(match: Match, rows: list[Row]) -> None:
    """All worlds of all events are tried, those too that the reference knows not to matter."""
    times = [(row["ts"], row["te"]) for row in rows]
    # Nearer to each other, and fewer worlds.
    near = [(low // 2, low // 2 + min(high - low, 2)) for low, high in times]  # type: ignore
    rows = [{**row, "ts": low, "te": high} for row, (low, high) in zip(rows, near, strict=True)]
    events = list(read_events(match.streams[0], rows))
    expected = oracle.confidences(match, events, LENGTHS["MILLISECOND"])
    found = {binding_key(item.binding): item.confidence for item in find_matches(match, events)}
    assert found == expected

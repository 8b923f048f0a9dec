"""Laws that hold by definition, on random patterns and random streams."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from generate import patterns, scripts, streams
from generate.conditions import number, seen_in
from generate.streams import Row
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from invariants import check

from neelc import syntax as parse
from neelc.errors import NeelError
from neelc.ir import patterns as p
from neelc.ir.node import Node, map_children, walk
from neelc.ir.script import PatternQuery, Script, SelectionStrategy
from neelc.program import bind
from neelc.runtime.reference import ReferenceEvent, matches
from neelc.source import Source
from neelc.syntax.printer import format_script

Matches = set[frozenset[tuple[str, object]]]
ROWS = streams.rows(most=7)
SHAPES = patterns.shapes(2).map(patterns.named)
WINDOW = st.integers(1, 8).map(lambda n: p.Window(number(n)))


def found(query: PatternQuery, rows: list[Row], lasting: bool = False) -> Matches:
    """The matches; what a match leaves NULL or empty is left out, so that patterns can be compared."""
    script = streams.script_of(query, lasting)
    program = bind(script, Source(format_script(script)))
    return {frozenset(_solid(m)) for m in matches(program.queries[0].match, {"S": rows})}


def _solid(binding: object) -> list[tuple[str, object]]:
    items = cast("dict[str, object]", binding).items()
    return [(name, _plain(value)) for name, value in items if value is not None and value != ()]


def _plain(value: object) -> object:
    match value:
        case ReferenceEvent():
            return value.row
        case tuple():
            return tuple(_plain(v) for v in value)
        case dict():
            return frozenset(_solid(value))
    return value


def without(node: Node, kind: type[p.Pattern]) -> bool:
    return not any(isinstance(part, kind) for part in walk(node))


@given(st.lists(SHAPES, min_size=2, max_size=3), WINDOW, ROWS)
def test_or_is_union(branches: list[p.Pattern], window: p.Window, rows: list[Row]) -> None:
    parts = _renamed(branches)
    together = found(PatternQuery(p.Or(parts), within=window), rows)
    apart = [found(PatternQuery(part, within=window), rows) for part in parts]
    assert together == set().union(*apart)


@given(st.lists(SHAPES, min_size=2, max_size=3), WINDOW, ROWS)
def test_and_is_commutative(parts: list[p.Pattern], window: p.Window, rows: list[Row]) -> None:
    renamed = _renamed(parts)
    forth = found(PatternQuery(p.And(renamed), within=window), rows)
    assert forth == found(PatternQuery(p.And(tuple(reversed(renamed))), within=window), rows)


@given(SHAPES, st.integers(1, 8), st.integers(1, 8), st.sampled_from([None, "EVENT"]), ROWS)
def test_a_wider_window_loses_no_positive_match(
    pattern: p.Pattern, size: int, more: int, unit: str | None, rows: list[Row]
) -> None:
    assume(without(pattern, p.Not))
    narrow = found(PatternQuery(pattern, within=p.Window(number(size), unit)), rows)
    assert narrow <= found(PatternQuery(pattern, within=p.Window(number(size + more), unit)), rows)
    assert narrow <= found(PatternQuery(pattern), rows)


@given(SHAPES, WINDOW, ROWS)
def test_a_negation_adds_no_match(pattern: p.Pattern, window: p.Window, rows: list[Row]) -> None:
    assume(not without(pattern, p.Not))
    bare = cast(p.Pattern, _positive(pattern))
    assert found(PatternQuery(pattern, within=window), rows) <= found(PatternQuery(bare, within=window), rows)


@given(SHAPES, WINDOW, ROWS)
def test_a_sequence_in_a_sequence_adds_no_order(
    pattern: p.Pattern, window: p.Window, rows: list[Row]
) -> None:
    parts = pattern.parts if isinstance(pattern, p.Seq) else (pattern,)
    assume(pattern.within is None)
    first, last = p.Event("A", "first"), p.Event("D", "last")
    nested = found(PatternQuery(p.Seq((first, p.Seq(parts), last)), within=window), rows)
    assert nested == found(PatternQuery(p.Seq((first, *parts, last)), within=window), rows)


@given(st.data(), SHAPES, ROWS)
def test_exists_projects(data: st.DataObject, shape: p.Pattern, rows: list[Row]) -> None:
    """Without a window and negations nothing else depends on the extent of the match."""
    pattern = p.Seq((p.Event("A", "first"), cast(p.Pattern, _positive(_without_exists(shape)))))
    dropped = data.draw(st.sampled_from([variable.name for variable in seen_in(pattern)]))
    projected = {frozenset(i for i in m if i[0] != dropped) for m in found(PatternQuery(pattern), rows)}
    assert found(PatternQuery(p.Exists((dropped,), pattern)), rows) == projected - {frozenset()}


@given(patterns.queries(strategies=(SelectionStrategy.STRICT,)), ROWS)
def test_a_stricter_strategy_finds_fewer(query: PatternQuery, rows: list[Row]) -> None:
    """For point events: what is consecutive is taken next, and what is taken next may be taken at all."""
    assume(query.strategy == SelectionStrategy.STRICT)
    query = replace(query, returns=None)
    strict = found(query, rows)
    following = found(replace(query, strategy=SelectionStrategy.NEXT_MATCH), rows)
    assert strict <= following <= found(replace(query, strategy=SelectionStrategy.ANY_MATCH), rows)


@given(patterns.queries(), streams.rows(most=7, lasting=True), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(
    query: PatternQuery, rows: list[Row], chance: random.Random
) -> None:
    order = list(range(len(rows)))
    chance.shuffle(order)
    query = replace(query, returns=None)
    moved = found(query, [rows[i] for i in order], lasting=True)
    back: Callable[[object], object] = lambda v: _mapped(v, order)  # noqa: E731
    assert {frozenset((n, back(v)) for n, v in m) for m in moved} == found(query, rows, lasting=True)


@settings(max_examples=200)
@given(patterns.queries())
def test_queries_made_to_be_valid_are_bound(query: PatternQuery) -> None:
    script = streams.script_of(query)
    source = Source(format_script(script))
    for made in (script, parse.script(source)):
        for bound in bind(made, source).queries:
            check(bound.match)


@settings(max_examples=300)
@given(scripts.scripts())
def test_any_tree_is_bound_or_diagnosed(script: Script) -> None:
    source = Source(format_script(script))
    try:
        bind(parse.script(source), source)
    except NeelError as error:
        assert error.diagnostics


def _renamed(parts: list[p.Pattern]) -> tuple[p.Pattern, ...]:
    """Variables of the parts made different: the first part's begin with `p0`, ..."""

    def rename(node: Node, prefix: str) -> Node:
        node = map_children(node, lambda child: rename(child, prefix))
        match node:
            case p.Event(variable=str(name)) | p.Repeat(variable=str(name)):
                return replace(node, variable=prefix + name)
            case p.Exists(names):
                return replace(node, variables=tuple(prefix + name for name in names))
        return node

    return tuple(cast(p.Pattern, rename(part, f"p{place}")) for place, part in enumerate(parts))


def _positive(node: Node) -> Node:
    """The pattern without its negative parts."""
    match node:
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts):
            kept = tuple(_positive(part) for part in parts if not isinstance(part, p.Not))
            return replace(node, parts=cast("tuple[p.Pattern, ...]", kept))
    return map_children(node, _positive)


def _without_exists(node: Node) -> Node:
    while isinstance(node, p.Exists):
        node = node.part
    return map_children(node, _without_exists)


def _mapped(value: object, order: list[int]) -> object:
    """Rows by their place before they were shuffled."""
    match value:
        case int():
            return order[value]
        case tuple():
            return tuple(_mapped(v, order) for v in value)
        case frozenset():
            return frozenset((name, _mapped(v, order)) for name, v in value)
    return value

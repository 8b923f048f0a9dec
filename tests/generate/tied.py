"""Pattern queries whose events are compared with each other: most by `id`, so that many have a key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from generate import patterns, streams
from generate.conditions import CURRENT, Seen, member, number, seen_in
from neelc.errors import NeelError
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.program import Match
from neelc.ir.script import PatternQuery, Return, SelectionStrategy
from neelc.program import bind
from neelc.source import Source
from neelc.syntax.printer import format_script

_events = st.builds(p.Event, st.sampled_from(streams.TYPES))
_singles: SearchStrategy[p.Pattern] = st.one_of(
    _events,
    _events,
    st.builds(p.Optional, _events),
    st.builds(lambda part: p.Repeat(part, 1, None), _events),
    st.builds(p.Not, _events),
)
_flat = st.builds(
    lambda first, parts, last: p.Seq((first, *parts, last)), _events, st.lists(_singles, max_size=2), _events
)
"""What every selection strategy is defined for."""


def _rarely(draw: DrawFn, times: int = 6) -> bool:
    return draw(st.integers(1, times)) == times


def _attribute(draw: DrawFn) -> str:
    return "x" if _rarely(draw, 12) else "id"


@st.composite
def tied(draw: DrawFn, node: p.Pattern, scope: tuple[Seen, ...]) -> p.Pattern:
    """`node` with most of its events compared with another one in `scope`."""
    match node:
        case p.Event() | p.Repeat(p.Event()):
            own = next((seen for seen in scope if seen.name == node.variable), None)
            others = [seen for seen in scope if seen.name != node.variable and not seen.is_list]
            if own is None or not others or _rarely(draw):
                return node
            event: e.Expr = e.Name((own.name,))
            left = member(e.Subscript(event, CURRENT) if own.is_list else event, _attribute(draw))
            right = e.Name((draw(st.sampled_from(others)).name, _attribute(draw)))
            return replace(node, where=e.Binary("=", left, right))
        case p.Repeat(part, variable=name):
            outside = tuple(seen for seen in scope if seen.name != name)
            return replace(node, part=draw(tied(part, outside + seen_in(part))))
        case p.Not(part) | p.Exists(_, part):
            hidden = tuple(seen for seen in seen_in(part) if seen not in scope)
            return replace(node, part=draw(tied(part, scope + hidden)))
        case p.Optional(part):
            return replace(node, part=draw(tied(part, scope)))
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts) | p.Or(parts):
            where = e.SameAttributes(("id",)) if _rarely(draw, 12) else None
            return replace(node, parts=tuple(draw(tied(part, scope)) for part in parts), where=where)
    raise AssertionError(type(node).__name__)


@st.composite
def queries(draw: DrawFn, strategies: Iterable[SelectionStrategy] = SelectionStrategy) -> Match:
    """A bound query over `streams.STREAM`."""
    strategy = draw(st.sampled_from([SelectionStrategy.ANY_MATCH, *strategies]))
    depth = draw(st.integers(1, 2))
    pattern = patterns.named(
        draw(patterns.shapes(depth) if strategy == SelectionStrategy.ANY_MATCH else _flat)
    )
    seen = seen_in(pattern)
    lists = [variable for variable in seen if variable.is_list]
    can_be_collapsed = bool(lists) and not any(variable.inner for variable in lists)
    query = PatternQuery(
        draw(tied(pattern, seen)),
        where=e.SameAttributes(("id",)) if _rarely(draw) else None,
        partition_by=("id",) if strategy == SelectionStrategy.PARTITION or _rarely(draw) else (),
        within=p.Window(number(draw(st.integers(2, 9))), "EVENT" if _rarely(draw) else None),
        strategy=strategy,
        returns=Return((), collapsed=True) if can_be_collapsed and _rarely(draw) else None,
    )
    return _bound(query)


@st.composite
def nested(draw: DrawFn, negative: bool) -> Match:
    """A bound query with a list, or another part, inside a list."""
    pair = st.builds(lambda parts: p.Seq(tuple(parts)), st.lists(_events, min_size=2, max_size=2))
    inner = draw(st.one_of(pair, pair, st.builds(p.Exists, st.just(()), pair), patterns.shapes(1)))
    outer = draw(st.sampled_from([p.Seq, p.Seq, p.And]))
    shape = outer((draw(_events), p.Not(inner) if negative else inner, draw(_events)))
    pattern = patterns.named(shape)
    within = p.Window(number(draw(st.integers(5, 12))))
    return _bound(PatternQuery(draw(tied(pattern, seen_in(pattern))), within=within))


def _bound(query: PatternQuery) -> Match:
    script = streams.script_of(query)
    try:
        return bind(script, Source(format_script(script))).queries[0].match
    except NeelError:
        assume(False)
        raise

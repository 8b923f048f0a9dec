"""Variants of a query, which have much in common with it: with a negation less, another window, another
order, or without an event. For queries as they are written, and for bound ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import TypeVar

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import Literal, conjoin, conjuncts, names_in
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import Pattern, all_parts, declared
from neelc.ir.program import Match
from neelc.ir.script import PatternQuery, Return, SelectionStrategy

Asked = TypeVar("Asked", Match, PatternQuery)


def variants(query: Asked, random: Random) -> Iterator[Asked]:
    """The query, and some that have much in common with it."""
    yield query
    negations = [part for part in all_parts(query.pattern) if isinstance(part, p.Not)]
    for negation in negations:
        yield without(query, negation)
    if isinstance(query.pattern, p.Seq | p.And):
        events = [part for part in query.pattern.parts if isinstance(part, p.Event)]
        if len(events) > 1 and len(events) < len(query.pattern.parts) + 1:
            yield without(query, random.choice(events))
        is_free = query.strategy in (None, SelectionStrategy.ANY_MATCH)
        if isinstance(query.pattern, p.Seq) and not negations and is_free:
            whole = query.pattern
            yield replace(query, pattern=p.And(whole.parts, within=whole.within, where=whole.where))
    if query.within is not None and isinstance(query.within.count, Literal):
        width = query.within.count
        assert isinstance(width.value, int)
        narrow = replace(query.within, count=replace(width, value=max(1, width.value // 2)))
        yield replace(query, within=narrow)


def without(query: Asked, part: Pattern) -> Asked:
    """The query without a part, and without what names the variables that it declares."""
    gone = set(declared(part))

    def change(node: Node) -> Node:
        if isinstance(node, p.Seq | p.And) and part in node.parts and len(node.parts) > 1:
            node = replace(node, parts=tuple(one for one in node.parts if one is not part))
        if isinstance(node, Pattern) and node.where is not None:
            node = replace(node, where=_not_naming(gone, node.where))
        return node

    changed = transform(query.pattern, change)
    assert isinstance(changed, Pattern)
    if isinstance(query, PatternQuery):
        return replace(
            query,
            pattern=changed,
            where=_not_naming(gone, query.where),
            returns=_returned(gone, query.returns),
        )
    return replace(query, pattern=changed)


def _not_naming(gone: set[str], where: e.Expr | None) -> e.Expr | None:
    """The conjuncts that name none of these variables."""
    return conjoin([one for one in conjuncts(where) if not gone & _named(one)])


def _returned(gone: set[str], returns: Return | None) -> Return | None:
    """The items that name none of these variables; all that is bound, if there is none."""
    if returns is None or not returns.items:
        return returns
    kept = tuple(item for item in returns.items if not gone & _named(item))
    return replace(returns, items=kept) if kept else None


def _named(node: Node) -> set[str]:
    """The variables that are named, whether the query is bound or not."""
    return {*names_in(node), *(one.parts[0] for one in walk(node) if isinstance(one, e.Name))}

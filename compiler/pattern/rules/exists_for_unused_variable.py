"""The rule `exists_for_unused_variable`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.ir.expressions import Aggregate, Expr, MatchProperty, conjuncts, is_many, names_in
from neelc.ir.node import walk
from neelc.ir.patterns import And, Event, Exists, Pattern, Repeat, Seq, all_parts, may_be_empty, targets
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.ir.types import DOUBLE, FLOAT, Array
from neelc.pattern.analysis.regions import QueryFacts, spots
from neelc.pattern.rules.rebuilding import shorter

IGNORING_REPEATS = ("any", "bool_and", "bool_or", "every", "max", "min", "some")
"""Aggregates whose value does not change when a match is counted twice, or the order of matches."""


def exists_for_unused_variable(query: Match) -> Match | None:
    """Where it does not matter how many matches there are, a variable that no result names need only exist.

    NEEL's Proj. One event for it is enough, and none has to be enumerated after the first.

    >>> from pattern_examples import query
    >>> rewritten = exists_for_unused_variable(query("SEQ(A a, B b, C+ c[]) WITHIN 9 RETURN DISTINCT a.x"))
    >>> print(rewritten.pattern)
    EXISTS b, c : (SEQ(A a, B b, C+ c[]) WITHIN 9 MILLISECONDS)

    Proof. The body of the EXISTS is satisfied by the same bindings of all variables as the pattern was:
    dropped events differ from all others, and its window is the query's, over all events. The query's own
    window, which stays, now holds for fewer events, so it allows more and leaves a scope in which the
    other lies. So the bindings of the variables that are left are those of the matches before, each once
    instead of once for each choice of the others. With DISTINCT, or aggregates that do not mind repeats
    such as max or count(DISTINCT), the result is the same.

    Not with a plain RETURN, count(*), sum or COLLAPSED lists. Where the result has the start of the
    match, the variables that decide it stay: those of the first parts of a SEQ; and so for its end.

    >>> exists_for_unused_variable(query("SEQ(A a, B b) RETURN a.x"))
    >>> exists_for_unused_variable(query("SEQ(A a, B b) RETURN a.x, count(*) AS number"))
    >>> exists_for_unused_variable(query("AND(A a, B b) RETURN DISTINCT a.x, match_end"))
    >>> print(exists_for_unused_variable(query("SEQ(A a, B b, C c) RETURN DISTINCT a.x, match_end")).pattern)
    EXISTS b : SEQ(A a, B b, C c)

    Nor is a variable dropped whose event a negation inside of a closure could find: an event of the match
    spoils nothing, so the negation must know it.

    >>> beside = query("AND(A a, B b, SEQ(C c, !A x, D d)+ k[]) RETURN DISTINCT k[1].c.x")
    >>> print(exists_for_unused_variable(beside).pattern)
    EXISTS b : AND(A a, B b, SEQ(C c, !A x, D d)+ k[])

    Nor one that a closure names in a condition on none of its own events: it holds where the list is empty.

    >>> aside = query("SEQ(A a, SEQ(C c, (D d : b.x = a.x))* k[], B b) RETURN DISTINCT k[last].c.x")
    >>> print(exists_for_unused_variable(aside))
    None

    A match binds at least one event, so a variable that is always bound must be left.

    >>> print(exists_for_unused_variable(query("SEQ(A? a, B b, C c) RETURN DISTINCT a.x")).pattern)
    EXISTS c : SEQ(A? a, B b, C c)

    Nor if the confidence of a match counts, which then would be that of several; nor under another
    strategy than SKIP TILL ANY MATCH, for which EXISTS has no meaning. A named query that others read as
    a stream takes its times from all events of its matches: the rule must not be used on it.
    """
    if (
        not _ignores_how_often(query)
        or query.confidence is not None
        or query.strategy != SelectionStrategy.ANY_MATCH
    ):
        return None
    unused = _unused(query)
    return replace(query, pattern=Exists(unused, _within(query))) if unused else None


def _ignores_how_often(query: Match) -> bool:
    """Whether the result is the same however often each match is found."""
    if query.aggregated:
        return all(map(_ignores_repeats, _aggregates(query)))
    return query.distinct


def _aggregates(query: Match) -> Iterator[Aggregate]:
    """The aggregates over all matches."""
    for output in query.outputs:
        for node in walk(output.expression):
            if isinstance(node, Aggregate) and (node.argument is None or not is_many(node.argument)):
                yield node


def _ignores_repeats(aggregate: Aggregate) -> bool:
    if aggregate.name in IGNORING_REPEATS:
        return True
    # Sums of these, and lists, depend on the order in which distinct values come.
    in_any_order = aggregate.type not in (FLOAT, DOUBLE) and not isinstance(aggregate.type, Array)
    return aggregate.distinct and in_any_order


def _unused(query: Match) -> tuple[str, ...]:
    """The variables that can be dropped, in order."""
    used = frozenset(name for output in query.outputs for name in _named(output.expression, query))
    unused = [name for name in targets(query.pattern) if name not in used]
    needed = QueryFacts(lambda: query).found_in_closures(unused, query.pattern)
    needed |= frozenset(_named_aside(query.pattern))
    unused = [name for name in unused if name not in needed]
    if may_be_empty(Exists(tuple(unused), query.pattern)):
        events = (spot.part for spot in spots(query.pattern))
        sure = [part.variable for part in events if isinstance(part, Event) and part.variable in unused]
        unused = [name for name in unused if name != sure[0]] if sure else []
    return tuple(unused)


def _named_aside(pattern: Pattern) -> Iterator[str]:
    """The variables in conditions inside of closures that name none of the closure's own events."""
    for closure in all_parts(pattern):
        if isinstance(closure, Repeat):
            parts = list(all_parts(closure))
            own = {part.variable for part in parts if isinstance(part, Event | Repeat)}
            for condition in (one for part in parts for one in conjuncts(part.where)):
                if not names_in(condition) & own:
                    yield from names_in(condition)


def _named(expression: Expr, query: Match) -> frozenset[str]:
    """The variables whose events an expression of the result depends on."""
    names = names_in(expression)
    for node in walk(expression):
        if isinstance(node, MatchProperty):
            names |= _deciding(node, query)
    return names


def _deciding(property: MatchProperty, query: Match) -> frozenset[str]:
    """The variables that decide when a match starts or ends. Imprecise times have no order of their own."""
    imprecise = any(stream.latest is not None for stream in query.streams)
    if not isinstance(query.pattern, Seq) or imprecise:
        return frozenset(targets(query.pattern))
    names: set[str] = set()
    for part in query.pattern.parts if property.name == "match_start" else reversed(query.pattern.parts):
        names.update(targets(part))
        if not may_be_empty(part):
            break
    return frozenset(names)


def _within(query: Match) -> Pattern:
    """The pattern with the query's window."""
    pattern, window = query.pattern, query.within
    if window is None or pattern.within is None:
        return replace(pattern, within=window or pattern.within)
    narrower = shorter(pattern.within, window)
    return And((pattern,), within=window) if narrower is None else replace(pattern, within=narrower)

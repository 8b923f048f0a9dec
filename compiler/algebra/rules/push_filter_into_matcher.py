"""The rule `push_filter_into_matcher`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neelc.algebra.rules.rule import filtered, occurrences, place_of, substituted
from neelc.ir.algebra import Filter, Operator, PatternMatcher
from neelc.ir.bound_rows import RowDefinition
from neelc.ir.expressions import AtRow, Expr, RowValue, conjoin, conjuncts
from neelc.ir.node import walk
from neelc.ir.row_patterns import RowNegation, RowVariable


def push_filter_into_matcher(operator: Operator) -> Operator | None:
    """A condition on the event of one symbol is checked when that symbol is emitted (19.2.2.4).

    A match has one event of a symbol that is once in the pattern and not in a repetition. If the condition is
    not TRUE for that event, the filter drops the match, whatever the others are; so it may as well not be
    found. The event still stands between its neighbours, as events do that emit nothing: no others come
    next to each other that did not before.

    >>> from network_examples import after, matcher, over
    >>> network = matcher("a b+ c", "a", "c")
    >>> print(after(push_filter_into_matcher, over(network, "m.a < 5 AND m.c > m.a")))
    FILTER m.c > m.a
      MATCH AS m PATTERN A B+ C DEFINE A AS A.x < 5 MEASURES a = A.x, c = C.x
        STREAM S AS s

    The thesis adds conditions to the last symbol "without any further conditions", and then moves them to the
    front. Not so if it is emitted several times: B's measure is that of the last B, and those before it
    need not be below 5. Nor if a match can do without it: with `b IS NULL` matches without B are meant.

    >>> after(push_filter_into_matcher, over(matcher("a b+ c", "b"), "m.b < 5")) is None
    True
    >>> after(push_filter_into_matcher, over(matcher("a (b | c) a", "b"), "m.b IS NULL")) is None
    True

    Nor if the pattern has the symbol negated, too: fewer events emit it then, and more do not.

    >>> after(push_filter_into_matcher, over(matcher("a !a* c", "a"), "m.a < 5")) is None
    True

    Nor if matches that the filter drops count for which of the others are kept: AFTER MATCH SKIP.

    >>> from neelc.ir.row_patterns import Skip
    >>> skipping = matcher("a b", "b")
    >>> skipping = replace(skipping, clause=replace(skipping.clause, skip=Skip("PAST LAST EVENT")))
    >>> after(push_filter_into_matcher, over(skipping, "m.b < 5")) is None
    True

    Not a condition that compares events of several symbols: checking each event alone takes linear time, and
    a definition that names another event does not.
    """
    match operator:
        case Filter(PatternMatcher() as matcher, condition) if matcher.clause.skip is None:
            moved = {one: own for one in conjuncts(condition) if (own := _of_symbol(one, matcher))}
            if moved:
                rest = [one for one in conjuncts(condition) if one not in moved]
                return filtered(_with_definitions(matcher, list(moved.values())), rest)
    return None


def _of_symbol(conjunct: Expr, matcher: PatternMatcher) -> RowDefinition | None:
    """The symbol whose only event the condition is about, and the condition as its definition."""
    clause = matcher.clause
    pairs = zip(matcher.payload, clause.measures, strict=True)
    meant = substituted(conjunct, {place_of(one): measure.expression for one, measure in pairs})
    values = [node for node in walk(meant) if isinstance(node, RowValue)]
    symbols = {one.variables for one in values if isinstance(one, AtRow) and _is_last(one)}
    if not all(isinstance(one, AtRow) and _is_last(one) for one in values) or len(symbols) != 1:
        return None
    (symbol,) = symbols.pop()
    if any(
        node.part == RowVariable(symbol) for node in walk(clause.pattern) if isinstance(node, RowNegation)
    ):
        return None
    return RowDefinition(symbol, meant) if occurrences(clause.pattern, symbol) == (1, 1) else None


def _is_last(value: AtRow) -> bool:
    """Whether it is of the last event of one symbol, which is the one where that is emitted once."""
    return len(value.variables) == 1 and value.anchor == "LAST" and value.place == value.shift == 0


def _with_definitions(matcher: PatternMatcher, more: Sequence[RowDefinition]) -> PatternMatcher:
    conditions = {one.variable: conjuncts(one.condition) for one in matcher.clause.definitions}
    for one in more:
        conditions[one.variable] = (*conditions.get(one.variable, ()), one.condition)
    definitions = [
        RowDefinition(symbol, condition)
        for symbol, several in conditions.items()
        if (condition := conjoin(several)) is not None
    ]
    return replace(matcher, clause=replace(matcher.clause, definitions=tuple(definitions)))

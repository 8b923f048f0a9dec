"""The rule `push_filter_below_matcher`."""

from __future__ import annotations

from dataclasses import replace

from neelc.algebra.rules.rule import (
    Place,
    filtered,
    has_ambiguous_keys,
    occurrences,
    place_of,
    places_in,
    substituted,
)
from neelc.ir.algebra import Filter, Operator, PatternMatcher, TemporalMatcher
from neelc.ir.bound_rows import Temporal
from neelc.ir.expressions import AtRow, Attribute, Expr, conjuncts
from neelc.ir.names import bare


def push_filter_below_matcher(operator: Operator) -> Operator | None:
    """A condition on the partition alone holds for all its events or for none: it is checked on the input.

    All events of a match are of one partition, and events of other partitions do not matter to it.

    >>> from network_examples import after, matcher, over
    >>> by_x = matcher("a b+ c", "a", "c", partition="x")
    >>> print(after(push_filter_below_matcher, over(by_x, "m.a < 5")))
    MATCH AS m PATTERN A B+ C MEASURES a = A.x, c = C.x PARTITION BY x
      FILTER s.x < 5
        STREAM S AS s

    Not a condition on another column: dropping events would leave others next to each other. And not one on a
    symbol that a match can do without, whose measure then is NULL in any partition.

    >>> after(push_filter_below_matcher, over(matcher("a b+ c", "a"), "m.a < 5")) is None
    True
    >>> after(push_filter_below_matcher, over(matcher("a b* c", "b", partition="x"), "m.b < 5")) is None
    True

    The same holds for temporal patterns and symbols that all alternatives have: negated symbols are looked
    for in the partition, too.
    """
    match operator:
        case Filter((PatternMatcher() | TemporalMatcher()) as matcher, condition):
            keys = _keys(matcher)
            moved = [one for one in conjuncts(condition) if places_in(one) and places_in(one) <= set(keys)]
            if moved:
                rest = [one for one in conjuncts(condition) if one not in moved]
                below = filtered(matcher.input, [substituted(one, keys) for one in moved])
                return filtered(replace(matcher, input=below), rest)
    return None


def _keys(matcher: PatternMatcher | TemporalMatcher) -> dict[Place, Expr]:
    """The measures that are columns of the partition, and these columns as the input has them."""
    columns = {bare(one.name): one for one in matcher.input.payload}
    keys: dict[Place, Expr] = {}
    for attribute, measure in zip(matcher.payload, matcher.clause.measures, strict=True):
        match measure.expression:
            case AtRow(argument=Attribute(name=name)) as value if _is_key(value, bare(name), matcher):
                keys[place_of(attribute)] = columns[bare(name)]
    return keys


def _is_key(value: AtRow, name: str, matcher: PatternMatcher | TemporalMatcher) -> bool:
    clause = matcher.clause
    if name not in clause.partition or has_ambiguous_keys(value.type) or value.place or value.shift:
        return False
    if isinstance(clause, Temporal):
        return all(set(value.variables) <= set(one.symbols) for one in clause.alternatives)
    return not value.variables or any(occurrences(clause.pattern, one)[0] > 0 for one in value.variables)

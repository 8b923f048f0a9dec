"""The rule `drop_impossible_choice`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.patterns import all_parts, declared, targets
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.absent import is_impossible, mentions, pattern_without
from neelc.pattern.analysis.absent import value_without as without
from neelc.pattern.rules.rebuilding import replaced


def drop_impossible_choice(query: Match) -> Match | None:
    """A branch of an OR that cannot be taken goes, and so does an optional part that cannot be there.

    Their variables are NULL in every match. If no other part declares them they go too, and NULL takes their
    place in conditions and in RETURN.

    >>> import pattern_examples
    >>> def shown(text):
    ...     smaller = drop_impossible_choice(pattern_examples.query(text))
    ...     return smaller and [str(smaller.pattern), *(str(output.expression) for output in smaller.outputs)]
    >>> shown("OR(A a, (B b : FALSE)) RETURN a.x, b.x")
    ['OR(A a)', 'a.x', 'NULL']
    >>> shown("SEQ(A a, (B b : FALSE)?, C c) WHERE b.x > c.x OR a.x > 1 RETURN count(*)")
    ['SEQ(A a, C c WHERE NULL > c.x OR a.x > 1.0D)', 'count(*)']

    Not when NULL cannot take their place, as in `k[].b.x`, which has an element for each of `k[]`:

    >>> shown("SEQ(A a, (B b : FALSE)?)+ k[] RETURN k[].b.x")

    Nor out of AND_NEG, where a negation beside an absent part looks nowhere:

    >>> shown("AND_NEG(A a, !C c, (B b : FALSE)?, D d) RETURN a.x")

    Nor the last part that could bind an event. Under SKIP TILL NEXT MATCH a condition waits until it is clear
    that a part is absent, so it must not lose a variable of one:

    >>> shown("SEQ(A a, (B b : FALSE)?, C c) WHERE b.x IS NULL USING SKIP TILL NEXT MATCH RETURN a.x")
    """
    result = None
    while (smaller := next(_smaller(result or query), None)) is not None:
        result = smaller
    return result


def _smaller(query: Match) -> Iterator[Match]:
    """The query with fewer choices, in every way there is; all choices of a part at once first."""
    for part in all_parts(query.pattern):
        if isinstance(part, p.Seq | p.And | p.Or):
            odd = [inner for inner in part.parts if _may_go(inner, part)]
            for gone in (odd, *([inner] for inner in odd)) if odd else ():
                kept = tuple(inner for inner in part.parts if inner not in gone)
                if not all(isinstance(inner, p.Not) for inner in kept):
                    changed = _without(query, part, replace(part, parts=kept))
                    yield from (changed,) if changed else ()


def _may_go(inner: p.Pattern, part: p.Pattern) -> bool:
    """Whether a branch cannot be taken, or a part of a list can only be absent."""
    if isinstance(part, p.Or):
        return is_impossible(inner) and not isinstance(inner, p.Optional)
    return isinstance(inner, p.Optional) and (is_impossible(inner) or is_impossible(inner.part))


def _without(query: Match, old: p.Pattern, new: p.Pattern) -> Match | None:
    """The query with `new` in the place of `old`, and without the variables that nothing declares any more.
    None when something cannot do without them."""
    rest = replaced(query.pattern, old, new)
    lost = declared(query.pattern) - declared(rest)
    wheres = [part.where for part in all_parts(rest) if part.where is not None]
    if (
        query.strategy == SelectionStrategy.NEXT_MATCH
        and not isinstance(old, p.Or)
        and any(mentions(w, lost) for w in wheres)
    ):
        return None
    pattern = pattern_without(rest, lost)
    outputs = [(output, without(output.expression, lost)) for output in query.outputs]
    if pattern is None or not targets(pattern) or any(expression is None for _, expression in outputs):
        return None
    columns = tuple(
        replace(output, expression=expression) for output, expression in outputs if expression is not None
    )
    return replace(query, pattern=pattern, outputs=columns)

"""The rule `simplify_condition`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.expressions import Expr, SameAttributes, conjoin, conjuncts
from neelc.ir.patterns import Pattern
from neelc.pattern.analysis.regions import QueryFacts, is_avoidable, is_checked_alike, is_timed, range_of
from neelc.pattern.analysis.truth import as_condition, simpler
from neelc.scalar.evaluate_constants import FALSE, TRUE


def simplify_condition(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """A condition need only be TRUE for the same events: what adds nothing goes, NOT moves inward.

    Below NOT and inside comparisons the value is kept, UNKNOWN included; at the top UNKNOWN is as good as
    FALSE. A conjunct that is TRUE vanishes, and one that is FALSE is all there is to say: `[id]` or not, the
    part has no match.

    >>> from pattern_examples import after
    >>> print(after(simplify_condition, "A a WHERE NOT (a.x > 1 OR a.n IS NULL) AND TRUE"))
    (A a : a.x <= 1 AND a.n IS NOT NULL)
    >>> print(after(simplify_condition, "A a WHERE a.x > 1 AND a.n < a.n"))
    (A a : FALSE)
    >>> print(after(simplify_condition, "A a WHERE a.x = a.x AND (a.n IN (3, 3) OR FALSE)"))
    (A a : a.x IS NOT NULL AND a.n = 3)

    A conjunct with `b[i]` is checked for each element, so that it holds for an empty list, and with `b[i-1]`
    it holds for the first element by definition. So it may not lose its `i`, nor be cut into conjuncts that
    range over more:

    >>> after(simplify_condition, "SEQ(A a, B* b[]) WHERE b[i].x <> b[i].x")
    >>> after(simplify_condition, "B+ b[] WHERE NOT (b[i].x <= 1 OR b[i-1].x <= 1)")
    >>> print(after(simplify_condition, "B+ b[] WHERE b[i].x > b[i-1].x OR TRUE"))
    B+ b[]

    SKIP TILL NEXT MATCH skips events that fail a condition as soon as it can be checked. There, a conjunct
    must name the same events as before: below, a `b` with x = 0 is taken, because the condition waits for c.

    >>> text = "SEQ(A a, B b, C c) WHERE b.x > 1 OR (c.x > 1 AND FALSE)"
    >>> print(after(simplify_condition, text))
    SEQ(A a, B b, C c WHERE b.x > 1)
    >>> after(simplify_condition, text + " USING SKIP TILL NEXT MATCH")
    """
    old = conjuncts(part.where)
    if not old:
        return None
    timed = is_timed(part, facts)
    simplified = [new for conjunct in old for new in _simplified(conjunct, part, facts, timed)]
    where = FALSE if FALSE in simplified else conjoin(new for new in simplified if new != TRUE)
    return None if where == part.where else replace(part, where=where)


def _simplified(conjunct: Expr, part: Pattern, facts: QueryFacts, timed: bool) -> tuple[Expr, ...]:
    """The conjuncts that may stand for one; itself when there are no simpler ones."""
    if isinstance(conjunct, SameAttributes):
        return (conjunct,)
    simplified = conjuncts(as_condition(simpler(conjunct)))
    if all(is_checked_alike(conjunct, new, timed) for new in simplified):
        return simplified
    fails = simplified == (FALSE,) and range_of(conjunct)[0] is None and not is_avoidable(part, facts)
    return simplified if fails else (conjunct,)

"""The rule `fold_constants`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.patterns import Pattern
from neelc.pattern.analysis.regions import QueryFacts
from neelc.scalar.evaluate_constants import folded


def fold_constants(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """An expression that names no event is computed once, at compile time.

    The value is the reference interpreter's own, and has the same type, so that the expression around it
    keeps its meaning. Failures (an overflow, a malformed text) are NULL at run time and so they are here.

    >>> from pattern_examples import after
    >>> print(after(fold_constants, "A a WHERE a.x > 60 * 60 AND a.user = concat('x', 'y')"))
    (A a : a.x > 3600.0D AND a.user = 'xy')
    >>> print(after(fold_constants, "A a WHERE a.x > 1 OR CAST('?' AS INT) = 1"))
    (A a : a.x > 1.0D OR NULL)

    When a condition is checked depends on the events it names. Folding names no fewer and no more, so it
    holds under every strategy. Not a value that has no literal, such as an interval; nor one that can be far
    longer than its text:

    >>> after(fold_constants, "A a WHERE repeat('x', 1000000000) = a.user")
    """
    if part.where is None:
        return None
    where = folded(part.where)
    return None if where is part.where else replace(part, where=where)

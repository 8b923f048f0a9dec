"""The rule `require_optional_part`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, SameAttributes, conjuncts, names_in
from neelc.ir.patterns import may_be_empty, targets
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.absent import conjunct_without
from neelc.pattern.analysis.regions import QueryFacts, range_of
from neelc.pattern.analysis.truth import as_condition, simpler
from neelc.pattern.rules.rebuilding import constrained
from neelc.scalar.evaluate_constants import FALSE


def require_optional_part(part: p.Pattern, facts: QueryFacts) -> p.Pattern | None:
    """An optional part that a condition of its list cannot do without is not optional.

    If the condition is not TRUE where the variables of the part are NULL, every match has the part.

    >>> from pattern_examples import after
    >>> print(after(require_optional_part, "SEQ(A a, B? b, C c) WHERE b.x > a.x"))
    SEQ(A a, B b, C c WHERE b.x > a.x)
    >>> print(after(require_optional_part, "SEQ(A a, (B+ b[])?) WHERE count(b[]) > 0"))
    SEQ(A a, B+ b[] WHERE count(b[]) > 0)

    Not when the condition may hold without it, which `b[i]` does; nor when the part may be there without an
    event, for an optional part has one:

    >>> after(require_optional_part, "SEQ(A a, B? b, C c) WHERE b.x > a.x OR a.x > 1")
    >>> after(require_optional_part, "SEQ(A a, B* b[], C? c) WHERE b[i].x > c.x")
    >>> after(require_optional_part, "SEQ(A a, (B* b[])?) WHERE size(b[].x) >= 0")

    Nor under SKIP TILL NEXT MATCH, where a run that leaves the part out takes the next event, and is lost
    only when the condition is checked.
    """
    if not isinstance(part, p.Joint) or facts.query.strategy == SelectionStrategy.NEXT_MATCH:
        return None
    conditions = [conjunct for conjunct in conjuncts(part.where) if _is_always_checked(conjunct)]
    parts = tuple(_required(inner, conditions) for inner in part.parts)
    return None if parts == part.parts else replace(part, parts=parts)


def _is_always_checked(conjunct: Expr) -> bool:
    """Whether a condition is checked in every match: one with `i` is not, if the list is empty."""
    return not isinstance(conjunct, SameAttributes) and range_of(conjunct)[0] is None


def _required(part: p.Pattern, conditions: list[Expr]) -> p.Pattern:
    if not isinstance(part, p.Optional) or may_be_empty(part.part):
        return part
    names = frozenset(targets(part))
    without = (conjunct_without(conjunct, names) for conjunct in conditions if names & names_in(conjunct))
    if any(new is not None and as_condition(simpler(new)) == FALSE for new in without):
        return constrained(part.part, part.where, part.within) or part
    return part

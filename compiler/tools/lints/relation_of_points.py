"""The lint `relation_of_points`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.tools.lints.lint import LintedQuery, consequence


def relation_of_points(linted: LintedQuery) -> Iterator[Diagnostic]:
    """A relation that two events cannot have, because one of them, or both, start and end at one time.

    >>> from lint_examples import shown
    >>> print(shown(relation_of_points, "AND(A a, B b) WHERE a OVERLAPS b WITHIN 5"))
    a OVERLAPS b: `a OVERLAPS b` is never TRUE, as `a` and `b` do not last: the query finds nothing

    A point can be within an interval, but no interval can be within a point.

    >>> from pattern_examples import LASTING
    >>> shown(relation_of_points, "AND(A a, B b) WHERE a DURING b WITHIN 5", LASTING)
    >>> shown(relation_of_points, "AND(A a, B b) WHERE a BEFORE b OR a EQUALS b WITHIN 5")
    """
    for part, relation in linted.impossible_relations:
        points = [f"`{one}`" for one in (relation.left, relation.right) if not linted.may_last(one)]
        why = " and ".join(points) + (" does not last" if len(points) == 1 else " do not last")
        result = f": {consequence(part, linted)}" if relation in linted.written(part) else ""
        names = ", ".join(linted.relations_of(relation))
        hint = f"these can hold: {names}; END BY declares that events last"
        text = linted.text(relation)
        yield linted.warning("NEEL6007", f"`{text}` is never TRUE, as {why}{result}", relation, hint)

"""The lint `row_conditions_never_true`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from neelc.errors import Diagnostic
from neelc.ir import expressions as e
from neelc.ir.node import walk
from neelc.pattern.analysis.truth import AtMost, contradict
from neelc.scalar.evaluate_constants import FALSE, is_constant
from neelc.tools.lints.conditions_never_true import null_hint
from neelc.tools.lints.lint import (
    LintedClause,
    is_last,
    itself_hint,
    minimal,
    of_current_row,
    plain,
)


def row_conditions_never_true(linted: LintedClause) -> Iterator[Diagnostic]:
    """A condition in DEFINE that no row meets, or conditions that no row meets together.

    >>> from lint_examples import shown_of_rows as shown
    >>> lint = row_conditions_never_true
    >>> print(shown(lint, "PATTERN (A B+) DEFINE B AS x > LAST(B.x)"))
    x > LAST(B.x): `x > LAST(B.x)` is never TRUE: the clause finds nothing
    >>> print(shown(lint, "PATTERN (A B*) DEFINE B AS PREV(x) > 5 AND n = 1 AND PREV(B.x) < 3"))
    PREV(B.x) < 3: `PREV(B.x) < 3` contradicts `PREV(x) > 5`: no row matches `B`

    The order of the rows counts too: a row does not come before those that are matched already.

    >>> print(shown(lint, "PATTERN (A B) DEFINE B AS ts < A.ts"))
    ts < A.ts: `ts < A.ts` is never TRUE, as rows are in the order of ts: the clause finds nothing
    >>> shown(lint, "PATTERN (A B) DEFINE B AS ts < A.ts", order="ts DESC")
    >>> shown(lint, "PATTERN (A B) DEFINE B AS ts <= A.ts AND NEXT(ts) > ts")

    Different rows of a variable do not contradict each other, nor do different variables. A condition that
    is FALSE is written on purpose.

    >>> shown(lint, "PATTERN (A B+) DEFINE B AS x > LAST(B.x, 1) AND x < FIRST(B.x) AND x <> A.x")
    >>> shown(lint, "PATTERN (A B) DEFINE A AS x > 5, B AS x < 3")
    >>> shown(lint, "PATTERN (A | B) DEFINE B AS FALSE")
    """
    for variable, conditions in linted.conditions.items():
        left = [condition for condition in conditions if condition != FALSE]
        while found := _clash(left, variable, linted):
            if not _is_switch(found, linted):
                yield _warning(found, variable, linted)
            left.remove(found[-1])  # the others may clash as well


def _clash(conditions: Sequence[e.Expr], variable: str, linted: LintedClause) -> list[e.Expr]:
    """Conditions that are never TRUE together, a single one before others; none if all may be."""

    def fails(some: Sequence[e.Expr]) -> bool:
        return _fail(some, variable, linted, in_order=True)

    if not fails(conditions):
        return []
    single = next((one for one in conditions if fails([one])), None)
    return minimal(conditions, fails) if single is None else [single]


def _fail(conditions: Sequence[e.Expr], variable: str, linted: LintedClause, in_order: bool) -> bool:
    changed = [of_current_row(one, variable) for one in conditions]
    return contradict(changed, order=_order(changed, linted) if in_order else ())


def _order(conditions: Sequence[e.Expr], linted: LintedClause) -> Iterator[AtMost]:
    """What ORDER BY says about the values that conditions name. Rows may be equal in it."""
    if not linted.clause.order:
        return
    first = linted.clause.order[0]
    ordered = plain(first.expression)
    values = dict.fromkeys(node for one in conditions for node in walk(one) if isinstance(node, e.AtRow))
    for one, other in permutations((value for value in values if value.argument == ordered), 2):
        if _is_before(one, other):
            yield AtMost(other, one) if first.descending else AtMost(one, other)


def _is_before(one: e.AtRow, other: e.AtRow) -> bool:
    """Whether one row is never after another, in DEFINE, where the match ends with the current row."""
    if (one.variables, one.anchor, one.place) == (other.variables, other.anchor, other.place):
        return one.shift <= other.shift
    is_current = not other.variables and is_last(other)
    return is_current and one.shift <= 0 <= other.shift


def _is_switch(conditions: Sequence[e.Expr], linted: LintedClause) -> bool:
    """Whether a condition is given from outside altogether, to turn a variable off."""
    return all(is_constant(one) and linted.has_parameter(one) for one in conditions)


def _warning(conditions: Sequence[e.Expr], variable: str, linted: LintedClause) -> Diagnostic:
    *others, last = conditions
    named = " and ".join(f"`{linted.text(other)}`" for other in others)
    result = linted.no_row_matches(variable)
    if not _fail(conditions, variable, linted, in_order=False):
        order = linted.text(linted.clause.order[0].expression)
        what = f"`{linted.text(last)}` is never TRUE" + (f" with {named}" if others else "")
        message = f"{what}, as rows are in the order of {order}: {result}"
        return linted.warning("NEEL6005", message, last, "reverse the comparison or the order")
    what = f"contradicts {named}" if others else "is never TRUE"
    hint = null_hint(last, linted) or itself_hint(conditions, variable, linted)
    return linted.warning("NEEL6004", f"`{linted.text(last)}` {what}: {result}", last, hint)

"""The lint `conditions_never_true`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir import expressions as e
from neelc.ir.node import walk
from neelc.scalar.evaluate_constants import is_constant
from neelc.tools.lints.lint import Clash, LintedQuery, WrittenText, consequence


def conditions_never_true(linted: LintedQuery) -> Iterator[Diagnostic]:
    """A condition that no event meets, or conditions that no event meets together.

    >>> from lint_examples import shown
    >>> print(shown(conditions_never_true, "A a WHERE a.x BETWEEN 5 AND 3"))
    a.x BETWEEN 5 AND 3: `a.x BETWEEN 5 AND 3` is never TRUE: the query finds nothing
    >>> print(shown(conditions_never_true, "SEQ(A a, B b) WHERE a.x > 5 AND b.x = 1 AND a.x < 3"))
    a.x < 3: `a.x < 3` contradicts `a.x > 5`: the query finds nothing
    >>> print(shown(conditions_never_true, "SEQ(A a, !(B b : b.x > a.x), C c) WHERE a.x > c.x AND c.x > b.x"))
    c.x > b.x: `c.x > b.x` contradicts `a.x > c.x` and `b.x > a.x`: the negative part excludes nothing

    Conditions on different elements of a list do not contradict each other, nor do those of different
    branches; and an empty list has no element that fails.

    >>> shown(conditions_never_true, "B+ b[] WHERE b[1].x > 5 AND b[last].x < 3")
    >>> shown(conditions_never_true, "SEQ(A a, OR((B b : a.x > 5), (C c : a.x < 3)))")
    >>> shown(conditions_never_true, "SEQ(A a, B* b[]) WHERE b[i].x > 5 AND b[i].x < 3")
    """
    for clash in linted.clashes:
        if not clash.order and not _is_switch(clash, linted):
            yield _warning(clash, linted)


def _warning(clash: Clash, linted: LintedQuery) -> Diagnostic:
    last, others = clash.conditions[-1], linted.others(clash)
    result = consequence(clash.region, linted)
    if not others:
        message = f"`{linted.text(last)}` is never TRUE: {result}"
        return linted.warning("NEEL6004", message, last, null_hint(last, linted))
    named = " and ".join(f"`{other}`" for other in others)
    message = f"`{linted.text(last)}` contradicts {named}: {result}"
    return linted.warning("NEEL6004", message, last)


def _is_switch(clash: Clash, linted: LintedQuery) -> bool:
    """Whether a condition is given from outside altogether, to turn a part of the query off."""
    return all(is_constant(one) and linted.has_parameter(one) for one in clash.conditions)


def null_hint(condition: e.Expr, linted: WrittenText) -> str | None:
    """A comparison with NULL is UNKNOWN, and IS NULL is what was meant."""
    for node in walk(condition):
        match node:
            case e.Binary("=" | "<>" as op, left, right) if _is_null(left) or _is_null(right):
                operand = left if _is_null(right) else right
                return f"write {linted.text(operand)} IS {'NOT ' if op == '<>' else ''}NULL"
    return None


def _is_null(expression: e.Expr) -> bool:
    """Whether an expression is the literal NULL; the binder may have given it a type."""
    while isinstance(expression, e.Cast) and expression.implicit:
        expression = expression.operand
    return isinstance(expression, e.Literal) and expression.value is None

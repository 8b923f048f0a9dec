"""The lint `condition_against_order`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir import expressions as e
from neelc.pattern.analysis.truth import AtMost
from neelc.tools.lints.lint import LintedQuery, consequence


def condition_against_order(linted: LintedQuery) -> Iterator[Diagnostic]:
    """A SEQ that conditions on the times of its events ask for in another order.

    >>> from lint_examples import shown
    >>> print(shown(condition_against_order, "SEQ(A a, B b) WHERE b.ts <= a.ts"))
    b.ts <= a.ts: `b.ts <= a.ts` is never TRUE, as SEQ puts `a` before `b`: the query finds nothing
    >>> print(shown(condition_against_order, "SEQ(A a, B b) WHERE a.ts > 9 AND b.ts < 5"))
    b.ts < 5: `b.ts < 5` is never TRUE with `a.ts > 9`, as SEQ puts `a` before `b`: the query finds nothing

    In an AND events may come in any order.

    >>> shown(condition_against_order, "AND(A a, B b) WHERE b.ts < a.ts WITHIN 5")
    """
    for clash in linted.clashes:
        if clash.order:
            last, others = clash.conditions[-1], linted.others(clash)
            named = " and ".join(f"`{other}`" for other in others)
            what = f"`{linted.text(last)}` is never TRUE" + (f" with {named}" if others else "")
            order = " and ".join(dict.fromkeys(_order(claim) for claim in clash.order))
            message = f"{what}, as {order}: {consequence(clash.region, linted)}"
            yield linted.warning("NEEL6005", message, last, _hint(last))


def _order(claim: AtMost) -> str:
    match claim:
        case AtMost(e.Attribute(left) | e.EventTime(left), e.Attribute(right) | e.EventTime(right)):
            if left == right:
                return f"`{left}` does not end before it starts"
            return f"SEQ puts `{left}` before `{right}`"
    return f"{claim.left} comes before {claim.right}"


def _hint(condition: e.Expr) -> str:
    if isinstance(condition, e.Binary) and condition.op == "=":
        return "AND(...) allows events at the same time"
    return "reverse the condition or the parts; AND(...) allows any order"

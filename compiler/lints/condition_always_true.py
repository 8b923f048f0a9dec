"""The lint `condition_always_true`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir import expr as e
from neelc.ir.node import walk
from neelc.lints.lint import Asked
from neelc.rewrite.always import always, untrue
from neelc.rewrite.claims import Present
from neelc.rewrite.constants import TRUE, folded
from neelc.rewrite.contradiction import contradict
from neelc.rewrite.truth import simpler


def condition_always_true(asked: Asked) -> Iterator[Diagnostic]:
    """A condition that excludes nothing, or nothing but NULL.

    >>> from neelc.lints.examples import told
    >>> print(told(condition_always_true, "A a WHERE a.x > 1 AND 'amount' < 'price'"))
    'amount' < 'price': `'amount' < 'price'` is always TRUE
    >>> print(told(condition_always_true, "SEQ(A a, B b) WHERE a.id = a.id"))
    a.id = a.id: `a.id = a.id` is TRUE for all values but NULL
    >>> print(told(condition_always_true, "SEQ(A a, B b) WHERE a.ts < b.ts"))
    a.ts < b.ts: `a.ts < b.ts` is always TRUE: the order of the pattern says the same

    Not if it may be UNKNOWN for another reason than that an attribute is NULL:

    >>> told(condition_always_true, "A a WHERE a.x IN (1, NULL)")
    >>> told(condition_always_true, "A a WHERE a.x / a.n = a.x / a.n")

    TRUE and `1 = 1` are written on purpose, and a parameter may have another value the next time.

    >>> told(condition_always_true, "A a WHERE TRUE AND 1 = 1")
    """
    for conjunct, part in asked.conditions:
        if asked.has_parameter(conjunct) or _is_on_purpose(conjunct):
            continue
        text = asked.text(conjunct)
        if always(conjunct) is True:
            yield asked.warning("NEEL6004", f"`{text}` is always TRUE", conjunct, "leave it out")
        elif asked.is_always_true(conjunct, part):
            message = f"`{text}` is always TRUE: the order of the pattern says the same"
            yield asked.warning("NEEL6004", message, conjunct, "leave it out")
        elif terms := _always_unless_null(conjunct):
            message = f"`{text}` is TRUE for all values but NULL"
            wanted = " AND ".join(f"{asked.text(term)} IS NOT NULL" for term in terms)
            hint = f"is another variable or value meant? otherwise write {wanted}"
            yield asked.warning("NEEL6004", message, conjunct, hint)


def _is_on_purpose(conjunct: e.Expr) -> bool:
    match conjunct:
        case e.Binary("=", e.Literal(left), e.Literal(right)):
            return left == right
    return conjunct == TRUE


def _always_unless_null(conjunct: e.Expr) -> tuple[e.Expr, ...]:
    """The attributes that a condition asks for nothing else of than to be there; none if it does more."""
    condition = simpler(folded(conjunct))
    terms = dict.fromkeys(node for node in walk(condition) if isinstance(node, e.Attribute | e.EventTime))
    known = [Present(term) for term in terms]
    return tuple(terms) if contradict([untrue(condition)], known) else ()

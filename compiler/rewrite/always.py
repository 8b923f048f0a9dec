"""Conditions whose form alone says that they are always, or never, TRUE."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.rewrite.claims import AtMost, Present, spelled_out
from neelc.rewrite.constants import FALSE, TRUE, folded
from neelc.rewrite.contradiction import contradict
from neelc.rewrite.facts import Facts
from neelc.rewrite.judging import range_of
from neelc.rewrite.order_in_time import times, times_in_order
from neelc.rewrite.regions import spots
from neelc.rewrite.truth import OPPOSITE, negated, simpler


def always(conjunct: e.Expr, part: p.Pattern | None = None, facts: Facts | None = None) -> bool | None:
    """True when a conjunct is TRUE whatever the events are, False when it is never; None when that is not
    clear. With the part that it stands at, the order of the part's events counts too.

    >>> from neelc.rewrite.examples import query
    >>> def seen(text):
    ...     asked = query(text)
    ...     return always(asked.pattern.where, asked.pattern, Facts(lambda: asked))
    >>> seen("A a WHERE a.x = a.x OR a.x IS NULL"), seen("A a WHERE a.x <= 5 OR a.x > 3 OR a.x IS NULL")
    (True, True)
    >>> seen("A a WHERE a.x > 5 AND a.x < 3"), seen("A a WHERE a.n > 5 AND a.x < 3")
    (False, None)
    >>> seen("SEQ(A a, B b) WHERE a.ts < b.ts"), seen("SEQ(A a, B b) WHERE a.ts >= b.ts")
    (True, False)

    An attribute may be NULL, and so may a time, where the event may be absent:

    >>> seen("A a WHERE a.x <= 5 OR a.x > 3"), seen("SEQ(A a, B? b) WHERE a.ts < b.ts")
    (None, None)

    Of an empty list a conjunct with `i` is TRUE:

    >>> seen("B+ b[] WHERE b[i].x <> b[i].x"), seen("SEQ(A a, B* b[]) WHERE b[i].x <> b[i].x")
    (False, None)
    """
    condition = simpler(folded(conjunct))
    present: list[Present] = []
    order: list[AtMost] = []
    if part is not None and facts is not None:
        present += _present(condition, part, facts)
        order += times_in_order(part, [condition], facts)
    if contradict([untrue(condition)], present, order):
        return True
    if _is_asked(conjunct, part) and contradict([condition], present, order):
        return False
    return None


def untrue(condition: e.Expr) -> e.Expr:
    """What is TRUE exactly when the condition is not: when it is FALSE or UNKNOWN.

    >>> from neelc.rewrite.examples import query
    >>> print(untrue(query("A a WHERE a.x > 1 OR a.n IS NULL").pattern.where))
    (a.x IS NULL OR 1 IS NULL OR a.x <= 1) AND a.n IS NOT NULL
    """
    match spelled_out(condition):
        case e.Literal(value):
            return FALSE if value is True else TRUE
        case e.Conjunction(operands):
            return e.Disjunction(tuple(map(untrue, operands)))
        case e.Disjunction(operands):
            return e.Conjunction(tuple(map(untrue, operands)))
        case e.Binary(op, left, right) as comparison if op in OPPOSITE:
            return e.Disjunction((e.IsNull(left), e.IsNull(right), negated(comparison)))
        case e.IsNull() as test:
            return negated(test)
        case other:
            return e.Disjunction((e.IsNull(other), negated(other)))


def _present(condition: e.Expr, part: p.Pattern, facts: Facts) -> Iterator[Present]:
    """The times of events that every match of the part has."""
    bound = {spot.part.variable for spot in spots(part) if isinstance(spot.part, p.Event)}
    for term, time in times(part, [condition], facts).items():
        if isinstance(time.event, e.Variable) and time.event.name in bound:
            yield Present(term)


def _is_asked(conjunct: e.Expr, part: p.Pattern | None) -> bool:
    """Whether a conjunct is judged at all: one with `i` needs an element."""
    elements, lag = range_of(conjunct)
    lists = [spot.part for spot in spots(part)] if part else []
    long = {node.variable for node in lists if isinstance(node, p.Repeat) and node.least > lag}
    return elements is None or (isinstance(elements, e.Variable) and elements.name in long)

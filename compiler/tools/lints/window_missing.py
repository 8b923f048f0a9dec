"""The lint `window_missing`."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.node import Node, walk
from neelc.ir.patterns import inner_parts
from neelc.ir.script import SelectionStrategy
from neelc.tools.lints.lint import LintedQuery, times_in


def window_missing(linted: LintedQuery) -> Iterator[Diagnostic]:
    """A pattern of several events that no window bounds: each event waits for others without an end.

    >>> from lint_examples import shown
    >>> print(shown(window_missing, "SEQ(A a, !C c, B b) WHERE [id]"))
    SEQ(A a, !C c, B b): this pattern has no window: events are kept until the input ends
    >>> print(shown(window_missing, "SEQ(A a, SEQ(B b, C c) WITHIN 5)"))
    SEQ(A a, SEQ(B b, C c) WITHIN 5): this pattern has no window: events are kept until the input ends

    Not if one event is enough, or every branch has a window, or a condition compares times.

    >>> shown(window_missing, "OR(A a, SEQ(B b, C c) WITHIN 5)")
    >>> shown(window_missing, "SEQ(A a, B b) WHERE b.ts - a.ts < 5000")
    >>> shown(window_missing, "SEQ(A a, B b) WHERE a.ts > 1000 AND b.ts < 5000")

    That `a` is before `b` is no news in a SEQ:

    >>> shown(window_missing, "SEQ(A a, B b) WHERE a.ts < b.ts") is None
    False

    With contiguity, the next event decides.

    >>> shown(window_missing, "SEQ(A a, B b) USING STRICT CONTIGUITY")
    """
    match = linted.match
    if (
        match.strategy not in (SelectionStrategy.ANY_MATCH, SelectionStrategy.NEXT_MATCH)
        or match.within is not None
    ):
        return
    if not _is_bounded(match.pattern) and not any(
        _is_about_time(*found, linted) for found in linted.conditions
    ):
        message = "this pattern has no window: events are kept until the input ends"
        yield linted.warning("NEEL6003", message, match.pattern, "add WITHIN, for example WITHIN 10 MINUTES")


def _is_bounded(part: p.Pattern) -> bool:
    """Whether the events of a part are one, or lie in a window. Negative parts lie between the others."""
    if part.within is not None:
        return True
    inner = [one for one in inner_parts(part) if not isinstance(one, p.Not)]
    match part:
        case p.Event():
            return True
        case p.Repeat(most=most) if most != 1:
            return False
        case p.Or():
            return all(map(_is_bounded, inner))
    return len(inner) == 1 and _is_bounded(inner[0])


def _is_about_time(conjunct: e.Expr, part: p.Pattern, linted: LintedQuery) -> bool:
    """Whether a conjunct might bound how far events lie apart: it compares a time, or speaks of two."""
    times = times_in(conjunct, linted.match.streams)
    events = {time.event for time in times}
    compared = [side for node in walk(conjunct) for side in _compared(node)]
    return (len(events) > 1 or any(side in times for side in compared)) and not linted.is_always_true(
        conjunct, part
    )


def _compared(node: Node) -> Iterator[e.Expr]:
    """What a node compares, without the casts around it."""
    sides: tuple[e.Expr, ...] = ()
    match node:
        case e.Binary(op, left, right) if op in e.COMPARISONS:
            sides = (left, right)
        case e.Between(operand) | e.InList(operand):
            sides = (operand,)
    for side in sides:
        while isinstance(side, e.Cast):
            side = side.operand
        yield side

"""Which relation two events have instead of the one that is required, and how far they are from that."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir import expressions as e
from neelc.ir.allen import name_of, relation
from neelc.ir.end_points import COMPARISONS, EndComparison, EndPoint
from neelc.ir.node import walk
from neelc.runtime.reference.evaluate import event_of
from neelc.runtime.reference.events import ENDLESS
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.tools.why.model import length_text

VERBS = {False: "starts", True: "ends"}


def relations_held(condition: e.Expr, context: EvaluationContext) -> str:
    """The relations that the events of a condition have: `h MEETS p: h ends when p starts`. What is missing
    is told if the relation is all that the condition requires.

    >>> def shown(wanted: str, h: tuple[int, int], p: tuple[int, int]) -> None:
    ...     times = {"h": h, "p": p}
    ...     events = {v: ReferenceEvent("S", n, "A", *times[v], {}, times[v]) for n, v in enumerate("hp")}
    ...     both = e.RelatedEvents((), e.Variable("h"), wanted, e.Variable("p"))
    ...     print(relations_held(both, EvaluationContext(events)))
    >>> second = 10**9
    >>> shown("OVERLAPS", (1, 4 * second), (4 * second, 9 * second))
    h MEETS p: h ends when p starts
    >>> shown("DURING", (second, 8 * second), (3 * second, 6 * second))
    h CONTAINS p: p starts 2 seconds after h starts, h ends 2 seconds after p ends
    >>> shown("MEETS", (second, second), (second, 3 * second))
    h STARTS p: h is a point
    """
    found: dict[tuple[e.EventRef, e.EventRef], str] = {}
    for node in walk(condition):
        if not isinstance(node, e.RelatedEvents) or (node.left, node.right) in found:
            continue
        left, right = (event_of(one, context) for one in (node.left, node.right))
        if left is None or right is None:
            continue
        held = name_of(relation((left.start, left.end), (right.start, right.end)))
        text = f"{node.left} {held} {node.right}"
        events = {"A": (str(node.left), left), "B": (str(node.right), right)}
        missing = ", ".join(_missing(node.relation, events)) if node is condition else ""
        found[node.left, node.right] = f"{text}: {missing}" if missing else text
    return ", ".join(found.values())


def _missing(wanted: str, events: dict[str, tuple[str, ReferenceEvent]]) -> Iterator[str]:
    """How the end points are where they should be otherwise."""
    for comparison in COMPARISONS[wanted]:
        first, second = (_time(point, events) for point in (comparison.left, comparison.right))
        if not (first < second if comparison.op == "<" else first == second):
            yield _told(comparison, first - second, events)


def _time(point: EndPoint, events: dict[str, tuple[str, ReferenceEvent]]) -> int:
    _, event = events[point.symbol]
    return event.end if point.end else event.start


def _told(comparison: EndComparison, difference: int, events: dict[str, tuple[str, ReferenceEvent]]) -> str:
    """`p starts 2 seconds after h ends`: the later end point first."""
    points = (comparison.left, comparison.right) if difference > 0 else (comparison.right, comparison.left)
    (later, event), (earlier, _) = (events[point.symbol] for point in points)
    if later == earlier:
        return f"{later} is a point"
    if points[0].end and event.end == ENDLESS:
        return f"{later} does not end"
    distance = f"{length_text(abs(difference))} after" if difference else "when"
    return f"{later} {VERBS[points[0].end]} {distance} {earlier} {VERBS[points[1].end]}"

"""A warning about SELECT: nothing lasts, so that events meet only when they are simultaneous."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir import algebra as a
from neelc.ir.algebra_events import is_pointwise
from neelc.ir.node import walk
from neelc.source import Span

HINT = "add a window to the stream, for example WINDOW(TIME 10 MINUTES)"


def nothing_lasts(query: a.Algebra) -> Iterator[Diagnostic]:
    """An aggregate of events, or several streams of events, of which each is valid for one instant only: they
    meet when they are simultaneous.

    >>> from neelc.lints.examples import told_of_select
    >>> print(told_of_select("SELECT avg(x) AS m FROM S"))
    nothing lasts here: only simultaneous events are aggregated
    >>> print(told_of_select("SELECT a.x FROM S AS a, S AS b"))
    nothing lasts here: only simultaneous events are correlated

    Not if something lasts: a window, or the value of an aggregate.

    >>> told_of_select("SELECT avg(x) AS m FROM S WINDOW(COUNT 3 EVENTS)")
    >>> told_of_select("SELECT a.x FROM S AS a, (SELECT max(x) AS m FROM S WINDOW(TIME 5)) AS b")
    """
    for node in walk(query.root):
        match node:
            case a.Aggregator(input, aggregates=(_, *_)) if is_pointwise(input):
                yield _warning("aggregated", node.span or query.span)
            case a.Correlator(inputs) if sum(map(is_pointwise, inputs)) > 1:
                yield _warning("correlated", inputs[0].span or query.span)


def _warning(what: str, span: Span | None) -> Diagnostic:
    message = f"nothing lasts here: only simultaneous events are {what}"
    return Diagnostic("NEEL6006", message, span or Span(0, 1), HINT)

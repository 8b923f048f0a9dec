"""Warnings about SELECT: what is combined per instant, where most likely longer times are meant."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir import algebra as a
from neelc.ir.algebra import has_only_points
from neelc.ir.node import walk
from neelc.source import Span

HINT = "add a window to one of the streams, for example WINDOW(TIME 10 MINUTES)"


def nothing_lasts(query: a.Algebra) -> Iterator[Diagnostic]:
    """Several streams of events, or DISTINCT, of events that are valid for one instant each.

    >>> from lint_examples import warning_of_select
    >>> print(warning_of_select("SELECT a.x FROM S AS a, S AS b"))
    SELECT joins per instant: these events meet only where their times are equal
    >>> print(warning_of_select("SELECT DISTINCT x FROM S"))
    DISTINCT compares per instant: equal rows of different times are all kept

    Not if something lasts: a window, or the value of an aggregate. Aggregates of such events are an error.

    >>> warning_of_select("SELECT DISTINCT x FROM S WINDOW(COUNT 3 EVENTS)")
    >>> warning_of_select("SELECT a.x FROM S AS a, (SELECT max(x) AS m FROM S WINDOW(TIME 5)) AS b")
    """
    for node in walk(query.root):
        match node:
            case a.Aggregator(a.Projection() as input, aggregates=()) if has_only_points(input):
                message = "DISTINCT compares per instant: equal rows of different times are all kept"
                yield Diagnostic("NEEL6006", message, node.span or query.span or Span(0, 1), HINT)
            case a.Correlator(inputs) if sum(map(_is_of_points, inputs)) > 1:
                message = "SELECT joins per instant: these events meet only where their times are equal"
                yield Diagnostic("NEEL6006", message, inputs[0].span or query.span or Span(0, 1), HINT)


def _is_of_points(input: a.Operator) -> bool:
    return not isinstance(input, a.RelationSource) and has_only_points(input)

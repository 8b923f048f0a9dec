"""The rule `push_filter_below_window`."""

from __future__ import annotations

from dataclasses import replace

from neelc.algebra.rules.rule import filtered, has_ambiguous_keys, place_of, places_in
from neelc.ir.algebra import Coalesced, CountWindow, Filter, Operator, TimeWindow
from neelc.ir.expressions import conjuncts


def push_filter_below_window(operator: Operator) -> Operator | None:
    """How long an event is valid by time does not depend on others, so they may be dropped before.

    >>> from network_examples import after, counted, over, timed
    >>> print(after(push_filter_below_window, over(timed(3), "s.x > 1")))
    WINDOW TIME 3 SECONDS
      FILTER s.x > 1
        STREAM S AS s

    In a window of events others do count: only whole partitions can be dropped before it. Both zeros
    of a DOUBLE are in one partition, and some functions distinguish them: conditions on a DOUBLE stay.

    >>> after(push_filter_below_window, over(counted(3), "s.x > 1")) is None
    True
    >>> print(after(push_filter_below_window, over(counted(3, "x"), "s.x > 1 AND s.y = 2")))
    FILTER s.y = 2
      WINDOW COUNT 3 PARTITION BY s.x
        FILTER s.x > 1
          STREAM S AS s
    """
    match operator:
        case Filter(TimeWindow() | Coalesced() as window, condition):
            return replace(window, input=Filter(window.input, condition))
        case Filter(CountWindow(partition=partition) as window, condition):
            keys = {place_of(one) for one in partition if not has_ambiguous_keys(one.type)}
            moved = [one for one in conjuncts(condition) if places_in(one) and places_in(one) <= keys]
            if moved:
                rest = [one for one in conjuncts(condition) if one not in moved]
                return filtered(replace(window, input=filtered(window.input, moved)), rest)
    return None

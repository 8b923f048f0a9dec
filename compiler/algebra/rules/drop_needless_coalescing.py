"""The rule `drop_needless_coalescing`, on a whole network."""

from __future__ import annotations

from neelc.algebra.rules.rule import NetworkStep
from neelc.ir.algebra import (
    Aggregator,
    Coalesced,
    Correlator,
    Filter,
    Merger,
    Operator,
    Projection,
    is_pointwise,
)
from neelc.ir.node import Node, map_children


def drop_needless_coalescing(root: Operator, is_read: bool = False) -> Operator | None:
    """An operator that needs only snapshots does not depend on how valid times are cut into events.

    So do a result that nothing reads as events, an aggregator, and filters, correlators, projections and
    mergers below one of them.

    >>> from network_examples import grouped, over, source
    >>> print(drop_needless_coalescing(over(Coalesced(grouped("max(s.y)", "s.x")), "g.value > 1")))
    FILTER g.value > 1
      AGGREGATE AS g value = max(s.y) BY x = s.x
        STREAM S AS s

    Not below what counts events, or extends them; not if another query reads the result.

    >>> from neelc.ir.algebra import CountWindow
    >>> drop_needless_coalescing(CountWindow(Coalesced(grouped("max(s.y)", "s.x")), 3)) is None
    True
    >>> drop_needless_coalescing(Coalesced(grouped("max(s.y)", "s.x")), is_read=True) is None
    True

    What is correlated with an event of one instant is an event of one instant, however it was cut.

    >>> pairs = Correlator((Coalesced(grouped("max(s.y)", "s.x")), source("t")))
    >>> print(drop_needless_coalescing(CountWindow(pairs, 3)))
    WINDOW COUNT 3
      CORRELATE
        AGGREGATE AS g value = max(s.y) BY x = s.x
          STREAM S AS s
        STREAM S AS t
    """
    changed = _stripped(root, is_read)
    return None if changed is root else changed


def _stripped(operator: Operator, needs_events: bool) -> Operator:
    if isinstance(operator, Coalesced):
        input = _stripped(operator.input, False)
        if not needs_events:
            return input
        return operator if input is operator.input else Coalesced(input, span=operator.span)
    match operator:
        case Filter() | Correlator() | Projection() | Merger():
            below = needs_events and not is_pointwise(operator)
        case Aggregator():
            below = False
        case _:
            below = True

    def change(child: Node) -> Node:
        return _stripped(child, below) if isinstance(child, Operator) else child

    return map_children(operator, change)


def without_needless_coalescing(root: Operator, is_read: bool) -> tuple[Operator, tuple[NetworkStep, ...]]:
    """The network after the rule, and the step if it fired."""
    changed = drop_needless_coalescing(root, is_read)
    if changed is None:
        return root, ()
    return changed, (NetworkStep(drop_needless_coalescing.__name__, root, changed, changed),)

"""Runs the rules over a network, from its result down, over and over until none fires.

Filters move down first: each rule makes filters smaller or moves them closer to the sources, so there is an
end. Merging stands first, as what is merged moves together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from neelc.algebra.rules.drop_needless_coalescing import without_needless_coalescing
from neelc.algebra.rules.merge_filters import merge_filters
from neelc.algebra.rules.push_condition_below_correlator import push_condition_below_correlator
from neelc.algebra.rules.push_filter_below_aggregator import push_filter_below_aggregator
from neelc.algebra.rules.push_filter_below_matcher import push_filter_below_matcher
from neelc.algebra.rules.push_filter_below_projection import push_filter_below_projection
from neelc.algebra.rules.push_filter_below_window import push_filter_below_window
from neelc.algebra.rules.push_filter_into_correlator import push_filter_into_correlator
from neelc.algebra.rules.push_filter_into_matcher import push_filter_into_matcher
from neelc.algebra.rules.rule import NetworkRule, NetworkStep
from neelc.ir.algebra import Operator, inputs_of
from neelc.ir.node import Node, map_children

RULES: tuple[NetworkRule, ...] = (
    merge_filters,
    push_filter_below_projection,
    push_filter_below_window,
    push_filter_below_aggregator,
    push_filter_into_correlator,
    push_condition_below_correlator,
    push_filter_below_matcher,
    push_filter_into_matcher,
)

MOST_PASSES = 200


@dataclass(frozen=True)
class OptimisedNetwork:
    """A network and the steps that led to it."""

    root: Operator
    steps: tuple[NetworkStep, ...] = ()


def optimise(root: Operator, rules: tuple[NetworkRule, ...] = RULES) -> OptimisedNetwork:
    """The network with all rules applied.

    >>> from neelc.algebra.rules.examples import over, timed
    >>> found = optimise(over(over(timed(3), "s.x > 1"), "s.y > 2"))
    >>> [step.rule for step in found.steps]
    ['merge_filters', 'push_filter_below_window']
    """
    steps: list[NetworkStep] = []
    for _ in range(MOST_PASSES):
        before = len(steps)
        root = _visit(root, rules, steps, lambda new: new)
        if len(steps) == before:
            return OptimisedNetwork(root, tuple(steps))
    last = ", ".join(step.rule for step in steps[-5:])
    raise AssertionError(f"rules come to no end in {MOST_PASSES} passes; the last were {last}")


def rewritten_network(root: Operator, is_read: bool = False) -> OptimisedNetwork:
    """A network without coalescing that changes nothing, its filters where they drop the most; `is_read` if
    another query reads its events."""
    root, dropped = without_needless_coalescing(root, is_read)
    moved = optimise(root)
    return OptimisedNetwork(moved.root, (*dropped, *moved.steps))


def _visit(
    operator: Operator,
    rules: tuple[NetworkRule, ...],
    steps: list[NetworkStep],
    rebuild: Callable[[Operator], Operator],
) -> Operator:
    for rule in rules:
        found = rule(operator)
        if found is not None and found != operator:
            steps.append(NetworkStep(rule.__name__, operator, found, rebuild(found)))
            return found
    for old in inputs_of(operator):
        outer = operator

        def around(new: Operator, old: Operator = old, outer: Operator = outer) -> Operator:
            return rebuild(_put(outer, old, new))

        new = _visit(old, rules, steps, around)
        if new is not old:
            return _put(operator, old, new)
    return operator


def _put(outer: Operator, old: Operator, new: Operator) -> Operator:
    def change(child: Node) -> Node:
        return new if child is old else child

    return map_children(outer, change)

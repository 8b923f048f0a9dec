"""Rewrites networks: all rules for them, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable

from neelc.algebra.rules.drop_needless_coalescing import without_needless_coalescing
from neelc.algebra.rules.merge_filters import merge_filters
from neelc.algebra.rules.push_condition_below_correlator import push_condition_below_correlator
from neelc.algebra.rules.push_filter_below_aggregator import push_filter_below_aggregator
from neelc.algebra.rules.push_filter_below_matcher import push_filter_below_matcher
from neelc.algebra.rules.push_filter_below_projection import push_filter_below_projection
from neelc.algebra.rules.push_filter_below_window import push_filter_below_window
from neelc.algebra.rules.push_filter_into_correlator import push_filter_into_correlator
from neelc.algebra.rules.push_filter_into_matcher import push_filter_into_matcher
from neelc.algebra.rules.rule import NetworkBatch, NetworkStep
from neelc.ir.algebra import Operator, inputs_of
from neelc.rewriting import TreePass, until_none_fires
from neelc.runtime.late_dataclass import dataclass

FILTERS = NetworkBatch(
    "filters",
    "Each rule makes filters smaller or moves them closer to the sources, so there is an end. Merging stands "
    "first, as what is merged moves together; and networks are visited from their results down.",
    parts=(
        merge_filters,
        push_filter_below_projection,
        push_filter_below_window,
        push_filter_below_aggregator,
        push_filter_into_correlator,
        push_condition_below_correlator,
        push_filter_below_matcher,
        push_filter_into_matcher,
    ),
    most=200,
    outermost=True,
)


@dataclass(frozen=True)
class OptimisedNetwork:
    """A network and the steps that led to it."""

    root: Operator
    steps: tuple[NetworkStep, ...] = ()


def optimise(root: Operator, batch: NetworkBatch = FILTERS) -> OptimisedNetwork:
    """The network with all rules of a batch applied.

    >>> from network_examples import over, timed
    >>> optimised = optimise(over(over(timed(3), "s.x > 1"), "s.y > 2"))
    >>> [step.rule for step in optimised.steps]
    ['merge_filters', 'push_filter_below_window']
    """
    steps: list[NetworkStep] = []

    def apply(operator: Operator, rebuild: Callable[[Operator], Operator]) -> Operator | None:
        for rule in batch.parts:
            changed = rule(operator)
            if changed is not None and changed != operator:
                steps.append(NetworkStep(rule.__name__, operator, changed, rebuild(changed)))
                return changed
        return None

    operators = TreePass(batch, inputs_of, apply, steps)
    optimised = until_none_fires(batch, root, lambda whole: operators.visit(whole, lambda new: new), steps)
    return OptimisedNetwork(optimised, tuple(steps))


def rewritten_network(root: Operator, is_read: bool = False) -> OptimisedNetwork:
    """A network without coalescing that changes nothing, its filters where they drop the most; `is_read` if
    another query reads its events."""
    root, dropped = without_needless_coalescing(root, is_read)
    moved = optimise(root)
    return OptimisedNetwork(moved.root, (*dropped, *moved.steps))

"""The formulas of NEEL+, chapter 5, over values: what computing the results of a query costs.

|S_i| is the number of events of the i-th component in a window (`counts`), Pt the share of pairs of
neighbours that are in order, P_e and PC_e the selectivity and the cost of the conditions attached to a
component, SC_e the share that a shortcut leaves; all are 1 where there is nothing. Insertion and purging,
the other terms of equation 5.1, are the same for all ways to compute and are left out, as in the thesis.
`growth.py` generalises them to any pattern, `nested.py` uses them for the papers' baselines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

IN_ORDER = 0.5
"""Pt: of two events in any order, half are in the right one. The thesis' default."""
MOST = 1e100
"""Products stop growing here, so that sums of them are numbers."""


def combinations(counts: Sequence[float], in_order: float = IN_ORDER) -> float:
    """The first part of equation 5.2: partial results, built backwards from the last component.

    (sum over i from n to 2 of |S_(i-1)| * product over j from i to n of |S_j| * Pt). For |S| = 10, 20, 30:
    of the last two components 30*20/2 = 300 pairs, then 300*10/2 = 1500 triples.

    >>> combinations([10, 20, 30])
    1800.0
    >>> combinations([10])
    0.0
    """
    total, built = 0.0, 1.0
    for place, count in enumerate(reversed(counts)):
        built = min(MOST, built * count * (in_order if place else 1.0))
        total += built if place else 0.0
    return min(MOST, total)


def results(counts: Sequence[float], in_order: float = IN_ORDER) -> float:
    """|S_q|, the results of a flat query before its conditions: the last of its partial results.

    >>> results([10, 20, 30])
    1500.0
    """
    built = 1.0
    for place, count in enumerate(counts):
        built = min(MOST, built * count * (in_order if place else 1.0))
    return built


def basic(counts: Sequence[float], costs: Sequence[float] = (), shares: Sequence[float] = ()) -> float:
    """Equation 5.2, the basic system: all results are built, then the conditions are judged on each.

    combinations + |S_q| * product of PC * product of P. With one condition of cost 2 that one in ten meets:
    1800 + 1500 * 2 * 0.1.

    >>> basic([10, 20, 30], costs=[1, 2, 1], shares=[1, 0.1, 1])
    2100.0
    """
    return min(MOST, combinations(counts) + results(counts) * prod(costs) * prod(shares))


def nested(root: float, root_results: float, children: Iterable[float]) -> float:
    """Equations 5.3, 5.5 and 5.7, iterative nested execution: the root, and every inner query anew for each
    result of the root. Which of the three it is depends on how the root was computed.

    >>> nested(root=1800, root_results=1500, children=[200, 50])
    376800.0
    """
    return min(MOST, root + root_results * float(sum(children)))


def push_in(counts: Sequence[float], costs: Sequence[float], shares: Sequence[float]) -> float:
    """Equation 5.4, predicate push-in: conditions are judged while results are built.

    5.2's first part with |S| * PC * P for each |S|. A condition of cost 2 on the second component that one
    in ten meets leaves 20*2*0.1 = 4 of it: 30*4/2 = 60 pairs, 60*10/2 = 300 triples.

    >>> push_in([10, 20, 30], costs=[1, 2, 1], shares=[1, 0.1, 1])
    360.0
    """
    return combinations([c * cost * share for c, cost, share in zip(counts, costs, shares, strict=True)])


def shortcut(
    counts: Sequence[float],
    cuts: Sequence[float],
    costs: Sequence[float] = (),
    shares: Sequence[float] = (),
    maintenance: float = 0.0,
) -> float:
    """Equation 5.6, shortcutting inter-query predicates: 5.2 with |S| * SC for each |S|, and the upkeep of
    the cache of values: one insertion for each inner event, and one look at each value to purge it.

    A shortcut that leaves one in five of the first component: 300 pairs, 300*2/2 = 300 triples, 300
    results of cost 1, and 25 for the cache.

    >>> shortcut([10, 20, 30], cuts=[0.2, 1, 1], maintenance=25)
    925.0
    """
    left = [count * cut for count, cut in zip(counts, cuts, strict=True)]
    return min(MOST, basic(left, costs, shares) + maintenance)

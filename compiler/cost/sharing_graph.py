"""The graph of sharing opportunities: which expressions can share something, and what that saves.

The only module that uses networkx, and it loads it only when asked for a graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neelc.cost.sharing_operators import Members, Workload


@dataclass(frozen=True)
class Opportunities:
    """What the search needs to know of the graph.

    `islands` are its connected components: no group with an operator reaches over more than one, so each is a
    problem of its own. `neighbours` are the expressions with which an expression can share something: a group
    with an operator is a clique.
    """

    islands: tuple[tuple[int, ...], ...]
    neighbours: tuple[frozenset[int], ...]

    def friends(self, group: Members) -> Members:
        """The expressions that can share something with each member of a group."""
        return frozenset.intersection(*(self.neighbours[number] for number in group))


def graph(workload: Workload) -> Any:
    """A networkx graph of the expressions, by number; an edge has what the pair saves.

    A saving of 0 is an opportunity, too: what does not pay for two may pay for more.

    >>> from neelc.cost.sharing_cost import Model
    >>> from neelc.cost.sharing_expressions import expressions
    >>> from neelc.rewrite.examples import query
    >>> found = expressions(query("SEQ(A, B, C) OR SEQ(A, B, D) OR SEQ(X, Y)"))
    >>> list(graph(Workload(found, Model(lambda component: 4))).edges(data=True))
    [(0, 1, {'saving': 8.0})]
    """
    found = _links(workload)
    for one, other, link in found.edges(data=True):
        pair = frozenset((one, other))
        link["saving"] = workload.cost_apart(pair) - workload.cost(pair)
    return found


def opportunities(workload: Workload) -> Opportunities:
    """The graph as plain values.

    >>> from neelc.cost.sharing_cost import Model
    >>> from neelc.cost.sharing_expressions import expressions
    >>> from neelc.rewrite.examples import query
    >>> found = expressions(query("SEQ(A, B, C) OR SEQ(A, B, D) OR SEQ(X, Y)"))
    >>> opportunities(Workload(found, Model(lambda component: 4))).islands
    ((0, 1), (2,))
    """
    import networkx

    found = _links(workload)
    islands = sorted(tuple(sorted(island)) for island in networkx.connected_components(found))
    return Opportunities(tuple(islands), tuple(frozenset(found[one]) for one in sorted(found)))


def _links(workload: Workload) -> Any:
    """The graph without savings: a slice in common, or the same positive part, is an edge."""
    import networkx

    alike: dict[int, list[int]] = {}
    for number, positive in enumerate(workload.positives):
        alike.setdefault(positive, []).append(number)
    sharing = {frozenset(shareable.rests) for shareable in workload.slices} | set(
        map(frozenset, alike.values())
    )
    neighbours: list[set[int]] = [set() for _ in workload.expressions]
    for group in sharing:
        for number in group:
            neighbours[number] |= group
    found = networkx.Graph()
    found.add_nodes_from(range(len(workload.expressions)))
    for one, others in enumerate(neighbours):
        found.add_edges_from((one, other) for other in sorted(others) if other > one)
    return found

"""The plan finder: which expressions to execute together (NEEL, V).

A plan is a partition of the expressions; each group has the cheapest operator that applies to it. There are
too many partitions to try all, so the search improves one step by step: a step merges two groups, splits one,
or does both, so that an expression moves from one group to another.

Figure 9 of the paper, read literally, never leaves the first local minimum. Here each round starts from
somewhere else: from the best plan so far with a few of its groups dissolved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain
from random import Random
from typing import Any, NamedTuple

from neelc.runtime.late_dataclass import dataclass
from neelc.sharing.operators import APART, Members, Workload

# The graph of sharing opportunities: which expressions can share something, and what that saves.
#
# The only module that uses networkx. The search does without: loading it takes longer than most searches.


@dataclass(frozen=True)
class SharingGraph:
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

    >>> from neelc.sharing.cost import CostModel
    >>> from neelc.sharing.expressions import expressions
    >>> from pattern_examples import query
    >>> found = expressions(query("SEQ(A, B, C) OR SEQ(A, B, D) OR SEQ(X, Y)"))
    >>> list(graph(Workload(found, CostModel(lambda component: 4))).edges(data=True))
    [(0, 1, {'saving': 8.0})]
    """
    import networkx

    found = networkx.Graph()
    found.add_nodes_from(range(len(workload.expressions)))
    for one, others in enumerate(_neighbours(workload)):
        for other in sorted(number for number in others if number > one):
            pair = frozenset((one, other))
            found.add_edge(one, other, saving=workload.cost_apart(pair) - workload.cost(pair))
    return found


def opportunities(workload: Workload) -> SharingGraph:
    """The graph as plain values.

    >>> from neelc.sharing.cost import CostModel
    >>> from neelc.sharing.expressions import expressions
    >>> from pattern_examples import query
    >>> found = expressions(query("SEQ(A, B, C) OR SEQ(A, B, D) OR SEQ(X, Y)"))
    >>> opportunities(Workload(found, CostModel(lambda component: 4))).islands
    ((0, 1), (2,))
    """
    neighbours = _neighbours(workload)
    return SharingGraph(tuple(_islands(neighbours)), neighbours)


def _neighbours(workload: Workload) -> tuple[Members, ...]:
    """For each expression those with which it has a slice or the positive part in common."""
    alike: dict[int, list[int]] = {}
    for number, positive in enumerate(workload.positives):
        alike.setdefault(positive, []).append(number)
    sharing = {frozenset(shareable.rests) for shareable in workload.slices} | set(
        map(frozenset, alike.values())
    )
    found: list[set[int]] = [set() for _ in workload.expressions]
    for group in sharing:
        for number in group:
            found[number] |= group
    return tuple(frozenset(others - {number}) for number, others in enumerate(found))


def _islands(neighbours: Sequence[Members]) -> Iterator[tuple[int, ...]]:
    """The connected components, in the order of their first expression.

    >>> list(_islands([frozenset({2}), frozenset(), frozenset({0})]))
    [(0, 2), (1,)]
    """
    seen: set[int] = set()
    for first in range(len(neighbours)):
        if first in seen:
            continue
        island, waiting = {first}, [first]
        while waiting:
            new = neighbours[waiting.pop()] - island
            island |= new
            waiting += new
        seen |= island
        yield tuple(sorted(island))


Plan = tuple[Members, ...]
NEW: Members = frozenset()
"""Where expressions go that leave their group for none of the others."""

BETTER = 1 - 1e-9
"""What is better by less is not: it may be the rounding of sums in another order."""

MANY = 8
"""As many expressions as are taken out of a group at once."""


@dataclass(frozen=True)
class SearchLimits:
    """When the search of an island ends: after `rounds`, after `patience` rounds in a row that found nothing
    better, or when the `effort` is made: so much for each expression, as if there were a hundred more. To
    look at a step is an effort of 50, to add up a term of a cost one of 1."""

    rounds: int = 500
    patience: int = 50
    effort: int = 4_000


def find_plan(workload: Workload, seed: int = 0, stop: SearchLimits | None = None) -> Plan:
    """Groups of the expressions, by number, of low cost together; for the same seed always the same.

    >>> from neelc.sharing.cost import CostModel
    >>> from neelc.sharing.expressions import expressions
    >>> from pattern_examples import query
    >>> text = "SEQ(A, B, D) OR SEQ(A, B, !C, D) OR SEQ(A, B, D, E, F) OR SEQ(A, B, D, E, G)"
    >>> found = expressions(query(text))
    >>> [sorted(group) for group in find_plan(Workload(found, CostModel(lambda component: 10)))]
    [[0, 1], [2, 3]]
    """
    known = opportunities(workload)
    found = (
        IslandSearch(workload, known, Random(seed), stop or SearchLimits()).run(island)
        for island in known.islands
    )
    return in_order(workload, chain.from_iterable(found))


def cost_of(workload: Workload, plan: Iterable[Members]) -> float:
    return sum(workload.cost(group) for group in plan)


def in_order(workload: Workload, groups: Iterable[Members]) -> Plan:
    """The groups in the order of their first expression; those that share nothing as single expressions."""
    found: list[Members] = []
    for group in groups:
        apart = workload.price(group).operator == APART
        found += [frozenset((number,)) for number in group] if apart else [group]
    return tuple(sorted(found, key=min))


class RegroupingStep(NamedTuple):
    """`moving`, all or some of the members of `source`, join `target`: a merge if they are all, a split if
    the target is NEW."""

    source: Members
    target: Members
    moving: Members

    @property
    def before(self) -> tuple[Members, ...]:
        return (self.source, self.target) if self.target else (self.source,)

    @property
    def after(self) -> tuple[Members, ...]:
        joined, left = self.target | self.moving, self.source - self.moving
        return (joined, left) if left else (joined,)


@dataclass
class IslandSearch:
    """The search of one island of the graph: expressions that can share something with each other."""

    workload: Workload
    known: SharingGraph
    random: Random
    stop: SearchLimits
    effort: int = 0
    parts: dict[Members, list[Members]] = field(default_factory=dict)

    def run(self, island: Sequence[int]) -> set[Members]:
        self.effort = self.stop.effort * (100 + len(island))
        best = self.improved(self.start(island))
        lowest, patience = cost_of(self.workload, best), self.stop.patience
        for _ in range(self.stop.rounds if len(island) > 1 else 0):
            if not patience or self.effort <= 0:
                break
            found = self.improved(self.disturbed(best))
            patience -= 1
            if (cost := cost_of(self.workload, found)) < lowest * BETTER:
                best, lowest, patience = found, cost, self.stop.patience
        return best

    def start(self, island: Sequence[int]) -> set[Members]:
        """ "Maximally group all event subexpressions with the same positive components." """
        alike: dict[int, list[int]] = {}
        for number in island:
            alike.setdefault(self.workload.positives[number], []).append(number)
        return {frozenset(group) for group in alike.values()}

    def disturbed(self, plan: set[Members]) -> set[Members]:
        """The plan with a few groups, chosen at random, dissolved, or a part of a large one."""
        plan = set(plan)
        groups = sorted(plan, key=min)
        for group in self.random.sample(groups, min(len(groups), self.random.randint(1, 3))):
            gone = frozenset(self.random.sample(sorted(group), min(len(group), MANY)))
            plan.remove(group)
            plan.update(frozenset((number,)) for number in gone)
            plan.update([group - gone] if group - gone else [])
        return plan

    def improved(self, plan: set[Members]) -> set[Members]:
        """A local minimum that can be reached from the plan by steps that each make it cheaper."""
        plan, changed = set(plan), True
        while changed and self.effort > 0:
            changed = False
            steps = [*self.splits(plan), *self.merges_and_moves(plan)]
            self.random.shuffle(steps)
            for step in steps:
                if plan.issuperset(step.before) and self.is_better(step.before, step.after):
                    plan.difference_update(step.before)
                    plan.update(step.after)
                    changed = True
                if self.effort <= 0:
                    break
        return plan

    def is_better(self, before: Sequence[Members], after: Sequence[Members]) -> bool:
        known = self.workload.effort
        better = cost_of(self.workload, after) < cost_of(self.workload, before) * BETTER
        self.effort -= 50 + self.workload.effort - known
        return better

    def merges_and_moves(self, plan: set[Members]) -> Iterator[RegroupingStep]:
        """Two groups made one, or an expression moved to another group, where all in the new group can share
        something with each other: otherwise no operator would apply to it."""
        homes = {number: group for group in plan for number in group}
        alone = {number: frozenset((number,)) for number in homes}
        first = {min(group) for group in plan}
        for group in sorted(plan, key=min):
            friends = self.known.friends(group)
            for number in friends:
                home = homes[number]
                if number in first and number < min(group) and home <= friends:
                    yield RegroupingStep(home, group, home)
                if len(home) > 1:
                    yield RegroupingStep(home, group, alone[number])

    def splits(self, plan: set[Members]) -> Iterator[RegroupingStep]:
        """A group made two."""
        for group in sorted(plan, key=min):
            if len(group) > 1:
                if group not in self.parts:
                    self.parts[group] = list(dict.fromkeys(self._parts(group)))
                yield from (RegroupingStep(group, NEW, part) for part in self.parts[group])

    def _parts(self, group: Members) -> Iterator[Members]:
        """Of the ways to split a group, which double with each member, those that may make sense: one
        expression leaves, or those do that have more in common with each other."""
        yield from (frozenset((number,)) for number in sorted(group))
        for slice in sorted(frozenset[int]().union(*(self.workload.owned[number] for number in group))):
            part = group.intersection(self.workload.slices[slice].rests)
            if 1 < len(part) < len(group):
                yield part

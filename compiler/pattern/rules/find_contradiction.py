"""The rule `find_contradiction`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, Variable
from neelc.ir.node import Node, map_children
from neelc.pattern.analysis.absent import impossible, is_impossible
from neelc.pattern.analysis.regions import QueryFacts, is_member, range_of, region_conjuncts, spots
from neelc.pattern.analysis.truth import contradict, times_in_order
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.evaluate_constants import FALSE


def find_contradiction(part: p.Pattern, facts: QueryFacts) -> p.Pattern | None:
    """Conditions that cannot be TRUE together leave their part no match: its condition becomes FALSE.

    All conditions of a region are evaluated on the same binding (`regions.py`), and those of a branch, of an
    optional, negative or repeated part only matter in a match that meets those around it. So a part is
    impossible when its conditions and those around it contradict each other. What `truth.contradict` finds:
    values that have no possible order, and NULL where there must be a value.

    >>> from pattern_examples import after
    >>> print(after(find_contradiction, "A a WHERE a.x > 5 AND a.x < 3"))
    (A a : FALSE)
    >>> print(after(find_contradiction, "SEQ(A a, !(B b : b.x = a.x AND b.x <> a.x), C c)"))
    SEQ(A a, !(B b : FALSE), C c)
    >>> print(after(find_contradiction, "SEQ(A a, OR((B b : a.x < 3), C c)) WHERE a.x > 5"))
    SEQ(A a, OR((B b : FALSE), C c) WHERE a.x > 5)

    A SEQ implies that its parts follow each other (`truth.times_in_order`):

    >>> print(after(find_contradiction, "SEQ(A a, B b) WHERE b.ts <= a.ts"))
    SEQ(A a, B b WHERE FALSE)
    >>> after(find_contradiction, "AND(A a, B b) WHERE b.ts < a.ts")

    A conjunct with `b[i]` says nothing about an empty list, and one with `b[i-1]` nothing about the first
    element. They are evaluated together for one element, so the list must have an element they apply to.

    >>> print(after(find_contradiction, "B+ b[] WHERE b[i].x > 5 AND b[i].x < 3"))
    (B+ b[] : FALSE)
    >>> after(find_contradiction, "SEQ(A a, B* b[]) WHERE b[i].x > 5 AND b[i].x < 3")
    >>> after(find_contradiction, "B+ b[] WHERE b[i].x > b[i-1].x AND b[i].x < b[i-1].x")

    Nor across the branches of an OR: `a.x > 5` holds in one, `a.x < 3` may in the other.

    >>> after(find_contradiction, "SEQ(A a, OR((B b : a.x > 5), (C c : a.x < 3)))")
    """
    if is_impossible(part) or not (isinstance(part, p.Joint) or part.where is not None):
        return None
    changed = _Search(part, facts).marked(part)
    return None if changed is part else changed


@dataclass(frozen=True)
class _Search:
    """A search in `root` with what is known around a part of it: conditions, and for lists how many
    elements they have at least."""

    root: p.Pattern
    facts: QueryFacts
    known: tuple[Expr, ...] = ()
    least: Mapping[str, int] = field(default_factory=dict)

    def marked(self, part: p.Pattern) -> p.Pattern:
        """`part`, the root of a region, with FALSE where conditions contradict each other."""
        own = tuple(region_conjuncts(part))
        if FALSE in own:
            return part  # what follows is for `drop_impossible_part` to say
        inside = _Search(self.root, self.facts, (*self.known, *own), {**self.least, **_lists(part)})
        if own and inside.fails():
            return impossible(part, self.facts) or part
        return inside.below(part)

    def below(self, part: p.Pattern) -> p.Pattern:
        """`part` with the regions below it marked."""

        def change(child: Node) -> Node:
            if not isinstance(child, p.Pattern):
                return child
            together = isinstance(part, p.Joint) and is_member(child)
            return self.below(child) if together else self.marked(child)

        return map_children(part, change)

    def fails(self) -> bool:
        conditions = [condition for condition in self.known if self.is_evaluated(condition)]
        return contradict(conditions, order=times_in_order(self.root, conditions, self.facts))

    def is_evaluated(self, condition: Expr) -> bool:
        """Whether a condition is always evaluated at least once, and for the same element as others."""
        elements, lag = range_of(condition)
        if elements is None:
            return True
        return isinstance(elements, Variable) and self.least.get(elements.name, 0) > lag


def _lists(part: p.Pattern) -> dict[str, int]:
    """The least length of each list that a region binds."""
    parts = (spot.part for spot in spots(part))
    return {node.variable: node.least for node in parts if isinstance(node, p.Repeat) and node.variable}

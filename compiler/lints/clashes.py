"""Conditions that cannot be TRUE together, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from neelc.ir import pattern as p
from neelc.ir.expr import Expr, Variable
from neelc.ir.logical import Match
from neelc.ir.parts import inner_parts
from neelc.lints.times import times_in
from neelc.rewrite.claims import AtMost
from neelc.rewrite.constants import folded
from neelc.rewrite.contradiction import contradict
from neelc.rewrite.facts import Facts
from neelc.rewrite.judging import range_of
from neelc.rewrite.order_in_time import times_in_order
from neelc.rewrite.regions import TOGETHER, is_member, region_conjuncts, spots
from neelc.rewrite.truth import simpler

T = TypeVar("T")


@dataclass(frozen=True)
class Clash:
    """Conditions that are never TRUE together; without any one of them they may be.

    The last one is the one to point at: the last in the text of those that belong to `region`, which is the
    part that has no match therefore. `order` is what SEQ says about times, if they clash only with that.
    """

    conditions: tuple[Expr, ...]
    order: tuple[AtMost, ...]
    region: p.Pattern


def clashes(query: Match) -> Iterator[Clash]:
    """All that clashes in a query, one after the other.

    >>> from neelc.lints.examples import asked
    >>> text = "SEQ(A a, !(B b : a.x < 3), C c) WHERE a.x > 5 AND c.ts <= a.ts AND c.n = NULL"
    >>> for clash in clashes(asked(text).match):
    ...     print(*clash.conditions, *(f"{claim.left} < {claim.right}" for claim in clash.order), sep=", ")
    c.ts <= a.ts, a.ts < c.ts
    c.n = NULL
    a.x > 5, a.x < 3
    """
    return _Search(query, Facts(lambda: query)).region(query.pattern)


@dataclass(frozen=True)
class _Search:
    """What is known around a part: conditions, and for lists how many elements they have at least."""

    query: Match
    facts: Facts
    known: tuple[Expr, ...] = ()
    least: Mapping[str, int] = field(default_factory=dict)

    def region(self, part: p.Pattern) -> Iterator[Clash]:
        """The clashes in a region, `part` being its root, and in those below it."""
        lists = {
            spot.part.variable: spot.part.least
            for spot in spots(part)
            if isinstance(spot.part, p.Repeat) and spot.part.variable
        }
        inside = replace(self, least={**self.least, **lists})
        own = sorted((one for one in region_conjuncts(part) if one not in self.known), key=_place)
        left = [condition for condition in (*self.known, *own) if inside.is_asked(condition)]
        while own and (found := inside.clash(left, part)):
            yield found
            left.remove(found.conditions[-1])  # the others may clash as well
        yield from replace(inside, known=tuple(left)).below(part)

    def below(self, part: p.Pattern) -> Iterator[Clash]:
        for inner in inner_parts(part):
            together = isinstance(part, TOGETHER) and is_member(inner)
            yield from self.below(inner) if together else self.region(inner)

    def is_asked(self, condition: Expr) -> bool:
        """Whether a condition is judged in every match; one with `i` needs an element."""
        elements, lag = range_of(condition)
        if elements is None:
            return True
        return isinstance(elements, Variable) and self.least.get(elements.name, 0) > lag

    def clash(self, conditions: Sequence[Expr], region: p.Pattern) -> Clash | None:
        """One of the clashes there are, a single condition that is never TRUE before others."""
        if not self.fails(conditions):
            return None
        single = next((one for one in conditions if self.fails([one])), None)
        least = [single] if single else _needed(conditions, self.fails)
        if contradict(map(_plain, least)):
            return Clash(tuple(least), (), region)
        order = self.order(least)
        needed = _needed(order, lambda claims: contradict(map(_plain, least), order=claims))
        return Clash(tuple(least), tuple(needed), region)

    def fails(self, conditions: Sequence[Expr]) -> bool:
        return contradict(map(_plain, conditions), order=self.order(conditions))

    def order(self, conditions: Sequence[Expr]) -> tuple[AtMost, ...]:
        """What the pattern says about the times that conditions speak of."""
        timed = [one for one in conditions if times_in(one, self.query.streams)]
        return tuple(times_in_order(self.query.pattern, timed, self.facts)) if timed else ()


def _plain(condition: Expr) -> Expr:
    return simpler(folded(condition))


def _place(condition: Expr) -> int:
    return condition.span.start if condition.span else 0


def _needed(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Some of the items that fail together, and would not without any one of them.

    >>> _needed([3, 1, 4, 1, 5, 9], lambda items: sum(items) > 9)
    [5, 9]
    """
    kept = list(items)
    for item in items:
        without = [other for other in kept if other is not item]
        if len(without) < len(kept) and fails(without):
            kept = without
    return kept

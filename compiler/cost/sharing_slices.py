"""Which sequences of adjacent components occur in more than one expression: prefixes, suffixes, middles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from neelc.cost.sharing_expression import Expression
from neelc.ir.pattern import Repeat
from neelc.rewrite.facts import ANY_MATCH

Place = tuple[int, int]
"""An expression, by its number in the list, and the place of the first component."""


@dataclass
class Numbers:
    """A number for each thing, the same for equal things: numbers are faster to compare than trees."""

    known: dict[Hashable, int] = field(default_factory=dict)

    def __call__(self, thing: Hashable) -> int:
        return self.known.setdefault(thing, len(self.known))


@dataclass(frozen=True)
class SharedSlice:
    """`length` adjacent components that several expressions have; where they begin in each."""

    length: int
    starts: dict[int, tuple[int, ...]]


def shared_slices(expressions: Sequence[Expression]) -> list[SharedSlice]:
    """Every slice of two components or more that is in at least two expressions.

    A slice is told by the two slices that are shorter by one, and by the constraints that need both its ends.
    So longer ones are looked for only where shorter ones were found.

    >>> from neelc.cost.sharing_expressions import expressions
    >>> from neelc.rewrite.examples import query
    >>> found = expressions(query("OR(SEQ(A a, B b, !X x, C c), SEQ(D d, A e, B f, !X y, C g))"))
    >>> for shared in shared_slices(found):
    ...     print(found[0].slice(shared.starts[0][0], shared.starts[0][0] + shared.length), shared.starts)
    SEQ(A, B) {0: (0,), 1: (1,)}
    SEQ(B, !X, C) {0: (1,), 1: (2,)}
    SEQ(A, B, !X, C) {0: (0,), 1: (1,)}
    """
    number = Numbers()
    spans = [_spans(expression, number) for expression in expressions]
    level: dict[Place, int] = {
        (one, start): number((number(component), spans[one].get((start, start))))
        for one, expression in enumerate(expressions)
        for start, component in enumerate(expression.components)
    }
    shared: list[SharedSlice] = []
    length = 1
    while level := _longer(level, spans, length, number):
        length += 1
        places: dict[int, list[Place]] = defaultdict(list)
        for place, slice in level.items():
            places[slice].append(place)
        common = {slice: at for slice, at in places.items() if len({one for one, _ in at}) > 1}
        shared += [
            SharedSlice(length, found)
            for at in common.values()
            if (found := _starts(expressions, at, length))
        ]
        level = {place: slice for slice, at in common.items() for place in at}
    return shared


Spans = dict[tuple[int, int], frozenset[int]]
"""The constraints that need these two components and may need those between them."""


def _spans(expression: Expression, number: Numbers) -> Spans:
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for constraint in expression.constraints:
        first, last = constraint.needs[0], constraint.needs[-1]
        found[first, last].add(number(constraint.moved(first)))
    return {ends: frozenset(constraints) for ends, constraints in found.items()}


def _longer(level: dict[Place, int], spans: list[Spans], length: int, number: Numbers) -> dict[Place, int]:
    """The slices that are longer by one than those of the level."""
    found = {}
    for (one, start), slice in level.items():
        other = level.get((one, start + 1))
        if other is not None:
            found[one, start] = number((slice, other, spans[one].get((start, start + length))))
    return found


def _starts(
    expressions: Sequence[Expression], places: list[Place], length: int
) -> dict[int, tuple[int, ...]]:
    """Where a slice can be shared. Where the order of events decides which are taken, a run depends on what
    was taken before, so that only prefixes are the same for two expressions; and a repetition goes on
    depending on what comes after it, so it does not end one."""
    starts: dict[int, tuple[int, ...]] = {}
    for one, start in places:
        components = expressions[one].components
        last = components[start + length - 1]
        if last.context.strategy == ANY_MATCH or (start == 0 and not isinstance(last.part, Repeat)):
            starts[one] = (*starts.get(one, ()), start)
    return starts if len(starts) > 1 else {}

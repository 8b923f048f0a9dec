"""How long the gaps of a match are, and how likely it is that something happens in one.

Events of a match lie anywhere in their window, so the n pieces into which n events cut it, the rest after
the last one included, are equally long on average and each is distributed as Beta(1, n-1). A negation looks
at one piece in a SEQ, and at all of the scope in an AND.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, prod

from neelc.cost.ways import Ways
from neelc.ir import pattern as p

OCTAVES = 40
"""A mean over gaps looks at the longer half of them, the longer half of the rest, and so on: what happens
a billion times in a window does not happen in the very short gaps only."""


@dataclass(frozen=True)
class Gap:
    """One of `pieces` pieces of a share `span` of the window."""

    span: float = 1.0
    pieces: float = 1.0

    @property
    def mean(self) -> float:
        return self.span / self.pieces

    def average(self, chance: Callable[[float], float]) -> float:
        """The mean of `chance` over gaps, given as shares of the window.

        That is not the chance at the mean gap: with 10 events to a window, 1 in 150 gaps of half a window is
        empty, but of the gaps between two events of a match 1 in 10, because there are short ones.

        >>> round(Gap(1.0, 2.0).average(lambda gap: exp(-10 * gap)), 2), round(exp(-5), 3)
        (0.1, 0.007)
        >>> round(Gap(1.0, 2.0).average(lambda gap: exp(-1e6 * gap)) * 1e6, 2)
        0.96
        """
        if self.pieces <= 1:
            return chance(self.span)
        power = 1 / max(self.pieces - 1, 1e-3)
        halves = (2.0**-octave for octave in range(1, OCTAVES))
        return sum(half * chance(self.span * (1 - (1 - 1.5 * half) ** power)) for half in halves)


def occurs(ways: Ways, necessary: Sequence[float], gap: float) -> float:
    """The chance that a part occurs in a gap. `ways` are those in a whole window, `necessary` the counts, in
    a whole window, of events without which it cannot occur.

    For one type of event this is Poisson's 1 - e^-count. Occurrences of a composite come in clumps, so the
    same formula with its expected number is too high where there are many; but it never occurs more often
    than all of its events do.

    >>> from neelc.cost.ways import events, in_sequence
    >>> round(occurs(events(4.0), [4.0], 0.5), 3)  # 1 - e^-2
    0.865
    >>> pair = in_sequence(events(10.0), events(10.0))
    >>> round(occurs(pair, [10.0, 10.0], 0.5), 3), round(1 - 6 * exp(-5), 3)  # the latter is exact
    (0.987, 0.96)
    """
    expected = ways.shrunk(gap).number
    together = prod(1 - exp(-min(700.0, count * gap)) for count in necessary)
    return min(1 - exp(-min(700.0, expected)), together)


def room(part: p.Pattern) -> float:
    """How many events of a match lie in a part: into so many pieces it cuts its window.

    >>> from neelc.rewrite.examples import query
    >>> room(query("SEQ(A a, !B b, OR(C c, SEQ(D d, E e)), F? f, EXISTS g : SEQ(G g, H h))").pattern)
    4.0
    """
    match part:
        case p.Event():
            return 1.0
        case p.Not():
            return 0.0
        case p.Optional(inner):
            return room(inner) / 2
        case p.Repeat(inner, least):
            return room(inner) * max(1, least)
        case p.Exists(variables, inner):
            kept = room(inner) - sum(_room_of(inner, name) for name in variables)
            return max(0.0, kept)
        case p.Or(parts):
            return sum(map(room, parts)) / len(parts)
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts):
            return sum(map(room, parts))
    raise AssertionError(type(part).__name__)


def _room_of(part: p.Pattern, name: str) -> float:
    """What one variable takes of the room of a part."""
    match part:
        case p.Event(variable=variable) | p.Repeat(variable=variable):
            return room(part) if variable == name else 0.0
        case p.Not():
            return 0.0
        case p.Optional(inner):
            return _room_of(inner, name) / 2
        case p.Exists(variables, inner):
            return 0.0 if name in variables else _room_of(inner, name)
        case p.Or(parts):
            return sum(_room_of(inner, name) for inner in parts) / len(parts)
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts):
            return sum(_room_of(inner, name) for inner in parts)
    raise AssertionError(type(part).__name__)

"""Where a pattern is looked for: how long the input and the window are, and how many events come."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from math import exp, inf, lgamma, log, prod

from neelc.ir import patterns as p
from neelc.ir.expressions import Attribute, Binary, Expr, Index, ListElement, Literal, Variable
from neelc.ir.patterns import Window
from neelc.ir.program import Match, Stream
from neelc.ir.types import LENGTHS
from neelc.pattern.cost.ledger import Ledger, term_of
from neelc.pattern.cost.selectivity import without_casts
from neelc.runtime.late_dataclass import dataclass

# Attributes that are equal on several events: `[id]`, and chains of `a.id = b.id`.

Term = tuple[str, str]
"""A variable and an attribute of its events."""


def equal_terms(condition: Expr) -> tuple[Term, Term] | None:
    """The two sides of an equality between attributes of different variables, be it of each element.

    >>> from pattern_examples import query
    >>> where = query("SEQ(A a, B+ b[]) WHERE b[i].id = a.n").pattern.where
    >>> equal_terms(where)
    (('b', 'id'), ('a', 'n'))
    """
    if not isinstance(condition, Binary) or condition.op != "=":
        return None
    left, right = without_casts(condition.left), without_casts(condition.right)
    if not (isinstance(left, Attribute) and isinstance(right, Attribute)):
        return None
    if not all(_is_one(side) for side in (left, right)):
        return None
    one, two = term_of(left), term_of(right)
    return None if one[0] == two[0] else (one, two)


def _is_one(attribute: Attribute) -> bool:
    match attribute.event:
        case Variable() | ListElement(Variable(), Index("CURRENT", 0)):
            return True
    return False


def classes(equal: Iterable[Iterable[Term]]) -> tuple[frozenset[Term], ...]:
    """What is equal to each other, directly or through others.

    >>> a, b, c, d = ((name, "id") for name in "abcd")
    >>> [sorted(v for v, _ in one) for one in classes([(a, b), (c, d), (b, c)])]
    [['a', 'b', 'c', 'd']]
    """
    merged: list[frozenset[Term]] = []
    for terms in equal:
        new = frozenset(terms)
        merged = [*(one for one in merged if not one & new), new.union(*(one for one in merged if one & new))]
    return tuple(merged)


@dataclass(frozen=True)
class Spread:
    """How many values an attribute has, and the share of the commonest; the others are equally common."""

    values: float
    most_frequent: float = 0.0

    def agreement(self, others: int) -> float:
        """How often another event has the value that `others` events have in common, given that they agree.

        The chance that m events agree is the sum of p^m over all values of shares p, so it is the quotient of
        two such sums. Skew makes agreement likelier the more events have agreed before.

        >>> round(Spread(100.0).agreement(1), 9), Spread(1.0).agreement(3)
        (0.01, 1.0)
        >>> round(Spread(11.0, 0.5).agreement(1), 3), round(Spread(11.0, 0.5).agreement(5), 3)
        (0.275, 0.5)
        """
        if self.values <= 1 or self.most_frequent >= 1:
            return 1.0
        share = max(self.most_frequent, 1 / self.values)
        rest = (1 - share) / (self.values - 1)
        # Both sums divided by share^others, so that neither vanishes.
        weight = exp(log(self.values - 1) + others * log(rest / share)) if rest > 0 else 0.0
        return (share + rest * weight) / (1 + weight)


# In how many ways the events of one window can be bound: counting, in logarithms.
#
# Events come at random and independently of each other (a Poisson process), so a part that binds n events
# of rates r1 .. rn in a window w has on average r1*w * .. * rn*w * f ways, where f is the share of the
# orders of n events that the part allows: 1 for AND, 1/n! for SEQ. NEEL+ takes 1/2 for each pair of
# neighbours (its Pt), which is the same for two events and too much for more: three events in order are one
# in six, not one in four.
#
# Numbers of ways grow exponentially, with Kleene closures doubly so; their logarithms do not overflow.

LEAST, MOST = -230.0, 230.0
"""Logarithms of the least and the greatest number given out: 1e-100 to 1e100. Sums and products of a few of
them are still numbers."""


@dataclass(frozen=True)
class BindingCount:
    """The logarithm of a number of ways, and how many events each of them binds, on average."""

    log: float
    events: float = 0.0

    @property
    def number(self) -> float:
        """
        >>> BindingCount(0.0).number, BindingCount(1e9).number < 1e101, BindingCount(-1e9).number > 0
        (1.0, True, True)
        """
        return exp(min(MOST, max(LEAST, self.log)))

    def times(self, share: float) -> BindingCount:
        """The ways that are left when only a share of them is good."""
        return BindingCount(self.log + logarithm(share), self.events)

    def plus(self, log_share: float) -> BindingCount:
        """The same, with the logarithm of the share."""
        return BindingCount(self.log + log_share, self.events)

    def shrunk(self, share: float) -> BindingCount:
        """The ways in a shorter scope, a share of the window: each event must fall into it.

        >>> round(events(6.0).shrunk(0.5).number, 9)
        3.0
        """
        return self.plus(self.events * logarithm(share))


NOTHING = BindingCount(0.0, 0.0)
"""The one way to bind no event."""


def logarithm(share: float) -> float:
    """The logarithm, with that of a very small number for zero."""
    return max(LEAST, log(share)) if share > 0 else LEAST


def events(count: float) -> BindingCount:
    """One event out of `count`."""
    return BindingCount(logarithm(count), 1.0)


def in_sequence(one: BindingCount, two: BindingCount) -> BindingCount:
    """Both, all events of one before all of two.

    >>> pair = in_sequence(events(4.0), events(6.0))
    >>> round(pair.number, 9), round(in_sequence(pair, events(3.0)).number, 9)  # 24/2, 72/6
    (12.0, 12.0)
    """
    together = one.events + two.events
    shuffles = lgamma(together + 1) - lgamma(one.events + 1) - lgamma(two.events + 1)
    return BindingCount(one.log + two.log - shuffles, together)


def in_any_order(one: BindingCount, two: BindingCount) -> BindingCount:
    """Both, in any order.

    >>> round(in_any_order(events(4.0), events(6.0)).number, 9)
    24.0
    """
    return BindingCount(one.log + two.log, one.events + two.events)


def either(parts: Sequence[BindingCount]) -> BindingCount:
    """One of several: their ways add up.

    >>> ways = either([events(4.0), in_any_order(events(2.0), events(2.0))])
    >>> round(ways.number, 9), ways.events
    (8.0, 1.5)
    """
    most = max((part.log for part in parts), default=-inf)
    if most <= LEAST:
        return BindingCount(LEAST, max((part.events for part in parts), default=0.0))
    weights = [exp(part.log - most) for part in parts]
    mean = sum(weight * part.events for weight, part in zip(weights, parts, strict=True)) / sum(weights)
    return BindingCount(most + log(sum(weights)), mean)


def widened(part: BindingCount, share: float) -> BindingCount:
    """A part that was counted in a window of its own, a share of the whole one: its ways in the whole one.

    n events of a time d lie within a window w of one another in n*d*w^(n-1) - (n-1)*w^n of their d^n
    places. And the narrower the window, the more the part is like one event to what stands around it.

    >>> pair = in_sequence(events(0.4), events(0.6))  # in a tenth of the window: 0.12
    >>> round(widened(pair, 0.1).number, 9), widened(pair, 0.1).events, widened(pair, 1.0) == pair
    (2.28, 1.1, True)
    """
    if share >= 1:
        return part
    if part.events < 1:
        return part.plus(-part.events * logarithm(share))
    more = log(part.events / share - (part.events - 1))
    return BindingCount(part.log + more, 1 + (part.events - 1) * share)


AROUND = ""
"""Stands for any event around a region that an `[id]` there compares with."""
SHORTEST = 1e-9
"""Seconds: times are nanoseconds at best, and no window may be nothing at all."""


@dataclass(frozen=True)
class ShortcutEffect:
    """A shortcut: of the events of `outer`'s variable only a `share` has a value that `inner` has too,
    NEEL+'s SC. The others are dropped when they are read; where `inner` is negated, they need no check."""

    outer: Term
    inner: Term
    share: float
    negative: bool = False


@dataclass
class CostSetting:
    """A query and what is known about its streams.

    Events with one of the terms of `keys` are found by it, without looking at others. `cuts` are the
    shortcuts taken. Without `push_in`, conditions are checked only on complete bindings, as in NEEL+'s basic
    system.
    """

    ledger: Ledger
    keys: frozenset[Term] = frozenset()
    cuts: tuple[ShortcutEffect, ...] = ()
    push_in: bool = True

    @property
    def query(self) -> Match:
        return self.ledger.query

    @cached_property
    def duration(self) -> float:
        """Seconds from the first event to the last: what the longest stream takes."""
        lengths = [self._seconds(stream) for stream in self.query.streams]
        return max(SHORTEST, *lengths) if lengths else SHORTEST

    def _seconds(self, stream: Stream) -> float:
        rate = self.ledger.stream_rate(stream)
        return self.ledger.stream_events(stream) / rate if rate > 0 else 0.0

    @cached_property
    def window(self) -> float:
        """Seconds that a match can last: the whole input, if nothing bounds it."""
        return self.seconds(self.query.within)

    def seconds(self, window: Window | None) -> float:
        """A window as time. One of n EVENTS lasts until n events have come, in its partition."""
        if window is None:
            return self.duration
        assert isinstance(window.count, Literal) and isinstance(window.count.value, int)
        if window.unit == "EVENT":
            rate = self.stream_rate / self.partitions
            gaps = max(0.5, window.count.value - 1)  # the first of the n events is there already
            return min(self.duration, max(SHORTEST, gaps / max(rate, 1 / self.duration)))
        assert window.unit is not None
        length = window.count.value * LENGTHS[window.unit] / LENGTHS["SECOND"]
        return min(self.duration, max(SHORTEST, length))

    def share(self, window: Window | None) -> float:
        """The window of a part as a share of the whole one."""
        return 1.0 if window is None else min(1.0, self.seconds(window) / self.window)

    @cached_property
    def stream_rate(self) -> float:
        """Events of all streams in a second, whatever their types."""
        return sum(self.ledger.stream_rate(stream) for stream in self.query.streams)

    @cached_property
    def partitions(self) -> float:
        """How many partitions PARTITION BY makes."""
        variable = next(iter(self.ledger.types), "")
        return prod(self.ledger.distinct(variable, name) for name in self.query.partition)

    def count(self, type: str) -> float:
        """Events of a type in one window: NEEL+'s |S|, before conditions."""
        return self.ledger.rate(type) * self.window

    def windows(self, events: float) -> float:
        """How many windows there are to choose `events` events from: by that, the ways in one window make
        the number in the whole input.

        n events of the whole input lie within a window w of one another in n*d*w^(n-1) - (n-1)*w^n of their
        d^n places.
        """
        number, ratio = max(1.0, events), self.duration / self.window
        return number * ratio - (number - 1)

    def occurrences(self, ways: BindingCount) -> float:
        """Bindings in the whole input, capped so that later arithmetic does not overflow."""
        return BindingCount(min(MOST, ways.log + logarithm(self.windows(ways.events)))).number

    def spread(self, terms: frozenset[Term]) -> Spread:
        """The values of attributes that are equal: those of one are among those of the others, and a value is
        only as common as in the attribute in which it is rarest."""
        if terms not in self._spreads:
            typed = [term for term in terms if term[0] in self.ledger.types]
            values = max((self.ledger.distinct(*term) for term in typed), default=1.0)
            common = min((self.ledger.most_frequent(*term) for term in typed), default=0.0)
            self._spreads[terms] = Spread(values, common)
        return self._spreads[terms]

    @cached_property
    def _spreads(self) -> dict[frozenset[Term], Spread]:
        return {}

    def left_by_shortcuts(self, variable: str) -> float:
        """The share of a variable's events that the shortcuts leave."""
        return prod(cut.share for cut in self.cuts if cut.outer[0] == variable and not cut.negative)

    def left_to_check(self, names: Collection[str]) -> float:
        """The share of matches for which a negation of these variables must be checked."""
        return prod(cut.share for cut in self.cuts if cut.inner[0] in names and cut.negative)

    def agreement(self, term: Term, group: frozenset[Term], bound: Collection[Term]) -> float:
        """How often an event has the same value of `term` as those of `bound`; both in a group of equals.

        What a shortcut has dropped cannot be dropped again by the equality that it anticipates.
        """
        share = self.spread(group).agreement(max(1, len(bound)))
        for cut in self.cuts:
            pair = {cut.outer, cut.inner}
            if not cut.negative and term in pair and pair <= {term, *bound}:
                share = min(1.0, share / cut.share)
        return share


# How long the gaps of a match are, and how likely it is that something happens in one.
#
# Events of a match lie anywhere in their window, so the n pieces into which n events cut it, the rest after
# the last one included, are equally long on average and each is distributed as Beta(1, n-1). A negation
# looks at one piece in a SEQ, and at all of the scope in an AND.

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


def occurs(ways: BindingCount, necessary: Sequence[float], gap: float) -> float:
    """The chance that a part occurs in a gap. `ways` are those in a whole window, `necessary` the counts, in
    a whole window, of events without which it cannot occur.

    For one type of event this is Poisson's 1 - e^-count. Occurrences of a composite come in clumps, so the
    same formula with its expected number is too high where there are many; but it never occurs more often
    than all of its events do.

    >>> from neelc.pattern.cost.setting import events, in_sequence
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
    """How many events of a match lie in a part: the number of pieces into which it cuts its window.

    >>> from pattern_examples import query
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
        case p.Joint(parts):
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
        case p.Joint(parts):
            return sum(_room_of(inner, name) for inner in parts)
    raise AssertionError(type(part).__name__)

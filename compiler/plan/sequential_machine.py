"""From a pattern over symbols to a deterministic automaton.

Matches are told apart by their symbols, so every sequence of symbols must take one way: with a
nondeterministic automaton `(A | A) B` would match twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from neelc.ir import rows as r
from neelc.plan.unsupported import Unsupported
from neelc.runtime.sequential.program import Automaton

MOST_PLACES = 2_000
MOST_STATES = 2_000

Places = frozenset[int]
END = -1
"""The place behind the pattern."""


def automaton_of(pattern: r.RowPattern, names: tuple[str, ...]) -> Automaton:
    """The automaton of a pattern over symbols of these names.

    >>> a, b = r.RowVariable("A"), r.RowVariable("B")
    >>> automaton_of(r.RowSequence((a, r.RowRepeat(b, 0, None), a)), ("A", "B"))
    Automaton(states=3, edges=((0, 0, 1), (1, 0, 2), (1, 1, 1)), accepting=(2,))
    """
    try:
        places = _Places()
        begin = places.follow(pattern, frozenset({END}))
    except RecursionError:
        raise Unsupported("a row pattern that is nested too deeply", pattern.span) from None
    symbols = [names.index(name) for name in places.names]
    states = _subsets(begin, symbols, places, pattern)
    return _without_doubles(states)


class _Places:
    """The places of a pattern: occurrences of symbols, with the places that may come after each."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.after: list[set[int]] = []
        self.loops = 0

    def follow(self, pattern: r.RowPattern, after: Places) -> Places:
        """Adds the places of a pattern that `after` may follow; the places that it may begin with, and those
        of `after` if it may be empty."""
        match pattern:
            case r.RowVariable(name):
                if len(self.names) == MOST_PLACES:
                    raise Unsupported(f"a pattern with more than {MOST_PLACES} places", pattern.span)
                self.names.append(name)
                self.after.append(set(after))
                return frozenset({len(self.names) - 1})
            case r.RowSequence(parts):
                for part in reversed(parts):
                    after = self.follow(part, after)
                return after
            case r.RowAlternation(parts):
                return frozenset(place for part in parts for place in self.follow(part, after))
            case r.RowRepeat(part, least, most):
                return self._repeated(part, least, most, after)
        return after

    def _repeated(self, part: r.RowPattern, least: int, most: int | None, after: Places) -> Places:
        if max(least, (most or least) - least) > MOST_PLACES:
            raise Unsupported(f"a pattern with more than {MOST_PLACES} places", part.span)
        if most is None:
            self.loops += 1
            known, again = len(self.names), END - self.loops
            begin = self.follow(part, frozenset({*after, again})) - {again}
            for place in range(known, len(self.names)):
                if again in self.after[place]:
                    self.after[place] = self.after[place] - {again} | begin
            # The loop is the last of the times that are required, or none.
            after, least = (begin, least - 1) if least else (begin | after, 0)
        else:
            for _ in range(most - least):
                after = self.follow(part, after) | after
        for _ in range(least):
            after = self.follow(part, after)
        return after


_Edges = dict[int, int]


def _subsets(
    begin: Places, symbols: list[int], places: _Places, pattern: r.RowPattern
) -> list[tuple[bool, _Edges]]:
    """The sets of places that may come next, as states: whether the pattern may end there, and the edges."""
    numbers: dict[tuple[Places, bool], int] = {(begin, True): 0}
    states: list[tuple[bool, _Edges]] = []
    for expected, is_first in _growing(numbers):
        moves: dict[int, set[int]] = defaultdict(set)
        for place in expected - {END}:
            moves[symbols[place]] |= places.after[place]
        if len(numbers) > MOST_STATES:
            raise Unsupported(f"a pattern whose automaton has more than {MOST_STATES} states", pattern.span)
        edges = {s: numbers.setdefault((frozenset(to), False), len(numbers)) for s, to in moves.items()}
        states.append((END in expected and not is_first, edges))
    return states


def _growing(numbers: dict[tuple[Places, bool], int]) -> Iterator[tuple[Places, bool]]:
    done = 0
    while done < len(numbers):
        for key in list(numbers)[done:]:
            done += 1
            yield key


def _without_doubles(states: list[tuple[bool, _Edges]]) -> Automaton:
    """States that accept the same become one; the first stays alone."""
    groups = [0 if number == 0 else 1 + accepts for number, (accepts, _) in enumerate(states)]
    while True:
        seen: dict[object, int] = {}
        signatures = (
            (group, tuple(sorted((symbol, groups[to]) for symbol, to in edges.items())))
            for group, (_, edges) in zip(groups, states, strict=True)
        )
        finer = [seen.setdefault(signature, len(seen)) for signature in signatures]
        if len(seen) == len(set(groups)):
            break
        groups = finer
    return _numbered(groups, states)


def _numbered(groups: list[int], states: list[tuple[bool, _Edges]]) -> Automaton:
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    of = [numbers[group] for group in groups]
    edges = {(of[n], s, of[to]) for n, (_, moves) in enumerate(states) for s, to in moves.items()}
    accepting = {of[n] for n, (accepts, _) in enumerate(states) if accepts}
    return Automaton(len(numbers), tuple(sorted(edges)), tuple(sorted(accepting)))


def longest(automaton: Automaton) -> int | None:
    """The number of symbols of the longest sequence that is accepted; None if there is no longest.

    >>> longest(Automaton(3, ((0, 0, 1), (1, 0, 2)), (2,)))
    2
    """
    reached, length = {0}, 0
    while reached:
        reached = set(_next(reached, automaton.edges))
        length += bool(reached)
        if length >= automaton.states:
            return None
    return length


def _next(states: set[int], edges: Iterable[tuple[int, int, int]]) -> Iterator[int]:
    return (to for source, _, to in edges if source in states)

"""From a row pattern to an automaton that takes one row at each step.

The pattern is first made a graph, from its end to its beginning: a part is built with what comes after it. A
part that may be empty can be followed by two things: `taken` if it took a row, `empty` if it did not. For a
repetition that is not required must take a row, so there it is followed by nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from neelc.ir import rows as r
from neelc.plan.unsupported import Unsupported
from neelc.runtime.rows.program import ACCEPT, Choices, Machine

MOST_PLACES = 10_000
MOST_EDGES = 100 * MOST_PLACES
MOST_STEPS = 20 * MOST_PLACES
"""How often a part is built. Parts that take no row have no places, but repeating them takes time, too."""


@dataclass(eq=False)
class Take:
    """A row of a variable."""

    variable: str
    excluded: bool
    then: Step
    number: int = -1


@dataclass(eq=False)
class Anchor:
    """Goes on at the partition's first row (`^`) or after its last one (`$`)."""

    kind: str
    then: Step


@dataclass(eq=False)
class Split:
    """The preferred way first; without any, this is a dead end."""

    ways: list[Step] = field(default_factory=list)


@dataclass(eq=False)
class Accept:
    """The end of the pattern."""


Step = Take | Anchor | Split | Accept


def machine_of(pattern: r.RowPattern, names: tuple[str, ...]) -> Machine:
    """The automaton of a pattern over variables of these names.

    >>> a, b = r.RowVariable("A"), r.RowVariable("B")
    >>> machine = machine_of(r.RowSequence((a, r.RowRepeat(b, 0, None))), ("A", "B"))
    >>> machine.variables, machine.start, machine.after
    ((0, 1), (0,), ((1, -1), (1, -1)))
    """
    try:
        end = Accept()
        entry = _Builder().built(pattern, end, end, False)
    except RecursionError:
        raise Unsupported("a row pattern that is nested too deeply", pattern.span) from None
    places = _places(entry)
    if len(places) > MOST_PLACES:
        raise _too_large(pattern)
    numbers = {name: number for number, name in reversed([*enumerate(names)])}
    return Machine(
        tuple(numbers[place.variable] for place in places),
        tuple(place.excluded for place in places),
        _choices(entry, at_first=True),
        _choices(entry),
        tuple(_edges(places, pattern)),
        tuple(ACCEPT in _choices(place.then, at_end=True) for place in places),
    )


def _edges(places: Sequence[Take], pattern: r.RowPattern) -> Iterator[Choices]:
    """What may come after each place; many parts in a row that may be empty have very many edges."""
    number = 0
    for place in places:
        found = _choices(place.then)
        number += len(found)
        if number > MOST_EDGES:
            raise Unsupported(f"a row pattern with more than {MOST_EDGES} ways from row to row", pattern.span)
        yield found


def _too_large(pattern: r.RowPattern) -> Unsupported:
    return Unsupported(f"a row pattern with more than {MOST_PLACES} places", pattern.span)


class _Builder:
    def __init__(self) -> None:
        self.places = 0
        self.steps = 0

    def built(self, pattern: r.RowPattern, taken: Step, empty: Step, excluded: bool) -> Step:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _too_large(pattern)
        match pattern:
            case r.RowVariable(name):
                self.places += 1
                if self.places > MOST_PLACES:
                    raise _too_large(pattern)
                return Take(name, excluded, taken)
            case r.RowSequence(parts):
                return self._sequence(parts, taken, empty, excluded)
            case r.RowAlternation(parts):
                return Split([self.built(part, taken, empty, excluded) for part in parts])
            case r.RowPermute(parts) if all(isinstance(part, r.RowVariable) for part in parts):
                return self._permuted(parts, taken, excluded)
            case r.RowPermute(parts):
                orders = permutations(parts)
                return Split([self._sequence(order, taken, empty, excluded) for order in orders])
            case r.RowRepeat():
                return self._repeat(pattern, taken, empty, excluded)
            case r.RowExclusion(part):
                return self.built(part, taken, empty, True)
            case r.RowAnchor(kind):
                return Anchor(kind, empty)
        return empty

    def _sequence(self, parts: Sequence[r.RowPattern], taken: Step, empty: Step, excluded: bool) -> Step:
        for part in reversed(parts):
            after_row = self.built(part, taken, taken, excluded)
            empty = after_row if taken is empty else self.built(part, taken, empty, excluded)
            taken = after_row
        return empty

    def _permuted(self, variables: tuple[r.RowPattern, ...], taken: Step, excluded: bool) -> Step:
        """What may follow some of the variables is the same whatever their order was, so it is built once:
        ten variables have 5,120 places, not 36,288,000. Other parts can be read in several ways, and all ways
        of the first one come before the next order of the rest: those are written out."""
        known: dict[frozenset[int], Step] = {frozenset(): taken}

        def rest(left: frozenset[int]) -> Step:
            if left not in known:
                after = [(one, rest(left - {one})) for one in sorted(left)]
                known[left] = Split([self.built(variables[one], then, then, excluded) for one, then in after])
            return known[left]

        return rest(frozenset(range(len(variables))))

    def _repeat(self, repeat: r.RowRepeat, taken: Step, empty: Step, excluded: bool) -> Step:
        """First the times that are not required, then before them those that are."""
        part, least = repeat.part, repeat.least
        if max(least, (repeat.most or least) - least) > MOST_PLACES:
            raise _too_large(repeat)
        if repeat.most is None:
            again = Split()
            once = self.built(part, again, Split(), excluded)
            again.ways = _preferred(repeat, once, taken)
            if least and not can_be_empty(part):
                # The last time that is required is the first one of the loop.
                after_row, after_none, least = once, once, least - 1
            else:
                after_row = again
                after_none = again if taken is empty else Split(_preferred(repeat, once, empty))
        else:
            after_row, after_none = taken, empty
            for _ in range(repeat.most - least):
                once = self.built(part, after_row, Split(), excluded)
                shared = after_row is after_none
                after_row = Split(_preferred(repeat, once, taken))
                after_none = after_row if shared else Split(_preferred(repeat, once, empty))
        return self._sequence([part] * least, after_row, after_none, excluded)


def _preferred(repeat: r.RowRepeat, once: Step, stop: Step) -> list[Step]:
    return [stop, once] if repeat.reluctant else [once, stop]


def can_be_empty(pattern: r.RowPattern) -> bool:
    """Whether a pattern can be read without taking a row.

    >>> can_be_empty(r.RowRepeat(r.RowVariable("A"), 0, 1)), can_be_empty(r.RowVariable("A"))
    (True, False)
    """
    match pattern:
        case r.RowVariable():
            return False
        case r.RowSequence(parts) | r.RowPermute(parts):
            return all(map(can_be_empty, parts))
        case r.RowAlternation(parts):
            return any(map(can_be_empty, parts))
        case r.RowRepeat(part, least):
            return least == 0 or can_be_empty(part)
        case r.RowExclusion(part):
            return can_be_empty(part)
    return True


def _places(entry: Step) -> list[Take]:
    """The places that can be reached, numbered in the order of the pattern."""
    found: list[Take] = []
    seen: set[int] = set()
    waiting = [entry]
    while waiting:
        step = waiting.pop()
        if id(step) in seen:
            continue
        seen.add(id(step))
        match step:
            case Take(then=then):
                step.number = len(found)
                found.append(step)
                waiting.append(then)
            case Anchor(then=then):
                waiting.append(then)
            case Split(ways):
                waiting.extend(reversed(ways))
    return found


def _choices(step: Step, at_first: bool = False, at_end: bool = False) -> Choices:
    """What may come next, the preferred choice first. After ACCEPT no other is ever taken."""
    found: dict[int, None] = {}
    for choice in _ways(step, at_first, at_end, set()):
        found.setdefault(choice)
        if choice == ACCEPT:
            break
    return tuple(found)


def _ways(step: Step, at_first: bool, at_end: bool, seen: set[int]) -> Iterator[int]:
    waiting = [step]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        match one:
            case Take(number=number):
                if not at_end:
                    yield number
            case Accept():
                yield ACCEPT
            case Anchor(kind, then):
                if at_first if kind == "^" else at_end:
                    waiting.append(then)
            case Split(ways):
                waiting.extend(reversed(ways))

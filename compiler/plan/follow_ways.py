"""The ways of runs: from where to where the next event can take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from neelc.plan.follow_components import Branch, Component, Part
from neelc.plan.follow_decided import Position
from neelc.plan.list_names import CURRENT, LAST, element
from neelc.runtime.moves import FIRST, NEXT, SAME, State


@dataclass(frozen=True)
class Way:
    """From a position (None: from nothing) to another, for lists of `least` to `most` iterations; `left_out`
    are the marks of optional parts that are skipped."""

    source: Position | None
    target: Position
    iteration: str
    least: int = 0
    most: int | None = None
    left_out: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Ways:
    """The states of one branch, and all ways between them."""

    branch: Branch
    known_numbers: Mapping[str, int] = field(default_factory=dict)
    """Up to which number the iterations of a list are told apart, if that is more than 1."""

    @cached_property
    def spots(self) -> list[tuple[int, int]]:
        """The states, each a component and a part of it."""
        return [
            (place, number)
            for place, component in enumerate(self.branch.components)
            for number in range(len(component.parts))
        ]

    def number(self, at: Position) -> int:
        """The number of the state."""
        return self._numbers[at.component, at.part]

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {spot: number for number, spot in enumerate(self.spots)}

    @cached_property
    def states(self) -> tuple[State, ...]:
        return tuple(self._state(*spot) for spot in self.spots)

    def _state(self, place: int, number: int) -> State:
        component = self.branch.components[place]
        rest = self.branch.components[place + 1 :]
        ends = all(part.is_optional for part in component.parts[number + 1 :])
        accepts = component.least if ends and all(one.can_be_skipped for one in rest) else None
        of_list = component.item.variable if component.is_list else None
        return State(component.parts[number].item.variable, of_list, accepts)

    def accepting(self) -> list[Position]:
        """Where runs can be complete, with as little as can be known there."""
        found = zip(self.spots, self.states, strict=True)
        return [self._weakest(*spot) for spot, state in found if state.accepts is not None]

    def _weakest(self, place: int, number: int) -> Position:
        return Position(place, number)

    def all(self) -> Iterator[Way]:
        yield from self._entering(-1, None, 0, frozenset())
        for place, number in self.spots:
            yield from self._from(place, number)

    def _from(self, place: int, number: int) -> Iterator[Way]:
        component = self.branch.components[place]
        source = self._weakest(place, number)
        yield from self._inside(component, source)
        rest = component.parts[number + 1 :]
        if not all(part.is_optional for part in rest):
            return
        left_out = frozenset(mark for part in rest for mark in part.marks)
        if component.is_list:
            yield from self._again(component, source, left_out)
        yield from self._entering(place, source, component.least if component.is_list else 0, left_out)

    def _entering(
        self, place: int, source: Position | None, least: int, left_out: frozenset[str]
    ) -> Iterator[Way]:
        """The first event of a component that comes later."""
        for later in range(place + 1, len(self.branch.components)):
            component = self.branch.components[later]
            if component.most != 0:
                is_full = component.is_list and component.most == 1
                for number, skipped in _reachable(component.parts, 0):
                    target = Position(later, number, 1, 1, is_full)
                    yield Way(source, target, FIRST, least, None, left_out | skipped)
            if not component.can_be_skipped:
                return
            left_out |= component.marks

    def _inside(self, component: Component, source: Position) -> Iterator[Way]:
        """One more event of the same iteration."""
        for number, left_out in _reachable(component.parts, source.part + 1):
            for low, high in self._classes(component):
                before = _in_iterations(source, low, high, component)
                yield Way(before, replace(before, part=number), SAME, low, high, left_out)

    def _again(self, component: Component, source: Position, left_out: frozenset[str]) -> Iterator[Way]:
        """The first event of another iteration."""
        for number, skipped in _reachable(component.parts, 0):
            for low, high in self._classes(component):
                if high != 1:
                    last = None if high is None else high - 1
                    before = _in_iterations(source, low - 1, last, component)
                    target = replace(_in_iterations(source, low, high, component), part=number)
                    yield Way(before, target, NEXT, low - 1, last, left_out | skipped)

    def _classes(self, component: Component) -> list[tuple[int, int | None]]:
        return _classes(component.most, self.known_numbers.get(component.item.variable, 1))

    def renames(self, way: Way) -> Iterator[tuple[str, str]]:
        """The names that the events of a list get when an iteration is over."""
        if way.source is None or way.iteration == SAME:
            return
        before = self.branch.components[way.source.component]
        if before.is_list:
            variable = before.item.variable
            told = self.known_numbers.get(variable, 1)
            # The oldest first: what was b[i-1] makes room for what was b[i].
            older = [f"{CURRENT}-{number}" for number in range(told, 0, -1)]
            places = list(zip([*older[1:], CURRENT], older, strict=True))
            for part in before.parts:
                inner = part.item.variable.removeprefix(element(variable, CURRENT))
                for old, new in places if way.iteration == NEXT else [(CURRENT, LAST)]:
                    yield element(variable, old) + inner, element(variable, new) + inner


def _reachable(parts: Sequence[Part], first: int) -> Iterator[tuple[int, frozenset[str]]]:
    """The parts from `first` on that can be next, with the marks of those that are left out before each."""
    left_out = frozenset[str]()
    for number in range(first, len(parts)):
        yield number, left_out
        if not parts[number].is_optional:
            return
        left_out |= parts[number].marks


def _in_iterations(at: Position, low: int, high: int | None, component: Component) -> Position:
    return replace(at, low=low, high=high, is_full=low == component.most)


def _classes(most: int | None, told: int = 1) -> list[tuple[int, int | None]]:
    """Numbers of iterations that are alike: the first ones that are `told` apart, those in the middle, the
    last one.

    >>> _classes(None), _classes(1), _classes(2), _classes(5)
    ([(1, 1), (2, None)], [(1, 1)], [(1, 1), (2, 2)], [(1, 1), (2, 4), (5, 5)])
    >>> _classes(None, 2), _classes(2, 3)
    ([(1, 1), (2, 2), (3, None)], [(1, 1), (2, 2)])
    """
    first = [(number, number) for number in range(1, told + 1)]
    if most is None:
        return [*first, (told + 1, None)]
    found = [*first, (told + 1, most - 1), (most, most)]
    return list(dict.fromkeys((low, high) for low, high in found if low <= high <= most))

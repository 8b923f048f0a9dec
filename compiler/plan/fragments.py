"""Pieces of an automaton, and how they are put together.

The construction is Glushkov's: a place for each component, no empty moves. A fragment has ways in, ways out
and, if it can be passed over, a way around it. A part that binds nothing, such as a negation, has no places:
only a way around it, with a remark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

Token = tuple[str, str]
"""What is known at a place: the `value` of a variable, an `element` of a list, a variable that is `absent`, a
part that was `taken` or `left out`."""


@dataclass(frozen=True)
class Place:
    """A state in the making: what was bound on the way and all that is known there."""

    names: tuple[str, ...]
    known: frozenset[Token]

    @property
    def label(self) -> str:
        """
        >>> Place(("a",), frozenset()).label, Place(("a", "b[]"), frozenset()).label
        ('after a', 'after a and in b[]')
        """
        return " and ".join(f"in {name}" if name.endswith("[]") else f"after {name}" for name in self.names)


@dataclass(frozen=True)
class Leave:
    """What comes with leaving a fragment, or with passing it over."""

    guards: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    known: frozenset[Token] = frozenset()

    def __add__(self, other: Leave) -> Leave:
        return Leave(
            self.guards + other.guards,
            self.conditions + other.conditions,
            self.without + other.without,
            self.known | other.known,
        )


@dataclass(frozen=True)
class Move:
    """A step to `target`, from `source`, or from whatever comes before when it is None.

    `again` moves `forget` what belongs to the iteration before; `begins` are the lists of which this is the
    first element. `known` is what the move itself decides.
    """

    target: int
    event: str
    variable: str
    source: int | None = None
    kind: str = "take"
    dropped: bool = False
    guards: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    known: frozenset[Token] = frozenset()
    forget: frozenset[Token] = frozenset()
    begins: frozenset[str] = frozenset()

    def after(self, source: int | None, leave: Leave) -> Move:
        """The same step, taken after leaving `source`."""
        return replace(
            self,
            source=source,
            guards=leave.guards + self.guards,
            conditions=leave.conditions + self.conditions,
            without=leave.without + self.without,
            known=leave.known | self.known,
        )


@dataclass(frozen=True)
class Fragment:
    """`entries` are moves without a source; `around` is None if the fragment cannot be passed over."""

    places: Mapping[int, Place] = field(default_factory=dict)
    entries: tuple[Move, ...] = ()
    moves: tuple[Move, ...] = ()
    exits: Mapping[int, Leave] = field(default_factory=dict)
    around: Leave | None = None


def in_sequence(fragments: Sequence[Fragment]) -> Fragment:
    """One after the other."""
    places: dict[int, Place] = {}
    entries: list[Move] = []
    moves: list[Move] = []
    ends: dict[int | None, Leave] = {None: Leave()}
    for fragment in fragments:
        places |= fragment.places
        moves += fragment.moves
        for source, leave in ends.items():
            steps = [entry.after(source, leave) for entry in fragment.entries]
            (entries if source is None else moves).extend(steps)
        around = fragment.around
        ends = {} if around is None else {source: leave + around for source, leave in ends.items()}
        ends.update(fragment.exits.items())
    exits = {source: leave for source, leave in ends.items() if source is not None}
    return Fragment(places, tuple(entries), tuple(moves), exits, ends.get(None))


def one_of(fragments: Sequence[Fragment]) -> Fragment:
    """One or another."""
    return Fragment(
        {number: place for fragment in fragments for number, place in fragment.places.items()},
        tuple(entry for fragment in fragments for entry in fragment.entries),
        tuple(move for fragment in fragments for move in fragment.moves),
        {number: leave for fragment in fragments for number, leave in fragment.exits.items()},
        next((fragment.around for fragment in fragments if fragment.around is not None), None),
    )


def in_any_order(fragments: Sequence[Fragment], numbers: Iterator[int]) -> Fragment:
    """All of them, their steps in any order: a place for each combination of their places.

    For single events these are the subsets of those that were taken.
    """
    choices = [(None, *fragment.places) for fragment in fragments]
    combined = {both: next(numbers) for both in product(*choices) if _is_begun(both)}
    entries = [
        replace(entry, target=combined[_put((None,) * len(fragments), at, entry.target)])
        for at, fragment in enumerate(fragments)
        for entry in fragment.entries
    ]
    moves = [
        replace(move, source=number, target=combined[_put(combination, at, move.target)])
        for combination, number in combined.items()
        for at, fragment in enumerate(fragments)
        for move in _steps(fragment, combination[at])
    ]
    exits = {
        number: leave
        for combination, number in combined.items()
        if (leave := _left(fragments, combination)) is not None
    }
    places = {number: _joined(fragments, combination) for combination, number in combined.items()}
    around = _left(fragments, (None,) * len(fragments))
    return Fragment(places, tuple(entries), tuple(moves), exits, around)


Combination = tuple[int | None, ...]


def _is_begun(combination: Combination) -> bool:
    return any(place is not None for place in combination)


def _put(combination: Combination, at: int, place: int) -> Combination:
    return (*combination[:at], place, *combination[at + 1 :])


def _steps(fragment: Fragment, place: int | None) -> Iterator[Move]:
    steps = fragment.entries if place is None else fragment.moves
    return (move for move in steps if move.source == place)


def _left(fragments: Sequence[Fragment], combination: Combination) -> Leave | None:
    """What comes with leaving all of them at these places; None if one of them is not complete there."""
    leave = Leave()
    for fragment, place in zip(fragments, combination, strict=True):
        own = fragment.around if place is None else fragment.exits.get(place)
        if own is None:
            return None
        leave += own
    return leave


def _joined(fragments: Sequence[Fragment], combination: Combination) -> Place:
    pairs = zip(fragments, combination, strict=True)
    places = [fragment.places[place] for fragment, place in pairs if place is not None]
    names = tuple(name for place in places for name in place.names)
    return Place(names, frozenset().union(*(place.known for place in places)))

"""What the moves of runs ask for: worked out once for a step, as there may be many rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from neelc.runtime.kernels import mentions
from neelc.runtime.moves import FIRST
from neelc.runtime.program import Fold, Follow, Move, State


@dataclass(frozen=True)
class Needs:
    """What the runs in a state must remember: variables, and lists whose elements are asked for once more.
    `numbered` are those of the variables that the last event has for ever, if its iteration has that number:
    `b[1]`."""

    variables: frozenset[str]
    lists: frozenset[str]
    numbered: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Leg:
    """A move, and the folds that its conditions ask for: of lists as they are before it, and of the list that
    is full with its event."""

    move: Move
    asked: tuple[Fold, ...]
    grown: Mapping[str, Fold]


@dataclass(frozen=True, eq=False)
class Route:
    """A step, and what is known of it: for each state the moves that begin there, and what runs in it must
    remember; the folds that moves ask for."""

    follow: Follow
    begin: tuple[Leg, ...]
    legs: tuple[tuple[Leg, ...], ...]
    needs: tuple[Needs, ...]
    folds: tuple[Fold, ...]


@lru_cache(maxsize=256)
def route(step: Follow) -> Route:
    legs = [_leg(step, move) for move in step.moves]
    return Route(
        step,
        tuple(leg for leg in legs if leg.move.source < 0),
        tuple(tuple(leg for leg in legs if leg.move.source == state) for state in range(len(step.states))),
        needs(step),
        _folds(step),
    )


def _leg(step: Follow, move: Move) -> Leg:
    named = {name for value in mentions.of_move(move) for name in mentions.of_value(value)}
    variable = step.states[move.target].list
    grown = {fold.name: fold for fold in step.final if fold.list == variable and fold.name in named}
    asked = (fold for fold in (*step.running, *step.final) if fold.name in named and fold.name not in grown)
    return Leg(move, tuple(asked), grown)


def _folds(step: Follow) -> tuple[Fold, ...]:
    named = {
        name for move in step.moves for value in mentions.of_move(move) for name in mentions.of_value(value)
    }
    return tuple(fold for fold in (*step.running, *step.final) if fold.name in named)


def needs(step: Follow) -> tuple[Needs, ...]:
    """For each state, what the runs in it must remember.

    >>> from neelc.runtime.program import Apply, Column, State, Take
    >>> less = Apply("<", (Column("a", "x"), Column("c", "x")))
    >>> takes = (Take("a", "A"), Take("b", "B"), Take("c", "C", where=(less,)))
    >>> moves = tuple(Move(number - 1, number, take) for number, take in enumerate(takes))
    >>> [sorted(one.variables) for one in needs(Follow((State("a"), State("b"), State("c")), moves))]
    [['a'], ['a'], []]
    """
    lists = frozenset(judged.each for move in step.moves for judged in move.judged if judged.each)
    found = [frozenset[str]() for _ in step.states]
    changed = True
    while changed:
        changed = False
        for move in step.moves:
            if move.source < 0:
                continue
            wanted = found[move.source] | _before(step, move, found[move.target])
            changed |= wanted != found[move.source]
            found[move.source] = wanted
    folds = {fold.name for fold in (*step.running, *step.final)}
    return tuple(
        Needs(frozenset(names - folds), lists, tuple(_numbered(state, names - folds)))
        for state, names in zip(step.states, found, strict=True)
    )


def _numbered(state: State, names: frozenset[str]) -> Iterator[tuple[str, int]]:
    """
    >>> sorted(_numbered(State("k[i].a", "k"), frozenset(("k[1]", "k[2].a", "k[2].b", "k[last].a", "c"))))
    [('k[1]', 1), ('k[2].a', 2)]
    """
    inner = state.variable.removeprefix(f"{state.list}[i]")
    for name in sorted(names) if state.list is not None else ():
        place, end, rest = name.removeprefix(f"{state.list}[").partition("]")
        if end and place.isdigit() and rest in ("", inner) and name.startswith(f"{state.list}["):
            yield name, int(place)


def _before(step: Follow, move: Move, after: frozenset[str]) -> frozenset[str]:
    """What must be known before a move, if this much must be known after it."""
    asked = {name for value in mentions.of_move(move) for name in mentions.of_value(value)}
    asked |= {name for judged in move.judged for name in judged.present}
    asked |= {name for within in move.take.bounds.within for name in within.events}
    elements = {f"{judged.each}[{place}]" for judged in move.judged if judged.each for place in ("i", "i-1")}
    state = step.states[move.target]
    names = ((asked - elements) | after) - {state.variable}
    if move.iteration == FIRST and state.list is not None:
        # Of a list that begins there was nothing before.
        names = {name for name in names if not name.startswith(f"{state.list}[")}
    old = {new: old for old, new in move.renames}
    gone = {one for one, _ in move.renames}
    return frozenset(old.get(name, name) for name in names if name in old or name not in gone)

"""Lanes: the events that a match may have, once it is fixed what is pinned. No two lanes share a match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neelc.runtime.kernels.counting_chain import Chain, Counting
from neelc.runtime.kernels.events import Numbers, Truths
from neelc.runtime.kernels.lists import Lists
from neelc.runtime.kernels.matching import matches
from neelc.runtime.kernels.players import Search
from neelc.runtime.kernels.timeline import LONGEST
from neelc.runtime.program import Output, Program


@dataclass(frozen=True, eq=False)
class Ground:
    """The events that can be in a match of a chain, in their order: a *place* is a number in this order.
    `ties` has for each place the first one of the same time, `fits` for each state whether the event can be
    there at all."""

    search: Search
    numbers: Numbers
    ties: Numbers
    fits: tuple[Truths, ...]

    @cached_property
    def has_ties(self) -> bool:
        return bool((self.ties != np.arange(len(self.ties))).any())


def ground(chain: Chain, search: Search) -> Ground:
    events = search.events
    playing = np.zeros(len(events.start), bool)
    for state in chain.states:
        playing[events.roles[state.role]] = True
    numbers = np.flatnonzero(playing)
    fits = []
    for state in chain.states:
        plays = np.zeros(len(events.start), bool)
        plays[events.roles[state.role]] = True
        fits.append(plays[numbers])
    time = search.timeline.time.start[numbers]
    return Ground(search, numbers, first_of_each_time(time), tuple(fits))


def first_of_each_time(time: Numbers) -> Numbers:
    """
    >>> first_of_each_time(np.array([2, 5, 5, 7])).tolist()
    [0, 1, 1, 3]
    """
    return np.searchsorted(time, time, "left")


@dataclass(frozen=True, eq=False)
class Lanes:
    """For each lane the places from `base` to before `stop`, and the events that are pinned."""

    base: Numbers
    stop: Numbers
    pins: Mapping[str, Numbers]

    def __len__(self) -> int:
        return len(self.base)

    def take(self, lanes: Numbers | slice) -> Lanes:
        pins = {name: numbers[lanes] for name, numbers in self.pins.items()}
        return Lanes(self.base[lanes], self.stop[lanes], pins)


def lanes(program: Counting, chain: Chain, on: Ground) -> Iterator[Lanes]:
    """All lanes that are not empty, in the order of their base."""
    for found in _lanes(program, chain, on):
        kept = found.take(np.flatnonzero(found.base < found.stop))
        if len(kept):
            yield kept.take(np.argsort(kept.base, kind="stable"))


def _lanes(program: Counting, chain: Chain, on: Ground) -> Iterator[Lanes]:
    events, line = on.search.events, on.search.timeline
    if not chain.pins:
        segment = events.segment[line.first]
        base = np.searchsorted(on.numbers, line.first)
        yield Lanes(base, _stops(chain, on, line.first, segment), {})
        return
    for piece in matches(_pinning(program, chain), events):
        pins = {
            name: numbers.astype(np.int64)
            for name, numbers in piece.items()
            if not isinstance(numbers, Lists)
        }
        first = pins[chain.pins[0].variable]
        segment = events.segment[first]
        begin = first if chain.leads else line.first[np.searchsorted(events.segment[line.first], segment)]
        stop = _stops(chain, on, first, segment)
        for name in {chain.states[ending.state].pinned for ending in chain.endings}:
            # Nothing comes after an event with which all matches end.
            if len(chain.endings) == 1 and name is not None:
                stop = np.minimum(stop, np.searchsorted(on.numbers, pins[name], "right"))
        yield Lanes(np.searchsorted(on.numbers, begin), stop, pins)


def _stops(chain: Chain, on: Ground, first: Numbers, segment: Numbers) -> Numbers:
    """The places at which the window of matches, or else their key, ends."""
    line = on.search.timeline
    axis = line.place if chain.counted else line.time
    assert axis is not None, "a window counts, but the events are not counted"
    last = axis.high[segment]
    if chain.width is not None and chain.leads:
        last = np.minimum(last, axis.start[first] + max(-LONGEST, min(chain.width, LONGEST)))
    return np.searchsorted(axis.end[on.numbers], last, "right")


def _pinning(program: Counting, chain: Chain) -> Program:
    """The program that finds what is pinned."""
    variables = [take.variable for take in chain.pins]
    return Program(
        chain.pins,
        tuple(Output(variable, "") for variable in variables),
        program.roles,
        program.keys,
        counted=program.counted,
        reach=program.reach,
        looks_back=False,
        leader=variables[0] if chain.leads else None,
    )

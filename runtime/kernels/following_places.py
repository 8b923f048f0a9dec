"""Where the candidates of runs begin and end among the players.

Runs that must take neighbours try nearly every event as the next one of every other. A search in sorted times
costs as much as all else that they do with an event; for all events at once it is cheap, since one lies
behind the other. So it is done once for each event, and runs read what is found for their last one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neelc.runtime.kernels.bounds import Room
from neelc.runtime.kernels.events import Numbers
from neelc.runtime.kernels.frontier import Frontier
from neelc.runtime.kernels.players import Players, Search
from neelc.runtime.moves import LAST
from neelc.runtime.program import Take

LIMITS = "#limits"
BEGIN, END = "#begin", "#end"


def first_places(
    search: Search, take: Take, players: Players, frontier: Frontier, time: Room, is_neighbour: bool
) -> Numbers:
    """For each run, the place of the first player that starts late enough."""
    if is_neighbour and _is_last_alone(search, take, frontier):
        found = _known(players, BEGIN, lambda: _after(players, search.timeline.time.end))
        return found[frontier.variables[LAST]]
    return np.searchsorted(players.start, time.start, "left")


def last_places(
    search: Search, take: Take, players: Players, frontier: Frontier, time: Room, is_neighbour: bool
) -> Numbers:
    """For each run, the place behind the last player that starts early enough; as a neighbour of its last
    event, if it must be one."""
    if not is_neighbour:
        return _after(players, time.end)
    if _is_last_alone(search, take, frontier):
        found = _known(players, END, lambda: _after(players, _limits(search)))[frontier.variables[LAST]]
        if any(within.events for within in take.bounds.within):
            return np.minimum(found, _after(players, time.end))
        return found
    return _after(players, np.minimum(time.end, _limits(search)[frontier.variables[LAST]]))


def _after(players: Players, times: Numbers) -> Numbers:
    return np.searchsorted(players.start, times, "right")


def _is_last_alone(search: Search, take: Take, frontier: Frontier) -> bool:
    """Whether the last event of a run is the latest of all that the next one must come after. Of events that
    last, another one may end later."""
    bounds = take.bounds
    plain = not (search.events.lasting or bounds.between or bounds.before)
    return plain and bounds.after == (LAST,) and LAST in frontier.variables


def _known(players: Players, name: str, find: Callable[[], Numbers]) -> Numbers:
    if name not in players.indexes:
        players.indexes[name] = find()
    found = players.indexes[name]
    assert isinstance(found, np.ndarray)
    return found


def _limits(search: Search) -> Numbers:
    """For each event, until when a neighbour of it starts (docs/decisions/0011): up to the end of whatever
    ends first of all that starts after it, and in its own segment."""
    if LIMITS not in search.found:
        time = search.timeline.time
        numbers = np.arange(len(time.start))
        everything = Players(numbers, time.start, time.end, None, None)
        following = np.minimum(np.searchsorted(time.start, time.end, "right"), len(numbers) - 1)
        ends = np.minimum(time.end[everything.soonest[following]], time.high[search.events.segment])
        search.found[LIMITS] = Players(numbers, time.start, ends, None, None)
    return search.found[LIMITS].end

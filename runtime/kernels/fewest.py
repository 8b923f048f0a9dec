"""A lower bound on the number of matches, computed without finding them: a limit that will be exceeded is
best reported before the search. Spark retries a failed task three times.

For chains of events that nothing but time relates: time is cut into pieces no longer than the shortest
window, and what is in order within one piece is a match. So the chains of a piece are counted, from one event
to the next, by running sums. Matches across pieces are missed: the number is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neelc.runtime.kernels.events import KernelEvents, Numbers, Truths
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    ALL,
    EventName,
    KernelStep,
    PatternProgram,
    Present,
    RepeatStep,
    Take,
    Value,
    base_of,
)

LONGEST_LIST = 8
"""Lists of more elements are not counted: what is counted is a lower bound anyway."""

FAR = 2**62


@dataclass(frozen=True)
class Link:
    """An event of the chain, or a list of `least` to `most` of them."""

    variable: EventName
    role: str
    least: int = 1
    most: int = 1


@dataclass(frozen=True)
class LinkChain:
    """What follows one another within `width`, or in the whole segment."""

    links: tuple[Link, ...]
    width: int | None


@dataclass(frozen=True)
class FewestMatches:
    """A lower bound on the number of matches; the first event of a piece of time that has very many."""

    number: int
    event: int


def fewest_matches(program: PatternProgram, events: KernelEvents) -> FewestMatches | None:
    """A lower bound on the number of matches; None if there is no way to compute one."""
    chain = chain_of(program)
    if chain is None or not len(events.start):
        return None
    positions = np.arange(len(events.start))
    segment_begins = _changes(events.segment)
    instant_begins = segment_begins | _changes(events.first_moment)
    piece_begins = segment_begins
    if chain.width is not None:
        pieces = events.start // (min(chain.width, FAR) + 1)
        piece_begins = segment_begins | _changes(pieces)
    instant = np.maximum.accumulate(np.where(instant_begins, positions, 0))
    piece = np.maximum.accumulate(np.where(piece_begins, positions, 0))
    first, *rest = chain.links
    ways = _begun(first, events, instant, piece)
    for link in rest:
        ways = _extended(ways, link, events, instant, piece)
    return FewestMatches(int(ways.sum()), int(piece[ways.argmax()]))


def _changes(column: Numbers) -> Truths:
    """The rows whose value is another than that of the row before."""
    return np.append(True, column[1:] != column[:-1])


def _begun(link: Link, events: KernelEvents, instant: Numbers, piece: Numbers) -> Numbers:
    """One way to each event that can begin a match; only matches that start in the owned range are found."""
    numbers = events.roles[link.role]
    low, high = (limit[events.segment[numbers]] for limit in events.owned)
    start = events.start[numbers]
    ways = np.zeros(len(events.start), np.int64)
    ways[numbers[(start >= low) & (start < high)]] = 1
    return _repeated(ways, link, events, instant, piece)


def _extended(ways: Numbers, link: Link, events: KernelEvents, instant: Numbers, piece: Numbers) -> Numbers:
    return _repeated(_next(ways, link.role, events, instant, piece), link, events, instant, piece)


def _repeated(ways: Numbers, link: Link, events: KernelEvents, instant: Numbers, piece: Numbers) -> Numbers:
    """The ways to each event that can be the last of a list, if `ways` lead to each that can be the first."""
    found = ways if link.least <= 1 else np.zeros_like(ways)
    for length in range(2, min(link.most, max(link.least, LONGEST_LIST)) + 1):
        ways = _next(ways, link.role, events, instant, piece)
        if not ways.any():
            break
        if length >= link.least:
            found = _clipped(found + ways)
    return found


def _next(ways: Numbers, role: str, events: KernelEvents, instant: Numbers, piece: Numbers) -> Numbers:
    """The ways to each event of a role: all that lead to an earlier event of its piece."""
    before = np.append(0, np.cumsum(ways))
    numbers = events.roles[role]
    found = np.zeros_like(ways)
    found[numbers] = before[instant[numbers]] - before[piece[numbers]]
    return _clipped(found)


def _clipped(ways: Numbers) -> Numbers:
    """So few that their sum is a number; a lower bound stays one."""
    return np.minimum(ways, FAR // len(ways) // 2)


def chain_of(program: PatternProgram) -> LinkChain | None:
    """The program as a chain, if it only requires that events follow one another in time."""
    if program.lasting or program.counted or program.unique or program.collapsed or program.nested:
        return None
    if program.furthest is not None or program.kept is not None:
        return None
    links: list[Link] = []
    widths = [] if program.reach is None else [program.reach]
    named = {step.variable for step in program.steps if isinstance(step, Take | RepeatStep)}
    for step in program.steps:
        if isinstance(step, Present) and _only_prunes(step, named):
            continue
        found = _link(step)
        if found is None:
            return None
        link, take = found
        place = _place(take, links, link.variable)
        if place is None or any(window.counted for window in take.bounds.within):
            return None
        links.insert(place, link)
        widths += [window.width for window in take.bounds.within]
    return LinkChain(tuple(links), min(widths, default=None)) if links else None


def _only_prunes(step: Present[Value], named: set[EventName]) -> bool:
    """Whether a check looks for nothing but events that are taken later: it drops rows early, no matches."""
    return not step.when and all(isinstance(one, Take) and one.variable in named for one in step.steps)


def _link(step: KernelStep) -> tuple[Link, Take[Value]] | None:
    """The link of a step, and the Take that says where it lies; None if it requires more than that."""
    match step:
        case Take() if _is_bare(step):
            return Link(step.variable, step.role), step
        case RepeatStep(first=(Take() as one,), next=(Take() as other,), early=(), when=()) if one == other:
            most = LONGEST_LIST if step.most is None else step.most
            least = max(1, step.least)
            if not _is_bare(one) or len(step.names) > 1 or not least <= most or least > 10 * LONGEST_LIST:
                return None
            return Link(step.variable, one.role, least, most), one
    return None


def _is_bare(take: Take[Value]) -> bool:
    requirements = (take.where, take.differs, take.when, take.until, take.bounds.between)
    return not any(requirements) and take.pick == ALL


def _place(take: Take[Value], links: list[Link], variable: EventName) -> int | None:
    """Where an event stands in the chain; None if that is not clear."""
    places = {link.variable: place for place, link in enumerate(links)}
    after = [places.get(name) for name in _others(take.bounds.after, variable)]
    before = [places.get(name) for name in _others(take.bounds.before, variable)]
    low = max((len(links) if place is None else place + 1 for place in after), default=0)
    high = min((-1 if place is None else place for place in before), default=len(links))
    return low if low == high else None


def _others(names: tuple[EventName, ...], variable: EventName) -> Iterator[EventName]:
    """The variables that bounds name; of a list its ends stand for it."""
    for name in names:
        base = base_of(name)
        if base != variable:
            yield base

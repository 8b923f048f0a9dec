"""What is counted: chains, in which each event of a match is compared with the one before it.

A chain is an automaton. A match is a walk through its states, an event for each; whether an event may be the
next depends on it, on the event before it, and on events that are *pinned*: fixed before the walk begins. So
the walks need not be enumerated: for each state and event, the number of walks that end there is enough.
"""

from __future__ import annotations

from collections.abc import Iterator

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Absent,
    ColumnValue,
    EventName,
    FilterStep,
    KernelStep,
    PatternProgram,
    Take,
    Value,
)

SOURCE, TARGET = "<", ">"
"""How conditions refer to the previous event and the current one. No name of a pattern is like them."""

COUNT, SUM, AVERAGE, MIN, MAX = "count", "sum", "avg", "min", "max"
FIRST, LAST = "first", "last"


@dataclass(frozen=True)
class ChainState:
    """An event of `role` for the variable `stage`; it meets the conditions of `where`, about TARGET and what
    is pinned. The event of a `pinned` variable is the one that is pinned."""

    stage: str
    role: str
    where: tuple[Value, ...] = ()
    pinned: EventName | None = None


@dataclass(frozen=True)
class ChainMove:
    """An event of the state `target` may follow one of `source`, if it starts after its end, all of `where`
    hold and none of `absent` finds anything. Inside `absent`, the two are called by all of `names`."""

    source: int
    target: int
    where: tuple[Value, ...] = ()
    absent: tuple[Absent[Value], ...] = ()
    names: tuple[tuple[EventName, str], ...] = ()


@dataclass(frozen=True)
class ChainEnding:
    """A match may end with an event of a state, for which, as SOURCE, all of `where` hold."""

    state: int
    where: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Chain:
    """Matches that begin with an event of state 0.

    `pins` bind the events that are pinned. If it `leads`, the first of them is the first event of the match,
    and its window has `width`, in places if it is `counted`. Otherwise a match may begin with every event of
    state 0 for which, as TARGET, all of `begins` hold. If it `ends` with a variable, results are grouped by
    the event with which matches end.
    """

    states: tuple[ChainState, ...]
    moves: tuple[ChainMove, ...]
    endings: tuple[ChainEnding, ...]
    pins: tuple[Take[Value], ...] = ()
    leads: bool = False
    begins: tuple[Value, ...] = ()
    width: int | None = None
    counted: bool = False
    ends: str | None = None


@dataclass(frozen=True)
class Tally:
    """An aggregate over all matches: `function` of what each match has.

    A match has the value of `column` for the event of `stage`; where that is a list, the sum of the
    values of its events, the least or the greatest, or if `counts`, how many have a value; or the value
    of its FIRST or LAST event, if it `picks` that. Without a column, all events have one; without a stage, it
    is the match that is counted. A `wide` number has 38 digits, others fit into 64 bits.
    """

    name: str
    function: str
    stage: str = ""
    column: str | None = None
    counts: bool = False
    listed: bool = False
    picks: str | None = None
    wide: bool = False


@dataclass(frozen=True)
class CountingProgram(PatternProgram):
    """A program that gives aggregates over matches instead of matches.

    Its `outputs` are what aggregates are grouped by: of events that are pinned, or of any event that plays
    the role, for those of `keyed`: (variable, role). Its `steps` are not executed: they mention the columns
    that conditions and tallies read.
    """

    chains: tuple[Chain, ...] = ()
    tallies: tuple[Tally, ...] = ()
    keyed: tuple[tuple[str, str], ...] = ()


def mentioned(chains: tuple[Chain, ...], tallies: tuple[Tally, ...]) -> tuple[KernelStep, ...]:
    """Steps that mention all columns that are read.

    >>> mentioned((), (Tally("t", SUM, "c", "x"),))
    (FilterStep(condition=ColumnValue(variable='>', name='x'), when=()),)
    """
    values = dict.fromkeys(value for chain in chains for value in _values(chain))
    values.update((ColumnValue(TARGET, tally.column), None) for tally in tallies if tally.column is not None)
    checks = dict.fromkeys(check for chain in chains for move in chain.moves for check in move.absent)
    return (*map(FilterStep, values), *checks)


def _values(chain: Chain) -> Iterator[Value]:
    yield from chain.begins
    for parts in (chain.pins, chain.states, chain.moves, chain.endings):
        for part in parts:
            yield from part.where

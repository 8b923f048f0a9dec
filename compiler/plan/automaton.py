"""The automaton of a pattern, for people: which event leads where, and what is judged on the way.

A state is a point in a match: what was taken last. There is an edge for each event that can come next, with
all conditions that can be judged as soon as that event is there. It is a picture of the pattern, not the
program that runs: negations and existence are shown as remarks on the edge after which they are decided.

>>> from neelc.rewrite.examples import query
>>> print(automaton(query("SEQ(A a, !C c, B+ b[]) WHERE b[i].x > a.x AND count(b[]) > 2 WITHIN 10")))
(0) begin
      A a        -> (1)
(1) after a
      B b[i]     -> (2)
        if b[i].x > a.x
        if no C c between a and the first b[]
      any event  -> (1)  ignored
(2) in b[]: match
        if count(b[]) > 2
      B b[i]     -> (2)  again
        if b[i].x > a.x
      any event  -> (2)  ignored
"""

from __future__ import annotations

from dataclasses import dataclass

from neelc.ir.logical import Match
from neelc.plan.fragments import Fragment, Move
from neelc.plan.part_fragments import Builder

IGNORED = {
    "SKIP TILL ANY MATCH": "any event",
    "SKIP TILL NEXT MATCH": "an event that fits no edge",
    "PARTITION CONTIGUITY": "an event of another partition",
}
"""What a run that waits may pass over. Under STRICT CONTIGUITY that is nothing."""


@dataclass(frozen=True)
class State:
    """A point in a match. `checks` are what must hold for a match to end here; state 0 is the begin."""

    number: int
    label: str
    accepts: bool = False
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edge:
    """`event` is what is taken: a type and a variable. `kind` is in KINDS.

    `conditions` compare events; `guards` tell what must be missing, or exist, before the event. `without`
    are the variables of optional parts that are passed over. A `dropped` event is not part of the result.
    """

    source: int
    target: int
    kind: str
    event: str
    conditions: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    dropped: bool = False

    @property
    def tests(self) -> tuple[str, ...]:
        """All that must hold for the edge to be taken."""
        return (*self.conditions, *self.guards)

    @property
    def text(self) -> str:
        return self.event + (f", without {', '.join(self.without)}" if self.without else "")


KINDS = ("take", "again", "ignore")
"""An event of the next component; another one for a repetition; one that is passed over."""


@dataclass(frozen=True)
class Automaton:
    """States by number and edges by source; `window` is what ends a run that is not complete by then."""

    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    strategy: str
    window: str | None = None

    def leaving(self, state: State) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.source == state.number)

    def __str__(self) -> str:
        return "\n".join(line for state in self.states for line in _lines(self, state))


def automaton(query: Match) -> Automaton:
    """The automaton of a bound query."""
    builder = Builder(query)
    whole = builder.whole()
    numbers = _numbers(whole)
    edges = [_edge(builder, whole, move, numbers) for move in (*whole.entries, *whole.moves)]
    waiting = {edge.source for edge in edges} - {0}
    if event := IGNORED.get(query.strategy):
        edges += [Edge(number, number, "ignore", event) for number in waiting]
    edges.sort(key=lambda edge: (edge.source, KINDS.index(edge.kind), edge.target))
    begin = State(0, "begin")
    states = [begin, *(_state(builder, whole, place, number) for place, number in numbers.items())]
    window = str(query.within) if query.within else None
    return Automaton(tuple(states), tuple(edges), query.strategy, window)


def _numbers(whole: Fragment) -> dict[int, int]:
    """The places in the order a match can come to them, from 1."""
    leading: dict[int | None, list[int]] = {}
    for move in (*whole.entries, *whole.moves):
        leading.setdefault(move.source, []).append(move.target)
    found = dict.fromkeys(leading[None])
    queue = list(found)
    for place in queue:
        new = [target for target in leading.get(place, ()) if target not in found]
        found.update(dict.fromkeys(new))
        queue += dict.fromkeys(new)
    return {place: number for number, place in enumerate(found, 1)}


def _edge(builder: Builder, whole: Fragment, move: Move, numbers: dict[int, int]) -> Edge:
    source = 0 if move.source is None else numbers[move.source]
    conditions = (*builder.judge.at(move, whole), *move.conditions)
    return Edge(
        source,
        numbers[move.target],
        move.kind,
        move.event,
        conditions,
        move.guards,
        move.without,
        move.dropped,
    )


def _state(builder: Builder, whole: Fragment, place: int, number: int) -> State:
    label = whole.places[place].label
    if place not in whole.exits:
        return State(number, label)
    leave = whole.exits[place]
    checks = (*builder.judge.at_the_end(place, whole), *leave.conditions, *leave.guards)
    return State(number, label, True, checks)


_REMARKS = {"take": "", "again": "  again", "ignore": "  ignored"}


def _lines(self: Automaton, state: State) -> list[str]:
    """A state and the edges that leave it."""
    width = max(len(edge.text) for edge in self.edges)
    lines = [f"({state.number}) {state.label}" + (": match" if state.accepts else "")]
    lines += [f"        if {check}" for check in state.checks]
    for edge in self.leaving(state):
        remark = _REMARKS[edge.kind] + ("  dropped" if edge.dropped else "")
        lines.append(f"      {edge.text.ljust(width)}  -> ({edge.target}){remark}")
        lines += [f"        if {test}" for test in edge.tests]
    return lines

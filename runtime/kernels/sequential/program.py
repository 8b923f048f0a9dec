"""What the planner makes of a MATCH_RECOGNIZE_SEQUENTIAL: plain data, which can be printed.

Symbols are numbers; bit s of an event says that it emits symbol s, as far as that can be decided from the
event alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from neelc.runtime.program import Apply, ColumnValue, Value

CURRENT, PREVIOUS, LAST = "current", "previous", "last "
"""The events that conditions name: the current one, the one before it, and the last one that emitted
a symbol: `last 0`."""

TIME, BITS = "time", "bits"
"""The columns that all programs read."""


@dataclass(frozen=True)
class SymbolAutomaton:
    """A deterministic automaton over symbols: each sequence of symbols takes one way at most.

    An edge is (state, symbol, next state). It begins in state 0, to which no edge leads. From every state an
    accepting one can be reached.
    """

    states: int
    edges: tuple[tuple[int, int, int], ...]
    accepting: tuple[int, ...]


@dataclass(frozen=True)
class SymbolOutput:
    """A column of the result: the value of an input column at the last event that emitted `symbol`; for None
    at the last event of the match."""

    name: str
    symbol: int | None
    column: str


@dataclass(frozen=True)
class SymbolCondition:
    """What an event must meet besides its bit to emit `symbol`, given the events before it."""

    symbol: int
    test: Value


@dataclass(frozen=True)
class SequentialProgram:
    """A clause. `keys` are the columns that partition the events. A match has at most `rows` events, and the
    column `time` differs by at most `reach` between its ends. Columns in one of `codings` are compared.
    Events that were judged for several programs have the bit of each symbol at one of `places`: a column,
    and a number in it."""

    automaton: SymbolAutomaton
    names: tuple[str, ...]
    keys: tuple[str, ...]
    outputs: tuple[SymbolOutput, ...]
    conditions: tuple[SymbolCondition, ...] = ()
    codings: tuple[tuple[str, ...], ...] = ()
    reach: int | None = None
    rows: int | None = None
    label: str = field(default="", compare=False)
    places: tuple[tuple[str, int], ...] = ()


MEMBER = "member"
"""The column of the program that a match is of, among those of a group: its number."""


@dataclass(frozen=True)
class SequentialGroup:
    """Clauses over the same events, in the same partitions. Their outputs are `slots`, columns that several
    of them may have: each with an input column that has its type."""

    programs: tuple[SequentialProgram, ...]
    slots: tuple[tuple[str, str], ...]
    label: str = field(default="", compare=False)


@dataclass(frozen=True)
class GroupMember:
    """The matches of one clause of a group: its number, and the outputs in the slots."""

    number: int
    outputs: tuple[tuple[str, str], ...]


def condition_columns(program: SequentialProgram) -> Iterator[ColumnValue]:
    """The columns that conditions read, with the events that they read them of."""
    pending = [condition.test for condition in program.conditions]
    while pending:
        match pending.pop():
            case ColumnValue() as column:
                yield column
            case Apply(operands=operands):
                pending.extend(operands)


def columns_of_events(program: SequentialProgram) -> tuple[str, ...]:
    """The columns of events that a program reads, besides their time."""
    read = (one.name for one in condition_columns(program))
    taken = (one.column for one in program.outputs)
    bits = [column for column, _ in program.places] or [BITS]
    return tuple(dict.fromkeys((*bits, *program.keys, *sorted({*read, *taken}))))

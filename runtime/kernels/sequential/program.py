"""What the planner makes of a MATCH_RECOGNIZE_SEQUENTIAL: plain data, which can be printed.

What a pattern reads at an event are numbers; bit r of an event says that r can be read at it, as far as that
can be decided from the event alone. Most often that is a symbol which the event emits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import Apply, ColumnValue, SkipTarget, Value

CURRENT, PREVIOUS, LAST, BACK = "current", "previous", "last ", "back "
"""The events that conditions name: the current one, the one of the match before it, the last one that emitted
a symbol, `last 0`, and the one so many instants of the partition before the current one, `back 1`."""

TIME, BITS = "time", "bits"
"""The columns that all programs read."""


@dataclass(frozen=True)
class SymbolAutomaton:
    """A deterministic automaton over what is read: each sequence takes one way at most.

    An edge is (state, reading, next state). It begins in state 0, to which no edge leads. From every state an
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
class SymbolReading:
    """What is read at an event: `symbols` that it emits, and maybe others that it does not. At every instant
    since the event before in the match, there is an event at which `clear` could be read, if that is given:
    one that is in no match, and does not emit what must not stand between."""

    symbols: tuple[int, ...]
    clear: int | None = None


@dataclass(frozen=True)
class SymbolCondition:
    """What an event must meet besides its bit for `reading`, given the events before it."""

    reading: int
    test: Value


@dataclass(frozen=True)
class SequentialProgram:
    """A clause. `keys` are the columns that partition the events. A match has at most `rows` events, and the
    column `time` differs by at most `reach` between its ends. Columns in one of `codings` are compared.
    Events that were judged for several programs have the bit of each reading at one of `places`: a column,
    and a number in it. Without `readings`, what is read are the symbols. Symbols follow each other directly,
    or `eventually`, and then at most `step` after the one before. With `skip`, END or START, of the matches
    with the same start the first is kept, and with END only if it starts after the last one kept."""

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
    readings: tuple[SymbolReading, ...] = ()
    eventually: bool = False
    step: int | None = None
    skip: SkipTarget | None = None

    @property
    def alphabet(self) -> tuple[SymbolReading, ...]:
        """All that is read."""
        return self.readings or tuple(SymbolReading((symbol,)) for symbol in range(len(self.names)))

    @property
    def back(self) -> int:
        """How many instants before an event conditions look back."""
        names = (str(one.variable) for one in condition_columns(self))
        return max((int(name.removeprefix(BACK)) for name in names if name.startswith(BACK)), default=0)


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
    return columns_in(condition.test for condition in program.conditions)


def columns_in(tests: Iterable[Value]) -> Iterator[ColumnValue]:
    """The columns that values are made of, with the events that they are of."""
    pending = list(tests)
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

"""What the planner makes of a MATCH_RECOGNIZE_TEMPORAL: plain data, which can be printed.

Symbols, streams and bits are numbers. Bit b of the column `bits` of an event says what b stands for: that the
event is of a stream, or that it meets what a symbol asks of the event alone.

A symbol event is a run of the events of a symbol: that of an interval symbol is a longest run of consecutive
instants of its stream, in a partition, at which all events of the stream meet the condition; that of a point
symbol is one event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from enum import StrEnum
from itertools import product

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import Apply, ColumnValue, OneByOne, Value

CURRENT, BACK, START_OF, END_OF = "current", "back ", "start ", "end "
"""The events that conditions name: the current one; the one so many instants of the symbol's stream, in the
partition, before it, `back 1`; the first and the last event of the run of a symbol, `start 0` and `end 0`.
For a point symbol they are the same event.

An event does not meet a condition that names `start 0`, if it comes before the first event of that run; nor
one that names `end 0`, or any event of a point symbol, if it does not come after it."""

TIME, BITS = "time", "bits"
"""The columns that all programs read."""

# Words: the orders of the end points of two runs.

FIRST_START, FIRST_END, SECOND_START, SECOND_END = 1, 2, 4, 8

Word = tuple[int, ...]
"""The steps of a word, in the order of time: the end points that come at the same instant, as a sum."""


def word_of(text: str, first: str) -> Word:
    """A word of the language, in which `first` is the letter of the first of its two symbols.

    >>> word_of("ABAB", "A"), word_of("ABAB", "B"), word_of("A.A.BB", "A"), word_of("AA.BB", "A")
    ((1, 4, 2, 8), (4, 1, 8, 2), (7, 8), (1, 6, 8))
    """
    steps: list[int] = []
    seen: set[str] = set()
    for place, letter in enumerate(text):
        if letter == ".":
            continue
        start, end = (FIRST_START, FIRST_END) if letter == first else (SECOND_START, SECOND_END)
        point = end if letter in seen else start
        seen.add(letter)
        if place and text[place - 1] == ".":
            steps[-1] += point
        else:
            steps.append(point)
    return tuple(steps)


def mirrored(word: Word) -> Word:
    """The word with its symbols in the other order.

    >>> mirrored((1, 4, 2, 8))
    (4, 1, 8, 2)
    """
    return tuple(step % 4 * 4 + step // 4 for step in word)


def _words() -> Iterator[Word]:
    for places in product(range(4), repeat=4):
        is_order = places[0] <= places[1] and places[2] <= places[3]
        if is_order and set(places) == set(range(max(places) + 1)):
            points = [(place, 1 << number) for number, place in enumerate(places)]
            yield tuple(sum(point for at, point in points if at == step) for step in range(max(places) + 1))


WORDS: tuple[Word, ...] = tuple(sorted(_words()))
"""All 26 of them."""

# The program.


class RunPart(StrEnum):
    """Which events of a run are meant: one of the first instant, one of the last, or all of them."""

    START = "START"
    END = "END"
    ALL = "ALL"


@dataclass(frozen=True)
class TemporalSymbol:
    """What a symbol's events are.

    `is_interval` says that they are runs, not single events. An event meets the condition if it has `bit` (or
    that is None: nothing is asked of it alone), and all of `conditions` are true, which name CURRENT and the
    other events above. It counts if it has the bit `stream`, or that is None: there is one stream only. An
    event that is not of the stream has not `bit` either. A run lasts at least `least` and at most `most`, in
    numbers of the clock, if these are given.
    """

    name: str
    is_interval: bool
    bit: int | None = None
    stream: int | None = None
    conditions: tuple[Value, ...] = ()
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class TemporalConstraint:
    """The words that two symbols may form, of which at least one must hold. At most one constraint is about
    the same two symbols."""

    first: int
    second: int
    words: tuple[Word, ...]


@dataclass(frozen=True)
class AbsentRun:
    """A negated symbol: no run of it inside the scope of the match meets all `constraints`, each of which is
    about it and a symbol that is not negated. Without any, there is no run at all inside the scope."""

    symbol: int
    constraints: tuple[TemporalConstraint, ...] = ()


@dataclass(frozen=True)
class TemporalAlternative:
    """One of the alternatives of a pattern. `symbols` are those that a match has, in the order in which they
    are joined: those that a symbol depends on, by its conditions, come before it. `constraints` are between
    them. `absent` are the negated symbols, whose conditions may depend on `symbols`."""

    symbols: tuple[int, ...]
    constraints: tuple[TemporalConstraint, ...] = ()
    absent: tuple[AbsentRun, ...] = ()


@dataclass(frozen=True)
class RunEvent:
    """The first or the last event of the run of a symbol: `part` is START or END. Where several events are at
    that instant, each of them is an alternative."""

    symbol: int
    part: RunPart


@dataclass(frozen=True)
class TemporalOutput:
    """A column of the result: the value of an input column at an event of the run of a symbol; for ALL the
    list of its values at all events of the run. NULL if the match has no such symbol."""

    name: str
    symbol: int
    part: RunPart
    column: str


@dataclass(frozen=True)
class TemporalProgram:
    """A clause. Its result has the columns of `outputs`, and `time`: when the row is valid.

    - `symbols`: by number; those of all alternatives.
    - `keys`: the columns that partition the events.
    - `alternatives`: of the pattern. What two of them find is one match, valid from the earlier instant.
    - `outputs`: the columns of the result.
    - `reach`: from the start of a match, the least start of its runs, to the instant at which it is decided,
      the column `time` differs by at most that; None: there is no window.
    - `codings`: columns in the same one are compared with each other by conditions.
    - `label`: the pattern, for messages.

    Two matches differ in their runs, or in the events of these that `outputs` or the conditions of any symbol
    name: where several events are at the first or the last instant of a run, and one is named.
    """

    symbols: tuple[TemporalSymbol, ...]
    keys: tuple[str, ...]
    alternatives: tuple[TemporalAlternative, ...]
    outputs: tuple[TemporalOutput, ...]
    reach: int | None = None
    codings: tuple[tuple[str, ...], ...] = ()
    label: str = field(default="", compare=False)


def columns_read(tests: Iterable[Value]) -> Iterator[ColumnValue]:
    """The columns that conditions read, with the events that they read them of."""
    pending = list(tests)
    while pending:
        match pending.pop():
            case ColumnValue() as column:
                yield column
            case Apply(operands=operands):
                pending.extend(operands)
            case OneByOne(value):
                pending.append(value)


def events_read(tests: Iterable[Value]) -> tuple[RunEvent, ...]:
    """The events of other symbols that conditions name."""
    names = sorted({str(one.variable) for one in columns_read(tests)})
    return tuple(
        RunEvent(int(name.removeprefix(prefix)), part)
        for name in names
        for prefix, part in ((START_OF, RunPart.START), (END_OF, RunPart.END))
        if name.startswith(prefix)
    )


def distances(tests: Iterable[Value]) -> tuple[int, ...]:
    """How many instants before an event conditions look back."""
    names = {str(one.variable) for one in columns_read(tests)}
    return tuple(sorted(int(name.removeprefix(BACK)) for name in names if name.startswith(BACK)))


def looks_back(program: TemporalProgram) -> int:
    """How many instants before an event the conditions of a program look back at most."""
    return max((back for symbol in program.symbols for back in distances(symbol.conditions)), default=0)


def columns_of_events(program: TemporalProgram) -> tuple[str, ...]:
    """The columns of events that a program reads, besides their time."""
    tests = (test for symbol in program.symbols for test in symbol.conditions)
    read = {one.name for one in columns_read(tests)}
    taken = {one.column for one in program.outputs}
    return tuple(dict.fromkeys((BITS, *program.keys, *sorted((read | taken) - {TIME}))))

"""The kernel of MATCH_RECOGNIZE_TEMPORAL, compared with its definition: every choice of symbol events, every
order of their end points, written here from the words of the language alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from neelc.runtime.columns import FIRST_TIME, LAST_TIME
from neelc.runtime.failures import MAX_PARTIAL, KernelFailure
from neelc.runtime.kernels.temporal import kernel, matching
from neelc.runtime.kernels.temporal.certainty import CertainMatcher
from neelc.runtime.kernels.temporal.kernel import temporal
from neelc.runtime.kernels.temporal.program import (
    BITS,
    TIME,
    WORDS,
    AbsentRun,
    RunPart,
    TemporalAlternative,
    TemporalConstraint,
    TemporalOutput,
    TemporalProgram,
    TemporalSymbol,
    Word,
    word_of,
)
from neelc.runtime.kernels.temporal.stream import TemporalStream
from neelc.runtime.program import Apply, ColumnValue, Constant, Value
from neelc.runtime.streaming import StreamMemory, WatermarkMove, memory_from_bytes, memory_to_bytes

Event = Mapping[str, Any]
"""An event: `k`, `time`, `x`, its number `n`, and `bits`."""
Found = Counter[tuple[object, ...]]

TEXTS = (
    *("AABB", "ABBA", "BBAA", "A.BAB", "AA.BB", "A.BBA", "BB.AA", "BAA.B", "ABAB", "ABA.B", "BABA"),
    *("A.BA.B", "BAAB", "A.ABB", "BB.A.A", "A.A.BB", "BBA.A", "BA.AB", "B.BAA", "AA.B.B", "B.B.AA"),
    *("AAB.B", "AB.BA", "A.AB.B", "B.BA.A", "A.A.B.B"),
)
"""Table 15.2 of the JEPC thesis."""
WORD_TEXTS = {word_of(text, "A"): text for text in TEXTS}


def test_there_are_26_words() -> None:
    assert len(TEXTS) == 26 and set(WORD_TEXTS) == set(WORDS)


# The definition.


@dataclass(frozen=True)
class Run:
    """A symbol event: its interval, its events, and those that are named."""

    start: int
    end: int
    events: tuple[int, ...]
    first: int | None = None
    last: int | None = None


def value(test: Value, known: Mapping[str, Event | None]) -> Any:
    """The value of a condition of these tests, with NULL."""
    match test:
        case Constant(constant):
            return constant
        case ColumnValue(variable, name):
            event = known[str(variable)]
            return None if event is None else event[name]
        case Apply(operation, operands):
            one, other = (value(operand, known) for operand in operands)
            if one is None or other is None:
                return None
            return {">": one > other, "<=": one <= other, "=": one == other, "-": one - other}[operation]
    raise AssertionError(test)


def names(test: Value) -> Iterator[str]:
    if isinstance(test, ColumnValue):
        yield str(test.variable)
    if isinstance(test, Apply):
        for operand in test.operands:
            yield from names(operand)


@dataclass
class Definition:
    """What a program means among the events of one key."""

    program: TemporalProgram
    events: Sequence[Event]
    named: set[tuple[int, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        for one in self.program.outputs:
            self.named.add((one.symbol, one.part.lower()))
        for symbol in self.program.symbols:
            for name in (name for test in symbol.conditions for name in names(test)):
                if name.startswith(("start ", "end ")):
                    part, number = name.split()
                    self.named.add((int(number), part))

    def instants(self, symbol: TemporalSymbol) -> list[list[int]]:
        """The events of the symbol's stream, instant by instant."""
        found: dict[int, list[int]] = {}
        for number, event in enumerate(self.events):
            if symbol.stream is None or event[BITS] >> symbol.stream & 1:
                found.setdefault(event[TIME], []).append(number)
        return [found[time] for time in sorted(found)]

    def meets(
        self, symbol: TemporalSymbol, instants: Sequence[list[int]], place: int, number: int, has: Any
    ) -> bool:
        event = self.events[number]
        if symbol.bit is not None and not event[BITS] >> symbol.bit & 1:
            return False
        wanted = sorted({name for test in symbol.conditions for name in names(test)} - {"current"})
        choices: list[list[tuple[str, int | None]]] = []
        for name in wanted:
            word, count = name.split()
            if word == "back":
                before = instants[place - int(count)] if place >= int(count) else [None]
                choices.append([(name, one) for one in before])
                continue
            run, lasts = has[int(count)], self.program.symbols[int(count)].is_interval
            if event[TIME] < run.start if word == "start" and lasts else event[TIME] <= run.end:
                return False
            choices.append([(name, run.first if word == "start" else run.last)])
        for chosen in product(*choices):
            known: dict[str, Event | None] = {
                name: None if one is None else self.events[one] for name, one in chosen
            }
            if all(value(test, {**known, "current": event}) is True for test in symbol.conditions):
                return True
        return False

    def runs(self, number: int, has: Mapping[int, Run]) -> list[Run]:
        symbol = self.program.symbols[number]
        instants = self.instants(symbol)
        found: list[Run] = []
        going: list[list[int]] = []
        for place, several in enumerate([*instants, []]):
            met = [one for one in several if self.meets(symbol, instants, place, one, has)]
            if not symbol.is_interval:
                at = [(self.events[one][TIME], one) for one in met]
                found += [Run(time, time, (one,), one, one) for time, one in at]
            elif met and met == several:
                going.append(several)
            elif going:
                found += self.told_apart(number, going)
                going = []
        least, most = symbol.least, symbol.most
        return [
            one
            for one in found
            if (least is None or one.end - one.start >= least)
            and (most is None or one.end - one.start <= most)
        ]

    def told_apart(self, number: int, going: Sequence[list[int]]) -> Iterator[Run]:
        start, end = (self.events[several[0]][TIME] for several in (going[0], going[-1]))
        events = tuple(one for several in going for one in several)
        is_named = [(number, part) in self.named for part in ("start", "end")]
        if start == end:
            for one in going[0] if any(is_named) else [None]:
                yield Run(start, end, events, one, one)
        else:
            firsts, lasts = (
                several if named else [None]
                for several, named in zip((going[0], going[-1]), is_named, strict=True)
            )
            for first, last in product(firsts, lasts):
                yield Run(start, end, events, first, last)

    def bindings(self, symbols: Sequence[int], has: dict[int, Run]) -> Iterator[dict[int, Run]]:
        if not symbols:
            yield has
            return
        for run in self.runs(symbols[0], has):
            yield from self.bindings(symbols[1:], {**has, symbols[0]: run})

    def decided(self, alternative: TemporalAlternative, has: Mapping[int, Run]) -> int | None:
        """The instant at which a binding is known to meet all constraints; None if it does not."""
        if not all(word(one, has) in one.words for one in alternative.constraints):
            return None
        needed = [run.start for run in has.values()]
        for number, run in has.items():
            symbol = self.program.symbols[number]
            if symbol.most is not None:
                needed.append(run.end)
            elif symbol.least is not None:
                needed.append(run.start + symbol.least)
        at = max(needed)
        ends = sorted({point for run in has.values() for point in (run.start, run.end)})
        for instant in (at, *(one for one in ends if one > at)):
            if all(is_known(one, has, instant) for one in alternative.constraints):
                return instant
        raise AssertionError("all is known at last")

    def matches(self) -> Found:
        decided: dict[tuple[tuple[int, Run], ...], int] = {}
        reach = self.program.reach
        for alternative in self.program.alternatives:
            for has in self.bindings(alternative.symbols, {}):
                at = self.decided(alternative, has)
                start = min(run.start for run in has.values())
                if at is None or (reach is not None and at - start > reach):
                    continue
                low, high = (FIRST_TIME, 1 << 60) if reach is None else (at - reach, start + reach)
                if any(self.is_there(one, has, low, high) for one in alternative.absent):
                    continue
                key = tuple(sorted(has.items()))
                decided[key] = min(at, decided.get(key, at))
        return Counter(self.row(dict(key), at) for key, at in decided.items())

    def is_there(self, absent: AbsentRun, has: Mapping[int, Run], low: int, high: int) -> bool:
        return any(
            low <= run.start and run.end <= high
            and all(word(one, {**has, absent.symbol: run}) in one.words for one in absent.constraints)
            for run in self.runs(absent.symbol, has)
        )  # fmt: skip

    def row(self, has: Mapping[int, Run], at: int) -> tuple[object, ...]:
        values: list[object] = []
        for one in self.program.outputs:
            run = has.get(one.symbol)
            if run is None:
                values.append(None)
                continue
            if one.part is not RunPart.START:
                at = max(at, run.end)
            column = [self.events[number][one.column] for number in run.events]
            event = run.first if one.part is RunPart.START else run.last
            is_list = one.part is RunPart.ALL
            values.append(tuple(sorted(column, key=repr)) if is_list else self.events[event or 0][one.column])
        return (*values, at)


def points(one: TemporalConstraint, has: Mapping[int, Run]) -> list[int]:
    first, second = has[one.first], has[one.second]
    return [first.start, first.end, second.start, second.end]


def as_word(values: Sequence[float]) -> Word:
    """The word that four end points form."""
    return tuple(
        sum(1 << number for number, value in enumerate(values) if value == step)
        for step in sorted(set(values))
    )


def word(one: TemporalConstraint, has: Mapping[int, Run]) -> Word:
    return as_word(points(one, has))


def is_known(one: TemporalConstraint, has: Mapping[int, Run], instant: int) -> bool:
    """Whether all words that go on as the match has begun up to an instant are allowed."""
    known = list(as_word(points(one, has)))
    count = len({point for point in points(one, has) if point <= instant})
    return all(other in one.words for other in WORDS if list(other[:count]) == known[:count])


def by_definition(program: TemporalProgram, events: Sequence[Event]) -> Found:
    found: Found = Counter()
    for key in {event["k"] for event in events}:
        own = sorted((event for event in events if event["k"] == key), key=lambda event: event[TIME])
        found += Definition(program, own).matches()
    return found


# The kernel.

SCHEMA = pa.schema(
    [("k", pa.int64()), (TIME, pa.int64()), ("x", pa.int64()), ("n", pa.int64()), (BITS, pa.int64())]
)


def table(events: Sequence[Event]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(event) for event in events], schema=SCHEMA)


def as_found(program: TemporalProgram, batches: Sequence[pa.RecordBatch]) -> Found:
    found: Found = Counter()
    for row in (row for batch in batches for row in batch.to_pylist()):
        values = [row[one.name] for one in program.outputs]
        lists = (tuple(sorted(one, key=repr)) if isinstance(one, list) else one for one in values)
        found[(*lists, row[TIME])] += 1
    return found


def by_kernel(
    program: TemporalProgram, events: Sequence[Event], rows_at_once: int = 1000, size: int = 1000
) -> Found:
    rows = table(sorted(events, key=lambda event: (event["k"] is not None, event["k"] or 0, event[TIME])))
    batches = (rows.slice(first, size) for first in range(0, rows.num_rows, size))
    return as_found(program, list(temporal(program, rows_at_once)(batches)))


# Random programs over random events.


def column(event: str, name: str = "x") -> ColumnValue:
    return ColumnValue(event, name)


def random_symbols(chance: Random, streams: int, dependent: bool) -> list[TemporalSymbol]:
    """Some symbols; bits below `streams` say of which stream an event is."""
    symbols: list[TemporalSymbol] = []
    for number in range(chance.choice([1, 2, 2, 2, 3, 3])):
        conditions: list[Value] = []
        if dependent and number and chance.random() < 0.7:
            other = chance.randrange(number)
            if all(
                not name.startswith(("start", "end")) for t in symbols[other].conditions for name in names(t)
            ):
                event = chance.choice(["start", "start", "end"])
                sign = chance.choice([">", "<="])
                conditions.append(Apply(sign, (column("current"), column(f"{event} {other}"))))
        if chance.random() < 0.15:
            back = chance.choice([1, 1, 2])
            conditions.append(Apply(chance.choice([">", "<="]), (column("current"), column(f"back {back}"))))
        bit: int | None = 2 + number
        if conditions and chance.random() < 0.4:
            bit = None
        least, most = None, None
        if chance.random() < 0.2:
            least = chance.choice([0, 1, 2, 3])
        if chance.random() < 0.15:
            most = chance.choice([0, 1, 3, 5])
        stream = None if streams == 1 else chance.randrange(2)
        symbols.append(
            TemporalSymbol("ABC"[number], chance.random() < 0.75, bit, stream, tuple(conditions), least, most)
        )
    return symbols


def random_words(chance: Random) -> tuple[Word, ...]:
    way = chance.random()
    if way < 0.2:
        return (chance.choice(WORDS),)
    if way < 0.5:  # all that begin alike
        begin = chance.choice(WORDS)
        count = chance.randint(1, 2)
        return tuple(one for one in WORDS if one[:count] == begin[:count])
    return tuple(chance.sample(WORDS, chance.choice([2, 5, 12, 20, 26])))


def random_alternative(chance: Random, symbols: Sequence[TemporalSymbol]) -> TemporalAlternative:
    numbers = list(range(len(symbols)))
    absent_number = numbers.pop() if len(numbers) > 1 and chance.random() < 0.4 else None
    constraints = [
        TemporalConstraint(*(pair if chance.random() < 0.5 else pair[::-1]), random_words(chance))
        for pair in ((one, other) for one in numbers for other in numbers if one < other)
        if chance.random() < 0.85
    ]
    absent: tuple[AbsentRun, ...] = ()
    if absent_number is not None:
        related = [
            TemporalConstraint(*pair, random_words(chance))
            for pair in ((one, absent_number) for one in numbers)
            if chance.random() < 0.6
        ]
        related = [
            one if chance.random() < 0.5 else replace(one, first=one.second, second=one.first)
            for one in related
        ]
        absent = (AbsentRun(absent_number, tuple(related)),)
    return TemporalAlternative(in_order(chance, numbers, symbols), tuple(constraints), absent)


def depends(symbol: TemporalSymbol) -> set[int]:
    named = (name for test in symbol.conditions for name in names(test))
    return {int(name.split()[1]) for name in named if name.startswith(("start", "end"))}


def in_order(chance: Random, numbers: list[int], symbols: Sequence[TemporalSymbol]) -> tuple[int, ...]:
    left, found = chance.sample(numbers, len(numbers)), list[int]()
    while left:
        one = next(one for one in left if depends(symbols[one]) <= set(found))
        left.remove(one)
        found.append(one)
    return tuple(found)


def random_program(chance: Random) -> TemporalProgram:
    streams = chance.choice([1, 1, 2])
    symbols = random_symbols(chance, streams, chance.random() < 0.4)
    alternatives = [random_alternative(chance, symbols)]
    if chance.random() < 0.25:
        alternatives.append(random_alternative(chance, symbols))
    if chance.random() < 0.1 and not depends(symbols[0]):
        alternatives.append(TemporalAlternative((0,)))
    bound = sorted({number for one in alternatives for number in one.symbols})
    parts = (RunPart.START, RunPart.START, RunPart.START, RunPart.END, RunPart.ALL)
    outputs = []
    for number in bound:
        if chance.random() < 0.8:
            name, of = chance.choice([("n", "n"), ("t", TIME), ("x", "x")])
            outputs.append(TemporalOutput(f"{name}{number}", number, chance.choice(parts), of))
    reach = chance.choice([None, 2, 4, 8])
    return TemporalProgram(tuple(symbols), ("k",), tuple(alternatives), tuple(outputs), reach)


def random_events(chance: Random, count: int, keys: int) -> list[Event]:
    """Events, some of them simultaneous, whose conditions change now and then."""
    events: list[Event] = []
    for key in range(keys):
        time, bits = chance.randint(-3, 3), 0
        for _ in range(count // keys):
            time += chance.choice([0, 1, 1, 1, 2, 4])
            for number in range(3):
                if chance.random() < 0.45:
                    bits ^= 1 << (2 + number)
            stream = chance.randrange(2)
            # An event of the other stream has no bit of a symbol: see `of_streams`.
            events.append(
                {"k": key if key else None, TIME: time, "x": chance.randint(0, 4), "bits": bits, "at": stream}
            )
    return [{**event, "n": number} for number, event in enumerate(events)]


def of_streams(program: TemporalProgram, events: Sequence[Event]) -> list[Event]:
    """The events with the bit of their stream, and those of its symbols only."""
    found: list[Event] = []
    for event in events:
        bits = 1 << event["at"]
        for symbol in program.symbols:
            if symbol.bit is not None and symbol.stream in (None, event["at"]):
                bits |= event[BITS] & 1 << symbol.bit
        found.append({**{name: event[name] for name in ("k", TIME, "x", "n")}, BITS: bits})
    return found


def sample(seed: int, count: int = 14) -> tuple[TemporalProgram, list[Event]]:
    chance = Random(seed)
    program = random_program(chance)
    return program, of_streams(program, random_events(chance, count, chance.choice([1, 2])))


def check(seed: int) -> int:
    program, events = sample(seed)
    expected = by_definition(program, events)
    chance = Random(seed)
    assert by_kernel(program, events) == expected, seed
    for _ in range(2):
        at_once, size = chance.choice([1, 2, 3, 5, 9]), chance.choice([1, 2, 3, 7])
        assert by_kernel(program, events, at_once, size) == expected, (seed, at_once, size)
    return len(expected)


@pytest.mark.parametrize("part", range(4))
def test_random_programs_mean_what_their_definition_says(part: int) -> None:
    found = [check(seed) for seed in range(part * 100, part * 100 + 100)]
    assert sum(count > 0 for count in found) > 40


@pytest.mark.parametrize("seed", [544, 1106, 1775, 2321])
def test_what_is_known_of_a_key_is_kept_while_its_section_waits(seed: int) -> None:
    """Another key is found in the last section after matches of the first one were certain."""
    assert check(seed)


@pytest.mark.parametrize(
    ("seed", "at_once", "size"),
    [(1267, 1, 3), (1691, 3, 7), (17236, 5, 1), (235, 3, 1), (197, 9, 1), (253, 9, 7), (1379, 3, 2)],
)
def test_what_is_kept_of_a_key_is_enough(seed: int, at_once: int, size: int) -> None:
    """Negated runs that are older than all matches; runs that had begun before; streams without symbols."""
    program, events = sample(seed)
    assert by_kernel(program, events, at_once, size) == by_definition(program, events)


# Streams.


@dataclass
class StreamRun:
    """A stream whose state is bytes between any two calls; what it has found up to now."""

    program: TemporalProgram
    memory: StreamMemory = field(default_factory=StreamMemory)
    now: int = FIRST_TIME
    wake: int | None = None
    found: Found = field(default_factory=Counter)

    def call(self, events: Sequence[Event], now: int) -> None:
        batch = table(events).append_column("start", table(events).column(TIME))
        move = WatermarkMove(self.now, now)
        step = TemporalStream(self.program).advance(self.memory, [batch] if events else [], move)
        self.found += as_found(self.program, list(step.results))
        self.memory, self.now = memory_from_bytes(memory_to_bytes(step.memory, now))
        self.wake = step.wake


def futures(program: TemporalProgram, key: object, now: int, chance: Random) -> Iterator[list[Event]]:
    """What may come of a key: nothing; one event of each kind, soon; some of many more."""
    yield []
    bits = [symbol.bit for symbol in program.symbols if symbol.bit is not None]
    kinds = [dict(zip(bits, chosen, strict=True)) for chosen in product((0, 1), repeat=len(bits))]

    def event(time: int, kind: Mapping[int, int], stream: int) -> Event:
        number = sum(1 << bit for bit, is_met in kind.items() if is_met)
        return {"k": key, TIME: time, "x": chance.randint(-1, 5), "n": 900, BITS: number, "at": stream}

    for kind, stream in product(kinds, (0, 1)):
        for time in (now + 1, now + 3):
            yield of_streams(program, [event(time, kind, stream)])
    for _ in range(120):
        time, several = now, list[Event]()
        for _ in range(chance.randint(2, 5)):
            time += chance.choice([1, 1, 1, 2, 5]) if not several or chance.random() < 0.8 else 0
            several.append(event(time, chance.choice(kinds), chance.randrange(2)))
        yield of_streams(program, several)


def certain(program: TemporalProgram, events: Sequence[Event], now: int, chance: Random) -> Found:
    """The rows that are there whatever comes after a time, as far as these futures tell."""
    found: Found = Counter()
    for key in {event["k"] for event in events}:
        own = [event for event in events if event["k"] == key and event[TIME] <= now]
        kept: Found | None = None
        for future in futures(program, key, now, chance):
            rows = by_definition(program, [*own, *future])
            kept = rows if kept is None else kept & rows
            if not kept:
                break
        found += kept or Counter()
    return found


def streamed_sample(seed: int) -> tuple[TemporalProgram, list[Event]]:
    program, events = sample(seed, 10)
    return replace(program, reach=program.reach or 4), events


def check_stream(seed: int) -> tuple[int, int]:
    """How many rows came, and how many of those that are certain did not at once: of negated symbols, each
    constraint is judged by itself, and a sample of what may come does not show all that spoils a match."""
    program, events = streamed_sample(seed)
    chance = Random(seed)
    run, left = StreamRun(program), list(events)
    chance.shuffle(left)
    times = sorted({event[TIME] for event in events})
    missing = 0
    for now in sorted({time + chance.choice([0, 0, 1]) for time in times} | {times[-1] + 9}):
        coming = [event for event in left if event[TIME] <= now or chance.random() < 0.1]
        left = [event for event in left if event not in coming]
        run.call(coming, now)
        expected = certain(program, events, now, chance)
        assert not run.found - expected, (seed, now)
        missing += sum((expected - run.found).values())
    if not any(one.absent for one in program.alternatives):
        assert not missing, seed
    return sum(run.found.values()), missing


@pytest.mark.parametrize("part", range(4))
def test_a_match_of_a_stream_comes_as_soon_as_it_is_certain(part: int) -> None:
    found = [check_stream(seed) for seed in range(part * 15, part * 15 + 15)]
    assert sum(count > 0 for count, _ in found) >= 4
    assert sum(missing > 0 for _, missing in found) <= 4


def pair(*texts: str, **rest: Any) -> TemporalProgram:
    """Two interval symbols that form one of some words; the output is the key."""
    symbols = (TemporalSymbol("A", True, 0), TemporalSymbol("B", True, 1))
    words = tuple(word_of(text, "A") for text in texts)
    alternative = TemporalAlternative((0, 1), (TemporalConstraint(0, 1, words),))
    outputs = (TemporalOutput("k", 0, RunPart.START, "k"),)
    return replace(TemporalProgram(symbols, ("k",), (alternative,), outputs), **rest)


def marked(text: str, key: object = 1, first: int = 0, x: int = 0) -> list[Event]:
    """Events, one after the other: which of A and B is true at each.

    >>> [event["bits"] for event in marked("A AB - B")]
    [1, 3, 0, 2]
    """
    return [
        {"k": key, TIME: first + n, "x": x, "n": n, BITS: ("A" in one) + 2 * ("B" in one)}
        for n, one in enumerate(text.split())
    ]


def drawn(word: Word, key: int) -> list[Event]:
    """The events of runs that form a word: an instant for each step."""
    ranks = [next(step for step, points in enumerate(word) if points >> n & 1) for n in range(4)]
    return marked(
        " ".join(
            "A" * (ranks[0] <= step <= ranks[1]) + "B" * (ranks[2] <= step <= ranks[3]) + "-"
            for step in range(len(word))
        ),
        key,
    )


def test_each_word_is_about_one_order_of_the_end_points() -> None:
    events = [event for number, one in enumerate(WORDS) for event in drawn(one, number)]
    for number, one in enumerate(WORDS):
        expected = by_definition(pair(WORD_TEXTS[one]), events)
        assert [row[0] for row in expected] == [number]
        assert by_kernel(pair(WORD_TEXTS[one]), events) == expected
        assert by_kernel(pair(WORD_TEXTS[one], reach=3), events, 2, 3) == expected


def test_a_match_is_valid_when_it_is_decided() -> None:
    events = marked("A AB AB B B B -")
    assert by_kernel(pair("ABAB"), events) == {(1, 2): 1}, "B goes on after the end of A"
    assert by_kernel(pair("ABAB", "ABBA", "ABA.B"), events) == {(1, 1): 1}, "B has begun inside of A"
    end = (TemporalOutput("x", 1, RunPart.END, "n"),)
    assert by_kernel(pair("ABAB", outputs=end), events) == {(5, 5): 1}, "the end of B is told"


def test_an_interval_that_goes_on_does_not_leave_the_window() -> None:
    events = marked("A AB AB B B B B B B -")
    assert by_kernel(pair("ABAB", reach=2), events) == {(1, 2): 1}
    assert not by_kernel(pair("ABAB", reach=1), events)


def test_all_events_of_an_instant_must_meet_the_condition_of_an_interval_symbol() -> None:
    events = [*marked("A A A A AB B"), {"k": 1, TIME: 2, "x": 0, "n": 9, BITS: 2}]
    alone = TemporalProgram(
        (TemporalSymbol("A", True, 0),), ("k",), (TemporalAlternative((0,)),),
        (TemporalOutput("n", 0, RunPart.ALL, "n"),),
    )  # fmt: skip
    assert by_kernel(alone, events) == {((0, 1), 1): 1, ((3, 4), 4): 1}


def test_an_event_that_is_read_among_simultaneous_ones_multiplies_the_match() -> None:
    events = [*marked("A A -"), {"k": 1, TIME: 0, "x": 0, "n": 9, BITS: 1}]
    alone = TemporalProgram((TemporalSymbol("A", True, 0),), ("k",), (TemporalAlternative((0,)),), ())
    for part, count in ((RunPart.START, 2), (RunPart.END, 1), (RunPart.ALL, 1)):
        program = replace(alone, outputs=(TemporalOutput("n", 0, part, "n"),))
        assert sum(by_kernel(program, events).values()) == count
    assert sum(by_kernel(alone, events).values()) == 1


def test_nothing_is_found_among_no_events() -> None:
    assert list(temporal(pair("ABAB"))(iter([]))) == []
    assert list(temporal(pair("ABAB"))(iter([table([])]))) == []
    step = TemporalStream(pair("ABAB", reach=5)).advance(StreamMemory(), [], WatermarkMove(0, 5))
    assert not step.results and step.memory.is_empty


def test_events_without_partitions_are_one() -> None:
    events = marked("A AB AB B -")
    assert by_kernel(pair("ABAB", keys=()), events) == {(1, 2): 1}
    run = StreamRun(pair("ABAB", keys=(), reach=5))
    run.call(events, 4)
    assert run.found == {(1, 2): 1}


def test_too_many_matches_are_a_failure_that_names_the_key() -> None:
    rows = table(marked("A - " * 30 + "B - " * 30, key=7))
    with pytest.raises(KernelFailure, match="more than 100 matches") as failure:
        list(temporal(pair("A.AB.B"), most_matches=100)(iter([rows])))
    assert failure.value.facts.key == {"k": "7"}
    stream = TemporalStream(pair("A.AB.B", reach=500), most_matches=100)
    with pytest.raises(KernelFailure, match="more than 100 matches") as failure:
        stream.advance(
            StreamMemory(), [rows.append_column("start", rows.column(TIME))], WatermarkMove(-1, 500)
        )
    assert failure.value.facts.key == {"k": "7"}


def test_partial_matches_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_PARTIAL", 500)
    rows = table(marked("A - " * 30 + "B - " * 30))
    with pytest.raises(KernelFailure, match="more than 500 partial matches") as failure:
        list(temporal(pair("A.AB.B"))(iter([rows])))
    assert (failure.value.facts.kind, failure.value.facts.limit) == (MAX_PARTIAL, 500)


def test_partial_matches_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_TOGETHER", 3)
    for seed in range(40):
        program, events = sample(seed)
        assert by_kernel(program, events) == by_definition(program, events), seed


def test_times_may_be_far_apart() -> None:
    """So far that a key and a time together are no number of 64 bits."""
    far = (1 << 62) + (1 << 61)
    events = [event for key in range(8) for event in marked("A AB AB B -", key, -far)]
    events += [event for key in range(8) for event in marked("A A AB AB B B -", key, far)]
    for reach in (None, 2, 3):
        program = pair("ABAB", reach=reach)
        expected = by_definition(program, events)
        assert sum(expected.values()) == (8 if reach == 2 else 16)
        assert by_kernel(program, events) == expected


def test_times_may_be_the_last_there_are() -> None:
    for first in (LAST_TIME - 4, FIRST_TIME):
        events = marked("A AB AB B -", first=first)
        for reach in (None, 1, 2):
            program = pair("ABAB", reach=reach)
            expected = {} if reach == 1 else {(1, first + 2): 1}
            assert by_kernel(program, events) == by_kernel(program, events, 1, 1) == expected


def test_lists_come_in_batches_that_are_not_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MOST_LISTED", 5)
    program = pair("ABAB", outputs=(TemporalOutput("n", 1, RunPart.ALL, "n"),))
    rows = table([event for key in range(4) for event in marked("A AB AB B -", key)])
    found = list(temporal(program)(iter([rows])))
    assert [batch.num_rows for batch in found] == [1, 1, 1, 1]
    assert [batch.column("n").to_pylist() for batch in found] == [[[1, 2, 3]]] * 4


def test_a_run_that_goes_on_is_not_kept_without_need() -> None:
    """Of events that all meet a condition only those of a window are kept, and one before."""
    run = StreamRun(pair("ABAB", reach=10))
    sizes = []
    for n in range(0, 400, 4):
        run.call(marked("A A A A", first=n), n + 3)
        sizes.append(run.memory.rows)
    assert max(sizes) <= 2 * 12


def test_what_a_match_needs_is_kept_until_the_end_that_it_tells() -> None:
    end = (TemporalOutput("t", 1, RunPart.END, TIME),)
    run = StreamRun(pair("ABAB", reach=10, outputs=end))
    run.call(marked("A AB AB B B"), 4)
    for n in range(5, 200):
        run.call(marked("B", first=n), n)
        assert run.memory.rows <= 8, "of the events of a run, those at its ends"
    assert not run.found
    run.call(marked("-", first=200), 200)
    assert run.found == {(199, 199): 1}
    run.call([], 1000)
    assert run.memory.is_empty


def test_a_stream_is_called_when_a_negation_is_certain() -> None:
    symbols = (TemporalSymbol("A", False, 0), TemporalSymbol("B", True, 1))
    alternative = TemporalAlternative((0,), (), (AbsentRun(1),))
    output = (TemporalOutput("t", 0, RunPart.START, TIME),)
    run = StreamRun(TemporalProgram(symbols, ("k",), (alternative,), output, 10))
    run.call(marked("A"), 0)
    assert not run.found and run.wake == 10
    run.call([], 10)
    assert run.found == {(0, 0): 1}
    run.call([], run.wake)
    assert run.memory.is_empty and run.wake is None


def test_open_runs_of_many_symbols_are_not_tried_in_all_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 14 symbols that begin one after the other and go on, each set could go on: 16,384 of them."""
    count, cases = 14, 0
    judged = CertainMatcher._is_same

    def counted(*arguments: Any) -> Any:
        nonlocal cases
        cases += 1
        return judged(*arguments)

    monkeypatch.setattr(CertainMatcher, "_is_same", counted)
    words = tuple(
        word_of(text, "A") for text in ("AABB", "ABAB", "ABBA", "ABA.B", "AA.BB", "AB.BA", "AAB.B", "AA.B.B")
    )
    program = TemporalProgram(
        tuple(TemporalSymbol(f"S{number}", True, number) for number in range(count)),
        ("k",),
        (alternative_of(count, words),),
        (TemporalOutput("t", 0, RunPart.START, TIME),),
        100,
    )
    run = StreamRun(program)
    for time in range(count + 6):
        bits = (1 << min(time + 1, count)) - 1
        run.call([{"k": 1, TIME: time, "x": 0, "n": time, BITS: bits}], time)
        assert run.found.total() == (time + 1 >= count), "when the last symbol begins"
    assert 0 < cases < 100


def alternative_of(count: int, words: tuple[Word, ...]) -> TemporalAlternative:
    """Each symbol and the next one form one of the words."""
    pairs = (TemporalConstraint(number, number + 1, words) for number in range(count - 1))
    return TemporalAlternative(tuple(range(count)), tuple(pairs))


def random_temporal() -> None:
    """Runs of the kernel that keep events, for `test_worker`."""
    for seed in range(150):
        program, events = sample(seed)
        for at_once in (2, 5):
            by_kernel(replace(program, reach=program.reach or 4), events, at_once, 3)

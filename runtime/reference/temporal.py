"""MATCH_RECOGNIZE_TEMPORAL, executed by its definition: the events of symbols, all choices of one each.

An event of a symbol that lasts is a longest run of consecutive instants of its stream, in a partition, at
which all events meet the condition (JEPC thesis, Definition 14); an event of another symbol is one event. A
match has one event of each symbol of an alternative, so that all relations hold. It is decided at the least
instant at which all that it needs is known, of every end point after that instant only that it comes after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import combinations, product

from neelc.ir.allen import deciding_step, relation
from neelc.ir.bound_rows import SymbolAlternative, SymbolDefinition, SymbolRelation, Temporal
from neelc.ir.expressions import AtRow, Expr, OverRows, RowValue
from neelc.ir.node import walk
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.aggregates import aggregate
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.question import length
from neelc.runtime.reference.recognize import Row, value_of_row, value_with
from neelc.runtime.values.order import comparable

MAX_CONFIGURATIONS = 1_000_000


@dataclass(frozen=True)
class SymbolEvent:
    """An event of a symbol, from `start` to `end`, both included, and the events that it is made of, in the
    order of time. `first` and `last` are those whose values are read, None if none is."""

    start: int
    end: int
    rows: tuple[int, ...]
    first: int | None
    last: int | None


Binding = Mapping[str, SymbolEvent]
"""Events of symbols, by the names of these."""


@dataclass(frozen=True)
class TemporalMatch:
    """A match: its symbols' events, the instant at which it is decided, the one at which all that its
    measures tell is known, too, and the measures."""

    events: Mapping[str, SymbolEvent]
    decided: int
    valid: int
    values: tuple[object, ...]


def temporal(query: Temporal, rows: Sequence[Row], times: Sequence[int | None]) -> list[TemporalMatch]:
    """All matches in events with these times, in nanoseconds; what has no time is no event."""
    tried = [0]
    return [
        match
        for numbers in partitions_in_time(query, rows, times)
        for match in PartitionMatcher(query, rows, times, numbers, tried).matches()
    ]


def sure(query: Temporal, rows: Sequence[Row], times: Sequence[int | None], now: int) -> list[TemporalMatch]:
    """The matches that are certain when all events up to a time are known, and others may come: whatever
    comes, they are there, and valid at the same instant.

    A run that ends with the last event of its stream may go on. What is certain is there if it does not, and
    for each choice of such runs if these go on. Then their ends come after all that is known; what is decided
    before does not depend on their order. Where a negated symbol is, the window must have passed: until
    then, one of its events might come.
    """
    known = [time if time is not None and time <= now else None for time in times]
    tried = [0]
    return [
        match
        for numbers in partitions_in_time(query, rows, known)
        for match in PartitionMatcher(query, rows, known, numbers, tried).sure_matches(now)
    ]


_goes_on: ContextVar[bool] = ContextVar("goes on", default=False)


@contextmanager
def streams_go_on() -> Iterator[None]:
    """Inside of it, data have no end: matches are those that are `sure` when the time of all events and all
    windows has passed. The last run of a stream has no end then."""
    token = _goes_on.set(True)
    try:
        yield
    finally:
        _goes_on.reset(token)


NEVER = 1 << 80
"""Behind all times."""


def matches_of(query: Temporal, rows: Sequence[Row], times: Sequence[int | None]) -> list[TemporalMatch]:
    """All matches, or those that are sure if streams go on."""
    return sure(query, rows, times, NEVER) if _goes_on.get() else temporal(query, rows, times)


def partitions_in_time(query: Temporal, rows: Sequence[Row], times: Sequence[int | None]) -> list[list[int]]:
    """The numbers of the rows of each partition."""
    groups: dict[object, list[int]] = {}
    for number, (row, time) in enumerate(zip(rows, times, strict=True)):
        if time is not None:
            key = tuple(comparable(row[name]) for name in query.partition)
            groups.setdefault(key, []).append(number)
    return list(groups.values())


Instants = Sequence[tuple[int, Sequence[int]]]
"""The instants of a stream in a partition, in order, each with the numbers of its rows."""


class PartitionMatcher:
    """Finds the matches of one partition. `tried` counts the choices of events, in all of them."""

    def __init__(
        self,
        query: Temporal,
        rows: Sequence[Row],
        times: Sequence[int | None],
        numbers: Sequence[int],
        tried: list[int],
    ) -> None:
        self.query, self.rows, self.times, self.tried = query, rows, times, tried
        self.symbols = {one.name: one for one in query.symbols}
        self.named = query.named_events
        self.instants = {one.name: self._instants(one, numbers) for one in query.symbols}
        self.known: dict[object, tuple[SymbolEvent, ...]] = {}

    def _instants(self, symbol: SymbolDefinition, numbers: Sequence[int]) -> Instants:
        """Those of the stream that the symbol is about."""
        found: dict[int, list[int]] = {}
        for number in numbers:
            time = self.times[number]
            own = symbol.stream is None or self.rows[number][self.query.number or ""] == symbol.stream
            if own and time is not None:
                found.setdefault(time, []).append(number)
        return sorted(found.items())

    # The events of a symbol.

    def events_of(self, symbol: SymbolDefinition, binding: Binding) -> tuple[SymbolEvent, ...]:
        """Those that its condition finds with these events of the symbols that it depends on, and that last
        as long as they should."""
        key = (symbol.name, *(binding[name] for name in symbol.depends_on))
        if key not in self.known:
            made = self._runs(symbol, binding) if symbol.lasts else self._points(symbol, binding)
            self.known[key] = tuple(one for one in made if _is_long_enough(symbol, one))
        return self.known[key]

    def _points(self, symbol: SymbolDefinition, binding: Binding) -> Iterator[SymbolEvent]:
        for place, (time, numbers) in enumerate(self.instants[symbol.name]):
            for number in numbers:
                if self._is_met(symbol, place, number, binding):
                    yield SymbolEvent(time, time, (number,), number, number)

    def _runs(self, symbol: SymbolDefinition, binding: Binding) -> Iterator[SymbolEvent]:
        instants = self.instants[symbol.name]
        run: list[tuple[int, Sequence[int]]] = []
        for place, (time, numbers) in enumerate(instants):
            if all(self._is_met(symbol, place, number, binding) for number in numbers):
                run.append((time, numbers))
            elif run:
                yield from self._told_apart(symbol, run)
                run = []
        if run:
            yield from self._told_apart(symbol, run)

    def _told_apart(self, symbol: SymbolDefinition, run: Instants) -> Iterator[SymbolEvent]:
        """The run as often as there are choices of the events whose values are read. Of a single instant, it
        has one event that is the first and the last."""
        (start, firsts), (end, lasts) = run[0], run[-1]
        rows = tuple(number for _, numbers in run for number in numbers)
        reads_first, reads_last = ((symbol.name, anchor) in self.named for anchor in ("FIRST", "LAST"))
        if start == end:
            chosen: list[tuple[int | None, int | None]] = [(number, number) for number in firsts]
            if not reads_first and not reads_last:
                chosen = [(None, None)]
        else:
            chosen = list(product(firsts if reads_first else (None,), lasts if reads_last else (None,)))
        for first, last in chosen:
            yield SymbolEvent(start, end, rows, first, last)

    def _is_met(self, symbol: SymbolDefinition, place: int, number: int, binding: Binding) -> bool:
        """Whether the condition is TRUE of an event, with some events at the instants that PREV names."""
        condition = symbol.condition
        if condition is None:
            return True
        instants = self.instants[symbol.name]
        if not self._are_set(condition, instants[place][0], binding):
            return False
        shifts = sorted({node.shift for node in walk(condition) if isinstance(node, AtRow) and node.shift})
        before = [instants[place + one][1] if place + one >= 0 else (None,) for one in shifts]
        for chosen in product(*before):
            events: dict[int, int | None] = {0: number, **dict(zip(shifts, chosen, strict=True))}
            if self._value(condition, events, binding) is True:
                return True
        return False

    def _are_set(self, condition: Expr, time: int, binding: Binding) -> bool:
        """Whether the events of other symbols that a condition names are known at an instant."""
        for node in walk(condition):
            if isinstance(node, AtRow) and node.variables:
                event = binding[node.variables[0]]
                at_start = self.symbols[node.variables[0]].lasts and node.anchor == "FIRST"
                if time < event.start if at_start else time <= event.end:
                    return False
        return True

    def _value(self, condition: Expr, events: Mapping[int, int | None], binding: Binding) -> object:
        def looked_up(value: RowValue) -> object:
            assert isinstance(value, AtRow)
            if not value.variables:
                return self._at(value.argument, events[value.shift])
            return self._of_symbol(value, binding)

        return value_with(condition, looked_up)

    def _of_symbol(self, value: AtRow, binding: Binding) -> object:
        event = binding.get(value.variables[0])
        if event is None:
            return None
        return self._at(value.argument, event.first if value.anchor == "FIRST" else event.last)

    def _at(self, argument: Expr, number: int | None) -> object:
        return None if number is None else value_of_row(argument, self.rows[number])

    # Matches.

    def matches(self) -> Iterator[TemporalMatch]:
        """Each once, from the earliest instant at which an alternative decides it."""
        decided: dict[tuple[tuple[str, SymbolEvent], ...], int] = {}
        for alternative in self.query.alternatives:
            order = in_order(alternative.symbols, self.symbols)
            for binding in self._bindings(alternative, order, {}):
                at = self.decided(alternative, binding)
                if self._is_match(alternative, binding, at):
                    key = tuple(sorted(binding.items(), key=lambda item: item[0]))
                    decided[key] = min(at, decided.get(key, at))
        for key, at in decided.items():
            events = dict(key)
            yield TemporalMatch(events, at, max(at, *self._told_ends(events)), self._measures(events))

    def sure_matches(self, now: int) -> Iterator[TemporalMatch]:
        """Those that are certain when all events up to a time are known."""
        later = now + 1
        for match in self.matches():
            goes_on = [name for name, event in match.events.items() if self._is_open(name, event)]
            choices = (
                {**match.events, **{name: replace(match.events[name], end=later) for name in chosen}}
                for count in range(len(goes_on) + 1)
                for chosen in combinations(goes_on, count)
            )
            if all(self._is_sure(match, binding, now) for binding in choices):
                yield match

    def _is_open(self, name: str, event: SymbolEvent) -> bool:
        """Whether the run may go on."""
        return self.symbols[name].lasts and event.end == self.instants[name][-1][0]

    def _is_sure(self, match: TemporalMatch, binding: Binding, now: int) -> bool:
        """Whether the match is there with these ends of its runs, and nothing that comes takes it back."""
        changed = [name for name, event in binding.items() if event != match.events[name]]
        if any((name, "LAST") in self.named for name in changed):
            return False  # its last event is read
        decided = []
        for alternative in self.query.alternatives:
            if set(alternative.symbols) == set(binding) and _is_held(alternative, self.symbols, binding):
                at = self.decided(alternative, binding)
                if self._is_match(alternative, binding, at):
                    start = min(event.start for event in binding.values())
                    within = None if self.query.within is None else length(self.query.within)
                    passed = not alternative.absent or (within is not None and start + within <= now)
                    decided.append((at, passed))
        certain = min((at for at, passed in decided if passed), default=None)
        if certain is None or any(at < certain for at, _ in decided):
            return False
        return max(certain, *self._told_ends(binding)) == match.valid <= now

    def _bindings(
        self, alternative: SymbolAlternative, order: Sequence[str], binding: Binding
    ) -> Iterator[Binding]:
        """The choices of an event for each symbol, so that all relations between them hold."""
        if len(binding) == len(order):
            yield binding
            return
        name = order[len(binding)]
        for event in self.events_of(self.symbols[name], binding):
            self.tried[0] += 1
            if self.tried[0] > MAX_CONFIGURATIONS:
                detail = f"there are many events of {name} and the symbols around it"
                raise LimitReached("MAX_CONFIGURATIONS", MAX_CONFIGURATIONS, detail)
            longer = {**binding, name: event}
            if _holds(alternative.relations_of(name), longer):
                yield from self._bindings(alternative, order, longer)

    def decided(self, alternative: SymbolAlternative, binding: Binding) -> int:
        """The instant at which all relations and durations are decided, and all symbols have started."""
        instants = [event.start for event in binding.values()]
        for name, event in binding.items():
            symbol = self.symbols[name]
            if symbol.most is not None:
                instants.append(event.end)
            elif symbol.least is not None:
                instants.append(event.start + length(symbol.least))
        for one in alternative.relations:
            if {one.left, one.right} <= set(binding):
                instants += decided_at(one, binding)
        return max(instants)

    def _is_match(self, alternative: SymbolAlternative, binding: Binding, decided: int) -> bool:
        start = min(event.start for event in binding.values())
        within = None if self.query.within is None else length(self.query.within)
        if within is not None and decided - start > within:
            return False
        return not any(
            within is None or (decided - within <= event.start and event.end <= start + within)
            for name in alternative.absent
            for event in self.events_of(self.symbols[name], binding)
            if _holds(alternative.relations_of(name), {**binding, name: event})
        )

    def _told_ends(self, events: Binding) -> Iterator[int]:
        """The ends that measures tell."""
        yield min(event.start for event in events.values())
        for node in (node for measure in self.query.measures for node in walk(measure.expression)):
            is_end = isinstance(node, OverRows) or (isinstance(node, AtRow) and node.anchor == "LAST")
            if is_end and isinstance(node, AtRow | OverRows) and node.variables[0] in events:
                yield events[node.variables[0]].end

    def _measures(self, events: Binding) -> tuple[object, ...]:
        def looked_up(value: RowValue) -> object:
            match value:
                case AtRow():
                    return self._of_symbol(value, events)
                case OverRows(type, name, argument, variables):
                    event = events.get(variables[0])
                    if event is None:
                        return None
                    if argument is None:
                        return len(event.rows)
                    values = [self._at(argument, number) for number in event.rows]
                    return aggregate(name, [one for one in values if one is not None], type, value.distinct)
            raise AssertionError(f"{value} is of no symbol")

        return tuple(value_with(measure.expression, looked_up) for measure in self.query.measures)


def in_order(names: Sequence[str], symbols: Mapping[str, SymbolDefinition]) -> list[str]:
    """The symbols, each behind those that it depends on."""
    found: list[str] = []
    while len(found) < len(names):
        found += [one for one in names if one not in found and set(symbols[one].depends_on) <= set(found)]
    return found


def _is_long_enough(symbol: SymbolDefinition, event: SymbolEvent) -> bool:
    lasting = event.end - event.start
    return (symbol.least is None or lasting >= length(symbol.least)) and (
        symbol.most is None or lasting <= length(symbol.most)
    )


def _holds(relations: Sequence[SymbolRelation], binding: Binding) -> bool:
    """Whether those of the relations hold whose symbols have an event."""
    return all(
        _word(one, binding) in one.words for one in relations if one.left in binding and one.right in binding
    )


def _is_held(
    alternative: SymbolAlternative, symbols: Mapping[str, SymbolDefinition], binding: Binding
) -> bool:
    """Whether all relations and durations of an alternative hold."""
    is_long = all(_is_long_enough(symbols[name], event) for name, event in binding.items())
    return is_long and _holds(alternative.relations, binding)


def _word(one: SymbolRelation, binding: Binding) -> tuple[str, ...]:
    left, right = binding[one.left], binding[one.right]
    return relation((left.start, left.end), (right.start, right.end))


def decided_at(one: SymbolRelation, binding: Binding) -> list[int]:
    """The instant of the step that decides a relation; none if it is known before there is any."""
    left, right = binding[one.left], binding[one.right]
    count = deciding_step(_word(one, binding), one.words)
    return sorted({left.start, left.end, right.start, right.end})[:count][-1:]

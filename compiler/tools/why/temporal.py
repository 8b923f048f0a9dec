"""MATCH_RECOGNIZE_TEMPORAL: how far an event of the first symbol came, and which relation held instead.

Symbols are joined in the order of the constraint graph, as the kernel does it. Each event of the first one is
a start; its furthest run has events of as many symbols as can be, all relations between them holding. Of the
next symbol, the event is shown that comes nearest to what is required of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from neelc.algebra.plan.temporal import join_order
from neelc.engines.reference import executable
from neelc.errors import Diagnostic, NeelError
from neelc.explain.constraint_graph import drawn_relation
from neelc.ir.algebra import Algebra, StreamSource, TemporalMatcher
from neelc.ir.allen import Word, name_of, relation
from neelc.ir.bound_rows import SymbolAlternative, SymbolDefinition, SymbolRelation, Temporal
from neelc.ir.program import Clock, Program, Stream
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import Tables, payloads_read
from neelc.runtime.reference.model import LimitReached, moment
from neelc.runtime.reference.question import length
from neelc.runtime.reference.recognize import Row
from neelc.runtime.reference.temporal import (
    Binding,
    PartitionMatcher,
    SymbolEvent,
    TemporalMatch,
    partitions_in_time,
)
from neelc.source import Source, Span
from neelc.syntax.print_patterns import show_window
from neelc.tools.report.situations import rows_and_times, temporal_matcher
from neelc.tools.why.explaining import FEWER, MAX_EVENTS, ROWS_IT_READS
from neelc.tools.why.model import (
    CheckedRequirement,
    ReportedEvent,
    StartExplanation,
    StopReason,
    Why,
    length_text,
    shown,
)
from neelc.tools.why.questions import MAX_CANDIDATES_PER_START, StepLimit
from neelc.tools.why.reading import is_requested, key_filter_of, no_such_key, text_of, times

MOST_RUNS = 500
"""Of how many furthest runs the nearest is looked for."""

SOME_TIME = "any time"
"""Where there is no event of the first symbol, and so no time."""


# By how much a relation is missed.


@dataclass(frozen=True)
class EndPointMiss:
    """Two end points that are not in the order that a word has: what is so, what must be, and the time
    between them, in nanoseconds."""

    text: str
    gap: int


def misses(left: str, right: str, events: Binding, word: Word) -> list[EndPointMiss]:
    """Which end points of two events are not as a word has them: of each two steps that follow each other.

    >>> second = 10**9
    >>> ends = {"A": (0, 3), "B": (5, 9)}
    >>> events = {name: SymbolEvent(s * second, e * second, (), None, None) for name, (s, e) in ends.items()}
    >>> [one.text for one in misses("A", "B", events, ("A", "B", "A", "B"))]
    ['END(A) is 2 seconds before START(B), and must be after it']
    >>> [one.text for one in misses("A", "B", events, ("A", "AB", "B"))]
    ['END(A) is 2 seconds before START(B), and must be at the same instant']
    >>> [one.text for one in misses("A", "B", events, ("B", "AA", "B"))]
    ['START(B) is 5 seconds after START(A), and must be before it', 'A lasts 3 seconds, and must be a point']
    """
    found = []
    placed = [_ends_at(word, step, {"A": left, "B": right}) for step in range(len(word))]
    for step, ends in enumerate(placed):
        pairs = [(one, other, 0) for one, other in pairwise(ends)]
        if step:
            pairs = [(one, other, -1) for one in placed[step - 1][-1:] for other in ends[:1]] + pairs
        found += [
            miss for one, other, order in pairs if (miss := _miss(one, other, order, events)) is not None
        ]
    return found


EndPoint = tuple[str, str]
"""START or END, and the symbol."""


def _ends_at(word: Word, step: int, names: Mapping[str, str]) -> list[EndPoint]:
    """The end points at a step of a word."""
    before = "".join(word[:step])
    found: list[EndPoint] = []
    for letter in sorted(set(word[step])):
        first = before.count(letter)
        count = word[step].count(letter)
        found += [(("START", "END")[first + number], names[letter]) for number in range(count)]
    return found


def _miss(one: EndPoint, other: EndPoint, order: int, events: Binding) -> EndPointMiss | None:
    """What is wrong if the first is not before the other (-1), or not at the same instant (0)."""
    times = [getattr(events[name], end.lower()) for end, name in (one, other)]
    gap = times[0] - times[1]
    if (gap == 0) == (order == 0) and gap * order >= 0:
        return None
    if one[1] == other[1]:
        text = "is a point, and must last" if order else f"lasts {length_text(-gap)}, and must be a point"
        return EndPointMiss(f"{one[1]} {text}", abs(gap))
    left, right = (f"{end}({name})" for end, name in (one, other))
    if order and left.startswith("START") and right.startswith("END"):
        left, right, gap, order = right, left, -gap, 1
    where = f"{length_text(abs(gap))} {'before' if gap < 0 else 'after'} {right}" if gap else f"at {right}"
    must = "at the same instant" if order == 0 else "before it" if order < 0 else "after it"
    return EndPointMiss(f"{left} is {where}, and must be {must}", abs(gap))


def checked_relation(one: SymbolRelation, events: Binding) -> tuple[CheckedRequirement, bool, int]:
    """A relation, with the one that holds; whether it is as required, and by how much it is missed."""
    left, right = events[one.left], events[one.right]
    word = relation((left.start, left.end), (right.start, right.end))
    required = " or ".join(line.replace("  ", " ") for line in drawn_relation(one, {}).lines)
    if word in one.words:
        return CheckedRequirement("relation", required, ""), True, 0
    ways = [misses(one.left, one.right, events, wanted) for wanted in one.words]
    nearest = min(ways, key=lambda way: (len(way), sum(miss.gap for miss in way)))
    held = f"{one.left} {name_of(word)} {one.right}"
    detail = f"{held}: {'; '.join(miss.text for miss in nearest)}"
    return CheckedRequirement("relation", required, detail), False, sum(miss.gap for miss in nearest)


def checked_duration(
    symbol: SymbolDefinition, event: SymbolEvent
) -> Iterator[tuple[CheckedRequirement, bool, int]]:
    """How long an event lasts, where that is restricted."""
    lasting = event.end - event.start
    for name, bound, sign in (("AT LEAST", symbol.least, 1), ("AT MOST", symbol.most, -1)):
        if bound is None:
            continue
        off = sign * (length(bound) - lasting)
        text = f"{symbol.name} DURATION {name} {show_window(bound)}"
        short = f": {length_text(off)} {'short' if sign > 0 else 'too long'}" if off > 0 else ""
        yield (
            CheckedRequirement("duration", text, f"lasts {length_text(lasting)}{short}"),
            off <= 0,
            max(0, off),
        )


# The furthest run of a start.


@dataclass(frozen=True)
class NearestRun:
    """The events that were bound, why there is none of the next symbol, and how far off that is."""

    order: tuple[str, ...]
    binding: Binding
    stop: StopReason
    cost: tuple[int, int]


@dataclass
class SituationExplainer:
    """Explains the events of one partition. `loose` finds runs of any duration."""

    clause: Temporal
    rows: Sequence[Row]
    times: Sequence[int]
    numbers: Sequence[int]
    clock: Clock
    key: Mapping[str, str]
    values: tuple[object, ...]

    def __post_init__(self) -> None:
        plain = tuple(replace(one, least=None, most=None) for one in self.clause.symbols)
        clause = replace(self.clause, symbols=plain)
        self.symbols = {one.name: one for one in self.clause.symbols}
        self.exact = PartitionMatcher(self.clause, self.rows, self.times, self.numbers, [0])
        self.loose = PartitionMatcher(clause, self.rows, self.times, self.numbers, [0])
        self.orders = [(one, join_order(one, self.symbols)) for one in self.clause.alternatives]

    def explained(self, bounds: tuple[int, int] | None) -> Iterator[StartExplanation]:
        """Of each event of a first symbol, in the order of time."""
        try:
            found = list(self.exact.matches())
        except LimitReached as limit:
            yield replace(self._known(self.orders[0][1][0], None), matches=None, notes=(str(limit),))
            return
        starts: dict[tuple[int, str, int], SymbolEvent] = {}
        for _, order in self.orders:
            symbol = self.symbols[order[0]]
            for event in self.loose.events_of(self.loose.symbols[symbol.name], {}):
                starts.setdefault((event.start, symbol.name, event.end), event)
        for start, name, end in sorted(starts):
            if bounds is None or bounds[0] <= start <= bounds[1]:
                yield self._explanation(name, starts[start, name, end], found)
        if not starts:
            name = self.orders[0][1][0]
            stop = StopReason(name, (), is_missing=True)
            yield replace(self._known(name, None), steps=len(self.orders[0][1]), stopped=(stop,))

    def _known(self, name: str, event: SymbolEvent | None) -> StartExplanation:
        lane = (*self.values, name)
        if event is None:
            start = ReportedEvent("", name, SOME_TIME, "", "")
            return StartExplanation(self.key, start, False, place=(lane, None))
        start = replace(self._reported(name, event, event), variable="", type=name)
        return StartExplanation(self.key, start, False, place=(lane, self._moment(event.start)))

    def _explanation(self, name: str, event: SymbolEvent, found: Sequence[TemporalMatch]) -> StartExplanation:
        known = self._known(name, event)
        ours = [one for one in found if name in one.events and _is_same(one.events[name], event)]
        if ours:
            return self._matching(known, ours, event)
        steps = StepLimit(MAX_CANDIDATES_PER_START)
        try:
            runs = [
                run
                for alternative, order in self.orders
                if order[0] == name
                for run in self._runs(alternative, order, event, steps)
            ]
        except LimitReached as limit:
            return replace(known, matches=None, notes=(str(limit),))
        best = max(runs, key=lambda run: (len(run.binding) / len(run.order), [-one for one in run.cost]))
        return replace(
            known,
            steps=len(best.order),
            reached=len(best.binding),
            events=tuple(
                self._reported(one, best.binding[one], event) for one in best.order if one in best.binding
            ),
            stopped=(best.stop,),
        )

    def _matching(
        self, known: StartExplanation, found: Sequence[TemporalMatch], start: SymbolEvent
    ) -> StartExplanation:
        """The first match of a start, and what holds in it."""
        one = min(found, key=lambda match: match.decided)
        alternative = next(
            alternative for alternative, _ in self.orders if set(alternative.symbols) == set(one.events)
        )
        events = tuple(
            self._reported(name, event, start)
            for name, event in sorted(one.events.items(), key=lambda item: item[1].start)
        )
        inside = (edge for edge in alternative.relations if {edge.left, edge.right} <= set(one.events))
        held = [
            checked for edge in inside for checked, holds, _ in [checked_relation(edge, one.events)] if holds
        ]
        for name, event in one.events.items():
            held += [checked for checked, _, _ in checked_duration(self.symbols[name], event)]
        note = f"decided at {shown(self._moment(one.decided))}"
        return replace(
            known, matches=True, count=len(found), reached=len(events), steps=len(events), events=events,
            held=tuple(held), notes=(note,),
        )  # fmt: skip

    # Partial matches of a start, as long as can be.

    def _runs(
        self, alternative: SymbolAlternative, order: tuple[str, ...], start: SymbolEvent, steps: StepLimit
    ) -> list[NearestRun]:
        """The furthest runs of an alternative, each with what stops it."""
        first = order[0]
        if any(not holds for _, holds, _ in checked_duration(self.symbols[first], start)):
            wrong = [one for one, holds, _ in checked_duration(self.symbols[first], start) if not holds]
            return [
                NearestRun(
                    order, {}, StopReason(first, tuple(wrong), self._events({first: start}, start)), (0, 0)
                )
            ]
        longest: list[Binding] = []
        for binding in self._partial(alternative, order, {first: start}, steps):
            if not longest or len(binding) > len(longest[0]):
                longest = []
            if not longest or (len(binding) == len(longest[0]) and len(longest) < MOST_RUNS):
                longest.append(binding)
        return [self._stopped(alternative, order, binding, start) for binding in longest]

    def _partial(
        self, alternative: SymbolAlternative, order: Sequence[str], binding: Binding, steps: StepLimit
    ) -> Iterator[Binding]:
        """Bindings of the first symbols, all of whose relations hold; each, and what it is a part of."""
        yield binding
        if len(binding) == len(order):
            return
        name = order[len(binding)]
        for event in self.exact.events_of(self.symbols[name], binding):
            next(steps)
            longer = {**binding, name: event}
            if all(holds for _, holds, _ in self._required(alternative, name, longer)):
                yield from self._partial(alternative, order, longer, steps)

    def _required(
        self, alternative: SymbolAlternative, name: str, binding: Binding
    ) -> list[tuple[CheckedRequirement, bool, int]]:
        """What is required of the event of a symbol, with those before it."""
        edges = (
            one for one in alternative.relations_of(name) if one.left in binding and one.right in binding
        )
        checked = [checked_relation(one, binding) for one in edges]
        return [*checked, *checked_duration(self.symbols[name], binding[name])]

    def _stopped(
        self, alternative: SymbolAlternative, order: tuple[str, ...], binding: Binding, start: SymbolEvent
    ) -> NearestRun:
        if len(binding) == len(order):
            return self._rejected(alternative, order, binding, start)
        name = order[len(binding)]
        tried = []
        for event in self.loose.events_of(self.loose.symbols[name], binding):
            failed = [
                (one, off)
                for one, holds, off in self._required(alternative, name, {**binding, name: event})
                if not holds
            ]
            tried.append((len(failed), sum(off for _, off in failed), event, [one for one, _ in failed]))
        if not tried:
            return NearestRun(order, binding, StopReason(name, (), is_missing=True), (len(order), 0))
        count, off, event, wrong = min(tried, key=lambda one: one[:2])
        stop = StopReason(name, tuple(wrong), self._events({name: event}, start))
        return NearestRun(order, binding, stop, (count, off))

    def _rejected(
        self, alternative: SymbolAlternative, order: tuple[str, ...], binding: Binding, start: SymbolEvent
    ) -> NearestRun:
        """All symbols have events: the window or a symbol that must not occur is in the way."""
        decided = self.exact.decided(alternative, binding)
        begun = min(event.start for event in binding.values())
        within = self.clause.within
        if within is not None and decided - begun > length(within):
            late = decided - begun - length(within)
            detail = (
                f"decided {length_text(decided - begun)} after the first start: {length_text(late)} too late"
            )
            failed = CheckedRequirement("window", f"WITHIN {show_window(within)}", detail)
            return NearestRun(order, binding, StopReason("the end", (failed,)), (1, late))
        hits = [
            CheckedRequirement("negation", f"!{name}", "", events=self._events({name: event}, start))
            for name in alternative.absent
            for event in self.exact.events_of(self.symbols[name], binding)
            if all(
                checked_relation(one, {**binding, name: event})[1] for one in alternative.relations_of(name)
            )
        ]
        return NearestRun(order, binding, StopReason("", tuple(hits)), (1, 0))

    # What is reported of events.

    def _events(self, binding: Binding, start: SymbolEvent) -> tuple[ReportedEvent, ...]:
        return tuple(self._reported(name, event, start) for name, event in binding.items())

    def _reported(self, name: str, event: SymbolEvent, start: SymbolEvent) -> ReportedEvent:
        begun, ended = (shown(self._moment(time)) for time in (event.start, event.end))
        time = begun if event.start == event.end else f"{begun} to {ended}"
        number = len(event.rows)
        lasting = length_text(event.end - event.start) if event.end > event.start else "a point"
        return ReportedEvent(name, f"{number} event{'' if number == 1 else 's'}", time, time, lasting)

    def _moment(self, time: int) -> object:
        return moment(time, self.clock)


def _is_same(one: SymbolEvent, other: SymbolEvent) -> bool:
    return (one.start, one.end) == (other.start, other.end)


# Why, for MATCH_RECOGNIZE_TEMPORAL: from rows to the explanations of the requested keys and times.


@dataclass(frozen=True)
class SituationsRequest:
    """Why the situations of a clause have matches: those of the requested keys, and times in nanoseconds."""

    program: Program
    place: int
    matcher: TemporalMatcher
    source: Source
    keys: Mapping[str, Sequence[str]]
    bounds: tuple[int, int] | None

    @property
    def streams(self) -> dict[str, Stream]:
        """The data from outside that are read."""
        needed = (self.program.queries[place].query for place in self.program.needed([self.place]))
        return {one.name: one for query in needed for one in query.streams if one.producer is None}

    @property
    def filtered(self) -> str | None:
        """The stream of which only the rows of the requested keys are needed: one that nothing else reads."""
        source = self.matcher.input
        if isinstance(source, StreamSource) and list(self.streams) == [source.stream.name]:
            return source.stream.name
        return None

    def too_many(self, count: str) -> NeelError:
        message = f"{count} events to explain: the limit MAX_EVENTS is {MAX_EVENTS:,}"
        place = self.matcher.span or self.program.queries[self.place].span or Span(0, 1)
        return NeelError([Diagnostic("NEEL5007", message, place, FEWER)], self.source)

    def explained(self, tables: Tables) -> Why:
        rows, times = rows_and_times(payloads_read(self.program, self.place, tables, self.matcher.input))
        chosen = self._partitions(rows, times)
        found = [
            one
            for key, numbers in sorted(chosen, key=lambda pair: list(pair[0].values()))
            for one in self._explainer(rows, times, key, numbers).explained(self.bounds)
        ]
        return Why(self.matcher.clause.text, tuple(found))

    def _partitions(
        self, rows: Sequence[Row], times: Sequence[int]
    ) -> list[tuple[dict[str, str], list[int]]]:
        """The rows of the requested keys."""
        clause = self.matcher.clause
        found = [
            ({name: text_of(rows[numbers[0]][name]) for name in clause.partition}, numbers)
            for numbers in partitions_in_time(clause, rows, times)
        ]
        chosen = [(texts, numbers) for texts, numbers in found if is_requested(texts, self.keys)]
        if self.keys and not chosen:
            raise no_such_key(self.keys, [texts for texts, _ in found])
        if (count := sum(len(numbers) for _, numbers in chosen)) > MAX_EVENTS:
            raise self.too_many(f"{count:,}")
        return chosen

    def _explainer(
        self, rows: Sequence[Row], times: Sequence[int], texts: Mapping[str, str], numbers: Sequence[int]
    ) -> SituationExplainer:
        clause, first = self.matcher.clause, rows[numbers[0]]
        key = {name: shown(first[name]) for name in texts}
        values = tuple(first[name] for name in clause.partition)
        return SituationExplainer(clause, rows, times, numbers, self.matcher.clock, key, values)

    def tables_looked_at(self, tables: Tables) -> Tables:
        """The rows of the requested keys, as far as they are known by their columns."""
        name = self.filtered
        if name is None or not self.keys:
            return tables
        kept = [
            row
            for row in tables[name]
            if is_requested({one: text_of(row[one]) for one in self.keys}, self.keys)
        ]
        return {**tables, name: kept}


def situations_request(
    program: Program, place: int, key: Sequence[str], between: Sequence[object] | None, source: Source
) -> SituationsRequest | None:
    """What is asked about the query at a place; None if it has no temporal pattern."""
    query = program.queries[place].query
    matcher = temporal_matcher(query) if isinstance(query, Algebra) else None
    if matcher is None:
        return None
    program = executable(program, [place], source, ROWS_IT_READS)
    keys = key_filter_of(matcher.clause.partition, key)
    starts = None if between is None else times(matcher.clock, between)
    return SituationsRequest(program, place, matcher, source, keys, starts)

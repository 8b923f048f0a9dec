"""A set of rules on the worker: events are put in order and judged once, then every rule looks for matches
among them; matches of the same shape leave together, each with the number of its rule."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cached_property, lru_cache, partial

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.coding import coded, condition_columns
from neelc.runtime.columns import Columns, Ints
from neelc.runtime.failures import FailureContext, too_many_matches
from neelc.runtime.kernels.events import KernelEvents, NullableArray
from neelc.runtime.kernels.gathering import count_of, gather, output_schema
from neelc.runtime.kernels.matching import (
    Piece,
    event_of,
    first_start,
    furthest,
    moved,
    searched,
    taken_matches,
    united_columns,
)
from neelc.runtime.kernels.pattern_kernel import (
    SearchRows,
    SectionSearch,
    calls_of,
    context_of,
    cut,
    functions_called,
    key_of_failure,
    moments_among,
    owned_times,
)
from neelc.runtime.kernels.rules.judging import RoleLookup, role_lookup, role_pairs
from neelc.runtime.kernels.rules.program import (
    RULE,
    RuleSet,
    RuleTree,
    is_single,
    program_of,
    shape_name,
    shape_outputs,
    tree_program,
    word_name,
)
from neelc.runtime.kernels.rules.trees import tree_matches
from neelc.runtime.kernels.taking import EventAxes, KernelSearch, Players, groups
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.order import SectionProgress
from neelc.runtime.program import PatternProgram, VariableOutput
from neelc.runtime.user_calls import python_values
from neelc.runtime.user_functions import Function
from neelc.runtime.values.operations import check
from neelc.runtime.worker import (
    MOST_MATCHES,
    ROWS_AT_ONCE,
    ROWS_IN_BATCH,
    Batches,
    BatchFunction,
    NeededRows,
    WorkerKernel,
    WorkerLimits,
    WorkerState,
    failure_of,
)

MOST_ROWS = 2_000_000
"""Partial matches that a rule holds at once."""


@dataclass(frozen=True)
class RuleProgress(SectionProgress):
    """How far the first section has been searched, and how many matches each rule has found."""

    found: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class RuleMatches:
    """Matches of rules that have one program: the number of the rule of each."""

    program: int
    rules: Ints
    piece: Piece


def rules_kernel(
    rules: RuleSet,
    rows_at_once: int = ROWS_AT_ONCE,
    most_matches: int = MOST_MATCHES,
    aggregates: Mapping[str, Function] | None = None,
) -> BatchFunction:
    """The function that finds the matches of all rules in one partition. No rule may have more than
    `most_matches`."""
    functions = functions_called(rules.programs, aggregates)
    return rule_kernel(rules, WorkerLimits(rows_at_once, most_matches), functions).function()


def rule_kernel(
    rules: RuleSet, limits: WorkerLimits, functions: Mapping[str, Function] | None = None
) -> WorkerKernel[RuleProgress, RuleMatches]:
    """The kernel that finds matches of rules; `functions` are those of users, by name."""
    # Each rule has the limit for itself, so it is not the worker that counts.
    begin = partial(_begin, rules, functions or {}, limits.most_matches)
    context = FailureContext(None, rules.events.reach, rules.events.clock)
    return WorkerKernel(begin, RuleProgress, replace(limits, most_matches=None), context)


def columns_read(rules: RuleSet) -> tuple[str, ...]:
    """The columns of events that a set of rules reads."""
    times = ("start", "end") if rules.events.lasting else ("start",)
    words = map(word_name, range(rules.words))
    return tuple(dict.fromkeys((*rules.events.keys, *times, *rules.events.order, *words, *rules.columns)))


def _begin(
    rules: RuleSet,
    functions: Mapping[str, Function],
    most_matches: int | None,
    state: WorkerState[RuleProgress],
    is_last: bool,
) -> RuleSearch:
    before = state.facts.found or (0,) * len(rules.rules)
    rows, left = cut(rules.events, state, is_last, columns_read(rules))
    needed = NeededRows(RuleProgress(left.facts.low, before), left.parts, left.growth)
    return RuleSearch(rules.events, rows, needed, rules, functions, most_matches, np.array(before))


@dataclass(eq=False)
class RuleSearch(SectionSearch[RuleProgress, RuleMatches]):
    """A search for the matches of all rules; `found` were found before, of each rule."""

    rules: RuleSet
    functions: Mapping[str, Function]
    most_matches: int | None
    found: Ints

    def needed(self) -> NeededRows[RuleProgress]:
        facts = RuleProgress(self.left.facts.low, tuple(self.found.tolist()))
        return NeededRows(facts, self.left.parts, self.left.growth)

    def matches(self) -> Iterator[RuleMatches]:
        if self.rows is None:
            return
        events = RuleEvents(self.rules, self.rows, self.functions)
        counts = MatchCounts(events, self.found, self.most_matches)
        for found in events.single_matches():
            counts.add_all(found)
            yield found
        waiting = WaitingMatches(self.rules)
        for number, piece in events.pieces():
            counts.add(number, piece)
            yield from waiting.add(number, piece)
        yield from waiting.rest()

    def gather(self, matches: RuleMatches) -> Batches:
        assert self.rows is not None, "there is a match"
        schema = rules_schema(self.rules, self.rows.columns.schema)
        return rule_batches(schema, self.rules, self.rows.columns, matches)


# Matches of the same shape, collected until there are enough for a batch.


@dataclass(eq=False)
class WaitingMatches:
    """Pieces of matches that have not left yet, by their shape."""

    rules: RuleSet
    pieces: dict[int, list[tuple[int, Piece]]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)

    def add(self, number: int, piece: Piece) -> Iterator[RuleMatches]:
        """More matches of a rule; comes back what is enough."""
        shape = self.rules.shapes[self.rules.rules[number].program]
        self.pieces.setdefault(shape, []).append((number, piece))
        self.counts[shape] = self.counts.get(shape, 0) + count_of(piece)
        if self.counts[shape] >= ROWS_IN_BATCH:
            yield self._joined(shape)

    def rest(self) -> Iterator[RuleMatches]:
        yield from (self._joined(shape) for shape in sorted(self.pieces))

    def _joined(self, shape: int) -> RuleMatches:
        pieces = self.pieces.pop(shape)
        del self.counts[shape]
        counts = [count_of(piece) for _, piece in pieces]
        numbers = np.repeat(np.array([number for number, _ in pieces]), counts)
        program = self.rules.rules[pieces[0][0]].program
        only = [piece for _, piece in pieces]
        whole = {name: united_columns([piece[name] for piece in only]) for name in only[0]}
        return RuleMatches(program, numbers, whole)


# Results: the number of the rule, a struct for each shape of matches, and the match's times.


def rules_schema(rules: RuleSet, schema: pa.Schema) -> pa.Schema:
    """What the kernel makes of an input with `schema`."""
    shapes = [
        pa.field(shape_name(shape), pa.struct(list(_of_match(rules, outputs, schema))[:-2]))
        for shape, outputs in shape_outputs(rules).items()
    ]
    times = [pa.field(name, pa.int64()) for name in ("match_start", "match_end")]
    return pa.schema([pa.field(RULE, pa.int32()), *shapes, *times])


def _of_match(rules: RuleSet, outputs: tuple[VariableOutput, ...], schema: pa.Schema) -> pa.Schema:
    return output_schema(replace(rules.events, outputs=outputs), schema)


def rule_batches(schema: pa.Schema, rules: RuleSet, columns: Columns, matches: RuleMatches) -> Batches:
    """The matches as rows."""
    program, shape = rules.programs[matches.program], rules.shapes[matches.program]
    own = output_schema(program, columns.schema)
    first = 0
    for batch in gather(own, program, columns, matches.piece):
        count = batch.num_rows
        arrays = [pa.array(matches.rules[first : first + count].astype(np.int32))]
        for name, type in zip(schema.names[1:-2], schema.types[1:-2], strict=True):
            if name == shape_name(shape):
                inner = [batch.column(place) for place in range(batch.num_columns - 2)]
                arrays.append(pa.StructArray.from_arrays(inner, fields=list(type)))
            else:
                arrays.append(pa.nulls(count, type))
        first += count
        yield pa.RecordBatch.from_arrays([*arrays, batch.column(-2), batch.column(-1)], schema=schema)


# What rules read: events in order, their roles, their columns, each made once for all rules.


@lru_cache(maxsize=8)
def _programs(rules: RuleSet) -> tuple[PatternProgram, ...]:
    """What each rule runs."""
    found = tuple(program_of(rules, number) for number in range(len(rules.rules)))
    for program in rules.programs:
        check(program)
    return found


@lru_cache(maxsize=8)
def lone_rules(rules: RuleSet) -> tuple[tuple[int, ...], ...]:
    """The rules that are in no tree, and are more than one event: those that are the same together."""
    shared = {number for tree in rules.trees for number in tree.members}
    single = {number for _, numbers in single_rules(rules) for number in numbers}
    same: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for number, rule in enumerate(rules.rules):
        if number not in shared and number not in single:
            same.setdefault((rule.program, rule.roles), []).append(number)
    return tuple(map(tuple, same.values()))


@lru_cache(maxsize=8)
def single_rules(rules: RuleSet) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The rules whose matches are single events, of which only the role says which: by their program."""
    programs = [number for number, one in enumerate(rules.programs) if is_single(one)]
    found: dict[int, list[int]] = {number: [] for number in programs}
    for number, rule in enumerate(rules.rules):
        if rule.program in found:
            found[rule.program].append(number)
    return tuple((program, tuple(numbers)) for program, numbers in found.items())


@lru_cache(maxsize=8)
def _tree_programs(rules: RuleSet) -> Mapping[RuleTree, PatternProgram]:
    return {tree: tree_program(rules, tree) for tree in rules.trees}


@dataclass(eq=False)
class RuleEvents:
    """The events of a search, for any rule. `lows`: for each rule, the first time at which the matches start
    that are to be found; without them, as the rows say."""

    rules: RuleSet
    rows: SearchRows
    functions: Mapping[str, Function]
    lows: Sequence[int] | None = None
    _parts: dict[tuple[bool, bool], list[SharedPart]] = field(default_factory=dict)
    _columns: dict[tuple[object, ...], Mapping[str, NullableArray]] = field(default_factory=dict)

    @cached_property
    def judged(self) -> RoleLookup:
        return role_lookup(self.rules, self.rows.columns)

    @cached_property
    def _programs(self) -> tuple[PatternProgram, ...]:
        return _programs(self.rules)

    def program_of(self, number: int) -> PatternProgram:
        return self._programs[number]

    def pieces(self, chosen: Container[int] | None = None) -> Iterator[tuple[int, Piece]]:
        """The matches of each rule, or of those that are `chosen`, with its number: of all but those of
        `single_matches`. A tree is searched if one of its rules is chosen."""
        for tree, program in _tree_programs(self.rules).items():
            members = [number for number in tree.members if chosen is None or number in chosen]
            if members:
                low = self._low(members)
                for search, begin in self.searches(program, low):
                    for number, piece in tree_matches(search, tree):
                        if chosen is None or number in chosen:
                            yield number, self._own(number, moved(piece, begin), low)
        for same in lone_rules(self.rules):
            numbers = [number for number in same if chosen is None or number in chosen]
            if not numbers or not self.may_match(numbers[0]):
                continue
            with self._explained(numbers[0]):
                for piece in self.matches(numbers[0]):
                    yield from ((number, piece) for number in numbers)

    def _own(self, number: int, piece: Piece, low: int | None) -> Piece:
        """The matches of a rule among those that start at `low` or later: rules of a tree may look back
        further than this one does."""
        if self.lows is None or self.lows[number] == low:
            return piece
        late = first_start(piece, self.rows.columns.start) >= self.lows[number]
        return piece if late.all() else taken_matches(piece, np.flatnonzero(late))

    def _low(self, numbers: Sequence[int]) -> int | None:
        return None if self.lows is None else min(self.lows[number] for number in numbers)

    @contextmanager
    def _explained(self, number: int) -> Iterator[None]:
        """A failure says which rule it is of."""
        try:
            yield
        except GeneratorExit:
            raise
        except Exception as error:
            context = context_of(self.rules.programs[self.rules.rules[number].program])
            part = f"rule {self.rules.rules[number].name}: {context.part or ''}".rstrip(": ")
            key = key_of_failure(self.rules.events, self.rows, error)
            raise failure_of(error, replace(context, part=part)).about(key=key) from error

    def may_match(self, number: int) -> bool:
        """Whether there is an event for every one that all matches must have."""
        return self.judged.has_all(self.program_of(number))

    def matches(self, number: int) -> Iterator[Piece]:
        """The matches of a rule."""
        program = self.program_of(number)
        pieces = (
            moved(piece, begin)
            for search, begin in self.searches(program, self._low([number]))
            for piece in searched(search)
        )
        if program.furthest is not None:
            yield from furthest(pieces, program, program.furthest, self._events(program))
        else:
            yield from pieces

    def single_matches(self) -> Iterator[RuleMatches]:
        """The matches of all rules that are single events."""
        for program, numbers in single_rules(self.rules):
            (output,) = self.rules.programs[program].outputs
            roles = tuple(self.rules.rules[number].roles[0] for number in numbers)
            of_rule = np.array(numbers)
            for place, event in role_pairs(self.judged, roles):
                low, high = (limit[self._segment[event]] for limit in self._owned)
                start = self.rows.columns.start[event]
                owned = (start >= low) & (start < high)
                if owned.any():
                    yield RuleMatches(program, of_rule[place[owned]], {output.variable: event[owned]})

    def searches(self, program: PatternProgram, low: int | None = None) -> Iterator[tuple[KernelSearch, int]]:
        """What a program searches: parts of the events, each with the number of its first event. Candidates
        that one rule has looked up, all have whose matches start at the same `low` or later."""
        for part in self._shared(program):
            group = part.events
            if part.begin or len(group.start) < len(self.rows.columns.start):
                whole = self._events(program)
                group = replace(
                    group,
                    columns={name: _slice(column, part) for name, column in whole.columns.items()},
                    calls={name: call.moved(part.begin) for name, call in whole.calls.items()},
                )
            else:
                group = replace(self._events(program), roles=group.roles)
            if low is not None:
                first, beyond = group.owned
                group = replace(group, owned=(np.maximum(first, low), beyond))
            found = part.found.setdefault(low, {})
            yield KernelSearch(program, group, part.timeline, MOST_ROWS, found=found), part.begin

    def _shared(self, program: PatternProgram) -> list[SharedPart]:
        """Parts of the events that fit on one line of time each, for all programs like this one."""
        kind = (program.lasting, program.counted)
        if kind not in self._parts:
            self._parts[kind] = [SharedPart(*part) for part in groups(self._plain(*kind))]
        return self._parts[kind]

    def _events(self, program: PatternProgram) -> KernelEvents:
        """All events, with what the conditions of a program compute with."""
        columns = self.rows.columns.arrays
        return replace(
            self._plain(program.lasting, program.counted),
            columns=self._computed(program),
            calls=calls_of(program, self.functions, lambda name: python_values(columns[name])),
            values=lambda name, numbers: python_values(columns[name].take(pa.array(numbers))),
        )

    def _computed(self, program: PatternProgram) -> Mapping[str, NullableArray]:
        names = condition_columns(program)
        key = (names, program.codings)
        if key not in self._columns:
            arrays = {name: self.rows.columns.arrays[name] for name in names}
            self._columns[key] = coded(arrays, program.codings)
        return self._columns[key]

    def _plain(self, lasting: bool, counted: bool) -> KernelEvents:
        """All events without what only some programs need."""
        columns = self.rows.columns
        start, end = columns.start, columns.end if lasting else columns.start
        segment = self._segment
        first, beyond = segments.places(segment, start, end) if counted else (None, None)
        moments = moments_among(self.rules.events, columns, segment, end)
        events = KernelEvents(start, end, segment, self.judged, {}, self._owned, first, beyond)
        return events if moments is None else replace(events, moments=moments)

    @cached_property
    def _segment(self) -> Ints:
        return segments.numbers(self.rows.heads, len(self.rows.columns.start))

    @cached_property
    def _owned(self) -> tuple[Ints, Ints]:
        return owned_times(self.rules.events, self.rows)


@dataclass(frozen=True, eq=False)
class SharedPart:
    """A part of the events, from number `begin` on, on one line of time, and what was looked up in it, for
    matches that start at a time or later."""

    begin: int
    events: KernelEvents
    timeline: EventAxes
    found: dict[int | None, dict[object, Players]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class MatchCounts:
    """How many matches each rule has; more than `most` are a failure."""

    events: RuleEvents
    found: Ints
    most: int | None

    def add(self, number: int, piece: Piece) -> None:
        """Count the matches of a rule."""
        before, most = int(self.found[number]), self.most
        self.found[number] += count_of(piece)
        if most is not None and self.found[number] > most:
            rules, rows = self.events.rules, self.events.rows
            event = event_of(piece, most - before)
            segment = int(np.searchsorted(rows.heads, event, side="right")) - 1
            failure = too_many_matches(int(self.found[number]), most)
            raise failure.about(
                key=rows.key_text(rules.events, segment),
                start=int(rows.columns.start[event]),
                part=f"rule {rules.rules[number].name}",
            )

    def add_all(self, matches: RuleMatches) -> None:
        """Count the matches of many rules."""
        counts = np.bincount(matches.rules, minlength=len(self.found))
        if self.most is not None and (self.found + counts > self.most).any():
            number = int(np.argmax(self.found + counts > self.most))
            rows = np.flatnonzero(matches.rules == number)
            self.add(number, taken_matches(matches.piece, rows))
        self.found[:] += counts


def _slice(column: NullableArray, part: SharedPart) -> NullableArray:
    rows = slice(part.begin, part.begin + len(part.events.start))
    return NullableArray(column.values[rows], None if column.valid is None else column.valid[rows])

"""A set of rules over streams without end: events are kept once for all rules, and each rule emits its
matches as soon as they are sure.

What a call does with the events that it knows, old and new, is what `kernel.py` does with a batch: they are
put in order and judged once, and steps that rules have in common are taken once. Then each rule leaves of its
matches those that are sure now and were not before, by its own timing, as if it were alone
(`pattern_stream.py`). A rule whose matches are `compared` is also searched among the old events, by its own
steps.

An event is kept as long as one of the rules that it can play a role for may need it. So a rule may find
events that it would have forgotten, had it been alone. It looks only for matches that start as late as those
among the events that it would have kept: all that it may emit are among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import FIRST_TIME, Bools, earlier
from neelc.runtime.kernels.frontier import EventLists
from neelc.runtime.kernels.gathering import count_of
from neelc.runtime.kernels.matching import Piece, taken_matches
from neelc.runtime.kernels.pattern_kernel import functions_called
from neelc.runtime.kernels.pattern_stream import (
    EventStream,
    KnownEvents,
    are_needed,
    are_touched,
    newly_sure,
    time_kept,
)
from neelc.runtime.kernels.rules.judging import role_lookup
from neelc.runtime.kernels.rules.kernel import (
    MatchCounts,
    RuleEvents,
    RuleMatches,
    WaitingMatches,
    columns_read,
    rule_batches,
    rules_schema,
)
from neelc.runtime.kernels.rules.program import BITS, PART, RuleSet, StreamedRules, streamed_rule
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import PatternProgram, StreamedPattern
from neelc.runtime.streaming import WatermarkMove
from neelc.runtime.user_functions import Function
from neelc.runtime.worker import MOST_MATCHES


@dataclass(frozen=True)
class RuleStream(EventStream):
    """The matches of all rules of a set, as a kernel for streams. No rule may find more than `most_matches`
    in one call."""

    streamed: StreamedRules
    most_matches: int = MOST_MATCHES
    functions: Mapping[str, Function] = field(default_factory=dict)

    @property
    def rules(self) -> RuleSet:
        return self.streamed.rules

    @property
    def program(self) -> PatternProgram:
        return self.rules.events

    @property
    def used(self) -> tuple[str, ...]:
        return columns_read(self.rules)

    @cached_property
    def alone(self) -> tuple[StreamedPattern, ...]:
        """Each rule as if it were alone."""
        return tuple(streamed_rule(self.streamed, number) for number in range(len(self.rules.rules)))

    # What is emitted.

    def results(self, known: KnownEvents, move: WatermarkMove) -> Iterator[pa.RecordBatch]:
        touched = np.zeros(len(known.key), dtype=np.bool_)
        for one in self._by_touch:
            touched |= are_touched(one, known, move)
        active = known.of_keys(touched)
        if not len(active.columns.start):
            return
        schema = rules_schema(self.rules, active.columns.schema)
        for matches in self._matches(active, move):
            yield from rule_batches(schema, self.rules, active.columns, matches)

    def _matches(self, known: KnownEvents, move: WatermarkMove) -> Iterator[RuleMatches]:
        """The matches that are sure now, and were not before."""
        lows = [self._low(one, move.before) for one in self.alone]
        events = RuleEvents(self.rules, known.to_search(), self.functions, lows)
        counts = MatchCounts(events, np.zeros(len(self.alone), dtype=np.int64), self.most_matches)
        for single in events.single_matches() if known.is_new.any() else ():
            (column,) = single.piece.values()
            assert not isinstance(column, EventLists), "a match is one event"
            new = np.flatnonzero(known.is_new[column])
            matches = RuleMatches(single.program, single.rules[new], taken_matches(single.piece, new))
            counts.add_all(matches)
            yield matches
        waiting = WaitingMatches(self.rules)
        for number, piece in self._newly_sure(events, known, move, counts):
            yield from waiting.add(number, piece) if count_of(piece) else ()
        yield from waiting.rest()

    def _newly_sure(
        self, events: RuleEvents, known: KnownEvents, move: WatermarkMove, counts: MatchCounts
    ) -> Iterator[tuple[int, Piece]]:
        """The same, of each rule whose matches are no single events."""
        before = RuleEvents(self.rules, known.old.to_search(), self.functions, events.lows)
        compared: dict[int, list[Piece]] = {}
        for number, piece in events.pieces(self._to_search(known)):
            counts.add(number, piece)
            if self.alone[number].emission.compared:
                compared.setdefault(number, []).append(piece)
            else:
                for new in newly_sure(self.alone[number], known, move, [piece], tuple):
                    yield number, new
        for number, pieces in compared.items():
            one = self.alone[number]
            for new in newly_sure(one, known, move, pieces, partial(before.matches, number)):
                yield number, new

    def _to_search(self, known: KnownEvents) -> frozenset[int]:
        """The rules that may have a match to emit: without new events, those whose matches wait."""
        has_new = known.is_new.any()
        return frozenset(n for n, one in enumerate(self.alone) if has_new or not one.emission.is_immediate)

    @staticmethod
    def _low(one: StreamedPattern, before: int) -> int:
        """When the first match starts that a rule may emit: what it would have forgotten is in none."""
        keep = 0 if one.single else time_kept(one)
        return FIRST_TIME if keep is None else earlier(before, keep) + (before > FIRST_TIME + keep)

    @cached_property
    def _by_touch(self) -> tuple[StreamedPattern, ...]:
        """One of the rules that wait in the same way, each."""
        found = {
            (bool(one.emission.end or one.emission.scopes), one.emission.may_wait, one.window): one
            for one in self.alone
        }
        return tuple(found.values())

    # What is kept.

    def needed(self, known: KnownEvents, now: int) -> Bools:
        words = role_lookup(self.rules, known.columns).words
        by_role, whatever = (np.zeros(len(known.key), dtype=np.bool_) for _ in range(2))
        for one, part, masks in self._by_keep:
            if masks is None:
                whatever |= _of_part(known, part) & are_needed(one, known, now)
                continue
            plays = np.zeros(len(known.key), dtype=np.bool_)
            for word, mask in enumerate(masks):
                plays |= words[word] & np.int64(mask) != 0
            by_role |= plays & are_needed(one, known, now)
        return whatever | (by_role & self._may_play(known))

    def _may_play(self, known: KnownEvents) -> Bools:
        """Events that pass the tests of a role; the old ones did when they came."""
        if not any(role.tests for role in self.rules.roles):
            return np.ones(len(known.key), dtype=np.bool_)
        plays = ~known.is_new
        places = np.flatnonzero(known.is_new)
        judged = role_lookup(self.rules, known.rows(known.is_new).columns)
        for number in range(len(self.rules.roles)):
            plays[places[judged.numbers(number)]] = True
        return plays

    @cached_property
    def _by_keep(self) -> list[tuple[StreamedPattern, int, list[int] | None]]:
        """Of the rules that keep events for as long, one, its part, and the bits of the events that these
        rules read, word by word; None: all events of the part."""
        found: dict[object, tuple[StreamedPattern, int, list[int] | None]] = {}
        rules = zip(self.rules.rules, self.alone, self.streamed.timings, strict=True)
        for rule, one, timing in rules:
            most = None if one.events is None else one.events * one.windows_kept
            how = (one.single, time_kept(one), most)
            if one.program.everything:
                found.setdefault((how, timing.part), (one, timing.part, None))
                continue
            *_, masks = found.setdefault((how, None), (one, timing.part, [0] * self.rules.words))
            assert masks is not None, "rules that read events by their roles have a key of their own"
            for role in rule.roles:
                word, place = divmod(self.rules.roles[role].bit, BITS)
                masks[word] |= 1 << place
        return list(found.values())

    def wake(self, left: KnownEvents, now: int) -> int | None:
        """With something pending, whenever the watermark moves; else when nothing is needed any more."""
        if not all(one.emission.is_immediate for one in self.alone):
            return now + 1
        keeps = [keep for one, *_ in self._by_keep if (keep := time_kept(one)) is not None]
        return int(left.columns.start.max()) + max(keeps, default=0)


def _of_part(known: KnownEvents, part: int) -> Bools:
    """The events of a part."""
    if PART not in known.columns.arrays:
        return np.ones(len(known.key), dtype=np.bool_)
    parts = known.columns.arrays[PART].to_numpy(zero_copy_only=False)
    return np.asarray(parts == part, dtype=np.bool_)


def rules_stream(
    streamed: StreamedRules,
    most_matches: int = MOST_MATCHES,
    aggregates: Mapping[str, Function] | None = None,
) -> RuleStream:
    """The kernel of a set. `aggregates` are the functions of users that conditions call."""
    return RuleStream(streamed, most_matches, functions_called(streamed.rules.programs, aggregates))

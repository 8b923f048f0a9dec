"""MATCH_RECOGNIZE_SEQUENTIAL: the kernel against the enumeration of universes, its limits, what it keeps."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from in_sequential import bound, by_definition, by_kernel, clause
from sequential_fuzz import pair

from neelc.algebra.bind.sequential import without_open_ends
from neelc.algebra.plan.sequential import automaton_of, sequential_plan, streamed_sequential
from neelc.ir.row_patterns import RowAlternation, RowPattern, RowRepeat, RowSequence, RowVariable
from neelc.pattern.plan.blocks import UnboundedState, UnsupportedQuery
from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.failures import KernelFailure, parse_failure
from neelc.runtime.kernels.sequential import kernel, matching
from neelc.runtime.kernels.sequential.matching import (
    BackwardMatcher,
    GapMatcher,
    GapStep,
    Ints,
    Matcher,
    PartialSequences,
    without_certain_conditions,
)
from neelc.runtime.kernels.sequential.program import SequentialProgram, columns_of_events
from neelc.runtime.kernels.sequential.stream import SequentialStream
from neelc.runtime.reference import sequential as reference
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.streaming import StreamMemory, WatermarkMove
from neelc.runtime.worker import NeededRows


def program(text: str) -> SequentialProgram:
    return sequential_plan(bound(text), "MILLISECOND").program


def batch(bits: list[int], time: list[int] | None = None, **columns: list[object]) -> pa.RecordBatch:
    arrays = {name: pa.array(values) for name, values in columns.items()}
    times = pa.array(time or range(len(bits)), type=pa.int64())
    return pa.RecordBatch.from_pydict({**arrays, "time": times, "bits": pa.array(bits, type=pa.int64())})


@pytest.mark.parametrize("part", range(4))
def test_random_pairs(part: int) -> None:
    assert sum(pair(seed) for seed in range(part * 60, part * 60 + 60)) > 50


def test_ends_are_read_as_short_as_they_can_be() -> None:
    """A match of the pattern with open ends, cut at both ends as far as it still is one, is a match of the
    pattern without them; and the other way round every match of that is one of the pattern."""
    a, b, c = (RowVariable(name) for name in "ABC")
    star, plus = RowRepeat(a, 0, None), RowRepeat(b, 1, None)
    for pattern, text in (
        (RowSequence((star, plus, c)), "A*B+C"),
        (RowSequence((RowAlternation((star, b)), c, plus)), "(A*|B)CB+"),
        (RowSequence((RowRepeat(RowSequence((star, c)), 2, 3), b)), "(A*C){2,3}B"),
    ):
        short = re.compile(str(without_open_ends(pattern)).replace(" ", ""))
        for word in ("BC", "C", "ABC", "AC", "CB", "BCB", "CACB", "ACACB", "CCB", "CCCB"):
            if short.fullmatch(word):
                assert re.fullmatch(text, word), (text, word)
            if re.fullmatch(text, word):
                assert any(
                    short.fullmatch(word[i:j]) for i in range(len(word)) for j in range(i + 1, len(word) + 1)
                )


def test_many_starts_and_one_end_take_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stretch of a closure without a choice is crossed in one step, however long it is."""
    steps = []
    original = BackwardMatcher._step

    def step(
        self: BackwardMatcher, ways: PartialSequences
    ) -> tuple[list[PartialSequences], list[PartialSequences]]:
        steps.append(len(ways))
        return original(self, ways)

    monkeypatch.setattr(BackwardMatcher, "_step", step)
    found = list(
        kernel.sequential(program("PATTERN a b* c DEFINE a AS x = 1, b AS x = 2, c AS x = 3"))(
            iter([batch([1] + [2] * 50_000 + [4])])
        )
    )
    assert sum(one.num_rows for one in found) == 1
    assert len(steps) < 10


def test_what_no_match_can_have_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """One key with very many events: only those of one window wait."""
    kept: list[int] = []
    original = kernel.SequentialSearch.needed

    def needed(self: kernel.SequentialSearch) -> NeededRows[kernel.SearchedEvents]:
        found = original(self)
        kept.append(sum(part.num_rows for part in found.parts))
        return found

    monkeypatch.setattr(kernel.SequentialSearch, "needed", needed)
    run = kernel.sequential(program("WITHIN 10 PATTERN a b* c"), rows_at_once=100)
    batches = [batch([7] * 50, list(range(first, first + 50))) for first in range(0, 2_000, 50)]
    assert sum(one.num_rows for one in run(iter(batches))) == 10 * 1_990 + 45
    assert max(kept) <= 12


def test_batches_do_not_matter() -> None:
    query = bound(
        "MEASURES a.x AS a, c.x AS c PARTITION BY k PATTERN a b{2} c DEFINE a AS x = 1, c AS x > a.x"
    )
    rows: list[dict[str, object]] = [
        {"k": n % 2, "ts": n // 4, "x": n % 3, "y": 0.0, "s": ""} for n in range(40)
    ]
    expected = by_definition(query, rows)
    assert expected
    for rows_at_once, size in ((1, 1), (1, 7), (3, 2), (1000, 5), (1000, 1000)):
        assert by_kernel(query, rows, rows_at_once, size) == expected


def test_no_events() -> None:
    assert list(kernel.sequential(program("PATTERN a"))(iter([]))) == []
    assert list(kernel.sequential(program("PATTERN a"))(iter([batch([])]))) == []


def test_too_many_matches_fail_with_their_limit() -> None:
    run = kernel.sequential(program("PARTITION BY k PATTERN a b* c"), most_matches=1_000)
    with pytest.raises(KernelFailure) as failure:
        list(run(iter([batch([7] * 100, k=["é"] * 100)])))
    facts = parse_failure(str(failure.value))
    assert facts is not None
    assert (facts["kind"], facts["limit"], facts["key"]) == ("MAX_MATCHES", 1_000, {"k": "é"})


def test_more_matches_than_a_number_can_count_fail() -> None:
    run = kernel.sequential(program("PATTERN a b{70} c"))
    times: Ints = np.repeat(np.arange(72), 2)
    with pytest.raises(KernelFailure, match="COUNT_OVERFLOW"):
        list(run(iter([batch([7] * 144, times.tolist())])))


def test_times_far_apart() -> None:
    least, most = -(2**63), 2**63 - 1
    run = kernel.sequential(program("WITHIN 5 PATTERN ab"))
    assert list(run(iter([batch([3, 3], [least, most])]))) == []


def test_universes_without_end_are_refused_by_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "MAX_SEQUENCES", 100)
    rows: list[dict[str, object]] = [{"k": 1, "ts": n // 3, "x": 1, "y": 0.0, "s": ""} for n in range(30)]
    with pytest.raises(LimitReached, match="MAX_SEQUENCES"):
        by_definition(bound("PATTERN a b* c"), rows)


def test_too_large_automata_are_refused() -> None:
    a, b = RowVariable("A"), RowVariable("B")
    either: RowPattern = RowAlternation((a, b))
    pattern = RowSequence((a, RowRepeat(either, 0, None), a, RowRepeat(either, 14, 14)))
    with pytest.raises(UnsupportedQuery, match="states"):
        automaton_of(pattern)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PATTERN PERMUTE(a, b)", "MATCH_RECOGNIZE_SEQUENTIAL has no `PERMUTE(a, b)`"),
        ("PATTERN a ^", "MATCH_RECOGNIZE_SEQUENTIAL has no `^`"),
        ("PATTERN a b*? c", "no repetition is reluctant"),
        ("MEASURES PREV(a.x) AS v PATTERN a b", "`PREV` moves over the rows of a match"),
        ("PATTERN a b DEFINE b AS x > PREV(a.x)", "PREV goes back from the event that is being checked"),
        ("PATTERN a b DEFINE b AS x > PREV(101).x", "PREV goes back 100 events at most"),
        ("PATTERN !a b USING EVENTUALLY FOLLOWED BY", "`!a` must be between two symbols"),
        ("PATTERN a !b? c USING FOLLOWED BY WITHIN 1", "`!b` reads no event where symbols follow eventually"),
        ("MEASURES sum(a.x) AS total PATTERN a+ b", "`sum` moves over the rows of a match"),
        ("MEASURES a.x AS v, b.x AS v PATTERN a b", "two measures are called `v`"),
        ("PARTITION BY x + 1 PATTERN a b", "PARTITION BY takes columns"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    query, problems = clause(text)
    assert query is None
    assert message in problems


# Gaps, and events before.


def events_at(*times: int, kinds: str) -> list[dict[str, object]]:
    return [
        {"k": 1, "ts": at, "x": n, "y": 0.0, "s": kind}
        for n, (at, kind) in enumerate(zip(times, kinds, strict=True))
    ]


def test_a_gap_takes_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many events stand between two symbols."""
    steps = []
    original = GapMatcher._moved_on

    def moved_on(self: GapMatcher, step: GapStep) -> PartialSequences:
        steps.append(step.size)
        return original(self, step)

    monkeypatch.setattr(GapMatcher, "_moved_on", moved_on)
    text = "PATTERN a !b c USING EVENTUALLY FOLLOWED BY DEFINE a AS x = 1, b AS x = 2, c AS x = 3"
    found = list(kernel.sequential(program(text))(iter([batch([1, *[4] * 50_000, 6])])))
    assert sum(one.num_rows for one in found) == 1
    assert steps == [1]


def test_events_that_no_match_can_start_with_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    original = kernel.SequentialSearch.needed

    def needed(self: kernel.SequentialSearch) -> NeededRows[kernel.SearchedEvents]:
        found = original(self)
        kept.append(sum(part.num_rows for part in found.parts))
        return found

    monkeypatch.setattr(kernel.SequentialSearch, "needed", needed)
    run = kernel.sequential(program("PATTERN a b USING EVENTUALLY FOLLOWED BY"), rows_at_once=100)
    list(run(iter([batch([2] * 50, list(range(first, first + 50))) for first in range(0, 1_000, 50)])))
    assert max(kept) <= 1


def test_many_choices_of_a_closure_are_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 events of B, every choice but none: what nothing tells apart is counted, not enumerated."""
    monkeypatch.setattr(matching, "FEW", 0)
    run = kernel.sequential(program("PATTERN a b+ c USING EVENTUALLY FOLLOWED BY"), most_matches=1_000)
    with pytest.raises(KernelFailure, match="MAX_MATCHES"):
        list(run(iter([batch([1, *[2] * 40, 4])])))


def test_prev_without_simultaneous_events_is_judged_once() -> None:
    text = "PATTERN a b c DEFINE b AS x > PREV(1).x, c AS x > PREV(1).x AND x > a.x"
    found = sequential_plan(bound(text), "MILLISECOND")
    columns = {one.name: pa.array([1, 2, 3], pa.int32()) for one in found.columns}
    arrays = {**columns, "time": pa.array([1, 2, 3]), "bits": pa.array([7, 7, 7])}
    matcher = Matcher(found.program, arrays, np.zeros(1, dtype=np.int64))
    changed, line = without_certain_conditions(found.program, matcher.line(), matcher._events())
    assert [one.reading for one in changed.conditions] == [2]
    assert [one.tolist() for one in (line.emitters[0].rows, line.emitters[1].rows)] == [[0, 1, 2], [1, 2]]


@pytest.mark.parametrize("together", [1, 3, 200_000])
def test_gaps_in_pieces(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_TOGETHER", together)
    monkeypatch.setattr(matching, "FEW", 0)
    text = (
        "MEASURES a.ts AS f, c.ts AS l PATTERN a b+ !d c USING FOLLOWED BY WITHIN 4 "
        "DEFINE a AS s = 'a', b AS s = 'b', c AS s = 'c', d AS s = 'd' AND x > a.x + 2"
    )
    rows = events_at(*range(12), kinds="aabbdcabdbcc")
    expected = by_definition(bound(text), rows)
    assert expected
    assert by_kernel(bound(text), rows, 1000, 1000) == expected


# Over streams without end.


def over_stream(text: str, *watermarks: int, rows: list[tuple[int, str]]) -> list[tuple[int, int]]:
    """How many matches come out, and how many events are kept, at each watermark. All events come at first;
    those of one letter emit the symbol of this name."""
    matcher = streamed_sequential(sequential_plan(bound(text), "MILLISECOND"))
    symbols = {name: number for number, name in enumerate(matcher.names)}
    times, bits = [at for at, _ in rows], [1 << symbols[kind] if kind in symbols else 0 for _, kind in rows]
    names = [one for one in columns_of_events(matcher) if one != "bits"]
    columns = {name: pa.array([7] * len(rows), pa.int32()) for name in names}
    events = pa.RecordBatch.from_pydict({"start": times, "bits": bits, **columns})
    stream, memory, before, found = SequentialStream(matcher), StreamMemory(), FIRST_TIME, []
    for now in watermarks:
        step = stream.advance(memory, [events] if before == FIRST_TIME else [], WatermarkMove(before, now))
        found.append((sum(one.num_rows for one in step.results), step.memory.rows))
        memory, before = step.memory, now
    return found


def test_a_match_leaves_when_its_last_instant_is_complete() -> None:
    events = [(1, "A"), (3, "B"), (3, "B"), (4, "x"), (5, "A"), (7, "B")]
    text = "MEASURES A.x AS a PATTERN A B"
    assert over_stream(text, 0, 2, 3, 4, 6, 7, rows=events) == [
        (0, 6), (0, 6), (2, 3), (0, 2), (0, 2), (1, 0),
    ]  # fmt: skip


def test_events_are_forgotten_with_their_window() -> None:
    """The A is part of a match under way, for ever; with WITHIN, as long as that reaches."""
    text, events = "MEASURES A.x AS a PATTERN A B* C WITHIN 5", [(1, "A"), (2, "B"), (3, "B")]
    assert over_stream(text, 0, 3, 5, 6, 7, 8, rows=events) == [
        (0, 3), (0, 3), (0, 3), (0, 2), (0, 1), (0, 0),
    ]  # fmt: skip
    assert over_stream(text.replace("5", "2 EVENTS"), 0, 3, rows=events) == [(0, 3), (0, 1)]


def test_prev_keeps_the_last_events_of_a_partition() -> None:
    """However old they are; and no more of them than PREV can mean."""
    text = "MEASURES A.x AS a PATTERN A B WITHIN 2 DEFINE B AS x >= PREV(2).x"
    events = [(1, "A"), (2, "A"), (3, "x"), (4, "x"), (50, "x")]
    assert [kept for _, kept in over_stream(text, 0, 4, 40, 50, 99, rows=events)] == [5, 3, 3, 2, 2]


def test_prev_keeps_the_event_before_the_window() -> None:
    """The first event of a match to come may look at one that no window reaches."""
    assert pair(1_004_669)


def test_symbols_that_follow_eventually_need_a_window() -> None:
    text = "MEASURES A.x AS a PATTERN A B USING EVENTUALLY FOLLOWED BY"
    with pytest.raises(UnboundedState, match="symbols may follow each other at any time"):
        over_stream(text, rows=[])
    events = [(1, "A"), (2, "x"), (3, "B"), (4, "A"), (9, "x")]
    assert over_stream(f"{text} WITHIN 5", 0, 3, 8, 9, rows=events) == [(0, 5), (1, 5), (0, 2), (0, 1)]
    assert over_stream(text.replace("EVENTUALLY FOLLOWED BY", "FOLLOWED BY WITHIN 5"), rows=[]) == []


def test_a_pattern_without_bound_needs_a_window() -> None:
    text = "MEASURES A.x AS a PATTERN A B* C"
    with pytest.raises(UnboundedState, match="any number of events") as refusal:
        over_stream(text, rows=[])
    assert "WITHIN 1 HOUR" in (refusal.value.hint or "")
    assert over_stream(text.replace("B*", "B{0,3}"), rows=[]) == []

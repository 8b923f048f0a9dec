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
from neelc.runtime.kernels.sequential import kernel
from neelc.runtime.kernels.sequential.matching import BackwardMatcher, Ints, PartialSequences
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
        automaton_of(pattern, ("A", "B"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PATTERN PERMUTE(a, b)", "MATCH_RECOGNIZE_SEQUENTIAL has no `PERMUTE(a, b)`"),
        ("PATTERN a ^", "MATCH_RECOGNIZE_SEQUENTIAL has no `^`"),
        ("PATTERN a b*? c", "no repetition is reluctant"),
        ("PATTERN a b DEFINE b AS x > PREV(x)", "`PREV` moves over the rows of a match"),
        ("MEASURES sum(a.x) AS total PATTERN a+ b", "`sum` moves over the rows of a match"),
        ("MEASURES a.x AS v, b.x AS v PATTERN a b", "two measures are called `v`"),
        ("PARTITION BY x + 1 PATTERN a b", "PARTITION BY takes columns"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    query, problems = clause(text)
    assert query is None
    assert message in problems


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


def test_a_pattern_without_bound_needs_a_window() -> None:
    text = "MEASURES A.x AS a PATTERN A B* C"
    with pytest.raises(UnboundedState, match="any number of events") as refusal:
        over_stream(text, rows=[])
    assert "WITHIN 1 HOUR" in (refusal.value.hint or "")
    assert over_stream(text.replace("B*", "B{0,3}"), rows=[]) == []

"""Queries over imprecise times: the kernel finds the matches and the confidences that the enumeration of
possible worlds finds, through the bridge, in small batches and chunks of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import comb
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from asked_cases import CASES, question
from fuzz_runner import RoundFindings, checked
from generate.imprecise_worlds import HEAD, KINDS, SHAPED
from imprecise_fuzz import check_kind, check_query, is_same, key
from in_bridge import Way, way
from in_imprecise import weighed
from pattern_examples import imprecise_query, query

from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.imprecise import imprecise_plan
from neelc.runtime.columns import names
from neelc.runtime.failures import KernelFailure
from neelc.runtime.kernels import running as repeating
from neelc.runtime.kernels.confidence import confidence as weighing
from neelc.runtime.kernels.confidence import kernel as imprecise
from neelc.runtime.kernels.confidence import replay, worlds
from neelc.runtime.kernels.confidence.ranges import PossibleTimes
from neelc.runtime.kernels.events import TRIANGULAR, TimeShapes
from neelc.runtime.kernels.pattern_kernel import SearchRows
from neelc.runtime.order import SectionProgress
from neelc.runtime.program import ImpreciseProgram, Weigh
from neelc.runtime.reference import matches
from neelc.runtime.reference.results import result, rows_of
from neelc.runtime.reference.worlds import WeighedMatch
from neelc.runtime.worker import NeededRows, WorkerState
from neelc.tools import cases
from neelc.tools.cases.run import compare

QUERIES, PARTS, WORLDS = 32, 2, 12
PLAIN = Way(1000, 100_000, None, None, 0)
PATHS = sorted(CASES.glob("confidence/*.case"))
REFUSED = """
    next-match strict-contiguity
""".split()


def compared(first: int, count: int) -> RoundFindings:
    return checked(partial(check_query, worlds=WORLDS), first, count)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_random_queries(part: int) -> None:
    findings = compared(part * QUERIES, QUERIES)
    seen = findings.seen
    assert not findings.broken
    assert seen["pairs"] >= 3 * QUERIES, seen
    assert seen["with matches"] >= 1.5 * QUERIES, seen
    assert seen["uncertain"] >= 0.6 * QUERIES, seen


@pytest.mark.parametrize("kind", (*KINDS, SHAPED))
def test_random_queries_without_one_order(kind: str) -> None:
    findings = checked(partial(check_kind, kind, worlds=8), 0, 12)
    seen = findings.seen
    assert not findings.broken
    assert seen["pairs"] >= 24 and seen["with matches"] >= 8 and seen["uncertain"] >= 4, seen


def test_a_wrong_bound_is_noticed() -> None:
    """Simultaneous events would be in order."""
    with patch.object(replay, "interval", lambda bounds, times: (np.full((), -(2**62)), np.full((), 2**62))):
        assert checked(partial(check_kind, "and", worlds=8), 0, 12).broken


def test_wrong_chunks_are_noticed() -> None:
    with patch.object(imprecise, "in_chunks", lambda low, high, *_: (low, high)):
        assert compared(0, 40).broken


@pytest.mark.long
def test_an_event_twice_is_noticed() -> None:
    anything = patch.object(weighing, "are_different", lambda found: found.counts[:, 0] == 0)
    with anything:
        assert compared(0, 40).broken


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    case_question = question(path)
    assert case_question is not None
    match = case_question.program.queries[-1].match
    if path.stem in REFUSED:
        with pytest.raises(UnsupportedQuery, match="over imprecise times"):
            weighed(match, case_question.tables, PLAIN)
        return
    for seed in range(4):
        found = [WeighedMatch(*one) for one in weighed(match, case_question.tables, way(seed))]  # type: ignore[arg-type]
        outcome = compare(cases.load(path).expected, result(match, rows_of(match, found)))
        assert outcome.passed, f"{way(seed)}\n{outcome.diff}"


def stream(text: str) -> list[dict[str, object]]:
    """`A1..4 B5`: events of one letter, with their times; `A..3` has no earliest time."""
    rows: list[dict[str, object]] = []
    for word in text.split():
        low, _, high = word[1:].partition("..")
        lo = int(low) if low else None
        hi = lo if ".." not in word else int(high) if high else None
        rows.append({"lo": lo, "hi": hi, "kind": word[0], "id": 1, "user": "u", "x": 1.0, "n": 1})
    return rows


def chances(text: str, events: str, how: Way = PLAIN) -> list[float]:
    return sorted(confidence for _, confidence in weighed(imprecise_query(text), {"S": stream(events)}, how))


def test_no_events() -> None:
    assert chances("SEQ(A a, B b) WITHIN 9", "") == chances("SEQ(A a, !N n, B b)", "A1..3") == []


def test_rows_without_a_time_are_no_events() -> None:
    assert chances("SEQ(A a, B b)", "A1..2 B3..2 B.. B..5 B5.. B4..5") == [1.0]
    assert chances("SEQ(A a, !N n, B b)", "A1 N3..2 N..2 N2.. B4") == [1.0]


def test_simultaneous_events_are_in_no_order() -> None:
    assert chances("SEQ(A a, B b)", "A5 B5") == []
    assert chances("SEQ(A a, B b)", "A5..5 B5..6") == [0.5]
    assert chances("SEQ(A a, A b)", "A5..6") == [], "an event is not before itself"


PRECISE = [
    "SEQ(A a, B+ b[], !N n, C c) WHERE b[i].n >= b[i-1].n WITHIN 8",
    "SEQ(!N n, A a, OR(B b, C c)) WITHIN 5",
    "SEQ(A a, B? b, C c, !N n) WHERE [id] WITHIN 7",
]


@pytest.mark.parametrize("text", PRECISE)
def test_what_is_precise_is_certain(text: str) -> None:
    times = [(time * 5 % 23, "ABCNBACB"[time % 8]) for time in range(14)]
    rows = [{**stream(f"{kind}{time}")[0], "n": time % 3} for time, kind in times]
    points = [{**row, "ts": row["lo"]} for row in rows]
    expected = {key(binding): 1.0 for binding in matches(query(text), {"S": points})}
    assert expected
    for seed in range(6):
        assert is_same(weighed(imprecise_query(text), {"S": rows}, way(seed)), expected)


class TestWithoutOneOrder:
    def test_others_are_independent_given_the_own_times(self) -> None:
        """Ten events that must not be in the window, of a hundred times each: no world is made."""
        spoilers = " ".join(["N0..99"] * 10)
        assert chances("AND(A a, !N n, B b) WITHIN 9", f"A5 B6 {spoilers}") == [pytest.approx(0.85**10)]

    def test_wide_ranges_by_all_orders(self) -> None:
        """Two of a million times are at most 9 apart in one of about 50,000 worlds."""
        wide, million = "0..999999", 10**6
        near = million + 2 * sum(million - apart for apart in range(1, 10))
        found = chances("AND(A a, B b) WITHIN 9", f"A{wide} B{wide}")
        assert found == [pytest.approx(near / million**2, rel=1e-9)]
        three = chances("AND(A a, SEQ(B b, C c))", f"A{wide} B{wide} C{wide}")
        assert three == [pytest.approx((million - 1) / (2 * million), rel=1e-9)]

    @pytest.mark.parametrize("text", ["AND(A a, B b, C c) WITHIN 4", "SEQ(A a, AND(B+ b[], C? c)) WITHIN 6"])
    def test_all_orders_are_all_worlds(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        events = "A0..3 B1..5 B2..4 C0..6 A1..4"
        by_times = chances(text, events)
        monkeypatch.setattr(worlds, "WIDE", 0)
        assert chances(text, events) == pytest.approx(by_times, rel=0, abs=1e-12)
        assert len(by_times) > 3

    def test_one_of_many_exists(self) -> None:
        some = " ".join(["B0..9"] * 30)
        assert chances("EXISTS b : AND(A a, B b) WITHIN 0", f"A5 {some}") == [pytest.approx(1 - 0.9**30)]

    def test_windows_of_events_count_without_worlds(self) -> None:
        """Of twenty events, each inside with one half, at most two are."""
        others = " ".join(["X1..4"] * 20)
        expected = sum(comb(20, inside) for inside in range(3)) / 2**20
        assert chances("SEQ(A a, B b) WITHIN 4 EVENTS", f"A1 B2 {others}") == [pytest.approx(expected)]

    def test_combinations_have_a_limit(self) -> None:
        wide = "0..999"
        with pytest.raises(KernelFailure, match=r"1e.09 combinations of times: the limit MAX_INSTANTS"):
            chances("AND(A a, B b, C c, !N n) WITHIN 9", f"A{wide} B{wide} C{wide} N0")
        some = " ".join(["B0..9"] * 7)
        with pytest.raises(KernelFailure, match=r"9 events .* 1e.07 possible worlds: the limit MAX_WORLDS"):
            chances("SEQ(A a, B+ b[], C c) RETURN COLLAPSED a.x, b[].x", f"A-1 C5 {some}")

    def test_certain_elements_of_collapsed_lists(self) -> None:
        text = "SEQ(A a, B+ b[], C c) RETURN COLLAPSED a.x, b[].x"
        assert chances(text, "A0 B1..2 B1..2 B3..4 C4") == [0.5, 0.5]


class TestDistributions:
    @pytest.mark.parametrize("count", range(1, 8))
    def test_triangular_times(self, count: int) -> None:
        weights = [min(place + 1, count - place) for place in range(count)]
        shapes = TimeShapes(np.array([TRIANGULAR], np.int8), np.zeros(1, np.int64), np.zeros(0))
        times = PossibleTimes(np.array([0]), np.array([count - 1]), shapes)
        event, at = np.zeros(count, np.int64), np.arange(count)
        until = np.cumsum(weights) / sum(weights)
        assert times.mass(event, at) == pytest.approx(np.array(weights) / sum(weights))
        assert times.until(event, at) == pytest.approx(until)
        assert times.after(event, at) == pytest.approx(1 - until)

    def test_uniform_is_what_it_was(self) -> None:
        """The word changes nothing: dynamic programming weighs the query."""
        head = HEAD.format("DISTRIBUTION UNIFORM")
        program = imprecise_plan(query("SEQ(A a, B b)", head), (), "MILLISECOND").program
        assert isinstance(program.steps[-1], Weigh)

    @pytest.mark.long
    def test_wide_triangles(self) -> None:
        """A million times: the middle is after half of them."""
        head = HEAD.format("DISTRIBUTION TRIANGULAR")
        rows = [{**row, "w": None, "shape": None} for row in stream("A0..999999 B500000")]
        ((_, confidence),) = weighed(query("SEQ(A a, B b)", head), {"S": rows}, PLAIN)
        assert confidence == pytest.approx(0.5)


class TestWideRanges:
    MILLION = 10**6

    def test_order(self) -> None:
        wide = f"0..{self.MILLION - 1}"
        assert chances("SEQ(A a, B b)", f"A{wide} B{wide}") == [pytest.approx(0.4999995, abs=1e-12)]

    @pytest.mark.parametrize("seed", range(5))
    def test_window(self, seed: int) -> None:
        wide, window = f"0..{self.MILLION - 1}", 40
        ways = sum((self.MILLION - far) * comb(far - 1, 1) for far in range(1, window + 1))
        found = chances(f"SEQ(A a, B b, C c) WITHIN {window}", f"A{wide} B{wide} C{wide}", way(seed))
        assert found == [pytest.approx(ways / self.MILLION**3, rel=1e-9)]

    @pytest.mark.parametrize("seed", range(8))
    def test_a_negation_far_from_the_latest_times(self, seed: int) -> None:
        # N is before A only if A is at 5 or 6: a hundred chunks before the latest time of A.
        assert chances("SEQ(!N n, A a) WITHIN 2", "A5..1004 N4 B7", way(seed)) == [pytest.approx(0.998)]
        assert chances("SEQ(A a, !N n) WITHIN 2", "A5..1004 N1004", way(seed)) == [pytest.approx(0.998)]

    def test_times_may_be_far_apart(self) -> None:
        assert chances("SEQ(A a, B b)", f"A{-(2**59)} B{2**59}..{2**60}") == [1.0]
        with pytest.raises(KernelFailure, match="units of time apart"):
            chances("SEQ(A a, B b)", f"A{-(2**62)} B{2**62}")


def test_the_threshold_prunes_lists() -> None:
    """Of twelve events that can be in any order, few make a list that is likely."""
    events = " ".join(["B0..9"] * 12)
    with patch.object(repeating, "MOST_LISTS", 1000):
        found = chances("B+ b[] WITHIN 99 WITH CONFIDENCE >= 0.4", events)
        assert len(found) == 12 + 12 * 11 and min(found) == pytest.approx(0.45)
        with pytest.raises(KernelFailure, match="lists were tried"):
            chances("B+ b[] WITHIN 99", events)


def kept_rows(text: str, events: str, rows_at_once: int) -> list[int]:
    """How many rows wait after each cut."""
    seen = []
    cut = imprecise._cut

    def counting(
        program: ImpreciseProgram, state: WorkerState[SectionProgress], is_last: bool
    ) -> tuple[SearchRows | None, NeededRows[SectionProgress]]:
        rows, kept = cut(program, state, is_last)
        if not is_last:
            seen.append(sum(part.num_rows for part in kept.parts))
        return rows, kept

    with patch.object(imprecise, "_cut", counting):
        chances(text, events, Way(7, rows_at_once, None, None, 0))
    return seen


def test_rows_leave_when_no_match_needs_them() -> None:
    events = " ".join(f"{'ABN'[time % 3]}{time}..{time + 2}" for time in range(300))
    text = "SEQ(!N n, A a, !N m, B b) WITHIN 5"
    kept = kept_rows(text, events, 20)
    assert len(kept) > 5 and max(kept) < 25
    assert chances(text, events, Way(7, 20, None, None, 0)) == pytest.approx(chances(text, events))
    wide = kept_rows(text, f"A0..400 {events}", 20)
    assert max(wide) > 100, "an event that may be at any time needs all that may spoil its matches"


REFUSALS: Mapping[str, str] = {
    "SEQ(A a, B b) USING SKIP TILL NEXT MATCH": "SKIP TILL NEXT MATCH over",
    "SEQ(A a, B b) USING STRICT CONTIGUITY": "STRICT CONTIGUITY over",
    "SEQ(A a, B b) PARTITION BY id USING PARTITION CONTIGUITY": "PARTITION CONTIGUITY over",
    "SEQ(A a, SEQ(B b, !N n, C c)+ k[])": "a negation or EXISTS inside of a closure, over",
    "SEQ(A a, SEQ(B b, C? c)+ k[])": "a closure of a part with a choice, over",
    "SEQ(A a, B b) WHERE b.ts - a.ts > 3": "the condition `.*` on times over",
}


@pytest.mark.parametrize("text", REFUSALS)
def test_refused(text: str) -> None:
    with pytest.raises(UnsupportedQuery, match=REFUSALS[text] + " imprecise times"):
        imprecise_plan(imprecise_query(text), (), "MILLISECOND")


def test_other_streams_are_refused() -> None:
    both = """CREATE STREAM S (lo BIGINT, hi BIGINT) TIMESTAMP BETWEEN lo AND hi UNIT SECONDS;
    CREATE STREAM T (ts BIGINT, te BIGINT) TIMESTAMP BY ts UNIT {} {};
    """
    head = both.format("MILLISECONDS", "")
    with pytest.raises(UnsupportedQuery, match=r"times of another unit \(milliseconds beside those of S\)"):
        imprecise_plan(query("SEQ(S a, T b)", head), (), "MILLISECOND")
    head = both.format("SECONDS", "END BY te")
    with pytest.raises(UnsupportedQuery, match=r"events that last \(T\)"):
        imprecise_plan(query("SEQ(S a, T b)", head), (), "SECOND")


def test_precise_times_of_a_coarser_unit() -> None:
    head = """CREATE STREAM S (lo BIGINT, hi BIGINT) TIMESTAMP BETWEEN lo AND hi UNIT MILLISECONDS;
    CREATE STREAM T (ts BIGINT) TIMESTAMP BY ts UNIT SECONDS;
    """
    tables: dict[str, Sequence[Mapping[str, object]]] = {"S": [{"lo": 0, "hi": 1999}], "T": [{"ts": 1}]}
    found = weighed(query("SEQ(S a, T b) WITHIN 1 SECOND", head), tables, PLAIN)
    assert [confidence for _, confidence in found] == [pytest.approx(0.5)]


def test_more_matches_than_allowed() -> None:
    match = imprecise_query("SEQ(A a, B b)")
    program = imprecise_plan(match, (), "MILLISECOND").program
    assert isinstance(program, ImpreciseProgram)
    rows = {"start": [1, 1, 3, 3], "end": [2, 2, 3, 3], "roles": [1, 1, 2, 2]}
    columns = {name: [0] * 4 for name in names(program) if name not in rows}
    batch = pa.RecordBatch.from_pydict({**rows, **columns})
    assert sum(one.num_rows for one in imprecise.imprecise(program)(iter([batch]))) == 4
    with pytest.raises(KernelFailure, match="more than 3 matches in one task"):
        list(imprecise.imprecise(program, most_matches=3)(iter([batch])))

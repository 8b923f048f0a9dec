"""Case files as streams, in process: however their events come, the rows are those of the case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest
from repository import ROOT

from neelc.engines.reference import executable
from neelc.ir.algebra import Algebra, TemporalMatcher
from neelc.ir.bound_rows import HostQuery, Recognize, SimpleQuery
from neelc.ir.expressions import Literal
from neelc.ir.node import Node, map_children
from neelc.ir.patterns import Window
from neelc.ir.program import Match, NamedQuery
from neelc.ir.types import INT
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.runtime.reference import run
from neelc.runtime.values.times import in_zone
from neelc.tools import cases
from neelc.tools.cases.run import PreparedCase, as_expected, compare, prepared
from neelc.tools.cases.streaming import RequiresSpark, arrival, stream_results
from neelc.tools.cases.streaming.arrival import MICRO_BATCHINGS, MicroBatching

PATHS = [path for path in sorted((ROOT / "tests" / "cases").rglob("*.case")) if path.parent.name != "errors"]

REFUSED = {"NEEL4001", "NEEL4131", "NEEL4132", "NEEL4134", "NEEL4135", "NEEL4136", "NEEL4138"}
"""What cases are refused with over streams: kinds of queries that are not supported (NEEL4001, NEEL4136,
NEEL4138), state without a bound (NEEL4131, NEEL4132), rows in another order than time (NEEL4134), and the end
of a stream (NEEL4135)."""

NEGATION = """\
events trades
t   sym
1   A
2   B
40  A
50  B
55  C

query
CREATE STREAM trades (t BIGINT, sym STRING) TIMESTAMP BY t UNIT SECONDS TYPE BY sym WATERMARK 20 SECONDS;
PATTERN SEQ(A a, B b, !C c) WITHIN 30 SECONDS RETURN a.t AS a, b.t AS b

matches
a  b
1  2
"""
PATTERN = "PATTERN SEQ(A a, B b, !C c) WITHIN 30 SECONDS RETURN a.t AS a, b.t AS b"


def written(directory: Path, text: str = NEGATION) -> cases.CaseFile:
    path = directory / "negation.case"
    path.write_text(text)
    return cases.load(path)


def some_ways(path: Path) -> Sequence[MicroBatching]:
    """One way with events in order, and one out of order: others for other cases."""
    number = crc32(path.name.encode())
    return MICRO_BATCHINGS[number % 3], MICRO_BATCHINGS[3 + number // 3 % 3]


def tallied(paths: Iterable[Path], all_ways: bool) -> cases.StreamTally:
    """What became of all cases; fails if one of them differs."""
    tally, wrong = cases.StreamTally(), []
    for path in paths:
        outcome = cases.run_as_stream(cases.load(path), None if all_ways else some_ways(path))
        tally.add(outcome)
        if not outcome.passed:
            wrong.append(f"{path}: {outcome.diff}")
    assert wrong == []
    return tally


def check(tally: cases.StreamTally) -> None:
    """Most of the cases that are refused would keep all events."""
    assert tally.agree >= 650 and tally.not_in_process <= 5, str(tally)
    assert set(tally.refused) <= REFUSED, str(tally)
    assert tally.refused.total() - tally.refused["NEEL4131"] <= 75, str(tally)


@pytest.mark.long
def test_cases_find_the_same_as_streams() -> None:
    check(tallied(PATHS, all_ways=False))


@pytest.mark.thorough
def test_cases_find_the_same_as_streams_however_their_events_come() -> None:
    check(tallied(PATHS, all_ways=True))


# Most cases have no WITHIN: with one they run over streams, too.

WINDOWS = [
    Window(Literal(1 << 40, INT), "MILLISECOND"),  # longer than all events of a case
    Window(Literal(2, INT), "MILLISECOND"),
    Window(Literal(5, INT), "SECOND"),
    Window(Literal(3, INT), "EVENT"),
]


def with_window(named: NamedQuery, window: Window) -> NamedQuery:
    query = named.query
    if isinstance(query, Match) and query.within is None:
        return replace(named, query=replace(query, within=window))
    if isinstance(query, HostQuery) and query.simple is not None:
        clauses = tuple(replace(one, recognize=_bounded(one.recognize, window)) for one in query.clauses)
        return replace(named, query=replace(query, clauses=clauses, simple=_simple(query.simple, window)))
    if isinstance(query, Algebra) and window.unit != "EVENT":
        return replace(named, query=_in_windows(query, window))
    return named


def _in_windows(query: Algebra, window: Window) -> Algebra:
    """Temporal patterns that have no window with this one."""

    def change(node: Node) -> Node:
        changed = map_children(node, change)
        if isinstance(changed, TemporalMatcher) and changed.clause.within is None:
            return replace(changed, clause=replace(changed.clause, within=window))
        return changed

    changed = change(query)
    assert isinstance(changed, Algebra)
    return changed


def _simple(query: SimpleQuery, window: Window) -> SimpleQuery:
    reads = query.reads if isinstance(query.reads, str) else _simple(query.reads, window)
    return replace(query, reads=reads, recognize=query.recognize and _bounded(query.recognize, window))


def _bounded(query: Recognize, window: Window) -> Recognize:
    return replace(query, within=query.within or window)


def differing(case: cases.CaseFile, window: Window, ways: Sequence[MicroBatching]) -> str | None:
    """What a case with a window finds otherwise than the reference; None if it does not run."""
    with in_zone(case.zone):
        ready = prepared(case)
        if not isinstance(ready, PreparedCase):
            return None
        last = len(ready.program.queries) - 1
        program = executable(ready.program, [last], case.query)
        program = replace(program, queries=tuple(program.queries[at] for at in program.needed([last])))
        windowed = replace(program, queries=tuple(with_window(one, window) for one in program.queries))
        if windowed == program:
            return None
        try:
            found = list(stream_results(windowed, ready.tables, case.query, ways))
        except (UnsupportedQuery, RequiresSpark):
            return None
        _, expected = run(windowed, ready.tables)[-1]
        diffs = ((one.way, compare(as_expected(one.expected or expected), one.found).diff) for one in found)
        return "\n".join(f"{way}:\n{diff}" for way, diff in diffs if diff)


def compare_with_windows(all_ways: bool) -> None:
    wrong, compared = [], 0
    for path in PATHS:
        number = crc32(path.stem.encode())
        ways = MICRO_BATCHINGS if all_ways else [some_ways(path)[number % 2]]
        for window in WINDOWS if all_ways else [WINDOWS[number // 2 % len(WINDOWS)]]:
            diff = differing(cases.load(path), window, ways)
            wrong += [f"{path}, {window}: {diff}"] if diff else []
            compared += diff is not None
    assert wrong == []
    assert compared >= 650 * (len(WINDOWS) if all_ways else 1)


@pytest.mark.long
def test_cases_with_windows_find_the_same_as_streams() -> None:
    compare_with_windows(all_ways=False)


@pytest.mark.thorough
def test_cases_with_windows_find_the_same_however_their_events_come() -> None:
    compare_with_windows(all_ways=True)


# What is shown.


def test_a_difference_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = written(tmp_path)
    assert cases.run_as_stream(case) == cases.StreamOutcome()
    both = NEGATION.replace("55  C\n", "") + "40  50\n"
    assert cases.run_as_stream(written(tmp_path, both)) == cases.StreamOutcome()
    monkeypatch.setattr(arrival, "LAST", 0)  # the watermark that lets all matches out does not come
    outcome = cases.run_as_stream(written(tmp_path, both))
    assert not outcome.passed
    assert outcome.diff.startswith("as a stream, one event at a time, in order:\n")
    assert "- 40  50" in outcome.diff


def test_what_does_not_run_as_a_stream(tmp_path: Path) -> None:
    without = cases.run_as_stream(written(tmp_path, NEGATION.replace(", !C c) WITHIN 30 SECONDS", ")")))
    assert without.note.startswith("not over streams: NEEL4131: this query would keep every event of the")
    wrong = NEGATION.partition("matches")[0] + "error\nsomething\n"
    assert cases.run_as_stream(written(tmp_path, wrong)) == cases.StreamOutcome(has_error=True)


@pytest.mark.parametrize(
    "path", ["mixed/undecided-recognize-over-pattern.case", "recognize/undecided-at-the-end.case"]
)
def test_a_stream_waits_with_rows_that_later_events_could_change(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = cases.load(ROOT / "tests" / "cases" / path)
    assert cases.run_as_stream(case) == cases.StreamOutcome(is_partial=True)
    whole = MicroBatching.batches
    monkeypatch.setattr(MicroBatching, "batches", lambda *given: whole(*given)[:1])  # no watermark comes
    outcome = cases.run_as_stream(case)
    assert not outcome.passed and "- 1      2" in outcome.diff and "- 5" not in outcome.diff

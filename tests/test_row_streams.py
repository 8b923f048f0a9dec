"""MATCH_RECOGNIZE over streams without end: the rows of the reference, each once, when they are decided;
and what is kept."""

from __future__ import annotations

import pytest
from fuzz_runner import checked
from in_rows import bound
from in_stream import calls
from row_stream_fuzz import RowRun, check_clause, over_stream

from neelc.pattern.plan.blocks import UnboundedState, UnsupportedQuery
from neelc.rows.plan.plan import row_plan
from neelc.rows.plan.streams import decided_when, kept_rows, streamed_rows
from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.failures import KernelFailure
from neelc.runtime.kernels.rows.program import StreamedRows
from neelc.runtime.kernels.rows.stream import RowStream
from neelc.runtime.reference.recognize import Row, recognized
from neelc.runtime.streaming import StreamMemory, WatermarkMove
from neelc.tools.cases.streaming.rows import as_bag, clause_table

LETTERS = "DEFINE A AS kind = 'a', B AS kind = 'b', C AS kind = 'c'"
V_SHAPE = (
    "PARTITION BY id ORDER BY t MEASURES FIRST(x) AS top, LAST(DOWN.x) AS low, LAST(UP.x) AS high "
    "PATTERN (S DOWN+ UP+) WITHIN 10 MILLISECONDS DEFINE DOWN AS x < PREV(x), UP AS x > PREV(x)"
)


def test_random_clauses_agree_with_the_reference() -> None:
    """A part of `make fuzz`."""
    findings = checked(check_clause, 7_000_000, 60)
    seen = findings.seen
    assert not findings.broken
    assert seen["pairs"] > 130 and seen["with rows"] > 40 and seen["with late rows"]


def streamed(text: str) -> StreamedRows:
    return streamed_rows(row_plan(bound(text), streaming=True), "t")


def letters(kinds: str) -> list[Row]:
    """Rows of one key, a letter each, at the times 1, 2, 3 and so on."""
    return [
        {"id": "k", "ward": 1, "t": at, "kind": kind, "x": at, "y": None}
        for at, kind in enumerate(kinds, start=1)
    ]


def one_by_one(text: str, kinds: str) -> RowRun:
    """All rows come at first; then the watermark passes them one by one."""
    plan, rows = row_plan(bound(text), streaming=True), letters(kinds)
    batches = [(list(range(len(rows))), 0), *(([], at) for at in range(1, len(rows) + 1))]
    return over_stream(plan, streamed_rows(plan, "t"), rows, batches)


def emitted(text: str, kinds: str) -> list[int]:
    """The watermarks at which rows come out, one for each row."""
    return [at for at, one in enumerate(one_by_one(text, kinds).results) for _ in one.rows]


PATTERNS = [
    # A match leaves when its last row is known, or the first row that is not its own.
    ("A B", "", "xabx", [3]),
    ("A B?", "", "xabx", [3]),
    ("A B?", "", "xaxx", [3]),
    ("A B{,2}", "", "abbb", [3]),
    ("A B*?", "", "abb", [1]),
    ("A B+", "WITHIN 5 MILLISECONDS", "abbx", [4]),
    # All that is preferred has failed.
    ("A B C | A", "", "abxx", [3]),
    ("A | A B C", "", "abc", [1]),
    # Where a row is missing, a window decides: here the rows until 1 + 3.
    ("A B+", "WITHIN 3 MILLISECONDS", "abbbbb", [4]),
    ("A B+ C | A", "WITHIN 3 MILLISECONDS", "abbbbb", [4]),
    ("A B+", "WITHIN 3 EVENTS", "abbbbb", [3]),
    # No match of three rows begins with the second of two: that is known before the third row.
    ("A B C | A", "WITHIN 2 EVENTS", "abc", [1]),
]


@pytest.mark.parametrize("pattern, within, kinds, expected", PATTERNS)
def test_a_match_leaves_when_it_is_decided(
    pattern: str, within: str, kinds: str, expected: list[int]
) -> None:
    text = f"ORDER BY t MEASURES FIRST(x) AS f, LAST(x) AS l PATTERN ({pattern}) {within} {LETTERS}"
    assert emitted(text, kinds) == expected


def test_rows_that_look_ahead_wait() -> None:
    assert emitted(f"ORDER BY t MEASURES NEXT(x) AS n PATTERN (A) {LETTERS}", "axx") == [2]
    assert emitted("ORDER BY t MEASURES x AS x PATTERN (A) DEFINE A AS NEXT(x, 2) = 3", "axx") == [3]


def test_matches_from_every_row_do_not_wait_for_each_other() -> None:
    """The match from row 1 is decided last, with its window; MATCH_NUMBER() keeps them in order."""
    every = (
        "ORDER BY t MEASURES {} AS n AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+ | C) WITHIN 9 MILLISECONDS "
    )
    define = "DEFINE A AS kind = 'a', B AS kind <> 'a', C AS kind = 'c'"
    assert emitted(every.format("FIRST(x)") + define, "abcbb") == [3]
    assert emitted(every.format("MATCH_NUMBER()") + define, "abcbb") == []


def test_all_rows_come_with_their_match() -> None:
    text = (
        "ORDER BY t MEASURES count(*) AS n, FINAL count(*) AS m, sum(x) AS s "
        f"ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B+) WITHIN 9 MILLISECONDS {LETTERS}"
    )
    run = one_by_one(text, "xabbx")
    assert [len(one.rows) for one in run.results] == [0, 1, 0, 0, 0, 4]
    assert as_bag(run.result) == as_bag(recognized(bound(text), letters("xabbx")))


def test_a_key_without_undecided_rows_leaves_nothing() -> None:
    plan = row_plan(bound(V_SHAPE), streaming=True)
    values = [5, 3, 4, 6, 2]
    rows: list[Row] = [{**row, "x": x} for row, x in zip(letters("aaaaa"), values, strict=True)]
    batches = [([0, 1, 2, 3, 4], 0), ([], 5), ([], 14), ([], 15)]
    run = over_stream(plan, streamed_rows(plan, "t"), rows, batches)
    assert [one.rows for one in run.results] == [[], [("k", 5, 3, 6)], [], []]
    assert run.memory.is_empty


def test_what_is_kept_does_not_grow_with_the_stream() -> None:
    """A new key in every instant: kept are the rows of a window, and those that are not complete."""
    plan = row_plan(bound(V_SHAPE), streaming=True)
    streamed = streamed_rows(plan, "t")
    rows: list[Row] = [{**row, "id": f"k{n}"} for n, row in enumerate(letters("a" * 100))]
    batches = [([n], n - 2) for n in range(len(rows))]
    kept = [left.rows for _, left in calls(RowStream(streamed), clause_table(plan, streamed, rows), batches)]
    assert max(kept) == kept[-1] == kept[50] == 13


def test_wakes_when_something_can_be_decided() -> None:
    """When the first row that waits is complete; then when its window has passed."""
    plan = row_plan(bound(f"ORDER BY t MEASURES x AS x PATTERN (A B*) WITHIN 4 MILLISECONDS {LETTERS}"), True)
    kernel = RowStream(streamed_rows(plan, "t"))
    rows = clause_table(plan, kernel.streamed, letters("ab")).to_batches()
    first = kernel.advance(StreamMemory(), rows, WatermarkMove(FIRST_TIME, 0))
    second = kernel.advance(first.memory, [], WatermarkMove(0, 1))
    third = kernel.advance(second.memory, [], WatermarkMove(1, 2))
    last = kernel.advance(third.memory, [], WatermarkMove(2, 5))
    assert [one.wake for one in (first, second, third, last)] == [1, 2, 5, None]
    assert [len(one.results) for one in (first, second, third, last)] == [0, 0, 0, 1]
    assert last.memory.is_empty


def test_keys_are_remembered_where_the_query_counts_or_begins() -> None:
    begins = streamed(f"PARTITION BY id ORDER BY t MEASURES x AS x PATTERN (^ A B) {LETTERS}")
    counts = streamed(f"PARTITION BY id ORDER BY t MEASURES MATCH_NUMBER() AS n PATTERN (A B) {LETTERS}")
    assert begins.anchored and not begins.numbered and counts.numbered and not counts.anchored
    assert emitted(f"ORDER BY t MEASURES x AS x PATTERN (^ A B) {LETTERS}", "abab") == [2]
    text = f"ORDER BY t MEASURES MATCH_NUMBER() AS n PATTERN (A B) {LETTERS}"
    assert [one.rows for one in one_by_one(text, "ababab").results if one.rows] == [[(1,)], [(2,)], [(3,)]]


def test_rows_before_a_match_are_kept_only_where_it_looks_at_them() -> None:
    assert streamed(V_SHAPE).behind == 0
    assert streamed(V_SHAPE.replace("S DOWN+", "DOWN+")).behind == 1
    assert streamed(f"ORDER BY t MEASURES PREV(FIRST(x), 3) AS p PATTERN (A B) {LETTERS}").behind == 3
    assert streamed(f"ORDER BY t MEASURES PREV(B.x, 3) AS p PATTERN (A B) {LETTERS}").behind == 2


def test_what_is_kept_is_said() -> None:
    text = "PARTITION BY id ORDER BY t MEASURES MATCH_NUMBER() AS n PATTERN (^ A B) DEFINE A AS x > PREV(x)"
    assert kept_rows(streamed(text)) == (
        (
            "the rows of each key since the first from which a match is not decided; "
            "it is decided, at the latest, when 2 rows have come from its first one on"
        ),
        "the last row of each key, for ever, since PREV looks at them",
        "how many matches each key had, for ever, for MATCH_NUMBER()",
        "each key, for ever, since `^` is its first row",
    )
    assert kept_rows(streamed(V_SHAPE)) == (
        (
            "the rows of each key since the first from which a match is not decided; "
            "it is decided, at the latest, when WITHIN has passed"
        ),
    )


def test_when_matches_are_decided_is_said() -> None:
    shown = (
        "when the watermark has passed its rows, and the row that shows that it does not go on, if it could"
    )
    assert decided_when(streamed(V_SHAPE)) == f"{shown}; at the latest when WITHIN has passed"
    text = f"ORDER BY t MEASURES NEXT(x, 2) AS n PATTERN (A B?) {LETTERS}"
    assert decided_when(streamed(text)) == (
        f"{shown}, and the 2 rows after them; at the latest when 2 rows have come from its first one on"
    )


# What is refused.

BOUNDED = [
    "A B{1,5} C",
    "A B? C{3}",
    "PERMUTE(A, B, C)",
    "A B*?",
    "A (B* C)??",
    "(A | B C) {- C -}",
    "A B*? D",
]
UNBOUNDED = ["A B* C", "A+", "A B+? C", "A (B | C)* C", "A D* C", "A B*? D*"]


@pytest.mark.parametrize("pattern", BOUNDED)
def test_a_bounded_pattern_needs_no_window(pattern: str) -> None:
    assert streamed(f"ORDER BY t MEASURES 1 AS one PATTERN ({pattern}) {LETTERS}").longest


@pytest.mark.parametrize("pattern", UNBOUNDED)
def test_an_unbounded_pattern_needs_a_window(pattern: str) -> None:
    """D has no condition: a pattern that would rather take any row than another never ends either."""
    text = f"ORDER BY t MEASURES 1 AS one PATTERN ({pattern}) WITHIN 1 HOUR {LETTERS}"
    assert streamed(text).program.reach
    with pytest.raises(UnboundedState, match="may take any number of rows") as refusal:
        streamed(text.replace("WITHIN 1 HOUR", ""))
    assert refusal.value.code == "NEEL4131" and "WITHIN 1 HOUR" in (refusal.value.hint or "")


@pytest.mark.parametrize(
    "order, what",
    [
        ("ORDER BY t DESC", "ORDER BY begins with DESC"),
        ("ORDER BY x, t", "ORDER BY begins with `x`"),
        ("ORDER BY t + 1", "ORDER BY begins with `t + 1`"),
    ],
)
def test_rows_are_in_the_order_of_time(order: str, what: str) -> None:
    with pytest.raises(UnsupportedQuery) as refusal:
        streamed(f"{order} MEASURES 1 AS one PATTERN (A B) {LETTERS}")
    assert what in refusal.value.what
    assert (refusal.value.code, refusal.value.hint) == ("NEEL4134", "begin with the event time: ORDER BY t")


def test_a_stream_has_no_last_row() -> None:
    with pytest.raises(UnsupportedQuery, match="no last row") as refusal:
        streamed(f"ORDER BY t MEASURES 1 AS one PATTERN (A B $) WITHIN 1 HOUR {LETTERS}")
    assert refusal.value.code == "NEEL4135"


def test_a_failure_names_the_key() -> None:
    text = (
        "PARTITION BY id ORDER BY t MEASURES x AS x AFTER MATCH SKIP TO FIRST A "
        f"PATTERN (A B) WITHIN 9 MILLISECONDS {LETTERS}"
    )
    with pytest.raises(KernelFailure) as failure:
        one_by_one(text, "xab")
    assert failure.value.facts.key == {"id": "k"}

"""MATCH_RECOGNIZE: what the standard says of each clause, by the reference and by the kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from fuzz_runner import checked
from generate.row_patterns import clause as random_clause
from generate.row_patterns import rows as random_rows
from in_rows import Way, as_table, bound, recognized_by_kernel
from row_fuzz import check_clause

from neelc.errors import NeelError
from neelc.explain.execution import memory_sentence, program_sentence
from neelc.ir.bound_rows import Recognize
from neelc.ir.names import FREE_IN_ROWS, RESERVED
from neelc.ir.program import Column
from neelc.ir.types import INT, STRING
from neelc.rows.plan.plan import row_plan
from neelc.runtime.failures import BACKTRACKING, SKIP, KernelFailure
from neelc.runtime.kernels.rows import automaton, backtracking
from neelc.runtime.kernels.rows.automaton import Viability
from neelc.runtime.kernels.rows.kernel import recognizer
from neelc.runtime.reference import recognize as reference
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.recognize import CannotSkip, Parsing, Reached, Row, RowParser, recognized
from neelc.runtime.worker import WorkerState
from neelc.syntax.parser import KEYWORDS
from neelc.tools.cases.streaming.rows import as_bag

COLUMNS = (Column("t", INT), Column("kind", STRING), Column("x", INT))
LETTERS = ", ".join(f"{name} AS kind = '{name.lower()}'" for name in "ABC")
MARKED = "MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS v"


def rows(kinds: str, values: str = "") -> list[Row]:
    """A row for each letter: `t` counts from 0, `x` is the digit below it, or the row's number."""
    numbers = [int(digit) for digit in values] or range(len(kinds))
    return [{"t": t, "kind": kind, "x": x} for t, (kind, x) in enumerate(zip(kinds, numbers, strict=True))]


def both(text: str, table: list[Row]) -> list[tuple[object, ...]]:
    """What the reference finds; the kernel must find the same."""
    query = bound(text, COLUMNS)
    found = recognized(query, table)
    for way in (Way(), Way(1, 1), Way(2, 3)):
        assert as_bag(recognized_by_kernel(row_plan(query), table, way)) == as_bag(found)
    return found.rows


def match(pattern: str, kinds: str, define: str = LETTERS, more: str = "") -> list[str]:
    """The matches, each as the variables of its rows, with the number of its first row: `0:AAB`."""
    used = ", ".join(part for part in define.split(", ") if part.split()[0] in pattern)
    measures = "MEASURES CLASSIFIER() AS v, MATCH_NUMBER() AS n"
    text = f"ORDER BY t {measures} ALL ROWS PER MATCH {more} PATTERN ({pattern})"
    shown = both(f"{text} DEFINE {used}", rows(kinds))
    matches: dict[object, list[str]] = {}
    for t, variable, number, *_ in shown:
        matches.setdefault(number, [f"{t}:"]).append(str(variable or "-"))
    return ["".join(one) for one in matches.values()]


@pytest.mark.parametrize(
    ("pattern", "kinds", "found"),
    [
        ("A B+", "abbcab", ["0:ABB", "4:AB"]),
        ("A B*?", "abb", ["0:A"]),
        ("A B*? C", "abbc", ["0:ABBC"]),
        ("A B?", "ab", ["0:AB"]),
        ("A B??", "ab", ["0:A"]),
        ("A{2}", "aaaaa", ["0:AA", "2:AA"]),
        ("A{2,}", "aaaaa", ["0:AAAAA"]),
        ("A{,2}", "aaa", ["0:AA", "2:A"]),
        ("A{1,2}?", "aaa", ["0:A", "1:A", "2:A"]),
        ("(A | A B) C", "abc", ["0:ABC"]),
        ("A | A B", "ab", ["0:A"]),
        ("(A B | A) B?", "abb", ["0:ABB"]),
        ("PERMUTE(A, B, C)", "cab", ["0:CAB"]),
        ("PERMUTE(A, B?)", "ab", ["0:AB"]),
        ("^ A", "aa", ["0:A"]),
        ("A $", "aa", ["1:A"]),
        ("^ A+ $", "aa", ["0:AA"]),
        ("A $ B", "ab", []),
        ("(A | B)* C", "abacab", ["0:ABAC"]),
        ("(A B)+", "ababa", ["0:ABAB"]),
        ("(A*)* B", "aab", ["0:AAB"]),
        ("(A?){2} B", "ab", ["0:AB"]),
    ],
)
def test_patterns(pattern: str, kinds: str, found: list[str]) -> None:
    assert match(pattern, kinds) == found


def test_permute_is_lexicographic() -> None:
    """`PERMUTE(X, Y, Z)` where each variable matches every row prefers X Y Z."""
    assert match("PERMUTE(X, Y, Z)", "abc", "X AS TRUE") == ["0:XYZ"]


def test_an_exclusion_is_matched_but_not_shown() -> None:
    assert match("A {- B+ -} C", "abbc") == ["0:AC"]


def test_empty_matches() -> None:
    text = f"ORDER BY t {MARKED}, count(*) AS c, x AS x0 {{}} PATTERN (A*) DEFINE A AS kind = 'a'"
    table = rows("baab")
    assert both(text.format(""), table) == [(1, None, 0, None), (2, "A", 2, 2), (3, None, 0, None)]
    shown = both(text.format("ALL ROWS PER MATCH"), table)
    assert [(row[0], row[1], row[2]) for row in shown] == [
        (0, 1, None),
        (1, 2, "A"),
        (2, 2, "A"),
        (3, 3, None),
    ]
    assert len(both(text.format("ALL ROWS PER MATCH OMIT EMPTY MATCHES"), table)) == 2
    assert len(both(text.format("ALL ROWS PER MATCH SHOW EMPTY MATCHES"), table)) == 4


def test_empty_matches_in_windows() -> None:
    """A pattern that takes no row at all, with a window, and many partitions."""
    text = f"PARTITION BY kind ORDER BY t {MARKED} {{}} PATTERN (()) WITHIN 3 EVENTS"
    for skip in ("", "AFTER MATCH SKIP TO NEXT ROW"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(automaton, "FEW", 0)
            assert len(both(text.format(skip), rows("aab"))) == 3


def test_unmatched_rows_have_no_measures() -> None:
    text = f"ORDER BY t {MARKED}, coalesce(A.x, -1) AS c ALL ROWS PER MATCH WITH UNMATCHED ROWS "
    text += "PATTERN (A B) DEFINE A AS kind = 'a'"
    found = both(text, rows("bab"))
    assert [row[:4] for row in found] == [(0, None, None, None), (1, 1, "A", 1), (2, 1, "B", 1)]


@pytest.mark.parametrize(
    ("skip", "found"),
    [
        ("PAST LAST ROW", ["0:ABBB"]),
        ("TO NEXT ROW", ["0:ABBB"]),
        ("TO FIRST B", ["0:ABBB"]),
        ("TO LAST B", ["0:ABBB"]),
        ("TO B", ["0:ABBB"]),
    ],
)
def test_skips(skip: str, found: list[str]) -> None:
    assert match("A B+", "abbb", more=f"AFTER MATCH SKIP {skip}") == found


def test_matches_may_overlap() -> None:
    more = "AFTER MATCH SKIP TO {}"
    every = "A AS TRUE"
    assert match("A A A", "xxxx", every, more.format("NEXT ROW")) == ["0:AAA", "1:AAA"]
    assert match("A A A", "xxxxx", every, more.format("LAST A")) == ["0:AAA", "2:AAA"]


@pytest.mark.parametrize("skip", ["TO FIRST A", "TO LAST C"])
def test_a_skip_that_leads_nowhere_fails(skip: str) -> None:
    """To where the match began, and to a variable that no row is mapped to."""
    text = f"PARTITION BY kind ORDER BY t {MARKED} AFTER MATCH SKIP {skip} PATTERN (A B C?) DEFINE C AS FALSE"
    query = bound(text, COLUMNS)
    with pytest.raises(CannotSkip):
        recognized(query, rows("abb"))
    for few in (0, 9):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(KernelFailure) as failure:
            patch.setattr(automaton, "FEW", few)
            recognized_by_kernel(row_plan(query), rows("abb"))
        assert failure.value.facts.kind == SKIP
        assert failure.value.facts.key == {"kind": "b"}


def test_navigation() -> None:
    """PREV and NEXT leave the match, but not the partition; FIRST and LAST count inside of it."""
    measures = (
        "PREV(FIRST(A.x)) AS a, NEXT(LAST(A.x)) AS b, FIRST(A.x, 1) AS c, LAST(A.x, 1) AS d, "
        "LAST(A.x, 9) AS e, PREV(FIRST(A.x, 1), 2) AS f, NEXT(x, 3) AS g"
    )
    text = f"ORDER BY t MEASURES {measures} PATTERN (A+) DEFINE A AS kind = 'a'"
    assert both(text, rows("baaab", "12345")) == [(1, 5, 3, 3, None, 1, None)]


def test_running_and_final() -> None:
    measures = "LAST(x) AS r, FINAL LAST(x) AS f, count(*) AS c, FINAL count(*) AS d"
    measures += ", sum(A.x) AS s, FINAL sum(x) AS z"
    text = f"ORDER BY t MEASURES {measures} ALL ROWS PER MATCH PATTERN (A B) "
    found = both(text, rows("ab", "37"))
    assert [row[1:7] for row in found] == [(3, 7, 1, 2, 3, 10), (7, 7, 2, 2, 3, 10)]


def test_unions_of_variables() -> None:
    measures = "count(U.*) AS c, LAST(U.x) AS x0, CLASSIFIER(U) AS v"
    text = f"ORDER BY t MEASURES {measures} PATTERN (A B C) SUBSET U = (A, B)"
    assert both(text, rows("abc")) == [(2, 1, "B")]


def test_conditions_see_the_match_so_far() -> None:
    define = "A AS sum(A.x) <= 6, B AS x > FIRST(A.x)"
    text = f"ORDER BY t MEASURES count(A.*) AS c, LAST(x) AS x0 PATTERN (A+ B) DEFINE {define}"
    assert both(text, rows("aaaa", "1234")) == [(3, 4)]


def test_columns_of_the_result() -> None:
    """Partition, order, measures, the rest."""
    text = "PARTITION BY kind ORDER BY x MEASURES A.t AS m {} PATTERN (A)"
    assert [c.name for c in bound(text.format("ALL ROWS PER MATCH"), COLUMNS).output] == [
        "kind",
        "x",
        "m",
        "t",
    ]
    assert [c.name for c in bound(text.format(""), COLUMNS).output] == ["kind", "m"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("PATTERN (A) DEFINE A AS FINAL LAST(A.x) > 1", "NEEL3206"),
        ("PATTERN (A) DEFINE A AS D.x > 1", "NEEL2003"),
        ("PATTERN (A) DEFINE A AS PREV(PREV(x)) > 1", "NEEL3206"),
        ("PATTERN (A) DEFINE A AS sum(LAST(x)) > 1", "NEEL3206"),
        ("PATTERN (A B) DEFINE A AS PREV(A.x + B.x) > 1", "NEEL3206"),
        ("PATTERN (A) DEFINE A AS PREV(x, -1) > 1", "NEEL3206"),
        ("PATTERN (A) DEFINE A AS FIRST(1) = 1", "NEEL3206"),
        ("PARTITION BY 1 + 1 PATTERN (A)", "NEEL3208"),
    ],
)
def test_what_is_wrong_is_refused(text: str, code: str) -> None:
    with pytest.raises(NeelError) as error:
        bound(text, COLUMNS)
    assert [one.code for one in error.value.diagnostics] == [code]


WORDS = sorted(FREE_IN_ROWS | (set(KEYWORDS) - RESERVED))
IN_ALL_PLACES = (
    "PARTITION BY {w} MEASURES x AS m PATTERN (A)",
    "ORDER BY {w} MEASURES {w} AS m, A.{w} AS {w}, count({w}) AS c, -{w} + {w} AS d, count(*) AS n "
    "PATTERN (A) DEFINE A AS {w} > 1",
    "MEASURES x AS m ORDER BY {w} DESC, {w} PATTERN (A {w}) SUBSET u = (a, {w}) "
    "DEFINE {w} AS PREV({w}) >= {w} OR NOT {w} IN (1, {w}), A AS {w} = {w}",
    "ORDER BY {w} PARTITION BY {w}, x WITHIN 2 EVENTS PATTERN ({w} {w}) "
    "MEASURES {w}.{w} AS e, CASE WHEN {w} > 1 THEN {w} ELSE {w} END AS f AFTER MATCH SKIP TO LAST {w} "
    "DEFINE {w} AS {w} NOT BETWEEN {w} AND {w} AND rows.{w} NOT IN ({w}) AND {w} IS NOT NULL",
)


@pytest.mark.parametrize("word", WORDS)
def test_words_of_the_language_as_names(word: str) -> None:
    columns = (Column(word, INT), Column("x", INT))
    for text in IN_ALL_PLACES:
        assert bound(text.format(w=word), columns) == bound(text.format(w=f"`{word}`"), columns)
        bound(text.format(w=word.lower()), columns)


@pytest.mark.parametrize("word", sorted(RESERVED - FREE_IN_ROWS))
def test_words_that_are_names_behind_a_dot_only(word: str) -> None:
    columns = (Column(word, INT), Column("x", INT))
    text = "ORDER BY x MEASURES A.{w} AS m PATTERN (A)"
    assert bound(text.format(w=word), columns) == bound(text.format(w=f"`{word}`"), columns)
    with pytest.raises(NeelError):
        bound(f"PATTERN ({word})", columns)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ORDER BY x, PATTERN (A)", "PATTERN"),
        ("ORDER BY x, MEASURES x AS y PATTERN (A)", "MEASURES"),
        ("ORDER BY PARTITION BY x PATTERN (A)", "PARTITION"),
        ("MEASURES x AS y, DEFINE A AS x > 1 PATTERN (A)", "DEFINE"),
        ("PATTERN (A) DEFINE A AS x > WITHIN 5 EVENTS", "WITHIN"),
    ],
)
def test_words_that_begin_a_clause_too_early(text: str, found: str) -> None:
    with pytest.raises(NeelError) as caught:
        bound(text)
    assert f"found `{found}`" in caught.value.diagnostics[0].message


@pytest.mark.parametrize("pattern", [" ".join(["A?"] * 30) + " B", "A* A* A* B", "((A+)+)+ B"])
def test_hard_patterns_are_not_hard(pattern: str) -> None:
    """Each way to read ten thousand rows would be tried until the end of time."""
    define = "A AS kind = 'a', B AS kind = 'b'"
    plan = row_plan(bound(f"ORDER BY t {MARKED} PATTERN ({pattern}) DEFINE {define}", COLUMNS))
    all_a = pa.table({"bits": pa.array([1] * 10_000, pa.int32())})
    assert sum(batch.num_rows for batch in recognizer(plan.program)(iter(all_a.to_batches()))) == 0


def test_the_budget_of_conditions_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backtracking, "MOST_STEPS", 100)
    plan = row_plan(bound(f"ORDER BY t {MARKED} PATTERN (A* A* A* B) DEFINE B AS x > sum(A.x)", COLUMNS))
    with pytest.raises(KernelFailure) as failure:
        recognized_by_kernel(plan, rows("a" * 40, "1" * 40))
    assert failure.value.facts.kind == BACKTRACKING
    assert failure.value.facts.limit == 100
    assert "the condition of B depends on the path" in program_sentence(plan.program)


def test_the_budget_of_vain_attempts_is_that_of_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backtracking, "MOST_TRIED", 20)
    monkeypatch.setattr(backtracking, "MOST_TRIED_EACH", 0)
    clause = f"PARTITION BY id ORDER BY t {MARKED} PATTERN (A+ B) DEFINE B AS x > sum(A.x)"
    table = [{**row, "id": key} for key in "abcdefgh" for row in rows("aaa", "111")]
    assert not recognized_by_kernel(row_plan(bound(clause)), table).rows
    with pytest.raises(KernelFailure, match="in vain"):
        recognized_by_kernel(
            row_plan(bound(clause)), [{**row, "id": "a"} for row in rows("a" * 30, "1" * 30)]
        )


LONGEST = "bounded by the longest match"


@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW", "TO LAST B"])
@pytest.mark.parametrize(
    ("clause", "memory"),
    [
        (
            "PATTERN (A B+ C*) DEFINE A AS kind = 'a', B AS kind = 'b'",
            "grows with the partition: C* takes any",
        ),
        ("PATTERN (A B+ C*) WITHIN 20 EVENTS DEFINE A AS kind = 'a'", "bounded by WITHIN 20 EVENTS"),
        (
            "PATTERN (A B+? C*) WITHIN 9 SECONDS DEFINE C AS kind <> LAST(B.kind)",
            "bounded by WITHIN 9 SECONDS",
        ),
        ("PATTERN (A B (A | C B){2}) DEFINE A AS kind = 'a'", f"{LONGEST}: 6 rows"),
        ("PATTERN (A B+) DEFINE A AS kind = 'a', B AS kind = 'b'", f"{LONGEST}: rows are kept while"),
        ("PATTERN (A B+) DEFINE A AS x > PREV(x, 3), B AS NEXT(x) > x", f"{LONGEST}: rows are kept while"),
        ("PATTERN (A B+ C??) DEFINE B AS x > A.x AND sum(x) < 60", f"{LONGEST}: rows are kept while"),
    ],
)
def test_what_is_decided_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, skip: str, clause: str, memory: str
) -> None:
    """In one partition of 800 rows, of which 40 are searched at once."""
    shown = f"{MARKED}, NEXT(x, 2) AS y ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP {skip}"
    query = bound(f"ORDER BY t {shown} {clause}", COLUMNS, "SECOND")
    chance = np.random.default_rng(5)
    table = rows("".join(chance.choice(list("abc"), 800)), "".join(map(str, chance.integers(0, 9, 800))))
    kept: list[int] = []
    with_batch = WorkerState.with_batch

    def watched(state: WorkerState[object], batch: pa.RecordBatch) -> WorkerState[object]:
        kept.append(state.rows)
        return with_batch(state, batch)

    monkeypatch.setattr(WorkerState, "with_batch", watched)
    plan = row_plan(query)
    batches = as_table(plan, table).combine_chunks().to_batches(max_chunksize=10)
    in_pieces = as_tuples(recognizer(plan.program, 40)(iter(batches)))
    assert memory_sentence(query).startswith(memory)
    assert (max(kept) > 600) if memory.startswith("grows") else (max(kept) < 120)
    assert in_pieces == as_tuples(recognizer(plan.program, 800)(iter(batches)))


def as_tuples(batches: Iterator[pa.RecordBatch]) -> Counter[tuple[object, ...]]:
    return Counter(row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True))


FIRST_ROWS = [
    # How many conditions are left on the path, and whether 10,000 rows have a match.
    ("A+ B", "B AS FIRST(x) < 0", 0, 0),
    ("A+ B", "B AS FIRST(A.x) >= 0", 0, 1),
    ("A B* C", "C AS A.x < 0 AND A.kind = 'a'", 0, 0),
    ("A B* C", "B AS PREV(A.x, 2) IS NULL, C AS NEXT(A.x) > A.x", 0, 1),
    ("A+ B", "B AS x < FIRST(x)", 1, 0),
    ("A B* C", "C AS A.x > C.x", 1, 0),
]


@pytest.mark.parametrize(("pattern", "define", "left", "matches"), FIRST_ROWS)
def test_conditions_on_the_first_row_are_not_tried_row_by_row(
    pattern: str, define: str, left: int, matches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`x` rises: nothing comes that is less than the first row. To try all rows behind each row would take
    50 million attempts."""
    query = bound(f"ORDER BY t MEASURES count(*) AS n PATTERN ({pattern}) DEFINE {define}", COLUMNS)
    plan = row_plan(query)
    assert len(plan.program.conditions) == left
    for table in (rows("abab", "1203"), rows("baba", "2221"), rows("aaa", "100")):
        both(f"ORDER BY t MEASURES count(*) AS n PATTERN ({pattern}) DEFINE {define}", table)
    monkeypatch.setattr(backtracking, "MOST_TRIED", 10_000)
    monkeypatch.setattr(backtracking, "MOST_TRIED_EACH", 1)
    table = [{"t": t, "kind": "a", "x": t} for t in range(10_000)]
    batches = as_table(plan, table).combine_chunks().to_batches(max_chunksize=1000)
    for at_once in (10_000, 3_000):
        found = sum(batch.num_rows for batch in recognizer(plan.program, at_once)(iter(batches)))
        assert (found > 0) == (matches > 0)


def test_the_budget_of_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row alone takes many attempts, but all together do."""
    monkeypatch.setattr(backtracking, "MOST_TRIED", 1_000)
    monkeypatch.setattr(backtracking, "MOST_TRIED_EACH", 2)
    plan = row_plan(bound(f"ORDER BY t {MARKED} PATTERN (A+ B) DEFINE B AS x + FIRST(x) < 0", COLUMNS))
    with pytest.raises(KernelFailure) as failure:
        recognized_by_kernel(plan, rows("a" * 200, "1" * 200))
    assert failure.value.facts.kind == BACKTRACKING
    assert "attempts to match in vain, up to row 3 of a partition" in failure.value.facts.message


HARD = (
    ("(A+)+ B", "B AS x < 0"),
    ("((A+)+)+ B", "B AS x < 0"),
    ("(A*)* B", "B AS x < 0"),
    ("(A+){2,} B", "B AS x < FIRST(A.x)"),
    ("(A+)+ B", "A AS sum(x) >= 0, B AS x < 0"),
    ("(A | C)+ B", "B AS x < 0"),
    ("(A?)+? (A | ())* B", "B AS x < PREV(x)"),
    (" ".join(["A?"] * 30) + " B", "B AS x < 0"),
    ("PERMUTE(A*, A+, A?) B", "B AS x < 0"),
)


@pytest.mark.parametrize(("pattern", "define"), HARD)
def test_the_reference_does_not_try_twice_what_comes_to_the_same(pattern: str, define: str) -> None:
    query = bound(f"ORDER BY t MEASURES count(*) AS n PATTERN ({pattern}) DEFINE {define}", COLUMNS)
    table = rows("a" * 30)
    assert recognized(query, table).rows == []
    assert recognized(query, [*table, {"t": 30, "kind": "b", "x": -1}]).rows == [(31,)]


class EveryParsing(RowParser):
    """Tries every parsing, however many come to the same."""

    def _is_new(self, place: int, parsing: Parsing, reached: Reached) -> bool:
        return True


def test_what_the_reference_leaves_out_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A law: the first of all parsings is the first of those that are tried."""
    compared_rows = 0
    for seed in range(150):
        chance = Random(seed)
        try:
            query = bound(random_clause(chance))
        except NeelError:
            continue
        for table in (random_rows(chance), random_rows(chance)):
            found = outcome(query, table)
            with monkeypatch.context() as changed:
                changed.setattr(reference, "RowParser", EveryParsing)
                changed.setattr(reference, "_is_of_path", lambda definition: True)
                changed.setattr(reference, "MAX_CHECKS", 20_000)
                every = outcome(query, table)
            if every != "MAX_CHECKS":
                assert found == every, seed
                compared_rows += len(every)
    assert compared_rows > 300


def outcome(query: Recognize, table: Sequence[Row]) -> Counter[object] | str:
    try:
        return as_bag(recognized(query, table))
    except CannotSkip as failure:
        return str(failure)
    except LimitReached as limit:
        return limit.name


def test_random_clauses() -> None:
    findings = checked(check_clause, 900_000, 60)
    assert not findings.broken
    assert findings.seen["with rows"] > 50


@pytest.mark.parametrize("pattern", ["A B+ C?", "(A A)+ B", "A+", "(A | B C)* C $", "^ (A A A)* B?? C"])
@pytest.mark.parametrize("backwards", [True, False])
def test_a_long_partition_is_read_in_pieces(
    monkeypatch: pytest.MonkeyPatch, pattern: str, backwards: bool
) -> None:
    """What is guessed at the beginning of a piece makes no difference, even if a pattern never forgets it."""
    machine = row_plan(bound(f"ORDER BY t PATTERN ({pattern})", COLUMNS)).program.machine
    chance = np.random.default_rng(len(pattern))
    for weights in ([0.4, 0.4, 0.2], [0.99, 0.005, 0.005]):
        letters = chance.choice(3, 2_000, p=weights)
        heads = np.array([0, 700, 1990])
        whole = Viability(machine, [0b001, 0b011, 0b110])
        monkeypatch.setattr(automaton, "LONG", 10_000)
        expected = [whole.sets[state] for state in whole.states(letters, heads, backwards)]
        for few, patience in ((0, 50), (1, 9), (5, 3), (24, 0)):
            monkeypatch.setattr(automaton, "LONG", 100)
            monkeypatch.setattr(automaton, "FEW", few)
            monkeypatch.setattr(automaton, "PATIENCE", patience)
            pieces = Viability(machine, [0b001, 0b011, 0b110])
            assert [pieces.sets[state] for state in pieces.states(letters, heads, backwards)] == expected

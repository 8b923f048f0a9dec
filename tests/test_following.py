"""Runs in the kernel: SKIP TILL NEXT MATCH and the contiguities find what the reference finds."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from generate.following import POINTS, following, random_tables
from generate.streams import Row
from in_bridge import bridge_matches, way
from in_kernel import as_bindings, kernel_matches
from kernel_fuzz import Different, Tally, check_pair, ways_to_write
from pattern_examples import query
from words_fuzz import definition_round

from neelc.errors import NeelError
from neelc.ir.types import DOUBLE
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.kernel_plan import kernel_plan
from neelc.runtime.failures import KernelError
from neelc.runtime.kernels import matching
from neelc.runtime.kernels.events import KernelEvents, NullableArray
from neelc.runtime.kernels.folding import FUNCTIONS, added, begun, ended, folded
from neelc.runtime.kernels.frontier import EventLists
from neelc.runtime.kernels.runs import following as runs
from neelc.runtime.kernels.runs.following import route
from neelc.runtime.program import Fold, Follow
from neelc.runtime.reference import matches
from neelc.runtime.reference.aggregates import aggregate
from neelc.runtime.reference.model import bound_events

QUERIES = 20
PARTS = 4
PAIRS = 80
"""Least number of pairs in a part."""


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_random_queries(part: int) -> None:
    tally, refused = Tally(), Counter[str]()
    for number in range(part * QUERIES, (part + 1) * QUERIES):
        text, head, streams = following(number)
        try:
            next_query = query(text, head)
        except NeelError:
            continue
        for _, match in ways_to_write(next_query):
            for tables in streams:
                try:
                    check_pair(match, {**tables}, tally, number + tally.pairs)
                except UnsupportedQuery as refusal:
                    refused[refusal.what] += 1
                except Different as different:
                    raise Different(f"{number}: {text}\n{match.pattern}\n{tables}\n{different}") from None
    assert tally.pairs >= PAIRS, refused
    assert tally.with_matches >= PAIRS // 5
    assert tally.chunked >= PAIRS // 20


def rows(kinds: str, xs: str = "") -> dict[str, list[Row]]:
    """One event after the other, a letter each; digits are their `x`."""
    values = xs or "1" * len(kinds)
    return {
        "S": [
            {"ts": time, "kind": kind, "id": 1, "x": int(x), "y": float(x)}
            for time, (kind, x) in enumerate(zip(kinds, values, strict=True))
        ]
    }


def found(text: str, kinds: str, xs: str = "") -> list[str]:
    """The matches by the kernel, each as the times of its events; they are those of the reference."""
    next_query, tables = query(text, POINTS), rows(kinds, xs)
    by_kernel = kernel_matches(next_query, tables)
    expected = Counter(as_bindings(matches(next_query, tables)))
    assert as_bindings(by_kernel) == expected == as_bindings(bridge_matches(next_query, tables, way(1)))
    return sorted(" ".join(times(binding[name]) for name in sorted(binding)) for binding in by_kernel)


def times(value: object) -> str:
    return "".join(str(event.start // 1_000_000) for event in bound_events(value)) or "-"


NEXT, STRICT = "USING SKIP TILL NEXT MATCH", "USING STRICT CONTIGUITY"


def test_a_list_takes_all_that_qualify() -> None:
    falling = f"SEQ(A a, B+ b[], C c) WHERE b[i].x < b[i-1].x {NEXT}"
    assert found(falling, "ABBBC", "15342") == ["0 12 4"]


def test_an_event_that_qualifies_twice_splits_the_run() -> None:
    assert found(f"SEQ(A a, B+ b[], B c) {NEXT}", "ABBB") == ["0 1 2", "0 12 3"]


def test_neighbours_only() -> None:
    assert found(f"SEQ(A a, B+ b[]) {STRICT}", "ABBDB") == ["0 1", "0 12"]


def test_a_full_list_is_judged_as_a_whole() -> None:
    whole = f"SEQ(A a, B{{2}} b[], C c) WHERE sum(b[].x) > 4 {NEXT}"
    assert found(whole, "ABBBC", "11141") == ["0 13 4"]


def test_each_element_and_what_follows() -> None:
    assert found(f"SEQ(A a, B+ b[], C c) WHERE b[i].x < c.x {NEXT}", "ABBCC", "01325") == ["0 12 4"]


def test_a_condition_waits_for_its_part() -> None:
    assert found(f"SEQ(A a, B b, (C c : b.x > a.x)) {NEXT}", "ABBC", "1051") == []
    assert found(f"SEQ(A a, B b, C c) WHERE b.x > a.x {NEXT}", "ABBC", "1051") == ["0 2 3"]


def test_iterations_of_a_composite() -> None:
    pairs = f"SEQ(SEQ(A a, B b)+ k[], C c) WHERE k[i].a.x > k[i-1].b.x {NEXT}"
    next_query, tables = query(pairs, POINTS), rows("ABABABC", "1223341")
    assert as_bindings(kernel_matches(next_query, tables)) == Counter(
        as_bindings(matches(next_query, tables))
    )
    assert len(kernel_matches(next_query, tables)) == 3


@pytest.mark.parametrize("strategy", [NEXT, STRICT])
@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B{2,3} b[], C c) WHERE b[i].x <= b[last].x",
        "SEQ(A a, B+ b[], C c) WHERE b[2].x > b[1].x",
        "SEQ(A a, B* b[], C c) WHERE b[last-1].x > b[1].x OR b[2].x IS NULL",
        "SEQ(A a, B+ b[], C c) WHERE b[i].x >= b[i-2].x",
        "SEQ(SEQ(A a, B? b)+ k[], C c) WHERE k[i].b.x > 1",
        "SEQ(SEQ(A a, B? b)+ k[], C c) WHERE k[i].b.x > c.x",
        "SEQ(SEQ(A a, B b)+ k[], C c) WHERE k[i].b.x > avg(k[..i-1].a.x)",
        "SEQ(SEQ(A a, (B? b : a.x < c.x))+ k[], C c)",
        "SEQ(SEQ(A a, B b){2} k[], C c) WHERE count(k[]) > k[i].a.x AND sum(k[].a.x) > 2",
        "SEQ(SEQ(A a, !C c, B b)+ k[], C d) WITHIN 9",
        "SEQ(A a, (B* b[] : a.x > 0 AND c.x > 1), C c)",
    ],
)
def test_what_runs_are_asked_as_a_whole(text: str, strategy: str) -> None:
    next_query, tally = query(f"{text} {strategy}", POINTS), Tally()
    for seed in range(6):
        tables = random_tables(Random(seed), lasting=False)
        check_pair(next_query, {**tables}, tally, seed)


def test_only_what_is_not_remembered_is_asked_of_the_whole_run() -> None:
    next_query = query(f"SEQ(A a, B+ b[], C c) WHERE b[i].x > b[2].x AND b[i].y > b[i-2].y {NEXT}", POINTS)
    (step,) = kernel_plan(next_query, (), "MILLISECOND").program.steps
    assert isinstance(step, Follow)
    # When the second element comes, the first is compared with it.
    assert [(move.least, move.most) for move in step.moves if move.checks] == [(1, 1)]


@pytest.mark.parametrize("strategy", [NEXT, STRICT])
@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B b, C c) WHERE concat(a.kind, b.x) = 'A1' OR concat(b.x, c.x) LIKE '2%'",
        "SEQ(A a, B+ b[], C c) WHERE concat(b[i].x, b[i-1].x, a.x) NOT LIKE '%1%'",
        "SEQ(A a, B? b, C c) WHERE concat(a.kind, b.kind) = 'AB' OR b IS NULL",
        "SEQ(A a, B b) WHERE CAST(a.y AS DECIMAL(9, 3)) + CAST(b.x AS DECIMAL(9, 3)) >= 1.5",
        "SEQ(A a, !(B n : concat(n.x, a.x) < '11'), C c)",
    ],
)
def test_texts_and_decimals_of_several_events(text: str, strategy: str) -> None:
    """What kernels cannot compute of whole columns they compute of single values."""
    next_query, tally = query(f"{text} {strategy}", POINTS), Tally()
    for seed in range(24):
        tables = random_tables(Random(seed), lasting=False)
        check_pair(next_query, {**tables}, tally, seed)
    assert tally.with_matches or strategy == STRICT


def test_runs_remember_what_is_asked_for() -> None:
    next_query = query(f"SEQ(A a, B b, C+ c[]) WHERE c[i].x > b.x WITHIN 9 {NEXT}", POINTS)
    (step,) = kernel_plan(next_query, (), "MILLISECOND").program.steps
    assert isinstance(step, Follow)
    assert [sorted(map(str, one.variables)) for one in route(step).needs] == [["a"], ["a", "b"], ["a", "b"]]


def test_long_lists_take_linear_time() -> None:
    """Nodes, one for each event that a run takes; lists are put together once."""
    next_query = query(f"SEQ(A a, B+ b[], C c) {NEXT}", POINTS)
    planned = kernel_plan(next_query, (), "MILLISECOND")
    count = 4000
    start = np.arange(count)
    kinds = {"A": start[:1], "B": start[1:-1], "C": start[-1:]}
    roles = {role.name: kinds[role.type] for role in planned.plan.roles}
    owned = (np.zeros(1, np.int64), np.full(1, count))
    events = KernelEvents(start, start, np.zeros(count, np.int64), roles, {}, owned)
    (piece,) = matching.matches(planned.program, events)
    (lists,) = (column for column in piece.values() if isinstance(column, EventLists))
    assert lists.length.tolist() == [count - 2]


def test_too_many_runs_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST_TAKEN", 3)
    with pytest.raises(KernelError, match="events were taken"):
        kernel_matches(query(f"SEQ(A a, B+ b[]) {NEXT}", POINTS), rows("ABBBBB"))


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_folds_are_those_of_whole_lists(function: str, kind: type[np.generic]) -> None:
    chance = np.random.default_rng(7)
    column = NullableArray(chance.integers(-3, 9, 40).astype(kind), chance.random(40) < 0.7)
    nowhere = np.zeros(40, np.int64)
    events = KernelEvents(nowhere, nowhere, nowhere, {}, {"x": column}, (nowhere, nowhere))
    elements = chance.integers(0, 40, (6, 5))
    fold = Fold("f", function, "b", "x", "double")
    parts = begun(fold, 6, events)
    for place in range(5):
        parts = added(fold, parts, elements[:, place], events)
    grown = ended(fold, parts, events)
    lists = EventLists(elements.ravel(), np.arange(6) * 5, np.full(6, 5))
    whole = folded(fold, lists, events)
    valid = np.ones(6, bool) if whole.valid is None else whole.valid
    assert (np.ones(6, bool) if grown.valid is None else grown.valid).tolist() == valid.tolist()
    assert grown.values[valid].tolist() == whole.values[valid].tolist()
    assert column.valid is not None
    for row, numbers in enumerate(elements):
        known = [column.values[n].item() for n in numbers if column.valid[n]]
        floats = [float(value) for value in known]
        expected = aggregate(function, known if function == "count" else floats, DOUBLE)
        assert (whole.values[row] if valid[row] else None) == expected


def test_words_mean_what_the_language_says() -> None:
    tally = definition_round(1, 80)
    assert tally.broken == []
    assert tally.pairs >= 200 and tally.with_matches >= 60, tally

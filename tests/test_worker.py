"""The worker's state is all that a run knows: a run that is cut at any batch, and goes on from the bytes of
its state, gives the same results in the same batches, whatever kernel it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import product
from random import Random
from typing import Any

import pyarrow as pa
import pytest
import row_fuzz
import sequential_fuzz
from bridging import PAIR, PROGRAMS, Row, batches, table
from fuzz_runner import checked
from generate.counted import events, query_text
from generate.imprecise import events as imprecise_events
from generate.imprecise import query_text as imprecise_text
from generate.rewritable import sample
from in_bridge import Way, bridge_matches
from in_counting import bound, counted_rows, planned
from in_imprecise import weighed
from in_rows import Way as RowWay
from in_rows import bound as row_query
from in_rows import recognized_by_kernel
from interrupting import Kernel, KernelRun, Results, State, advanced, recorded
from pattern_examples import imprecise_query, query
from test_temporal_kernel import random_temporal

from neelc.errors import NeelError
from neelc.ir.program import Column
from neelc.ir.types import INT, STRING
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.rows.plan.plan import row_plan
from neelc.runtime.failures import KernelFailure
from neelc.runtime.kernels.pattern_kernel import kernel as pattern
from neelc.runtime.kernels.pattern_kernel import pattern_kernel
from neelc.runtime.kernels.snapshots.kernel import coalescing, snapshots
from neelc.runtime.kernels.snapshots.program import CoalesceProgram, SnapshotAggregate, SnapshotProgram
from neelc.runtime.reference import LimitReached
from neelc.runtime.worker import WorkerLimits, WorkerState, initial_state, state_from_bytes, state_to_bytes

RUNS = 30
"""Of each kind."""
CUTS = 6
"""Of each run that has so many batches."""


def often(seed: int) -> Way:
    """Rows that are searched again and again, in two orders, in chunks of time or not."""
    chance = Random(seed)
    size, rows_at_once = chance.choice([1, 2, 3]), chance.choice([1, 2, 5])
    return Way(size, rows_at_once, chance.choice([None, None, 5]), chance.choice([None, 1, 4]), seed)


def random_patterns() -> None:
    """With windows and without, with keys and without."""
    for number in range(100):
        found = sample(number)
        with suppress(UnsupportedQuery):
            for place, tables in enumerate(found.tables):
                bridge_matches(found.match, tables, often(number + place))


CHOICES = ("AFTER MATCH SKIP PAST LAST EVENT", "AFTER MATCH SKIP TO b", "SUPPRESS 3", "ONE MATCH PER b")


def random_choices() -> None:
    """Of matches that are compared with those before them, with keys and without."""
    for seed, (clause, where) in enumerate(product(CHOICES * 4, ("", "WHERE [id]"))):
        chance = Random(seed)
        rest = {"user": "u", "x": 1.0, "n": 1}
        rows = [{"ts": t, "kind": chance.choice("ABC"), "id": 1 + t % 2, **rest} for t in range(60)]
        match = query(f"SEQ(A a, !C c, B b) {where} WITHIN {chance.randint(2, 9)} {clause} RETURN a.id")
        bridge_matches(match, {"S": rows}, often(seed))


def small_patterns() -> None:
    chance = Random(3)
    rows = [Row("b", 1, place // 3, 1 + place % 3) for place in range(40)]
    rows += [
        Row(chance.choice(["b", "ä", None]), 1, chance.randint(-8, 8), chance.randint(0, 7)) for _ in rows
    ]
    for program in PROGRAMS.values():
        for grain in (None, 2):
            ordered = table(rows, program.lasting, grain=grain)
            list(pattern(replace(program, grain=grain), 5)(batches(ordered, 7)))


def random_counts() -> None:
    for seed in range(150):
        chance = Random(seed)
        match = bound(query_text(chance))
        if match is not None and planned(match) is not None:
            counted_rows(match, {"S": one_after_the_other(chance, events)}, often(seed))


def random_confidences() -> None:
    for seed in range(60):
        chance = Random(seed)
        with suppress(NeelError, UnsupportedQuery):
            text = imprecise_text(chance)
            rows = one_after_the_other(chance, partial(imprecise_events, text=text, most_worlds=100))
            weighed(imprecise_query(text), {"S": rows}, often(seed))


def one_after_the_other(
    chance: Random, stream: Callable[[Random], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """A stream made of three."""
    rows = []
    for begin in (0, 9, 18):
        for row in stream(chance):
            later = {name: row[name] + begin for name in ("ts", "lo", "hi") if row.get(name) is not None}
            rows.append({**row, **later})
    return rows


def random_clauses() -> None:
    assert not checked(row_fuzz.check_clause, 5_000, 60).broken


LETTERS = "A AS kind = 'a', B AS kind = 'b'"
CLAUSES = (
    f"PATTERN (A B+) DEFINE {LETTERS}",
    f"PATTERN ((^ A) | (A B)) DEFINE {LETTERS}",
    f"PATTERN (A B+ C*) WITHIN 9 EVENTS DEFINE {LETTERS}",
    f"PATTERN (A B+? C*) WITHIN 9 SECONDS DEFINE {LETTERS}, C AS kind <> LAST(B.kind)",
    "PATTERN (A B+) DEFINE A AS x > PREV(x, 3), B AS NEXT(x) > x",
    "PATTERN (A B+ C??) DEFINE B AS x > A.x AND sum(x) < 60",
)


def long_partitions() -> None:
    """Of which a part is searched before the end has come."""
    chance = Random(5)
    rows: list[Any] = [{"t": t, "kind": chance.choice("abc"), "x": chance.randint(0, 9)} for t in range(120)]
    columns = (Column("t", INT), Column("kind", STRING), Column("x", INT))
    for clause, skip in product(CLAUSES, ("PAST LAST ROW", "TO NEXT ROW", "TO LAST B")):
        shown = f"MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP {skip}"
        query = row_query(f"ORDER BY t {shown} {clause}", columns, "SECOND")
        with suppress(KernelFailure):  # SKIP TO LAST B where there is none
            recognized_by_kernel(row_plan(query), rows, RowWay(3, 8))


def random_sequences() -> None:
    for seed in range(150):
        with suppress(LimitReached):
            sequential_fuzz.pair(seed)


def random_groups() -> None:
    for seed in range(150):
        sequential_fuzz.group(seed)


def random_snapshots() -> None:
    aggregates = tuple(SnapshotAggregate(name, "x", name) for name in ("count", "sum", "max", "list"))
    for seed in range(60):
        list(snapshots(SnapshotProgram(("k",), aggregates), seed % 7)(intervals(Random(seed))))


def random_intervals() -> None:
    for seed in range(60):
        list(coalescing(CoalesceProgram(("k",)), seed % 7)(intervals(Random(seed))))


def intervals(chance: Random) -> Iterator[pa.RecordBatch]:
    """Rows with a key and the times that they are valid at, in their order, in batches of a few."""
    starts = sorted((chance.choice("ab"), chance.randint(-5, 12)) for _ in range(chance.randint(5, 30)))
    rows = [
        {"k": k, "start": at, "end": at + chance.randint(1, 9), "x": chance.randint(0, 9)} for k, at in starts
    ]
    for first in range(0, len(rows), 3):
        yield pa.RecordBatch.from_pylist(rows[first : first + 3])


KINDS: dict[str, Callable[[], None]] = {
    "pattern": random_patterns,
    "matches kept": random_choices,
    "small pattern": small_patterns,
    "counting": random_counts,
    "imprecise": random_confidences,
    "rows": random_clauses,
    "long partitions": long_partitions,
    "sequential": random_sequences,
    "sequential group": random_groups,
    "snapshots": random_snapshots,
    "coalescing": random_intervals,
    "temporal": random_temporal,
}


@cache
def runs(kind: str) -> list[KernelRun]:
    """Runs that keep rows from one search to the next; half of them are those with the most facts."""
    carrying: list[tuple[int, KernelRun]] = []
    for run in recorded(KINDS[kind]):
        with suppress(KernelFailure):  # SKIP TO a variable that has no row
            states = list(run.states())
            run.whole()
            if any(state.due for state in states):
                carrying.append((sum(state.facts != run.kernel.facts() for state in states), run))
    first = [run for _, run in carrying[: RUNS // 2]]
    carrying.sort(key=lambda one: -one[0])
    return first + [run for _, run in carrying[: RUNS // 2]]


def is_cut_without_trace(run: KernelRun, spoiled: Callable[[State], State] | None = None) -> bool:
    """Whether its results are the same if it is interrupted after every batch, and at any of them."""
    whole = repr(run.whole())
    every = range(1, len(run.batches))
    single = Random(len(whole)).sample(every, min(CUTS, len(every)))
    return all(
        repr(run.interrupted(*cuts, spoiled=spoiled)) == whole
        for cuts in (every, *((cut,) for cut in single))
    )


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_can_be_cut_at_any_batch(kind: str) -> None:
    assert len(runs(kind)) >= 12
    assert sum(any(run.whole()) for run in runs(kind)) >= 10, "there are results"
    for run in runs(kind):
        assert is_cut_without_trace(run), run


def without_facts(state: State) -> State:
    return replace(state, facts=type(state.facts)())


def without_rows(state: State) -> State:
    return replace(state, parts=())


def without_the_last_row(state: State) -> State:
    *parts, last = state.parts or (pa.record_batch({}),)
    return replace(state, parts=(*parts, last.slice(0, last.num_rows - 1)) if state.parts else ())


def searched_too_early(state: State) -> State:
    return replace(state, due=0)


@pytest.mark.long
@pytest.mark.parametrize("spoiled", [without_facts, without_rows, without_the_last_row, searched_too_early])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_out_of_the_state_is_noticed(kind: str, spoiled: Callable[[State], State]) -> None:
    if kind == "coalescing" and spoiled is without_facts:
        return  # all that it knows is in its rows
    assert any(is_noticed(run, spoiled) for run in runs(kind))


def is_noticed(run: KernelRun, spoiled: Callable[[State], State]) -> bool:
    try:
        return not is_cut_without_trace(run, spoiled)
    except KernelFailure:
        return True


@pytest.mark.parametrize("place", range(5), ids=("row", "before", "begin", "number", "matched"))
def test_each_number_of_a_partition_matters(place: int) -> None:
    """The number of its row, and those of `SearchProgress`."""

    def spoiled(state: State) -> State:
        progress = ((*one[:place], 0, *one[place + 1 :]) for one in state.facts.progress)
        return replace(state, facts=type(state.facts)(tuple(progress)))

    assert any(is_noticed(run, spoiled) for kind in ("long partitions", "rows") for run in runs(kind))


def programs(kind: str) -> list[Any]:
    searches: list[Any] = [run.kernel.search for run in runs(kind)]
    return [search.args[0] for search in searches]


def test_the_runs_differ_in_what_matters() -> None:
    """Windows, orders, and how MATCH_RECOGNIZE goes on."""
    patterns = [*programs("pattern"), *programs("small pattern")]
    assert {one.reach is None for one in patterns} == {True, False}
    assert {one.grain is None for one in patterns} == {True, False}
    clauses = programs("rows")
    assert {one.skip for one in clauses} >= {"PAST", "NEXT", "LAST"}
    assert {one.reach is None for one in clauses} == {True, False}
    assert {one.order is None for one in clauses} == {True, False}
    assert any(state.facts.progress for run in runs("rows") for state in run.states())


def found(state: State, kernel: Kernel, rows: pa.Table) -> tuple[Results, State]:
    results, state = advanced(kernel, state, rows.to_batches(), is_last=False)
    return [batch.to_pylist() for batch in results], state


def test_matches_are_counted_across_a_cut() -> None:
    rows = table([Row("b", 1, place, 3) for place in range(40)])
    kernel = pattern_kernel(PAIR, WorkerLimits(10, most_matches=100))
    first, state = found(initial_state(kernel), kernel, rows.slice(0, 20))
    assert 0 < state.found == sum(map(len, first)) < 100
    again = state_from_bytes(kernel, state_to_bytes(state))
    assert (again.found, again.due, again.rows, again.facts) == (
        state.found,
        state.due,
        state.rows,
        state.facts,
    )
    with pytest.raises(KernelFailure, match="more than 100 matches"):
        found(again, kernel, rows.slice(20))
    found(replace(again, found=0), kernel, rows.slice(20))


def test_a_state_of_another_format_is_refused() -> None:
    kernel = pattern_kernel(PAIR, WorkerLimits())
    data = state_to_bytes(WorkerState(kernel.facts()))
    with pytest.raises(KernelFailure, match="format 2, and this neelc reads format 1"):
        state_from_bytes(kernel, data.replace(b'"format": 1', b'"format": 2'))


def test_a_long_batch_is_cut() -> None:
    """Or all of its rows would be in memory at once, with all that a search makes of them."""
    rows = table([Row("b", 1, place, 1 + place % 2) for place in range(100)]).combine_chunks()
    kernel = pattern_kernel(PAIR, WorkerLimits(10))
    _, state = advanced(kernel, initial_state(kernel), rows.to_batches(), is_last=False)
    assert state.rows < 20

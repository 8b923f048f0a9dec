"""The bridge between Spark and kernels: however rows are cut into batches, the matches are the same."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import bridging
import numpy as np
import pyarrow as pa
import pytest
from bridging import PAIR, PROGRAMS, ROWS, WIDTH, WINDOWED, Row, chunked, found, table
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupting import advanced

from neelc.runtime.failures import KernelFailure, parse_failure
from neelc.runtime.kernels import pattern_kernel as patterns
from neelc.runtime.kernels.events import KernelEvents
from neelc.runtime.kernels.gathering import output_schema
from neelc.runtime.kernels.pattern_kernel import KeepingProgress, SearchRows, kernel, pattern_kernel
from neelc.runtime.program import PatternProgram, VariableOutput
from neelc.runtime.worker import WorkerLimits, WorkerState, initial_state

# Each of them runs for every program.
FEW = settings(max_examples=15)
SOME = settings(max_examples=40)
SIZES = st.sampled_from([1, 2, 3, 7, 1000])
LONG = [Row("b", 1, place // 3, 1 + place % 3) for place in range(3000)]


@pytest.mark.parametrize("name", PROGRAMS)
@FEW
@given(rows=ROWS, size=SIZES, rows_at_once=SIZES)
def test_batches_do_not_matter(name: str, rows: list[Row], size: int, rows_at_once: int) -> None:
    program = PROGRAMS[name]
    events = table(rows, program.lasting)
    assert found(program, events, size, rows_at_once) == found(program, events)


@pytest.mark.parametrize("name", PROGRAMS)
@FEW
@given(rows=ROWS, size=SIZES, rows_at_once=SIZES, grain=st.sampled_from([1, 2, 4, 32]))
def test_the_order_does_not_matter(
    name: str, rows: list[Row], size: int, rows_at_once: int, grain: int
) -> None:
    program = PROGRAMS[name]
    whole = found(program, table(rows, program.lasting))
    mixed = table(rows, program.lasting, grain=grain)
    assert found(replace(program, grain=grain), mixed, size, rows_at_once) == whole


@pytest.mark.parametrize("name", WINDOWED)
@pytest.mark.parametrize("size", [1, 7])
def test_a_long_key_in_pieces(name: str, size: int) -> None:
    program = WINDOWED[name]
    kinds = [1, 2, 4, 2, 1, 1, 2, 2]
    rows = [Row("b", 1, n // 2, kinds[n * n % 61 % 8], n % 4, "xyz"[n % 3], n % 5) for n in range(99)]
    events = table(rows, program.lasting)
    whole = found(program, events)
    assert whole
    assert found(program, events, size, rows_at_once=3) == whole
    assert found(chunked(program, 4), table(rows, program.lasting, 4), size, rows_at_once=3) == whole
    mixed = table(rows, program.lasting, grain=4)
    assert found(replace(program, grain=4), mixed, size, rows_at_once=3) == whole


@pytest.mark.parametrize("name", WINDOWED)
@FEW
@given(rows=ROWS, size=SIZES, rows_at_once=SIZES, chunk=st.sampled_from([4, 10, 1000]))
def test_chunks_do_not_matter(name: str, rows: list[Row], size: int, rows_at_once: int, chunk: int) -> None:
    program = WINDOWED[name]
    whole = found(program, table(rows, program.lasting))
    pieces = table(rows, program.lasting, chunk)
    assert found(chunked(program, chunk), pieces, size, rows_at_once) == whole


@SOME
@given(ROWS, SIZES, SIZES)
def test_pairs_are_those_of_the_definition(rows: list[Row], size: int, rows_at_once: int) -> None:
    expected = [
        (first, second, a.start, b.start)
        for first, a in enumerate(rows)
        for second, b in enumerate(rows)
        if a.roles & 1 and b.roles & 2 and (a.room, a.ward) == (b.room, b.ward)
        if a.start < b.start <= a.start + WIDTH
    ]
    assert found(PAIR, table(rows), size, rows_at_once) == sorted(expected, key=repr)


def _texts(row: Row) -> bytes | None:
    return None if row.name is None else row.name.encode()


@SOME
@given(ROWS, SIZES, SIZES)
def test_conditions_have_the_order_of_spark(rows: list[Row], size: int, rows_at_once: int) -> None:
    pairs = found(PAIR, table(rows))
    expected = [pair for pair in pairs if _meets(rows[int(str(pair[0]))], rows[int(str(pair[1]))])]
    assert found(bridging.CONDITIONS, table(rows), size, rows_at_once) == expected


def _meets(a: Row, b: Row) -> bool:
    one, other = _texts(a), _texts(b)
    if one is None or other is None or a.number is None or b.number is None:
        return False
    return a.number < b.number and one <= other


def _states(
    program: PatternProgram, rows: pa.Table, size: int, rows_at_once: int
) -> Iterator[WorkerState[KeepingProgress]]:
    """The state after each batch."""
    kernel = pattern_kernel(program, WorkerLimits(rows_at_once))
    state = initial_state(kernel)
    for batch in bridging.batches(rows, size):
        _, state = advanced(kernel, state, [batch], is_last=False)
        yield state
    _, state = advanced(kernel, state, [], is_last=True)
    yield state


@pytest.mark.parametrize("name", WINDOWED)
@FEW
@given(rows=ROWS, size=SIZES, rows_at_once=SIZES)
def test_the_buffer_holds_a_window(name: str, rows: list[Row], size: int, rows_at_once: int) -> None:
    most = max((sum(_is_near(one, other) for other in rows) for one in rows), default=0)
    for state in _states(WINDOWED[name], table(rows), size, rows_at_once):
        assert state.rows == sum(part.num_rows for part in state.parts)
        # It is searched again when it has doubled.
        assert state.rows <= max(rows_at_once, 2 * most) + size


@FEW
@given(rows=ROWS, size=SIZES, rows_at_once=SIZES)
def test_the_buffer_holds_a_window_of_a_section(rows: list[Row], size: int, rows_at_once: int) -> None:
    grain = 2
    most = max(
        (sum(0 <= one.start - other.start <= 2 * WIDTH + grain for other in rows) for one in rows), default=0
    )
    for state in _states(replace(PAIR, grain=grain), table(rows, grain=grain), size, rows_at_once):
        assert state.rows <= max(rows_at_once, 2 * most) + size


def _is_near(one: Row, other: Row) -> bool:
    """Whether `other` is in the two windows that end with `one`."""
    return (one.room, one.ward) == (other.room, other.ward) and 0 <= one.start - other.start <= 2 * WIDTH


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize(
    "program",
    [PAIR, bridging.LOOKS_BACK, bridging.NO_WINDOW, replace(PAIR, grain=2), replace(PAIR, grain=1 << 20)],
)
def test_a_long_key_is_not_searched_again_and_again(
    program: PatternProgram, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    original = patterns.events_of

    def watched(program: PatternProgram, rows: SearchRows, *functions: Any) -> KernelEvents:
        sizes.append(len(rows.columns.start))
        return original(program, rows, *functions)

    monkeypatch.setattr(patterns, "events_of", watched)
    assert not list(_states(program, table(LONG), size, 1))[-1].rows
    assert len(LONG) <= sum(sizes) <= 3 * len(LONG)


def test_a_short_key_leaves_at_once() -> None:
    rows = [Row(None, place, place, 1) for place in range(50)]
    for state in _states(bridging.NO_WINDOW, table(rows), 1, 10):
        assert state.rows <= 10


TYPES = [
    pa.array([1, 1, None, None, 2], pa.int8()),
    pa.array(["ä", "ä", None, None, "b"]),
    pa.array(["ä", "ä", None, None, "b"]).dictionary_encode(),
    pa.array([b"x", b"x", None, None, b""]),
    pa.array([True, True, None, None, False]),
    pa.array([1, 1, None, None, 2], pa.decimal128(20, 3)),
    pa.array([1, 1, None, None, 2], pa.timestamp("us", "UTC")),
    pa.array([1, 1, None, None, 2], pa.date32()),
    pa.array([float("nan"), float("nan"), None, None, 2.0]),
    pa.array([{"x": 1}, {"x": 1}, None, None, {"x": None}]),
]


@pytest.mark.parametrize("values", TYPES, ids=lambda values: str(values.type))
@pytest.mark.parametrize("size", [1, 2, 1000])
def test_keys_and_payload_of_any_type(values: pa.Array, size: int) -> None:
    program = replace(
        PAIR, keys=("key",), outputs=(VariableOutput("a", "A", (("v", "key"),)), VariableOutput("b", ""))
    )
    columns = {"key": values, "start": pa.array([1, 2, 1, 2, 2]), "roles": pa.array([1, 2, 1, 2, 3])}
    results = list(kernel(program, size)(bridging.batches(pa.table(columns), size)))
    together = pa.Table.from_batches(results)
    assert together.schema == output_schema(program, pa.table(columns).schema)
    assert [str(match["A"]) for match in together.to_pylist()] == [
        str({"v": v.as_py()}) for v in (values[0], values[2])
    ]
    assert together.schema.field("A").type.field("v").type == values.type


def test_an_absent_variable_is_a_null_struct() -> None:
    results = list(kernel(bridging.EITHER)(bridging.batches(table([Row("b", 1, 3, 5)]), 1)))
    expected = {"id": 0, "name": None}
    rows = [row for batch in results for row in batch.to_pylist()]
    assert sorted(rows, key=repr) == [
        {"A": None, "C": expected, "match_start": 3, "match_end": 3},
        {"A": expected, "C": None, "match_start": 3, "match_end": 3},
    ]


def test_large_results_come_in_several_batches() -> None:
    rows = [Row("b", 1, place % 2, 1 + place % 2) for place in range(600)]
    sizes = [batch.num_rows for batch in kernel(PAIR)(bridging.batches(table(rows), 1000))]
    assert sum(sizes) == 300 * 300
    assert max(sizes) <= 50_000


@pytest.mark.parametrize("program", [PAIR, replace(PAIR, roles=())])
def test_nothing_comes_of_nothing(program: PatternProgram) -> None:
    assert list(kernel(program)(iter(()))) == []
    assert list(kernel(program)(iter(table([]).to_batches()))) == []
    assert list(kernel(program)(bridging.batches(table([Row("b", 1, 1, 0)]), 1))) == []


def _refused(program: PatternProgram, rows: pa.Table, most_matches: int = 10) -> dict[str, object]:
    with pytest.raises(KernelFailure) as caught:
        list(
            kernel(replace(program, labels=(("a", "Recycle a"),)), 2, most_matches)(bridging.batches(rows, 2))
        )
    copy = pickle.loads(pickle.dumps(caught.value))
    facts = parse_failure(f"PythonException: Traceback\n  KernelFailure: {copy}\n\tat java.lang.Thread")
    assert facts is not None
    assert (facts.pop("part"), facts.pop("window"), facts.pop("clock")) == ("Recycle a", WIDTH, "MILLISECOND")
    return facts


def test_too_many_matches() -> None:
    few = [Row("b", None, 0, 1), Row("b", None, 1, 2)]
    facts = _refused(PAIR, table([*few, *[Row("ä", 1, time, time % 2 + 1) for time in range(10)]]))
    assert {**facts, "message": "", "number": 0} == {
        "kind": "MAX_MATCHES", "message": "", "key": {"room": "ä", "ward": "1"}, "limit": 10, "number": 0,
        "start": 6,
    }  # fmt: skip
    assert "more than 10 matches in one task" in str(facts["message"])


def test_a_chunk_is_no_part_of_the_key() -> None:
    rows = [Row("ä", 1, time, 1 + time % 2) for time in range(10)]
    assert _refused(chunked(PAIR, 4), table(rows, chunk=4))["key"] == {"room": "ä", "ward": "1"}


def test_rows_out_of_order() -> None:
    rows = table([Row("b", 1, 2, 1), Row("b", 1, 5, 1)]).take([1, 0])
    facts = _refused(PAIR, rows)
    assert (facts["kind"], facts["key"]) == ("UNSORTED", {"room": "b", "ward": "1"})


Change = Callable[[pa.Table], pa.Table]
WRONG: dict[str, tuple[str, Change]] = {
    "no start": ("NULL_TIME", lambda rows: _with(rows, "start", pa.array([1, None], pa.int64()))),
    "start of another type": ("COLUMN", lambda rows: _with(rows, "start", pa.array([1.5, 2.5]))),
    "no such column": ("COLUMN", lambda rows: rows.drop_columns(["number"])),
    "condition on another type": ("COLUMN", lambda rows: _with(rows, "number", pa.array([b"x", b"y"]))),
    "comparison of other types": ("COLUMN", lambda rows: _with(rows, "other", pa.array([1.5, 2.5]))),
    "roles of another type": ("INTERNAL", lambda rows: _with(rows, "roles", pa.array([1.5, 2.5]))),
}


def _with(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, column)


@pytest.mark.parametrize("what", WRONG)
def test_input_that_does_not_fit(what: str) -> None:
    kind, change = WRONG[what]
    rows = table([Row("b", 1, 1, 1, 1, "x"), Row("b", 1, 2, 2, 1, "x")])
    assert _refused(bridging.CONDITIONS, change(rows))["kind"] == kind


def test_a_failure_of_the_input_is_not_explained() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield from table([Row("b", 1, 1, 1)]).to_batches()
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        list(kernel(PAIR)(broken()))


def test_places_of_counted_windows() -> None:
    from neelc.runtime.columns import places

    nothing = np.zeros(0, dtype=np.int64)
    assert [len(counts) for counts in places(nothing, nothing, nothing)] == [0, 0]

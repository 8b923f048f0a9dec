"""Small programs and tables for tests of the bridge between Spark and kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from neelc.runtime.kernels.pattern_kernel import kernel
from neelc.runtime.program import (
    Absent,
    Apply,
    Bounds,
    Choose,
    ColumnValue,
    PatternProgram,
    Take,
    Value,
    VariableOutput,
    Within,
)

WIDTH = 5
ROLES = ("A", "B", "C")
KEYS = ("room", "ward")

Found = list[tuple[object, ...]]


class Row(NamedTuple):
    """An event; `roles` has bit 0 for A, bit 1 for B, bit 2 for C."""

    room: str | None
    ward: int | None
    start: int
    roles: int
    number: int | None = None
    name: str | None = None
    lasts: int = 0


def _within(*events: str) -> tuple[Within, ...]:
    return (Within(events, WIDTH),)


def _outputs(*variables: str) -> tuple[VariableOutput, ...]:
    return tuple(VariableOutput(v, v.upper(), (("id", "id"), ("name", "name"))) for v in variables)


A: Take[Value] = Take("a", "A")
B: Take[Value] = Take("b", "B", Bounds(after=("a",), within=_within("a")))
C: Take[Value] = Take("c", "C", Bounds(after=("b",), within=_within("a", "b")))

PAIR = PatternProgram((A, B), _outputs("a", "b"), ROLES, KEYS, reach=WIDTH, looks_back=False, leader="a")
TRIPLE = replace(PAIR, steps=(A, B, C), outputs=_outputs("a", "b", "c"))
LESS = Apply("<", (ColumnValue("a", "number"), ColumnValue("b", "number")))
SAME = Apply("<=", (ColumnValue("a", "name"), ColumnValue("b", "other")))
CONDITIONS = replace(
    PAIR, steps=(A, replace(B, where=(LESS, SAME))), codings=(("name", "other"),), looks_back=True
)
BEFORE: Absent[Value] = Absent((Take("n", "C", Bounds(before=("a",), within=_within("a", "b"))),))
LOOKS_BACK = replace(PAIR, steps=(A, B, BEFORE), looks_back=True, leader=None)
LOOKS_AHEAD = replace(PAIR, steps=(A, B, Absent((C,))))
NO_WINDOW = replace(PAIR, steps=(A, replace(B, bounds=Bounds(after=("a",)))), reach=None)
COUNTED = replace(
    NO_WINDOW,
    steps=(
        A,
        replace(B, bounds=Bounds(after=("a",), within=(Within(("a",), 3, counted=True, member=True),))),
    ),
    counted=True,
)
LASTING = replace(PAIR, lasting=True)
LASTING_BACK = replace(LOOKS_BACK, lasting=True)
EITHER = replace(
    PAIR,
    steps=(Choose("m", 2), replace(A, when=(("m", 0),)), Take("c", "C", when=(("m", 1),))),
    outputs=_outputs("a", "c"),
)
HIDDEN = replace(PAIR, outputs=(VariableOutput("a", ""), *_outputs("b")))

PROGRAMS = {
    name.lower(): value for name, value in dict(globals()).items() if isinstance(value, PatternProgram)
}
WINDOWED = {name: program for name, program in PROGRAMS.items() if program.reach and not program.counted}

ROW = st.builds(
    Row,
    st.sampled_from(["b", "b", "ä", None]),
    st.sampled_from([1, 1, 1, None]),
    st.integers(-8, 8),
    st.sampled_from([1, 1, 2, 2, 3, 4, 7, 0]),
    st.none() | st.integers(0, 3),
    st.sampled_from([None, "x", "é", "\U0001f600", "\uffff"]),
    st.integers(0, 4),
)
ROWS = st.lists(ROW, max_size=6) | st.lists(ROW, min_size=15, max_size=30)


def table(
    rows: Iterable[Row], lasting: bool = False, chunk: int | None = None, grain: int | None = None
) -> pa.Table:
    """The rows in the order that a kernel asks for; with `chunk`, each in all chunks that may need it. With
    `grain`, keys have one of two hashes, and rows of a tick come as they are given."""

    def order(found: tuple[int, int, Row]) -> tuple[object, ...]:
        number, _, row = found
        key = (str(row.room), str(row.ward), number)
        return (*key, row.start) if grain is None else (len(key[0] + key[1]) % 2, row.start // grain)

    numbered = list(enumerate(rows))
    chunks = {place: _chunks(row.start, chunk) for place, row in numbered}
    placed = sorted(((number, place, row) for place, row in numbered for number in chunks[place]), key=order)
    only = [row for _, _, row in placed]
    columns = {
        "room": pa.array([row.room for row in only], pa.string()),
        "ward": pa.array([row.ward for row in only], pa.int32()),
        "chunk": pa.array([number for number, _, _ in placed], pa.int64()),
        "start": pa.array([row.start for row in only], pa.int64()),
        "end": pa.array([row.start + row.lasts * lasting for row in only], pa.int64()),
        "roles": pa.array([row.roles for row in only], pa.int32()),
        "number": pa.array([row.number for row in only], pa.int16()),
        "name": pa.array([row.name for row in only], pa.string()),
        "other": pa.array([row.name for row in only], pa.string()).dictionary_encode(),
        "id": pa.array([place for _, place, _ in placed], pa.int64()),
    }
    return pa.table(columns)


def _chunks(start: int, chunk: int | None) -> Iterable[int]:
    if chunk is None:
        return (0,)
    return range((start - WIDTH) // chunk, (start + WIDTH) // chunk + 1)


def chunked(program: PatternProgram, chunk: int) -> PatternProgram:
    return replace(program, keys=(*program.keys, "chunk"), chunk=chunk)


def batches(rows: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
    """Batches of `size` rows, and some of none."""
    yield from rows.slice(0, 0).to_batches()
    for batch in rows.combine_chunks().to_batches(max_chunksize=size):
        yield batch
        yield batch.slice(0, 0)


def found(program: PatternProgram, rows: pa.Table, size: int = 1000, rows_at_once: int = 1000) -> Found:
    """The matches, in some order that is always the same."""
    results = list(kernel(program, rows_at_once)(batches(rows, size)))
    names = [output.name for output in program.outputs if output.name]
    matches = [
        (
            *(None if match[name] is None else match[name]["id"] for name in names),
            match["match_start"],
            match["match_end"],
        )
        for batch in results
        for match in batch.to_pylist()
    ]
    return sorted(matches, key=repr)

"""Small streams of events: types A, B, C, D; attributes `id` and `x`; times 0 to 12, with ties and NULLs."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from neelc.ir.script import ColumnDefinition, CreateStream, PatternQuery, RunQuery, Script, Timestamp
from neelc.ir.types import BIGINT, INT, STRING

TYPES = ("A", "B", "C", "D")
LATEST = 12

Row = dict[str, object]

_ATTRIBUTES = (ColumnDefinition("kind", STRING), ColumnDefinition("id", INT), ColumnDefinition("x", INT))
STREAM = CreateStream(
    "S", (ColumnDefinition("ts", BIGINT), *_ATTRIBUTES), Timestamp("ts", unit="MILLISECOND"), type_by="kind"
)
"""Point events: what `rows()` makes."""
INTERVAL_STREAM = CreateStream(
    "S",
    (ColumnDefinition("ts", BIGINT), ColumnDefinition("te", BIGINT), *_ATTRIBUTES),
    Timestamp("ts", unit="MILLISECOND"),
    end="te",
    type_by="kind",
)
"""Events that last: what `rows(lasting=True)` makes."""


def rows(most: int = 8, types: tuple[str, ...] = TYPES, lasting: bool = False) -> SearchStrategy[list[Row]]:
    """At most `most` rows in any order; with `lasting`, each has an end `te >= ts`."""
    small = st.none() | st.integers(0, 2)
    values: dict[str, SearchStrategy[object]] = {
        "ts": st.integers(0, LATEST),
        **({"te": st.integers(0, 3)} if lasting else {}),
        "kind": st.sampled_from(types),
        "id": small,
        "x": st.none() | st.integers(-1, 3),
    }
    return st.lists(st.fixed_dictionaries(values).map(_with_end), max_size=most)


def _with_end(row: Row) -> Row:
    """`te` is drawn as a length."""
    match row:
        case {"ts": int(start), "te": int(length)}:
            return {**row, "te": start + length}
    return row


def script_of(query: PatternQuery, lasting: bool = False) -> Script:
    """The declaration of the stream, then the query over it."""
    return Script((INTERVAL_STREAM if lasting else STREAM, RunQuery(query)))

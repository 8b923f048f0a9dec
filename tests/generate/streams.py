"""Small streams of events: types A, B, C, D; attributes `id` and `x`; times 0 to 12, with ties and NULLs."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from neelc.ir.script import ColumnDefinition, CreateStream, PatternQuery, RunQuery, Script, Timestamp
from neelc.ir.types import BIGINT, INT, STRING

TYPES = ("A", "B", "A", "B", "C", "D")
"""A and B are frequent, so that matches are too."""
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
    """At most `most` rows in any order, seldom very few; with `lasting`, each has an end `te >= ts`."""
    values: dict[str, SearchStrategy[object]] = {
        "ts": st.integers(0, LATEST),
        **({"te": st.integers(0, 3)} if lasting else {}),
        "kind": st.sampled_from(types),
        "id": st.sampled_from([1, 2, 1, 2, 1, None]),
        "x": st.sampled_from([0, 1, 2, 3, -1, None]),
    }
    row = st.fixed_dictionaries(values).map(_with_end)
    return st.integers(0, 5).flatmap(
        lambda few: st.lists(row, min_size=most // 2 if few else 0, max_size=most)
    )


def _with_end(row: Row) -> Row:
    """`te` is drawn as a length."""
    match row:
        case {"ts": int(start), "te": int(length)}:
            return {**row, "te": start + length}
    return row


def script_of(query: PatternQuery, lasting: bool = False) -> Script:
    """The declaration of the stream, then the query over it."""
    return Script((INTERVAL_STREAM if lasting else STREAM, RunQuery(query)))

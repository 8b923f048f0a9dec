"""ORDER BY and LIMIT: rows come in the order that is asked for, on the reference and on the local engine."""

from __future__ import annotations

import pytest
from pattern_examples import query

import neelc
from neelc.arguments import Options
from neelc.ir.program import NamedQuery, Program
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pipeline import compile_program
from neelc.runtime.reference import run

ROWS = [
    {"ts": ts, "kind": "A", "id": id, "user": user, "x": x, "n": 0}
    for ts, id, user, x in [
        (1, 3, "b", None),
        (2, 1, "a", 2.0),
        (3, 2, None, float("nan")),
        (4, 1, "é", -1.0),
        (5, 2, "z", 2.0),
    ]
]

ORDERS = {
    "x": [1, 4, 2, 5, 3],
    "x DESC": [3, 2, 5, 4, 1],
    "x DESC NULLS FIRST, ts DESC": [1, 3, 5, 2, 4],
    "user NULLS LAST": [2, 1, 5, 4, 3],
    "id DESC, -ts": [1, 5, 3, 4, 2],
    "ts % 2, 1": [2, 4, 1, 3, 5],
    "a.x DESC, a.ts LIMIT 2": [3, 2],
    "length(user), id LIMIT 3": [3, 2, 4],
    "ts LIMIT 0": [],
}
"""What to order by, and the times of the rows; rows that are tied here are in the order of ts anyway."""

TEXT = "A a RETURN a.ts AS ts, a.id AS id, a.user AS user, a.x AS x ORDER BY {}"


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_rows(order: str) -> None:
    # The order of ties is not defined: here it is made so.
    text = TEXT.format(order if "LIMIT" in order else f"{order}, ts")
    match = query(text)
    ((_, result),) = run(Program(match.streams, (NamedQuery(None, match),)), {"S": ROWS})
    assert [row[0] for row in result.rows] == ORDERS[order]
    head = "CREATE STREAM S (ts BIGINT, kind STRING, id BIGINT, user STRING, x DOUBLE, n BIGINT) "
    script = f"{head}TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY kind; PATTERN {text}"
    found = neelc.local().sql(script, S=ROWS)
    assert [row[0] for row in found.collect()] == ORDERS[order]


def test_ties_of_limit_are_ordered_by_all_columns() -> None:
    order = query("A a RETURN a.x, a.id, a.user ORDER BY a_id DESC LIMIT 3").order
    assert order is not None and [str(item) for item in order.written] == ["a_id DESC", "a_x", "a_user"]


def test_streams_have_no_last_row() -> None:
    match = query("A a RETURN a.x ORDER BY a_x")
    with pytest.raises(UnsupportedQuery, match="there is no last one"):
        compile_program(Program(match.streams, (NamedQuery(None, match),)), options=Options(streaming=True))


def test_streams_have_no_last_match() -> None:
    match = query("A a RETURN match_number")
    with pytest.raises(UnsupportedQuery, match="needs all matches"):
        compile_program(Program(match.streams, (NamedQuery(None, match),)), options=Options(streaming=True))

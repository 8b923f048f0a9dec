"""Whole scripts: text, parsed, bound and run on the reference interpreter."""

from __future__ import annotations

import datetime

from neelc import syntax as parse
from neelc.program import bind
from neelc.runtime.reference import run
from neelc.source import Source

TRADES = "CREATE STREAM Trades (sym STRING, t BIGINT, price DOUBLE) TIMESTAMP BY t UNIT SECONDS TYPE BY sym;"
ROWS = [
    {"sym": sym, "t": t, "price": price}
    for sym, t, price in (("DELL", 1, 10.0), ("INTC", 2, 11.0), ("dell", 3, 9.0), ("IBM", 4, 12.0))
]


def results(text: str, **tables: list[dict[str, object]]) -> list[list[tuple[object, ...]]]:
    """The rows of each query of a script over TRADES."""
    source = Source(TRADES + "\n" + text)
    program = bind(parse.script(source), source)
    return [sorted(result.rows, key=repr) for _, result in run(program, {"Trades": ROWS, **tables})]


def test_types_are_matched_without_regard_to_case_unless_quoted() -> None:
    assert results("PATTERN Dell d RETURN d.t; PATTERN `DELL` d RETURN d.t;") == [[(1,), (3,)], [(1,)]]


def test_a_concept_is_the_union_of_its_members() -> None:
    text = "CREATE TYPE PC AS (DELL, INTC); PATTERN SEQ(PC a, PC b) WHERE a.price > b.price RETURN a.t, b.t;"
    assert results(text) == [[(1, 3), (2, 3)]]


def test_conditions_find_the_negative_part_they_belong_to() -> None:
    text = (
        "PATTERN SEQ(DELL a, !INTC b, IBM c) WHERE b.price > a.price AND c.price > a.price RETURN a.t, c.t;"
    )
    assert results(text) == [[(3, 4)]]


def test_default_columns() -> None:
    text = "PATTERN SEQ(INTC a, DELL+ b[], IBM? c);"
    intel, dell, ibm = ROWS[1], ROWS[2], ROWS[3]
    assert results(text) == [[(intel, [dell], None, 2, 3), (intel, [dell], ibm, 2, 4)]]


def test_a_query_over_a_query() -> None:
    text = """
        CREATE QUERY Fall AS PATTERN SEQ(DELL a, DELL b) WHERE a.price > b.price;
        PATTERN SEQ(Fall f, IBM c) RETURN f.a.price AS high, f.match_start AS begun, f.te AS ended, match_end;
    """
    assert results(text)[1] == [(10.0, 1, 3, 4)]


def test_aggregates_over_matches() -> None:
    text = "PATTERN SEQ(DELL a, IBM c) RETURN count(*) AS n, max(a.price) AS most;"
    assert results(text) == [[(2, 10.0)]]
    assert results(text, Trades=[]) == [[(0, None)]]


def test_collapsed() -> None:
    text = "PATTERN SEQ(DELL+ a[], IBM c) RETURN COLLAPSED a[].t AS a, count(a[]) AS n;"
    assert results(text) == [[([1, 3], 2)]]


def test_timestamps_and_a_partition() -> None:
    text = """
        CREATE STREAM Door (id INT, at TIMESTAMP, kind STRING) TIMESTAMP BY at TYPE BY kind;
        PATTERN SEQ(opened a, closed b) FROM Door PARTITION BY id WITHIN 1 MINUTE USING PARTITION CONTIGUITY
        RETURN a.id AS id, match_end;
    """
    noon = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)
    door = [
        {"id": id, "at": noon + datetime.timedelta(seconds=s), "kind": kind}
        for id, s, kind in ((1, 0, "opened"), (2, 1, "opened"), (1, 60, "closed"), (2, 62, "closed"))
    ]
    assert results(text, Door=door) == [[(1, noon + datetime.timedelta(minutes=1))]]


def test_imprecise_timestamps() -> None:
    text = """
        CREATE STREAM Pings (kind STRING, lo INT, hi INT) TIMESTAMP BETWEEN lo AND hi TYPE BY kind;
        PATTERN SEQ(a x, b y) FROM Pings WITH CONFIDENCE >= 0.75 RETURN y.lo AS lo, confidence;
    """
    pings = [
        {"kind": k, "lo": lo, "hi": hi} for k, lo, hi in (("a", 1, 2), ("b", 2, 3), ("b", 1, 2), ("b", 9, 9))
    ]
    assert results(text, Pings=pings) == [[(2, 0.75), (9, 1.0)]]

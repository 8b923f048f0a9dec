"""`neelc run --stats-out`, on the reference and on the local engine; tests/spark/test_gathering.py compares
Spark with the reference."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_line import Here

SCRIPT = """\
CREATE STREAM trades (ts BIGINT, sym STRING, id BIGINT, price DOUBLE)
  TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY sym FROM 'trades.csv';
CREATE QUERY up AS PATTERN SEQ(A a, B+ b[]) WHERE [id] AND a.price > 10 AND b[i].price > 12 WITHIN 10 SECONDS
  RETURN a.ts AS a;
PATTERN SEQ(up u, `C` c) WITHIN 10 SECONDS RETURN u.a AS a;
"""
TRADES = """ts,sym,id,price
1000,A,1,10
1500,a,1,11
2000,B,1,13
2500,B,,
,B,1,13
4000,C,1,1
5000,c,1,1
"""
WRITTEN = {
    "streams": {
        "trades": {
            "events": 6,
            "seconds": 4.0,
            "types": {
                "A": {"events": 2, "selectivities": {"price > 10": 0.5}},
                "B": {"events": 2, "selectivities": {"price > 12": 0.5}},
                "`C`": {"events": 1},
            },
            "columns": {"id": {"distinct": 1, "nulls": 0.166667}},
        }
    },
    "queries": {"up": {"rows": 1}, "query 2": {"rows": 1}},
}
RUN = ("run", "script.neel", "--stats-out", "stats.json", "--engine")


@pytest.fixture(params=["reference", "local"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def written(neelc: Here, *more: str, engine: str = "reference") -> dict[str, Any]:
    done = neelc(*RUN, engine, *more)
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(neelc.read("stats.json"))
    return found


@pytest.fixture
def trades(neelc: Here) -> Here:
    neelc.write("script.neel", SCRIPT)
    neelc.write("trades.csv", TRADES)
    return neelc


def test_what_is_counted(trades: Here, engine: str) -> None:
    assert written(trades, engine=engine) == WRITTEN


def test_only_what_the_requested_query_reads(trades: Here, engine: str) -> None:
    found = written(trades, "--query", "up", engine=engine)
    assert found["queries"] == {"up": {"rows": 1}}
    assert list(found["streams"]["trades"]["types"]) == ["A", "B"]


def test_the_file_is_read_again_and_used(trades: Here) -> None:
    written(trades)
    trades.write("trades.csv", TRADES + "9000,X,1," + "1" * 300_000 + "\n")  # too large to be counted
    assumed = trades("explain", "script.neel", "--mode", "cost").out
    used = trades("explain", "script.neel", "--mode", "cost", "--stats", "stats.json")
    assert used.status == 0 and used.err == ""
    assert "1,000,000" in assumed and "1,000,000" not in used.out
    _, _, facts = used.out.partition("the file of statistics")
    for fact in (
        "events of type A in trades 2",
        "events of type C in trades 1",
        "selectivity of a.price > 10.0D 0.5",
        "selectivity of b[i].price > 12.0D 0.5",
        "distinct values of id of type A in trades 1",
        "events of up 1",
    ):
        assert fact in " ".join(facts.split()), fact


def test_another_plan_is_chosen(trades: Here) -> None:
    """One key has all events, which the defaults do not know: then time is cut into chunks."""
    written(trades)
    trades.write("trades.csv", TRADES + "9000,X,1," + "1" * 300_000 + "\n")
    source = ("compile", "script.neel", "--query", "up")
    assumed, informed = trades(*source), trades(*source, "--stats", "stats.json")
    assert assumed.status == informed.status == 0
    assert "time is cut into chunks" not in assumed.out and "time is cut into chunks" in informed.out


def test_nothing_is_written_where_the_run_fails(trades: Here, engine: str) -> None:
    trades.write("stats.json", "before")
    trades.write("trades.csv", TRADES.replace("4000", "four"))
    assert trades(*RUN, engine).status == 3
    assert trades.read("stats.json") == "before"
    assert sorted(path.name for path in trades.directory.iterdir()) == [
        "script.neel",
        "stats.json",
        "trades.csv",
    ]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("-", "run --stats-out -: statistics are written to a file"),
        ("script.neel", "run --stats-out script.neel: that is the script itself"),
        ("trades.csv", "run --stats-out trades.csv: "),
        (".", "run --stats-out .: a directory"),
        ("rows.csv", "run --stats-out rows.csv: the rows go there, too"),
    ],
)
def test_what_must_not_be_replaced(target: str, reason: str, trades: Here, engine: str) -> None:
    done = trades(*RUN[:3], target, "--engine", engine, "--out", "rows.csv")
    assert done.status == 2 and reason in done.err


def test_a_stream_without_events(trades: Here, engine: str) -> None:
    trades.write("trades.csv", "ts,sym,id,price\n")
    found = written(trades, engine=engine)
    assert found["streams"]["trades"] == {
        "events": 0,
        "types": {"A": {"events": 0}, "B": {"events": 0}, "`C`": {"events": 0}},
    }
    assert trades("explain", "script.neel", "--stats", "stats.json").status == 0


def test_one_type_in_two_spellings_is_counted_once(trades: Here, engine: str) -> None:
    trades.write("script.neel", SCRIPT.replace("`C` c", "C c, `c` d"))
    assert list(written(trades, engine=engine)["streams"]["trades"]["types"]) == ["A", "B", "C"]
    assert trades("explain", "script.neel", "--stats", "stats.json").status == 0


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        ('{"up": {"rows": -1}}', "queries.up.rows: at least 0, not -1"),
        ('{"up": {"matches": 1}}', 'queries.up: no key "matches" belongs here; keys: rows'),
        ('{"up": 1}', "queries.up: an object is expected, found 1"),
    ],
)
def test_rows_of_queries_that_cannot_be(queries: str, reason: str, trades: Here) -> None:
    trades.write("stats.json", f'{{"queries": {queries}}}')
    done = trades("explain", "script.neel", "--stats", "stats.json")
    assert done.status == 2 and reason in done.err

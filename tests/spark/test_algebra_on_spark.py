"""Networks of the event algebra on Spark: at every instant what the reference interpreter says."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from random import Random
from typing import Any

import pytest
from algebra_fuzz import same_rows, table_of
from generate.network_agents import AGENTS
from generate.networks import Network, networks
from on_spark import Asking, Question, ask

from neelc import syntax as parse
from neelc.ir.program import Program
from neelc.pipeline import compile_program
from neelc.program import bind
from neelc.runtime.reference import Result, run
from neelc.runtime.reference.snapshots import differences
from neelc.source import Source


def problem(network: Network, found: object) -> str | None:
    """What is wrong, if anything is."""
    if not isinstance(found, Result):
        return f"{network.text}\n{found}"
    expected = run(network.program, network.tables)[-1][1]
    for time, one, other in differences(expected.rows, found.rows):
        return f"{network.text}\n{network.tables}\nat {time}: {one} expected, {other} found"
    return None


def some_of_all(random: Random) -> list[Network]:
    """Random networks: one with a pattern matcher, one with an agent, two others."""
    words = [("MATCH_RECOGNIZE_SEQUENTIAL",), tuple(f"{name}(" for name in AGENTS), ("SELECT",), ("SELECT",)]
    more = iter(networks(random, 200))
    return [next(one for one in more if any(word in one.text for word in several)) for several in words]


@pytest.mark.parametrize("chunks", [False, True])
def test_random_networks(spark: Any, chunks: bool) -> None:
    some = some_of_all(Random(f"spark {chunks}"))
    questions = [Question(str(n), one.program, one.tables) for n, one in enumerate(some)]
    asking = Asking(partitions=2, seed=1, batch=3, chunks=chunks)
    problems = [problem(some[int(one.name)], result) for one, result in ask(spark, questions, asking, 5)]
    assert [one for one in problems if one] == []


def test_subqueries_are_the_same_events_by_name(spark: Any) -> None:
    """Not only the same snapshots: what a window of one instant reads, inline and by name."""
    read = (one for one in networks(Random("by name"), 300) if one.as_events.by_name.text.count("named_") > 4)
    some = [one.as_events for one in islice((one for one in read if rows_of(one.as_events)), 4)]
    both = [network for one in some for network in (one, one.by_name)]
    questions = [Question(str(n), one.program, one.tables) for n, one in enumerate(both)]
    for question, found in ask(spark, questions, Asking(partitions=2, seed=1, batch=3), 4):
        network = both[int(question.name)]
        assert isinstance(found, Result), f"{network.text}\n{found}"
        assert same_rows(table_of(found.rows), rows_of(network)), network.text


def rows_of(network: Network) -> list[tuple[object, ...]]:
    return table_of(run(network.program, network.tables)[-1][1].rows)


def test_the_extended_filter_drops_no_match(spark: Any) -> None:
    """A pivot is rare, and every match has one; what is far from all of them is not in a match."""
    random = Random(4)
    rows = [
        {"k": random.choice("ab"), "ts": random.randint(0, 60), "x": random.randint(0, 4)} for _ in range(60)
    ]
    text = """CREATE STREAM S (k STRING, ts BIGINT, x INT) TIMESTAMP BY ts UNIT SECONDS;
    SELECT * FROM S MATCH_RECOGNIZE_SEQUENTIAL (
      MEASURES a.x AS first, c.x AS last WITHIN 5 SECONDS PARTITION BY k PATTERN ab*c
      DEFINE a AS x > 1, b AS x >= 0, c AS x = 3);"""
    network = Network(text, bound(text), {"S": rows})
    found = compile_program(network.program, 0)
    assert "extended filter" in found.source
    (answer,) = ask(spark, [Question("0", network.program, network.tables)], Asking(partitions=2, seed=1))
    assert run(network.program, network.tables)[-1][1].rows
    assert problem(network, answer[1]) is None


TYPED = """CREATE STREAM S (
  ts TIMESTAMP, k DOUBLE, d DECIMAL(10, 2), f FLOAT, b BOOLEAN, s STRING, day DATE, n BIGINT
) TIMESTAMP BY ts;
"""
OF_ALL_TYPES = (
    """SELECT k, sum(d) AS a, avg(d) AS b, sum(n) AS c, avg(n) AS e, stddev(d) AS g
    FROM S WINDOW(TIME 4 SECONDS) GROUP BY k;""",
    """SELECT min(d) AS a, max(f) AS b, min(b) AS c, max(s) AS e, min(day) AS g, sum(f) AS h, max(ts) AS i
    FROM S WINDOW(TIME 4 SECONDS JUMP 3 SECONDS);""",
    "SELECT DISTINCT k, s, f FROM S WINDOW(TIME 3 SECONDS);",
)


def test_all_types(spark: Any) -> None:
    random, begin = Random(2), datetime(2020, 1, 1, tzinfo=UTC)
    values: dict[str, list[object]] = {
        "k": [0.0, -0.0, math.nan, None, 1.0],
        "d": [None, Decimal("1.25"), Decimal("-3.10"), Decimal("99999999.99")],
        "f": [None, 0.5, math.inf, -1.25],
        "b": [True, False, None],
        "s": ["é", "z", "", None],
        "day": [None, date(2020, 1, 2), date(1960, 5, 5)],
        "n": [None, 2**62, -5, 7],
    }
    rows = [
        {
            "ts": begin + timedelta(seconds=random.randint(0, 20)),
            **{name: random.choice(several) for name, several in values.items()},
        }
        for _ in range(30)
    ]
    some = [Network(text, bound(TYPED + text), {"S": rows}) for text in OF_ALL_TYPES]
    questions = [Question(str(n), one.program, one.tables) for n, one in enumerate(some)]
    answers = ask(spark, questions, Asking(partitions=2, seed=1, batch=4))
    assert [
        found for found in (problem(some[int(one.name)], result) for one, result in answers) if found
    ] == []


def bound(text: str) -> Program:
    source = Source(text, "test")
    return bind(parse.read(source), source)

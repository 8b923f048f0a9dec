"""Networks of the event algebra on Spark: at every instant what the reference interpreter says."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from generate.networks import Network, networks
from on_spark import Asking, Question, ask

from neelc import parse
from neelc.bind import bind
from neelc.emit.compiled import compile_script
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


@pytest.mark.parametrize("chunks", [False, True])
def test_random_networks(spark: Any, chunks: bool) -> None:
    some = list(networks(Random(f"spark {chunks}"), 5))
    questions = [Question(str(n), one.program, one.tables) for n, one in enumerate(some)]
    asking = Asking(partitions=2, seed=1, batch=3, chunks=chunks)
    problems = [problem(some[int(one.name)], result) for one, result in ask(spark, questions, asking, 5)]
    assert [one for one in problems if one] == []


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
    source = Source(text, "matcher")
    network = Network(text, bind(parse.read(source), source), {"S": rows})
    found = compile_script(network.program, [0])
    assert "extended filter" in found.source
    (answer,) = ask(spark, [Question("0", network.program, network.tables)], Asking(partitions=2, seed=1))
    assert run(network.program, network.tables)[-1][1].rows
    assert problem(network, answer[1]) is None

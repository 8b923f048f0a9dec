"""MATCH_RECOGNIZE_SEQUENTIAL on Spark: what the enumeration of universes finds. (The case files are asked
with all others.)"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from generate.sequential import clause, events
from on_spark import Asking, Question, ask

from neelc import syntax as parse
from neelc.program import bind
from neelc.runtime.reference import Result, run
from neelc.source import Source

STREAM = "CREATE STREAM events (k INT, ts BIGINT, x INT, y DOUBLE, s STRING) TIMESTAMP BY ts;\n"


def question(number: int) -> Question:
    random = Random(f"sequential on Spark {number}")
    source = Source(
        f"{STREAM}SELECT * FROM events MATCH_RECOGNIZE_SEQUENTIAL ({clause(random, number % 2 == 1)});"
    )
    return Question(source.text, bind(parse.read(source), source), {"events": events(random, 12)})


def test_random_clauses(spark: Any) -> None:
    questions = [question(number) for number in range(12)]
    found_something = 0
    for one, result in ask(spark, questions, Asking(partitions=2, seed=1, batch=3)):
        assert isinstance(result, Result), f"{one.name}\n{result}"
        expected = run(one.program, one.tables)[-1][1]
        assert Counter(map(repr, result.rows)) == Counter(map(repr, expected.rows)), (
            f"{one.name}\n{one.tables}"
        )
        found_something += bool(expected.rows)
    assert found_something > 1

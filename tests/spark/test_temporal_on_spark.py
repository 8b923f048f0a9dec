"""MATCH_RECOGNIZE_TEMPORAL on Spark: what the choice of all events of all symbols finds. (The case files are
asked with all others.)"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any
from unittest.mock import patch

from generate.temporal import clause, events
from on_spark import Asking, Question, ask

from neelc import syntax as parse
from neelc.program import bind
from neelc.runtime.reference import Result, run
from neelc.runtime.reference import temporal as reference
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.values.order import comparable
from neelc.source import Source

STREAM = "CREATE STREAM events (k INT, ts BIGINT, x INT, y DOUBLE, s STRING, n INT) TIMESTAMP BY ts;\n"
MAX_CONFIGURATIONS = 20_000

Rows = Counter[object]


def question(number: int) -> tuple[Question, Rows] | None:
    """A random clause over one stream, and its rows; None if the clause needs several streams, or the
    reference gives up."""
    random = Random(f"temporal on Spark {number}")
    text, streams = clause(random)
    if streams is not None:
        return None
    source = Source(f"{STREAM}SELECT * FROM events MATCH_RECOGNIZE_TEMPORAL ({text});")
    asked = Question(
        f"{number}: {source.text}", bind(parse.read(source), source), {"events": events(random, 12)}
    )
    try:
        with patch.object(reference, "MAX_CONFIGURATIONS", MAX_CONFIGURATIONS):
            return asked, _as_bag(run(asked.program, asked.tables)[-1][1])
    except LimitReached:
        return None


def _as_bag(result: Result) -> Rows:
    """The rows, but for the order within lists: that of simultaneous events is open."""
    rows = ([sorted(one, key=repr) if isinstance(one, list) else one for one in row] for row in result.rows)
    return Counter(comparable(tuple(row)) for row in rows)


def compare(spark: Any, first: int, count: int) -> Counter[str]:
    """Fails where Spark finds other rows; says what was compared."""
    expected = {
        one.name: (one, rows) for one, rows in filter(None, map(question, range(first, first + count)))
    }
    seen: Counter[str] = Counter()
    asking = Asking(partitions=2, seed=first, batch=3)
    for one, result in ask(spark, [one for one, _ in expected.values()], asking):
        assert isinstance(result, Result), f"{one.name}\n{result}"
        rows = expected[one.name][1]
        found = _as_bag(result)
        assert found == rows, f"{one.name}\n{one.tables}\nlost {rows - found}\nadded {found - rows}"
        seen += Counter({"pairs": 1, "with rows": bool(rows), "rows": rows.total()})
    return seen


def test_random_clauses(spark: Any) -> None:
    assert compare(spark, 0, 24)["with rows"] > 3

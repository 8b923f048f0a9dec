"""Random queries over imprecise times: Spark finds the matches and the confidences that the reference finds,
however the events are split; many small streams in one, apart by a key or in time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from asked_cases import CASES, ask_cases
from generate import imprecise_worlds
from generate.imprecise import events, query_text
from on_spark import Asking, Question, Refusal, ask
from pattern_examples import query

from neelc.errors import NeelError
from neelc.ir.program import Match, NamedQuery, Program
from neelc.runtime.reference import LimitReached, Result, read
from neelc.runtime.reference.results import result, rows_of
from neelc.runtime.reference.worlds import find_matches
from neelc.runtime.values.order import comparable

HEAD = """CREATE STREAM S (
    lo BIGINT, hi BIGINT, kind STRING, id BIGINT, user STRING, x DOUBLE, n INT, run INT
  ) TIMESTAMP BETWEEN lo AND hi UNIT MILLISECONDS TYPE BY kind;
"""
STREAMS, APART, WORLDS = 5, 97, 12
WAYS = (
    Asking("kernel", partitions=1, shuffled=1, batch=1),
    Asking("kernel", partitions=3, shuffled=5, batch=2, chunks=True),
    Asking("kernel", shuffled=2, batch=10_000),
)
QUERIES = 15

Row = Mapping[str, object]
Confidences = dict[object, list[float]]


@dataclass(frozen=True)
class Combined:
    question: Question
    expected: Confidences


def combined(seed: int, kind: str | None = None) -> Combined | None:
    """A query over some streams at once, of a kind without one order, if one is given; None if it cannot be
    asked."""
    chance = Random(seed)
    text = query_text(chance) if kind is None else imprecise_worlds.query_text(chance, kind)
    in_time = "WITHIN" in text and "EVENTS" not in text and "PARTITION" not in text and seed % 2 == 1
    if not in_time:
        text = text.replace(" PARTITION BY id", " ").replace(" WITH", " PARTITION BY run WITH", 1)
        text = text if "PARTITION BY run" in text else f"{text} PARTITION BY run"
    try:
        match = query(text, HEAD)
        tables = [
            [moved(row, run, in_time) for row in events(chance, text, WORLDS)] for run in range(STREAMS)
        ]
        rows = [row for table in tables for row in found_by_reference(match, table)]
    except (NeelError, LimitReached):
        return None
    together = [row for table in tables for row in table]
    program = Program(match.streams, (NamedQuery(None, match),))
    return Combined(Question(f"{seed}: {text}", program, {"S": together}), confidences(rows))


def moved(row: Row, run: int, in_time: bool) -> Row:
    times = {name: row[name] for name in ("lo", "hi")}
    later = run * APART if in_time else 0
    return {
        **row,
        **{name: time + later for name, time in times.items() if isinstance(time, int)},
        "run": run,
    }


def found_by_reference(match: Match, table: Sequence[Row]) -> list[tuple[object, ...]]:
    found = find_matches(match, read(match, {"S": table}, {}))
    return result(match, rows_of(match, found)).rows


def confidences(rows: Sequence[tuple[Any, ...]]) -> Confidences:
    """What rows hold, and how likely each is: the last column."""
    found: Confidences = defaultdict(list)
    for *values, confidence in rows:
        found[comparable(values)].append(confidence)
    return {values: sorted(those) for values, those in found.items()}


def problems(spark: Any, questions: Sequence[Combined], asking: Asking) -> Iterator[str]:
    known = {one.question.name: one for one in questions}
    for asked, answer in ask(spark, [one.question for one in questions], asking):
        expected = known[asked.name].expected
        if isinstance(answer, Refusal) and "two ways" in answer.why:
            continue
        if not isinstance(answer, Result):
            yield f"{asking}: {asked.name}\n{answer}"
            continue
        found = confidences(answer.rows)
        if found.keys() != expected.keys() or any(
            found[row] != pytest.approx(expected[row], rel=0, abs=1e-9) for row in found
        ):
            yield f"{asking}: {asked.name}\nfound {found}\nexpected {expected}"


@pytest.mark.parametrize("place", range(len(WAYS)))
def test_cases(spark: Any, place: int) -> None:
    """All cases of imprecise times, each in one of the ways."""
    paths = sorted(CASES.glob("confidence/*.case"))[place :: len(WAYS)]
    asked = ask_cases(spark, paths, WAYS[place])
    assert asked.problems == []
    assert asked.answered >= len(paths) - 2, asked.refused


def test_pairs_without_one_order(spark: Any) -> None:
    kinds = ("and", "exists", "events", "or")
    drawn = (combined(seed, kinds[seed % len(kinds)]) for seed in range(500, 500 + QUERIES))
    questions = [one for one in drawn if one is not None]
    assert sum(bool(one.expected) for one in questions) > QUERIES // 3
    wrong = [
        problem
        for place, asking in enumerate(WAYS)
        for problem in problems(spark, questions[place :: len(WAYS)], asking)
    ]
    assert wrong == []


def test_pairs(spark: Any) -> None:
    questions = [one for seed in range(300, 300 + QUERIES) if (one := combined(seed)) is not None]
    assert sum(bool(one.expected) for one in questions) > QUERIES // 2
    uncertain = [value for one in questions for each in one.expected.values() for value in each if value < 1]
    assert len(uncertain) > 5 * QUERIES
    wrong = [
        problem
        for place, asking in enumerate(WAYS)
        for problem in problems(spark, questions[place :: len(WAYS)], asking)
    ]
    assert wrong == []

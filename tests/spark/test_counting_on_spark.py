"""Aggregates over matches on Spark, counted and enumerated."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from generate.counted import events, query_text
from in_counting import bound, differing, expected_rows, is_same, planned
from on_spark import Asking, Question, ask
from pattern_examples import query
from test_counting import stream

from neelc.api.errors import explain_failure
from neelc.ir.program import NamedQuery, Program
from neelc.pipeline import compile_program
from neelc.runtime.reference import Result, Tables

ASKED = 8
ASKING = Asking("counting", partitions=2, seed=1, shuffled=2, batch=4)


def question(text: str, tables: Tables) -> Question:
    match = query(text)
    return Question(text, Program(match.streams, (NamedQuery(None, match),)), tables)


def questions() -> list[Question]:
    found: list[Question] = []
    for seed in range(50_000, 50_000 + 2 * ASKED):
        chance = Random(seed)
        text = query_text(chance)
        match = bound(text)
        if match is not None and planned(match) is not None and len(found) < ASKED:
            found.append(question(text, {"S": events(chance)}))
    return found


def test_random_queries(spark: Any) -> None:
    wrong = []
    for asked, result in ask(spark, questions(), ASKING, together=30):
        if not isinstance(result, Result):
            wrong.append(f"{asked.name}: {result}")
            continue
        expected = expected_rows(asked.program.queries[0].match, asked.tables)
        if difference := differing(result.rows, expected):
            wrong.append(f"{asked.name}\n{asked.tables}\n{difference}")
    assert wrong == []


ITEMS = "a.user, count(*) + 1 AS n, sum(c.n) / count(*) AS m, max(max(b[].x)) AS x, avg(sum(b[].n)) AS s"


def test_expressions_of_aggregates(spark: Any) -> None:
    text = f"SEQ(A a, B+ b[], C c) WITHIN 1000 RETURN {ITEMS}"
    ((_, result),) = ask(spark, [question(text, stream("A" + "B" * 40 + "C"))], Asking())
    assert isinstance(result, Result), result
    ((user, count, mean, greatest, average),) = result.rows
    assert (user, count, mean, greatest) == ("u", 2**40, 41.0, 40.0)
    assert is_same(average, 820 * 2**39 / (2**40 - 1))


@pytest.mark.parametrize(("text", "answer"), [("count(*)", 0), ("sum(c.n)", None), ("avg(c.x)", None)])
def test_no_events(spark: Any, text: str, answer: object) -> None:
    asked = question(f"SEQ(A a, B+ b[], C c) RETURN {text}", stream(""))
    ((_, result),) = ask(spark, [asked], Asking("counting"))
    assert isinstance(result, Result) and result.rows == [(answer,)]


def failure_of(spark: Any, asked: Question) -> str | None:
    ((_, result),) = ask(spark, [asked], Asking("counting", partitions=3))
    found = explain_failure(RuntimeError(result))
    return None if found is None else str(found)


def test_too_many_to_count(spark: Any) -> None:
    text = "SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 1000 RETURN count(*)"
    one = stream("A" + "B" * 127 + "C")
    assert f"{2**127 - 1} matches are more than" in str(failure_of(spark, question(text, one)))
    # Two keys, each of which can be counted.
    rows = [{**row, "id": key} for key in (1, 2) for row in stream("A" + "B" * 126 + "C")["S"]]
    told = str(failure_of(spark, question(text, {"S": rows})))
    assert "more matches than a DECIMAL(38, 0) can count" in told
    told = str(failure_of(spark, question(text.replace("count(*)", "sum(a.n + 1)"), {"S": rows})))
    assert "a sum over all matches is more than a DECIMAL(38, 0) holds" in told


def test_more_matches_than_a_bigint_counts(spark: Any) -> None:
    text = "SEQ(A a, B+ b[], C c) WITHIN 1000 RETURN count(*), sum(c.n), max(b[last].n), max(count(b[]))"
    ((_, result),) = ask(spark, [question(text, stream("A" + "B" * 100 + "C"))], Asking("counting"))
    assert isinstance(result, Result), result
    assert result.rows == [(2**100 - 1, 101 * (2**100 - 1), 100, 100)]


@pytest.mark.parametrize("strategy", ["counting", "kernel"])
def test_counted_or_not_types_are_the_same(spark: Any, strategy: str) -> None:
    text = (
        "SEQ(A a, B+ b[], C c) WITHIN 1000 RETURN count(*), sum(c.n), sum(count(b[])), count(c.x), avg(c.n)"
    )
    asked = question(text, stream("ABBBC"))
    ((_, result),) = ask(spark, [asked], Asking(strategy))
    assert isinstance(result, Result), result
    assert result.rows == expected_rows(asked.program.queries[0].match, asked.tables)
    assert [type(value).__name__ for value in result.rows[0]] == ["Decimal"] * 4 + ["float"]


def test_lists_are_counted() -> None:
    asked = question("SEQ(A a, B+ b[]) WHERE [id] WITHIN 9 RETURN a.id, count(*)", {})
    assert compile_program(asked.program, 0).strategies == (("", "counting"),)


def test_few_matches_are_enumerated() -> None:
    asked = question("SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN a.id, count(*)", {})
    (found,) = compile_program(asked.program, 0).strategies
    assert found[1] != "counting"

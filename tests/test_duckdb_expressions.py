"""What is spelled for DuckDB has the type and the value of the reference, whatever the session's zone is."""

from __future__ import annotations

import pytest
from expressions import ROWS, check, context
from generate.typed import typed_expressions
from in_duckdb import ZONES, ExpectedValues, differences, events, references
from like_spark import AGGREGATES, AGREED, FAILING

from neelc.engines.spark.results import MatchLayout, over_match
from neelc.ir import expressions as e
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.values.times import in_zone
from neelc.scalar.spark.expressions import sql
from neelc.scalar.type_of import type_of

CORPUS = [text for text, _ in AGREED] + FAILING


def expected(expression: e.Expr, zone: str) -> ExpectedValues:
    with in_zone(zone):
        values = [evaluate(expression, context(number)) for number in range(len(ROWS))]
    return ExpectedValues(str(expression), sql(expression, references), type_of(expression), values)


@pytest.mark.parametrize("zone", ZONES)
def test_expressions_have_the_values_of_the_reference(zone: str) -> None:
    expressions = [check(text).expression for text in CORPUS]
    assert differences(events(zone), [expected(one, zone) for one in expressions]) == []


LAYOUT = MatchLayout("SECOND", str.lower, lambda reference, _: reference.name, lambda _, name: name)


@pytest.mark.parametrize("zone", ZONES)
def test_aggregates_over_lists_have_the_values_of_the_reference(zone: str) -> None:
    wanted = []
    for text, _ in AGGREGATES:
        expression = check(text).expression
        with in_zone(zone):
            value = evaluate(expression, context())
        written = over_match(expression, LAYOUT, lambda _: None)
        wanted.append(ExpectedValues(text, written, type_of(expression), [value] * len(ROWS)))
    assert differences(events(zone), wanted) == []


@pytest.mark.parametrize("seed", range(2))
def test_random_expressions_have_the_values_of_the_reference(seed: int) -> None:
    zone = ZONES[seed % 2]
    assert differences(events(zone), [expected(one, zone) for one in typed_expressions(seed, 150)]) == []

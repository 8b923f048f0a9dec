"""Sessions that read SQL otherwise: reserved words are no names, and backticks hold regular expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asked_cases import PATHS, ask_cases, questions
from on_spark import Asking, Refusal, built, check_columns, compiled

SETTINGS = ("spark.sql.ansi.enforceReservedKeywords", "spark.sql.parser.quotedRegexColumnNames")
NAMES = ("column-names.case", "columns-named-like-variables.case", "column-first.case", "unicode-names.case")
SHARES = {"kernel": 12, "join": 5, "window": 5}
"""One of how many cases is compiled and analysed; where names matter, they are run too."""


@pytest.fixture(autouse=True)
def settings(spark: Any) -> Iterator[None]:
    for name in SETTINGS:
        spark.conf.set(name, "true")
    yield
    for name in SETTINGS:
        spark.conf.unset(name)


def test_the_settings_are_what_they_seem(spark: Any) -> None:
    """Else the tests below would say nothing."""
    frame = spark.createDataFrame([(1, 2)], "`end` INT, `unit price` INT")
    for text in ("end > 0", "`unit price` > 0"):
        with pytest.raises(Exception, match=r"PARSE_SYNTAX_ERROR|INVALID_USAGE_OF_STAR_OR_REGEX"):
            frame.where(text).collect()


@pytest.mark.parametrize("strategy", ["kernel", "join"])
def test_odd_names(spark: Any, strategy: str) -> None:
    paths = [path for path in PATHS if path.name.endswith(NAMES)]
    asked = ask_cases(spark, paths, Asking(strategy, shuffled=1))
    assert asked.problems == []
    assert asked.answered >= {"kernel": 6, "join": 3}[strategy], asked.refused


@pytest.mark.parametrize("strategy", list(SHARES))
def test_spark_reads_what_is_emitted(spark: Any, strategy: str) -> None:
    asking, read = Asking(strategy), 0
    for question in questions(PATHS[:: SHARES[strategy]]):
        found = compiled(question, asking)
        if not isinstance(found, Refusal):
            check_columns(question, built(spark, question, found, asking))
            read += 1
    assert read >= {"kernel": 50, "join": 25, "window": 3}[strategy]

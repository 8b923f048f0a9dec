"""`neelc.why` on Spark: it reads the events of the key, and tells of them what is told without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from drawn_pictures import Rows
from time_lines import Made
from why_of_engines import QUERY, STREAM, WhyTests, stream
from whying import whys

import neelc


class TestWhyOnSpark(WhyTests):
    @pytest.fixture
    def session(self, spark: Any) -> neelc.Session:
        return neelc.Session(spark)

    @pytest.fixture
    def made(self, spark: Any) -> Made:
        def made(rows: Rows, schema: str) -> Any:
            return spark.createDataFrame([tuple(row.values()) for row in rows], schema)

        return made

    def test_without_a_session(self, spark: Any, made: Made) -> None:
        found = neelc.why(spark, f"PATTERN {QUERY}", key=7, S=stream(made))
        assert found.text == whys(QUERY, STREAM, key=["7"]).text

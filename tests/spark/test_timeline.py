"""Pictures of what Spark finds are those of the reference interpreter."""

from __future__ import annotations

from typing import Any

import pytest
from drawn_pictures import Rows
from time_lines import Made, TimeLines

import neelc


class TestTimeLinesOfSpark(TimeLines):
    @pytest.fixture
    def session(self, spark: Any) -> neelc.Session:
        return neelc.Session(spark)

    @pytest.fixture
    def made(self, spark: Any) -> Made:
        def made(rows: Rows, schema: str) -> Any:
            return spark.createDataFrame([tuple(row.values()) for row in rows], schema)

        return made

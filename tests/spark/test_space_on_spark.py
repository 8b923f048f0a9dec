"""Cases with geometries on Spark, however they are executed; and geometries as bytes."""

from __future__ import annotations

from typing import Any

import pytest
from asked_cases import CASES, ask_cases
from on_spark import Asking

import neelc

pytest.importorskip("shapely")
PATHS = sorted((CASES / "space").glob("*.case"))


@pytest.mark.parametrize("strategy", ["kernel", "join"])
def test_cases(spark: Any, strategy: str) -> None:
    asked = ask_cases(spark, PATHS, Asking(strategy, shuffled=1))
    assert asked.problems == []
    assert asked.answered >= (8 if strategy == "kernel" else 3), asked.refused


def test_geometries_may_be_bytes(spark: Any) -> None:
    rows = [(1, "A", bytes.fromhex(WKB)), (2, "B", b"no geometry"), (3, "B", None)]
    frame = spark.createDataFrame(rows, "ts BIGINT, kind STRING, pos BINARY")
    declared = "CREATE STREAM s (ts BIGINT, kind STRING, pos GEOMETRY) TIMESTAMP BY ts TYPE BY kind;\n"
    query = f"{declared} PATTERN s p RETURN p.ts AS ts, st_x(p.pos) AS x, p.pos AS pos"
    found = neelc.sql(spark, query, s=frame).collect()
    assert sorted(map(tuple, found)) == [(1, 1.0, "POINT (1 2)"), (2, None, None), (3, None, None)]


def test_geometries_of_spark(spark: Any) -> None:
    own = pytest.importorskip("pyspark.sql.types")
    if not hasattr(own, "GeometryType"):
        pytest.skip("this Spark has no GEOMETRY")
    frame = spark.sql(f"SELECT 1L AS ts, 'A' AS kind, st_geomfromwkb(X'{WKB}') AS pos")
    query = "PATTERN s p WHERE st_within(p.pos, 'POLYGON ((0 0, 3 3, 0 3, 0 0))') RETURN p.pos AS pos"
    stream = neelc.stream(frame, timestamp="ts", type="kind")
    assert [row.pos for row in neelc.sql(spark, query, s=stream).collect()] == ["POINT (1 2)"]


def test_correlators(spark: Any) -> None:
    positions = spark.createDataFrame(
        [(1, 1, "POINT (1 1)"), (2, 2, "POINT (9 9)"), (3, 3, "POINT (20 1)"), (4, 4, "POINT"), (5, 5, None)],
        "ts BIGINT, id INT, pos STRING",
    )
    areas = spark.createDataFrame(
        [(1, "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))"), (2, "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))")],
        "number INT, area STRING",
    )
    query = """CREATE STREAM s (ts BIGINT, id INT, pos GEOMETRY) TIMESTAMP BY ts;
        CREATE RELATION r (number INT, area GEOMETRY);
        SELECT s.id AS id, r.number AS number FROM s, r WHERE {}"""
    inside = neelc.sql(spark, query.format("st_contains(r.area, s.pos)"), s=positions, r=areas)
    assert sorted((row.id, row.number) for row in inside.collect()) == [(1, 1), (1, 2), (2, 2)]
    near = neelc.sql(spark, query.format("distance(r.area, s.pos) <= 10"), s=positions, r=areas)
    assert sorted((row.id, row.number) for row in near.collect()) == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2)]
    paths = """CREATE STREAM s (ts BIGINT, id INT, pos GEOMETRY) TIMESTAMP BY ts;
        SELECT trajectory(pos) AS path, distance(pos) AS length FROM s WINDOW(TIME 2 MILLISECONDS)"""
    found = {row.path for row in neelc.sql(spark, paths, s=positions).collect()}
    assert found == {"POINT (1 1)", "LINESTRING (1 1, 9 9)", "LINESTRING (9 9, 20 1)", "POINT (20 1)", None}


WKB = "0101000000000000000000f03f0000000000000040"

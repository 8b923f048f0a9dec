"""A spatial correlator on the local engine: positions in areas, by a grid, against the cross product.

The cross product of a million positions and ten thousand areas does not end in a useful time: it is measured
on a slice of the positions, with all areas, and multiplied. Both ask the same predicate, of the same texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import shapely
from bench.row import Row
from bench.sides import agree, seconds

import neelc

POSITIONS, AREAS, WIDTH = 1_000_000, 10_000, 1000.0
SLICE = 500

QUERY = """CREATE STREAM Positions (ts BIGINT, id BIGINT, pos GEOMETRY) TIMESTAMP BY ts;
CREATE RELATION Areas (number BIGINT, area GEOMETRY);
SELECT p.id AS id, a.number AS number FROM Positions p, Areas a WHERE {condition}"""
GRID = QUERY.format(condition="st_contains(a.area, p.pos)")
# No grid is used for this condition.
CROSS = QUERY.format(condition="st_contains(a.area, p.pos) IS TRUE")


def positions(count: int) -> pa.Table:
    chance = np.random.default_rng(1)
    points = shapely.points(chance.uniform(0, WIDTH, count), chance.uniform(0, WIDTH, count))
    numbers = np.arange(count)
    return pa.table({"ts": numbers, "id": numbers, "pos": shapely.to_wkt(points, rounding_precision=3)})


def areas(count: int) -> pa.Table:
    """Polygons of 16 corners, in each of which lie about 0.008 % of the positions."""
    chance = np.random.default_rng(2)
    middles = shapely.points(chance.uniform(0, WIDTH, count), chance.uniform(0, WIDTH, count))
    found = shapely.buffer(middles, chance.uniform(2, 8, count), quad_segs=4)
    return pa.table({"number": np.arange(count), "area": shapely.to_wkt(found, rounding_precision=3)})


def found(query: str, **tables: pa.Table) -> int:
    return sum(batch.num_rows for batch in neelc.local().sql(query, **tables))


def rows(scale: float) -> list[Row]:
    count = max(round(POSITIONS * scale), SLICE)
    whole, few = positions(count), areas(max(round(AREAS * scale), 100))
    part = whole.slice(0, SLICE)
    results: dict[str, Any] = {}

    def side(name: str, query: str, table: pa.Table) -> float:
        taken, _ = seconds(lambda: results.update({name: found(query, Positions=table, Areas=few)}))
        return taken

    side("warm", GRID, part)
    grid, cross = side("all", GRID, whole), side("cross product", CROSS, part)
    side("grid", GRID, part)
    estimated = cross * count / SLICE
    what = f"{count:,} positions in {few.num_rows:,} areas, {results['all']:,} pairs"
    slow = f"cross product {estimated:,.0f} s ({cross:.1f} s for {SLICE:,})"
    measured = f"{estimated / grid:.0f}x: grid {grid:.1f} s, {slow}"
    return [
        Row(
            what,
            measured,
            ">= 20x",
            estimated >= 20 * grid,
            {"grid": grid, "cross product of a slice": cross},
        ),
        agree("pairs of the slice", {name: results[name] for name in ("grid", "cross product")}),
    ]

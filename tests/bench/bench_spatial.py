"""A spatial correlator on the local engine: positions in areas, by a grid, against the cross product.

The cross product of a million positions and ten thousand areas does not end in a useful time: it is measured
on a slice of the positions, with all areas, and multiplied. Both ask the same predicate, of the same texts.
SedonaDB, where it can be installed, answers the same question with its own join; both read files of Parquet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from bench.data import BUILD
from bench.row import Row
from bench.sides import agree, seconds
from sedona import VERSION, Unavailable, ask, python

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


SEDONA = """SELECT p.id AS id, a.number AS number FROM positions p
JOIN areas a ON st_contains(st_geomfromtext(a.area), st_geomfromtext(p.pos))"""


def found(query: str, **tables: Any) -> int:
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
        *against_sedona(whole, few, what),
        Row(
            what,
            measured,
            ">= 20x",
            estimated >= 20 * grid,
            {"grid": grid, "cross product of a slice": cross},
        ),
        agree("pairs of the slice", {name: results[name] for name in ("grid", "cross product")}),
    ]


def against_sedona(whole: pa.Table, few: pa.Table, what: str) -> list[Row]:
    """No goal: SedonaDB is made for such joins, and knows no streams."""
    try:
        python()
    except Unavailable as why:
        return [Row(f"{what}: SedonaDB", str(why))]
    BUILD.mkdir(parents=True, exist_ok=True)
    paths = {name: BUILD / f"spatial-{name}.parquet" for name in ("positions", "areas", "pairs")}
    pq.write_table(whole, paths["positions"])
    pq.write_table(few, paths["areas"])
    files = {name: paths[name] for name in ("positions", "areas")}
    theirs = ask(SEDONA, files, paths["pairs"])
    counts: dict[str, int] = {}

    def ours() -> None:
        streams = {name: neelc.stream(str(path), timestamp="ts") for name, path in files.items()}
        counts["neelc"] = found(GRID, Positions=streams["positions"], Areas=str(paths["areas"]))

    taken, _ = seconds(ours)
    counts["SedonaDB"] = pq.read_metadata(paths["pairs"]).num_rows
    shown = f"neelc {taken:.1f} s, SedonaDB {VERSION} {theirs:.1f} s"
    return [
        Row(f"{what}, against SedonaDB", shown, numbers={"neelc": taken, "SedonaDB": theirs}),
        agree("pairs, as SedonaDB finds them", counts),
    ]

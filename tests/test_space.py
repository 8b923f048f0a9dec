"""Geometries: random conditions agree on the reference, the kernels and the local engine; lengths on the
Earth; and shapely is loaded by queries that have geometries only."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from repository import ROOT

from neelc.cli import main
from neelc.engines.spark.grids import MEETING
from neelc.runtime.space_columns import column_of_space, geometry_column
from neelc.runtime.values.functions import geodesic
from neelc.runtime.values.functions.space import SPATIAL, geometries, is_geometry, single, texts
from neelc.runtime.values.order import comparable
from neelc.scalar.signatures import SCALAR_SIGNATURES
from neelc.tools import cases
from neelc.tools.cases.local import run_locally

pa = pytest.importorskip("pyarrow")
shapely = pytest.importorskip("shapely")


def corner(chance: Random) -> str:
    return f"{chance.randrange(7)} {chance.randrange(7)}"


def geometry(chance: Random) -> str:
    """A geometry on a small grid, so that borders meet; sometimes an odd one, or none."""
    x, y, width, height = (chance.randrange(5) for _ in range(4))
    width, height = width + 1, height + 1
    box = f"(({x} {y}, {x + width} {y}, {x + width} {y + height}, {x} {y + height}, {x} {y}))"
    kinds = (
        f"POINT({corner(chance)})",
        f"LINESTRING({corner(chance)}, {corner(chance)}, {corner(chance)})",
        f"POLYGON{box}",
        f"MULTIPOINT({corner(chance)}, {corner(chance)})",
        f"MULTIPOLYGON({box})",
        f"POLYGON(({corner(chance)}, {corner(chance)}, {corner(chance)}, {corner(chance)}, 0 0))",
        f"GEOMETRYCOLLECTION(POINT({corner(chance)}), LINESTRING({corner(chance)}, {corner(chance)}))",
        *("POINT EMPTY", "POLYGON EMPTY", "POINT(1", "nothing"),
    )
    weights = (30, 10, 30, 5, 5, 5, 5, 2, 2, 3, 3)
    return chance.choices(kinds, weights)[0]


def constant(chance: Random) -> str:
    """A geometry as conditions may name it."""
    while not is_geometry(text := geometry(chance)):
        pass
    return text


PAIRS = tuple(name for name, one in SPATIAL.items() if one.takes == "gg" and one.gives == "boolean")


def condition(chance: Random, one: str, other: str) -> str:
    sides = [one, other]
    chance.shuffle(sides)
    if chance.random() < 0.2:
        sides[0] = f"st_buffer({sides[0]}, {chance.choice(('1', '0.5', '-1'))})"
    if chance.random() < 0.2:
        sides[1] = f"'{constant(chance)}'" if chance.random() < 0.5 else f"st_envelope({sides[1]})"
    pair = ", ".join(sides)
    metric = chance.choice(("", ", 'geodesic'"))
    near = 300_000 if metric else 2.5
    forms = [f"{name}({pair})" for name in PAIRS]
    forms += [f"st_distance({pair}{metric}) < {near}", f"st_dwithin({pair}, {near}{metric})"] * 3
    forms += [
        f"st_area(st_intersection({pair})) > 0",
        f"st_area({sides[0]}) <= st_area({sides[1]})",
        f"st_x(st_centroid({sides[0]})) < st_y(st_centroid({sides[1]}))",
    ]
    found = chance.choice(forms)
    return f"NOT {found}" if chance.random() < 0.15 else found


def random_case(chance: Random) -> str:
    rows = []
    for time in range(1, chance.randrange(6, 11)):
        written = "null" if chance.random() < 0.1 else f"'{geometry(chance)}'"
        rows.append(f"{time}  {chance.choice('AABBC')}  {chance.randrange(2)}  {written}")
    two, third = condition(chance, "a.g", "b.g"), condition(chance, "b.g", "c.g")
    between = condition(chance, "n.g", chance.choice(("a.g", "b.g")))
    steps = condition(chance, "b[i].g", "b[i-1].g")
    pattern = chance.choice(
        (
            f"SEQ(A a, B b) WHERE {two}",
            f"SEQ(A a, B b, C c) WHERE {two} AND {third}",
            f"AND(A a, B b) WHERE {two}",
            f"SEQ(A a, !C n, B b) WHERE {between}",
            f"SEQ(A a, !C n, B b) WHERE {two} AND {between}",
            f"SEQ(A a, B+ b[], C c) WHERE {steps}",
            f"SEQ(A a, B+ b[]) WHERE {steps} AND {condition(chance, 'b[first].g', 'a.g')}",
            f"SEQ(A a, B? b) WHERE {two}",
            "SEQ(A a, B+ b[]) WHERE distance(b[].g) < 4 AND st_x(trajectory(b[].g)) IS NULL",
        )
    )
    events = "\n".join(rows)
    query = f"PATTERN {pattern}\nWITHIN 5 MILLISECONDS RETURN a.ts AS a, a.g AS g"
    return f"# Random.\nevents s\nts  kind  id  g:GEOMETRY\n{events}\n\nquery\n{query}\n"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_engines_agree_on_random_geometries(tmp_path: Path, seed: int) -> None:
    chance, found, path = Random(seed), 0, tmp_path / "random.case"
    for _ in range(25):
        path.write_text(random_case(chance))
        cases.update(path)
        case = cases.load(path)
        assert not isinstance(case.expected, str), path.read_text()
        found += "matches none" not in path.read_text()
        for outcome in (run_locally(case), cases.run_case(case), cases.run_as_stream(case)):
            assert outcome.passed, f"{path.read_text()}\n{outcome.diff}"
    assert found > 3


# Columns, single values and texts.


@pytest.mark.parametrize("name", sorted(SPATIAL))
def test_columns_have_the_values_of_single_calls(name: str) -> None:
    chance, function = Random(name), SPATIAL[name]
    drawn: dict[str, Callable[[], object]] = {
        "g": lambda: geometry(chance),
        "n": lambda: chance.choice((0.5, 2.0, -1.0)),
        "b": lambda: chance.choice((bytes.fromhex(WKB), b"", b"\x01")),
        "o": lambda: "geodesic",
        "l": lambda: [geometry(chance) for _ in range(chance.randrange(4))],
    }
    for takes in {function.takes, function.takes.rstrip("o")}:
        rows = [
            [None if chance.random() < 0.1 and kind != "o" else drawn[kind]() for kind in takes]
            for _ in range(60)
        ]
        expected = [None if None in row else single(name)(*row) for row in rows]
        columns = [pa.array(list(column)) for column in zip(*rows, strict=True)]
        assert comparable(column_of_space(name, columns).to_pylist()) == comparable(expected)
        for place, kind in enumerate(takes):
            if kind == "g" and len(takes) > 1:
                fixed = geometry(chance)
                others = [column for at, column in enumerate(columns) if at != place]
                wanted = [
                    None
                    if None in row[:place] + row[place + 1 :]
                    else single(name)(*row[:place], fixed, *row[place + 1 :])
                    for row in rows
                ]
                found = column_of_space(name, others, {place: fixed}).to_pylist()
                assert comparable(found) == comparable(wanted)
    assert any(one is not None for one in expected)


WKB = "0101000000000000000000f03f0000000000000040"


def test_texts_keep_every_bit() -> None:
    chance = np.random.default_rng(1)
    bits = chance.integers(0, 2**63, (2, 2000), dtype=np.uint64).view(float)
    x, y = np.where(np.isfinite(bits), bits, 0.1)
    again = geometries(texts(shapely.points(x, y)))
    assert (shapely.get_x(again) == x).all() and (shapely.get_y(again) == y).all()


def test_texts_that_are_repeated_are_read_once() -> None:
    rows = ["POLYGON ((0 0, 1 0, 1 1, 0 0))", None, "POINT (1"] * 50
    found = geometry_column(pa.array(rows))
    assert found.values[0] is found.values[3] and shapely.is_prepared(found.values[0])
    assert found.valid is not None and found.valid.tolist() == [True, False, False] * 50


def test_every_function_has_a_signature() -> None:
    spatial = {name for name in SCALAR_SIGNATURES if name.startswith("st_")}
    assert spatial == set(SPATIAL)
    for name in spatial:
        signature = SCALAR_SIGNATURES[name]
        kinds = {
            "geometry": "g",
            "DOUBLE": "n",
            "metric": "o",
            "BINARY": "b",
            "STRING": "g",
            "geometries": "l",
        }
        found = "".join(kinds[kind] for kind in (*signature.required, *signature.optional))
        assert found == SPATIAL[name].takes


# Lengths on the Earth, by GeographicLib.


@pytest.mark.parametrize(
    ("one", "other", "metres"),
    [
        ((13.4, 52.52), (13.74, 51.05), 165_230.69790787902),
        ((0, 0), (1, 0), 111_319.49079327358),
        ((0, 0), (0, 1), 110_574.38855779878),
        ((179, 0), (-179, 0), 222_638.98158654716),
        ((-0.1278, 51.5074), (151.2093, -33.8688), 16_989_295.77054045),
        ((5, 5), (5, 5), 0.0),
    ],
)
def test_geodesics(one: tuple[float, float], other: tuple[float, float], metres: float) -> None:
    arrays = [np.array([part], float) for part in (*one, *other)]
    assert geodesic.distance(*arrays)[0] == pytest.approx(metres, abs=1e-4)
    assert geodesic.on_sphere(*arrays)[0] == pytest.approx(metres, rel=0.006)
    line = f"LINESTRING ({one[0]} {one[1]}, {other[0]} {other[1]})"
    assert single("st_length")(line, "geodesic") == pytest.approx(metres, abs=1e-4)


def test_opposite_points_have_nearly_the_right_distance() -> None:
    found = geodesic.distance(*(np.array([one]) for one in (0.0, 0.0, 179.7, 0.0)))
    assert found[0] == pytest.approx(20_003_931.4586, rel=0.005)
    assert np.isnan(geodesic.distance(*(np.array([one]) for one in (0.0, 91.0, 0.0, 0.0))))[0]


def test_distances_to_areas_on_the_earth() -> None:
    """A degree of longitude is half as long in the north."""
    area = "POLYGON ((10 59, 11 59, 11 61, 10 61, 10 59))"
    distance = single("st_distance")
    assert distance("POINT (9 60)", area, "geodesic") == pytest.approx(55_800, rel=0.01)
    assert distance("POINT (10.5 60)", area, "geodesic") == 0.0
    assert distance("POINT EMPTY", area, "geodesic") is None
    assert single("st_perimeter")(area, "geodesic") == pytest.approx(557_000, rel=0.01)


# shapely is loaded when it is needed.

PLAIN = "events s\nts  kind\n1  A\n2  B\n\nquery\nPATTERN SEQ(A a, B b) RETURN b.ts AS b\n\nmatches\nb\n2\n"
RUN = """
import sys
{before}
from neelc.cli import main
from neelc.tools import cases
from neelc.tools.cases.local import run_locally
case = cases.load(sys.argv[1])
for outcome in (cases.run_case(case), run_locally(case)):
    {check}
print("shapely" in sys.modules)
"""


def in_new_process(path: Path, before: str = "", check: str = "assert outcome.passed, outcome.diff") -> str:
    code = RUN.format(before=before, check=check)
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_plain_queries_do_not_load_shapely(tmp_path: Path) -> None:
    path = tmp_path / "plain.case"
    path.write_text(f"# Plain.\n{PLAIN}")
    assert in_new_process(path) == "False\n"
    path.write_text(f"# Plain.\n{PLAIN.replace('a, B b)', 'a, B b) WHERE st_x(st_point(a.ts, b.ts)) < 5')}")
    assert in_new_process(path) == "True\n"


def test_without_shapely_the_error_says_how_to_install_it(tmp_path: Path) -> None:
    path = tmp_path / "spatial.case"
    path.write_text(f"# Spatial.\n{PLAIN.replace('a, B b)', 'a, B b) WHERE st_x(st_point(a.ts, b.ts)) < 5')}")
    said = in_new_process(path, "sys.modules['shapely'] = None", "print(outcome.diff)")
    assert "error[NEEL5093]" in said
    assert said.count("functions of geometries require shapely: pip install 'neelc[spatial]'") == 2


# Correlators by the cells of a grid.


def near(chance: Random) -> str:
    """A condition that a grid can be used for."""
    one, other = chance.sample(["a.g", "b.g"], 2)
    distance = chance.choice(("2", "0", "-1", "1.5", f"{one[0]}.r"))
    metric, far = chance.choice((("", distance), (", 'geodesic'", f"{distance} * 90000")))
    return chance.choice(
        (
            *(f"{name}({one}, {other})" for name in MEETING),
            f"st_dwithin({one}, {other}, {far}{metric})",
            f"st_distance({one}, {other}{metric}) <= {far}",
            f"{far} > st_distance({one}, st_buffer({other}, 1){metric})",
        )
    )


def random_correlator(chance: Random) -> str:
    streams = []
    for name in "st":
        rows = "\n".join(
            f"{time}  {time}  '{geometry(chance)}'  {chance.randrange(3)}"
            for time in sorted(chance.choices(range(1, 30), k=chance.randrange(4, 14)))
        )
        streams.append(f"events {name} type none\nts  id  g:GEOMETRY  r:INT\n{rows}\n")
    window = f"WINDOW(TIME {chance.randrange(1, 25)} MILLISECONDS)"
    more = chance.choice(("", " AND a.r <= b.r", f" AND {near(chance)}"))
    query = f"SELECT a.id AS one, b.id AS other FROM s a {window}, t b {window} WHERE {near(chance)}{more}"
    return f"# Random.\n{''.join(streams)}\nquery\n{query}\n"


@pytest.mark.parametrize("seed", range(4))
def test_correlators_agree_on_random_geometries(tmp_path: Path, seed: int) -> None:
    chance, path, found = Random(seed), tmp_path / "random.case", 0
    for _ in range(8):
        path.write_text(random_correlator(chance))
        cases.update(path)
        case = cases.load(path)
        assert not isinstance(case.expected, str), path.read_text()
        found += "matches none" not in path.read_text()
        for outcome in (run_locally(case), cases.run_as_stream(case)):
            assert outcome.passed, f"{path.read_text()}\n{outcome.diff}"
    assert found > 1


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_both_queries_of_the_example_find_the_same_storm(
    engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = []
    for name in ("storms.neel", "temporal.neel"):
        path = ROOT / "docs" / "examples" / "storms" / name
        assert main(["run", "--engine", engine, "--format", "json", str(path)]) == 0
        (line,) = capsys.readouterr().out.splitlines()
        rows.append(json.loads(line))
    by_rows, by_intervals = rows
    assert by_intervals["storm_id"] == by_rows["id"] == 1
    for name in ("berlin", "dresden", "storm_polygon"):
        assert by_intervals[name] == by_rows[name]

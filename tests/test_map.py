"""The map of a picture: which positions and outlines it has, and where they are drawn."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from browser import Page, browser, page
from drawn_pictures import drawn

from neelc.cli import main
from neelc.runtime.values.functions import space
from neelc.tools.report.page import limits, report_page
from neelc.tools.report.picture import Picture

pytest.importorskip("shapely", reason="never: the extra `spatial` is not installed")

SHIPS = "CREATE STREAM P (ts BIGINT, ship STRING, pos GEOMETRY) TIMESTAMP BY ts UNIT SECOND;\n"
NEAR = "PATTERN SEQ(P a, P b) WHERE [ship] AND st_distance(a.pos, b.pos) < 3 WITHIN 9"
STORMS = Path(__file__).parent.parent / "docs" / "examples" / "storms"


def at(*positions: str, ship: str = "a") -> list[dict[str, object]]:
    return [{"ts": number, "ship": ship, "pos": one} for number, one in enumerate(positions)]


def picture(query: str, rows: Sequence[Mapping[str, object]], head: str = SHIPS) -> Picture:
    return drawn(query.replace("P a", "S a").replace("P b", "S b"), rows, head=head.replace(" P (", " S ("))


def test_positions_belong_to_their_matches() -> None:
    found = picture(NEAR, [*at("POINT (0 0)", "POINT (1 0)", "POINT (9 9)"), *at("POINT (4 4)", ship="b")])
    places = found.places
    assert places is not None
    assert [(one.text, one.key, one.matches) for one in places.positions] == [
        ("POINT (0 0)", ("a",), (0,)),
        ("POINT (4 4)", ("b",), ()),
        ("POINT (1 0)", ("a",), (0,)),
        ("POINT (9 9)", ("a",), ()),
    ]
    html = report_page([found])
    assert html.count('class="position point matched"') == 2 and html.count('class="way matched"') == 1
    assert "coordinates as they are" in html and "km</text>" not in html


def test_points_of_two_columns_in_degrees() -> None:
    head = "CREATE STREAM P (ts BIGINT, ship STRING, lon DOUBLE, lat DOUBLE) TIMESTAMP BY ts UNIT SECOND;\n"
    query = "PATTERN SEQ(P a, P b) WHERE st_distance(st_point(a.lon, a.lat), st_point(b.lon, b.lat), 'geodesic') < 9000000 WITHIN 9"  # noqa: E501
    rows = [
        {"ts": n, "ship": "a", "lon": lon, "lat": lat} for n, (lon, lat) in enumerate([(10, 59), (12, 61)])
    ]
    html = report_page([picture(query, rows, head)])
    assert "longitude and latitude" in html and re.search(r"\d+ km</text>", html)
    # At 60 degrees, a degree of longitude is half as long as one of latitude.
    x, y = (
        [float(one) for one in pair]
        for pair in zip(*re.findall(r'<path d="M([\d.]+) ([\d.]+)h0"', html), strict=True)
    )
    assert (x[1] - x[0]) / (y[0] - y[1]) == pytest.approx(0.5, abs=0.01)


def test_outlines_are_constants_of_the_query_and_rows_of_relations() -> None:
    query = NEAR + " "
    query = query.replace("WITHIN", "AND st_within(a.pos, 'POLYGON ((0 0, 4 0, 4 4, 0 0))') WITHIN")
    found = picture(query, at("POINT (1 0)", "POINT (1 1)"))
    assert found.places is not None
    assert [one.text for one in found.places.outlines] == ["POLYGON ((0 0, 4 0, 4 4, 0 0))"]
    joined = SHIPS.replace(" P (", " S (") + "CREATE RELATION Ports (name STRING, area GEOMETRY);\n"
    text = "SELECT s.ship FROM S s, Ports p WHERE st_within(s.pos, p.area)"
    kiel: dict[str, object] = {"name": "Kiel", "area": "POLYGON ((0 0, 4 0, 4 4, 0 0))"}
    rows = {"S": at("POINT (1 1)"), "Ports": [kiel]}
    outlines = drawn_with(text, joined, rows).places
    assert outlines is not None and [one.label for one in outlines.outlines] == ["Kiel"]


def drawn_with(text: str, head: str, tables: Mapping[str, list[dict[str, object]]]) -> Picture:
    from drawn_pictures import bound

    from neelc.tools.report.drawing import DrawnQuery, drawn_query, reference_picture

    source, program = bound(text, head)
    subject = DrawnQuery("some.neel", "query 1", text, drawn_query(program.queries[0], source))
    return reference_picture(subject, program, 0, tables)


def test_what_has_no_place_is_left_out() -> None:
    odd = picture(NEAR, at("POINT (1", "POINT EMPTY"))
    assert odd.places is None and 'class="places"' not in report_page([odd])
    plain = drawn("PATTERN SEQ(A a, B b) WITHIN 5", [{"ts": 0, "kind": "A", "id": 1, "x": "x"}])
    assert plain.places is None


def test_geometries_of_all_kinds() -> None:
    texts = (
        "MULTIPOINT (1 1, 2 2)",
        "GEOMETRYCOLLECTION (POINT (0 0), LINESTRING (0 0, 1 1))",
        "POLYGON ((0 0, 9 0, 9 9, 0 0), (5 1, 6 1, 6 2, 5 1))",
        "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((3 3, 4 3, 4 4, 3 3)))",
        "LINESTRING (0 0, 1 5)",
    )
    html = report_page([picture(NEAR, at(*texts))])
    shapes = re.findall(r'<g class="position (\w+)', html)
    assert shapes == ["point", "line", "area", "area", "line"]
    assert html.count("Z") >= 4


def test_without_shapely_there_is_no_map(monkeypatch: pytest.MonkeyPatch) -> None:
    found = picture(NEAR.replace("st_distance(a.pos, b.pos) < 3", "a.ts < b.ts"), at("POINT (1 1)"))
    assert found.places is not None

    def missing() -> None:
        raise space.MissingPackage("not there")

    monkeypatch.setattr("neelc.tools.report.places.library", missing)
    found = picture(NEAR.replace("st_distance(a.pos, b.pos) < 3", "a.ts < b.ts"), at("POINT (1 1)"))
    assert found.places is None and any("neelc[spatial]" in text for text in limits(found))


@pytest.mark.parametrize("name", ["temporal", "storms", "hits"])
def test_the_map_of_the_storms(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(STORMS)
    pages = []
    for engine in ("reference", "local"):
        out = tmp_path / f"{engine}.html"
        assert main(["run", f"{name}.neel", "--engine", engine, "--report", str(out)]) == 0
        pages.append(out.read_text())
    maps = [page.partition('<section class="places"')[2].partition("</section>")[0] for page in pages]
    assert maps[0] == maps[1] != ""
    assert pages[0].count('<g class="position area') == 82
    assert pages[0].count('<g class="outline area"') == 2
    matched = {"temporal": 16, "storms": 14, "hits": 0}[name]
    assert pages[0].count('<g class="position area matched"') == matched


@pytest.fixture
def storms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(STORMS)
    out = tmp_path / "page.html"
    assert main(["run", "temporal.neel", "--engine", "reference", "--report", str(out)]) == 0
    return out


def settled(found: Page) -> None:
    found.call(
        "Runtime.evaluate",
        expression="new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
        awaitPromise=True,
    )


@pytest.mark.skipif(browser() is None, reason="never: no Chromium on this machine")
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (480, True)])
def test_the_map_in_a_browser(storms: Path, width: int, dark: bool) -> None:
    with page() as found:
        found.open(storms, width=width, dark=dark)
        settled(found)
        seen = "all('svg.map .position').filter((e) => getComputedStyle(e).display !== 'none').length"
        assert found.value(seen) == 82
        found.value("""{ const field = document.querySelector("[data-time]"); field.value = 0;
          field.dispatchEvent(new Event("input")); }""")
        assert found.value(seen) == 4
        assert found.value("document.querySelector('[data-times]').textContent") == "2026-01-10 06:00:00"
        faint = "all('svg.map .position').filter((e) => getComputedStyle(e).opacity < 0.5).length"
        assert found.value(faint) == 0
        found.value("document.querySelector('[data-do=next]').click()")
        settled(found)
        assert found.value(faint) == 82 - 16
        found.value("timelines[0].view.select(null)")
        found.value(
            "document.querySelector('.position.matched').dispatchEvent(new Event('click', { bubbles: true }))"
        )
        settled(found)
        assert found.value("timelines[0].view.selected.kind") == "match"
        found.value("window.box = document.querySelector('svg.map').getBoundingClientRect()")
        box = found.value("[box.width, box.height]")
        assert 0 < box[0] <= width and box[1] > 100
        assert found.value("document.documentElement.scrollWidth <= innerWidth")
        assert found.problems == []

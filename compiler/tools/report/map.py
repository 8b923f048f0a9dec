"""The map of a picture: outlines, positions and the ways of matches, as SVG. It needs no tiles: all of it
comes from the query and its data."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from neelc.explain.html import escape, tag
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.functions.space import library
from neelc.tools.report.picture import Lane, MapPosition, Outline, Picture, PlacesOfPicture, hashable
from neelc.tools.report.record import counted, lane_text, time_text

WIDTH, HEIGHT, MARGIN = 940.0, 600.0, 26.0
"""How large a map may be."""

MOST_POSITIONS = 4_000
"""How many positions a map shows: those of matches first."""

EARTH = 111_319.5
"""Metres of a degree at the equator."""

Bounds = tuple[float, float, float, float]
"""The least x and y, and the greatest."""


# From coordinates to the picture.


@dataclass(frozen=True)
class MapProjection:
    """Coordinates as points of the picture. `shrink` is how long a unit of x is beside one of y: of degrees,
    the cosine of the latitude in the middle."""

    bounds: Bounds
    shrink: float
    scale: float
    is_degrees: bool

    @property
    def size(self) -> tuple[float, float]:
        low_x, low_y, high_x, high_y = self.bounds
        wide, high = (high_x - low_x) * self.shrink * self.scale, (high_y - low_y) * self.scale
        return wide + 2 * MARGIN, high + 2 * MARGIN

    def x(self, value: float) -> float:
        return MARGIN + (value - self.bounds[0]) * self.shrink * self.scale

    def y(self, value: float) -> float:
        return MARGIN + (self.bounds[3] - value) * self.scale

    def points(self, coordinates: Iterable[Sequence[float]]) -> list[str]:
        return [f"{self.x(x):.1f} {self.y(y):.1f}" for x, y, *_ in coordinates]


def projection(bounds: Bounds, is_degrees: bool) -> MapProjection:
    """
    >>> flat, globe = projection((0, 0, 10, 10), False), projection((10, 59, 12, 61), True)
    >>> flat.shrink, f"{globe.shrink:.3f}", round(flat.x(0)), round(flat.y(10))
    (1.0, '0.500', 46, 46)
    """
    low_x, low_y, high_x, high_y = bounds
    middle = math.radians((low_y + high_y) / 2)
    shrink = max(0.05, math.cos(middle)) if is_degrees else 1.0
    around = max((high_x - low_x) * shrink, high_y - low_y) * 0.04 or 1.0
    wider = (low_x - around / shrink, low_y - around, high_x + around / shrink, high_y + around)
    wide, high = (wider[2] - wider[0]) * shrink, wider[3] - wider[1]
    scale = min((WIDTH - 2 * MARGIN) / wide, (HEIGHT - 2 * MARGIN) / high)
    return MapProjection(wider, shrink, scale, is_degrees)


def are_degrees(bounds: Bounds, is_geodesic: bool, is_whole: bool) -> bool:
    """Whether coordinates are drawn as longitudes and latitudes: if they can be, and the query measures in
    metres, or they are no whole numbers.

    >>> are_degrees((13.1, 52.4, 14, 53), False, False), are_degrees((0, 0, 9, 9), False, True)
    (True, False)
    >>> are_degrees((0, 0, 9, 9), True, True), are_degrees((0, 0, 500, 9), True, False)
    (True, False)
    """
    low_x, low_y, high_x, high_y = bounds
    can_be = max(-low_x, high_x) <= 180 and max(-low_y, high_y) <= 90
    return can_be and (is_geodesic or not is_whole)


def _projected(places: PlacesOfPicture) -> MapProjection:
    shapely = library()
    shapes = [one.geometry for one in places.positions] + [one.geometry for one in places.outlines]
    bounds = tuple(map(float, shapely.total_bounds(shapes)))
    found = shapely.get_coordinates(shapes)
    is_whole = bool((found == found.round()).all())
    return projection(bounds, are_degrees(bounds, places.is_geodesic, is_whole))  # type: ignore[arg-type]


# Geometries as paths.


def shape_path(geometry: Any, onto: MapProjection) -> str:
    """All parts of a geometry as one path; a point is a line without a length, which has round ends.

    >>> from shapely import from_wkt
    >>> shape_path(from_wkt("LINESTRING (0 0, 10 10)"), projection((0, 0, 10, 10), False))
    'M46.3 553.7L553.7 46.3'
    """
    shapely = library()
    pieces: list[str] = []
    for part in shapely.get_parts(geometry):
        if part.geom_type == "GeometryCollection" or part.geom_type.startswith("Multi"):
            pieces.append(shape_path(part, onto))
        elif part.geom_type == "Polygon":
            rings = (shapely.get_coordinates(ring)[:-1] for ring in shapely.get_rings(part))
            pieces += [f"M{'L'.join(onto.points(ring))}Z" for ring in rings]
        elif part.geom_type == "Point":
            pieces += [f"M{at}h0" for at in onto.points(shapely.get_coordinates(part))]
        else:
            pieces.append(f"M{'L'.join(onto.points(shapely.get_coordinates(part)))}")
    return "".join(pieces)


def _kind(geometry: Any) -> str:
    """Area, line or point."""
    dimension = int(library().get_dimensions(geometry))
    return ("point", "line", "area")[max(0, dimension)]


# Lines of the grid, and how long a way is.


def steps(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two others.

    >>> steps(12.3, 14.2), steps(0, 1000)
    ([12.5, 13.0, 13.5, 14.0], [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * one for one in (1, 2, 5, 10, 20) if (high - low) / (power * one) <= most)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _coordinate(value: float, is_degrees: bool, letters: str) -> str:
    """
    >>> _coordinate(13.5, True, "EW"), _coordinate(-7.0, True, "NS"), _coordinate(200.0, False, "EW")
    ('13.5° E', '7° S', '200')
    """
    if not is_degrees:
        return f"{value:g}"
    letter = letters[value < 0] if value else ""
    return f"{abs(value):g}° {letter}".rstrip()


def _grid(onto: MapProjection) -> Iterator[str]:
    low_x, low_y, high_x, high_y = onto.bounds
    (wide, high), left, top = onto.size, MARGIN, MARGIN
    for value in steps(low_x, high_x):
        x = onto.x(value)
        yield tag("path", d=f"M{x:.1f} {top}V{high - MARGIN:.1f}", class_="grid")
        yield tag("text", _coordinate(value, onto.is_degrees, "EW"), x=x, y=high - MARGIN / 2, class_="grid")
    for value in steps(low_y, high_y):
        y = onto.y(value)
        yield tag("path", d=f"M{left} {y:.1f}H{wide - MARGIN:.1f}", class_="grid")
        text = _coordinate(value, onto.is_degrees, "NS")
        yield tag("text", text, x=left + 4, y=y - 7, class_="grid side")


def _length(onto: MapProjection) -> Iterator[str]:
    """A line with its length, in the middle of a map of degrees."""
    if not onto.is_degrees:
        return
    wide, high = onto.size
    per_pixel = EARTH / onto.scale
    metres = 10.0 ** math.floor(math.log10(per_pixel * wide * 0.3))
    metres *= next(one for one in (5, 2, 1) if metres * one <= per_pixel * wide * 0.3)
    text = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
    right, y, long = wide - MARGIN - 12, high - MARGIN - 14, metres / per_pixel
    yield tag("path", d=f"M{right - long:.1f} {y - 5:.1f}v5h{long:.1f}v-5", class_="length")
    yield tag("text", text, x=right - long / 2, y=y - 10, class_="length")


# The map.


def map_section(picture: Picture) -> str:
    """The map with its controls; empty where nothing has a place."""
    places = picture.places
    if places is None:
        return ""
    shown = sorted(places.positions, key=lambda one: not one.matches)[:MOST_POSITIONS]
    shown.sort(key=lambda one: one.time)
    times = sorted({one.time for one in shown})
    onto = _projected(places)
    wide, high = onto.size
    shapes = [
        *_grid(onto),
        *(_position(one, picture, times, onto) for one in shown),
        *_ways(shown, onto),
        *(_outline(one, onto) for one in places.outlines),
        *(_label(one, onto) for one in places.outlines if one.label),
        *_length(onto),
    ]
    svg = tag(
        "svg",
        *shapes,
        class_="map",
        role="img",
        aria_label="map of positions",
        viewBox=f"0 0 {wide:.0f} {high:.0f}",
        style=f"max-width:{wide:.0f}px",
    )
    return tag(
        "section",
        tag("h3", "Map"),
        tag("p", escape(_sentence(picture, places, shown, onto)), class_="hint"),
        _slider(times, picture),
        tag("div", svg, class_="panel"),
        class_="places",
        aria_label="map",
    )


def _sentence(
    picture: Picture, places: PlacesOfPicture, shown: Sequence[MapPosition], onto: MapProjection
) -> str:
    cut = f"; {len(shown):,} are drawn" if len(shown) < len(places.positions) else ""
    degrees = "longitude and latitude, in degrees" if onto.is_degrees else "coordinates as they are"
    return (
        f"{counted(len(places.positions), 'position')}{cut}; {degrees}. Those of matches have a colour, "
        "which is stronger the later they are; a line leads from one to the next of its key, or of its match."
    )


def _slider(times: Sequence[int], picture: Picture) -> str:
    if len(times) < 2:
        return ""
    last = len(times) - 1
    field = tag(
        "input", type="range", min=0.0, max=float(last), value=float(last), data_time="", aria_label="until"
    )
    texts = "\n".join(time_text(one, picture.clock) for one in times)
    until = tag("output", escape(time_text(times[-1], picture.clock)), data_times=texts)
    return tag("label", "until ", field, until, class_="until only-js")


def _outline(one: Outline, onto: MapProjection) -> str:
    kind = f"outline {_kind(one.geometry)}"
    return tag(
        "g", tag("title", escape(one.about)), tag("path", d=shape_path(one.geometry, onto)), class_=kind
    )


def _label(one: Outline, onto: MapProjection) -> str:
    """The name of an outline, above it."""
    low_x, _, high_x, high_y = library().bounds(one.geometry)
    x, y = onto.x((low_x + high_x) / 2), max(12.0, onto.y(high_y) - 8)
    return tag("text", escape(one.label), x=x, y=y, class_="name")


def _position(one: MapPosition, picture: Picture, times: Sequence[int], onto: MapProjection) -> str:
    span = (times[-1] - times[0]) or 1
    part = (one.time - times[0]) / span
    kind = f"position {_kind(one.geometry)}{' matched' if one.matches else ''}"
    numbers = ", ".join(str(number + 1) for number in one.matches[:6])
    of = f"\nin match {numbers}" if numbers else ""
    title = f"{time_text(one.time, picture.clock)}\n{one.about}{of}\n{one.text[:200]}"
    return tag(
        "g",
        tag("title", escape(title)),
        tag("path", d=shape_path(one.geometry, onto)),
        class_=kind,
        style=f"--late:{part * 100:.0f}%",
        data_at=str(_place(times, one.time)),
        **_of_matches(one.matches),
    )


def _place(times: Sequence[int], time: int) -> int:
    return bisect_left(times, time)


def _of_matches(matches: Sequence[int]) -> dict[str, str]:
    return {"data_matches": " ".join(map(str, matches))} if matches else {}


def _ways(positions: Sequence[MapPosition], onto: MapProjection) -> Iterator[str]:
    """From each position of a key, or of a match, to the next: through centroids, where it is no point."""
    times = sorted({one.time for one in positions})
    of_keys: dict[Lane, list[MapPosition]] = {}
    of_matches: dict[int, list[MapPosition]] = {}
    for one in positions:
        of_keys.setdefault(hashable(one.key), []).append(one)
        for number in one.matches:
            of_matches.setdefault(number, []).append(one)
    for found in of_keys.values() if len(of_keys) > 1 or hashable(positions[0].key) else ():
        yield from _way(found, onto, times, "way", lane_text(found[0].key), {})
    for number, found in of_matches.items():
        about = f"match {number + 1}"
        yield from _way(found, onto, times, "way matched", about, {"data_matches": str(number)})


def _way(
    found: Sequence[MapPosition],
    onto: MapProjection,
    times: Sequence[int],
    kind: str,
    about: str,
    more: dict[str, str],
) -> Iterator[str]:
    shapely = library()
    centres = shapely.get_coordinates([shapely.centroid(one.geometry) for one in found])
    points = onto.points(centres)
    for (left, right), one in zip(pairwise(points), found[1:], strict=True):
        line = tag("path", d=f"M{left}L{right}")
        title = tag("title", escape(about))
        yield tag("g", title, line, class_=kind, data_at=str(_place(times, one.time)), **more)

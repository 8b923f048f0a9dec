"""Functions of geometries, over whole arrays and on single values, with shapely.

A geometry is a text, WKT, wherever it is a value: in data, in engines, in results. These functions read
texts and write them, with all digits of the coordinates. Texts that are no geometry have no value: what is
computed of them is NULL. shapely is loaded when the first of these functions is called, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.late_module import LateModule
from neelc.runtime.values.functions import geodesic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Truths = NDArray[np.bool_]
    Column = tuple[Array, Truths | None]
    """Values, and where they are not NULL; None: everywhere."""
else:
    np = LateModule("numpy")
    Array = Truths = Column = Any

PREFIX = "neelc_"
"""What engines call a function of this table by: they may have another one of its own name."""

PLANAR, GEODESIC = "planar", "geodesic"
METRICS = (PLANAR, GEODESIC)
"""How lengths are measured: in the units of the coordinates, or in metres on the Earth, where x is a
longitude and y a latitude in degrees."""

DIGITS = 340
"""Digits after the point that texts may have: no coordinate changes when it is written and read again."""
COLLECTION = 7
"""Of shapely: the number of the type GEOMETRYCOLLECTION."""
MOST_KEPT = 4096
"""Texts of constants whose geometries are kept."""


class MissingPackage(RuntimeError):
    """shapely is not there: the message says how it is installed."""


@lru_cache(maxsize=1)
def library() -> Any:
    """shapely; raises `MissingPackage`."""
    try:
        import shapely
    except ImportError as error:
        raise MissingPackage(
            "functions of geometries require shapely: pip install 'neelc[spatial]'"
        ) from error
    return shapely


# Texts and geometries.


def geometries(texts: Array) -> Array:
    """The geometries of texts, None for what is none.

    >>> geometries(np.array(["POINT (1 2)", "POINT (1", "POINT (1 NaN)", None], object)).tolist()
    [<POINT (1 2)>, None, None, None]
    >>> arcs = "CIRCULARSTRING (0 0, 1 1, 2 0)", "GEOMETRYCOLLECTION (CIRCULARSTRING (0 0, 1 1, 2 0))"
    >>> geometries(np.array([*arcs, "POINT (1 2)"], object)).tolist()
    [None, None, <POINT (1 2)>]
    """
    with np.errstate(over="ignore"):  # a number that is too large for a DOUBLE is no place
        return _read(library().from_wkt, texts)


def geometries_of_bytes(values: Array) -> Array:
    """The geometries of WKB, None for what is none."""
    return _read(library().from_wkb, values)


def is_geometry(value: str | bytes) -> bool:
    """Whether a constant is a geometry; True as well where shapely, which knows, is not there.

    >>> is_geometry("POLYGON ((0 0, 1 0, 1 1, 0 0))"), is_geometry("POLYGON ((0 0, 1 0, 1 1))")
    (True, False)
    """
    read = geometries if isinstance(value, str) else geometries_of_bytes
    try:
        (found,) = read(np.array([value], object))
    except MissingPackage:
        return True
    return found is not None


def _read(read: Callable[..., Array], values: Array) -> Array:
    """The geometries of texts or bytes, None for what is none, and for those with arcs: GEOS reads some, and
    fails in most functions."""
    try:
        return _finite(read(values, on_invalid="ignore"))
    except NotImplementedError:
        found = np.empty(len(values), object)
        for place, value in enumerate(values):
            with suppress(NotImplementedError):
                found[place] = read(value, on_invalid="ignore")
        return _finite(found)


def _finite(found: Array) -> Array:
    """Without those that have a coordinate which is no number, and collections that have arcs."""
    shapely = library()
    for place in np.flatnonzero(shapely.get_type_id(found) == COLLECTION):
        try:
            shapely.get_coordinates(found[place])
        except shapely.errors.GEOSException:
            found[place] = None
    odd = ~np.isfinite(shapely.bounds(found)).all(axis=-1) & ~shapely.is_empty(found)
    if odd.any():
        found[odd] = None
    return found


def texts(found: Array) -> Array:
    """The texts of geometries, from which they can be made again exactly.

    >>> texts(geometries(np.array(["POINT(0.1 1e-300)", None], object))).tolist()
    ['POINT (0.1 1e-300)', None]
    """
    return np.asarray(library().to_wkt(found, rounding_precision=DIGITS), object)


@lru_cache(maxsize=MOST_KEPT)
def constant(text: str) -> Any:
    """The geometry of a text that is used more than once: prepared, so that it is fast to compare with."""
    (found,) = geometries(np.array([text], object))
    library().prepare(found)
    return found


def _geometries_of(values: Array) -> Array:
    """Of texts their geometries, those of one text prepared; geometries as they are."""
    first = next((one for one in values if one is not None), None)
    if not isinstance(first, str):
        return values
    if len(values) == 1:
        return np.fromiter([constant(str(first))], object, 1)
    return geometries(values.astype(object))


# The functions, of arrays without NULLs. Arrays of one entry stand for all rows.


def _symmetric(name: str) -> Callable[..., Array]:
    """A predicate in which both sides are alike: the one that is prepared goes first."""

    def holds(one: Array, other: Array, *more: Any) -> Array:
        swapped = len(other) == 1 and len(one) > 1
        return np.asarray(getattr(library(), name)(*((other, one) if swapped else (one, other)), *more))

    return holds


def _ordered(name: str) -> Callable[..., Array]:
    return lambda *operands: np.asarray(getattr(library(), name)(*operands))


def _reversed(name: str) -> Callable[..., Array]:
    return lambda one, other: np.asarray(getattr(library(), name)(other, one))


def _coordinate(axis: str) -> Callable[[Array], Array]:
    """Of points; NaN of what is none, or is empty."""

    def coordinate(whole: Array) -> Array:
        shapely = library()
        found = np.full(len(whole), np.nan)
        points = (shapely.get_type_id(whole) == 0) & ~shapely.is_empty(whole)
        found[points] = getattr(shapely, axis)(whole[points])
        return found

    return coordinate


_x, _y = _coordinate("get_x"), _coordinate("get_y")


def _is_geodesic(metric: Sequence[Array]) -> bool:
    return bool(metric) and str(metric[0][0]).lower() == GEODESIC


def _distance(one: Array, other: Array, *metric: Array) -> Array:
    if _is_geodesic(metric):
        return geodesic_distance(one, other)
    return np.asarray(library().distance(one, other))


def _is_near(one: Array, other: Array, distance: Array, *metric: Array) -> Array:
    if _is_geodesic(metric):
        found = geodesic_distance(one, other)
        return np.asarray(found <= distance)  # of an empty one there is no distance: false, as in the plane
    # Of a negative distance, GEOS gives one answer for prepared geometries and another one for others.
    return _symmetric("dwithin")(one, other, distance) & (distance >= 0)


def _length(one: Array, *metric: Array) -> Array:
    return _measured(one, {1, 5}, _is_geodesic(metric))


def _perimeter(one: Array, *metric: Array) -> Array:
    return _measured(one, {3, 6}, _is_geodesic(metric))


def _measured(whole: Array, kinds: set[int], on_earth: bool) -> Array:
    """The lengths of the lines of geometries, or of the rings of areas, added up."""
    shapely = library()
    parts, owner = shapely.get_parts(whole, return_index=True)
    while np.isin(shapely.get_type_id(parts), (4, 5, 6, 7)).any():  # collections in collections
        parts, inner = shapely.get_parts(parts, return_index=True)
        owner = owner[inner]
    measured = np.isin(shapely.get_type_id(parts), tuple(kinds | {2} if 1 in kinds else kinds))
    parts, owner = parts[measured], owner[measured]
    if not on_earth:
        return np.bincount(owner, shapely.length(parts), len(whole))
    rings, inner = shapely.get_rings(parts, return_index=True)
    lines, of = (rings, owner[inner]) if 3 in kinds else (parts, owner)
    points, line = shapely.get_coordinates(lines, return_index=True)
    goes_on = line[1:] == line[:-1]
    steps = geodesic.distance(*points[:-1][goes_on].T, *points[1:][goes_on].T)
    return np.bincount(of[line[1:][goes_on]], steps, len(whole))


def geodesic_distance(one: Array, other: Array) -> Array:
    """Metres between geometries of longitudes and latitudes: 0 where they meet, else between the points that
    are nearest on a map whose longitudes are scaled by the cosine of the latitude."""
    shapely = library()
    one, other = np.broadcast_arrays(one, other)
    found = np.full(len(one), np.nan)
    points = (shapely.get_type_id(one) == 0) & (shapely.get_type_id(other) == 0)
    found[points] = geodesic.distance(_x(one[points]), _y(one[points]), _x(other[points]), _y(other[points]))
    rest = ~points & ~shapely.is_empty(one) & ~shapely.is_empty(other)
    one, other = one[rest], other[rest]
    scale = np.maximum(np.cos(np.radians(_y(shapely.centroid(one)))), 1e-9)
    ends = shapely.get_coordinates(shapely.shortest_line(_stretched(one, scale), _stretched(other, scale)))
    x, y, other_x, other_y = ends.reshape(-1, 4).T
    found[rest] = geodesic.distance(x / scale, y, other_x / scale, other_y)
    return found


def _stretched(whole: Array, scale: Array) -> Array:
    shapely = library()
    points, owner = shapely.get_coordinates(whole, return_index=True)
    points[:, 0] *= scale[owner]
    return np.asarray(shapely.set_coordinates(np.array(whole, object), points))


def _point(x: Array, y: Array) -> Array:
    x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    found = np.asarray(library().points(x, y), object)
    found[~(np.isfinite(x) & np.isfinite(y))] = None
    return found


def _buffer(one: Array, distance: Array) -> Array:
    found = np.asarray(library().buffer(one, distance), object)
    found[np.broadcast_to(~np.isfinite(distance), found.shape)] = None
    return found


def _bounds(one: Array, distance: Array | None = None, *metric: Array) -> Array:
    """The least x and y and the greatest ones, with room for a distance; None of what is empty."""
    shapely = library()
    found = np.asarray(shapely.bounds(one))
    if distance is not None:
        found = np.broadcast_to(found, (max(len(one), len(distance)), 4))
        room = np.maximum(np.broadcast_to(distance, len(found)), 0.0)
        found = geodesic.around(found, room) if _is_geodesic(metric) else found + room[:, None] * OUTWARD
    return found


OUTWARD = (-1.0, -1.0, 1.0, 1.0)


def _same(one: Array) -> Array:
    return np.array(one, object)


# Of the values of lists, in their order. What is NULL, or malformed, is left out.


def union_of(values: Sequence[object]) -> Any:
    """What the geometries cover together; None of none, or where borders that cross themselves forbid it."""
    found, shapely = known_geometries(values), library()
    try:
        return shapely.union_all(found) if len(found) else None
    except shapely.errors.GEOSException:
        return None


def line_through(values: Sequence[object]) -> Any:
    """The line through the points, and through the centres of what is no point; of one point, that point."""
    points, shapely = points_of(values), library()
    if not len(points):
        return None
    return shapely.points(points[0]) if len(points) == 1 else shapely.linestrings(points)


def known_geometries(values: Sequence[object]) -> Array:
    """The geometries of texts, or of bytes."""
    there = np.fromiter((one for one in values if one is not None), object)
    of_bytes = len(there) > 0 and isinstance(there[0], bytes)
    found = geometries_of_bytes(there) if of_bytes else geometries(there)
    return np.asarray(found[~np.asarray(library().is_missing(found))], object)


def points_of(values: Sequence[object]) -> Array:
    """The coordinates of points and centres; what is empty has none."""
    return np.asarray(library().get_coordinates(library().centroid(known_geometries(values))))


def _of_lists(function: Callable[[Sequence[object]], Any]) -> Callable[[Array], Array]:
    return lambda lists: np.fromiter(map(function, lists), object, len(lists))


@dataclass(frozen=True)
class SpatialFunction:
    """What a function takes (g: geometries, l: lists of them, n: numbers, b: bytes, o: an option) and
    gives."""

    takes: str
    gives: str
    compute: Callable[..., Array]


_PREDICATES = {
    "st_contains": _ordered("contains"),
    "st_coveredby": _reversed("covers"),
    "st_covers": _ordered("covers"),
    "st_crosses": _symmetric("crosses"),
    "st_disjoint": _symmetric("disjoint"),
    "st_equals": _symmetric("equals"),
    "st_intersects": _symmetric("intersects"),
    "st_overlaps": _symmetric("overlaps"),
    "st_touches": _symmetric("touches"),
    "st_within": _reversed("contains"),
}

SPATIAL: dict[str, SpatialFunction] = {
    **{name: SpatialFunction("gg", "boolean", compute) for name, compute in _PREDICATES.items()},
    "st_area": SpatialFunction("g", "double", _ordered("area")),
    "st_asbinary": SpatialFunction("g", "binary", _ordered("to_wkb")),
    "st_astext": SpatialFunction("g", "geometry", _same),
    "st_bounds": SpatialFunction("gno", "doubles", _bounds),
    "st_buffer": SpatialFunction("gn", "geometry", _buffer),
    "st_centroid": SpatialFunction("g", "geometry", _ordered("centroid")),
    "st_difference": SpatialFunction("gg", "geometry", _ordered("difference")),
    "st_distance": SpatialFunction("ggo", "double", _distance),
    "st_dwithin": SpatialFunction("ggno", "boolean", _is_near),
    "st_envelope": SpatialFunction("g", "geometry", _ordered("envelope")),
    "st_geomfromtext": SpatialFunction("g", "geometry", _same),
    "st_geomfromwkb": SpatialFunction("b", "geometry", geometries_of_bytes),
    "st_intersection": SpatialFunction("gg", "geometry", _ordered("intersection")),
    "st_isempty": SpatialFunction("g", "boolean", _ordered("is_empty")),
    "st_isvalid": SpatialFunction("g", "boolean", _ordered("is_valid")),
    "st_length": SpatialFunction("go", "double", _length),
    "st_makeline": SpatialFunction("l", "geometry", _of_lists(line_through)),
    "st_perimeter": SpatialFunction("go", "double", _perimeter),
    "st_point": SpatialFunction("nn", "geometry", _point),
    "st_union_of": SpatialFunction("l", "geometry", _of_lists(union_of)),
    "st_x": SpatialFunction("g", "double", _x),
    "st_y": SpatialFunction("g", "double", _y),
}
"""The scalar functions of geometries. NULL of NULL, and of what has no value: the distance to an empty
geometry, the x of a line."""

KINDS = {"boolean": "bool", "double": "float64"}


def computed(name: str, columns: Sequence[Column]) -> Column:
    """A function of columns: of texts or geometries, numbers and options. Geometries stay geometries.

    >>> area = np.array(["POLYGON ((0 0, 2 0, 2 2, 0 0))"])
    >>> points = np.array(["POINT (1.5 1)", "POINT (9 9)", "POINT", None], object)
    >>> values, valid = computed("st_contains", [(area, None), (points, None)])
    >>> values.tolist(), valid.tolist()
    ([True, False, False, False], [True, True, False, False])
    """
    function = SPATIAL[name]
    rows = max(len(values) for values, _ in columns)
    valid: Truths = np.ones(rows, bool)
    arrays = []
    for kind, (values, known) in zip(function.takes, columns, strict=False):
        if known is not None:
            valid = valid & known
        if kind == "g":
            values = _geometries_of(values)
            valid = valid & ~np.asarray(library().is_missing(values))
        arrays.append(values)
    if not valid.any():
        return _nothing(rows, function.gives), valid
    kept = [one if len(one) == 1 and rows > 1 else one[valid] for one in arrays]
    results = _attempted(function, kept, int(valid.sum()))
    return _in_place(results, valid, function.gives)


def _attempted(function: SpatialFunction, arrays: Sequence[Array], rows: int) -> Array:
    shapely = library()
    try:
        with np.errstate(all="ignore"):
            found = function.compute(*arrays)
        return found if len(found) == rows else np.broadcast_to(found, (rows, *found.shape[1:]))
    except shapely.errors.GEOSException:
        pass
    # Some operations fail on areas whose borders cross themselves: these rows have no value.
    found = np.empty(rows, object)
    for row in range(rows):
        try:
            (found[row],) = function.compute(
                *(one if len(one) == 1 else one[row : row + 1] for one in arrays)
            )
        except shapely.errors.GEOSException:
            found[row] = None
    return found


def _nothing(rows: int, gives: str, more: tuple[int, ...] = (4,)) -> Array:
    kind = KINDS.get(gives)
    if gives == "doubles":
        return np.zeros((rows, *more))
    return np.full(rows, None, object) if kind is None else np.zeros(rows, kind)


def _in_place(results: Array, valid: Truths, gives: str) -> Column:
    """The results at the places of the rows that they are of."""
    if results.dtype == object:
        there = np.array([one is not None and one == one for one in results.tolist()], bool)
    else:
        numbers = results if results.ndim == 1 else results[:, 0]
        there = ~np.isnan(numbers) if numbers.dtype.kind == "f" else np.ones(len(results), bool)
    valid = valid.copy()
    values = _nothing(len(valid), gives, results.shape[1:])
    values[np.flatnonzero(valid)[there]] = results[there]
    valid[np.flatnonzero(valid)[~there]] = False
    return values, None if valid.all() else valid


def written(found: Column, name: str) -> Array:
    """Results as values: geometries as texts, None for NULL."""
    values, valid = found
    if SPATIAL[name].gives == "geometry":
        return texts(values)
    if values.ndim == 2:
        lists = np.empty(len(values), object)
        lists[:] = values.tolist()
        values = lists
    if valid is None:
        return values
    values = values.astype(object)
    values[~valid] = None
    return values


def single(name: str) -> Callable[..., object]:
    """The function of single values, none of them NULL.

    >>> single("st_distance")("POINT (0 0)", "POINT (3 4)"), single("st_x")("LINESTRING (0 0, 1 1)")
    (5.0, None)
    """

    def function(*values: object) -> object:
        kinds = SPATIAL[name].takes
        columns = [
            (np.array([value], float) if kind == "n" else np.fromiter([value], object, 1), None)
            for kind, value in zip(kinds, values, strict=False)
        ]
        (found,) = written(computed(name, columns), name).tolist()
        return found

    return function


SPACE: dict[str, Callable[..., object]] = {name: single(name) for name in SPATIAL}

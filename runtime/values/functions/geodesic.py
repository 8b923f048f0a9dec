"""Lengths on the Earth, of longitudes and latitudes in degrees.

Vincenty's inverse formula on the ellipsoid WGS 84: exact to less than a millimetre. Between points that are
nearly opposite each other it has no solution; there it is the length on a sphere of the mean radius, which is
off by 0.5 % at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neelc.runtime.late_module import LateModule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:
    np = LateModule("numpy")
    Array = Any

EQUATOR = 6_378_137.0
"""The radius of the Earth at the equator, in metres."""
FLATTENING = 1 / 298.257223563
POLE = EQUATOR * (1 - FLATTENING)
MEAN = 6_371_008.8
"""Its mean radius."""

_CLOSE = 1e-12
_MOST_ROUNDS = 100


def on_sphere(x: Array, y: Array, other_x: Array, other_y: Array) -> Array:
    """The length of the shorter arc, on a sphere of the mean radius.

    >>> round(float(on_sphere(0.0, 0.0, 180.0, 0.0)))
    20015114
    """
    one, other = np.radians(y), np.radians(other_y)
    half = np.sin((other - one) / 2) ** 2
    half = half + np.cos(one) * np.cos(other) * np.sin(np.radians(other_x - x) / 2) ** 2
    return np.asarray(2 * MEAN * np.arcsin(np.sqrt(np.minimum(half, 1.0))))


def distance(x: Array, y: Array, other_x: Array, other_y: Array) -> Array:
    """Metres between points; NaN for what is no place on the Earth.

    >>> berlin, dresden = (13.4, 52.52), (13.74, 51.05)
    >>> round(float(distance(*map(np.array, (*berlin, *dresden)))))
    165231
    """
    x, y, other_x, other_y = (np.asarray(one, float) for one in (x, y, other_x, other_y))
    flat, other_flat = (np.arctan((1 - FLATTENING) * np.tan(np.radians(one))) for one in (y, other_y))
    sines, cosines = np.sin(flat), np.cos(flat)
    other_sines, other_cosines = np.sin(other_flat), np.cos(other_flat)
    apart = np.radians((other_x - x + 180) % 360 - 180)
    lengths = _solved(apart, sines, cosines, other_sines, other_cosines)
    lengths = np.where(np.isnan(lengths), on_sphere(x, y, other_x, other_y), lengths)
    outside = (np.abs(y) > 90) | (np.abs(other_y) > 90)
    return np.where(outside, np.nan, lengths)


def _solved(apart: Array, sines: Array, cosines: Array, other_sines: Array, other_cosines: Array) -> Array:
    """Vincenty's iteration for all pairs at once; NaN where it does not end."""
    angle, lengths = apart, np.full(np.shape(apart), np.nan)
    with np.errstate(all="ignore"):
        for _ in range(_MOST_ROUNDS):
            across, along = np.sin(angle), np.cos(angle)
            sine = np.hypot(other_cosines * across, cosines * other_sines - sines * other_cosines * along)
            cosine = sines * other_sines + cosines * other_cosines * along
            arc = np.arctan2(sine, cosine)
            tilt = np.where(sine == 0, 0.0, cosines * other_cosines * across / sine)
            rest = 1 - tilt**2
            middle = np.where(rest == 0, 0.0, cosine - 2 * sines * other_sines / rest)
            c = FLATTENING / 16 * rest * (4 + FLATTENING * (4 - 3 * rest))
            inner = middle + c * cosine * (2 * middle**2 - 1)
            following = apart + (1 - c) * FLATTENING * tilt * (arc + c * sine * inner)
            is_solved = (np.abs(following - angle) < _CLOSE) & (np.abs(following) <= np.pi)
            lengths = np.where(
                is_solved & np.isnan(lengths), _length(rest, arc, sine, cosine, middle), lengths
            )
            if is_solved.all():
                break
            angle = following
    return lengths


def _length(rest: Array, arc: Array, sine: Array, cosine: Array, middle: Array) -> Array:
    u = rest * (EQUATOR**2 - POLE**2) / POLE**2
    a = 1 + u / 16384 * (4096 + u * (-768 + u * (320 - 175 * u)))
    b = u / 1024 * (256 + u * (-128 + u * (74 - 47 * u)))
    third = b / 6 * middle * (4 * sine**2 - 3) * (4 * middle**2 - 3)
    change = b * sine * (middle + b / 4 * (cosine * (2 * middle**2 - 1) - third))
    return np.asarray(POLE * a * (arc - change))


LEAST_CURVED = 6_335_439.0
"""The least radius by which the surface is curved anywhere: so far at least are two points of one degree."""


def around(bounds: Array, metres: Array) -> Array:
    """Bounds with room for a length on the Earth: the longitudes of what may cross a pole, or where the
    longitude jumps from 180 to -180, are all.

    >>> around(np.array([[10.0, 60, 10, 60]]), np.array([111_000.0])).round().tolist()
    [[8.0, 59.0, 12.0, 61.0]]
    >>> around(np.array([[179.9, 0, 179.9, 0]]), np.array([111_000.0])).round().tolist()
    [[-180.0, -1.0, 180.0, 1.0]]
    """
    angle = metres / LEAST_CURVED * 1.001
    low_x, low_y, high_x, high_y = bounds.T
    least, most = low_y - np.degrees(angle), high_y + np.degrees(angle)
    farthest = np.radians(np.maximum(np.abs(low_y), np.abs(high_y)))
    with np.errstate(all="ignore"):
        room = np.degrees(np.arcsin(np.sin(angle) / np.cos(farthest))) * 1.001
    west, east = low_x - room, high_x + room
    everywhere = ~((least > -90) & (most < 90) & (west > -180) & (east < 180))
    return np.stack([np.where(everywhere, -180.0, west), least, np.where(everywhere, 180.0, east), most], 1)

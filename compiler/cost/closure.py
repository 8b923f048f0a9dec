"""Kleene closures: in how many ways a list can be chosen."""

from __future__ import annotations

from math import exp, lgamma, log

from neelc.cost.ways import Ways, either

LARGE = 50.0
"""From here on a sum without an end is its asymptote, to many digits."""
TERMS = 1_000
"""Of a long sum, only the largest terms count."""
LONGEST = 1e12
"""Elements of a list: beyond, differences of logarithms would no longer be exact."""


def closure(iteration: Ways, least: int, most: int | None) -> Ways:
    """Lists of iterations, one after another, `least` to `most` of them, under SKIP TILL ANY MATCH.

    k iterations of m events are m*k events in one of (m*k)! orders. With one event each and no limits the
    terms add up to e^count, which is the mean of 2^k for k events in the window, the empty list included:
    SASE++'s exponential number of matches.

    >>> from neelc.cost.ways import events
    >>> round(closure(events(3.0), 1, None).number, 3), round(closure(events(3.0), 1, 2).number, 3)  # e^3-1
    (19.086, 7.5)
    >>> round(closure(events(1e9), 1, None).log, 3)
    1000000000.0
    >>> round(closure(events(1e9), 2, 3).number / (1e27 / 6), 3)
    1.0
    """
    size = max(iteration.events, 1e-9)
    base = iteration.log + lgamma(size + 1)  # so that k iterations are base^k / (size*k)!
    peak = base / size  # the logarithm of how many events the likeliest list has
    if most is None and peak > log(LARGE):
        # The sum of b^k / (mk)! is about e^(b^(1/m)) / m.
        root = exp(min(log(LONGEST), peak))
        return Ways(root - log(size), root)
    lists = range(least, _end(least, most, peak, size) + 1)
    return either([Ways(k * base - lgamma(size * k + 1), size * k) for k in lists[-TERMS:]])


def _end(least: int, most: int | None, peak: float, size: float) -> int:
    """The longest list worth counting: beyond, the terms are too small to matter."""
    enough = least + 20 + int(4 * exp(min(log(LARGE), peak)) / size)
    if most is None:
        return enough
    return most if peak > log(LARGE) else max(least, min(most, enough))

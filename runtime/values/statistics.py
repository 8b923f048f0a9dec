"""Statistics of numbers: moments by one pass, as Spark updates them, and medians."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key, reduce
from itertools import accumulate, groupby
from operator import and_, or_, xor
from typing import Any, NamedTuple

from neelc.runtime.values.order import order

FIRST, SECOND = "value", "by"
"""The arguments of an aggregate of two, in a pair."""


class CentralMoments(NamedTuple):
    """The number of values, their mean, and the sums of the powers of their distances from it."""

    number: float = 0.0
    mean: float = 0.0
    second: float = 0.0
    third: float = 0.0
    fourth: float = 0.0


def _with(before: CentralMoments, value: float) -> CentralMoments:
    count = before.number + 1.0
    delta = value - before.mean
    part = delta / count
    second = before.second + delta * (delta - part)
    third = before.third - 3.0 * part * second + delta * (delta * delta - part * part)
    fourth = before.fourth - 4.0 * part * third - 6.0 * part * part * second
    fourth += delta * (delta * delta * delta - part * part * part)
    return CentralMoments(count, before.mean + part, second, third, fourth)


def moments(values: Iterable[float]) -> CentralMoments:
    """
    >>> moments([1.0, 3.0])[:3]
    (2.0, 2.0, 2.0)
    """
    return reduce(_with, values, CentralMoments())


def skewness(values: Sequence[float]) -> float | None:
    """How much further they reach on one side; NULL if they are all the same.

    >>> round(skewness([1.0, 2.0, 4.0, 7.0]), 8), skewness([3.0, 3.0])
    (0.49878375, None)
    """
    found = moments(values)
    if found.second == 0:
        return None
    return math.sqrt(found.number) * found.third / _root(found.second * found.second * found.second)


def kurtosis(values: Sequence[float]) -> float | None:
    """How much of their variance is that of a few; NULL if they are all the same.

    >>> round(kurtosis([1.0, 2.0, 4.0, 7.0]), 8)
    -1.23809524
    """
    found = moments(values)
    if found.second == 0:
        return None
    return _quotient(found.number * found.fourth, found.second * found.second) - 3.0


def _root(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


def _quotient(dividend: float, divisor: float) -> float:
    return dividend / divisor if divisor else math.nan if dividend == 0 else math.copysign(math.inf, dividend)


def median(values: Sequence[float]) -> float | None:
    """The middle one, or what lies between the two in the middle.

    >>> median([4.0, 1.0, 2.0]), median([4.0, 1.0]), median([])
    (2.0, 2.5, None)
    """
    if not values:
        return None
    ordered = sorted(values, key=cmp_to_key(order))
    return _between(ordered, 0.5 * (len(ordered) - 1))


def _between(ordered: Sequence[float], place: float) -> float:
    """What is at a place, or the share of the way from one value to the next."""
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low if order(low, high) == 0 else low + (place - math.floor(place)) * (high - low)


def percentile(pairs: Sequence[Any]) -> float:
    """Of values, each with the share that is below the result: what lies between two is weighed.

    >>> percentile([{"value": value, "by": 0.25} for value in (1.0, 2.0, 3.0)])
    1.5
    """
    ordered = sorted((pair[FIRST] for pair in pairs), key=cmp_to_key(order))
    return float(_between(ordered, (len(ordered) - 1) * pairs[0][SECOND]))


def percentiles(
    values: Sequence[Any], shares: Sequence[float], several: bool, discrete: bool, descends: bool
) -> float | list[float] | None:
    """Of values, or of pairs of a value and how often it counts, those that have these shares of all below
    or, if the order descends, above: a value that is there, if they are `discrete`, else between two of them.

    >>> percentiles([3.0, 1.0, 2.0], [0.0, 0.75], True, False, False)
    [1.0, 2.5]
    >>> percentiles([3.0, 1.0, 2.0], [0.3], False, True, True)
    3.0
    >>> percentiles([{"value": 1.0, "by": 3.0}, {"value": 5.0, "by": 1.0}], [0.5], False, False, False)
    1.0
    """
    counted = [(one[FIRST], int(one[SECOND])) if isinstance(one, dict) else (one, 1) for one in values]
    ordered = sorted((one for one in counted if one[1] > 0), key=lambda one: cmp_to_key(order)(one[0]))
    if descends:
        ordered.reverse()
    ends = list(accumulate(count for _, count in ordered))
    if not ends or not shares:
        return None

    def at(place: int) -> float:
        return float(ordered[bisect_right(ends, place)][0])

    def found(share: float) -> float:
        if discrete:
            return at(max(math.ceil(share * ends[-1]), 1) - 1)
        place = (ends[-1] - 1) * share
        low, high = at(math.floor(place)), at(math.ceil(place))
        if order(low, high) == 0:
            return low
        return low + (place - math.floor(place)) * (high - low)

    return [found(share) for share in shares] if several else found(shares[0])


def mode(values: Sequence[Any], is_ordered: bool, descends: bool) -> object:
    """The most frequent value, and of several the least, or the greatest. Only where values have an order,
    -0.0 and 0.0 are one value.

    >>> mode([3, 1, 3, 1, 2], True, False), mode([3, 1, 3, 1, 2], True, True), mode([], True, False)
    (1, 3, None)
    >>> mode([-0.0, 0.0, 5.0, 5.0], True, False), mode([-0.0, 0.0, 5.0, 5.0], False, False)
    (0.0, 5.0)
    """
    ordered = sorted(values, key=cmp_to_key(order), reverse=descends)
    runs = [list(run) for _, run in groupby(ordered, cmp_to_key(order))]
    if not is_ordered:
        runs = [list(one) for run in runs for _, one in groupby(sorted(run, key=repr), repr)]
    found = max(runs, key=len)[0] if runs else None
    return 0.0 if is_ordered and found == 0 and isinstance(found, float) else found


def _bits(combine: Callable[[int, int], int]) -> Callable[[Sequence[int]], int | None]:
    return lambda values: reduce(combine, values) if values else None


class PairMoments(NamedTuple):
    """Of pairs of numbers: how many, the means, and the sums of products of distances from the means."""

    number: float = 0.0
    first: float = 0.0
    second: float = 0.0
    product: float = 0.0
    squares: float = 0.0
    squares_of_second: float = 0.0


def _with_pair(before: PairMoments, pair: Any) -> PairMoments:
    one, other = pair[FIRST], pair[SECOND]
    count = before.number + 1.0
    delta, other_delta = one - before.first, other - before.second
    first, second = before.first + delta / count, before.second + other_delta / count
    return PairMoments(
        count,
        first,
        second,
        before.product + delta * (other - second),
        before.squares + delta * (one - first),
        before.squares_of_second + other_delta * (other - second),
    )


def _of_pairs(result: Callable[[PairMoments], float | None]) -> Callable[[Sequence[Any]], float | None]:
    def of_pairs(values: Sequence[Any]) -> float | None:
        found = reduce(_with_pair, values, PairMoments())
        return result(found) if found.number else None

    return of_pairs


def _correlation(found: PairMoments) -> float | None:
    root = _root(found.squares * found.squares_of_second)
    return None if found.number == 1 or root == 0 else found.product / root


def _slope(found: PairMoments) -> float | None:
    """Of the first by the second."""
    return None if found.squares_of_second == 0 else found.product / found.squares_of_second


def _intercept(found: PairMoments) -> float | None:
    slope = _slope(found)
    return None if slope is None else found.first - slope * found.second


def _determination(found: PairMoments) -> float | None:
    """regr_r2."""
    if found.squares_of_second == 0:
        return None
    correlation = _correlation(found)
    return 1.0 if found.squares == 0 else None if correlation is None else correlation * correlation


PAIRED: dict[str, Callable[[Sequence[Any]], float | None]] = {
    "corr": _of_pairs(_correlation),
    "covar_pop": _of_pairs(lambda found: found.product / found.number),
    "covar_samp": _of_pairs(
        lambda found: None if found.number == 1 else found.product / (found.number - 1.0)
    ),
    "percentile": lambda pairs: percentile(pairs) if pairs else None,
    "regr_avgx": _of_pairs(lambda found: found.second),
    "regr_avgy": _of_pairs(lambda found: found.first),
    "regr_count": len,
    "regr_intercept": _of_pairs(_intercept),
    "regr_r2": _of_pairs(_determination),
    "regr_slope": _of_pairs(_slope),
    "regr_sxx": _of_pairs(lambda found: found.squares_of_second),
    "regr_sxy": _of_pairs(lambda found: found.product),
    "regr_syy": _of_pairs(lambda found: found.squares),
}
"""Of pairs of DOUBLEs, neither of which is NULL."""

STATISTICS: dict[str, Callable[[Sequence[Any]], Any]] = {
    **PAIRED,
    "bit_and": _bits(and_),
    "bit_or": _bits(or_),
    "bit_xor": _bits(xor),
    "kurtosis": kurtosis,
    "median": median,
    "skewness": skewness,
}
"""Of values that are not NULL."""


def _of_known(compute: Callable[[Sequence[Any]], Any]) -> Callable[[list[Any]], Any]:
    return lambda values: compute([value for value in values if value is not None])


def _truths(combine: Callable[[Iterable[bool]], bool]) -> Callable[[list[Any]], Any]:
    return _of_known(lambda values: combine(values) if values else None)


OF_LISTS: dict[str, Callable[[list[Any]], Any]] = {
    **{name: _of_known(compute) for name, compute in STATISTICS.items()},
    **dict.fromkeys(("bool_and", "every"), _truths(all)),
    **dict.fromkeys(("any", "bool_or", "some"), _truths(any)),
    "count_if": lambda values: sum(value is True for value in values),
}
"""Of the values of a list, NULLs among them: what kernels call where a condition must be judged at once."""

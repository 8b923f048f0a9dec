"""Interval constants: `INTERVAL '1' DAY '2' HOUR`, `INTERVAL '1 10:00' DAY TO MINUTE`."""

from __future__ import annotations

import datetime
from functools import lru_cache

from neelc.ir.expressions import Interval
from neelc.runtime.values.times import MONTHS, Months, interval_of_parts


def counts_months(interval: Interval) -> bool:
    """Whether the interval is one of years and months, by its first unit."""
    return interval.parts[0].unit in MONTHS


def is_whole_days(interval: Interval) -> bool:
    """Whether only days and weeks are named: a DATE plus such an interval is a DATE."""
    return all(part.unit in ("DAY", "WEEK") and part.to is None for part in interval.parts)


@lru_cache(maxsize=4096)
def interval_value(interval: Interval) -> datetime.timedelta | Months:
    """The value of an interval constant; `ValueError` says what is wrong with it.

    >>> from neelc.ir.expressions import IntervalPart
    >>> interval_value(Interval((IntervalPart("1", "DAY"), IntervalPart("2", "HOUR"))))
    datetime.timedelta(days=1, seconds=7200)
    """
    return interval_of_parts([(part.quantity, part.unit, part.to) for part in interval.parts])

"""Units of time."""

from __future__ import annotations

LENGTHS = {
    "WEEK": 7 * 86_400 * 10**9,
    "DAY": 86_400 * 10**9,
    "HOUR": 3_600 * 10**9,
    "MINUTE": 60 * 10**9,
    "SECOND": 10**9,
    "MILLISECOND": 10**6,
    "MICROSECOND": 10**3,
    "NANOSECOND": 1,
}
"""Nanoseconds in each unit of fixed length, from the longest."""

TIME_UNITS = (*reversed(LENGTHS), "MONTH", "QUARTER", "YEAR")
"""All units, the shortest first."""

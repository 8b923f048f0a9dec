"""Statistics for tests of the cost model, as short tuples."""

from __future__ import annotations

from neelc.catalog.statistics.numbers import KnownStatistic, Statistics


def known(*facts: tuple[str, float] | tuple[str, float, str] | tuple[str, float, str, str]) -> Statistics:
    """Statistics of the stream S: a measure, its number, a column, a type."""
    rows = [(*fact, "", "")[:4] for fact in facts]
    return Statistics(
        tuple(KnownStatistic("S", m, float(v), "declared", t or None, c) for m, v, c, t in rows)
    )

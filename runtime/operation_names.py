"""The operations that kernels can compute, by name. The compiler asks here: it does not load NumPy."""

from __future__ import annotations

NAMES = frozenset(
    """
    = <> < <= > >= <=> agrees
    and or not isnull isnotnull istrue isfalse
    + - * / % DIV neg abs
    coalesce case if greatest least cast
    """.split()
)

TYPES = frozenset("boolean tinyint smallint int bigint float double".split())
"""The types of what they compute, and what `cast` makes."""

FOLDS = frozenset(
    """
    avg count first last max mean min sum
    stddev stddev_pop stddev_samp var_pop var_samp variance
    """.split()
)
"""The aggregates over lists."""

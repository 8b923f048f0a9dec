"""What the parts of a Spark plan cost, in units of one row scanned.

Measured once, on one busy core, with Spark 4.3 and 3 million rows, where a row of three columns took about
170 ns to scan; loops as a compiled kernel would run them, with Numba. Only relations matter, and of these
only the orders of magnitude: runs differed by a factor of two.
"""

from __future__ import annotations

SCAN_ROW = 1.0
"""Reading a row of a few columns of Parquet, types and conditions on single events checked on the way."""
SHUFFLE_ROW = 1.0
SHUFFLE_BYTE = 0.03
"""Writing a row to a shuffle file and reading it again: 24 bytes took 1.8 units, 88 bytes 3.8."""
SORT_COMPARISON = 0.25
"""Sorting by key and time: 1,200 ns for a row among 375,000, so for about 18 comparisons."""
HAND_OVER_ROW = 3.0
"""From Spark to the kernel as Arrow batches: 500 ns."""
COMPARISON = 0.02
"""One comparison of two numbers: 3 ns, be it by generated Java or by a compiled loop."""
TRY = 0.01
"""Looking at one more event for a partial match: 2 ns."""
HOLD = 0.03
"""Writing down a partial match, 5 ns."""
LOOK_UP = 0.1
"""Finding the first event after a time in a sorted array: a binary search, about 20 ns."""
WINDOW_ROW = 6.0
"""A window function for a row of a sorted partition: with one of them a query took 1.45 times as long as with
the kernel, which costs HAND_OVER_ROW instead."""
JOIN_PAIR = 0.1
"""A pair of rows that a join puts together, to be judged: 20 ns."""
PRODUCE_ROW = 1.0
PRODUCE_BYTE = 0.03
"""A row of the result, from the kernel back to Spark: 160 ns for 24 bytes."""
CACHE_ROW = 2.0
"""A shortcut's cache of values: an inner event is shuffled to find distinct values, which are broadcast."""
PROBE = 0.3
"""A shortcut's check of an outer event: one probe of a hash table."""


def comparisons_work(comparisons: float) -> float:
    """Conditions, whose cost is given in comparisons."""
    return comparisons * COMPARISON

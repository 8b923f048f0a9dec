"""Aggregates over matches that are never enumerated: dynamic programming over events. Read `counting.py`
first.
"""

from __future__ import annotations

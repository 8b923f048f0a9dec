"""What can be known about a bound pattern: regions, roles, keys, truth, order in time.

Pure functions that rules, lints and costs call. Read `regions.py` first.
"""

from __future__ import annotations

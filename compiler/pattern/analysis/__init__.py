"""What can be known about a bound pattern: regions, roles, keys, truth, order in time.

Pure questions that rules, lints and costs ask. Read `facts.py` and `regions.py` first.
"""

from __future__ import annotations

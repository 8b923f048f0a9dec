"""Plans for aggregates over matches that are counted, not enumerated (docs/decisions/0037). Read `plan.py`
first.
"""

from __future__ import annotations

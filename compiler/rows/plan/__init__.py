"""From a bound MATCH_RECOGNIZE to what an engine computes of each row, and the program that finds the
matches. Read `plan.py` first.
"""

from __future__ import annotations

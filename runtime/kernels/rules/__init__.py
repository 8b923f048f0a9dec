"""Many rules over the same events on Spark's workers: the set that they become, and what runs it in one pass.
Read `program.py` first.
"""

from __future__ import annotations

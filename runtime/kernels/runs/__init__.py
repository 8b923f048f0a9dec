"""Runs that take one event after the other: SKIP TILL NEXT MATCH and the contiguities. Read `following.py`
first.
"""

from __future__ import annotations

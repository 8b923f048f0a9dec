"""Binding of PATTERN queries: every name resolved, every condition in its place. Read `query.py` first.

May import the catalog, the scalar language and the IR; knows nothing of rules, costs and plans.
"""

from __future__ import annotations

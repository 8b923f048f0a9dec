"""Binding of MATCH_RECOGNIZE clauses. Read `recognize.py` first."""

from __future__ import annotations

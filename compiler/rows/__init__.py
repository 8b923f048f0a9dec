"""MATCH_RECOGNIZE: `bind/` resolves the clause, `plan/` makes the program that finds its matches."""

from __future__ import annotations

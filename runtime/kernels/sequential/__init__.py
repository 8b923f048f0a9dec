"""MATCH_RECOGNIZE_SEQUENTIAL on Spark's workers: all matches in all universes, none of them enumerated."""

from __future__ import annotations

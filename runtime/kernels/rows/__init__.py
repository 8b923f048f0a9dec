"""Row patterns on Spark's workers: the program that a clause becomes, and what runs it."""

from __future__ import annotations

"""Expressions as Spark SQL that cannot fail. Read `expressions.py` first. sqlglot is imported here alone."""

from __future__ import annotations

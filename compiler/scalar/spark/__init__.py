"""Expressions as Spark SQL that cannot fail. Read `expressions.py` first. sqlglot is imported here alone."""

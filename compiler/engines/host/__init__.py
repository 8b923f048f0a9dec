"""Queries of Spark's own SQL around MATCH_RECOGNIZE. Read `compiling.py` first."""

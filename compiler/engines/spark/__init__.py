"""Plans as Spark relations, and those as PySpark source or SQL. Read `relations.py`, then `compiled.py`."""

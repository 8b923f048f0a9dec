"""Plans as Spark relations, and those as PySpark source or SQL. Read `relations.py`, then `compiled.py`."""

from __future__ import annotations

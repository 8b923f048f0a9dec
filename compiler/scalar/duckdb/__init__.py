"""How DuckDB spells the expressions of a plan, which are written for Spark: with Spark's meaning.

`spelling` walks over an expression; `operators`, `casts` and `functions` are the tables of what DuckDB has;
what it lacks, or does otherwise, is computed by the runtime's own operations (`evaluated`). Imports the
scalar language, the types, sqlglot and the runtime's values; docs/explanation/local-engine.md comes first.
"""

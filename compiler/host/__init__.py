"""Standard MATCH_RECOGNIZE inside of queries that are Spark's own SQL."""

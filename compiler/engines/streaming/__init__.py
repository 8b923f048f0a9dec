"""Plans over streams without end, as relations that Spark's Structured Streaming executes. It may import what
`neelc.engines.spark` may, and that; read `pattern.py` first, and `neelc.runtime.streaming` for what runs."""

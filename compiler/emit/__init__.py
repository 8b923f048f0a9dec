"""The way from steps to Spark: relations as text, and the source that builds them."""

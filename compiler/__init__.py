"""neelc: complex event processing for everyone who has Spark."""

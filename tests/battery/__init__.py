"""Hand-picked texts, each of which means what Spark's batch SQL means by it, or is refused."""

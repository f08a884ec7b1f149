"""Where tuples come from and where rows go: sources, sinks and files, without Spark."""

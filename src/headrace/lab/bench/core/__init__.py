"""The engine's speed from inside: flat out over files, side by side with plain Spark."""

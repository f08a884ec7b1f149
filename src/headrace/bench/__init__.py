"""Measurements of the engine against plain Structured Streaming, through the public API only."""

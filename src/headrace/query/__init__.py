"""Frozen, engine-neutral descriptions of streams and queries."""

"""Seeded random streams and queries, compared with slow and obvious twins."""

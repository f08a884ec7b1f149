"""Ingest: tuples in, sections out."""

"""Firing: sections in, rows out."""

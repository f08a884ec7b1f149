"""Benchmark, simulator and demo: programs built on Headrace, and what only they use."""

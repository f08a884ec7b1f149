"""Approximate windows on a running system, measured from outside: when they come, how far off."""

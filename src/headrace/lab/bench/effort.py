"""What is spent on a search for the highest rate that is held."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Length and number of a search's tries."""

    seconds: float
    """A try lasts so long, or ten batches of the system where these take longer …"""
    longest_s: float = 180.0
    """… but not more than this."""
    tolerance: float = 0.05
    """Of the rate found."""
    most: int = 12
    """After so many tries the best so far stands."""
    repeats: int = 1
    """Searches, each with a fresh system."""
    warm_ups: int = 3
    """Tries at half the rate before the first, as long as they are not held."""
    at_seconds: float | None = None
    """The rate found is measured for so long, and 90 % of it."""
    confirm: bool = True
    """Whether it is: otherwise the try that held it stands alone."""

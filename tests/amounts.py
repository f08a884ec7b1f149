"""How much of a seeded test is run: a little in `make test`, all of it in `make soak`."""

from __future__ import annotations

import os

SOAK = os.environ.get("HEADRACE_SOAK") == "1"


def rounds(few: int, many: int) -> int:
    """How often something is drawn; `many` when it soaks."""
    return many if SOAK else few


def seeds(few: int, many: int) -> range:
    """The seeds of a comparison with a slow twin; those of a short run are the first of a long."""
    return range(rounds(few, many))

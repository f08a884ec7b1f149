"""Named points that every transaction passes: tests let it die at any of them.

A point is reached before and after everything that an instruction does, and between the parts of a
transaction. Nothing happens there unless a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable

at: Callable[[str], None] | None = None
"""Called with the name of every point, in the thread that reaches it."""


def reach(point: str) -> None:
    """Something may happen here."""
    if at is not None:
        at(point)

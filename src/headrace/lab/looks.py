"""How all pictures look: one type size, lines that differ without colour."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl

FONT = 9
_STYLE: Any = {
    "font.size": FONT,
    "axes.titlesize": FONT,
    "axes.labelsize": FONT,
    "xtick.labelsize": FONT,
    "ytick.labelsize": FONT,
    "legend.fontsize": FONT,
    "figure.labelsize": FONT,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "legend.columnspacing": 1.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "savefig.dpi": 200,
}
LOOKS: list[tuple[str, Any, str]] = [
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", (0, (1, 1)), "D"),
    ("#000000", (0, (5, 1, 1, 1, 1, 1)), "v"),
    ("#56B4E9", (0, (7, 2)), "P"),
    ("#E69F00", (0, (3, 1, 1, 1)), "X"),
    ("#7F7F7F", (0, (2, 1)), "*"),
]
"""Colour (Okabe and Ito), line and marker: any one of them tells lines apart."""


def style() -> AbstractContextManager[None]:
    """The settings under which a figure is to be made."""
    return mpl.rc_context(_STYLE)

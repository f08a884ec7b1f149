"""What early answers are like, as a table for a terminal of a hundred columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from headrace.lab.simulator.early.trials import Row

_HEADS = ("s after", "p99", "right", "error", "held", "width", "met", "kept", "come")


def early_table(rows: Sequence[Row], title: str) -> Table:
    """One line for each way, grouped by the setting of delays.

    Seconds after the window's end, the share of answers within the error, the mean error, the share
    of exact answers that the bounds held, their width, the share of answers that were guaranteed,
    the share of tuples worked on, and the share that had come.
    """
    table = Table(
        title=f"{title}; shares in %",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("", no_wrap=True)
    table.add_column("way", no_wrap=True)
    for head in _HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    for number, row in enumerate(rows):
        first = number == 0 or rows[number - 1].setting != row.setting
        last = number + 1 == len(rows) or rows[number + 1].setting != row.setting
        table.add_row(
            row.setting if first else "",
            row.way,
            f"{row.latency_s:.2f}",
            f"{row.latency_p99_s:.2f}",
            f"{100 * row.accurate:.1f}",
            f"{100 * row.error:.2f}",
            f"{100 * row.covered:.1f}",
            f"{100 * row.width:.1f}",
            f"{100 * row.met:.1f}",
            f"{100 * row.kept:.0f}",
            f"{100 * row.arrived:.1f}",
            end_section=last,
        )
    return table

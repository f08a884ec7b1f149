"""Which process this is, and whether another one still lives: a pid alone may be used again."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_GONE = ("Z", "X", "x")
"""States of a process that has ended and waits for its parent to ask for it."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process of one machine."""

    host: str
    pid: int
    started: float | None = None
    """Seconds after the machine's start, where /proc tells; None elsewhere."""
    namespace: str = ""
    """Within which pids mean the same: one boot of one machine, and there one container. Two
    containers may have the same host name and not see each other's processes."""

    @classmethod
    def current(cls) -> Process:
        """This process."""
        pid = os.getpid()
        found = _look_up(pid)
        return cls(socket.gethostname(), pid, found[1] if found else None, _namespace())

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


Alive = Callable[[Process, Process], bool | None]
"""Whether the first process lives, as seen from the second; None if that cannot be told."""


def alive(process: Process, here: Process) -> bool | None:
    """Whether a process lives, as seen from `here`; None if it is out of sight, on another host or
    in another container.

    A pid that was given to another process since is told by its start, where that is known.
    """
    if (process.host, process.namespace) != (here.host, here.namespace):
        return None
    found = _look_up(process.pid)
    if found is None:
        return _answers(process.pid)
    state, started = found
    return state not in _GONE and process.started in (None, started)


def _answers(pid: int) -> bool:
    """Whether there is such a process, where /proc does not tell."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True


def _look_up(pid: int) -> tuple[str, float] | None:
    """State and start of a process, from /proc."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The second field is the program's name in brackets, which may hold blanks and brackets.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _namespace() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink(_PROC / 'self/ns/pid')}"
    except OSError:
        return ""

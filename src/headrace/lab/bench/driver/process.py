"""The system under test as a process: started, watched, measured from outside, ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

import headrace as hr

_LAST_LINES = 15
_PATIENCE_S = 30.0
"""So long a system may take to end by itself."""


class SystemFailed(hr.HeadraceError):
    """The system under test died, or never answered."""


class SystemProcess:
    """One adapter in a process group of its own; what it prints goes to a log file."""

    def __init__(
        self, adapter: str, address: str, options: Mapping[str, str], log_file: Path
    ) -> None:
        self.adapter = adapter
        self.log_file = log_file
        command = [sys.executable, "-m", "headrace.lab.bench.sut", adapter, address]
        with log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, json.dumps(dict(options))],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._seen: dict[int, psutil.Process] = {}
        self._cpu_s: dict[int, float] = {}
        self._last = (time.monotonic(), 0.0)

    def check(self) -> None:
        """Raise when it is dead."""
        code = self._process.poll()
        if code is not None:
            raise SystemFailed(f"{self.adapter} ended with exit code {code}{self._last_words()}")

    def usage(self) -> tuple[float, float]:
        """Cores in use since the last call, and memory in MB, over all its processes."""
        memory = 0.0
        for process in self._family():
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                self._cpu_s[process.pid] = times.user + times.system
                memory += _unshared(process)
        now, total = time.monotonic(), sum(self._cpu_s.values())
        before, used = self._last
        self._last = now, total
        return max(total - used, 0.0) / max(now - before, 1e-9), memory / 2**20

    def end(self) -> None:
        """Wait until it has ended, and end it by force when it does not."""
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it and all its processes now."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _family(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            main = psutil.Process(self._process.pid)
            return [main, *main.children(recursive=True)]
        return []

    def _last_words(self) -> str:
        text = self.log_file.read_text(errors="replace").strip()
        return f"; its last words:\n{_indented(text)}" if text else ""


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines()[-_LAST_LINES:])


def _unshared(process: psutil.Process) -> float:
    """Memory of a process without what forked workers share with their parent, in bytes."""
    info = process.memory_info()
    return float(info.rss - getattr(info, "shared", 0))

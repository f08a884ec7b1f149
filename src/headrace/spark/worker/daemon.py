"""Spark's daemon of Python workers, with our modules loaded and without its noise.

Workers are forks of the daemon. Spark ends a worker whenever a task fails, and a new one would take
a second to import what tasks of ours need; from here it has all of it.

Spark puts its own Python package on the path as a zip file. From there every daemon and every
worker compiles it anew, which takes as long as all other imports together. Where the zip is only a
copy of the installed package, that one is imported.

Over a Unix socket, a worker that Spark no longer needs finds the socket closed when it says
goodbye, and the daemon prints a stack trace for it. Nothing is wrong, so nothing is printed.
Spark runs this module when `spark.python.daemon.module` names it (`hr.local_spark` does).
"""

from __future__ import annotations

import gc
import importlib
import sys
import traceback
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any


def without_copies(path: Sequence[str]) -> list[str]:
    """A module path without the zip files that lie inside the PySpark that is installed on it."""
    plain = [p for p in path if not p.endswith(".zip")]
    spec = PathFinder.find_spec("pyspark", plain)
    if spec is None or spec.origin is None:
        return list(path)
    installed = Path(spec.origin).resolve().parent
    return [p for p in path if p in plain or installed not in Path(p).resolve().parents]


if __name__ == "__main__":
    sys.path[:] = without_copies(sys.path)

from pyspark import daemon  # noqa: E402 - from the path as it is now


class _Quiet:
    """The traceback module, except that it does not print a closed socket."""

    def __getattr__(self, name: str) -> Any:
        return getattr(traceback, name)

    def print_exc(self) -> None:
        if not isinstance(sys.exception(), BrokenPipeError):
            traceback.print_exc()


def preload() -> None:
    """Import what tasks import, and keep Python from looking at it after every task."""
    for name in ("ingest.catalyst_task", "ingest.file_task", "fire.early_task", "fire.task"):
        importlib.import_module(f"headrace.spark.{name}")
    importlib.import_module("pyspark.worker")
    gc.freeze()


if __name__ == "__main__":
    preload()
    vars(daemon)["traceback"] = _Quiet()
    daemon.manager()

"""Spark's daemon of Python workers, with our modules loaded and without its noise.

Workers are forks of the daemon. Spark ends a worker whenever a task fails, and a new one would take
a second to import what tasks of ours need; from here it has all of it.

Over a Unix socket, a worker that Spark no longer needs finds the socket closed when it says
goodbye, and the daemon prints a stack trace for it. Nothing is wrong, so nothing is printed.
Spark runs this module when `spark.python.daemon.module` names it (`hr.local_spark` does).
"""

from __future__ import annotations

import gc
import importlib
import sys
import traceback
from typing import Any

from pyspark import daemon


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
    gc.freeze()


if __name__ == "__main__":
    preload()
    vars(daemon)["traceback"] = _Quiet()
    daemon.manager()

"""Spark's daemon of Python workers, without its noise.

Over a Unix socket, a worker that Spark no longer needs finds the socket closed when it says
goodbye, and the daemon prints a stack trace for it. Nothing is wrong, so nothing is printed.
Spark runs this module when `spark.python.daemon.module` names it (`hr.local_spark` does). The
worker that looks for data sources comes from Spark's own daemon whatever the setting;
`pyspark_headrace` says `hush` in it.
"""

from __future__ import annotations

import sys
import traceback
from types import TracebackType
from typing import Any

from pyspark import daemon


class _Quiet:
    """The traceback module, except that it does not print a closed socket."""

    def __getattr__(self, name: str) -> Any:
        return getattr(traceback, name)

    def print_exc(self) -> None:
        if not isinstance(sys.exception(), BrokenPipeError):
            traceback.print_exc()


def hush() -> None:
    """In a worker of a data source, whose daemon or program is Spark's own: do it from inside."""
    main = sys.modules["__main__"]
    program = str(getattr(getattr(main, "__spec__", None), "name", ""))
    if program == "pyspark.daemon":
        vars(main)["traceback"] = _Quiet()
    elif program.startswith("pyspark."):
        sys.excepthook = _end_quietly


def _end_quietly(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, BrokenPipeError):
        sys.__excepthook__(kind, error, trace)


if __name__ == "__main__":
    vars(daemon)["traceback"] = _Quiet()
    daemon.manager()

"""Spark's daemon of Python workers, without its noise.

Over a Unix socket, a worker that Spark no longer needs finds the socket closed when it says
goodbye, and the daemon prints a stack trace for it. Nothing is wrong, so nothing is printed.
Spark runs this module when `spark.python.daemon.module` names it (`hr.local_spark` does).
"""

from __future__ import annotations

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


if __name__ == "__main__":
    vars(daemon)["traceback"] = _Quiet()
    daemon.manager()

"""Spark imports this module, for its name, in the worker that looks for Python data sources.

There is none to find here: that worker comes from Spark's own daemon, and would print a stack trace
once Spark no longer needs it (see `headrace.spark.worker_daemon`).
"""

from headrace.spark.worker_daemon import hush

hush()

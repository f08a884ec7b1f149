"""What all tasks of a transaction know."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connectors.store import Store
from headrace.kernels.answers import Setting
from headrace.spark.fire.delivery import TaskSink


@dataclass(frozen=True)
class Premises:
    """The same for ingest, firing and finishing."""

    txn: int
    version: int
    buckets: Store
    staging: Store
    sinks: dict[int, TaskSink]
    setting: Setting

"""`local_spark`: a SparkSession on this machine, set up for short micro-batches."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    # Micro-batches are small: planning them twice costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
    # On a local disk a rename is atomic; the other manager forks a process per file.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.python.worker.reuse": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}


def local_spark(cores: int | None = None, **conf: object) -> SparkSession:
    """A local SparkSession with `cores` cores (default: all).

    Further settings go by Spark's names with dots written as underscores or passed with ``**``:
    ``local_spark(2, **{"spark.sql.ansi.enabled": "false"})``. ``master`` may be given the same way.
    """
    # Workers must run the Python that has this package, not the first one on PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    count = cores if cores is not None else os.cpu_count() or 1
    settings = {
        **_SETTINGS,
        "spark.master": f"local[{count}]",
        "spark.app.name": "headrace",
        "spark.sql.shuffle.partitions": str(count),
    }
    for name, value in conf.items():
        key = name if "." in name else _setting_name(name)
        settings[key] = str(value).lower() if isinstance(value, bool) else str(value)
    builder = SparkSession.Builder()
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _setting_name(name: str) -> str:
    return "spark.master" if name == "master" else name.replace("_", ".")

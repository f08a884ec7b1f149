"""`local_spark`: a SparkSession on this machine, set up for short micro-batches."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from headrace.errors import HeadraceError

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    # Micro-batches are small: planning them twice costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
    # Spark keeps 100 generated classes. Many streaming queries use more at once, and those thrown
    # out are compiled again in every micro-batch.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # On a local disk a rename is atomic; the other manager forks a process per file.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.python.worker.reuse": "true",
    # Between the JVM and its Python workers TCP waits for delayed acknowledgements: 40 ms a stage.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "headrace.spark.worker.daemon",
    # Many pipelines starting at once on a busy machine need longer than Spark's 15 seconds.
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LOG_CONFIGURATION = "-Dlog4j2.configurationFile="


def local_spark(
    cores: int | None = None, *, log_file: str | os.PathLike[str] | None = None, **conf: object
) -> SparkSession:
    """Start a local SparkSession with `cores` cores (default: all), or return the running one.

    Further settings are given in `conf` by Spark's names, with dots written as underscores, or as a
    mapping: ``local_spark(2, **{"spark.sql.ansi.enabled": "false"})``. They go before
    Headrace's own. ``master="…"`` stands for ``spark.master``.

    Spark logs errors only, on standard error. With `log_file` they go there, together with all else
    that the JVM and its Python workers print. Both take effect only when this call starts the JVM.
    A log4j2 configuration of your own in ``SPARK_CONF_DIR`` or the driver's Java options is kept.

    >>> spark = local_spark(2)                                            # doctest: +SKIP
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
    settings[_JAVA_OPTIONS] = _java_options(settings.get(_JAVA_OPTIONS, ""))
    builder = SparkSession.Builder()
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with _standard_error_to(log_file):
            spark = builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise _no_java(error) from error
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _no_java(error: PySparkRuntimeError) -> Exception:
    """What to say where Spark's JVM has not come up."""
    if error.getCondition() != "JAVA_GATEWAY_EXITED":
        return error
    home = os.environ.get("JAVA_HOME")
    found = f"JAVA_HOME is {home}" if home else f"on PATH it is {shutil.which('java') or 'missing'}"
    return HeadraceError(
        f"Spark did not start: it needs Java 17 or newer ({found}); install a headless Java "
        f"runtime, or set JAVA_HOME to one [{str(error).splitlines()[0]}]"
    )


def _setting_name(name: str) -> str:
    return "spark.master" if name == "master" else name.replace("_", ".")


def _java_options(given: str) -> str:
    """The caller's options, and our logging unless there is one already."""
    own = Path(os.environ.get("SPARK_CONF_DIR", ""), "log4j2.properties")
    if _LOG_CONFIGURATION in given or ("SPARK_CONF_DIR" in os.environ and own.exists()):
        return given
    shipped = resources.files("headrace.spark").joinpath("log4j2.properties")
    if not isinstance(shipped, Path):  # a zipped package has no file that the JVM could open
        return given
    return f"{given} {_LOG_CONFIGURATION}{shipped.as_uri()}".strip()


@contextmanager
def _standard_error_to(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let processes that are started inside write their standard error to a file."""
    if path is None:
        yield
        return
    before = os.dup(2)
    try:
        with open(path, "ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)

"""What hostile texts would leave behind in the application if they were run."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

_PROPERTY = "headrace.battery"
_VIEW = "battery_view"
_FOLDERS = ("/tmp/headrace-battery", "spark-warehouse/battery_table")


class Traces:
    """Lays out what the texts aim at, and looks for changes afterwards."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        spark.sql("SELECT 'secret' AS secret").createOrReplaceGlobalTempView(_VIEW)
        spark.udf.register("battery_udf", lambda number: number, "int")
        self._before = self._state()

    def found(self) -> list[str]:
        """What has changed, in words."""
        after = self._state()
        return [
            f"{name}: {self._before[name]} became {after[name]}"
            for name in after
            if after[name] != self._before[name]
        ]

    def _state(self) -> dict[str, str]:
        spark = self._spark
        jvm = spark.sparkContext._jvm
        assert jvm is not None

        def listed(command: str) -> str:
            # Not by `spark.catalog`, which may decode its answer in whatever session ran last.
            return str(sorted(tuple(row) for row in spark.sql(command).collect()))

        return {
            "a system property": str(jvm.java.lang.System.getProperty(_PROPERTY)),
            "tables": listed("SHOW TABLES"),
            "global views": listed("SHOW TABLES IN global_temp"),
            "databases": listed("SHOW DATABASES"),
            "jars": str(spark.sparkContext._jsc.sc().listJars().size()),
            "ANSI": str(spark.conf.get("spark.sql.ansi.enabled")),
            "the time zone": str(spark.conf.get("spark.sql.session.timeZone")),
            "folders": str([f for f in _FOLDERS if Path(f).exists()]),
        }

"""Messages of tasks as rows of Spark."""

from __future__ import annotations

from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

# A text would be parsed by the JVM in every batch.
SCHEMA = StructType(
    [
        StructField("kind", StringType()),
        StructField("uid", LongType()),
        StructField("payload", BinaryType()),
    ]
)

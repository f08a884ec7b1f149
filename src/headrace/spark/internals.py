"""Spark's own classes, where its public interface does not reach: all in one place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from threading import Lock
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from headrace.errors import HeadraceError

KNOWN_VERSIONS = ("4.3",)
"""Versions of Spark whose classes are as they are taken for here."""


def check_version() -> None:
    """Refuse a Spark whose classes nobody has looked at."""
    if not pyspark.__version__.startswith(KNOWN_VERSIONS):
        raise HeadraceError(
            f"this is Spark {pyspark.__version__}; Headrace knows {', '.join(KNOWN_VERSIONS)}"
        )


class ReadingClass:
    """The class of ``Reading.java``, compiled in the driver's JVM by Spark's own compiler."""

    def __init__(self, spark: SparkSession) -> None:
        gateway: Any = spark.sparkContext._gateway
        jvm: Any = spark._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        compiler.cook(resources.files("headrace.spark").joinpath("Reading.java").read_text())
        made = compiler.getClassLoader().loadClass("headrace.Reading")
        types = gateway.new_array(jvm.java.lang.Class, 1)
        types[0] = jvm.java.lang.Class.forName("java.lang.String")
        self._constructor = made.getConstructor(types)
        self._gateway, self._jvm = gateway, jvm

    def of(self, text: str) -> Any:
        """A reading of one text."""
        arguments = self._gateway.new_array(self._jvm.java.lang.Object, 1)
        arguments[0] = text
        return self._constructor.newInstance(arguments)

    def list_of(self, items: Sequence[object]) -> Any:
        """A Java list."""
        made = self._jvm.java.util.ArrayList()
        for item in items:
            made.add(item)
        return made


_compiled: list[tuple[object, ReadingClass]] = []
_compiling = Lock()


def reading_class(spark: SparkSession) -> ReadingClass:
    """Compiled once for a JVM: it takes a quarter of a second, and py4j looks for methods by the
    name of a class, of which there must be one."""
    gateway = spark.sparkContext._gateway
    with _compiling:
        if not _compiled or _compiled[0][0] is not gateway:
            check_version()
            _compiled[:] = [(gateway, ReadingClass(spark))]
        return _compiled[0][1]


def told(answer: str) -> Mapping[str, Any]:
    """What a reading says."""
    found: dict[str, Any] = json.loads(answer)
    return found

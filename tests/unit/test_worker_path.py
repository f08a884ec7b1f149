"""Where a Python worker finds PySpark: the installed package rather than a zipped copy of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.spark.worker.daemon import without_copies


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a package `pyspark`, as pip leaves it, and its zip."""
    package = tmp_path / "site" / "pyspark"
    (package / "python" / "lib").mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in ("pyspark.zip", "py4j-src.zip"):
        (package / "python" / "lib" / name).touch()
    return package


def test_copies_inside_the_installed_package_are_left_out(installed: Path) -> None:
    site, lib = str(installed.parent), installed / "python" / "lib"
    path = ["", str(lib / "pyspark.zip"), str(lib / "py4j-src.zip"), "/elsewhere", site]
    assert without_copies(path) == ["", "/elsewhere", site]


def test_zips_of_others_stay_in_their_place(installed: Path, tmp_path: Path) -> None:
    site, other = str(installed.parent), str(tmp_path / "spark" / "python" / "lib" / "pyspark.zip")
    assert without_copies([other, site]) == [other, site]


def test_nothing_changes_where_only_the_zip_has_it(tmp_path: Path) -> None:
    path = [str(tmp_path / "pyspark.zip"), str(tmp_path)]
    assert without_copies(path) == path

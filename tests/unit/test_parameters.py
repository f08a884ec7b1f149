"""sql/parameters.py: what HAVING compares with, taken out to finish queries together."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from headrace.kernels.shapes import shape_of, with_parameters
from headrace.query.logical import Parameter
from headrace.sql.parameters import neutral, parametrised

from .analyzer import read

INT = "int"


@pytest.mark.parametrize(
    ("sql", "wanted", "parameters"),
    [
        ("_a0 > 5", "_a0 > _p0", [(INT, 5)]),
        ("_a0 >= -5 AND _a1 <> 7", "_a0 >= _p0 AND _a1 <> _p1", [(INT, -5), (INT, 7)]),
        ("(_a0 < 1) OR NOT _a1 = 2", "(_a0 < _p0) OR NOT _a1 = _p1", [(INT, 1), (INT, 2)]),
        ("_a0 > 2.50", "_a0 > _p0", [("decimal(3,2)", Decimal("2.50"))]),
        ("_a0 > -0.05", "_a0 > _p0", [("decimal(2,2)", Decimal("-0.05"))]),
        ("_a0 <=> 3", "_a0 <=> _p0", [(INT, 3)]),
    ],
)
def test_numbers_that_are_compared_with_become_columns(
    sql: str, wanted: str, parameters: list[tuple[str, object]]
) -> None:
    found, made = parametrised(sql)
    assert found == wanted
    assert [(p.type, p.value) for p in made] == parameters


@pytest.mark.parametrize(
    "sql",
    [
        "_a0 > 5 + _a1",
        "5 < _a0",
        "_a0 > 3000000000",
        "_a0 > 5L",
        "_a0 > 1e3",
        "_a0 BETWEEN 1 AND 2",
        "_a0 IN (1, 2)",
        "round(_a0, 2) > _a1",
        "_a0 > '5'",
        "_a0 > DATE '2024-01-01'",
        "_a0 > 123456789012345678901234567890.123456789",
    ],
)
def test_other_constants_stay_where_they_are(sql: str) -> None:
    assert parametrised(sql) == (sql, ())


def test_for_analysis_only_the_type_of_a_constant_counts() -> None:
    assert neutral("_a0 > 5 AND _a1 < 2.50") == neutral("_a0 > -7 AND _a1 < 1.25")
    assert neutral("_a0 > 5") != neutral("_a0 > 5.0")


TEXT = (
    "SELECT gem_pack, COUNT(*) AS n FROM purchases GROUP BY window(time, '1 second'), gem_pack "
    "HAVING n > {} ORDER BY n LIMIT {}"
)


def test_queries_that_differ_in_such_constants_have_one_shape() -> None:
    assert shape_of(read(TEXT.format(1, 5))) == shape_of(read(TEXT.format(200, 7)))
    assert shape_of(read(TEXT.format(1, 5))) != shape_of(read(TEXT.format(1.5, 5)))


def test_rows_are_given_the_constants_of_their_query() -> None:
    queries = {3: read(TEXT.format(1, 5)), 8: read(TEXT.format(200, 7))}
    assert queries[8].parameters == (Parameter("int", 200),)
    table = with_parameters(pa.table({"_q": [8, 3, 8]}), queries, "UTC")
    assert table.column("_p0").to_pylist() == [200, 1, 200]
    assert table.column("_limit").to_pylist() == [7, 5, 7]
    assert [f.type for f in table.schema][1:] == [pa.int32(), pa.int64()]

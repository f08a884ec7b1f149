"""What HAVING compares with is taken out of the text, to finish queries together."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from headrace.kernels.shapes import shape_of, with_parameters
from headrace.query.logical import Parameter

from .live import WINDOW, read

INT = "int"


def having(condition: str) -> tuple[str | None, list[tuple[str, object]]]:
    query = read(
        f"SELECT SUM(price) AS a, MAX(amount) AS b FROM purchases {WINDOW} HAVING {condition}"
    )
    return query.having, [(p.type, p.value) for p in query.parameters]


@pytest.mark.parametrize(
    ("condition", "parameters"),
    [
        ("a > 5", [(INT, 5)]),
        ("a >= -5 AND b <> 7", [(INT, -5), (INT, 7)]),
        ("(a < 1) OR NOT b = 2", [(INT, 1), (INT, 2)]),
        ("b > 2.50", [("decimal(3,2)", Decimal("2.50"))]),
        ("b > -0.05", [("decimal(2,2)", Decimal("-0.05"))]),
        ("a <=> 3", [(INT, 3)]),
    ],
)
def test_numbers_that_are_compared_with_become_columns(
    condition: str, parameters: list[tuple[str, object]]
) -> None:
    written, found = having(condition)
    assert found == parameters
    assert written is not None
    for number in range(len(parameters)):
        assert f"_p{number}" in written


@pytest.mark.parametrize(
    "condition",
    [
        "a > 5 + b",
        "5 < a",
        "a > 3000000000",
        "a > 5L",
        "a > 1e3",
        "a IN (1, 2)",
        "a BETWEEN 1 AND 2",
        "round(a, 2) > b",
        "MAX(day) > DATE '2024-01-01'",
    ],
)
def test_other_constants_stay_where_they_are(condition: str) -> None:
    assert having(condition)[1] == []


TEXT = (
    "SELECT gem_pack, COUNT(*) AS n FROM purchases GROUP BY window(time, '1 second'), gem_pack "
    "HAVING n > {} ORDER BY n LIMIT {}"
)


def test_queries_that_differ_in_such_constants_have_one_shape() -> None:
    assert shape_of(read(TEXT.format(1, 5))) == shape_of(read(TEXT.format(200, 7)))
    assert shape_of(read(TEXT.format(1, 5))) != shape_of(read(TEXT.format("1.50", 5)))


def test_rows_are_given_the_constants_of_their_query() -> None:
    queries = {3: read(TEXT.format(1, 5)), 8: read(TEXT.format(200, 7))}
    assert queries[8].parameters == (Parameter("int", 200),)
    table = with_parameters(pa.table({"_q": [8, 3, 8]}), queries, "UTC")
    assert table.column("_p0").to_pylist() == [200, 1, 200]
    assert table.column("_limit").to_pylist() == [7, 5, 7]
    assert [f.type for f in table.schema][1:] == [pa.int32(), pa.int64()]

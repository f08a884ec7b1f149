"""query/arrow.py: Spark's types as the Arrow types that Spark itself uses."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headrace.query.arrow import arrow_type

ZONE = "Europe/Berlin"


@pytest.mark.parametrize(
    ("spark", "arrow"),
    [
        ("boolean", pa.bool_()),
        ("tinyint", pa.int8()),
        ("smallint", pa.int16()),
        ("int", pa.int32()),
        ("bigint", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("string", pa.string()),
        ("binary", pa.binary()),
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us", ZONE)),
        ("timestamp_ntz", pa.timestamp("us")),
        ("decimal(10,2)", pa.decimal128(10, 2)),
        ("decimal(38,0)", pa.decimal128(38, 0)),
        ("array<int>", pa.list_(pa.int32())),
        ("array<array<decimal(10,2)>>", pa.list_(pa.list_(pa.decimal128(10, 2)))),
        (
            "struct<start:timestamp,end:timestamp>",
            pa.struct(
                [("start", pa.timestamp("us", ZONE)), ("end", pa.timestamp("us", ZONE))],
            ),
        ),
        (
            "struct<money:decimal(10,2),n:int>",
            pa.struct([("money", pa.decimal128(10, 2)), ("n", pa.int32())]),
        ),
        (
            "struct<a:struct<b:int,c:array<string>>,d:date>",
            pa.struct(
                [
                    ("a", pa.struct([("b", pa.int32()), ("c", pa.list_(pa.string()))])),
                    ("d", pa.date32()),
                ]
            ),
        ),
        ("map<string,int>", pa.map_(pa.string(), pa.int32())),
    ],
)
def test_types_of_columns_have_sparks_own_arrow_type(spark: str, arrow: pa.DataType) -> None:
    assert arrow_type(spark, ZONE) == arrow


def test_a_type_arrow_does_not_have_is_named() -> None:
    with pytest.raises(TypeError, match="variant"):
        arrow_type("variant")

"""query/schema.py: columns, their types, and how their values are ordered."""

from __future__ import annotations

import pytest

from headrace.query.schema import Column, Domain, StreamSchema, decimal_of, domain_of, quoted


@pytest.mark.parametrize(
    ("type_", "domain"),
    [
        ("tinyint", "integer"),
        ("bigint", "integer"),
        ("boolean", "integer"),
        ("date", "integer"),
        ("timestamp", "integer"),
        ("timestamp_ntz", "integer"),
        ("decimal(18,2)", "integer"),
        ("decimal(19,2)", "other"),
        ("float", "float"),
        ("double", "float"),
        ("string", "string"),
        ("string collate UTF8_LCASE", "other"),
        ("binary", "other"),
        ("array<int>", "other"),
    ],
)
def test_short_decimals_dates_and_times_are_ordered_as_whole_numbers(
    type_: str, domain: Domain
) -> None:
    assert domain_of(type_) == Column("c", type_).domain == domain


def test_decimals_have_a_precision_and_a_scale() -> None:
    assert decimal_of("decimal(10,2)") == (10, 2)
    assert decimal_of("decimal(10, -2)") == (10, -2)
    assert decimal_of("double") is None
    assert decimal_of("array<decimal(10,2)>") is None


def test_columns_are_found_whatever_the_case_as_spark_finds_them() -> None:
    stream = StreamSchema("s", (Column("Price", "int"), Column("time", "timestamp")), "time")
    assert stream.find("pRICE") == Column("Price", "int")
    assert stream.find("prices") is None


@pytest.mark.parametrize(("name", "safe"), [("a", "`a`"), ("a b", "`a b`"), ("a`b", "`a``b`")])
def test_any_name_can_be_written_as_an_identifier(name: str, safe: str) -> None:
    assert quoted(name) == safe

"""Types and values of results against Spark's own batch SQL over the same tuples."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.oracle.static import configured, differences, make_tuples

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_W = "GROUP BY window(time, '10 minutes')"

AGGREGATES = """
SUM(t), SUM(h), SUM(i), SUM(b % 1000), COUNT(t), AVG(h)
SUM(r), SUM(d), SUM(d * 2), AVG(d), AVG(r), AVG(i), AVG(b % 1000)
SUM(w), AVG(w), MIN(w), MAX(w)
MIN(t), MAX(h), MIN(b), MAX(b), MIN(r), MAX(d), MIN(day), MAX(ts), MIN(n), MAX(time)
MIN(k), MAX(s), MIN(f), MAX(f), MIN(bin), MAX(bin)
MIN(x), MAX(x), COUNT(x), COUNT(DISTINCT x)
STDDEV(i), STDDEV_POP(d), VARIANCE(h), VAR_POP(r), VAR_SAMP(w)
COUNT(DISTINCT k), COUNT(DISTINCT d), COUNT(DISTINCT w), COUNT(DISTINCT ts), COUNT(DISTINCT bin)
COUNT(DISTINCT k, f), COUNT(DISTINCT i, day, d)
APPROX_COUNT_DISTINCT(i), APPROX_COUNT_DISTINCT(s), APPROX_COUNT_DISTINCT(x)
APPROX_COUNT_DISTINCT(ts), APPROX_COUNT_DISTINCT(d), APPROX_COUNT_DISTINCT(i, 0.02)
PERCENTILE_APPROX(i, 0.5), PERCENTILE_APPROX(t, 0.07), PERCENTILE_APPROX(d, array(0.1, 0.28, 0.9))
PERCENTILE_APPROX(r, 0.25), PERCENTILE_APPROX(day, 0.5), PERCENTILE_APPROX(ts, 0.75, 1000)
PERCENTILE_APPROX(w, 0.5), PERCENTILE_APPROX(b, 0.5), PERCENTILE_APPROX(n, 0.14)
COUNT(*) FILTER (WHERE f), SUM(i) FILTER (WHERE k IN ('a', 'b')), MAX(s) FILTER (WHERE i > 0)
COUNT_IF(i > 3), BOOL_AND(f), BOOL_OR(i > 39), EVERY(i > -30)
SUM(i) / COUNT(*), SUM(d) / COUNT(d), SUM(d) + MAX(w), MAX(i) - MIN(h), AVG(d) * 2
CAST(SUM(i) AS STRING), concat('n=', COUNT(*)), coalesce(MAX(k), 'none'), SUM(i) > 10
SUM(CAST(f AS INT)), SUM(i * d), AVG(x) FILTER (WHERE x < 100), MAX(length(s))
""".strip().splitlines()

KEYS = [
    f"SELECT {key} AS key, COUNT(*) AS c, SUM(i) AS s FROM events "
    f"GROUP BY window(time, '20 minutes', '5 minutes'), {key}"
    for key in (
        "k", "t", "r", "x", "d", "w", "f", "day", "ts", "n", "bin", "upper(s)", "i % 4",
        "d > 10", "year(day)", "CASE WHEN f THEN k ELSE s END", "substring(s, 1, 1)",
        "date_trunc('HOUR', ts)", "CAST(b AS DOUBLE)", "x + 1", "CAST(d AS INT)",
    )
]  # fmt: skip

SELECTIONS = [
    "SELECT * FROM events",
    "SELECT k, i + 1 AS j, d * d, w, x, bin FROM events WHERE i > 3 OR k IS NULL",
    "SELECT day, ts, n, hour(ts), CAST(ts AS STRING), date_format(ts, 'yyyy-MM-dd HH') FROM events",
    "SELECT t, h, t + h AS th, b, r FROM events WHERE NOT (f AND i < 20)",
]

WHERE = [
    f"SELECT window.start, window.end, COUNT(*) AS c FROM events WHERE {condition} {_W}"
    for condition in (
        "x = 0", "x > 0", "x <> 'NaN'", "x >= 1024 OR x IS NULL", "r = 0.5", "r IN (0.5, 3)",
        "t = 5.0", "t BETWEEN -10 AND 10.5", "h < 1e2", "b = 9007199254740993", "b > 9e15",
        "d = 1e1", "d > '12.5'", "w > 0", "w BETWEEN -1000 AND 1000.5", "k = 'b'", "k > 'B'",
        "k IN ('a', NULL)", "k NOT IN ('a', NULL)", "s LIKE '%an%'", "s RLIKE '^[a-z]'",
        "f", "f = false", "f <=> NULL", "day = '2024-03-10'", "day > DATE '2024-03-01'",
        "ts >= '2024-03-10 02:30:00'", "ts < TIMESTAMP '2024-03-10 03:00:00'",
        "n > '2024-03-10 02:30:00'", "n <= TIMESTAMP_NTZ '2024-03-10 05:30:00'",
        "time > '2024-03-10 06:00:00'", "day IN ('2024-03-01', '2024-03-10')", "bin = X'61'",
        "i IS DISTINCT FROM 3",
    )
]  # fmt: skip

WINDOWS = [
    "SELECT window, COUNT(*) AS c FROM events GROUP BY window(time, '1 day')",
    "SELECT window.start, window.end, k, COUNT(*) FROM events "
    "GROUP BY window(time, '1 hour', '20 minutes', '5 minutes'), k",
    "SELECT window(time, '30 minutes').end AS e, SUM(i) FROM events "
    "GROUP BY window(time, '30 minutes')",
    "SELECT session_window, k, COUNT(*) AS c, COUNT(DISTINCT i) FROM events "
    "GROUP BY session_window(time, '65 seconds'), k",
    "SELECT session_window.start, session_window.end, SUM(d) FROM events WHERE f "
    "GROUP BY session_window(time, '1 minute')",
    "SELECT date_format(window.start, 'HH:mm') AS at, hour(window.end), COUNT(*) FROM events "
    "GROUP BY window(time, '15 minutes')",
    "SELECT window.start AS s, day AS d2, COUNT(*) FROM events GROUP BY window(time, '1 hour'), 2 "
    "HAVING COUNT(*) > 1 AND MAX(i) > 0",
    "SELECT CAST(window.start AS STRING), CAST(ts AS DATE) AS local, COUNT(*) FROM events "
    "GROUP BY window(time, '2 hours'), CAST(ts AS DATE)",
]

WRAPPING = [
    f"SELECT window.start, {items} FROM events GROUP BY window(time, '10 minutes')"
    for items in (
        "SUM(CAST(s AS INT)), COUNT(CAST(s AS INT))",
        "SUM(i / (i % 3)), COUNT(i % (i % 2))",
        "MAX(CAST(t * 100 AS TINYINT)), SUM(CAST(b AS INT))",
        "SUM(b * 1000), MIN(b * 1000)",
        "SUM(w * w), MAX(CAST(w AS DECIMAL(5, 2)))",
        "SUM(s), AVG(s), STDDEV(s)",
        "MAX(CAST(s AS DATE)), COUNT(CAST(k AS BOOLEAN))",
    )
] + [
    "SELECT CAST(s AS INT) AS n, COUNT(*) FROM events GROUP BY window(time, '1 hour'), "
    "CAST(s AS INT)",
    "SELECT window.start, COUNT(*) FROM events WHERE CAST(s AS INT) > 0 "
    "GROUP BY window(time, '1 hour')",
    "SELECT window.start, COUNT(*) FROM events WHERE s = 12 GROUP BY window(time, '1 hour')",
    "SELECT i / (i % 2) AS q, CAST(s AS DOUBLE) AS z FROM events WHERE k = 'a'",
]


def _aggregate_queries() -> list[str]:
    plain = [f"SELECT window.start, {a} FROM events {_W}" for a in AGGREGATES]
    keyed = [f"SELECT k, f, {a} FROM events WHERE i > -10 {_W}, k, f" for a in AGGREGATES[:8]]
    return plain + keyed


def _check(failures: list[str], seed: int) -> None:
    assert not failures, "\n\n".join(f"seed {seed}: {f}" for f in failures)


def test_aggregates_and_types(spark: SparkSession) -> None:
    with configured(spark, {"spark.sql.ansi.enabled": "true"}) as own:
        _check(differences(own, make_tuples(11, 400), _aggregate_queries()), 11)


def test_keys_selections_and_predicates(spark: SparkSession) -> None:
    with configured(spark, {"spark.sql.ansi.enabled": "true"}) as own:
        _check(differences(own, make_tuples(12, 300), KEYS + SELECTIONS + WHERE), 12)


def test_without_ansi(spark: SparkSession) -> None:
    with configured(spark, {"spark.sql.ansi.enabled": "false"}) as own:
        _check(differences(own, make_tuples(13, 300), WRAPPING + WHERE[::5]), 13)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_time_zones(spark: SparkSession, zone: str) -> None:
    times = [w for w in WHERE if "ts " in w or "time" in w.split("WHERE")[1] or "n " in w]
    with configured(spark, {"spark.sql.session.timeZone": zone}) as own:
        tuples = make_tuples(14, 300)
        _check(differences(own, tuples, WINDOWS + SELECTIONS[:3] + times + KEYS[9:11]), 14)


def test_event_time_without_zone(spark: SparkSession) -> None:
    with configured(spark, {"spark.sql.session.timeZone": "America/New_York"}) as own:
        tuples = make_tuples(15, 300, ntz=True)
        _check(differences(own, tuples, WINDOWS + SELECTIONS[:1] + WHERE[::6]), 15)

"""bench/driver/feed.py: the rate depends on the clock alone, delays reorder, nothing is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.lab.bench.driver.feed import TICK_S, Feed
from headrace.lab.delays import Delay, read_delay


class Numbers:
    """Tuples that hold their own number."""

    def columns(self, rng: Any, number: Any, at_s: Any) -> dict[str, pa.Array]:
        return {"n": pa.array(number), "at_s": pa.array(at_s)}


def feed(delay: str = "constant:0ms", gap: Delay | None = None, partition: int = 0) -> Feed:
    return Feed(
        Numbers(),
        seed=5,
        partition=partition,
        partitions=2,
        start_s=1000.0,
        delay=read_delay(delay),
        gap=gap,
    )


def made(source: Feed, upto_s: float) -> pa.Table:
    batches = list(source.upto(upto_s))
    return pa.Table.from_batches(batches) if batches else pa.table({"n": [], "time": []})


def seconds(table: pa.Table) -> np.ndarray:
    return table.column("time").cast(pa.int64()).to_numpy() / 1e6


def test_events_are_due_by_the_clock_however_late_they_are_made() -> None:
    prompt, late = feed(), feed()
    for source in (prompt, late):
        source.set_rate(1000.0)
    steps = [made(prompt, 1000.0 + 0.01 * n) for n in range(1, 301)]
    at_once = made(late, 1003.0)  # as if the driver had been held up for three seconds
    np.testing.assert_allclose(
        seconds(pa.concat_tables(s for s in steps if s.num_rows)), seconds(at_once), atol=2e-6
    )
    assert at_once.num_rows == 3000
    assert seconds(at_once).max() == pytest.approx(1003.0)


def test_partitions_deal_the_numbers_between_them() -> None:
    both = [feed(partition=p) for p in (0, 1)]
    for source in both:
        source.set_rate(100.0)
    dealt = [made(source, 1001.0).column("n").to_pylist() for source in both]
    assert sorted(dealt[0] + dealt[1]) == list(range(200))


def test_the_rate_can_change_at_any_time() -> None:
    source = feed()
    source.set_rate(1000.0)
    assert made(source, 1001.0).num_rows == 1000
    source.set_rate(0.0)
    assert made(source, 1005.0).num_rows == 0
    source.set_rate(200.0)
    table = made(source, 1006.0)
    assert table.num_rows == 200
    assert seconds(table).min() > 1005.0


def test_a_rate_that_changes_often_loses_no_event() -> None:
    for gap in (None, read_delay("constant:1ms")):
        source, found = feed(gap=gap), 0
        for n in range(1, 101):
            source.set_rate(1000.0)
            found += made(source, 1000.0 + 0.01 * n).num_rows
        assert found == pytest.approx(1000, abs=1)


def test_a_constant_delay_holds_events_back() -> None:
    source = feed("constant:150ms")
    source.set_rate(1000.0)
    table = made(source, 1001.0)
    assert seconds(table).max() == pytest.approx(1000.85, abs=TICK_S)


def test_random_delays_reorder_events_and_lose_none() -> None:
    source = feed("exponential:200ms")
    source.set_rate(5000.0)
    tables = [made(source, 1000.0 + 0.05 * n) for n in range(1, 41)]
    source.set_rate(0.0)
    tables.append(made(source, 1060.0))
    table = pa.concat_tables(t for t in tables if t.num_rows)
    assert sorted(table.column("n").to_pylist()) == list(range(0, 20_000, 2))
    times = seconds(table)
    assert (np.diff(times) < 0).any(), "some overtake others"


def test_no_event_arrives_before_its_delay_is_over() -> None:
    source = feed("uniform:100ms,300ms")
    source.set_rate(2000.0)
    for n in range(1, 201):
        now = 1000.0 + 0.01 * n
        for batch in source.upto(now):
            latest = batch.column("time").cast(pa.int64()).to_numpy().max() / 1e6
            assert latest <= now - 0.1 + TICK_S


def test_random_gaps_keep_the_mean_rate() -> None:
    source = feed(gap=read_delay("exponential:1ms"))
    source.set_rate(10_000.0)
    table = pa.concat_tables(
        t for t in (made(source, 1000.0 + 0.05 * n) for n in range(1, 101)) if t.num_rows
    )
    assert table.num_rows == pytest.approx(50_000, rel=0.03)
    gaps = np.diff(seconds(table))
    assert (gaps >= -1e-6).all()
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05), "as exponential gaps have"


def test_the_same_seed_gives_the_same_events() -> None:
    tables = []
    for _ in range(2):
        source = feed("gamma:60,4ms", read_delay("exponential:1ms"))
        source.set_rate(1000.0)
        tables.append(pa.concat_tables([made(source, 1001.0), made(source, 1002.0)]))
    assert tables[0].equals(tables[1])

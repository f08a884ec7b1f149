"""Approximate queries: answered at the end of their window, with bounds; exact ones beside them."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession

from headrace.kernels.kmeans import kmeans
from tests.spark.playing import Events, Played, play, start_s

pytestmark = pytest.mark.spark

SECONDS, STEP_S, RATE, WINDOW_S = 16.0, 0.4, 2_000, 2.0


def hint(more: str = "") -> str:
    return f"/*+ APPROX(error => 0.05, confidence => 0.95{more}) */"


BY_KEY = f"FROM s GROUP BY window(time, '{WINDOW_S:g} seconds'), k"
TOTAL = f"window.start AS start, k, SUM(v) AS total {BY_KEY}"
QUESTIONS = {
    "all": f"SELECT {hint()} window.start AS start, COUNT(*) AS n, AVG(v) AS mean FROM s "
    f"WHERE v > 4 GROUP BY window(time, '{WINDOW_S:g} seconds')",
    "exact": f"SELECT {TOTAL}",
    "held": f"SELECT {hint()} {TOTAL}",
    "refined": f"SELECT {hint(', refine => true')} {TOTAL}",
    "loose": "SELECT " + hint(", fallback => 'best_effort'") + f" {TOTAL}",
    "strict": "SELECT " + hint(", fallback => 'error'") + f" {TOTAL}",
    "sampled": "SELECT "
    + hint(", fallback => 'best_effort', sample => true")
    + " window.start AS start, COUNT(*) AS n, AVG(v) AS mean FROM s WHERE v > 4 "
    f"GROUP BY window(time, '{WINDOW_S:g} seconds')",
    "kept": f"SELECT {hint()} window.start AS start, STDDEV(v) AS spread, "
    "PERCENTILE_APPROX(v, 0.5) AS middle, KMEANS_COST(2, v) AS cost, KMEANS(2, v) AS centres "
    f"FROM s GROUP BY window(time, '{WINDOW_S:g} seconds')",
    "waits": "SELECT " + hint(", progress => 'k-slack'") + f" {TOTAL}",
}


@pytest.fixture(scope="module")
def played(spark: SparkSession) -> Played:
    """Sixteen seconds of a stream whose tuples take 240 ms on average."""
    events = Events.drawn(3, RATE, SECONDS)
    return play(spark, events, QUESTIONS, seconds=SECONDS, step_s=STEP_S)


def test_large_windows_are_answered_at_their_end_within_their_bounds(played: Played) -> None:
    early = played.heard["all"].early()
    assert len(early) >= 4, "the first windows tell what to expect"
    held = 0
    for now_s, row in early:
        values = played.events.of_window(start_s(row), WINDOW_S)
        values = values[values > 4]
        if start_s(row) >= 8.0:
            assert now_s - start_s(row) - WINDOW_S < 2 * STEP_S + 0.01
        assert row["n"] == pytest.approx(len(values), rel=0.05)
        assert row["mean"] == pytest.approx(values.mean(), rel=0.05)
        assert row["n_met"]
        assert row["n_sample"] < len(values)
        assert row["n_input"] == pytest.approx(len(values), rel=0.05)
        held += row["n_lower"] <= len(values) <= row["n_upper"]
        held += row["mean_lower"] <= values.mean() <= row["mean_upper"]
    assert held >= 2 * len(early) - 2


def test_every_row_comes_once_and_small_groups_wait_for_the_exact_answer(played: Played) -> None:
    rows = [r for _, r in played.heard["held"].rows]
    oracle = {(start_s(r), r["k"]): r["total"] for _, r in played.heard["exact"].rows}
    found = {(start_s(r), r["k"]): r for r in rows}
    assert len(found) == len(rows), "none twice"
    assert oracle.keys() <= found.keys(), "the last windows are not exact yet"
    found = {key: found[key] for key in oracle}
    for key, row in found.items():
        if row["exact"]:
            assert row["total"] == pytest.approx(oracle[key])
            assert row["total_lower"] == row["total_upper"] == row["total"]
        else:
            assert row["total"] == pytest.approx(oracle[key], rel=0.06)
        assert row["total_met"]
    assert sum(not r["exact"] for r in found.values()) >= 6
    assert all(r["exact"] for (_, k), r in found.items() if k == "tiny"), "a dozen tuples"
    came = played.heard["held"].rows
    tiny, ash = ([t - start_s(r) for t, r in came if r["k"] == k] for k in ("tiny", "ash"))
    assert np.mean(tiny) > np.mean(ash) + 1.0


def test_a_refinement_follows_every_early_row(played: Played) -> None:
    rows = [r for _, r in played.heard["refined"].rows]
    oracle = {(start_s(r), r["k"]): r["total"] for _, r in played.heard["exact"].rows}
    exact = {(start_s(r), r["k"]): r["total"] for r in rows if r["exact"]}
    assert exact == pytest.approx(oracle)
    early = [(start_s(r), r["k"]) for r in rows if not r["exact"]]
    assert len(early) == len(set(early)) >= 6
    assert played.metrics["refined"].windows == len({start_s(r) for r in rows}), "each counts once"


def test_best_effort_gives_what_there_is_and_says_what_it_is_worth(played: Played) -> None:
    early = played.heard["loose"].early()
    tiny = [r for _, r in early if r["k"] == "tiny"]
    assert len(tiny) >= 3
    assert not any(r["total_met"] for r in tiny)
    assert all(r["total_lower"] <= r["total"] <= r["total_upper"] for r in tiny)
    rows = [(start_s(r), r["k"]) for _, r in played.heard["loose"].rows]
    assert len(rows) == len(set(rows)), "nothing follows"
    share = played.metrics["loose"].guaranteed_share
    assert share is not None
    assert share < 1.0
    assert played.metrics["held"].guaranteed_share == 1.0
    assert played.metrics["exact"].guaranteed_share is None


def test_an_error_that_cannot_be_held_ends_the_query_that_asked_for_that_and_no_other(
    played: Played,
) -> None:
    status, error = played.statuses["strict"]
    assert status == "failed"
    assert error is not None
    assert "of group tiny cannot be answered within 0.05 at confidence 0.95" in error
    assert "'best_effort'" in error
    assert {s for n, (s, _) in played.statuses.items() if n != "strict"} == {"active"}


def test_a_sample_is_enough(played: Played) -> None:
    rows = [r for _, r in played.heard["sampled"].rows]
    assert len(rows) == len({start_s(r) for r in rows})
    shares = []
    for row in rows:
        values = played.events.of_window(start_s(row), WINDOW_S)
        values = values[values > 4]
        assert row["n"] == pytest.approx(len(values), rel=0.08)
        assert row["mean"] == pytest.approx(values.mean(), rel=0.08)
        shares.append(row["n_sample"] / len(values))
    assert shares[0] > 0.8, "nothing is known yet"
    assert max(shares[-3:]) < 0.7
    assert not rows[-1]["exact"]


def test_deviations_percentiles_and_clusters_have_bounds(played: Played) -> None:
    early = played.heard["kept"].early()
    assert len(early) >= 4
    held = 0
    for _, row in early:
        values = played.events.of_window(start_s(row), WINDOW_S)
        centres, off = kmeans(values[:, None], np.ones(len(values)), 2)
        truth = {
            "spread": values.std(ddof=1),
            "middle": np.sort(values)[-(-len(values) // 2) - 1],
            "cost": off.mean(),
        }
        for name, exact in truth.items():
            assert row[name] == pytest.approx(exact, rel=0.06)
            held += row[f"{name}_lower"] <= exact <= row[f"{name}_upper"]
        assert np.array(row["centres"]) == pytest.approx(centres, rel=0.06)
    assert held >= 0.9 * 3 * len(early)
    exact = [r for _, r in played.heard["kept"].rows if r["exact"]]
    values = played.events.of_window(start_s(exact[0]), WINDOW_S)
    assert exact[0]["spread"] == pytest.approx(values.std(ddof=1))
    assert exact[0]["centres"] == kmeans(values[:, None], np.ones(len(values)), 2)[0].tolist()


def test_k_slack_waits_longer_and_states_no_bounds(played: Played) -> None:
    late = played.heard["waits"].early()
    assert late
    assert all(r["total_lower"] is None and r["total_met"] is None for _, r in late)
    waited = np.mean([t - start_s(r) - WINDOW_S for t, r in late])
    early = np.mean([t - start_s(r) - WINDOW_S for t, r in played.heard["all"].early()])
    assert waited > early + 0.5


def test_the_plan_says_who_is_approximate(played: Played) -> None:
    assert "sub-streams of 0.5 s" in played.explained

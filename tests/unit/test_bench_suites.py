"""bench/suites: measurements as data; bench/results/readme.py: the tables made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from headrace.lab.bench import suites, workloads
from headrace.lab.bench.results.readme import BEGIN, END, big, put_into, tables
from tests.unit.bench_records import run as run_record
from tests.unit.bench_records import sustain as sustain_record


@pytest.mark.parametrize("name", ["short", "full"])
def test_shipped_suites_name_workloads_and_systems_that_exist(name: str) -> None:
    measurements = suites.load(name)
    assert {m.workload for m in measurements} <= set(workloads.names())
    assert {m.sut for m in measurements} == {"headrace", "plain-spark"}
    assert {m.queries for m in measurements if m.sut == "plain-spark"} == {1, 20, 60}
    assert len({m.name for m in measurements}) == len(measurements)


def test_numbers_of_queries_and_rates_go_together(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[[sustain]]\nworkload = "ysb"\nsut = "fake"\n'
        "queries = [1, 5]\nrate = [10, 20]\nseconds = 3\n"
    )
    assert [(m.queries, m.rate, m.name) for m in suites.load(str(path))] == [
        (1, 10.0, "ysb-fake-1"),
        (5, 20.0, "ysb-fake-5"),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[walk]]\n", "walk is no measurement"),
        ('[[run]]\nworkload = "ysb"\nspeed = 3\n', "no field 'speed'"),
        ('[[run]]\nworkload = "ysb"\nqueries = 1\nrate = 10\n', "missing"),
        ('[[run]]\nworkload = "ysb"\nqueries = 1\nrate = 10\nseconds = 1\n', "lacks its 'sut'"),
        (
            '[[run]]\nworkload = "ysb"\nsut = "fake"\nseconds = 1\nqueries = [1]\nrate = [1, 2]',
            "as many",
        ),
        ("run = [", "no TOML"),
    ],
)
def test_a_bad_suite_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(hr.HeadraceError, match=says):
        suites.load(str(path))


def test_an_unknown_suite_names_those_there_are() -> None:
    with pytest.raises(hr.HeadraceError, match=r"no suite 'long' \(valid: full, short"):
        suites.load("long")


def test_the_tables_hold_what_the_records_hold() -> None:
    ours = sustain_record(sut="headrace", queries=20)
    theirs = sustain_record(sut="plain-spark", queries=20)
    text = tables([ours, theirs])
    row = next(line for line in text.splitlines() if line.startswith("| 20 "))
    assert big(ours["sustainable_rate"]["mean"]) in row
    assert big(theirs["sustainable_rate"]["mean"]) in row
    latency = ours["at_90"]["summary"]["event_time_latency_s"]
    assert f"{latency['p50']:.2f} s, {latency['p99']:.2f} s" in row


def test_a_number_of_queries_that_only_one_side_ran_has_a_dash() -> None:
    text = tables([sustain_record(sut="headrace", queries=1000)])
    assert text.splitlines()[-1].endswith("| – | – |")


def test_a_search_without_a_run_at_90_percent_says_what_its_latency_belongs_to() -> None:
    ours = sustain_record(sut="headrace", queries=1000, at_90=None)
    latency = ours["at_100"]["summary"]["event_time_latency_s"]
    told = f"{latency['p50']:.2f} s, {latency['p99']:.2f} s at 100 %"
    assert told in tables([ours]).splitlines()[-1]


@pytest.mark.parametrize(
    ("tries", "told"),
    [
        ({400_000.0: True, 800_000.0: False, 600_000.0: True}, ""),
        ({300_000.0: True, 600_000.0: True}, "at least "),
        ({600_000.0: True}, "at least "),
    ],
    ids=["a higher rate failed", "out of tries while rising", "the driver offers no more"],
)
def test_a_rate_above_which_nothing_failed_is_a_lower_bound(
    tries: dict[float, bool], told: str
) -> None:
    tried = [{"rate": rate, "sustained": held} for rate, held in tries.items()]
    record = sustain_record(sut="headrace", searches=[{"rate": 600_000.0, "tries": tried}])
    mean = big(record["sustainable_rate"]["mean"])
    assert tables([record]).splitlines()[-1].startswith(f"| 20 | {told}{mean} events/s")


def test_only_what_is_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text(f"# Title\n\n{BEGIN}\nbefore\n{END}\n\nrest\n")
    put_into(page, [sustain_record(sut="headrace", queries=1)])
    text = page.read_text()
    assert text.startswith("# Title\n\n<!-- bench: begin -->\n| queries |")
    assert text.endswith("<!-- bench: end -->\n\nrest\n")
    assert "before" not in text
    put_into(page, [run_record()])
    page.write_text("# Title\n")
    with pytest.raises(hr.HeadraceError, match="lacks the marks"):
        put_into(page, [])


def test_the_page_of_results_has_the_marks() -> None:
    page = Path(__file__).parents[2] / "docs" / "results.md"
    text = page.read_text("utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert text.index(BEGIN) < text.index(END)


def test_big_numbers_are_written_as_people_say_them() -> None:
    assert [big(n) for n in (950, 7_600, 43_210, 3_875_000)] == ["950", "7.6 k", "43.2 k", "3.88 M"]

"""bench/early: rows of all ways against the exact ones."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import headrace as hr
from headrace.lab.bench.driver.protocol import ROWS
from headrace.lab.bench.early.command import show_early
from headrace.lab.bench.early.judge import answers, judge, latencies
from headrace.lab.bench.early.measure import ratios
from headrace.lab.bench.early.picture import latency_picture
from headrace.lab.bench.early.questions import DELAYS, QUESTIONS, WAYS, chosen, workload
from headrace.lab.bench.screen import console

T0 = 1_700_000_000
NAMES = {f"q{n}": way for n, way in enumerate(WAYS)}


def row(query: str, end: int, value: float, **more: object) -> dict[str, object]:
    empty = dict.fromkeys(ROWS.names)
    when = dt.datetime.fromtimestamp(T0 + end, dt.UTC)
    return empty | {"query": query, "window_end": when, "value": value} | more


def came(after: float, *rows: dict[str, object]) -> tuple[float, pa.Table]:
    return T0 + after, pa.Table.from_pylist(list(rows), schema=ROWS)


def bounded(value: float, lower: float, upper: float, sample: int) -> dict[str, object]:
    return {
        "value_lower": lower,
        "value_upper": upper,
        "value_sample": sample,
        "value_input": value,
        "value_met": upper - lower <= 0.1 * value,
    }


TOLD = [
    came(13.04, row("q3", 13, 98.0, **bounded(98.0, 95.0, 101.0, 30))),
    came(13.30, row("q2", 13, 95.0)),
    came(15.50, row("q1", 13, 100.0)),
    came(16.02, row("q3", 16, 220.0, **bounded(220.0, 201.0, 239.0, 60))),
    came(17.00, row("q0", 13, 100.0)),
    came(18.00, row("q1", 16, 200.0), row("q3", 16, 199.0)),
    came(20.10, row("q0", 16, 200.0)),
    came(20.20, row("q3", 19, 7.0)),
]


def test_every_way_is_judged_by_the_exact_one() -> None:
    judged = {j.way: j for j in judge(answers(TOLD, NAMES), T0 * 10**6, (T0 + 60) * 10**6, 0.05)}
    aion = judged["aion"]
    assert (aion.windows, aion.rows) == (2, 2), "the last window has no exact answer yet"
    assert aion.after_s == pytest.approx(0.03, abs=1e-6)
    assert aion.accurate == 0.5
    assert aion.error == pytest.approx((0.02 + 0.10) / 2)
    assert aion.covered == 0.5
    assert aion.width == pytest.approx((6 / 100 + 38 / 200) / 2)
    assert aion.met == 0.5
    assert aion.kept == pytest.approx((30 / 98 + 60 / 220) / 2)
    assert judged["k-slack"].after_s == pytest.approx(2.25)
    assert judged["k-slack"].covered is None, "it states nothing"
    assert judged["exact"].error == 0.0
    assert "aion-all" not in judged, "it gave nothing"
    few = judge(answers(TOLD, NAMES), T0 * 10**6, (T0 + 14) * 10**6, 0.05)
    assert {j.windows for j in few} == {1}, "only windows that ended meanwhile"


def test_ratios_are_of_the_time_after_the_end() -> None:
    ways = [{"way": "aion", "after_s": 0.05}, {"way": "k-slack", "after_s": 2.5}]
    assert ratios(ways) == {"aion / k-slack": pytest.approx(0.02)}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("delays", DELAYS)
def test_all_ways_are_asked_of_one_stream(question: str, delays: str) -> None:
    made = workload(question, delays, 5_000.0, 3.0, 0.05, 0.95)
    assert len(made.texts) == made.count == len(WAYS)
    assert "APPROX" not in made.texts[0]
    assert sum("sample => true" in t for t in made.texts) == 1
    assert all("'3 seconds', '600 milliseconds'" in t for t in made.texts)
    assert made.streams[0].delay == DELAYS[delays][0]


def test_unknown_names_are_told_with_the_known_ones() -> None:
    with pytest.raises(hr.HeadraceError, match=r"no question 'ysbb' .*kmeans"):
        workload("ysbb", "EC", 1.0, 3.0, 0.05, 0.95)
    with pytest.raises(hr.HeadraceError, match=r"no setting 'XX' .*EG"):
        workload("ysb", "XX", 1.0, 3.0, 0.05, 0.95)
    with pytest.raises(hr.HeadraceError, match="no way 'aon'"):
        chosen(["aon"])


def test_ways_are_taken_one_by_one_beside_the_exact_one() -> None:
    ways = chosen(["aion", "k-slack"])
    assert ways == ("exact", "k-slack", "aion")
    made = workload("kmeans", "EG", 5_000.0, 3.0, 0.05, 0.95, ways)
    assert made.count == len(made.texts) == 3
    assert ["APPROX" in t for t in made.texts] == [False, True, True]
    assert "k-slack" in made.texts[1]
    assert "sample" in made.texts[2]


def test_the_picture_has_a_panel_for_each_record_and_a_line_for_each_way() -> None:
    told = latencies(answers(TOLD, NAMES), T0 * 10**6, (T0 + 60) * 10**6)
    assert told["aion"] == pytest.approx([0.02, 0.04, 1.2], abs=1e-6), "the first row of a window"
    records = [{"workload": f"ysb-{n}", "rate": 5e3, "latencies_s": told} for n in range(5)]
    figure = latency_picture([*records, {"workload": "none", "rate": 1.0}])
    assert figure is not None
    assert [a.get_title() for a in figure.axes] == [f"ysb-{n}, 5,000/s" for n in range(5)]
    assert {len(a.lines) for a in figure.axes} == {4}
    assert latency_picture([]) is None


def test_the_table_fits_eighty_columns() -> None:
    found = judge(answers(TOLD, NAMES), T0 * 10**6, (T0 + 60) * 10**6, 0.05)
    ways = [{f: getattr(j, f) for f in j.__slots__} for j in found]
    record = {"workload": "ysb-EC-3s", "rate": 5_000.0, "ways": ways, "batch_s": 0.1}
    with console.capture() as shown:
        show_early(record | {"ratios": ratios(ways)})
    lines = shown.get().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert "…" not in shown.get()
    assert "aion / k-slack: 0.01" in shown.get()

"""bench/results/records.py: records as files, and what is in them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.lab.bench.results.records import label, read, runs, value, write

from .bench_records import run, sustain


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    for record in (run(), run(end="failed", reason="no memory"), sustain(), sustain(repeats=1)):
        path = tmp_path / "new" / "record.json"
        write(path, record)
        found = read(path)
        assert found.keys() == record.keys()
        for mine, theirs in zip(runs(found), runs(record), strict=True):
            assert mine["summary"] == theirs["summary"]
            assert mine["verdict"] == theirs["verdict"]
            for part in ("series", "outputs", "requests"):
                for name, values in theirs[part].items():
                    if name != "kind":
                        assert mine[part][name] == pytest.approx(values, rel=1e-5)
        write(path, found)
        assert read(path) == found, "the second time nothing is lost"


def test_series_are_short_and_counts_exact(tmp_path: Path) -> None:
    record = run()
    record["series"] = {
        "at_s": [0.25, 0.123456789, 0.00001234567],
        "offered": [123_456_789.0, 150_000_001, 123_456_789.25],
        "cpu_cores": np.array([1.23456789, math.nan]),
        "active": np.array([3, 4]),
    }
    record["summary"]["taken_per_s"] = 1 / 3
    write(tmp_path / "r.json", record)
    text = (tmp_path / "r.json").read_text()
    assert ", " not in text.replace(record["verdict"]["reason"], ""), "compact separators"
    assert read(tmp_path / "r.json")["series"] == {
        "at_s": [0.25, 0.123457, 0.0000123457],
        "offered": [123_456_789, 150_000_001, 123_456_789],
        "cpu_cores": [1.23457, None],
        "active": [3, 4],
    }
    assert read(tmp_path / "r.json")["summary"]["taken_per_s"] == 1 / 3


def test_a_write_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.json"
    write(path, run())
    before = path.read_text()

    def full(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="full"):
        write(path, run("other"))
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": 2}, r"format 2 \(valid: 1\)"),
        ({"format": None}, r"format None \(valid: 1\)"),
        ({"kind": "walk"}, r"kind 'walk' \(valid: run, sustain, alternate\)"),
        ({"end": "late"}, r"'late' \(valid: complete, interrupted, void, failed\)"),
    ],
)
def test_a_strange_record_is_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    path = tmp_path / "strange.json"
    write(path, run(**change) if "end" not in change else {**run(), **change})
    with pytest.raises(hr.HeadraceError, match=rf"strange\.json.*{says}"):
        read(path)


def test_a_record_that_lacks_something_says_what(tmp_path: Path) -> None:
    record = run()
    del record["summary"], record["rate"]
    write(tmp_path / "r.json", record)
    with pytest.raises(hr.HeadraceError, match=r"r\.json lacks rate, summary"):
        read(tmp_path / "r.json")
    write(tmp_path / "s.json", sustain(at_90={"format": 1, "kind": "sustain"}))
    with pytest.raises(hr.HeadraceError, match=r"at_90 of .*s\.json.*valid: run"):
        read(tmp_path / "s.json")
    write(tmp_path / "t.json", sustain(at_100=3))
    with pytest.raises(hr.HeadraceError, match=r"at_100 of .*t\.json is no JSON object"):
        read(tmp_path / "t.json")


def test_a_file_that_holds_no_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hr.HeadraceError, match=r"nowhere\.json cannot be read: No such file"):
        read(tmp_path / "nowhere.json")
    for name, text in (("a", '{"format": 1'), ("b", "\xff"), ("c", "")):
        (tmp_path / name).write_bytes(text.encode("latin-1"))
        with pytest.raises(hr.HeadraceError, match=f"{name} is no JSON: "):
            read(tmp_path / name)
    (tmp_path / "list").write_text(json.dumps([run()]))
    with pytest.raises(hr.HeadraceError, match="list is no JSON object"):
        read(tmp_path / "list")


def test_the_runs_in_a_record() -> None:
    one, search = run(), sustain()
    assert runs(one) == [one]
    assert runs(search) == [search["at_100"], search["at_90"]]
    assert runs(sustain(at_100=None)) == [search["at_90"]]
    assert runs(sustain(at_100=None, at_90=None)) == []


def test_a_record_in_one_line() -> None:
    assert label(run()) == "headrace, 20 queries, astream, 500,000/s"
    assert label(run("plain-spark", 1, 99.6)) == "plain-spark, 1 query, astream, 100/s"
    found = sustain(queries=1000, sustainable_rate={"mean": 1e6, "values": [1e6]})
    assert label(found) == "headrace, 1,000 queries, astream, 1,000,000/s sustainable"
    assert label(sustain(sustainable_rate=None)).endswith("no sustainable rate")


def test_a_setting_of_any_type_is_written(tmp_path: Path) -> None:
    settings = {"file": Path("data") / "rides.csv", "sizes": (1, 2), "limit": math.inf}
    write(tmp_path / "r.json", run(settings=settings))
    found = read(tmp_path / "r.json")["settings"]
    assert found == {"file": "data/rides.csv", "sizes": [1, 2], "limit": None}


def test_a_value_by_its_path() -> None:
    record = run()
    latency = record["summary"]["event_time_latency_s"]
    assert value(record, "summary", "event_time_latency_s", "p99") == latency["p99"]
    assert value(record, "summary", "nothing", "p99") is None
    assert value(record, "rate", "p99") is None
    assert value(None, "rate") is None

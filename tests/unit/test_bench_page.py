"""bench/results/page.py: a page that needs nothing else and tells what the records tell."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import headrace as hr
from headrace.lab.bench.results.page import make_report
from headrace.lab.bench.results.records import Record, runs, write

from .bench_records import MACHINE, empty, run, silent, sustain

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take most of the time of a page."""
    monkeypatch.setattr("headrace.lab.bench.results.page._png", lambda _: PNG)


class Page(HTMLParser):
    """The cells of every table row, every attribute, and whether all tags are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, found or "") for name, found in attrs]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "tr" in self.open and ("td" in self.open or "th" in self.open):
            self.rows[-1][-1] += data

    def of(self, number: int) -> list[list[str]]:
        """The rows of a record: its search, if it is one, then its runs."""
        return [r for r in self.rows if len(r) > 6 and r[0] == str(number)]


def report(tmp_path: Path, *records: Record) -> tuple[str, Page, list[Path]]:
    paths = [tmp_path / "records" / f"{i}.json" for i in range(len(records))]
    for path, record in zip(paths, records, strict=True):
        write(path, record)
    files = make_report(paths, tmp_path / "out")
    text = files[0].read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    return text, page, files


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    records = [run("headrace", 20), run("plain-spark", 20, holds=300_000.0)]
    records += [sustain("headrace", n, 8e5 / n) for n in (1, 20)]
    text, page, files = report(tmp_path, *records)
    assert not re.search(r"https?://", text)
    assert "<script" not in text
    assert "<link" not in text
    sources = [found for tag, name, found in page.attributes if name == "src"]
    assert text.count("<img") == len(sources) == len(files) - 1 == 10
    for source, file in zip(sources, files[1:], strict=True):
        head, _, data = source.partition(",")
        assert head == "data:image/png;base64"
        assert base64.b64decode(data) == file.read_bytes()
        assert file.read_bytes().startswith(PNG)
    links = [found for _, name, found in page.attributes if name == "href"]
    places = {found for _, name, found in page.attributes if name == "id"}
    assert {link.removeprefix("#") for link in links} == places
    assert len(places) == len(records)
    assert page.rows, text[:200]


@pytest.mark.usefixtures("no_drawing")
def test_the_table_has_the_figures_of_the_record(tmp_path: Path) -> None:
    record = run()
    _, page, _ = report(tmp_path, record)
    (row,) = page.of(1)
    summary = record["summary"]
    event, processing = summary["event_time_latency_s"], summary["processing_time_latency_s"]
    deployment = summary["deployment_latency_s"]
    assert row[1:5] == ["astream", "headrace", "20", "yes"]
    assert row[5:7] == ["500,000", f"{summary['taken_per_s']:,.0f}"]
    assert row[7] == f"{summary['overall_per_s']:,.0f}"
    assert row[8:15] == [f"{event[n]:.3f}" for n in "avg min p50 p90 p95 p99 max".split()]
    assert row[15:17] == [f"{processing[n]:.3f}" for n in ("p50", "p99")]
    assert row[17:19] == [f"{deployment[n]:.3f}" for n in ("p50", "p99")]
    cores, memory = summary["cpu_cores"]["avg"], summary["memory_mb"]["max"]
    assert row[20:22] == [f"{cores:.2f}", f"{memory:,.0f}"]
    assert row[22:] == ["499,750", "18,000,000", "0.004"]


@pytest.mark.usefixtures("no_drawing")
def test_what_was_not_measured_is_a_dash(tmp_path: Path) -> None:
    record = run()
    record["summary"].update(processing_time_latency_s=None, deployment_latency_s=None)
    record["driver"] = {}
    _, page, _ = report(tmp_path, record)
    (row,) = page.of(1)
    assert row[15:19] == ["–"] * 4
    assert row[22:] == ["–", "18,000,000", "–"]
    assert "–" not in row[5:15]


@pytest.mark.usefixtures("no_drawing")
def test_bad_runs_stand_apart_with_their_reason(tmp_path: Path) -> None:
    bad = {"void": "driver < behind", "failed": "ended with 137", "interrupted": "by hand"}
    records = [run(seconds=10.0, end=end, reason=reason) for end, reason in bad.items()]
    text, page, _ = report(tmp_path, *records, run(), run("plain-spark", holds=2e5))
    good, _, apart = text.partition('<tbody class="bad">')
    assert 'href="#record-4"' in good
    assert 'href="#record-5"' in good
    for number, (end, reason) in enumerate(bad.items(), 1):
        assert f'href="#record-{number}"' not in good
        assert f'href="#record-{number}"' in apart
        (row,) = page.of(number)
        assert row[4] == f"{end} {reason}"
    assert page.of(4)[0][4] == "yes"
    assert page.of(5)[0][4].startswith("no the queue grew by ")
    assert "driver < behind" not in text, "escaped"


@pytest.mark.usefixtures("no_drawing")
def test_a_search_is_shown_with_its_interval_and_tries(tmp_path: Path) -> None:
    found, single = sustain(), sustain(repeats=1)
    lost = sustain("plain-spark", end="interrupted", reason="by hand", at_100=None, at_90=None)
    lost["sustainable_rate"] = None
    text, page, _ = report(tmp_path, found, single, lost)
    rate = found["sustainable_rate"]
    row, full, most = page.of(1)[:3]
    assert row[1:5] == ["astream", "headrace", "20", f"{rate['mean']:,.0f}"]
    assert row[5] == f"{rate['low']:,.0f} … {rate['high']:,.0f} (95 %)"
    assert row[6] == ", ".join(f"{v:,.0f}" for v in rate["values"])
    assert (full[2], most[2]) == ("headrace at 100 %", "headrace at 90 %")
    assert page.of(2)[0][5] == "–"
    assert page.of(3) == [
        ["3", "astream", "plain-spark", "20", "–", "–", "–", "interrupted by hand"]
    ]
    tried = found["searches"][2]["tries"][0]
    cells = ["3", f"{tried['rate']:,.0f}", "no", f"{tried['processed']:,.0f}", tried["reason"]]
    assert cells in page.rows
    assert text.count("<details><summary>Tries: ") == 3


@pytest.mark.usefixtures("no_drawing")
def test_the_page_says_when_what_and_where(tmp_path: Path) -> None:
    other = run(commit="def5678", machine={**MACHINE, "cores": 8}, at="2026-11-17T05:09:00+00:00")
    text, page, _ = report(tmp_path, run(settings={"trigger": "<5 s>", "seed": "own"}), other)
    assert "2026-11-16 05:00 UTC to 2026-11-17 05:09 UTC" in text
    assert "0c7a72b, def5678" in text
    assert "2 cores, 24 GB, Python 3.11.2, Linux; 8 cores" in text
    assert "different commits and machines" in text
    assert ["trigger", "<5 s>"] in page.rows
    assert ["seed", "7"] in page.rows
    assert ["seed", "own"] in page.rows
    assert ["file", "1.json"] in page.rows
    assert str(tmp_path) not in text


def test_records_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(hr.HeadraceError, match="at least one"):
        make_report([], tmp_path / "out")
    with pytest.raises(hr.HeadraceError, match=r"gone\.json"):
        make_report([tmp_path / "gone.json"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_run_without_a_result_is_shown_without_pictures(tmp_path: Path) -> None:
    text, page, files = report(tmp_path, empty(), silent())
    assert len(files) == 1
    assert "never began" in text
    assert "gave nothing" in text
    assert page.of(1)[0][6:23] == ["–"] * 17


@pytest.mark.usefixtures("no_drawing")
def test_a_report_of_many_kinds_of_records(tmp_path: Path) -> None:
    records = [run(workload=w, queries=n) for w in ("astream", "ysb") for n in (1, 1000)]
    records += [run(seconds=1.0, end="interrupted", reason="by hand"), sustain(workload="ysb")]
    text, page, files = report(tmp_path, *records)
    assert "<title>Benchmark report: astream, ysb</title>" in text
    assert sum(len(runs(r)) for r in records) == 7
    assert len([r for r in page.rows if len(r) == 25]) == 7
    assert [f.name for f in files[1:5]] == [
        "latency-by-rate.png",
        "latency-over-time.png",
        "latency-cdf.png",
        "throughput-over-time.png",
    ]

"""What a session keeps does not grow with the days it runs or the queries it has seen."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime import life
from tests.spark.helpers import SCHEMA, at, pairs, rows

pytestmark = [pytest.mark.spark]

COUNT = "SELECT window.start AS start, COUNT(*) AS n FROM s WHERE v >= {} GROUP BY {}"
TEN = "window(time, '10 seconds')"


def test_what_falls_out_of_the_results_that_are_kept_is_told(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        few = session.sql(COUNT.format(0, TEN), name="few", options={"rows": 3})
        many = session.sql(COUNT.format(0, TEN), name="many")
        session.start()
        reader = few.results(timeout_s=0)
        for second in range(1, 100, 10):
            stream.push(rows([second]))
            session.process_all_available()
            if second == 11:
                assert next(reader).column("start").to_pylist() == [at(0)]
        assert pairs(many.collect(), "start", "n") == [(at(10 * n), 1) for n in range(9)]
        assert pairs(few.collect(), "start", "n") == [(at(s), 1) for s in (60, 70, 80)]
        assert [t.column("start").to_pylist() for t in reader] == [[at(s)] for s in (60, 70, 80)]
        assert (reader.dropped.windows, reader.dropped.rows) == (5, 5)
        metrics = few.metrics()
        assert (metrics.rows, metrics.rows_dropped, metrics.windows_dropped) == (9, 6, 6)


@pytest.mark.parametrize("options", [{"rows": "none"}, {"rows": 0}, {"weeks": 1}, {"age": "x"}])
def test_a_limit_that_is_none_is_refused(spark: SparkSession, options: dict[str, object]) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        with pytest.raises(hr.QueryError):
            session.sql(COUNT.format(0, TEN), options=options)


def test_queries_that_come_and_go_leave_nothing_behind(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "MANY_CHANGES", 8)
    monkeypatch.setattr("headrace.spark.roster._KEPT_ENDED", 5)
    stream = hr.testing.MemoryStream(SCHEMA)
    sizes = []
    with hr.Session(spark, checkpoint=str(tmp_path)) as session:
        session.stream("s", stream, event_time="time")
        stays = session.sql(COUNT.format(0, TEN), name="stays")
        session.start()
        for number in range(60):
            query = session.sql(COUNT.format(number, TEN), name=f"q{number}")
            query.await_active()
            if number % 10 == 0:
                stream.push(rows([number]))
                session.process_all_available()
            query.stop()
            del query
            if number % 20 == 19:
                session.process_all_available()
                gc.collect()
                held = sum(isinstance(o, hr.Query) for o in gc.get_objects())
                changelogs = list((tmp_path / "streams" / "s" / "changelog").iterdir())
                files = [p for p in (tmp_path / "streams" / "s").rglob("*") if p.is_file()]
                log = [p for p in files if "spark" not in p.parts]
                sizes.append((held, len(changelogs), len(log)))
        assert stays.status == "active"
    (held, changelogs, files), *later = sizes
    assert all(h <= held + 2 for h, _, _ in later), sizes
    assert all(c <= changelogs + 24 for _, c, _ in later), sizes
    assert all(f <= files + 30 for _, _, f in later), sizes


def test_pipelines_that_are_gone_leave_no_meter_and_no_folder(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    folder = tmp_path / "streams" / "s"
    with hr.Session(spark, sharing="off", checkpoint=str(tmp_path)) as session:
        session.stream("s", stream, event_time="time")
        stays = session.sql(COUNT.format(0, TEN), name="stays")
        session.start()
        for number in range(3):
            query = session.sql(COUNT.format(number, TEN), name=f"q{number}")
            query.await_active()
            query.stop()
        done = [m.name for m in session.metrics().pipelines]
        while len(done) > 1:
            session._stop_ticking.wait(0.2)
            done = [m.name for m in session.metrics().pipelines]
        assert stays.status == "active"
        assert len(list(folder.iterdir())) == 1
    # As if the process had died while it removed one.
    (kept,) = folder.iterdir()
    (folder / "99" / "log").mkdir(parents=True)
    (folder / "99.ended").touch()
    with hr.Session(spark, sharing="off", checkpoint=str(tmp_path)) as session:
        session.stream("s", stream, event_time="time")
        session.start()
        assert [q.name for q in session.queries] == ["stays"]
        assert list(folder.iterdir()) == [kept]

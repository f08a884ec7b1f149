"""Ad-hoc queries on a stream of files: any streaming DataFrame of Spark is a stream."""

import datetime as dt
import json
import tempfile
from pathlib import Path

import headrace as hr

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SLOW_PAGES = """
    SELECT window.start, page, COUNT(*) AS slow, MAX(ms) AS worst
    FROM requests WHERE ms > {limit} AND page LIKE '/{prefix}%'
    GROUP BY window(time, '1 minute'), page
"""


def write_minutes(folder: Path, first: int, count: int) -> None:
    """One file per minute with a request a second."""
    for minute in range(first, first + count):
        lines = []
        for second in range(60):
            time = START + dt.timedelta(minutes=minute, seconds=second)
            page = ("/shop", "/search", "/help")[second % 3]
            ms = (minute * 37 + second * 61) % 900
            lines.append(json.dumps({"time": time.isoformat(), "page": page, "ms": ms}))
        (folder / f"{minute:03d}.json").write_text("\n".join(lines))


def main(folder: Path) -> None:
    spark = hr.local_spark()
    requests = spark.readStream.schema("time timestamp, page string, ms int").json(str(folder))
    with hr.Session(spark) as session:
        session.stream("requests", requests, event_time="time")
        everything = session.sql(SLOW_PAGES.format(limit=300, prefix=""), name="everything")
        session.start()
        write_minutes(folder, 0, 5)
        session.process_all_available()

        # Somebody asks in the middle of the stream: it counts from here on, whole windows only.
        shops = session.sql(SLOW_PAGES.format(limit=600, prefix="s"), name="shops")
        print("shops counts from", shops.await_active().isoformat())
        write_minutes(folder, 5, 5)
        session.process_all_available()
        print("everything counted until", everything.stop().isoformat())

        for query in (everything, shops):
            table = query.collect()
            starts = table["start"].to_pylist()
            print(f"{query.name}: {table.num_rows} rows, windows {min(starts)} to {max(starts)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))

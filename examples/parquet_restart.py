"""A parquet sink that survives a restart: every window is written once, none is lost."""

import datetime as dt
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset

import headrace as hr

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema([("time", pa.timestamp("us", "UTC")), ("sensor", pa.int64())])
READINGS = """
    SELECT window.start, sensor, COUNT(*) AS readings
    FROM sensors GROUP BY window(time, '10 seconds'), sensor
"""


def run_once(folder: Path, stream: hr.testing.MemoryStream) -> None:
    """One life of the application; the same code runs after a restart, or a crash."""
    with hr.Session(hr.local_spark(), checkpoint=str(folder / "checkpoint")) as session:
        session.stream("sensors", stream, event_time="time")
        # The checkpoint knows this name and text: the second time it is the same query.
        query = session.sql(
            READINGS, name="readings", sink="parquet", options={"path": folder / "readings"}
        )
        session.start()
        session.process_all_available()
        print(f"{query.name}: {query.metrics().rows} rows written in this life")


def minute_of_readings(minute: int) -> pa.Table:
    seconds = [START + dt.timedelta(minutes=minute, seconds=s) for s in range(60)]
    return pa.table({"time": seconds, "sensor": [s % 2 for s in range(60)]}, schema=SCHEMA)


def main(folder: Path) -> None:
    stream = hr.testing.MemoryStream(SCHEMA, path=folder / "stream")
    stream.push(minute_of_readings(0))
    run_once(folder, stream)
    stream.push(minute_of_readings(1))
    run_once(folder, stream)

    # A window closes when a later tuple comes, so the last ten seconds are still open.
    written = pyarrow.dataset.dataset(folder / "readings").to_table().sort_by("start")
    keys = set(zip(written["start"].to_pylist(), written["sensor"].to_pylist(), strict=True))
    print(f"{written.num_rows} rows on disk, {len(keys)} different windows and sensors")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))

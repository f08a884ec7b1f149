"""The second session of a chain: reads the first one's results until its standard input ends.

python -m headrace.lab.bench.adapters.chain_second SETTINGS AS JSON
"""

from __future__ import annotations

import json
import sys

import headrace as hr
from headrace.lab.bench.adapters.headrace_chain import PARTS
from headrace.lab.bench.driver.protocol import Driver

_QUERY = """
SELECT window.end AS window_end, SUM(value) AS total, MAX(event_time) AS event_time
FROM {stream} GROUP BY window(time, '{windows}')
"""


def main() -> None:
    """Run it; a line ``on`` or ``off`` says whether news are forwarded."""
    told = json.loads(sys.argv[1])
    driver = Driver(told["driver"])
    options = told["options"]
    spark = hr.local_spark(None, **{"spark.driver.memory": options["driver_memory"]})
    with hr.Session(spark, sharing="off", policy=options["policy"]) as session:
        for name, folder in told["streams"].items():
            upstream = hr.Upstream(tuple(told["upstream"]), bytes.fromhex(told["key"]), name)
            source = hr.testing.MemoryStream(PARTS, path=folder)
            session.stream(name, source, event_time="time", upstream=upstream)
            session.sql(
                _QUERY.format(stream=name, windows=options["windows"]),
                name=name,
                sink="digest",
                options={"event_time": "event_time"},
            )
        session.on_output(driver.put)
        session.start()
        print("ready", flush=True)
        for line in sys.stdin:
            session.forward(line.strip() == "on")
            print(f"{session.metrics().batches} batches", file=sys.stderr, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()

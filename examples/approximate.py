"""The same question twice, exact and with an error that is accepted: see when answers come."""

from __future__ import annotations

import time

import headrace as hr

QUESTION = """
SELECT {hint} window.end AS window_end, gem_pack, SUM(price) AS revenue
FROM purchases GROUP BY window(time, '2 seconds'), gem_pack
"""


def main() -> None:
    spark = hr.local_spark()
    source = hr.sources.Purchases(rate=20_000, disorder_s=2.0)  # tuples are up to 2 s under way
    with hr.Session(spark) as session:
        session.stream("purchases", source, event_time="time", lateness="2 seconds")
        exact = session.sql(QUESTION.format(hint=""), name="exact")
        early = session.sql(QUESTION.format(hint="/*+ APPROX(error => 0.05) */"), name="early")
        session.start()
        seen = 0
        for table in early.results(timeout_s=60):
            row = table.to_pylist()[0]
            after_s = time.time() - row["window_end"].timestamp()
            bounds = f"{row['revenue_lower']:,.0f} … {row['revenue_upper']:,.0f}"
            what = "exact" if row["exact"] else f"within {bounds}"
            pack, revenue = row["gem_pack"], f"{row['revenue']:,.0f}"
            print(f"{after_s:4.1f} s after the window: {pack} {revenue}, {what}")
            seen += not row["exact"]
            if seen == 6:
                break
        latency_ms = exact.metrics().event_time_latency_ms or 0.0
        print(f"exact answers took {latency_ms / 1000:.1f} s")


if __name__ == "__main__":
    main()

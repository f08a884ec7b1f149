"""A first session: one embedded stream, queries that share it, results as windows close."""

from itertools import islice

import headrace as hr

REVENUE = """
    SELECT window.start, gem_pack, ROUND(SUM(price), 2) AS revenue
    FROM purchases WHERE price > 3
    GROUP BY window(time, '2 seconds', '1 second'), gem_pack
    ORDER BY revenue DESC LIMIT 3
"""
BUYERS = """
    SELECT window.start, COUNT(DISTINCT user_id) AS buyers
    FROM purchases GROUP BY window(time, '1 second')
"""


def main() -> None:
    spark = hr.local_spark()
    with hr.Session(spark) as session:
        # 5,000 purchases a second from now on; tuples may come up to one second late.
        source = hr.sources.Purchases(rate=5_000)
        session.stream("purchases", source, event_time="time", lateness="1 second")
        revenue = session.sql(REVENUE, name="revenue")
        session.start()
        show(revenue, windows=3)

        # Queries come while the stream runs; each is told from which event time on it counts.
        buyers = session.sql(BUYERS, name="buyers")
        print("buyers counts from", buyers.await_active())
        show(buyers, windows=2)
        print("buyers counted until", buyers.stop())


def show(query: hr.Query, windows: int) -> None:
    """Print a query's next results as they come."""
    for table in islice(query.results(timeout_s=120), windows):
        print(table.to_pandas().to_string(index=False))


if __name__ == "__main__":
    main()

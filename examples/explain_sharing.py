"""How a hundred queries share one scan: `session.explain()`, `query.explain()`, the metrics."""

from random import Random

import headrace as hr


def main() -> None:
    random = Random(7)
    # As fast as it is taken, and bounded: 100,000 purchases over ten seconds of event time.
    source = hr.sources.Purchases(rate=None, event_rate=10_000, total=100_000)
    with hr.Session(hr.local_spark()) as session:
        session.stream("purchases", source, event_time="time")
        for number in range(99):
            session.sql(
                f"""SELECT window.start, gem_pack, SUM(price) AS revenue FROM purchases
                    WHERE price > {random.randint(1, 12)} AND user_id < {random.randint(1, 10)}000
                    GROUP BY window(time, '{random.choice((2, 4))} seconds'), gem_pack""",
                name=f"revenue-{number}",
            )
        top = session.sql(
            """SELECT window.start, user_id, COUNT(*) AS bought FROM purchases
               GROUP BY window(time, '4 seconds'), user_id
               HAVING COUNT(*) > 2 ORDER BY bought DESC LIMIT 5""",
            name="top",
        )
        session.start()
        session.process_all_available()

        print(session.explain())
        print(top.explain())
        metrics = session.metrics()
        print(
            f"{metrics.queries} queries on {metrics.scans} scan, {metrics.groups} groups, "
            f"{metrics.classes} classes, {metrics.state_bytes:,} bytes of state: "
            f"{metrics.tuples:,} events in, {metrics.rows:,} rows out"
        )


if __name__ == "__main__":
    main()

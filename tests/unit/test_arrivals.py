"""spark/arrivals.py: offsets have times, and times have offsets."""

from __future__ import annotations

from headrace.spark.arrivals import Arrivals


class Source:
    """Has come as far as a test says."""

    def __init__(self) -> None:
        self.at = (0, 0)
        self.asked = 0

    def newest_offsets(self) -> tuple[int, ...]:
        self.asked += 1
        return self.at


def test_an_offset_has_a_time_and_a_time_has_offsets() -> None:
    source, now = Source(), [10.0]
    arrivals = Arrivals(source, lambda: now[0])  # type: ignore[arg-type]
    for step in range(1, 6):
        source.at = (10 * step, 7 * step)
        now[0] = 10.0 + step
        assert arrivals.newest() == source.at
    #  time     11        12        13        14        15
    #  offsets  (10, 7)   (20, 14)  (30, 21)  (40, 28)  (50, 35)
    assert arrivals.came_at((0, 0)) == 11.0
    assert arrivals.came_at((30, 35)) == 14.0, "the tuple at offset 30 came with the fourth answer"
    assert arrivals.came_at((50, 30)) == 15.0
    assert arrivals.came_at((50, 35)) is None, "nothing waits"
    assert arrivals.upto(12.5) == (30, 21)
    assert arrivals.upto(99.0) is None


def test_a_source_is_asked_once_for_many() -> None:
    source = Source()
    arrivals = Arrivals(source, lambda: 5.0)  # type: ignore[arg-type]
    for _ in range(50):
        arrivals.newest()
    assert source.asked == 1
    assert arrivals.known
    assert not Arrivals(object()).known  # type: ignore[arg-type]

"""connectors/arrivals.py: offsets have times, and times have offsets."""

from __future__ import annotations

from headrace.connectors.arrivals import Arrivals
from headrace.connectors.offsets import Offset, Range
from headrace.connectors.readers import Readers
from headrace.connectors.source import Numbered
from headrace.spark.pipeline.intake import FromSource


class Source:
    """An Arrow source that has come as far as a test says."""

    partitions = 2

    def __init__(self) -> None:
        self.at = (0, 0)
        self.asked = 0

    def newest_offsets(self) -> tuple[int, ...]:
        self.asked += 1
        return self.at

    def latest_offsets(self, start: tuple[int, ...]) -> tuple[int, ...]:
        return self.at


def named(first: int, second: int) -> dict[str, Offset]:
    return {"0": first, "1": second}


def test_an_offset_has_a_time_and_a_time_has_offsets() -> None:
    source, now = Source(), [10.0]
    arrivals = Arrivals(Numbered(source), lambda: now[0])  # type: ignore[arg-type]
    for step in range(1, 6):
        source.at = (10 * step, 7 * step)
        now[0] = 10.0 + step
        assert arrivals.newest() == named(*source.at)
    #  time     11        12        13        14        15
    #  offsets  (10, 7)   (20, 14)  (30, 21)  (40, 28)  (50, 35)
    assert arrivals.came_at(named(0, 0)) == 11.0
    assert arrivals.came_at(named(30, 35)) == 14.0, "offset 30 came with the fourth answer"
    assert arrivals.came_at(named(50, 30)) == 15.0
    assert arrivals.came_at(named(50, 35)) is None, "nothing waits"
    assert arrivals.upto(12.5) == named(30, 21)
    assert arrivals.upto(99.0) is None


def test_a_source_is_asked_once_for_many() -> None:
    source = Source()
    arrivals = Arrivals(Numbered(source), lambda: 5.0)  # type: ignore[arg-type]
    for _ in range(50):
        arrivals.newest()
    assert source.asked == 1
    assert arrivals.known
    assert not Arrivals(Numbered(object())).known  # type: ignore[arg-type]


def test_a_batch_that_is_limited_reads_what_had_come_by_then() -> None:
    source, now = Source(), [10.0]
    readers = Readers(Numbered(source))  # type: ignore[arg-type]
    readers.arrivals = Arrivals(Numbered(source), lambda: now[0])  # type: ignore[arg-type]
    intake = FromSource("p", Numbered(source), readers)  # type: ignore[arg-type]
    for step in range(1, 6):
        source.at = (10 * step, 7 * step)
        now[0] = 10.0 + step
        assert intake.queued(named(0, 0), None) == (17.0 * step, 11.0)
    assert intake.ranges(named(0, 0)) == (Range("0", 0, 50), Range("1", 0, 35))
    assert intake.ranges(named(0, 0), until_s=12.0) == (Range("0", 0, 20), Range("1", 0, 14))
    assert intake.ranges(named(20, 14), until_s=12.0) == (Range("0", 20, 50), Range("1", 14, 35)), (
        "a batch that would be empty takes all"
    )
    assert intake.ranges(named(0, 0), until_s=99.0) == intake.ranges(named(0, 0))

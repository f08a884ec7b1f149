"""A sample from its tuples through compaction to strata: in every stratum as many are there as were
counted, since estimates divide the one by the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from headrace.approximate.usual import EDGES_S
from headrace.kernels.cells import Cells
from headrace.kernels.compact import merge_same
from headrace.kernels.compiled import CompiledPlan
from headrace.kernels.delays import SubStreamCounts
from headrace.kernels.ingest import ingest
from headrace.kernels.sampling import luck, sampled
from headrace.kernels.strata import stratified
from headrace.optimizer import share
from headrace.query.needs import spread_of
from headrace.query.window import Span
from headrace.registry.changelog import ActiveQuery
from headrace.runtime.compaction import plan_compaction
from headrace.runtime.messages import SectionRef
from headrace.types import QueryUid, Version

from .analyzer import PURCHASES, read

S = 1_000_000
STEP_US = 100_000
LATENESS_US = 2 * S
RATES = ((4_000_000, 0.5), (5_900_000, 0.1), (9_300_000, 0.6))
"""The second and the last change in the middle of sub-streams, as when these are cut anew."""
HINT = "/*+ APPROX(error => 0.1, fallback => 'best_effort', sample => true) */"


def query(uid: int, window: str) -> ActiveQuery:
    text = f"SELECT {HINT} COUNT(*) AS n FROM purchases GROUP BY window(time, {window})"
    return ActiveQuery(QueryUid(uid), f"q{uid}", uid, read(text), since_us=0)


@dataclass
class Play:
    """Tuples in batches of a tenth of a second, reduced, counted and compacted as they come."""

    queries: list[ActiveQuery]
    stamps_us: npt.NDArray[np.int64]
    came_us: npt.NDArray[np.int64]
    sections: dict[SectionRef, Cells] = field(default_factory=dict)
    kept_us: list[int] = field(default_factory=list)
    watermark_us: int = 0
    compactions: int = 0

    def __post_init__(self) -> None:
        self.plan = share(Version(1), PURCHASES, self.queries, rows_in_jvm=False)
        assert self.plan.sub_stream_us is not None
        self.length_us = self.plan.sub_stream_us
        self.compiled = CompiledPlan(self.plan)
        self.counts = SubStreamCounts(self.length_us, EDGES_S, None, 0)

    def upto(self, now_us: int) -> None:
        for batch in range(now_us // STEP_US):
            came = (self.came_us >= batch * STEP_US) & (self.came_us < (batch + 1) * STEP_US)
            places = np.flatnonzero(came)
            if len(places):
                self._ingest(batch, int(places[0]), self.stamps_us[came])
                self._compact()
                self.watermark_us = int(self.stamps_us[: places[-1] + 1].max()) - LATENESS_US

    def _ingest(self, batch: int, first: int, stamps: npt.NDArray[np.int64]) -> None:
        sample = sampled(stamps, luck(0, first, len(stamps)), RATES)
        assert sample is not None
        self.counts.add(stamps, first, None, sample.kept)
        self.kept_us += stamps[sample.kept].tolist()
        table = pa.table(
            {
                "gem_pack": pa.array(["bag"] * len(stamps)),
                "price": pa.array(np.zeros(len(stamps), np.int32)),
                "amount": pa.nulls(len(stamps), pa.decimal128(10, 2)),
                "weight": pa.array(np.ones(len(stamps))),
                "time": pa.array(stamps).cast(pa.timestamp("us", "UTC")),
            }
        )
        made = ingest(self.compiled, table, stamps, self.watermark_us, sample)
        for number, cells in made.cells.items():
            group = self.compiled.groups[number].group
            ref = SectionRef(
                stream="s",
                kind="cells",
                crc32=0,
                file=f"{batch}-{number}",
                offset=0,
                length=100,
                txn=batch,
                watermark_us=self.watermark_us,
                version=1,
                group=number,
                keys=group.keys,
                value=group.value,
                sketch=None,
                slices=tuple(cells.slices.tolist()),
                cells=len(cells.rows),
                dense=False,
            )
            self.sections[ref] = cells

    def _compact(self) -> None:
        units = plan_compaction(
            self.queries, list(self.sections), {1: self.plan}, 1, purge=False, sampling=RATES
        )
        for unit in units:
            blocks = [self.sections.pop(ref) for ref in unit.refs]
            merged = merge_same(blocks, unit.windows, unit.cuts, self.watermark_us)
            self.compactions += 1
            name = f"c-{self.compactions}"
            self.sections[replace(unit.refs[0], file=name)] = merged

    def open_windows(self, one: ActiveQuery) -> Iterator[Span]:
        window = one.logical.time_window
        end = window.next_end(self.watermark_us)
        while end <= int(self.stamps_us.max()):
            yield end - window.size_us, end
            end += window.slide_us

    def there(self, one: ActiveQuery, strata: list[Span]) -> list[float]:
        groups: dict[int, list[Cells]] = {}
        for ref, cells in self.sections.items():
            groups.setdefault(ref.group, []).append(cells)
        blocks = [b for n, some in groups.items() for b in self.compiled.groups[n].blocks(some)]
        partial = spread_of(one.logical.aggregates[0])
        found = stratified(blocks, strata, [int(one.uid)], {partial})
        assert found is not None
        there: list[float] = found.spreads[partial].n[:, 0].tolist()
        return there


def played(seed: int, *windows: str) -> Play:
    rng = np.random.default_rng(seed)
    stamps = np.sort(rng.integers(0, 14 * S, 14_000))
    came = stamps + np.minimum(rng.exponential(240_000, len(stamps)), LATENESS_US - 1).astype(int)
    order = np.argsort(came)
    play = Play([query(n + 1, w) for n, w in enumerate(windows)], stamps[order], came[order])
    play.upto(14 * S)
    assert play.compactions > 3
    return play


@pytest.mark.parametrize(
    "windows",
    [
        ("'6 seconds', '1200 milliseconds'",),
        ("'6 seconds', '2 seconds'", "'3 seconds'"),
        ("'4 seconds', '4 seconds', '1 second'", "'2 seconds', '1 second'"),
    ],
    ids=["sliding", "two", "shifted"],
)
def test_of_every_sub_stream_as_many_are_there_as_were_kept(windows: tuple[str, ...]) -> None:
    play = played(1, *windows)
    counts = {int(n): kept for n, (_, kept, _) in play.counts.found.counts.items()}
    for one in play.queries:
        spans = list(play.open_windows(one))
        assert spans
        for low, high in spans:
            numbers = range(low // play.length_us, high // play.length_us)
            strata = [(n * play.length_us, (n + 1) * play.length_us) for n in numbers]
            assert play.there(one, strata) == [counts.get(n, 0) for n in numbers]


def test_of_every_stretch_with_one_rate_as_many_are_there_as_were_kept() -> None:
    play = played(2, "'6 seconds', '1200 milliseconds'")
    kept = np.array(play.kept_us)
    (one,) = play.queries
    changes = [start for start, _ in RATES]
    for low, high in play.open_windows(one):
        cuts = [low, *(c for c in changes if low < c < high), high]
        strata = list(pairwise(cuts))
        counted = [int(((kept >= a) & (kept < b)).sum()) for a, b in strata]
        assert play.there(one, strata) == counted

"""spark/worker/section_cache.py: sections are read once, and memory stays bounded."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import numpy as np
import pytest

from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.kernels import sections
from headrace.kernels.cells import Cells
from headrace.kernels.compiled import CompiledGroup
from headrace.query.predicate import Always, Predicate, Ranges
from headrace.query.window import TimeWindow
from headrace.runtime.messages import SectionRef
from headrace.spark.worker.section_cache import SectionCache

from .events import CALLS, random_events
from .shared import blocks_of, compiled, group_of

ALL = (0, 64)


class Written:
    """Sections in a folder, as a pipeline leaves them."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(str(folder))
        self.store.make()
        self.serve([Always()])

    def serve(self, predicates: list[Predicate]) -> None:
        """The queries from now on."""
        members = [(n, p, TimeWindow(10, 10)) for n, p in enumerate(predicates)]
        self.plan = compiled(group_of(members, CALLS))
        self.reader = self.plan.groups[0]

    def section(self, name: str, rows: int = 900) -> tuple[SectionRef, Cells]:
        """Writes one more."""
        events = random_events(random.Random(rows), rows, high=9)
        ((cells, _),) = blocks_of(self.plan, [events])
        data = sections.encode(cells)
        self.store.write(name, data)
        ref = SectionRef(
            stream="s",
            kind="cells",
            crc32=zlib.crc32(data),
            file=name,
            offset=0,
            length=len(data),
            txn=1,
            watermark_us=0,
            version=1,
            group=0,
            keys=("k",),
            value=None,
            sketch=None,
            slices=(0,),
            cells=len(cells.rows),
            dense=cells.is_dense,
        )
        return ref, cells


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path / "buckets")


def test_a_section_is_read_from_the_store_once(written: Written) -> None:
    cache = SectionCache(1 << 20)
    ref, cells = written.section("a")
    (first,) = cache.read(written.store, [ref], ALL, 1, written.reader)
    assert np.array_equal(first.rows, cells.rows)
    written.store.delete("a")
    (second,) = cache.read(written.store, [ref], ALL, 2, written.reader)
    assert second is first


def test_sections_of_the_same_slices_come_as_one_block(written: Written) -> None:
    cache = SectionCache(1 << 20)
    (one, _), (other, _) = written.section("a"), written.section("b")
    (block,) = cache.read(written.store, [one, other], ALL, 1, written.reader)
    assert int(block.rows.sum()) == 1800


def test_a_section_is_read_again_when_classes_are_numbered_anew(written: Written) -> None:
    cache = SectionCache(1 << 20)
    written.serve([Ranges("p", ((5, None),)), Ranges("q", ((0.0, None),))])
    ref, _ = written.section("a")
    (first,) = cache.read(written.store, [ref], ALL, 1, written.reader)
    assert cache.read(written.store, [ref], ALL, 2, written.reader)[0] is first
    (second,) = cache.read(written.store, [ref], ALL, 3, CompiledGroup(written.reader.group))
    assert second is not first
    assert second.rows.tolist() == first.rows.tolist()


def test_one_more_section_of_a_slice_is_seen(written: Written) -> None:
    cache = SectionCache(1 << 20)
    (one, _), (late, _) = written.section("a"), written.section("b", 3)
    assert (
        sum(int(c.rows.sum()) for c in cache.read(written.store, [one], ALL, 1, written.reader))
        == 900
    )
    assert (
        sum(
            int(c.rows.sum())
            for c in cache.read(written.store, [one, late], ALL, 2, written.reader)
        )
        == 903
    )


def test_what_nobody_reads_any_more_is_dropped(written: Written) -> None:
    cache = SectionCache(1 << 20)
    (old, _), (used, _) = written.section("a"), written.section("b")
    cache.read(written.store, [old], ALL, 1, written.reader)
    both = cache.nbytes
    for txn in range(2, 40):
        cache.read(written.store, [used], ALL, txn, written.reader)
        cache.trim(written.store, txn)
    assert 0 < cache.nbytes < 2 * both
    written.store.delete("b")
    cache.read(written.store, [used], ALL, 40, written.reader)
    written.store.delete("a")
    with pytest.raises(ExecutionError, match="no such file"):
        cache.read(written.store, [old], ALL, 40, written.reader)


def test_more_than_there_is_room_for_is_kept_in_part_and_stays_useful(written: Written) -> None:
    refs = [written.section(f"s{n}")[0] for n in range(6)]
    cache = SectionCache(0)
    cache.read(written.store, [refs[0]], ALL, 1, written.reader)
    cache.capacity = 3 * cache.nbytes
    kept: list[Cells] = []
    for txn in (1, 2, 3):
        read = [cache.read(written.store, [ref], ALL, txn, written.reader)[0] for ref in refs]
        cache.trim(written.store, txn)
        assert cache.nbytes <= cache.capacity
        again = [c for c in read if any(c is k for k in kept)]
        assert bool(again) == (txn > 1)
        kept = read

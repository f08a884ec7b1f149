"""Runs compaction work where the sections are: sections in, one new section out."""

from __future__ import annotations

import uuid
import zlib
from dataclasses import replace

from headrace.connectors.store import Store
from headrace.kernels import sections
from headrace.kernels.cells import Cells
from headrace.kernels.compact import merge_same, open_sessions, to_queries
from headrace.kernels.session_answers import Arrival, SessionAsk
from headrace.kernels.shapes import asked_of
from headrace.query.logical import LogicalQuery
from headrace.runtime.compaction import CompactUnit
from headrace.runtime.messages import Compacted, Message
from headrace.spark.worker.plans import PlanHandle, reader_of
from headrace.spark.worker.section_cache import section_bytes
from headrace.types import BEGINNING


def run_compaction(
    unit: CompactUnit,
    plans: dict[int, PlanHandle],
    queries: dict[int, LogicalQuery],
    buckets: Store,
    txn: int,
    watermark_us: int,
) -> Message:
    """Do one unit; the message names the new section, if any, and the ones it replaces."""
    blocks = [sections.decode(section_bytes(buckets, r)) for r in unit.refs]
    if unit.upto_us is not None:
        watermark_us = min(watermark_us, unit.upto_us)
    made = _compacted(unit, blocks, plans, queries, watermark_us)
    old = tuple((r.file, r.offset) for r in unit.refs)
    if made is None:
        return Message.of(Compacted(old, None))
    blob = sections.encode(made)
    name = f"{txn:010d}-c-{uuid.uuid4().hex[:12]}.bucket"
    buckets.write(name, blob)
    first = unit.refs[0]
    slices = tuple(made.slices.tolist())
    if first.session:
        last = next(s for s in made.states if s.partial.column == "__hr_time").parts["v"]
        slices = (int(made.slices.min()), int(last.max()))
    ref = replace(
        first,
        file=name,
        offset=0,
        length=len(blob),
        crc32=zlib.crc32(blob),
        txn=max(r.txn for r in unit.refs),
        # Pieces of open sessions have passed every watermark so far: none may drop them again.
        watermark_us=(
            BEGINNING if unit.kind == "sessions" else min(r.watermark_us for r in unit.refs)
        ),
        slices=slices,
        cells=len(made.rows),
        dense=made.is_dense,
        classes=made.classes,
        uids=first.uids if unit.kind == "merge" else unit.uids,
    )
    return Message.of(Compacted(old, ref))


def _compacted(
    unit: CompactUnit,
    blocks: list[Cells],
    plans: dict[int, PlanHandle],
    queries: dict[int, LogicalQuery],
    watermark_us: int,
) -> Cells | None:
    if unit.kind == "sessions":
        read = [
            (ref, reader, aligned)
            for ref, cells in zip(unit.refs, blocks, strict=True)
            for reader in [reader_of(plans, ref)]
            for aligned in reader.aligned([cells])
        ]
        arrivals = [
            Arrival(ref.txn, ref.watermark_us, cells, reader.layout_of(cells))
            for ref, reader, cells in read
        ]
        asked = asked_of({uid: queries[uid] for uid in unit.uids if uid in queries})
        asks = [SessionAsk(one, *unit.lives[uid]) for uid, one in asked.items()]
        return open_sessions(arrivals, asks, watermark_us)
    reader = reader_of(plans, unit.refs[0])
    merged = merge_same(reader.alike(blocks), unit.windows, unit.cuts, watermark_us)
    if unit.kind == "merge":
        return merged.narrowed()
    return to_queries(merged, reader.layout_of(merged), unit.uids)

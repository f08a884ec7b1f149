"""What a pipeline remembers between batches, and how it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.kernels.sampling import Schedule
from headrace.progress.watermark import PartitionProgress, Progress
from headrace.runtime.messages import SectionRef
from headrace.types import BEGINNING


@dataclass(frozen=True)
class PipelineState:
    """After transaction `txn`: progress, live sections, counters."""

    progress: Progress
    txn: int = 0
    batch_id: int = -1
    emitted_upto_us: int = BEGINNING
    sections: tuple[SectionRef, ...] = ()
    tuples: int = 0
    without_time: int = 0
    from_future: int = 0
    offsets: tuple[int, ...] | None = None
    """Of an Arrow source: everything before is in the state."""
    late: Mapping[int, int] = field(default_factory=dict)
    closed_upto_us: Mapping[int, int] = field(default_factory=dict)
    """By approximate query: windows that end up to here were answered early."""
    answered: tuple[tuple[str, int], ...] = ()
    """Files with groups that were, and the end of their window."""
    sampling: Schedule = ()
    """Event times, each with the sampling rate from there on."""

    @property
    def state_bytes(self) -> int:
        """Bytes of live sections."""
        return sum(s.length for s in self.sections)

    @property
    def files(self) -> set[str]:
        """The bucket files that live sections and early answers are in."""
        return {s.file for s in self.sections} | {name for name, _ in self.answered}

    def record(self) -> dict[str, Any]:
        """As a JSON record."""
        return {
            "txn": self.txn,
            "batch_id": self.batch_id,
            "emitted_upto_us": self.emitted_upto_us,
            "tuples": self.tuples,
            "without_time": self.without_time,
            "from_future": self.from_future,
            "offsets": self.offsets,
            "late": {str(k): v for k, v in self.late.items()},
            "closed_upto_us": {str(k): v for k, v in self.closed_upto_us.items()},
            "answered": self.answered,
            "sampling": self.sampling,
            "progress": {
                "watermark_us": self.progress.watermark_us,
                "highest_us": self.progress.highest_us,
                "partitions": {k: asdict(p) for k, p in self.progress.partitions.items()},
            },
            "sections": [s.to_json() for s in self.sections],
        }

    @classmethod
    def from_record(cls, value: dict[str, Any], fresh: Progress) -> PipelineState:
        """Back from a record; `fresh` carries the stream's own settings."""
        kept = value["progress"]
        progress = Progress(
            fresh.lateness_us,
            fresh.idle_after_s,
            {k: PartitionProgress(**p) for k, p in kept["partitions"].items()},
            kept["watermark_us"],
            kept["highest_us"],
        )
        return cls(
            progress=progress,
            txn=value["txn"],
            batch_id=value["batch_id"],
            emitted_upto_us=value["emitted_upto_us"],
            sections=tuple(SectionRef.from_json(s) for s in value["sections"]),
            tuples=value["tuples"],
            without_time=value["without_time"],
            from_future=value["from_future"],
            offsets=None if value.get("offsets") is None else tuple(value["offsets"]),
            late={int(k): v for k, v in value["late"].items()},
            closed_upto_us={int(k): v for k, v in value.get("closed_upto_us", {}).items()},
            answered=tuple((name, end) for name, end in value.get("answered", ())),
            sampling=tuple((start, rate) for start, rate in value.get("sampling", ())),
        )

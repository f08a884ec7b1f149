"""What a pipeline remembers between transactions. It is written down whole with every commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headrace.connectors.offsets import Offsets
from headrace.kernels.sampling import Schedule
from headrace.progress.watermark import Progress
from headrace.runtime.messages import SectionRef
from headrace.types import BEGINNING


@dataclass(frozen=True, slots=True)
class InputState:
    """What is known of one stream that a pipeline reads."""

    progress: Progress
    batch_id: int = -1
    """The last batch that Spark called for and that is in the state."""
    offsets: Offsets | None = None
    """Of a source whose offsets are ours to keep: everything before is in the state."""
    tuples: int = 0
    without_time: int = 0
    from_future: int = 0
    sampling: Schedule = ()
    """Event times, each with the sampling rate from there on."""

    def under(self, fresh: Progress) -> InputState:
        """The same, by the stream's settings and with the partitions of today."""
        progress = replace(
            self.progress,
            lateness_us=fresh.lateness_us,
            idle_after_s=fresh.idle_after_s,
            partitions={**fresh.partitions, **self.progress.partitions},
        )
        return replace(self, progress=progress)


@dataclass(frozen=True, slots=True)
class PipelineState:
    """After transaction `txn`: progress of every input, live sections, counters."""

    inputs: Mapping[str, InputState]
    """By stream."""
    txn: int = 0
    version: int = 0
    """The last changelog there was."""
    ran: int = 0
    """The version of the plan that the transaction ran under."""
    emitted_upto_us: int = BEGINNING
    sections: tuple[SectionRef, ...] = ()
    joined_upto_us: int = BEGINNING
    """What comes from now on is too late for windows of joins that end up to here: the stream was
    silent, and its joins went on without it."""
    late: Mapping[int, int] = field(default_factory=dict)
    closed_upto_us: Mapping[int, int] = field(default_factory=dict)
    """By approximate query: windows that end up to here were answered early."""
    answered: tuple[tuple[str, int], ...] = ()
    """Files with groups that were, and the end of their window."""
    delivered: Mapping[int, int] = field(default_factory=dict)
    """By query whose rows the driver hands over: the last transaction whose rows were."""

    @property
    def only(self) -> InputState:
        """The input of a pipeline that reads one stream."""
        (found,) = self.inputs.values()
        return found

    @property
    def watermark_us(self) -> int:
        """No window that ends up to here gets another tuple, from any input."""
        return min(i.progress.watermark_us for i in self.inputs.values())

    @property
    def settled_us(self) -> int:
        """No window of a join that ends up to here gets another tuple."""
        return max(self.watermark_us, self.joined_upto_us)

    @property
    def highest_us(self) -> int:
        """The highest event time that any input has come to."""
        return max(i.progress.highest_us for i in self.inputs.values())

    @property
    def tuples(self) -> int:
        """How many were read, from all inputs."""
        return sum(i.tuples for i in self.inputs.values())

    @property
    def state_bytes(self) -> int:
        """Bytes of live sections."""
        return sum(s.length for s in self.sections)

    @property
    def files(self) -> frozenset[str]:
        """The bucket files that live sections and early answers are in."""
        return frozenset(s.file for s in self.sections) | {name for name, _ in self.answered}

    @property
    def versions(self) -> frozenset[int]:
        """Of plans that tell what live sections hold."""
        return frozenset(s.version for s in self.sections if s.uids is None)

    def after_input(self, stream: str, given: InputState) -> PipelineState:
        """With one input moved on."""
        return replace(self, inputs={**self.inputs, stream: given})

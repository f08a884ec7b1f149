"""Arrow sources: streams whose tuples are fetched where they are reduced, inside the Python stage.

A source names offsets per partition; a pipeline keeps them with its transactions, and no tuple
passes through the JVM. `read` must give the same tuples for the same range every time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

__all__ = ["ArrowSource", "Generator", "Ads", "Purchases", "RandomFields"]


@runtime_checkable
class ArrowSource(Protocol):
    """What a source must offer. Offsets are asked for on the driver, in the thread of any pipeline;
    for `read` it is pickled and sent to tasks.

    One that keeps tuples until they are processed may also have ``commit(offsets)``: it is told
    when nothing before these offsets will be read again. With ``newest_offsets()``, how far it has
    come, it is asked once for all pipelines that wait for their turn, not once for each.
    """

    @property
    def schema(self) -> pa.Schema:
        """Columns of the tuples."""
        ...

    @property
    def partitions(self) -> int:
        """Number of partitions, fixed for the life of the stream."""
        ...

    def initial_offsets(self) -> tuple[int, ...]:
        """Where a new stream begins, per partition."""
        ...

    def latest_offsets(self, start: tuple[int, ...]) -> tuple[int, ...]:
        """How far a batch that begins at `start` may read now, per partition."""
        ...

    def read(
        self, partition: int, start: int, end: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The tuples of a range, with at least the named columns."""
        ...


@dataclass(frozen=True)
class Generator:
    """Tuples made on the fly at a fixed rate, the same for the same seed and offset.

    ``rate`` is tuples per second over all partitions; None means as fast as they are taken, in
    batches of ``rows_per_batch``. Event time is ``start_s`` plus offset over the event rate, moved
    back by up to ``disorder_s`` at random. With ``total`` the stream ends there.
    """

    rate: float | None = 10_000.0
    seed: int = 7
    partitions: int = 2
    start_s: float = 0.0
    event_rate: float | None = None
    disorder_s: float = 0.0
    rows_per_batch: int = 500_000
    total: int | None = None

    BLOCK = 65_536
    """Tuples are made in blocks with a generator of their own, so any range can be made again."""

    def __post_init__(self) -> None:
        if self.rate is not None and self.rate <= 0:
            raise ValueError("rate must be positive, or None for as fast as possible")
        if self.rate is not None and self.start_s == 0.0:
            object.__setattr__(self, "start_s", time.time())

    @property
    def schema(self) -> pa.Schema:
        """Columns of the tuples."""
        return self.make(0, 0, 0).schema

    def initial_offsets(self) -> tuple[int, ...]:
        """Every partition begins at 0."""
        return (0,) * self.partitions

    def latest_offsets(self, start: tuple[int, ...]) -> tuple[int, ...]:
        """What the rate has made by now, or the next batch."""
        if self.rate is None:
            ends = [s + self.rows_per_batch // self.partitions for s in start]
        else:
            made = int((time.time() - self.start_s) * self.rate / self.partitions)
            ends = [max(s, made) for s in start]
        if self.total is not None:
            ends = [min(e, self.total // self.partitions) for e in ends]
        return tuple(max(e, s) for e, s in zip(ends, start, strict=True))

    def read(
        self, partition: int, start: int, end: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Block by block."""
        at = start
        while at < end:
            block = at // self.BLOCK
            low, high = at - block * self.BLOCK, min(end - block * self.BLOCK, self.BLOCK)
            yield self.make(partition, block, self.BLOCK).slice(low, high - low)
            at = block * self.BLOCK + high

    def make(self, partition: int, block: int, rows: int) -> pa.RecordBatch:
        """One block of tuples."""
        rng = np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, partition, block]))
        rate = self.event_rate or self.rate or 1_000_000.0
        number = (block * self.BLOCK + np.arange(rows)) * self.partitions + partition
        times = (self.start_s + number / rate) * 1_000_000
        if self.disorder_s:
            times = times - rng.uniform(0.0, self.disorder_s * 1_000_000, rows)
        stamps = pa.array(times.astype(np.int64)).view(pa.timestamp("us", "UTC"))
        fields = self.fields(rng, number, rows)
        return pa.RecordBatch.from_pydict({**fields, "time": stamps})

    def fields(
        self, rng: np.random.Generator, number: np.ndarray, rows: int
    ) -> dict[str, pa.Array]:
        """The columns beside event time; a subclass gives its own."""
        return {"key": pa.array(number % 1000), "value": pa.array(rng.random(rows))}


@dataclass(frozen=True)
class RandomFields(Generator):
    """AStream's workload: a key that counts round 1,000 values and five random fields."""

    keys: int = 1_000
    field_max: int = 1_000

    def fields(
        self, rng: np.random.Generator, number: np.ndarray, rows: int
    ) -> dict[str, pa.Array]:
        drawn = rng.integers(0, self.field_max, (5, rows), dtype=np.int32)
        return {
            "key": pa.array((number % self.keys).astype(np.int32)),
            **{f"f{i}": pa.array(drawn[i]) for i in range(5)},
        }


_PACKS = pa.array(["pouch", "bag", "chest", "crate", "vault", "wagon", "ship", "mountain"])


@dataclass(frozen=True)
class Purchases(Generator):
    """Gem packs bought in a game: user, pack, price."""

    users: int = 10_000

    def fields(
        self, rng: np.random.Generator, number: np.ndarray, rows: int
    ) -> dict[str, pa.Array]:
        pack = np.minimum(rng.geometric(0.35, rows) - 1, len(_PACKS) - 1)
        price = np.round((pack + 1) * 1.5 + rng.gamma(2.0, 0.8, rows), 2)
        return {
            "user_id": pa.array(rng.integers(0, self.users, rows)),
            "gem_pack": _PACKS.take(pa.array(pack)),
            "price": pa.array(price),
        }


@dataclass(frozen=True)
class Ads(Generator):
    """Gem packs proposed to users of the same game."""

    users: int = 10_000

    def fields(
        self, rng: np.random.Generator, number: np.ndarray, rows: int
    ) -> dict[str, pa.Array]:
        pack = np.minimum(rng.geometric(0.25, rows) - 1, len(_PACKS) - 1)
        return {
            "user_id": pa.array(rng.integers(0, self.users, rows)),
            "gem_pack": _PACKS.take(pa.array(pack)),
        }

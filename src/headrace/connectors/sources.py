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
    """What a source must offer.

    Offsets are asked for on the driver, in the thread of any pipeline. For `read` the source is
    pickled and sent to tasks, so it must not hold open connections.

    Three methods are optional. ``commit(offsets)`` is called when no pipeline will read anything
    before these offsets again; a source that keeps tuples may drop them then. ``newest_offsets()``
    tells how far the source has come, per partition; with it the source is asked once for all
    pipelines that wait for their turn, not once for each. ``memory()`` returns the bytes in use and
    the bytes allowed, for policies that run first whoever frees most.
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
        """Offsets at which a new stream begins, one per partition."""
        ...

    def latest_offsets(self, start: tuple[int, ...]) -> tuple[int, ...]:
        """Offsets up to which a batch that begins at `start` may read now, one per partition.

        They are not before `start`; equal offsets mean that nothing has come.
        """
        ...

    def read(
        self, partition: int, start: int, end: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The tuples of one `partition` from offset `start` to before offset `end`.

        The batches have at least the named `columns`. The same range must give the same tuples
        every time: tasks are repeated, and a restart reads the last range again. Runs in a task.
        """
        ...


@dataclass(frozen=True)
class Generator:
    """Tuples made on the fly, the same for the same ``seed``, partition and offset.

    ``rate`` is tuples per second over all ``partitions``; None means as fast as they are taken, in
    batches of ``rows_per_batch``. The first tuple has the event time ``start_s``, in seconds since
    the epoch (with a rate and no ``start_s``: now); later ones follow at ``event_rate`` tuples per
    second of event time (default: ``rate``, or a million without one). Each is moved back by up to
    ``disorder_s`` seconds at random. With ``total`` the stream ends after so many tuples.

    The columns are ``key``, ``value`` and ``time``; subclasses have others beside ``time``.
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
        """What the rate has made by now; without a rate, one batch after `start`."""
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
        """The tuples of one `partition` from offset `start` to before `end`, all columns.

        `columns` is not used: making a block makes all of them.
        """
        at = start
        while at < end:
            block = at // self.BLOCK
            low, high = at - block * self.BLOCK, min(end - block * self.BLOCK, self.BLOCK)
            yield self.make(partition, block, self.BLOCK).slice(low, high - low)
            at = block * self.BLOCK + high

    def make(self, partition: int, block: int, rows: int) -> pa.RecordBatch:
        """The first `rows` tuples of one `block` of a `partition`; a block has ``BLOCK`` tuples."""
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
        """The columns beside event time, each with `rows` values; a subclass gives its own.

        `rng` is the block's own random generator, `number` counts the tuples over all partitions.
        """
        return {"key": pa.array(number % 1000), "value": pa.array(rng.random(rows))}


@dataclass(frozen=True)
class RandomFields(Generator):
    """AStream's workload: ``key`` counts round ``keys`` values; ``f0`` to ``f4`` are random whole
    numbers from 0 to below ``field_max``."""

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
    """Gem packs bought in a game: ``user_id`` (one of ``users``), ``gem_pack`` and ``price``."""

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
    """Gem packs offered in the same game: ``user_id`` (one of ``users``) and ``gem_pack``."""

    users: int = 10_000

    def fields(
        self, rng: np.random.Generator, number: np.ndarray, rows: int
    ) -> dict[str, pa.Array]:
        pack = np.minimum(rng.geometric(0.25, rows) - 1, len(_PACKS) - 1)
        return {
            "user_id": pa.array(rng.integers(0, self.users, rows)),
            "gem_pack": _PACKS.take(pa.array(pack)),
        }

"""Distributions of time: how long an event takes to the queue, how far apart events are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from headrace.errors import HeadraceError

Seconds = npt.NDArray[np.float64]


class Delay(Protocol):
    """Draws times in seconds."""

    def draw(self, rng: np.random.Generator, count: int) -> Seconds:
        """So many of them."""
        ...

    @property
    def mean(self) -> float:
        """Their mean, in seconds."""
        ...


@dataclass(frozen=True)
class Constant:
    """Always the same."""

    seconds: float

    def draw(self, rng: np.random.Generator, count: int) -> Seconds:
        return np.full(count, self.seconds)

    @property
    def mean(self) -> float:
        return self.seconds


@dataclass(frozen=True)
class Uniform:
    """Anything between two times."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator, count: int) -> Seconds:
        return rng.uniform(self.low, self.high, count)

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class Exponential:
    """Mostly short, with a tail."""

    mean: float

    def draw(self, rng: np.random.Generator, count: int) -> Seconds:
        return rng.exponential(self.mean, count)


@dataclass(frozen=True)
class Gamma:
    """The sum of `shape` exponential steps of `scale` seconds each."""

    shape: float
    scale: float

    def draw(self, rng: np.random.Generator, count: int) -> Seconds:
        return rng.gamma(self.shape, self.scale, count)

    @property
    def mean(self) -> float:
        return self.shape * self.scale


@dataclass(frozen=True)
class Zipf:
    """`unit`, twice, three times … up to `ranks` times it; rank k with weight k^-exponent.

    Bounded, so that exponents below one, as in the literature on skew, have a distribution at all.
    """

    exponent: float
    unit: float
    ranks: int = 1000

    @property
    def _weights(self) -> Seconds:
        weights: Seconds = np.arange(1, self.ranks + 1, dtype=np.float64) ** -self.exponent
        weights /= weights.sum()
        return weights

    def draw(self, rng: np.random.Generator, count: int) -> Seconds:
        edges = np.cumsum(self._weights)
        rank = np.searchsorted(edges, rng.uniform(0.0, edges[-1], count), side="right") + 1
        return np.asarray(rank * self.unit, dtype=np.float64)

    @property
    def mean(self) -> float:
        return float((self._weights * np.arange(1, self.ranks + 1)).sum() * self.unit)


_TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)")
_PER_SECOND = {"us": 1e6, "ms": 1e3, "s": 1.0}


def read_delay(text: str) -> Delay:
    """A distribution from words such as ``exponential:240ms`` or ``gamma:60,4ms``."""
    name, _, rest = text.strip().partition(":")
    arguments = [a.strip() for a in rest.split(",") if a.strip()]
    if name not in _READERS:
        raise _refused(text, f"{name!r} is no distribution")
    reader, kinds, form = _READERS[name]
    least = len([k for k in kinds if not k.endswith("?")])
    if not least <= len(arguments) <= len(kinds):
        raise _refused(text, f"{name} is written {form}")
    values = [_read(a, k.rstrip("?"), text) for a, k in zip(arguments, kinds, strict=False)]
    return reader(*values)


def _zipf(exponent: float, unit: float, ranks: float = 1000.0) -> Delay:
    return Zipf(exponent, unit, int(ranks))


_READERS: dict[str, tuple[Callable[..., Delay], tuple[str, ...], str]] = {
    "constant": (Constant, ("time",), "constant:150ms"),
    "uniform": (Uniform, ("time", "time"), "uniform:0ms,300ms"),
    "exponential": (Exponential, ("time",), "exponential:240ms"),
    "gamma": (Gamma, ("number", "time"), "gamma:60,4ms"),
    "zipf": (_zipf, ("number", "time", "number?"), "zipf:0.99,1ms[,1000]"),
}


def _read(word: str, kind: str, text: str) -> float:
    if kind == "time":
        found = _TIME.fullmatch(word)
        if found is None:
            raise _refused(text, f"{word!r} is no time; times are written 150ms, 2s or 30us")
        return float(found[1]) / _PER_SECOND[found[2]]
    try:
        return float(word)
    except ValueError:
        raise _refused(text, f"{word!r} is no number") from None


def _refused(text: str, why: str) -> HeadraceError:
    forms = ", ".join(form for _, _, form in _READERS.values())
    return HeadraceError(f"delay {text!r}: {why} (valid: {forms})")

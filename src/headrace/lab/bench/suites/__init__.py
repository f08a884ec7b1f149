"""Suites: sets of measurements that are run one after the other, as data files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import headrace as hr
from headrace.lab.bench.effort import Effort

_SHIPPED = Path(__file__).parent
Kind = Literal["sustain", "run"]
_KINDS: tuple[Kind, ...] = ("sustain", "run")


@dataclass(frozen=True)
class Measurement:
    """One search or one run of a suite."""

    kind: Kind
    workload: str
    sut: str
    queries: int
    rate: float
    """Offered, or where a search begins."""
    effort: Effort
    """A run has only its length of it."""

    @property
    def name(self) -> str:
        """The same for the same thing measured again."""
        return f"{self.workload}-{Path(self.sut).stem}-{self.queries}"


_EFFORT = [f.name for f in fields(Effort)]
_FIELDS = [f.name for f in fields(Measurement) if f.name not in ("kind", "effort")] + _EFFORT


def names() -> list[str]:
    """The suites that come with the package."""
    return sorted(path.stem for path in _SHIPPED.glob("*.toml"))


def load(name: str) -> list[Measurement]:
    """The measurements of a suite, by its name or its file."""
    path = _SHIPPED / f"{name}.toml" if name in names() else Path(name)
    if not path.is_file():
        known = ", ".join(names())
        raise hr.HeadraceError(f"there is no suite {name!r} (valid: {known}, or a TOML file)")
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise hr.HeadraceError(f"{path.name} is no TOML: {error}") from error
    unknown = [kind for kind in tables if kind not in _KINDS]
    if unknown:
        valid = ", ".join(_KINDS)
        raise hr.HeadraceError(f"{path.name}: {unknown[0]} is no measurement (valid: {valid})")
    return [
        measurement
        for kind in _KINDS
        for entry in tables.get(kind, [])
        for measurement in _measurements(kind, entry, path.name)
    ]


def _measurements(kind: Kind, entry: Mapping[str, Any], where: str) -> Iterator[Measurement]:
    """One for each number of queries; `rate` may be a list of as many."""
    for name in entry:
        if name not in _FIELDS:
            raise hr.HeadraceError(
                f"{where}: [[{kind}]] has no field {name!r} (valid: {', '.join(_FIELDS)})"
            )
    counts, rates = _listed(entry.get("queries")), _listed(entry.get("rate"))
    if len(rates) == 1:
        rates = rates * len(counts)
    if len(rates) != len(counts):
        raise hr.HeadraceError(f"{where}: [[{kind}]] needs as many rates as numbers of queries")
    try:
        effort = Effort(**{k: v for k, v in entry.items() if k in _EFFORT})
        for count, rate in zip(counts, rates, strict=True):
            workload, sut = entry["workload"], entry["sut"]
            yield Measurement(kind, workload, sut, int(count), float(rate), effort)
    except KeyError as error:
        raise hr.HeadraceError(f"{where}: [[{kind}]] lacks its {error}") from error
    except (TypeError, ValueError) as error:
        raise hr.HeadraceError(f"{where}: [[{kind}]]: {error}") from error


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]

"""Placeholders of query templates, and the random values that they stand for."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headrace.lab.bench.workloads.toml_table import TomlTable

PLACEHOLDER = re.compile(r"\{(\w+)\}")

Drawn = dict[str, int | str]


@dataclass(frozen=True)
class Ints:
    """Any whole number between two, both included; a name stands for a value drawn before."""

    low: int | str
    high: int | str

    def draw(self, rng: random.Random, drawn: Drawn) -> int:
        """One of them."""
        low, high = (int(drawn[b]) if isinstance(b, str) else b for b in (self.low, self.high))
        return rng.randint(low, high)


@dataclass(frozen=True)
class Choice:
    """One of some values."""

    values: tuple[int | str, ...]

    def draw(self, rng: random.Random, drawn: Drawn) -> int | str:
        """One of them."""
        return rng.choice(self.values)


Draw = Ints | Choice


def unused(draws: Mapping[str, Draw], texts: Iterable[str]) -> list[str]:
    """Draws that no text and no other draw asks for."""
    asked = {name for text in texts for name in PLACEHOLDER.findall(text)}
    asked |= {b for d in draws.values() if isinstance(d, Ints) for b in (d.low, d.high)}
    return [name for name in draws if name not in asked]


def fill(text: str, draws: Mapping[str, Draw], rng: random.Random) -> str:
    """A template with all its placeholders drawn, in the order of the draws."""
    drawn: Drawn = {}
    for name, draw in draws.items():
        drawn[name] = draw.draw(rng, drawn)
    return PLACEHOLDER.sub(lambda found: str(drawn[found[1]]), text)


def read_draws(table: TomlTable) -> dict[str, Draw]:
    """The draws of a file: `name = { ints = [low, high] }` or `name = { choice = […] }`."""
    draws: dict[str, Draw] = {}
    spans: dict[str, tuple[int, int]] = {}
    for name in table.names():
        inner = table.table(name)
        if inner.has("ints") == inner.has("choice"):
            raise table.refused(
                name, "must be one of", ("{ ints = [low, high] }", "{ choice = […] }")
            )
        if inner.has("choice"):
            draws[name] = _read_choice(inner)
        else:
            draws[name], spans[name] = _read_ints(inner, spans)
        inner.end()
    return draws


def _read_choice(table: TomlTable) -> Choice:
    values: list[int | str] = []
    for value in table.entries("choice"):
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise table.refused("choice", f"{value!r} is neither a text nor a whole number")
        values.append(value)
    return Choice(tuple(values))


def _read_ints(
    table: TomlTable, spans: Mapping[str, tuple[int, int]]
) -> tuple[Ints, tuple[int, int]]:
    """The draw, and the least and the greatest that it can be."""
    bounds = table.entries("ints")
    if len(bounds) != 2:
        raise table.refused("ints", f"must be [low, high], not {bounds!r}")
    kept: list[int | str] = []
    ranges: list[tuple[int, int]] = []
    for bound in bounds:
        if isinstance(bound, str) and bound in spans:
            ranges.append(spans[bound])
        elif isinstance(bound, int) and not isinstance(bound, bool):
            ranges.append((bound, bound))
        else:
            valid = ["a whole number", *(f'"{name}"' for name in spans)]
            raise table.refused("ints", f"{bound!r} is no bound", valid)
        kept.append(bound)
    (least, low), (high, greatest) = ranges
    if low > high:
        raise table.refused("ints", f"the low end can be {low}, above the high end, {high}")
    return Ints(kept[0], kept[1]), (least, greatest)

"""Workloads: streams, the queries asked of them, and how both come and go, as data files."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import headrace as hr
from headrace.lab.bench import makers
from headrace.lab.bench.workloads.draws import PLACEHOLDER, Draw, fill, read_draws, unused
from headrace.lab.bench.workloads.toml_table import TomlTable
from headrace.lab.delays import read_delay

NEEDS = ("joins",)
"""What a system under test may be asked to do beside windowed aggregates of one stream."""
RESULT_COLUMNS = ("window_end", "event_time")
"""What every query must give, for latency to be measured."""

_SHIPPED = Path(__file__).parent
_LATENESS = re.compile(r"\d+(\.\d+)? (milliseconds?|seconds?|minutes?)")
_READ_FROM = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class StreamSpec:
    """One stream: what makes its tuples, how far apart they are, and how long they are under way.

    `gap` is "constant" for evenly spaced tuples, or a distribution; its mean is scaled to the rate.
    """

    name: str
    maker: str
    delay: str = "constant:0ms"
    gap: str = "constant"
    lateness: str = "0 seconds"
    share: float = 1.0
    """Share of the workload's rate."""
    parameters: Mapping[str, object] = field(default_factory=dict)

    def takes(self, parameter: str) -> bool:
        """Whether the maker has a parameter."""
        return parameter in makers.parameters_of(self.maker)

    def given(self, parameter: str, value: object) -> StreamSpec:
        """The same stream with a parameter of its maker set."""
        return replace(self, parameters={**self.parameters, parameter: value})


@dataclass(frozen=True)
class Scenario:
    """Queries that come and go.

    grow: `per_second` are created up to `upto` active ones. churn: every `every_s` seconds `count`
    are created and the `count` oldest deleted.
    """

    kind: Literal["grow", "churn"]
    per_second: float = 0.0
    upto: int = 0
    count: int = 0
    every_s: float = 0.0


@dataclass(frozen=True)
class Workload:
    """What is asked of a system under test."""

    name: str
    title: str
    about: str
    rate: float
    """Events per second over all streams, when nothing else is said."""
    count: int
    """Queries, when nothing else is said."""
    needs: str | None
    streams: tuple[StreamSpec, ...]
    texts: tuple[str, ...]
    draws: Mapping[str, Draw]
    scenario: Scenario | None = None
    profile: tuple[tuple[float, float], ...] = ()
    """From a share of the run's length on, a share of the rate."""

    def queries(self, count: int, seed: int) -> list[str]:
        """So many queries; fewer of the same seed are the first of them."""
        rng = random.Random(seed)
        return [fill(self.texts[n % len(self.texts)], self.draws, rng) for n in range(count)]

    def rate_share(self, at_share: float) -> float:
        """The share of the rate that is offered when a share of the run is over."""
        share = 1.0
        for since, value in self.profile:
            if since > at_share:
                break
            share = value
        return share

    def with_file(self, path: str | Path) -> Workload:
        """The same workload on real data, for the streams whose maker can read a file."""
        if not any(s.takes("file") for s in self.streams):
            able = [n for n in makers.names() if "file" in makers.parameters_of(n)]
            used = ", ".join(s.maker for s in self.streams)
            raise hr.HeadraceError(
                f"workload {self.name}: {used} cannot read a file (makers that can: "
                f"{', '.join(able)})"
            )
        streams = [s.given("file", str(path)) if s.takes("file") else s for s in self.streams]
        for stream in streams:
            makers.maker(stream.maker, stream.parameters)  # a file that cannot be read is told now
        return replace(self, streams=tuple(streams))

    def with_delay(self, delay: str | None, lateness: str | None) -> Workload:
        """The same workload with another delay on the way, or waiting longer for late events."""
        if delay is not None:
            read_delay(delay)  # refuses what is none
        streams = [
            replace(s, delay=delay or s.delay, lateness=lateness or s.lateness)
            for s in self.streams
        ]
        return replace(self, streams=tuple(streams))

    def at_rate(self, rate: float) -> Workload:
        """The same workload, its makers told the rate where what they make depends on it."""
        streams = [
            s.given("rate", max(rate * s.share, 1.0)) if s.takes("rate") else s
            for s in self.streams
        ]
        return replace(self, streams=tuple(streams))


def names() -> list[str]:
    """The workloads that come with Headrace."""
    return sorted(path.stem for path in _SHIPPED.glob("*.toml"))


def load(name_or_path: str) -> Workload:
    """A workload by its name, or one of your own by the path of its file."""
    if name_or_path in names():
        return _read(_SHIPPED / f"{name_or_path}.toml", name_or_path)
    path = Path(name_or_path)
    if path.suffix != ".toml" and not path.is_file():
        raise hr.HeadraceError(
            f"workload {name_or_path!r} is no file and none of {', '.join(names())}"
        )
    return _read(path, path.stem)


def _read(path: Path, name: str) -> Workload:
    table = TomlTable.read(path)
    streams = tuple(_read_stream(t, path.parent) for t in table.tables("stream"))
    _check_streams(table, streams)
    queries = table.table("queries")
    draws = read_draws(queries.table("draw", needed=False))
    texts = _read_texts(queries, draws, [s.name for s in streams])
    queries.end()
    workload = Workload(
        name,
        title=table.text("title"),
        about=table.text("about"),
        rate=table.number("rate"),
        count=table.whole("count"),
        needs=_one_of(table, "needs", NEEDS) if table.has("needs") else None,
        streams=streams,
        texts=texts,
        draws=draws,
        scenario=_read_scenario(table.table("scenario")) if table.has("scenario") else None,
        profile=_read_profile(table.table("profile")) if table.has("profile") else (),
    )
    table.end()
    return workload


def _one_of(table: TomlTable, key: str, valid: tuple[str, ...] | list[str]) -> str:
    value = table.text(key)
    if value not in valid:
        raise table.refused(key, f"{value!r} is not known", valid)
    return value


def _read_stream(table: TomlTable, folder: Path) -> StreamSpec:
    maker = _one_of(table, "maker", makers.names())
    inner = table.table("parameters", needed=False)
    parameters = {key: inner.value(key) for key in inner.names()}
    if isinstance(file := parameters.get("file"), str) and file:
        parameters["file"] = str(folder / file)
    stream = StreamSpec(
        name=table.text("name"),
        maker=maker,
        delay=table.text("delay", "constant:0ms"),
        gap=table.text("gap", "constant"),
        lateness=table.text("lateness", "0 seconds"),
        share=table.number("share", 1.0),
        parameters=parameters,
    )
    table.end()
    if not re.fullmatch(r"[A-Za-z_]\w*", stream.name):
        raise table.refused("name", f"{stream.name!r} is no name that SQL can use")
    table.within("parameters", lambda: makers.maker(maker, parameters))
    table.within("delay", lambda: read_delay(stream.delay))
    if stream.gap != "constant" and table.within("gap", lambda: read_delay(stream.gap)).mean <= 0:
        raise table.refused("gap", f"{stream.gap!r} has no mean that could be scaled to a rate")
    if not _LATENESS.fullmatch(stream.lateness):
        raise table.refused(
            "lateness", f"{stream.lateness!r} is no time", ("2 seconds", "300 milliseconds")
        )
    return stream


def _check_streams(table: TomlTable, streams: tuple[StreamSpec, ...]) -> None:
    called = [s.name for s in streams]
    if len(set(called)) < len(called):
        raise table.refused("stream", f"two streams have the same name: {', '.join(called)}")
    if abs(sum(s.share for s in streams) - 1.0) > 1e-6:
        shares = " + ".join(f"{s.share:g}" for s in streams)
        raise table.refused("stream", f"the shares of all streams must add up to 1, not {shares}")


def _read_texts(table: TomlTable, draws: Mapping[str, Draw], streams: list[str]) -> tuple[str, ...]:
    if table.has("text") == table.has("texts"):
        raise table.refused("text", "either text or texts must be there, not both")
    key = "texts" if table.has("texts") else "text"
    texts = table.entries("texts") if key == "texts" else [table.text("text")]
    kept: list[str] = []
    for text in texts:
        if not isinstance(text, str):
            raise table.refused(key, f"{text!r} is no text")
        for column in RESULT_COLUMNS:
            if not re.search(rf"\b{column}\b", text):
                raise table.refused(key, f"every query must give the column {column}: {text!r}")
        for used in PLACEHOLDER.findall(text):
            if used not in draws:
                raise table.refused(key, f"{{{used}}} is not drawn", draws or ("none is",))
        read = _READ_FROM.findall(text)
        for stream in read or [""]:
            if stream not in streams:
                raise table.refused(key, f"{stream!r} is no stream of this workload", streams)
        kept.append(" ".join(text.split()))
    for name in unused(draws, kept):
        raise table.refused(f"draw.{name}", "no query uses it")
    return tuple(kept)


def _read_scenario(table: TomlTable) -> Scenario:
    if _one_of(table, "kind", ("grow", "churn")) == "grow":
        scenario = Scenario("grow", per_second=table.number("per_second"), upto=table.whole("upto"))
    else:
        scenario = Scenario("churn", count=table.whole("count"), every_s=table.number("every_s"))
    table.end()
    return scenario


def _read_profile(table: TomlTable) -> tuple[tuple[float, float], ...]:
    steps: list[tuple[float, float]] = []
    for step in table.entries("steps"):
        if (
            not isinstance(step, list)
            or len(step) != 2
            or any(type(v) not in (int, float) for v in step)
        ):
            raise table.refused("steps", f"{step!r} is no [share of the run, share of the rate]")
        steps.append((float(step[0]), float(step[1])))
    table.end()
    since = [s for s, _ in steps]
    if since[0] != 0.0 or since != sorted(set(since)) or since[-1] >= 1.0:
        raise table.refused("steps", f"steps must begin at 0.0, then 0.33, 0.67 …, not {since}")
    if not all(0.0 <= share <= 100.0 for _, share in steps):
        raise table.refused("steps", "a share of the rate is 0 to 100")
    return tuple(steps)

"""How fast two checkouts are, side by side: each in a process of its own, taking turns.

    python scripts/before_after.py OLD NEW [--repeats 8] [--only one,thousand]

OLD and NEW are folders in which `make setup` was run. A machine's speed drifts by more than what
is to be seen, so pairs of measurements that follow each other are compared, twice: by what came of
them in the time, and in the processor time, which neighbours of a virtual machine disturb less. The
first round warms up both and is not counted. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

LINES = ("one", "twenty", "sixty", "mixed", "thousand", "arrow", "early")
"""As in `headrace bench core`, our own side of them."""


class Meter:
    """Stands for the clock of the benchmark, and reads the processor's with it."""

    def __init__(self) -> None:
        self.read: list[tuple[float, float]] = []

    def perf_counter(self) -> float:
        """As of `time`."""
        me, now, spent_s = psutil.Process(), time.perf_counter(), 0.0
        for one in (me, *me.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):  # it has just ended: its parent tells of it
                spent_s += sum(one.cpu_times()[:4])
        self.read.append((now, spent_s))
        return now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


Told = tuple[float, float]
"""What came of it in a second by the clock, and in one of the processor; more is better."""


def measures(bench: Any, meter: Meter) -> dict[str, Callable[[], Told]]:
    """How every line is measured."""
    queries, mixed = bench.workload.queries, bench.workload.mixed
    hint = "SELECT /*+ APPROX(error => 0.05) */"
    texts = queries(105)
    approximate = [t.replace("SELECT", hint, 1) for t in texts[100:]]

    def files(texts: list[str], events: int, batches: int) -> Told:
        speed = bench.headrace(texts, events, batches)[0]
        (_, before), (_, after) = meter.read[-2:]
        return speed, events / (after - before)

    def flat_out(texts: list[str], lateness: str = "0 seconds") -> Told:
        meter.read.clear()
        speed, samples, _ = bench._flat_out(texts, 12.0, lateness)
        began = meter.read[0][0]
        spent = {round(at - began, 6): s for at, s in meter.read}
        half = [s for s in samples if s["at_s"] >= 6.0]
        spent_s = spent[round(half[-1]["at_s"], 6)] - spent[round(half[0]["at_s"], 6)]
        return speed, (half[-1]["tuples"] - half[0]["tuples"]) / spent_s

    return {
        "one": lambda: files(queries(1), 8_000_000, 8),
        "twenty": lambda: files(queries(20), 8_000_000, 8),
        "sixty": lambda: files(queries(60), 8_000_000, 8),
        "mixed": lambda: files(mixed(60), 4_000_000, 8),
        "thousand": lambda: files(queries(1000), 12_000_000, 12),
        "arrow": lambda: flat_out(queries(1000)),
        "early": lambda: flat_out([*texts[:100], *approximate], "2 seconds"),
    }


def work() -> None:
    """In the process of a checkout: measures what it is told to, line by line."""
    import headrace as hr

    try:
        from headrace.lab.bench.core import measure
        from headrace.lab.bench.core.workload import Workload
    except ImportError:  # where the benchmark was in versions before
        from headrace.bench.core import measure  # type: ignore[import-not-found, no-redef]
        from headrace.bench.core.workload import Workload  # type: ignore[import-not-found, no-redef]

    spark = hr.local_spark(2, **{"spark.driver.memory": "4g"})
    measure.time = meter = Meter()  # type: ignore[assignment]
    with tempfile.TemporaryDirectory(prefix="headrace-before-after-") as scratch:
        bench = measure.Bench(spark, Path(scratch), Workload(), lambda *_: None)
        known = measures(bench, meter)
        print("ready", flush=True)
        for line in sys.stdin:
            print(json.dumps(known[line.strip()]()), flush=True)
            time.sleep(1.0)  # what is left to be cleared away is not the next one's
    spark.stop()


class Checkout:
    """One of the two, ready to be asked."""

    def __init__(self, folder: Path) -> None:
        python = folder / ".venv" / "bin" / "python"
        self._process = subprocess.Popen(
            [python, Path(__file__).resolve(), "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
        )
        self._answer()

    def ask(self, line: str) -> Told:
        """Measure a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        by_clock, by_processor = json.loads(self._answer())
        return float(by_clock), float(by_processor)

    def close(self) -> None:
        """No more questions."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith(("ready", "[")):
                return line
        raise RuntimeError(f"{self._process.args} has ended")


def spread(ratios: list[float]) -> str:
    """The middle, and how far they go apart."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} … {max(ratios):.2f})"


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--only", default=",".join(LINES))
    given = parser.parse_args()
    lines = given.only.split(",")
    both = {"old": Checkout(given.old.resolve()), "new": Checkout(given.new.resolve())}
    found: dict[str, list[tuple[float, float]]] = {line: [] for line in lines}
    for number in range(given.repeats + 1):
        for line in lines:
            told = {s: both[s].ask(line) for s in list(both)[:: 1 - 2 * (number % 2)]}
            ratios = tuple(n / o for n, o in zip(told["new"], told["old"], strict=True))
            if number:
                found[line].append((ratios[0], ratios[1]))
                print(f"{line:9} {number}: {ratios[0]:.2f} {ratios[1]:.2f}", flush=True)
    print("\n| line | new / old, by the clock | by processor time |\n|---|---|---|")
    for line, pairs in found.items():
        print(f"| {line} | {spread([p[0] for p in pairs])} | {spread([p[1] for p in pairs])} |")
    for one in both.values():
        one.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        work()
    else:
        main()

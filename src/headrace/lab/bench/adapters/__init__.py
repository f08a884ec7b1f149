"""Systems under test. One file each, with a class named `Adapter`; a path names one of your own."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import headrace as hr
from headrace.lab.bench.driver.protocol import Driver, Task

SHIPPED = {
    "headrace": "headrace.lab.bench.adapters.headrace_session",
    "headrace-chain": "headrace.lab.bench.adapters.headrace_chain",
    "plain-spark": "headrace.lab.bench.adapters.plain_spark",
    "fake": "headrace.lab.bench.adapters.fake",
}


class Adapter(Protocol):
    """What the benchmark needs of a system. It runs in a process of its own.

    Tuples are read through the driver's address, results are told with `Driver.put`. The options
    are those of ``--set name=value``. One that can change some of them while it runs has
    ``change(name, value)``, which returns why not, or nothing.
    """

    def __init__(self, driver: Driver, options: Mapping[str, str]) -> None: ...

    def start(self, task: Task) -> dict[str, Any]:
        """Run the task's queries over its streams; returns settings for the report."""
        ...

    def create(self, queries: Mapping[str, str]) -> dict[str, str]:
        """Add queries, by name; returns once they are effective: why some were refused."""
        ...

    def delete(self, names: Sequence[str]) -> dict[str, str]:
        """End queries; as with `create`."""
        ...

    def check(self) -> None:
        """Raise when something that should run does not any more; asked about once a second."""
        ...

    def stop(self) -> None:
        """End everything."""
        ...


def unchangeable(name: str) -> str:
    """What an adapter answers that cannot change a setting while it runs."""
    return f"the setting {name!r} cannot be changed while the system runs"


def check(name: str) -> None:
    """Refuse what is neither shipped nor a file."""
    if name not in SHIPPED and not Path(name).is_file():
        known = ", ".join(SHIPPED)
        raise hr.HeadraceError(
            f"there is no system under test {name!r} (valid: {known}, or the path of a Python file "
            "with a class named Adapter)"
        )


def find(name: str) -> type[Adapter]:
    """The adapter of that name, or the one in that file."""
    check(name)
    if name in SHIPPED:
        module = importlib.import_module(SHIPPED[name])
    else:
        # Under its file's name and on the path, so that Spark's workers find it, too.
        path = Path(name).resolve()
        sys.path.insert(0, str(path.parent))
        module = importlib.import_module(path.stem)
    found = getattr(module, "Adapter", None)
    if found is None:
        raise hr.HeadraceError(f"{name}: there is no class named Adapter in it")
    return cast(type[Adapter], found)


def take(
    options: Mapping[str, str], defaults: Mapping[str, str | float | int]
) -> dict[str, str | float | int]:
    """Options with their defaults, in the types of these; an unknown one is refused."""
    for name in options:
        if name not in defaults:
            raise hr.HeadraceError(
                f"this system has no option {name!r} (valid: {', '.join(defaults)})"
            )
    taken: dict[str, str | float | int] = dict(defaults)
    for name, text in options.items():
        kind = type(defaults[name])
        try:
            taken[name] = kind(text)
        except ValueError:
            raise hr.HeadraceError(f"option {name}: {text!r} is no {kind.__name__}") from None
    return taken

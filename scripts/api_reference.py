"""Writes docs/api.md, the reference of the public names, from their docstrings.

`make docs` runs it; `tests/unit/test_api_reference.py` checks that the page is up to date and that
nothing public lacks a docstring. It needs pyspark to be installed, but starts no JVM.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.runtime.counters import PipelineMetrics, ScheduleMetrics, SessionMetrics
from headrace.spark.query import QueryMetrics

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
ERRORS = (
    "HeadraceError QueryError UnsupportedQuery CapacityError ExecutionError InternalError".split()
)
FOR_THE_ENGINE = {
    "Query": (
        "activated attached closed counted emitted ended expire forgotten judged missed record"
    ).split(),
    "QueryError": ["named"],
}
"""Public methods that only the engine calls."""
HANDED_OUT = {"Query"}
"""Classes that a session makes: nobody calls their constructors."""


@dataclass(frozen=True)
class Entry:
    """One name of the page: an object, how callers spell it, and how deep its heading is."""

    name: str
    thing: Any
    depth: int
    signature: str = ""
    parameters: tuple[str, ...] = ()
    owner: Any = None


@dataclass(frozen=True)
class Section:
    """Names that belong together."""

    title: str
    words: str
    names: tuple[tuple[str, Any], ...]


def sections() -> list[Section]:
    """All public names, in reading order."""
    return [
        Section(
            "Sessions and queries",
            "",
            tuple(
                (f"headrace.{n}", getattr(hr, n))
                for n in ("local_spark", "Session", "Query", "Upstream")
            ),
        ),
        Section(
            "What metrics return",
            "Counters can be read as attributes and as a mapping: `dict(session.metrics())`.",
            tuple(
                (c.__name__, c)
                for c in (SessionMetrics, PipelineMetrics, ScheduleMetrics, QueryMetrics)
            ),
        ),
        Section(
            "Sources",
            "",
            tuple((f"headrace.sources.{n}", getattr(hr.sources, n)) for n in hr.sources.__all__),
        ),
        Section(
            "Testing",
            "",
            tuple((f"headrace.testing.{n}", getattr(hr.testing, n)) for n in hr.testing.__all__),
        ),
        Section("Errors", "", tuple((f"headrace.{n}", getattr(hr, n)) for n in ERRORS)),
    ]


def entries(section: Section) -> Iterator[Entry]:
    """The names of a section, each class followed by its members."""
    for name, thing in section.names:
        if inspect.isclass(thing):
            yield _class_entry(name, thing)
            yield from _members(thing)
        else:
            yield _callable_entry(name, thing, 3)


def is_documented(entry: Entry) -> bool:
    """Whether it has a docstring."""
    return bool(_text(entry))


def undocumented_parameters(entry: Entry) -> list[str]:
    """Parameters that neither its docstring nor, for a method, that of its class names.

    A parameter is named where it stands in backquotes.
    """
    words = " ".join([_text(entry), inspect.getdoc(entry.owner) or ""])
    return [p for p in entry.parameters if not re.search(rf"`{re.escape(p)}\b[^`]*`", words)]


def page() -> str:
    """The whole page."""
    lines = [
        "# API reference",
        "",
        "<!-- Made by scripts/api_reference.py from docstrings: run `make docs`, edit them. -->",
        "",
        "Every public name. After `import headrace as hr` they are `hr.Session`,",
        "`hr.sources.Purchases`, and so on. `make docs` makes this page from the docstrings.",
        "How to use them: [guides](index.md#guides-how-do-i-).",
    ]
    for section in sections():
        lines += ["", f"## {section.title}"]
        if section.words:
            lines += ["", section.words]
        for entry in entries(section):
            lines += ["", f"{'#' * entry.depth} {entry.name}"]
            if entry.signature:
                lines += ["", "```python", entry.signature, "```"]
            lines += ["", markdown(_text(entry))]
    return "\n".join(lines).rstrip() + "\n"


def markdown(docstring: str) -> str:
    """A docstring as Markdown: examples become code, double backquotes single ones."""
    parts = []
    for part in re.split(r"\n\s*\n", docstring):
        if part.lstrip().startswith(">>>"):
            lines = [line.strip() for line in part.splitlines()]
            code = [line[4:] for line in lines if line.startswith((">>>", "..."))]
            plain = [re.sub(r"\s*# doctest:.*$", "", line) for line in code]
            parts.append("\n".join(["```python", *plain, "```"]))
        else:
            parts.append(part.replace("``", "`"))
    return "\n\n".join(parts)


def _class_entry(name: str, cls: type) -> Entry:
    if cls.__name__ in HANDED_OUT or getattr(cls, "_is_protocol", False):
        return Entry(name, cls, 3)
    if name == cls.__name__:  # what metrics() return: not made by callers, so its fields are told
        fields = [f"{f.name}: {_type(f.type)}" for f in dataclasses.fields(cls)]
        return Entry(name, cls, 3, "\n".join(fields))
    if "__init__" not in vars(cls):  # an error, made as its base is
        return Entry(name, cls, 3)
    entry = _callable_entry(name, cls, 3)
    inherited = {
        field.name
        for base in cls.__mro__[1:]
        if dataclasses.is_dataclass(base)
        for field in dataclasses.fields(base)
    }
    own = tuple(p for p in entry.parameters if p not in inherited)
    return dataclasses.replace(entry, parameters=own)


def _members(cls: type) -> Iterator[Entry]:
    """Public methods and properties, in the order of the source; inherited ones are at the base."""
    hidden = FOR_THE_ENGINE.get(cls.__name__, ())
    for name, member in vars(cls).items():
        if name.startswith("_") or name in hidden:
            continue
        if isinstance(member, property):
            kind = _type(inspect.signature(member.fget).return_annotation)  # type: ignore[arg-type]
            yield Entry(f"{cls.__name__}.{name}", member, 4, f"{name}: {kind}", owner=cls)
        elif inspect.isfunction(member) and _is_first(cls, name):
            yield _callable_entry(f"{cls.__name__}.{name}", member, 4, cls)


def _is_first(cls: type, name: str) -> bool:
    """Whether no public base has it: `Purchases.fields` is described at `Generator.fields`."""
    return not any(hasattr(base, name) for base in cls.__mro__[1:])


def _callable_entry(name: str, thing: Callable[..., Any], depth: int, owner: Any = None) -> Entry:
    signature = inspect.signature(thing)
    kept = [p for p in signature.parameters.values() if p.name != "self"]
    spelled = _spelled(name.split(".")[-1], signature.replace(parameters=kept))
    return Entry(name, thing, depth, spelled, tuple(p.name for p in kept), owner)


def _spelled(name: str, signature: inspect.Signature) -> str:
    """A signature on one line, or a parameter a line where it would be long."""
    result = signature.return_annotation
    arrow = "" if result in (inspect.Signature.empty, "None", None) else f" -> {_type(result)}"
    words = []
    star = False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            words.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = "" if p.annotation is p.empty else f": {_type(p.annotation)}"
        default = "" if p.default is p.empty else f" = {p.default!r}"
        words.append(f"{prefix}{p.name}{kind}{default}")
    line = f"{name}({', '.join(words)}){arrow}"
    if len(line) <= 88:
        return line
    return "\n".join([f"{name}(", *(f"    {w}," for w in words), f"){arrow}"])


def _type(annotation: Any) -> str:
    """An annotation as it is written in the source."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _text(entry: Entry) -> str:
    """Its docstring, without the indentation."""
    thing = entry.thing.fget if isinstance(entry.thing, property) else entry.thing
    return inspect.cleandoc(thing.__doc__ or "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: docs/{PAGE.name}")

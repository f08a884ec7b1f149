"""Parameters of makers: fields of their dataclasses, each with a default and a range."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import headrace as hr

T = TypeVar("T")
Value = TypeVar("Value", int, float, str)

_ANY = 1e18
"""As good as no limit."""
_KINDS: dict[type, str] = {int: "a whole number", float: "a number", str: "a text"}


def setting(default: Value, low: float = 0.0, high: float = _ANY) -> Value:
    """A field that a workload may set, to a value of the default's type within a range."""
    return dataclasses.field(default=default, metadata={"low": low, "high": high})


def settings_of(kind: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """What can be set on a maker, by name."""
    return {f.name: f for f in dataclasses.fields(kind) if "low" in f.metadata}


def build(kind: type[T], name: str, parameters: Mapping[str, object]) -> T:
    """A maker with these parameters, or an error that says which of them is wrong."""
    known = settings_of(kind)
    for key in parameters:
        if key not in known:
            valid = ", ".join(known) or "none"
            raise hr.HeadraceError(f"maker {name} has no parameter {key!r} (valid: {valid})")
    return kind(**{key: _checked(name, known[key], value) for key, value in parameters.items()})


def _checked(name: str, field: dataclasses.Field[Any], value: object) -> int | float | str:
    wanted = type(field.default)
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted:
        raise hr.HeadraceError(
            f"maker {name}: parameter {field.name} must be {_KINDS[wanted]}, not {value!r}"
        )
    low, high = field.metadata["low"], field.metadata["high"]
    if isinstance(value, int | float) and not low <= value <= high:
        span = f"{low:g} or more" if high == _ANY else f"{low:g} to {high:g}"
        raise hr.HeadraceError(
            f"maker {name}: parameter {field.name} must be {span}, not {value!r}"
        )
    return cast(int | float | str, value)

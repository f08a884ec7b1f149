"""A table of a TOML file that is read key by key, and says what is wrong with it and where."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import headrace as hr

T = TypeVar("T")
_NEEDED = object()


class TomlTable:
    """Values by key; the keys that were asked for are the valid ones."""

    def __init__(self, file: str, place: str, values: Mapping[str, object]) -> None:
        self._file = file
        self._place = place
        self._values = values
        self._asked: list[str] = []

    @classmethod
    def read(cls, path: Path) -> TomlTable:
        """The outermost table of a file."""
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise hr.HeadraceError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:  # both "not TOML" and "not UTF-8"
            raise hr.HeadraceError(f"{path}: is not TOML: {error}") from error
        return cls(str(path), "", values)

    def refused(self, key: str, why: str, valid: Iterable[str] = ()) -> hr.HeadraceError:
        """An error that names the file, the field and what it may be."""
        choices = ", ".join(valid)
        return hr.HeadraceError(
            f"{self._file}: {self._place}{key}: {why}{f' (valid: {choices})' if choices else ''}"
        )

    def within(self, key: str, check: Callable[[], T]) -> T:
        """What a check gives; what it refuses is told as an error of this field."""
        try:
            return check()
        except hr.HeadraceError as error:
            raise self.refused(key, str(error)) from error

    def end(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self._values:
            if key not in self._asked:
                raise self.refused(key, "unknown key", dict.fromkeys(self._asked))

    def has(self, key: str) -> bool:
        """Whether a key is there."""
        self._asked.append(key)
        return key in self._values

    def names(self) -> list[str]:
        """All keys, in the order of the file, for a table whose keys are free."""
        self._asked.extend(self._values)
        return list(self._values)

    def value(self, key: str) -> object:
        """A value of any type that must be there."""
        return self._get(key, _NEEDED)

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty."""
        value = self._get(key, _NEEDED if default is None else default)
        if not isinstance(value, str) or not value.strip():
            raise self.refused(key, f"must be a text, not {value!r}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A number above 0."""
        value = self._get(key, _NEEDED if default is None else default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e18:
            raise self.refused(key, f"must be a number above 0, not {value!r}")
        return float(value)

    def whole(self, key: str) -> int:
        """A whole number from 1 on."""
        value = self._get(key, _NEEDED)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.refused(key, f"must be a whole number of 1 or more, not {value!r}")
        return value

    def entries(self, key: str) -> list[object]:
        """A list that is not empty."""
        value = self._get(key, _NEEDED)
        if not isinstance(value, list) or not value:
            raise self.refused(key, f"must be a list with something in it, not {value!r}")
        return value

    def table(self, key: str, *, needed: bool = True) -> TomlTable:
        """A table inside this one."""
        return self._table(key, self._get(key, _NEEDED if needed else {}))

    def tables(self, key: str) -> list[TomlTable]:
        """A list of tables: `[[key]]`, once or more."""
        return [self._table(f"{key}[{n}]", t) for n, t in enumerate(self.entries(key), 1)]

    def _get(self, key: str, default: object) -> object:
        self._asked.append(key)
        value = self._values.get(key, default)
        if value is _NEEDED:
            found = ", ".join(self._values) or "nothing"
            raise self.refused(key, f"is missing (there is {found})")
        return value

    def _table(self, key: str, value: object) -> TomlTable:
        if not isinstance(value, dict):
            raise self.refused(key, f"must be a table, not {value!r}")
        return TomlTable(self._file, f"{self._place}{key}.", value)

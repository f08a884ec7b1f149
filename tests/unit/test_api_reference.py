"""docs/api.md is what scripts/api_reference.py makes, and nothing public lacks a docstring."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import headrace as hr

SCRIPT = Path(__file__).parents[2] / "scripts" / "api_reference.py"
MADE: dict[str, Any] = runpy.run_path(str(SCRIPT))
ENTRIES = [entry for section in MADE["sections"]() for entry in MADE["entries"](section)]


def test_the_page_is_up_to_date() -> None:
    assert MADE["PAGE"].read_text("utf-8") == MADE["page"](), "run `make docs`"


def test_every_public_name_is_on_the_page() -> None:
    told = {entry.name for entry in ENTRIES}
    names = {f"headrace.{n}" for n in hr.__all__ if n not in ("sources", "testing")}
    names |= {f"headrace.sources.{n}" for n in hr.sources.__all__}
    names |= {f"headrace.testing.{n}" for n in hr.testing.__all__}
    assert names - told == set()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_it_is_described(entry: Any) -> None:
    assert MADE["is_documented"](entry)
    missing = set(MADE["undocumented_parameters"](entry))
    assert missing == set()


def test_a_docstring_as_markdown() -> None:
    text = "First ``line``.\n\n>>> f(1)  # doctest: +SKIP\n... # more\n2"
    assert MADE["markdown"](text) == "First `line`.\n\n```python\nf(1)\n# more\n```"

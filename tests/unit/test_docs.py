"""Relative links in the README and in docs/ point at files and headings that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*([^)\s]+)\s*\)")


def prose(page: Path) -> str:
    """A page without its code, in which brackets mean something else."""
    return FENCE.sub("", page.read_text("utf-8"))


def links(page: Path) -> list[str]:
    """Where a page points, outside of code; addresses of other sites are left out."""
    found = LINK.findall(CODE.sub("code", prose(page)))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    seen: dict[str, int] = {}
    made = []
    for title in re.findall(r"^#+ +(.*?) *$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        made.append(f"{slug}-{number}" if number else slug)
    return frozenset(made)


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    wrong = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            wrong.append(f"{target}: there is no such file")
        elif anchor and (file.suffix != ".md" or anchor not in anchors(file)):
            wrong.append(f"{target}: there is no such heading")
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_every_page_is_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    reached, left = {index}, [index]
    while left:
        page = left.pop()
        for target in links(page):
            file = (page.parent / target.partition("#")[0]).resolve()
            if file.suffix == ".md" and file not in reached and file.exists():
                reached.add(file)
                left.append(file)
    assert set(PAGES) - reached == set()


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b` – c\n[x](gone.md) [y](#a-b--c) [z](#d) `[q](r.md)` [w](https://a.b)\n")
    assert [w.split(":")[0] for w in broken(page)] == ["gone.md", "#d"]

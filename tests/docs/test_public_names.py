"""Every public name is described in the docs, and links lead to headings that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from pages import BLOCK, PAGES

from lossnet.tasks.registry import BUILT_IN

PACKAGES = ["lossnet", "lossnet.encoders", *(f"lossnet.tasks.{task}" for task in BUILT_IN)]


@pytest.mark.parametrize("package", PACKAGES)
def test_docs_mention_every_public_name(package: str) -> None:
    words = {word for page in PAGES for word in re.findall(r"\w+", page.read_text("utf-8"))}
    assert sorted(set(importlib.import_module(package).__all__) - words) == []


def headings(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    text = re.sub(BLOCK, "", page.read_text("utf-8"))
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_headings(page: Path) -> None:
    text = re.sub(BLOCK, "", page.read_text("utf-8"))
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", text):
        linked = page.parent / target if target else page
        assert anchor in headings(linked), f"{page.name} links to {target}#{anchor}"

"""Pages that are made when the site is built: the front page, the gallery, the reference."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "build" / "gallery"
EXAMPLES = [p for p in sorted((ROOT / "examples").glob("*.py")) if p.stem != "demo_picture"]
#: Pages that are made of files in the root.
ROOT_PAGES = {"index.md": "README.md", "CHANGELOG.md": "CHANGELOG.md"}
#: The packages of the reference, and what each is about.
PACKAGES = {
    "lossnet": "Estimators, methods and what they are made of",
    "lossnet.tasks.multilabel": "Multi-label classification",
    "lossnet.tasks.text": "Texts with many labels",
    "lossnet.tasks.sequence": "Sequence labelling",
    "lossnet.tasks.roles": "Semantic roles",
    "lossnet.tasks.image": "Image segmentation",
    "lossnet.recipes": "Methods by name",
    "lossnet.energies": "Energy networks",
    "lossnet.nets": "Task-nets",
    "lossnet.contrasts": "Losses of the loss-net",
    "lossnet.proposals": "Where candidates come from",
    "lossnet.objectives": "What an update minimises",
    "lossnet.gradients": "How gradients are found",
    "lossnet.training": "The training loop",
    "lossnet.decisions": "Decisions",
    "lossnet.constraints": "Constraints",
    "lossnet.encoders": "Pretrained encoders",
    "lossnet.reports": "Recorded results",
}


def on_config(config: Any) -> Any:
    """Put the gallery and the reference into the navigation."""
    examples = [f"gallery/{path.stem}.md" for path in EXAMPLES]
    config.nav.append({"Gallery": ["gallery/index.md", *examples]})
    packages = [f"api/{package}.md" for package in PACKAGES]
    config.nav.append({"Reference": ["api/index.md", *packages]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that no file in ``docs/`` holds."""
    pages: dict[str, Any] = {
        name: from_root(page) for name, page in ROOT_PAGES.items()
    } | reference()
    for path in EXAMPLES:  # as they are where nobody has run them
        pages[f"gallery/{path.stem}.md"] = f"# {path.name}\n\n```python\n{path.read_text()}```\n"
    pages["gallery/index.md"] = "# Gallery\n\nThe examples have not been run: run `make docs`.\n"
    for path in sorted(GALLERY.glob("*")):
        pages[f"gallery/{path.name}"] = path.read_bytes()
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files outside ``docs/`` lead to their pages here."""
    found = markdown.replace("](../README.md", "](index.md")
    return re.sub(r"\]\(\.\./examples/(\w+)\.py", r"](gallery/\1.md", found)


def from_root(page: str) -> str:
    """A page of the repository's root, its links as seen from ``docs/``."""
    text = (ROOT / page).read_text(encoding="utf-8").replace("](docs/", "](")
    return re.sub(r"\]\(examples/(\w+)\.py", r"](gallery/\1.md", text)


def reference() -> dict[str, str]:
    """A page for each package, with its public names, and a page that lists them."""
    pages, lines = {}, ["# Reference", "", "| package | what it holds |", "|---|---|"]
    shown: dict[str, str] = {}
    for package, about in PACKAGES.items():
        module = importlib.import_module(package)
        names = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
        lines.append(f"| [`{package}`]({package}.md) | {about} |")
        places = {name: _place(module, name) for name in names}
        blocks = [
            f"`{name}`: see [{shown[place]}]({shown[place]}.md#{place})."
            if place in shown
            else f"::: {place}"
            for name, place in places.items()
        ]
        shown |= {place: package for place in places.values() if place not in shown}
        pages[f"api/{package}.md"] = "\n\n".join([f"# {package}", f"{about}.", *blocks]) + "\n"
    return {"api/index.md": "\n".join(lines) + "\n", **pages}


def _place(module: Any, name: str) -> str:
    """Where a public name is defined, which is where its docstring is found."""
    value = getattr(module, name)
    own = getattr(value, "__module__", None) or ""
    defined = own.startswith("lossnet.") and getattr(value, "__qualname__", "") == name
    return f"{own if defined else module.__name__}.{name}"

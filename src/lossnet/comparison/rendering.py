"""Pages written as one HTML file that needs no network."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from lossnet.comparison.blocks import Page
from lossnet.errors import LossnetError
from lossnet.files import write_text


class MissingTemplatesError(LossnetError, ImportError):
    """A page was asked for where jinja2 or pillow is not installed."""


def check_can_render() -> None:
    """Raise where what pages need is not installed; cheap enough to ask before long work."""
    import importlib.util

    missing = [name for name in ("jinja2", "PIL") if importlib.util.find_spec(name) is None]
    if missing:
        names = " and ".join(missing).replace("PIL", "pillow")
        remedy = "pip install 'lossnet[report]'"
        raise MissingTemplatesError(f"a page needs {names}, not installed here: {remedy}")


def write_html(page: Page, path: str | Path) -> Path:
    """Write a page to a file, atomically."""
    return write_text(path, render(page))


def render(page: Page) -> str:
    """The page as HTML; every text on it is escaped."""
    check_can_render()
    from markupsafe import Markup

    templates = _templates()
    script = templates.get_template("sort.js").render()
    # The page's policy allows this script alone, and no address but data:.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    known = {"page": page, "script": Markup(script), "script_hash": digest}
    return str(templates.get_template("page.html").render(known))


def _templates() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("lossnet.comparison", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

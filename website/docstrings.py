"""Docstrings as the site's pages show them: Sphinx's roles and doctests become code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Docstring, Extension

_DOCTEST = re.compile(r"^(>>> .*(?:\n.+)*)", re.MULTILINE)
_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`(~?)([^`]+)`")


class AsMarkdown(Extension):
    """Turns ``:class:`~lossnet.Method``` into ``Method`` set as code, and fences doctests."""

    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        """Change the docstring of a module, class, function or attribute, once it is loaded."""
        if isinstance(obj.docstring, Docstring):
            text = _ROLE.sub(_code, obj.docstring.value)
            obj.docstring.value = _DOCTEST.sub(r"```pycon\n\1\n```", text)


def _code(match: re.Match[str]) -> str:
    short, name = match.groups()
    return f"`{name.rpartition('.')[2] if short else name}`"

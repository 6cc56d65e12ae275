"""XML files without document types and without deep nesting."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from lossnet.data.limits import MAX_DEPTH
from lossnet.errors import DataError


class _Builder(ElementTree.TreeBuilder):
    """Builds a tree; refuses what could expand without bound or exhaust the stack."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = path
        self.depth = 0

    def doctype(self, *declared: str | None) -> None:
        """Called at ``<!DOCTYPE``, before any entity is declared."""
        raise DataError(f"{self.path} declares a document type, which no data needs: remove it")

    def start(self, tag: str, attrs: dict[str, str]) -> ElementTree.Element:
        """An element begins."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise DataError(f"{self.path}: elements are nested more than {MAX_DEPTH} levels deep")
        return super().start(tag, attrs)

    def end(self, tag: str) -> ElementTree.Element:
        """An element ends."""
        self.depth -= 1
        return super().end(tag)


def parse_xml(content: str | bytes, path: str | Path) -> ElementTree.Element:
    """The root element; ``path`` is what errors call the file."""
    parser = ElementTree.XMLParser(target=_Builder(path))
    try:
        parser.feed(content)
        return parser.close()
    except ElementTree.ParseError as error:
        place = f"{path}, line {error.position[0]}"
        raise DataError(
            f"{place}: not well-formed XML ({error}); is the file cut short?"
        ) from error
    except (ValueError, LookupError) as error:  # an encoding that is unknown or wrong
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is not well-formed XML ({error}); save it as UTF-8") from error

"""Which column of a CoNLL file is which, as the command line says or a model remembers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lossnet.errors import DataError
from lossnet.tasks.sequence.conll import ConllFormat

if TYPE_CHECKING:
    from lossnet.tasks.sequence.folders import SequenceFiles


def layout_facts(layout: ConllFormat | None, scheme: str | None) -> dict[str, Any]:
    """What a model folder stores; without a layout that of words and tags."""
    layout = layout or ConllFormat()
    return {
        "token_column": layout.token_column,
        "tag_column": layout.tag_column,
        "columns": list(layout.columns or ()),
        "scheme": scheme,
    }


def trained_layout(facts: Mapping[str, Any]) -> ConllFormat:
    """The layout of which :func:`layout_facts` were stored."""
    return ConllFormat(facts["token_column"], facts["tag_column"], tuple(facts["columns"]))


def chosen_layout(layout: ConllFormat, args: argparse.Namespace) -> ConllFormat:
    """The layout, or what the options say in its place."""
    new: dict[str, Any] = {}
    if args.token_column is not None:
        new["token_column"] = args.token_column
    if args.tag_column is not None:
        new["tag_column"] = None if args.tag_column == "none" else args.tag_column
    if args.columns is not None:
        new["columns"] = () if args.columns == ["none"] else tuple(args.columns)
    return replace(layout, **new)


def matching_layout(files: SequenceFiles, layout: ConllFormat) -> ConllFormat:
    """The layout with its tags or without, whichever has the number of columns of the files."""
    bare = layout.without_tags()
    for found in (layout, bare):
        if files.width in (None, found.width):
            return found
    raise DataError(
        f"{files.path} has {files.width} columns, and the training data had {layout.width} "
        f"({listed_columns(layout)}), or {bare.width} without tags; say which is which with "
        "--token-column, --tag-column (or none) and --columns"
    )


def listed_columns(layout: ConllFormat) -> str:
    """The names of the columns."""
    return ", ".join(["token", *(layout.columns or ()), "tag"])

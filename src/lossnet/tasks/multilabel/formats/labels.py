"""Which columns of a table are labels."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from lossnet.data.limits import parse_int
from lossnet.data.table import Table
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel.formats.encode import LabelColumns
from lossnet.tasks.multilabel.formats.mulan import find_xml, read_labels
from lossnet.tasks.multilabel.formats.readers import Labels


def label_columns(table: Table, labels: Labels) -> LabelColumns:
    """The label columns of an ARFF table.

    In this order: the argument ``labels``; Mulan's XML file beside it; MEKA's ``-C n`` in the
    relation's name. A number means the first n columns, or the last n where it is negative.
    """
    names = [a.name for a in table.attributes]
    if labels is not None:
        return chosen(names, labels, str(table.path))
    xml = find_xml(table.path)
    if xml is not None:
        wanted, parents = read_labels(xml)
        columns = chosen(names, wanted, f"{table.path} (labels named in {xml.name})")
        position = {name: k for k, name in enumerate(columns.names)}
        links = {position[c]: [position[p]] for c, p in parents.items()}
        return LabelColumns(columns.index, columns.names, links or None)
    meka = re.search(r"-C\s+(-?\d+)", table.relation)
    if meka:
        where = f"{table.path} (-C in the relation's name)"
        try:
            return chosen(names, parse_int(meka.group(1)), where)
        except ValueError as error:
            raise (
                error if isinstance(error, DataError) else DataError(f"{where}: {error}")
            ) from None
    raise DataError(
        f"{table.path} does not say which attributes are labels: put Mulan's XML file beside it, "
        "write MEKA's '-C n' into the relation's name, or pass labels= (n for the first n, -n for "
        "the last n, or a list of names)"
    )


def chosen(names: Sequence[str], labels: int | Sequence[str], where: str) -> LabelColumns:
    """The columns that ``labels`` (a number or names) picks, in the order of the file."""
    if isinstance(labels, bool | str):
        raise SettingError(
            f"labels={labels!r}: give a number (n for the first n, -n for the last n) or a list "
            "of names"
        )
    if isinstance(labels, int):
        if labels == 0 or abs(labels) >= len(names):
            raise DataError(
                f"{where}: {labels} label columns asked for among {len(names)} columns; at least "
                "one must be a label and one a feature"
            )
        index = list(range(labels) if labels > 0 else range(len(names) + labels, len(names)))
        return LabelColumns(index, [names[j] for j in index])
    wanted = set(labels)
    missing = [name for name in labels if name not in set(names)]
    if missing:
        # Comparing two names takes time that is quadratic in their lengths.
        near = difflib.get_close_matches(missing[0][:80], [n for n in names if len(n) <= 80], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise DataError(
            f"{where}: no column is called {missing[0]!r} ({len(missing)} of {len(wanted)} "
            f"label names not found){hint}"
        )
    index = [j for j, name in enumerate(names) if name in wanted]
    if not index:
        raise DataError(f"{where}: no label columns; name at least one")
    if len(index) == len(names):
        raise DataError(f"{where}: every column is a label; at least one must be a feature")
    return LabelColumns(index, [names[j] for j in index])

"""Rows, labels and which labels go together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from lossnet.tasks.description import Description, Listing
from lossnet.tasks.multilabel.arrays import sparse_blocks
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.label_sets import LabelSets


def describe(data: MultiLabelData, parts: Mapping[str, MultiLabelData], *, top: int) -> Description:
    """The description of a data set."""
    sizes = ", ".join(f"{len(part):,} {name}" for name, part in parts.items())
    lines = [
        ["rows", f"{data.n_rows:,}{f' ({sizes})' if sizes else ''}"],
        ["features", f"{data.n_features:,}{', sparse' if data.is_sparse else ''}"],
        *([["missing", f"{data.n_missing:,} values"]] if data.n_missing else []),
        ["labels", f"{data.n_labels:,}{', in a hierarchy' if data.parents else ''}"],
        *([["not known", f"{data.n_unknown:,} labels"]] if data.n_unknown else []),
        ["cardinality", f"{data.cardinality:.3f} labels per row"],
        ["density", f"{data.density:.4f}"],
        ["label sets", f"{data.diversity:,} distinct"],
        ["checksum", data.checksum()[:16]],
    ]
    lengths = {"labels per row": np.asarray(data.on.sum(axis=1)).ravel().astype(int).tolist()}
    return Description(data.name, lines, data.notes, **describe_labels(data, top), lengths=lengths)


def describe_labels(data: LabelSets, top: int) -> dict[str, Any]:
    """The commonest labels, and which go together: listings and numbers of a description."""
    from scipy.sparse import csr_matrix

    rows = [data.on] if data.has_dense_labels else sparse_blocks(data.on)
    blocks = (csr_matrix(block, dtype=np.float32) for block in rows)
    both = reduce(np.add, ((Y.T @ Y).toarray() for Y in blocks))
    counts = both.diagonal()
    shares = dict(zip(data.label_names, (100 * counts / data.n_rows).tolist(), strict=True))
    return {
        "listings": [_commonest(data, top), _pairs(data, both, top)],
        "frequencies": {"labels": shares},
        "together": (data.label_names, both),
        "rows": data.n_rows,
    }


def _commonest(data: LabelSets, top: int) -> Listing:
    counts = np.asarray(data.on.sum(axis=0, dtype=np.int64)).ravel()
    lines = [["label", "rows", "share"]]
    for k in np.argsort(-counts, kind="stable")[:top]:
        share = f"{100 * counts[k] / data.n_rows:.1f} %"
        lines.append([data.label_names[k], f"{counts[k]:,}", share])
    return Listing("commonest labels", lines, (1, 2))


def _pairs(data: LabelSets, both: np.ndarray, top: int) -> Listing:
    """The pairs of highest lift, p(a, b) / (p(a) p(b)), among those seen in enough rows.

    A pair counts from ten rows on, in small data sets from a hundredth of the rows: the lift of
    a pair seen once says little.
    """
    title = "labels that go together (lift: how many times as often as by chance)"
    counts = both.diagonal()
    least = min(10.0, max(1.0, data.n_rows / 100))
    a, b = np.nonzero(np.triu(both >= least, k=1))
    if not len(a):
        return Listing(title, words=f"no two labels are on together in {least:g} rows or more")
    lift = both[a, b] * data.n_rows / (counts[a] * counts[b])
    lines = [["label", "label", "rows", "lift"]]
    for k in np.lexsort((-both[a, b], -lift))[:top]:
        pair = [data.label_names[a[k]], data.label_names[b[k]]]
        lines.append([*pair, f"{int(both[a[k], b[k]]):,}", f"{lift[k]:.2f}"])
    return Listing(title, lines, (2, 3))

"""Texts, their lengths and labels, and which labels go together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lossnet.tasks.description import Description, Listing
from lossnet.tasks.multilabel.describe import describe_labels
from lossnet.tasks.text.texts import TextData


def describe(data: TextData, parts: Mapping[str, TextData], *, top: int) -> Description:
    """The description of a data set."""
    sizes = ", ".join(f"{len(part):,} {name}" for name, part in parts.items())
    words = np.array([len(text.split()) for text in data.texts])
    shares = [f"{np.percentile(words, share):,.0f}" for share in (50, 95)]
    lengths = f"{words.sum():,}; {words.mean():.1f} per text, {shares[0]} in the middle, "
    lines = [
        ["texts", f"{len(data):,}{f' ({sizes})' if sizes else ''}"],
        ["words", f"{lengths}95 % have at most {shares[1]}"],
        ["labels", f"{data.n_labels:,}"],
        ["cardinality", f"{data.cardinality:.3f} labels per text"],
        ["density", f"{data.density:.4f}"],
        ["label sets", f"{data.diversity:,} distinct"],
        ["checksum", data.checksum()[:16]],
    ]
    found = describe_labels(data, top) if data.labelled else {"listings": []}
    found["listings"] = [_longest(data, words, top), *found["listings"]]
    return Description(
        data.name, lines, data.notes, **found, lengths={"words per text": words.tolist()}
    )


def _longest(data: TextData, words: np.ndarray, top: int) -> Listing:
    lines = [["row", "words", "characters", "begins"]]
    for k in np.argsort(-words, kind="stable")[:top]:
        text = data.texts[k]
        begins = " ".join(text[:200].split())
        begins = begins if len(begins) <= 40 else f"{begins[:40].rstrip()} ..."
        lines.append([f"{k}", f"{words[k]:,}", f"{len(text):,}", begins])
    return Listing("longest texts", lines, (0, 1, 2))

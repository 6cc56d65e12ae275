"""What is exported of a text classifier in addition to its nets: TF-IDF."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lossnet.errors import SettingError
from lossnet.exporting import Exported, runtime_files
from lossnet.tasks.text.tfidf import LENGTH, Tfidf


def check_tfidf(model: Any) -> None:
    """Raise where texts go through a pretrained encoder."""
    if not isinstance(model.coder_, Tfidf):
        what = f"the tokeniser of encoder={str(model.encoder)!r} cannot be written in numpy"
        remedy = "train with encoder=None (TF-IDF) to export it, or serve lossnet"
        raise SettingError(f"cannot export {type(model).__name__}: {what}; {remedy}")


def with_texts(exported: Exported, model: Any) -> Exported:
    """What is exported of the classifier, and how texts become its rows."""
    coder = model.coder_
    facts = {"terms": coder.terms, "longest": coder.longest, "length": LENGTH}
    return replace(
        exported,
        model="texts:TextModel",
        runtime=[*exported.runtime, *runtime_files("texts")],
        facts={**exported.facts, **facts},
        arrays={**exported.arrays, "idf": coder.idf},
        reads="texts: a .txt file, one text a line, or .jsonl with the key text",
    )

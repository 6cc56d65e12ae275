"""What structure around a tagger is worth: accuracy of tags and F1 of spans.

    python benchmarks/tagger_wrapper.py run --data twitter_pos wnut17 --seeds 3
    python benchmarks/tagger_wrapper.py table

A fit of ``StructuredTagger`` with its defaults is measured on the test part in three ways: the
base's most probable tags (by the scheme where the tags have one); the base decided, the rules of
``decode="auto"`` on its probabilities alone; and structured, these rules with the energy. Settings
are chosen on the development part. The base is multinomial logistic regression on words, affixes
and shapes of a token and its neighbours. The seed decides on folds and energy. Runs that are in the
store are not done again. Data is found at ``../shared/data`` or ``$LOSSNET_DATA``.
"""

from __future__ import annotations

import argparse
import copy
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sequence import TASKS, parts
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from lossnet import StructuredTagger
from lossnet.parameters import plain
from lossnet.recipes import residual
from lossnet.reports import find, has, record, summarise
from lossnet.tasks.sequence import SequenceData

HOW = ("base", "decided", "structured")


def base() -> Any:
    """An unfitted classifier of tokens."""
    return make_pipeline(DictVectorizer(), LogisticRegression(max_iter=200))


def features(words: list[str]) -> list[dict[str, Any]]:
    """What the base knows of each token of a sentence: itself and two neighbours on each side."""
    around = ["<s>", "<s>", *words, "</s>", "</s>"]
    own = [_features(word) for word in around]
    found = []
    for t in range(2, len(words) + 2):
        row: dict[str, Any] = {"bias": True} | own[t]
        for offset in (-1, 1):
            row |= {f"{offset}:{key}": value for key, value in own[t + offset].items()}
        row |= {"-2:word": own[t - 2]["word"], "2:word": own[t + 2]["word"]}
        found.append(row)
    return found


def _features(word: str) -> dict[str, str]:
    lower = word.lower()
    shape = re.sub(r"(.)\1+", r"\1\1", re.sub("[0-9]", "0", re.sub("[A-Z]", "A", re.sub("[a-z]", "a", word))))
    affixes = {f"{n}": lower[:n] for n in (1, 2, 3)} | {f"-{n}": lower[-n:] for n in (1, 2, 3)}
    return {"word": lower, "shape": shape, **affixes}

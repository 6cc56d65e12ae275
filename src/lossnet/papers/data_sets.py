"""The papers' data sets: where their files are expected, how they are read, of which task they are.

Paths are relative to the data folder: see :func:`data_folder`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from lossnet.errors import DataError
from lossnet.tasks.parts import Parts
from lossnet.tasks.registry import task_named
from lossnet.tasks.task import Task

Reader = Callable[[Path], Parts[Any]]
GLOVE = "vectors/glove6b_100d_subset.npz"


@dataclass(frozen=True)
class DataSet:
    """A data set.

    Args:
        task: the name of its task.
        place: its file or folder.
        files: the files it needs; those of a folder by their names in it.
        read: reads the place.
        settings: the estimator's parameters on it, with preset and without.
        vectors: a file of word vectors that the estimator reads.
    """

    task: str
    place: str
    files: Sequence[str]
    read: Reader
    settings: Mapping[str, Any] = field(default_factory=dict)
    vectors: str | None = None

    def find_task(self) -> Task:
        """Its task."""
        return task_named(self.task)

    def missing(self, root: Path) -> list[Path]:
        """The files that are not there."""
        place = root / self.place
        files = [place / name for name in self.files] or [place]
        files += [root / self.vectors] if self.vectors else []
        return [file for file in files if not file.exists()]

    def needs(self, root: Path) -> str:
        """Which files are missing and where they belong, in words; empty where none is."""
        missing = self.missing(root)
        where = {str(file.parent) for file in missing}
        by_folder = [
            f"{', '.join(f.name for f in missing if str(f.parent) == folder)} in {folder}"
            for folder in sorted(where)
        ]
        return f"put {' and '.join(by_folder)}" if missing else ""

    def load(self, root: Path) -> tuple[Parts[Any], str]:
        """The parts, and the checksum of all of them."""
        if text := self.needs(root):
            raise DataError(f"data is missing: {text}")
        parts = self.read(root / self.place)
        sums = " ".join(f"{name}:{data.checksum()}" for name, data in parts.items())
        return parts, hashlib.sha256(sums.encode()).hexdigest()

    def own_settings(self, root: Path) -> dict[str, Any]:
        """The estimator's parameters on it."""
        own = {"vectors": str(root / self.vectors)} if self.vectors else {}
        return {**self.settings, **own}


def data_folder(given: str | None = None) -> Path:
    """The data folder: as given, or ``$LOSSNET_DATA``, or the first that exists of the usual."""
    if given or (given := os.environ.get("LOSSNET_DATA")):
        folder = Path(given).expanduser()
        if not folder.is_dir():
            raise DataError(
                f"the data folder {folder} does not exist; give another with "
                "--data or $LOSSNET_DATA"
            )
        return folder
    usual = Path("data"), Path("../shared/data")
    return next((folder for folder in usual if folder.is_dir()), usual[0])


def _labels(folder: Path) -> Parts[Any]:
    from lossnet.tasks.multilabel import load_splits

    return load_splits(folder)


def _declared(name: str, folder: Path) -> Parts[Any]:
    """Words as numbers in the order of their declaration, names of rows too, as released.

    A column {YES, NO} has 0 for YES: but for a few zeros, the input is constant.
    """
    import numpy as np

    from lossnet.data.arff import read_table
    from lossnet.tasks.multilabel import load, load_splits

    table = read_table(folder / f"{name}.arff")
    features = len(table.attributes) - load(folder).n_labels
    coded = []
    for j in range(features):
        place = {value: k for k, value in enumerate(table.attributes[j].values)}
        coded.append([place[text] for text in table.column(j)])
    X = np.array(coded, dtype=np.float32).T
    rows = json.loads((folder / "split.json").read_text())
    parts = load_splits(folder).items()
    names = [one.name for one in table.attributes[:features]]
    return Parts(
        **{name: replace(part, X=X[rows[name]], feature_names=names) for name, part in parts}
    )


def _hierarchy(folder: Path) -> Parts[Any]:
    """With the hierarchy's root, on in every row, as a label: the released data has it."""
    from lossnet.tasks.multilabel import load_splits

    return Parts(**{name: part.with_root() for name, part in load_splits(folder).items()})


def _official(name: str, folder: Path) -> Parts[Any]:
    """The published training and test files, 15 % of the former held out for validation."""
    from lossnet.tasks.multilabel import load_files

    train, test = load_files([folder / f"{name}-{part}.arff" for part in ("train", "test")])
    return Parts(train, None, test).with_validation(0.15)


def _images(file: Path) -> Parts[Any]:
    from lossnet.tasks.image import load_image_splits

    return load_image_splits(file)


def _sentences(scheme: str | None, folder: Path, *, columns: bool = True) -> Parts[Any]:
    from lossnet.tasks.sequence import ConllFormat, load_sequence_splits

    return load_sequence_splits(
        folder, scheme=scheme, conll=None if columns else ConllFormat(columns=())
    )


def _roles(folder: Path) -> Parts[Any]:
    from lossnet.tasks.roles import load_role_splits

    return load_role_splits(folder)


def _texts(folder: Path) -> Parts[Any]:
    from lossnet.tasks.text import load_text_splits

    return load_text_splits(folder)


def _small_aapd(folder: Path) -> Parts[Any]:
    """The 1,000 validation abstracts, a fifth of them held out, and the 1,000 test abstracts."""
    from lossnet.tasks.text import load_texts

    learn, test = (load_texts(folder / f"{part}.json") for part in ("val", "test"))
    return Parts(learn, None, test.in_columns(learn.label_names)).with_validation(0.2)


#: What the rows compare is training, not decisions: a threshold for labels, else argmax.
_CUT: dict[str, Any] = {"decode": "threshold"}
_ARGMAX: dict[str, Any] = {"decode": "argmax"}
_WORDS: dict[str, Any] = {**_ARGMAX, "chars": False}


def _mulan(name: str) -> DataSet:
    files = [f"{name}.arff", f"{name}.xml", "split.json"]
    return DataSet("multilabel", f"mlc/{name}", files, _labels, _CUT)


def _as_declared(name: str) -> DataSet:
    own = {**_CUT, "standardise": False}
    return replace(_mulan(name), read=partial(_declared, name), settings=own)


def _published(name: str) -> DataSet:
    files = [f"{name}-train.arff", f"{name}-test.arff", f"{name}.xml"]
    return DataSet("multilabel", f"mlc/{name}", files, partial(_official, name), _CUT)


def _clus(name: str, train: str) -> DataSet:
    files = [f"{name[:-3]}FUN.{part}.arff" for part in (train, "valid", "test")]
    return DataSet("multilabel", f"mlc/{name}", files, _hierarchy, {**_CUT, "constraints": []})


#: Every data set of the papers' tables by name.
DATA_SETS: dict[str, DataSet] = {
    **{name: _mulan(name) for name in ("bibtex", "delicious", "genbase", "cal500", "eurlexev")},
    "genbase-as-declared": _as_declared("genbase"),
    "spo_fun": _clus("spo_fun", "train"),
    "expr_fun": _clus("expr_fun", "train.reconstructed"),
    "bibtex-official": _published("bibtex"),
    "bookmarks-official": _published("bookmarks"),
    "aapd": DataSet("text", "text/aapd", ["train.json", "val.json", "test.json"], _texts, _CUT),
    "aapd_small": DataSet("text", "text/aapd_small", ["val.json", "test.json"], _small_aapd, _CUT),
    "rcv1": DataSet("text", "text/rcv1", ["train.json", "val.json", "test.json"], _texts, _CUT),
    "conll2012": DataSet(
        "roles",
        "sequence/conll2012",
        ["train.gold_conll", "dev.gold_conll", "test.gold_conll"],
        _roles,
        _WORDS,
        GLOVE,
    ),
    "srl_ewt": DataSet(
        "roles",
        "sequence/srl_ewt",
        ["train.gold_conll.gz", "dev.gold_conll", "test.gold_conll"],
        _roles,
        _WORDS,
        GLOVE,
    ),
    "twitter_pos": DataSet(
        "sequence",
        "sequence/twitter_pos",
        ["oct27.train", "oct27.dev", "oct27.test"],
        partial(_sentences, None),
        {**_ARGMAX, "metric": "accuracy"},
        GLOVE,
    ),
    **{
        name: DataSet(
            "sequence",
            "sequence/conll2003",
            ["eng.train", "eng.testa", "eng.testb"],
            partial(_sentences, "BIOES", columns=name == "conll2003"),
            {**_ARGMAX, "metric": "span-f1"},
            GLOVE,
        )
        for name in ("conll2003", "conll2003-words")
    },
    "wnut17": DataSet(
        "sequence",
        "sequence/wnut17",
        ["train.conll", "dev.conll", "test.conll"],
        partial(_sentences, "BIOES"),
        {**_ARGMAX, "metric": "span-f1"},
        GLOVE,
    ),
    **{
        name: DataSet(
            "sequence",
            f"sequence/{name}",
            ["train.trees", "dev.trees", "test.trees"],
            partial(_sentences, None),
            {**_ARGMAX, "metric": "bracket-f1"},
            GLOVE,
        )
        for name in ("trees_ewt", "switchboard")
    },
    "cora_citations": DataSet(
        "sequence",
        "sequence/cora_citations",
        ["ref.train", "ref.test", "anystyle_core.xml", "anystyle_gold.xml"],
        partial(_sentences, None),
    ),
    "horses": DataSet(
        "image",
        "image/weizmann_horses/weizmann_horse_32x32.npz",
        [],
        _images,
        {**_ARGMAX, "classes": ["background", "horse"]},
    ),
    "faces": DataSet(
        "image",
        "image/lfw_parts/lfw_parts_32.npz",
        [],
        _images,
        {**_ARGMAX, "classes": ["background", "face", "hair"]},
    ),
}  # fmt: skip

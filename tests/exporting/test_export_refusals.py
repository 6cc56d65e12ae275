"""What cannot be exported, or predicted on, and what the errors say."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alone import script
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier

from lossnet import MultiLabelClassifier, SequenceTagger, StructuredClassifier, TextClassifier
from lossnet.constraints import AtMostOne, Implies
from lossnet.errors import DataError, SettingError
from lossnet.files import write_folder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, :3] > 0).astype(int)
SMALL: dict[str, Any] = {"hidden": (4,), "max_epochs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def model() -> MultiLabelClassifier:
    return MultiLabelClassifier("cross-entropy", **SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory) -> Path:
    """An exported model; tests that damage it copy it."""
    return model.export(tmp_path_factory.mktemp("exported") / "model")


def refused(model: Any, path: Path, words: str, **how: Any) -> None:
    """Export is refused in these words, and leaves nothing behind."""
    before = sorted(path.parent.iterdir())
    with pytest.raises(SettingError, match=words):
        model.export(path, **how)
    assert sorted(path.parent.iterdir()) == before


# Models ---------------------------------------------------------------------------------------


def test_a_descent(tmp_path: Path) -> None:
    own = MultiLabelClassifier("alen", **SMALL).fit(X, Y)
    refused(own, tmp_path / "m", r"'alen' predicts with its loss-net.*refine=NetOutput\(\)")
    own = MultiLabelClassifier("dvn", **SMALL).fit(X, Y)
    refused(own, tmp_path / "m", "'dvn' predicts with its loss-net.*such as seal-nce")


def test_refinement_and_the_joint(tmp_path: Path) -> None:
    own = MultiLabelClassifier("seal-nce", **SMALL).fit(X, Y).set_params(refine="net")
    refused(own, tmp_path / "m", "refine='net'.*set refine=None")
    own.set_params(refine=None, decode="samples")
    refused(own, tmp_path / "m", "decides by 'samples'.*decode='threshold' or decode='expected'")
    own.set_params(decode="threshold", precision="bfloat16")
    refused(own, tmp_path / "m", "float32")


def test_constraints(tmp_path: Path) -> None:
    own = MultiLabelClassifier("cross-entropy", constraints=[AtMostOne(0, 1)], **SMALL)
    with pytest.warns(UserWarning, match="break the constraints"):
        own.fit(X, Y)
    refused(own, tmp_path / "m", r"no hierarchy.*constraints=\[\]")
    own = MultiLabelClassifier("cross-entropy", constraints=[Implies(0, 1)], **SMALL)
    with pytest.warns(UserWarning, match="break the constraints"):
        own.fit(X, Y)
    refused(own.set_params(decode="expected"), tmp_path / "m", "set decode='threshold'")


def test_other_libraries(tmp_path: Path) -> None:
    own = StructuredClassifier(ExtraTreesClassifier(3), max_epochs=1, random_state=0).fit(X, Y)
    refused(own, tmp_path / "m", "of other libraries.*lossnet's own estimators")


def test_encoders(tmp_path: Path) -> None:
    texts, labels = ["the dog barks", "a cat sleeps"] * 8, [["dog"], ["cat"]] * 8
    own = TextClassifier("cross-entropy", **SMALL).fit(texts, labels)
    own.coder_ = "what a fit with encoder= has here"
    refused(own, tmp_path / "m", "cannot be written in numpy; train with encoder=None")
    tagger = SequenceTagger("cross-entropy", hidden=4, max_epochs=1, random_state=0)
    tagger.fit([text.split() for text in texts], [["D", "N", "V"]] * 16)
    tagger.encoder_ = "what a fit with encoder= has here"
    refused(tagger, tmp_path / "m", "cannot be written in numpy; train with encoder=None")


# Places ---------------------------------------------------------------------------------------


def test_formats_and_packages(model, tmp_path: Path, monkeypatch) -> None:
    refused(model, tmp_path / "m", "unknown format 'onx': did you mean 'onnx'", format="onx")
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    refused(model, tmp_path / "m", r"pip install 'lossnet\[export\]'")


def test_folders_in_use(model, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(model, tmp_path / "file", "is a file")
    refused(model, folder, "already holds an exported model.*overwrite")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    refused(model, tmp_path / "mine", "holds other files", overwrite=True)
    with pytest.raises(SettingError, match=r"cannot write to .*file; choose"):
        model.export(tmp_path / "file" / "m")


def test_overwriting_is_all_or_nothing(tmp_path: Path) -> None:
    place = tmp_path / "place"
    write_folder(place, lambda path: (path / "old").write_text("old"))

    def fails(path: Path) -> None:
        (path / "new").write_text("new")
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="free some space"):
        write_folder(place, fails, overwrite=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["place", "old"]
    write_folder(place, lambda path: (path / "new").write_text("new"), overwrite=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["place", "new"]


# Inputs of the script ---------------------------------------------------------------------------


def fails(folder: Path, path: Path, words: str) -> None:
    done = script(folder, str(path))
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_wrong_inputs(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrong.npy"
    for array, words in (
        (X[:, :3], "inputs have 3 features and the model takes 4"),
        (X[0], "inputs have shape (4,)"),
        (X.astype(str), "inputs have dtype <U"),
        (np.where(X[7, 1] == X, np.inf, X), "row 7 (from 0) holds infinity"),
    ):
        np.save(path, array)
        fails(folder, path, words)
    (tmp_path / "wrong.csv").write_text("a,b,c\n1,2,3\n")
    fails(folder, tmp_path / "wrong.csv", "inputs have 3 features and the model takes 4")
    (tmp_path / "text.npy").write_text("no array")
    fails(folder, tmp_path / "text.npy", "holds no arrays of numbers")
    sparse.save_npz(tmp_path / "csc.npz", sparse.csc_matrix(X))
    fails(folder, tmp_path / "csc.npz", "save it as CSR")
    fails(folder, tmp_path / "rows.parquet", "are read from .npy, .npz")
    fails(folder, tmp_path / "none.npy", "none.npy")


def test_sparse_rows(model, folder: Path, tmp_path: Path) -> None:
    rows = np.where(X > 1, X, 0.0)
    sparse.save_npz(tmp_path / "rows.npz", sparse.csr_matrix(rows))
    done = script(folder, str(tmp_path / "rows.npz"))
    names = [[model.label_names_[k] for k in np.flatnonzero(on)] for on in model.predict(rows)]
    assert [json.loads(line)["labels"] for line in done.stdout.splitlines()] == names


def test_a_truncated_folder(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", X)
    for name, words in (("model.onnx", "is damaged"), ("facts.json", "no exported model")):
        damaged = tmp_path / name.replace(".", "-")
        shutil.copytree(folder, damaged)
        content = (damaged / name).read_bytes()
        (damaged / name).write_bytes(content[: len(content) // 2])
        fails(damaged, tmp_path / "rows.npy", words)
    (damaged / "facts.json").write_bytes((folder / "facts.json").read_bytes())
    (damaged / "arrays.npz").unlink()
    fails(damaged, tmp_path / "rows.npy", "arrays.npz is missing")


def test_the_rest_of_a_folder(folder: Path) -> None:
    facts = json.loads((folder / "facts.json").read_text())
    assert facts["estimator"] == "MultiLabelClassifier"
    assert facts["inputs"] == [{"name": "features", "dtype": "float32", "shape": [None, 4]}]
    assert (folder / "requirements.txt").read_text() == "numpy\nonnxruntime\n"
    assert "predict.py INPUT" in (folder / "README.md").read_text()

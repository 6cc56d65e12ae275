"""Files made to exhaust time or memory, and values that must not be converted silently."""

from __future__ import annotations

import gzip
import io
import time
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from lossnet import MultiLabelClassifier
from lossnet.data import limits
from lossnet.data.vectors import read_vectors
from lossnet.errors import DataError
from lossnet.tasks.image import load_images
from lossnet.tasks.image.folders import holds_images
from lossnet.tasks.multilabel import MultiLabelData, load, load_splits
from lossnet.tasks.multilabel.loading import read_parts
from lossnet.tasks.sequence import load_sequences

HEAD = "@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute a numeric\n@data\n"
NINES = "9" * 5000
BLANKS = " " * 200_000
BOMB = '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.arff", HEAD + f"0,'1{BLANKS}\n"),
        ("a.arff", HEAD + f"0,{BLANKS}x'\n"),
        ("a.arff", HEAD + f"0,1{BLANKS}x%\n"),
        ("a.arff", HEAD + "{" + "0 '1'x, " * 50_000 + "}\n"),
        ("a.arff", HEAD + "{" + f"0 '1',{BLANKS}x" + "}\n"),
        ("a.arff", f"@relation {BLANKS}% {BLANKS}x\n" + HEAD),
        ("a.arff", f"@relation r\n@attribute c hierarchical {'a/' * 50_000}a\n@data\n1\n"),
        ("a.csv", ",".join(f"c{k}" for k in range(50_000)) + ",c1\n"),
    ],
)
def test_no_line_takes_more_than_linear_time(write, name, text) -> None:
    start = time.process_time()
    with pytest.raises(DataError):
        load(write(name, text))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.arff", HEAD + f"0,{NINES}\n", "line 5: 'a' is '9+"),
        ("a.arff", HEAD + f"{{1 {NINES}}}\n", "line 5: 'a' is '9+"),
        ("a.arff", HEAD + f"{{{NINES} 1}}\n", "line 5: '9+.*not an attribute's number"),
        ("a.arff", HEAD.replace("-C 1", f"-C {NINES}") + "0,1\n", "-C in the relation.*9+"),
        ("a.csv", f"a,label:y\n1,0\n2,1\n{NINES},1\n", "line 4: column 'a' is '9+"),
        (
            "a.csv",
            f"a,label:y\n1,0\n2,{NINES}\n",
            "'label:y' has the values .*9+.*must be 0/1",
        ),
        (
            "a.svm",
            f"1 1:{NINES}\n",
            "line 1: '1:9+.* is not feature:value, an integer and a finite number",
        ),
        ("a.svm", f"1 {NINES}:1\n", "line 1: '9+.* is not feature:value"),
        ("a.svm", f"{NINES} 1:1\n", "line 1: '9+.* is not a list of label numbers"),
        ("a.txt", f"{NINES} 3 2\n1 1:1\n", "line 1: b?'9+.*integer of at most"),
        ("a.txt", "2 3 4000000\n1 1:1\n" + "1 1:1\n" * 1000, "announces 2 rows"),
        ("a.txt", "1000 3 4000000\n" + "1 1:1\n" * 1000, "1000 rows x 4000000 labels are too many"),
    ],
)
def test_huge_numbers_and_sizes(write, name, text, message) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load(write(name, text))
    assert len(str(caught.value)) < 500


def test_absurd_features_at_prediction(write) -> None:
    with pytest.raises(DataError, match="1000000000 features, more than"):
        read_parts(
            write("a.svm", "1 1:0.5 1000000000:2\n"),
            known={"labels": ["1"], "features": 2},
            labelled=False,
        )


def test_words_of_too_many_kinds_are_not_made_columns(write) -> None:
    rows = "".join(f"w{k % 20_000},0\n" for k in range(40_000))
    with pytest.raises(DataError, match="40000 rows x 20000 columns are too many"):
        load(write("a.csv", "a,label:y\n" + rows))


def test_gzip_bombs_and_the_variable(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(limits, "SMALL", {"text": 2**20, "arrays": 2**20})
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,label:y\n" + b"1,0\n" * 2_000_000, 9))
    with pytest.raises(DataError, match=r"expands to more than .* bytes.*LOSSNET_MAX_EXPANDED"):
        load(path)
    path.write_bytes(gzip.compress(b"a,label:y\n" + b"1,0\n" * 100))
    assert load(path).n_rows == 100
    monkeypatch.setenv("LOSSNET_MAX_EXPANDED", "300")
    with pytest.raises(DataError, match="more than 300 bytes"):
        load(path)
    monkeypatch.setenv("LOSSNET_MAX_EXPANDED", "much")
    with pytest.raises(DataError, match="must be a number of bytes, got 'much'"):
        load(path)


def archive(path, members, kind=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", kind) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def npy(array, shape=None) -> bytes:
    """An array's file, with another shape declared than it has."""
    stream = io.BytesIO()
    np.save(stream, array)
    content = stream.getvalue()
    if shape is not None:
        old = f"'shape': {array.shape}, }}".encode()
        new = f"'shape': {shape}, }}".encode()
        assert old in content
        content = content.replace(old + b" " * (len(new) - len(old)), new)
    return content


ONES = npy(np.ones((2, 1)))


@pytest.mark.parametrize("read", [load, load_images, read_vectors])
@pytest.mark.parametrize(
    "content",
    [
        npy(np.ones((2, 1)), (10**9, 10**3)),
        npy(np.ones((2, 1)), (-2, -1)),
        npy(np.zeros((2, 0)), (10**13, 10**4)),
        npy(np.zeros((2, 0)), (10**12, 0)),
        npy(np.array([[1], [None]], dtype=object)),
        b"\x93NUMPY\x01\x00v\x00" + b"(" * 118,
        b"",
    ],
)
def test_arrays_that_are_none(tmp_path, content, read) -> None:
    members = dict.fromkeys(("X.npy", "Y.npy", "images.npy", "words.npy", "vectors.npy"), content)
    path = archive(tmp_path / "a.npz", members)
    with pytest.raises(DataError, match=r"a.npz is not a complete .npz file"):
        read(path)


@pytest.mark.parametrize("read", [load, load_images, read_vectors, holds_images])
def test_damaged_directories_encryption_and_bombs(tmp_path, monkeypatch, read) -> None:
    path = archive(tmp_path / "a.npz", {"X.npy": ONES, "Y.npy": ONES}, zipfile.ZIP_STORED)
    good = path.read_bytes()
    at = good.index(b"PK\x01\x02")
    damaged = {
        "encrypted": good[: at + 8] + b"\x01" + good[at + 9 :],
        "unknown method": good[: at + 10] + b"\x63" + good[at + 11 :],
        "directory": good[: at + 20] + b"\xff" * 12 + good[at + 32 :],
        "offset": good[: at + 42] + b"\xff\xff\xff\x7f" + good[at + 46 :],
        "end": good[:-6] + b"\xff\xff\xff\x7f\0\0",
    }
    for content in damaged.values():
        path.write_bytes(content)
        if read is holds_images:
            assert not read(path)
        else:
            with pytest.raises(DataError, match=r"a.npz (is not a complete|has|expands)"):
                read(path)
    if read is not holds_images:
        monkeypatch.setattr(limits, "SMALL", {"text": 2**20, "arrays": 2**20})
        archive(path, {"X.npy": bytes(8_000_000), "Y.npy": ONES})
        with pytest.raises(DataError, match=r"expands to more than 1,048,576 bytes"):
            read(path)


def test_absurd_columns_of_an_archive(tmp_path) -> None:
    shape = {"X_data": [1.0], "X_indices": [0], "X_indptr": [0, 1], "X_shape": (1, 10**12)}
    np.savez(tmp_path / "a.npz", Y=np.ones((1, 1)), **shape)
    with pytest.raises(DataError, match="1000000000000 features, more than"):
        load(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", X=np.ones((0, 1)), Y=np.ones((0, 10**12)))
    with pytest.raises(DataError, match=r"Y.npy' is shorter than its shape \(0, 1000000000000\)"):
        load(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1000000000 1000000000\na 1 2\n", "line 1: 1000000000 words of width 1000000000 cannot"),
        (b"1000000000 0\na 1 2\n", "1000000000"),
        (f"{NINES} 2\na 1 2\n".encode(), "line 1: .*integer of at most 18 digits"),
        (f"a {NINES} 2\n".encode(), "holds NaN or infinity"),
    ],
)
def test_absurd_vectors(tmp_path, content, message) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_vectors(path)


def test_xml_without_entities_and_without_end(write, tmp_path) -> None:
    for name, root in (("cora.xml", "data"), ("a.xml", "labels")):
        write("a.arff", HEAD.replace(" -C 1", "") + "0,1\n")
        read = load_sequences if root == "data" else lambda path: load(path.with_suffix(".arff"))
        with pytest.raises(DataError, match="declares a document type"):
            read(write(name, f"<?xml version='1.0'?>{BOMB}<{root}>&b;</{root}>"))
        deep = "<label name='x'>" * 20_000
        with pytest.raises(DataError, match="nested more than 100 levels"):
            read(write(name, f"<?xml version='1.0'?><{root}>{deep}</{root}>"))
        encoded = f"<?xml version='1.0' encoding='utf-16'?>{BOMB}<{root}/>".encode("utf-16")
        (tmp_path / name).write_bytes(encoded)
        with pytest.raises(DataError, match=r"document type|not UTF-8"):
            read(tmp_path / name)


@pytest.mark.parametrize("split", ["[" * 100_000, '{"train": [' + NINES + "]}"])
def test_deep_or_huge_json(write, tmp_path, split) -> None:
    write("toy/toy.arff", HEAD + "0,1\n1,2\n")
    write("toy/split.json", split)
    with pytest.raises(DataError, match="not valid JSON"):
        load_splits(tmp_path / "toy")


DAYS = np.array([["2020-01-01"], ["2020-01-02"]], dtype="M8[D]")
ODD = {
    "complex": (np.array([[1 + 2j], [3]]), "Complex data not supported"),
    "dates": (DAYS, "dates or durations"),
    "durations": (DAYS - DAYS[0], "dates or durations"),
    "objects": (DAYS.astype(object), "not a matrix|must be a|float"),
    "scalars": (np.array([[DAYS[0, 0]], [DAYS[1, 0]]], dtype=object), "dates|float|must be a"),
    "frame": (pd.DataFrame({"a": [1.0, 2], "b": DAYS[:, 0]}), "dates or durations"),
    "complex frame": (pd.DataFrame({"a": [1.0, 2], "b": [1j, 2]}), "Complex data"),
    "sparse": (csr_matrix(np.array([[1 + 2j], [3]])), "Complex data"),
}


@pytest.mark.parametrize("kind", ODD)
def test_complex_numbers_and_dates_are_refused(tmp_path, kind) -> None:
    X, message = ODD[kind]
    Y = np.array([[0, 1], [1, 0]])
    with pytest.raises((DataError, TypeError), match=message):
        MultiLabelClassifier(max_epochs=1).fit(X, Y)
    if not isinstance(X, pd.DataFrame):
        with pytest.raises(DataError, match=message):
            MultiLabelData(X, Y)
    if isinstance(X, np.ndarray) and X.dtype != object:
        np.savez(tmp_path / "a.npz", X=X, Y=Y)
        with pytest.raises(DataError, match=rf"a.npz: .*{message}"):
            load(tmp_path / "a.npz")


def test_complex_numbers_are_refused_at_prediction() -> None:
    model = MultiLabelClassifier("cross-entropy", max_epochs=1).fit(np.eye(4), np.eye(4)[:, :2])
    for X in (np.eye(4) * 1j, np.zeros((2, 4), dtype="M8[D]")):
        with pytest.raises(DataError, match=r"not supported|dates"):
            model.predict(X)

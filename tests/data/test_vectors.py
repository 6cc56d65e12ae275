"""Word vectors in memory, and the files they are read from."""

import gzip

import numpy as np
import pytest

from lossnet.data import WordVectors, read_vectors
from lossnet.errors import DataError

ROWS = np.array([[1, 2], [3, 4]], dtype=np.float32)
BINARY = b"2 2\n" + b"".join(
    word + b" " + row.tobytes() + b"\n" for word, row in zip([b"a", b"b"], ROWS, strict=True)
)


def test_lists_do_for_arrays_and_the_repr_is_short() -> None:
    vectors = WordVectors(("a", "b"), ROWS.tolist())
    assert vectors.words == ["a", "b"]
    assert vectors.vectors.dtype == np.float32
    assert repr(vectors) == "WordVectors(2 words, width 2)"


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a", "b"], [[1, 2], [np.nan, 1]], "the vector of 'b' holds NaN"),
        (["a"], ROWS, r"1 words and vectors of shape \(2, 2\); give one row per word"),
        (["a"], [1.0], "give one row per word"),
        ([], np.empty((0, 2)), "0 words"),
        (["a", "b"], [[1, 2], [3]], "cannot be made an array of numbers"),
        (["a", 3], ROWS, "word 1 .* is 3; expected a string"),
        ("ab", ROWS, "words is a str; give a list"),
    ],
)
def test_bad_vectors(words, vectors, message) -> None:
    with pytest.raises(DataError, match=message):
        WordVectors(words, vectors)


def test_words_may_hold_spaces_and_odd_line_breaks(tmp_path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("a\x85b 1 2\n. . . 3 4\nat name@domain.com 5 6\n", encoding="utf-8")
    assert read_vectors(path).words == ["a\x85b", ". . .", "at name@domain.com"]
    assert read_vectors(path).vectors.tolist() == [[1, 2], [3, 4], [5, 6]]
    path.write_text("1 2\n. . 3 4\n")
    assert read_vectors(path).words == [". ."]


@pytest.mark.parametrize("content", [b"a 1 2\nb 3 4\n", b"2 2\na 1 2\nb 3 4\n", BINARY])
def test_packed_files_are_those_they_hold(content, tmp_path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(content))
    (tmp_path / "a").write_bytes(content)
    for name in ("a", "a.gz"):
        found = read_vectors(tmp_path / name)
        assert found.words == ["a", "b"]
        assert (found.vectors == ROWS).all()


def test_bytes_in_an_npz_are_utf8(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", words=np.array(["the", "né"]).astype("U"), vectors=ROWS)
    np.savez(tmp_path / "b.npz", words=np.array([b"the", "né".encode()]), vectors=ROWS)
    np.savez(tmp_path / "c.npz", words=np.array([b"the", b"n\xe9"]), vectors=ROWS)
    assert read_vectors(tmp_path / "a.npz").words == read_vectors(tmp_path / "b.npz").words
    with pytest.raises(DataError, match="not UTF-8"):
        read_vectors(tmp_path / "c.npz")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"a 1 2\nb 1 2 3\n", "line 2: 3 numbers after 'b'; expected 2"),
        ("a.txt", b"1 2\na 1 2\nb 1 2\n", "holds 2 words, its header says 1; correct the header"),
        ("a.txt", b"3 2\na 1 2\nb 1 2\n", "holds 2 words, its header says 3; it may be truncated"),
        ("a.txt", b"0 2\n", "holds no words"),
        ("a.bin", BINARY[:-4], "truncated"),
        ("a.txt.gz", gzip.compress(b"a 1 2\n" * 50, mtime=0)[:-9], "not a complete gzip file"),
    ],
)
def test_bad_files(name, content, message, tmp_path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_vectors(tmp_path / name)


def test_a_truncated_npz_is_named_such(tmp_path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, words=np.array(["a", "b"]), vectors=ROWS)
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(DataError, match="not a complete npz file; it may be truncated"):
        read_vectors(path)

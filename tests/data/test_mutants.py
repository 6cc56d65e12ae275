"""Mutants of every kind of data file: read, or one clear error, within bounds."""

from __future__ import annotations

import gzip
import io
import resource
import signal
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.sparse import csr_matrix

from lossnet.data.vectors import read_vectors
from lossnet.errors import LossnetError
from lossnet.tasks.image import load_images
from lossnet.tasks.image.folders import holds_images
from lossnet.tasks.multilabel import load, load_splits
from lossnet.tasks.multilabel.columns import read_matching
from lossnet.tasks.roles import load_roles
from lossnet.tasks.sequence import load_sequences
from lossnet.tasks.text import load_text_splits, load_texts
from lossnet.tasks.text.reading import read_parts
from lossnet.tasks.text.records import TextFormat

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mutants import mutants

COUNT = 110
SECONDS = 10
BYTES = 2 * 2**30

HEAD = b"@relation 'r: -C 2'\n@attribute y1 {0,1}\n@attribute y2 {no, yes} % a label\n"
DENSE = HEAD + (
    b"@attribute 'a b' numeric\n@attribute c {red, 'dark \\'blue'}\n@attribute d {0,1,2}\n@data\n"
    b"0,yes,1.5,red,2\n1,no,?,'dark \\'blue',0 % why\n% none\n1,yes,-3e2,red,1\n0,no,7,red,1\n"
)
SPARSE = HEAD + (
    b"@attribute a numeric\n@attribute b numeric\n@attribute c {u,v}\n@data\n"
    b"{0 1, 2 3.5}\n{1 yes,3 -2,4 'v'}\n{}\n{3 1}\n"
)
CLUS = (
    b"@relation r\n@attribute a numeric\n@attribute class hierarchical a,a/b,c/d,c\n@data\n"
    b"1,a/b@c\n2,c/d\n3,a\n"
)
MULAN = (
    b'<labels xmlns="http://mulan">\n<label name="y1"><label name="y2"></label></label></labels>'
)
CSV = b"a,colour,label:y,label:z\n1.5,red,0,yes\n2,blue,1,no\nNA,red,1,yes\n-4e1,'x',0,no\n"
XC = b"3 5 4\n0,2 1:0.5 4:2\n 3:1\n3 0:1e-3 2:7 # c\n"
SVM = b"1,3 1:0.5 4:2\n2 qid:3 3:1\n5:1\n"
CONLL = b"-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\nPeter NNP B-PER\nB. NNP I-PER\n"
BLANKS = b"\t_" * 6 + b"\n"
CONLLU = b"# newdoc\n# text = du pain\n" + b"".join(
    row + BLANKS
    for row in (b"1-2\tdu\t_\t_", b"1\tde\tde\tADP", b"2\tle\tle\tDET", b"2.1\tx\t_\tX")
)
CORA = (
    b"<?xml version='1.0'?>\n<data>\n<ref><author> A. Cau &amp; W. Roe. </author> <title> On "
    b'"hash". </title>\n<pages> 3-26 </pages> .\n</ref>\n<ref><date>(1991a),</date></ref></data>\n'
)
ROLES = b"".join(
    b"d\t0\t%d\t%s\tNN\t*\t%s\n" % (k, word, rest)
    for k, (word, rest) in enumerate(
        [
            (b"Ann", b"-\t-\t(ARG0*)\t(ARG0*"),
            (b"gave", b"give\tgive.01\t(V*)\t*)"),
            (b"up", b"up\tup.02\t(C-V*)\t(V*)"),
        ]
    )
)
ROLE_LINES = b"1 Ann gave up ||| B-ARG0 B-V I-V\n2 Ann gave up ||| B-ARG0 I-ARG0 B-V\n"
GLOVE = b"the 0.1 -0.2 3e-1\nof 1 2 3\na b 0.5 0.25 1\n"
WORD2VEC = b"3 2\nthe 0.5 1\nof 1 2\nin -1 2\n"
BINARY = b"2 3\nthe " + np.array([1, 2, 3], "<f4").tobytes() + b"\nof " + bytes(12)
JSONL = b'{"text": "Oil \\u00e9", "labels": ["a", "b"], "id": 1}\n{"text": "Gas", "labels": []}\n'
JSON = b'[{"text": "Oil", "label": "a"}, {"text": "Gas", "label": ["b", "a"]}]'
TEXT_CSV = b'id,text,labels\n1,"Oil, ""and"" gas","a,b"\n2,Gas,"[\'a\']"\n3,"x\ny",\n'
TEXT_TSV = b'"Oil\t0,2\tx\nGas" \t1\ty\nno\t\tz\n'
SPLIT = b'{"train": [0, 1], "validation": [2], "test": [3]}'

X, Y = np.array([[0, 1.5], [2, 0], [1, 1]]), np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])
CSR = csr_matrix(X)
NAMES = ["a", "b", "c"]


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array))
    return stream.getvalue()


def picture(**options: Any) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8) % 3).save(stream, **options)
    return stream.getvalue()


def inside(archive: bytes, member: str) -> Callable[[bytes], bytes]:
    """Puts a mutant in the place of a member, with its checksum right."""

    def pack(mutant: bytes) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(stream, "w") as new:
            for name in old.namelist():
                new.writestr(name, mutant if name == member else old.read(name))
        return stream.getvalue()

    return pack


@dataclass
class Case:
    """A file, what reads it, and the files beside it."""

    file: str
    content: bytes
    read: Callable[[Path], Any]
    beside: dict[str, bytes] = field(default_factory=dict)
    pack: Callable[[bytes], bytes] = bytes
    source: str | None = None  # what is read, where it is not the file


def features(path: Path) -> Any:
    known = {"labels": ["y1", "label:y"], "features": ["a", "colour=red"]}
    return read_matching(path, known, labelled=False)


def images(path: Path) -> Any:
    holds_images(path)
    return load_images(path)


def parts(path: Path) -> Any:
    return load_splits(path).train


def texts(path: Path) -> Any:
    return load_text_splits(path).train


def lines(path: Path) -> Any:
    return read_parts(path, TextFormat(), labelled=False)[""]


SPARSE_NPZ = npz(
    Y=Y, X_data=CSR.data, X_indices=CSR.indices, X_indptr=CSR.indptr, X_shape=CSR.shape
)
DENSE_NPZ = npz(X=X, Y=Y, label_names=NAMES)
IMAGES_NPZ = npz(images=np.zeros((3, 4, 4, 3), np.uint8), masks=np.zeros((3, 4, 4), np.uint8))
VECTORS_NPZ = npz(words=NAMES, vectors=np.eye(3))
PNG = picture(format="PNG")
CASES = {
    "arff": Case("a.arff", DENSE, load),
    "arff-sparse": Case("a.arff", SPARSE, load),
    "arff-clus": Case("a.arff", CLUS, load),
    "arff-inputs": Case("a.arff", DENSE, features),
    "arff-gz": Case("a.arff.gz", gzip.compress(SPARSE, mtime=0), load),
    "mulan": Case("a.xml", MULAN, load, {"a.arff": DENSE.replace(b" -C 2", b"")}, source="a.arff"),
    "csv": Case("a.csv", CSV, load),
    "tsv": Case("a.tsv", CSV.replace(b",", b"\t"), load),
    "csv-inputs": Case("a.csv", CSV, features),
    "svmlight": Case("a.svm", SVM, load),
    "svmlight-header": Case("a.txt", XC, load),
    "svmlight-inputs": Case("a.svm", SVM, features),
    "npz": Case("a.npz", DENSE_NPZ, load),
    "npz-X": Case("a.npz", npy(X), load, pack=inside(DENSE_NPZ, "X.npy")),
    "npz-Y": Case("a.npz", npy(Y), load, pack=inside(DENSE_NPZ, "Y.npy")),
    "npz-names": Case("a.npz", npy(NAMES), load, pack=inside(DENSE_NPZ, "label_names.npy")),
    "npz-sparse": Case("a.npz", npy(CSR.indices), load, pack=inside(SPARSE_NPZ, "X_indices.npy")),
    "npz-shape": Case("a.npz", npy(CSR.shape), features, pack=inside(SPARSE_NPZ, "X_shape.npy")),
    "images": Case("a.npz", IMAGES_NPZ, images),
    "images-masks": Case(
        "a.npz", npy(np.zeros((3, 4, 4), np.uint8)), images, pack=inside(IMAGES_NPZ, "masks.npy")
    ),
    "vectors-npz": Case("v.npz", VECTORS_NPZ, read_vectors),
    "vectors-words": Case("v.npz", npy(NAMES), read_vectors, pack=inside(VECTORS_NPZ, "words.npy")),
    "glove": Case("v.txt", GLOVE, read_vectors),
    "word2vec": Case("v.txt", WORD2VEC, read_vectors),
    "word2vec-binary": Case("v.bin", BINARY, read_vectors),
    "word2vec-gz": Case("v.bin.gz", gzip.compress(BINARY, mtime=0), read_vectors),
    "conll": Case("a.conll", CONLL, load_sequences),
    "conll-scheme": Case("a.bio", CONLL, lambda path: load_sequences(path, scheme="BIOES")),
    "conllu": Case("a.conllu", CONLLU, load_sequences),
    "cora": Case("a.xml", CORA, load_sequences),
    "roles": Case("a.gold_conll", ROLES, load_roles),
    "roles-gz": Case("a.gold_conll.gz", gzip.compress(ROLES, mtime=0), load_roles),
    "role-lines": Case("a.txt", ROLE_LINES, load_roles),
    "png": Case("f/a.png", PNG, images, {"f/a_mask.png": PNG}, source="f"),
    **{
        kind: Case(f"a.{kind}", picture(format=name), images)
        for kind, name in {"bmp": "BMP", "gif": "GIF", "jpg": "JPEG", "tif": "TIFF"}.items()
    },
    "jsonl": Case("a.jsonl", JSONL, load_texts),
    "jsonl-gz": Case("a.jsonl.gz", gzip.compress(JSONL, mtime=0), load_texts),
    "json": Case("a.json", JSON, load_texts),
    "text-csv": Case("a.csv", TEXT_CSV, load_texts),
    "text-tsv": Case("f/train.tsv", TEXT_TSV, texts, {"f/labels.txt": b"a\nb\nc"}, source="f"),
    "text-names": Case(
        "f/labels.json", b'{"a": 0, "b": 1, "c": 2}', texts, {"f/train.tsv": TEXT_TSV}, source="f"
    ),
    "text-lines": Case("a.txt", JSONL, lines),
    "split": Case("f/split.json", SPLIT, parts, {"f/f.arff": DENSE}, source="f"),
}  # fmt: skip


@contextmanager
def bounded() -> Iterator[None]:
    """At most 2 GB more memory than now; 10 s of CPU for each :func:`attempt`."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + BYTES, limits[1]))
    before = signal.signal(signal.SIGPROF, _too_long)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def attempt(read: Callable[[Path], Any], path: Path) -> str:
    """What came of reading: "read", "refused", or what went wrong."""
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        data = read(path)
        getattr(data, "checksum", str)()
        result = "read"
    except LossnetError as error:
        result = "refused" if len(str(error)) < 2000 else f"a message of {len(str(error))}"
        if "\n" in str(error):
            result = f"a message of several lines: {error}"
    except BaseException as error:
        result = f"{type(error).__name__}: {error}"
    took = time.process_time() - start
    return result if took < SECONDS else f"{result} after {took:.0f} s"


@pytest.mark.skipif(sys.platform != "linux", reason="bounds memory by Linux's means")
@pytest.mark.parametrize("name", CASES)
def test_mutants_are_read_or_refused(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    for other, content in {**case.beside, case.file: case.pack(case.content)}.items():
        (tmp_path / other).parent.mkdir(exist_ok=True)
        (tmp_path / other).write_bytes(content)
    source = tmp_path / (case.source or case.file)
    assert attempt(case.read, source) == "read"
    failed, results = [], []
    with bounded():
        for mutant in mutants(case.content, COUNT, seed=len(name)):
            (tmp_path / case.file).write_bytes(case.pack(mutant))
            results.append(attempt(case.read, source))
            if results[-1] not in ("read", "refused"):
                failed.append((results[-1], mutant[:300]))
    assert not failed, f"{len(failed)} of {len(results)}: {failed[:5]}"
    assert "refused" in results

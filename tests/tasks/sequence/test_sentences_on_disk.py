"""CoNLL files that stay on disk: the sentences, and the tagger, of those in memory."""

from __future__ import annotations

import numpy as np
import pytest

from lossnet import Callback, SequenceTagger
from lossnet.cli import main
from lossnet.data import conll_index
from lossnet.data.disk_items import DiskItems
from lossnet.errors import DataError
from lossnet.tasks.sequence import (
    ConllFormat,
    load_sequence_splits,
    load_sequences,
    read_conll,
    write_conll,
)

WORDS = ["the", "a", "Dog", "cat", "saw", "met", "Jim", "Ann", "of", "in", "3", "Oslo", "été", "."]


def conll_text(sentences: int = 60, *, marks: bool = False, scheme: str = "IOB2") -> str:
    rng = np.random.default_rng(0)
    blocks = []
    for k in range(sentences):
        lines = ["# sent_id = 1"] if k % 7 == 3 else []
        lines += ["-DOCSTART-\tX\tO", ""] if marks and k % 5 == 0 else []
        before = "O"
        for word in rng.choice(WORDS, size=rng.integers(1, 9)):
            name = word[0].isupper()
            inside = before != "O" or scheme == "IOB1"
            tag = ("I-N" if inside else "B-N") if name else "O"
            lines.append(f"{word}\t{'U' if name else 'l'}\t{tag}")
            lines += ["# text = x"] if rng.random() < 0.05 else []
            before = tag
        blocks.append("\n".join([*lines, ""]))
    return "\n".join(blocks)


@pytest.fixture
def on_disk(monkeypatch):
    """A function that lets files stay on disk, or not."""
    return lambda stays: monkeypatch.setattr(conll_index, "ON_DISK", 1 if stays else 1 << 40)


def both(on_disk, read):
    """What is read in memory, and what is read on disk."""
    found = []
    for stays in (False, True):
        on_disk(stays)
        found.append(read())
    return found


def assert_same(ours, theirs) -> None:
    assert isinstance(ours.tokens, DiskItems)
    assert not isinstance(theirs.tokens, DiskItems)
    assert list(ours.tokens) == list(theirs.tokens)
    assert list(ours.tags) == list(theirs.tags)
    assert {k: list(v) for k, v in ours.columns.items()} == theirs.columns
    names = ("documents", "lengths", "n_tokens", "tag_names", "n_unknown", "notes", "layout")
    for name in names:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.checksum() == theirs.checksum()
    assert len(ours) == len(theirs)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "\n\n" + text.rstrip("\n"),
        lambda text: text.replace("\t", " "),
    ],
)
@pytest.mark.parametrize("marks", [False, True])
def test_sentences_are_those_in_memory(tmp_path, on_disk, change, marks) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes(change(conll_text(marks=marks)).encode())
    theirs, ours = both(on_disk, lambda: load_sequences(path))
    assert_same(ours, theirs)
    rows = [7, 3, 50, 3]
    assert_same(ours.subset(rows), theirs.subset(rows))
    assert_same(ours.subset(rows).subset([2, 0]), theirs.subset(rows).subset([2, 0]))
    assert ours.tokens[-1] == theirs.tokens[-1]
    assert list(ours.tokens[10:20:3]) == theirs.tokens[10:20:3]
    again = write_conll(ours, tmp_path / "b.conll")
    on_disk(False)
    assert read_conll(again, columns=["column1"]).checksum() == theirs.checksum()


def test_tags_are_converted_when_they_are_read(tmp_path, on_disk) -> None:
    path = tmp_path / "a.conll"
    path.write_text(conll_text(scheme="IOB1"))
    assert_same(*reversed(both(on_disk, lambda: read_conll(path, scheme="BIOES"))))
    path.write_text("a\tI-N\nb\tE-N\n\nc\tX-\n")
    for stays in (True, False):
        on_disk(stays)
        with pytest.raises(DataError, match=r"a.conll: "):
            read_conll(path, scheme="IOB2")


def test_conllu_rows_that_are_no_words_are_left_out(tmp_path, on_disk) -> None:
    path = tmp_path / "a.conllu"
    one = "# c\n1-2\tdu\t_\t_\n1\tde\t_\tADP\n2\tle\t_\tDET\n2.1\tx\t_\tX\n3\tjour\t_\tNOUN\n\n"
    path.write_text(one + "1\toui\t_\tINTJ\n\n" + one)
    layout = ConllFormat(1, 3, ())
    theirs, ours = both(on_disk, lambda: load_sequences(path, conll=layout))
    assert_same(ours, theirs)
    assert ours.lengths == [3, 1, 3]


def test_lines_that_end_in_carriage_returns_are_read_into_memory(tmp_path, on_disk) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes(conll_text().replace("\n", "\r").encode())
    on_disk(True)
    assert isinstance(load_sequences(path).tokens, list)


SETTINGS = {"hidden": 6, "word_width": 6, "max_epochs": 2, "random_state": 0, "batch_size": 16}


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce", "crf"])
@pytest.mark.parametrize("marks", [False, True])
def test_the_tagger_is_that_of_sentences_in_memory(tmp_path, on_disk, method, marks) -> None:
    path, other = tmp_path / "a.conll", tmp_path / "b.conll"
    path.write_text(conll_text(marks=marks))
    other.write_text(conll_text(30).replace("Dog", "Owl"))
    settings = {**SETTINGS, "metric": "span-f1"}

    def fitted():
        model = SequenceTagger(method, **settings).fit(path)
        found = model.predict_proba(load_sequences(other))
        return model.history_, model.score(other), model.predict(other), found

    theirs, ours = both(on_disk, fitted)
    for one, other in zip(ours[0], theirs[0], strict=True):
        assert one | {"seconds": 0} == other | {"seconds": 0}
    assert ours[1:3] == theirs[1:3]
    assert all(np.array_equal(*pair) for pair in zip(ours[3], theirs[3], strict=True))


def test_validation_and_unlabelled_sentences_stay_on_disk(tmp_path, on_disk) -> None:
    path, other = tmp_path / "a.conll", tmp_path / "b.conll"
    path.write_text(conll_text())
    other.write_text(conll_text(30))

    def fitted():
        model = SequenceTagger("seal-nce", **SETTINGS)
        return model.fit(path, validation_data=other, unlabelled=other).predict_proba(
            load_sequences(other)
        )

    theirs, ours = both(on_disk, fitted)
    assert all(np.array_equal(*pair) for pair in zip(ours, theirs, strict=True))


def test_commands_train_evaluate_and_tag(tmp_path, on_disk, capsys) -> None:
    for part, count in (("train", 60), ("dev", 20), ("test", 30)):
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / f"{part}.conll").write_text(conll_text(count, marks=True))
    data = tmp_path / "data"

    def commands():
        out, found = tmp_path / "model", tmp_path / "found.conll"
        train = ["train", str(data), "--out", str(out), "--method", "cross-entropy", "--quiet"]
        options = ["max_epochs=2", "hidden=4", "word_width=4", "metric=span-f1"]
        assert main([*train, "--overwrite", "--set", *options]) == 0
        capsys.readouterr()
        assert main(["evaluate", str(out), str(data)]) == 0
        assert main(["describe", str(data)]) == 0
        assert main(["predict", str(out), str(data / "test.conll"), "--out", str(found)]) == 0
        return capsys.readouterr().out, found.read_text()

    theirs, ours = both(on_disk, commands)
    assert ours == theirs


def test_splits_are_those_in_memory(tmp_path, on_disk) -> None:
    path = tmp_path / "a.conll"
    path.write_text(conll_text(marks=True))
    theirs, ours = both(on_disk, lambda: load_sequence_splits(path))
    for (_, one), (_, other) in zip(ours.items(), theirs.items(), strict=True):
        assert_same(one, other)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\tO\nb\tO\n\nc\n", r"line 4: 1 columns where line 1 has 2: 'c'; is the file cut short"),
        (b"a\tO\nb\t\tO\n", "line 2: 3 columns where line 1 has 2"),
        (b"a\tO\n\n\xff\tO\n", "line 3: byte 0xff is not UTF-8 text; save the file as UTF-8"),
        (b"a\tO\n\n\0\tO\n", "line 3: a zero byte is not text"),
        (b"\n\n# id 3\n", "holds no tokens"),
    ],
)
def test_bad_files_are_refused_as_in_memory(tmp_path, on_disk, content, text) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes(content)
    messages = []
    for stays in (False, True):
        on_disk(stays)
        with pytest.raises(DataError, match=text) as error:
            load_sequences(path)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_a_file_that_changes_is_noticed(tmp_path, on_disk) -> None:
    path = tmp_path / "a.conll"
    path.write_text(conll_text())
    on_disk(True)

    class Append(Callback):
        def on_epoch(self, trainer) -> None:
            with path.open("a") as file:
                file.write("\nx\tl\tO\n")

    with pytest.raises(DataError, match=r"a.conll changed while it was in use: it had"):
        SequenceTagger("cross-entropy", **SETTINGS).fit(path, callbacks=[Append()])

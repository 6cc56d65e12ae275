"""lossnet train, describe and compare on sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SMALL_TAGGER, UNFINISHED, Result, one_line, write_ner, write_ner_folder

from lossnet import SequenceTagger
from lossnet.reports import find
from lossnet.tasks.sequence import load_sequence_splits, load_sequences, span_scores

Run = Callable[..., Result]
LOUD = SMALL_TAGGER[:-1]


def test_writes_a_tagger_and_its_metrics(lossnet: Run, ner: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs" / "a"
    result = lossnet("train", ner, "--out", out, *LOUD, "--results", tmp_path / "store")
    assert result.code == 0, result.err
    first = result.out.splitlines()[0]
    tokens = load_sequences(ner).n_tokens
    assert first.startswith("ner: 30 train, 10 validation, 10 test sentences")
    assert f"{tokens} tokens, 4 tags, 2 types of spans; cross-entropy, seed 0" in first
    test = load_sequence_splits(ner).test
    assert test is not None
    assert test.tags is not None
    scores = span_scores(test.tags, SequenceTagger.load(out).predict(test))
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["test"]["all"]["span-f1"] == scores.f1
    assert metrics["test"]["type:PER"]["recall"] == scores.types["PER"].recall
    (run,) = find(tmp_path / "store")
    assert run.metrics["accuracy"] == scores.accuracy
    assert run.metrics["span-f1:LOC"] == scores.types["LOC"].f1
    assert "test type" in result.out
    assert sorted(p.name.split("-")[0] for p in out.iterdir()) == [
        "config.json",
        "data.json",
        "history",
        "history.csv",
        "history.jsonl",
        "labels",
        "metrics.json",
        "vocabulary",
        "weights",
    ]


def test_settings_reach_the_tagger(lossnet: Run, tmp_path: Path) -> None:
    data = write_ner(tmp_path / "ner.conll", sentences=20)
    words = ["Ann", "Rome"]
    np.savez(tmp_path / "v.npz", words=words, vectors=np.eye(2, 4, dtype=np.float32))
    settings = ["max_epochs=1", "hidden=8", f"vectors={tmp_path / 'v.npz'}", "chars=true"]
    settings += ["global_energy=both+words", "metric=span-f1", "method.sharing=shared"]
    more = ["--set", *settings, "--scheme", "BIOES", "--seed", "3"]
    result = lossnet("train", data, "--method", "infnet-plus", "--out", tmp_path / "m", *more)
    assert result.code == 0, result.err
    assert "12 train, 4 validation, 4 test" in result.out
    model = SequenceTagger.load(tmp_path / "m")
    assert (model.method, model.method_params["sharing"]) == ("infnet-plus", "shared")
    assert (model.chars, model.global_energy, model.random_state) == (True, "both+words", 3)
    assert "E-PER" in model.tags_
    # What was trained on BIOES is evaluated on BIOES, though the file has IOB2.
    assert lossnet("evaluate", tmp_path / "m", data).code == 0
    assert "never saw" not in lossnet("evaluate", tmp_path / "m", data).err


def test_parts_given_by_hand(lossnet: Run, ner: Path, tmp_path: Path) -> None:
    train = write_ner(tmp_path / "x" / "train.conll", sentences=12)
    out = tmp_path / "a"
    given = ["--validation", ner / "dev.conll", "--test", ner / "test.conll"]
    result = lossnet("train", train, "--out", out, *LOUD, *given)
    assert "12 train, 10 validation, 10 test sentences" in result.out
    assert "divided" not in result.out
    write_ner(tmp_path / "x" / "dev.conll", sentences=5)
    result = lossnet("train", train, "--out", tmp_path / "b", *LOUD)
    assert "also has dev.conll: name the folder to use them" in result.out
    wide = write_ner(tmp_path / "wide.conll", pos=True)
    wrong = lossnet("train", train, "--out", tmp_path / "c", "--test", wide, *SMALL_TAGGER)
    assert "wide.conll has 3 columns, and the training data had 2" in one_line(wrong)
    new = tmp_path / "new.conll"
    new.write_text("Ann B-CAT\nsaw O\n")
    result = lossnet("train", train, "--out", tmp_path / "c", "--test", new, *LOUD)
    assert "note: test: training never saw the tag 'B-CAT' (1 of 2 tokens)" in result.out


def test_columns_are_named_and_left_out(lossnet: Run, tmp_path: Path) -> None:
    data = write_ner(tmp_path / "ner.conll", pos=True)
    for given, names in (("pos", ["pos"]), ("_", []), ("none", []), (None, ["column1"])):
        out = tmp_path / str(given)
        options = [] if given is None else ["--columns", given]
        assert lossnet("train", data, "--out", out, *SMALL_TAGGER, *options).code == 0
        assert list(SequenceTagger.load(out).coder_.columns) == names
        assert lossnet("evaluate", out, data).out.startswith(f"{data}: the test part's 6")
    # The words are the first column, the parts of speech the tags, and the names are left out.
    options = ["--tag-column", "1", "--columns", "_"]
    assert lossnet("train", data, "--out", tmp_path / "p", *SMALL_TAGGER, *options).code == 0
    assert SequenceTagger.load(tmp_path / "p").tags_ == ["N", "V"]
    wrong = lossnet("train", data, "--out", tmp_path / "q", "--columns", "a,b", *SMALL_TAGGER)
    assert "cannot name the 1 columns" in one_line(wrong)
    wrong = lossnet("train", data, "--out", tmp_path / "q", "--tag-column", "7", *SMALL_TAGGER)
    assert "column 7 asked for, but there are 3" in one_line(wrong)


def test_tunes_on_sentences_without_tags(lossnet: Run, ner: Path, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("Ann saw Oslo\n\nEve saw Rome\n")
    bare = write_ner(tmp_path / "bare.conll", sentences=7, tags=False)
    tuned = ["--method", "infnet", "--set", "max_epochs=1", "hidden=8", "method.tune_on=unlabelled"]
    for number, (spare, count) in enumerate([(tmp_path / "more.txt", 2), (bare, 7), (ner, 50)]):
        out = tmp_path / str(number)
        result = lossnet("train", ner, "--out", out, *tuned, "--unlabelled", spare)
        assert result.code == 0, result.err
        assert f"{count} unlabelled sentences" in result.out
    phases = [row["phase"] for row in SequenceTagger.load(out).history_]
    assert phases == ["infnet", "tune"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"Ann O\nsaw O\n\nRome\n", "line 4: 1 columns where line 1 has 2"),
        (b"Ann O\nsaw O\n\n\xe9t\xe9 O\n", "line 4: byte 0xe9 is not UTF-8 text; save the file"),
        (b"Ann O\n\nBob O\n", "has 2 rows, too few to divide in three"),
        (b"Ann\nsaw\n", "give tag_column=None for a file without tags"),
    ],
)
def test_bad_files_leave_nothing_behind(
    lossnet: Run, tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "bad.conll"
    path.write_bytes(content)
    found = one_line(lossnet("train", path, "--out", tmp_path / "runs" / "a", *SMALL_TAGGER))
    assert message in found
    assert "bad" in found
    assert not (tmp_path / "runs").exists()


def test_other_mistakes_come_before_training(lossnet: Run, ner: Path, tmp_path: Path) -> None:
    out = ["--out", tmp_path / "m"]
    train = ["train", ner, *out, "--quiet", "--set"]
    assert "does not exist" in one_line(lossnet("train", tmp_path / "no.conll", *out))
    only = write_ner(tmp_path / "only" / "dev.conll")
    message = one_line(lossnet("train", only.parent, "--task", "sequence", *out))
    assert "has no training file (such as train.conll or a.train)" in message
    assert "no file of word vectors at nowhere.txt" in one_line(
        lossnet(*train, "vectors=nowhere.txt")
    )
    (tmp_path / "v.txt").write_text("Ann 1 2 3\nRome 1 2\n")
    message = one_line(lossnet(*train, f"vectors={tmp_path / 'v.txt'}"))
    assert "v.txt, line 2: 2 numbers after 'Rome'; expected 3" in message
    assert "did you mean 'global_energy'?" in one_line(lossnet(*train, "global_enrgy=both"))
    inference = ["train", ner, *out, "--quiet", "--method", "infnet-plus", "--set"]
    assert "write method.sharing" in one_line(lossnet(*inference, "sharing=shared"))
    message = one_line(lossnet(*train, "hidden=[8]"))
    assert "hidden must be an integer of at least 1, got [8]" in message
    assert "metric" in one_line(lossnet(*train, "metric=example-f1"))
    assert not (tmp_path / "m").exists()


def test_resuming(lossnet: Run, ner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lossnet.training import Trainer

    plain = Trainer._epoch

    def stop_in_third(trainer: Trainer) -> None:
        if trainer.epoch == 2:
            raise KeyboardInterrupt
        plain(trainer)

    settings = ["--method", "crf", "--set", "max_epochs=4", "hidden=8", "--quiet"]
    out = tmp_path / "a"
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_epoch", stop_in_third)
        assert lossnet("train", ner, "--out", out, *settings).code == 130
    assert sorted(path.name for path in out.iterdir()) == UNFINISHED
    other = write_ner_folder(tmp_path / "ner")
    write_ner(other / "train.conll", seed=9)
    message = one_line(lossnet("train", other, "--out", out, *settings, "--resume"))
    assert "different: data" in message
    assert lossnet("train", ner, "--out", out, *settings, "--resume").code == 0
    assert lossnet("train", ner, "--out", tmp_path / "b", *settings).code == 0
    weights = [next(folder.glob("weights*")).read_bytes() for folder in (out, tmp_path / "b")]
    assert weights[0] == weights[1]
    assert lossnet("train", ner, "--out", out, *settings, "--resume").code == 0
    message = one_line(lossnet("train", other, "--out", out, *settings, "--resume"))
    assert "finished run on other data" in message
    assert "--overwrite" in one_line(lossnet("train", ner, "--out", out, *settings))
    assert lossnet("train", ner, "--out", out, *settings, "--overwrite").code == 0


def test_compare(lossnet: Run, ner: Path, tmp_path: Path) -> None:
    command = ["compare", ner, "--methods", "cross-entropy,crf", "--seeds", "1", "--quiet"]
    small = [
        "--set",
        "max_epochs=1",
        "hidden=8",
        "crf.energy_optimiser.lr=0.01",
        "--out",
        tmp_path / "r",
    ]
    result = lossnet(*command, *small)
    assert result.code == 0, result.err
    assert result.out.split("\n")[1].split() == ["method", "accuracy", "span-f1", "seconds"]
    report = (tmp_path / "r" / "report.md").read_text()
    assert "30 train, 10 validation, 10 test sentences" in report
    assert "- crf: energy_optimiser.lr=0.01" in report
    plain = ["--tag-column", "1", "--columns", "none", *small[:-1], tmp_path / "s"]
    data = write_ner(tmp_path / "pos.conll", pos=True)
    result = lossnet("compare", data, *command[2:], *plain)
    assert result.out.split("\n")[1].split() == ["method", "accuracy", "seconds"]


def test_describe(lossnet: Run, tmp_path: Path) -> None:
    folder = tmp_path / "ner"
    folder.mkdir()
    (folder / "train.conll").write_text(
        "-DOCSTART- -X- O\n\nAnn N B-PER\nLee N I-PER\nsaw V O\n\nRome N B-LOC\n"
    )
    (folder / "test.conll").write_text("ann N B-PER\nleft V O\n")
    result = lossnet("describe", folder, "--top", "2")
    assert result.code == 0, result.err
    lines = [line.split() for line in result.out.splitlines()]
    assert ["sentences", "3", "(2", "train,", "1", "test)"] in lines
    assert ["tokens", "6", "(4", "train,", "2", "test)"] in lines
    assert "median 2, half of them 2 to 2, all 1 to 3" in result.out
    assert "100.0 % of test tokens (50.0 % in any case)" in result.out
    assert ["tags", "4,", "scheme", "IOB2"] in lines
    assert ["other", "columns", "column1"] in lines
    assert ["PER", "2", "1", "1", "1.50"] in lines
    assert ["B-PER", "2", "33.3", "%"] in lines
    assert ["I-PER", "1", "16.7", "%"] not in lines
    plain = lossnet("describe", folder, "--tag-column", "1", "--columns", "none").out
    assert "2, without prefixes" in plain
    assert "spans" not in plain


def test_conllu_is_read_without_options(lossnet: Run, tmp_path: Path) -> None:
    rest = "\t_" * 6
    sentence = f"1-2\tIt's\t_\t_{rest}\n1\tIt\tit\tPRON{rest}\n2\t's\tbe\tVERB{rest}\n\n"
    data = tmp_path / "en.conllu"
    data.write_text(sentence * 10, encoding="utf-8")
    assert "20" in lossnet("describe", data).out
    trained = lossnet("train", data, "--out", tmp_path / "m", *SMALL_TAGGER)
    assert trained.code == 0, trained.err
    assert SequenceTagger.load(tmp_path / "m").tags_ == ["PRON", "VERB"]
    assert lossnet("evaluate", tmp_path / "m", data).code == 0
    assert lossnet("predict", tmp_path / "m", data, "--out", tmp_path / "out.conll").code == 0
    first = (tmp_path / "out.conll").read_text().splitlines()[0].split("\t")
    assert first[:3] == ["1", "It", "it"]
    assert first[3] in ("PRON", "VERB")
    assert len(SequenceTagger.load(tmp_path / "m").predict(data)) == 10


def test_unseen_validation_tags_are_an_error(lossnet: Run, ner: Path, tmp_path: Path) -> None:
    other = tmp_path / "dev.conll"
    other.write_text("Ann B-CAT\nsaw O\n")
    result = lossnet("train", ner, "--validation", other, "--out", tmp_path / "m", *SMALL_TAGGER)
    assert "has tags absent from the training data: 'B-CAT'" in one_line(result)
    assert not (tmp_path / "m").exists()

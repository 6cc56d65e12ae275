"""Which task a source is of, and whose options are whose."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import SMALL_TAGGER, Result, one_line, write_csv, write_ner

from lossnet.cli.parser import Parser, add_data, add_task_options, check_options
from lossnet.errors import SettingError
from lossnet.tasks.options import count_or_names
from lossnet.tasks.registry import BUILT_IN, task_named, tasks
from lossnet.tasks.task import Task

Run = Callable[..., Result]


@pytest.mark.parametrize("name", BUILT_IN)
def test_tasks_say_of_their_estimators_what_is_so(name: str) -> None:
    task = task_named(name)
    assert task.name == name
    assert task.estimator.__name__ == task.estimator_path.partition(":")[2]
    assert task.formats
    defaults = inspect.signature(task.estimator).parameters
    assert defaults["method"].default == task.default_method
    assert task.not_in_files <= set(defaults)
    assert task.outputs[0] in (".jsonl", "")


def test_told_by_names(tmp_path: Path) -> None:
    def told(source: Path | str) -> str:
        return next((task.name for task in tasks() if task.recognises(str(source))), "none")

    for name in ("a.conll", "a.bio", "a.IOB", "a.conll.gz", "oct27.train", "ref.test", "a.xml"):
        assert told(tmp_path / name) == "sequence"
    for name in ("a.arff", "a.csv", "a-train.arff", "a.txt", "a.train.svm.gz"):
        write_csv(tmp_path / name)
        assert told(tmp_path / name) == "multilabel"
    assert told("ising:coupling=2") == "multilabel"
    write_ner(tmp_path / "ner" / "train.conll")
    (tmp_path / "ner" / "README.txt").write_text("about")
    assert told(tmp_path / "ner") == "sequence"
    write_ner(tmp_path / "other" / "daily.conll")
    (tmp_path / "other" / "a.csv").write_text("")
    assert told(tmp_path / "other") == "multilabel"


@pytest.mark.parametrize("command", ["train", "describe", "compare"])
def test_what_cannot_be_told_must_be_said(lossnet: Run, tmp_path: Path, command: str) -> None:
    more = {"train": ["--out", tmp_path / "m", *SMALL_TAGGER], "describe": []}
    options = more.get(command, ["--methods", "crf", "--out", tmp_path / "r", "--quiet"])
    strange = write_ner(tmp_path / "ner.data")
    message = one_line(lossnet(command, strange, *options))
    assert "cannot determine the task" in message
    names = ("image", "multilabel", "roles", "sequence", "text")
    assert f"add {' or '.join(f'--task {name}' for name in names)}" in message
    if command == "describe":
        assert "scheme IOB2" in lossnet(command, strange, "--task", "sequence").out
    (tmp_path / "empty").mkdir()
    message = one_line(lossnet(command, tmp_path / "empty", *options))
    assert "from the names of its files" in message
    assert not (tmp_path / "m").exists()
    assert not (tmp_path / "r").exists()


def test_conll_text_suggests_its_task(lossnet: Run, tmp_path: Path) -> None:
    for part in ("train", "test"):
        write_ner(tmp_path / "ner" / f"{part}.txt")
    for source in (tmp_path / "ner", tmp_path / "ner" / "train.txt"):
        message = one_line(lossnet("describe", source))
        assert "may hold sentences, one token and its tag per line: add --task sequence" in message
        assert "scheme IOB2" in lossnet("describe", source, "--task", "sequence").out


def test_the_wrong_task(lossnet: Run, tmp_path: Path, ner: Path) -> None:
    out = ["--out", tmp_path / "m"]
    (tmp_path / "a.arff").write_text("@relation a\n")
    message = one_line(lossnet("train", tmp_path / "a.arff", "--task", "sequence", *out))
    assert "a.arff holds rows of features and labels" in message
    assert "task is multilabel" in message
    message = one_line(lossnet("train", "ising", "--task", "sequence", *out))
    assert "ising does not exist; its task is multilabel" in message
    message = one_line(lossnet("train", ner / "train.conll", "--task", "multilabel", *out))
    assert "unknown kind of file" in message
    assert "needs exact inference, which MultiLabelClassifier does not provide" in one_line(
        lossnet("train", "ising", "--method", "crf", *out)
    )
    assert not (tmp_path / "m").exists()


def test_options_of_the_other_task(
    lossnet: Run, tagger: Path, model: Path, ner: Path, trained_on: Path, tmp_path: Path
) -> None:
    out = ["--out", tmp_path / "m"]
    message = one_line(lossnet("predict", tagger, ner, "--threshold", "0.5"))
    assert "--threshold is an option for the task text or multilabel" in message
    assert f"the task of {tagger} is sequence; leave it out" in message
    assert "--labels" in one_line(lossnet("train", ner, "--labels", "0", *out))
    assert "--tag-column" in one_line(lossnet("train", "ising", "--tag-column", "0", *out))
    assert "--scheme" in one_line(lossnet("describe", "ising", "--scheme", "IOB2"))
    assert "--strict is an option for the task sequence" in one_line(
        lossnet("evaluate", model, trained_on, "--strict")
    )
    assert "--format" in one_line(lossnet("predict", model, trained_on, "--format", "text"))


def test_an_option_that_belongs_to_several_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Task):
        name = "other"

        def add_options(self, group: Any, command: str) -> None:
            group.add_argument("--labels", type=count_or_names)

    others = [*tasks(), Other()]
    monkeypatch.setattr("lossnet.cli.parser.tasks", lambda: others)
    parser = Parser(prog="lossnet describe", description=None)
    add_data(parser)
    add_task_options(parser, "describe", choose=True)
    args = parser.parse(["a.csv", "--labels", "2"])
    assert args.labels == 2
    for name in ("multilabel", "other"):
        check_options(args, next(task for task in others if task.name == name), "a.csv")
    with pytest.raises(
        SettingError, match="--labels is an option for the task multilabel or other"
    ):
        check_options(args, task_named("sequence"), "a.csv")


def test_a_model_of_no_task(lossnet: Run, tmp_path: Path, ner: Path) -> None:
    (tmp_path / "config.json").write_text('{"estimator": "Oracle", "format": 2}')
    message = one_line(lossnet("predict", tmp_path, ner))
    assert "holds the estimator Oracle, which is not one of" in message


def test_benchmark_folders_are_told() -> None:
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("LOSSNET_DATA", beside))
    if not (folder / "sequence").is_dir():
        pytest.skip("benchmark data is absent: set LOSSNET_DATA or put it at ../shared/data")
    sequence = task_named("sequence")
    for name in ("twitter_pos", "wnut17", "cora_citations"):
        assert sequence.recognises(str(folder / "sequence" / name))
    for path in (folder / "mlc").iterdir():
        assert not sequence.recognises(str(path))
        assert task_named("multilabel").recognises(str(path))

"""lossnet train: what it writes, what it refuses, and how settings reach it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SMALL, UNFINISHED, Result, one_line, write_csv

from lossnet.cli import main
from lossnet.files import TEMPORARY
from lossnet.parameters import plain
from lossnet.recipes import parameters as method_parameters
from lossnet.reports import find

Run = Callable[..., Result]


# A billion laughs: a hundred bytes a level, ten times as many values.
LAUGHS = "hidden: &a0 [1, 1]\n" + "".join(
    f"x{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 10)
)


def config_of(model: Path) -> dict[str, object]:
    parameters: dict[str, object] = json.loads((model / "config.json").read_text())["parameters"]
    return parameters


def test_writes_a_model_and_its_metrics(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs" / "a"
    result = lossnet("train", csv_file, "--out", out, *SMALL[:-1], "--results", tmp_path / "store")
    assert result.code == 0
    assert "24 train, 8 validation, 8 test rows" in result.out
    assert not list(out.glob("*checkpoint*"))
    assert not list(out.glob(".*"))
    metrics = json.loads((out / "metrics.json").read_text())
    assert set(metrics["test"]) == {"as predicted", "at 0.5"}
    (run,) = find(tmp_path / "store")
    assert run.metrics["example-f1"] == metrics["test"]["as predicted"]["example-f1"]
    assert run.metrics["example-f1@0.5"] == metrics["test"]["at 0.5"]["example-f1"]
    assert run.command.startswith("lossnet train")
    assert run.configuration["method_params"]["samples"] > 0


def test_settings_from_file_and_command_line(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        "method: {name: seal-nce, samples: 7, energy_optimiser: {lr: 1e-3}}\n"
        "seed: 5\nmax_epochs: 9\nhidden: [8]\n"
    )
    out = tmp_path / "a"
    more = ["--set", "max_epochs=1", "method.samples=3", "energy_features=shared", "--quiet"]
    assert lossnet("train", csv_file, "--out", out, "--config", config, *more).code == 0
    parameters = config_of(out)
    assert parameters["max_epochs"] == 1
    assert parameters["energy_features"] == "shared"
    given = {"samples": 3, "energy_optimiser": {"lr": 0.001}}
    assert parameters["method_params"] == plain(method_parameters("seal-nce", given))
    assert parameters["random_state"] == 5

    flat = tmp_path / "run.json"
    flat.write_text(json.dumps({"method": "seal-nce", "method.samples": 3, "max_epochs": 1}))
    out = tmp_path / "b"
    more = ["--method", "seal-ranking", "--seed", "2", "--set", "hidden=[8]", "--quiet"]
    assert lossnet("train", csv_file, "--out", out, "--config", flat, *more).code == 0
    assert config_of(out)["method"] == "seal-ranking"
    assert config_of(out)["random_state"] == 2


def test_the_loop_is_set_from_the_command_line(
    lossnet: Run, csv_file: Path, tmp_path: Path
) -> None:
    pairs = ["precision=bfloat16", "accumulate=4", "max_epochs=1", "hidden=[8]"]
    pairs += ["method.task_optimiser.warmup=0.1", "method.task_optimiser.decay=cosine"]
    more = ["--set", *pairs, "--quiet"]
    assert lossnet("train", csv_file, "--out", tmp_path / "a", *more).code == 0
    parameters = config_of(tmp_path / "a")
    assert (parameters["precision"], parameters["accumulate"]) == ("bfloat16", 4)
    optimiser = parameters["method_params"]["task_optimiser"]
    given = optimiser["warmup"], optimiser["decay"], optimiser["encoder_lr"]
    assert given == (0.1, "cosine", None)


def test_parts_are_set_by_dots_and_by_nesting(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        "method:\n  name: implicit-nce\n  gradient: {solver: cg, damping: 3}\n"
        "  energy_optimiser: {lr: 1e-3}\nmax_epochs: 1\nhidden: [8]\n"
    )
    pairs = ["method.energy_optimiser.beta1=0.5", "method.gradient.solver.steps=2"]
    out = tmp_path / "a"
    more = ["--config", config, "--set", *pairs, "--quiet"]
    assert lossnet("train", csv_file, "--out", out, *more).code == 0
    given = {
        "gradient": {"solver": {"kind": "cg", "steps": 2}, "damping": 3},
        "energy_optimiser": {"lr": 1e-3, "beta1": 0.5},
    }
    assert config_of(out)["method_params"] == plain(method_parameters("implicit-nce", given))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("method.energy_optimiser.rl=1", "unknown parameter of energy_optimiser 'rl'"),
        ("method.energy_optimizer.lr=1", "did you mean 'energy_optimiser'?"),
        ("energy_optimiser.lr=1", "write method.energy_optimiser.lr"),
        ("max_epoch=3", "did you mean 'max_epochs'?"),
        ("method.sampels=3", "did you mean 'samples'?"),
        ("samples=3", "write method.samples"),
        ("max_epochs=two", "max_epochs must be an integer of at least 1, got 'two'"),
        ("max_epochs=0", "max_epochs must be an integer of at least 1, got 0"),
        ("hidden=3", "hidden must be a sequence of integers"),
        ("method.samples=1.5", "samples must be an integer, got 1.5"),
        ("energy_features=share", "did you mean 'shared'?"),
        ("threshold=tuend", "did you mean 'tuned'?"),
        ("metric=exmaple-f1", "did you mean 'example-f1'?"),
        ("method.energy_optimiser.lr=-1", "energy_optimiser.lr must be above 0, got -1"),
        ("random_state=3", "unknown setting 'random_state'"),
        ("seed=x", "seed must be an integer of at least 0, got 'x'"),
        ("nonsense", "expected KEY=VALUE"),
        ("hidden=[8", "not valid YAML"),
    ],
)
def test_settings_are_checked_before_the_data(
    lossnet: Run, tmp_path: Path, setting: str, message: str
) -> None:
    out = tmp_path / "runs" / "a"
    result = lossnet("train", tmp_path / "no-such.csv", "--out", out, "--set", setting)
    assert message in one_line(result)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "max_epoch: 3", "did you mean 'max_epochs'?"),
        ("a.yaml", "method: {name: seal-nce, sampels: 3}", "did you mean 'samples'?"),
        ("a.yaml", "- 1", "settings by name"),
        ("a.json", "{", "not valid JSON"),
        ("a.toml", "", "must end in .yaml or .json"),
        ("a.yaml", LAUGHS, "anchors and aliases (&, *) are not supported"),
        ("a.yaml", "hidden: &a [*a]", "anchors and aliases (&, *) are not supported"),
        ("a.yaml", "hidden: !!python/name:os.system", "tags (!) are not supported"),
        ("a.yaml", "hidden: " + "[" * 50_000, "nested more than 20 levels"),
        ("a.json", '{"hidden": ' + "[" * 50_000, "not valid JSON"),
        ("a.json", '{"hidden": ' + "[" * 50 + "]" * 50 + "}", "nested more than 20 levels"),
        ("a.yaml", f"max_epochs: {'9' * 5000}", "not valid YAML"),
        ("a.json", f'{{"max_epochs": {"9" * 5000}}}', "not valid JSON"),
        ("a.json", f'{{"max_epochs": {"9" * 4000}}}', "is too large"),
        ("a.yaml", "max_epochs: 3000000000", "max_epochs must be at most 2,147,483,647"),
        ("a.yaml", "dropout: .nan", "the number nan is too large, or not finite"),
        ("a.yaml", "max_epochs: 2020-01-01", "expected text, a number, a list"),
        ("a.yaml", "1: 2", "must be text, got 1"),
        ("a.yaml", "# " + "x" * 200_000, "more than 100,000 bytes"),
    ],
)
def test_config_files_are_checked(
    lossnet: Run, tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    result = lossnet("train", "ising", "--out", tmp_path / "a", "--config", tmp_path / name)
    assert message in one_line(result)
    assert "cannot read" in one_line(
        lossnet("train", "ising", "--out", tmp_path / "a", "--config", tmp_path / "none.yaml")
    )
    assert not (tmp_path / "a").exists()


def test_a_folder_in_use_is_refused(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    assert lossnet("train", csv_file, "--out", out, *SMALL).code == 0
    before = (out / "config.json").read_text()
    assert "--overwrite" in one_line(lossnet("train", csv_file, "--out", out, *SMALL))
    assert (out / "config.json").read_text() == before
    again = lossnet("train", csv_file, "--out", out, *SMALL[:-1], "--resume")
    assert (again.code, "finished run" in again.out) == (0, True)
    other = lossnet("train", csv_file, "--out", out, *SMALL, "--seed", "1", "--resume")
    assert "(different: random_state)" in one_line(other)
    assert lossnet("train", csv_file, "--out", out, *SMALL, "--seed", "1", "--overwrite").code == 0
    assert config_of(out)["random_state"] == 1
    both = lossnet("train", csv_file, "--out", out, "--resume", "--overwrite")
    assert "not allowed with" in one_line(both)


def test_files_of_others_are_left_alone(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    (out / f"{TEMPORARY}folder").mkdir(parents=True)
    own = [".config.yaml", ".data.csv", ".history.txt", ".weights.bak.1", "notes.txt"]
    for name in [*own, f"{TEMPORARY}abc", f"{TEMPORARY}folder/x"]:
        (out / name).write_text("mine")
    assert lossnet("train", csv_file, "--out", out, *SMALL).code == 0
    assert [(out / name).read_text() for name in own] == ["mine"] * len(own)
    assert not list(out.glob(f"{TEMPORARY}*"))  # what a killed run left
    assert {path.name for path in out.glob(".*")} == set(own[:-1])


def test_two_trainings_into_one_folder(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    out.mkdir()
    hold = (
        "import sys; from pathlib import Path; from lossnet.tasks.model_folder import locked\n"
        "with locked(Path(sys.argv[1])): print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        for more in ([], ["--overwrite"], ["--resume"]):
            result = lossnet("train", csv_file, "--out", out, *SMALL, *more)
            assert "another training is writing to" in one_line(result)
        assert not list(out.iterdir())
        other.kill()
    assert lossnet("train", csv_file, "--out", out, *SMALL).code == 0
    assert not list(out.glob(".*"))


def test_a_full_disk_keeps_the_last_checkpoint(csv_file: Path, tmp_path: Path) -> None:
    limited = (
        "import resource, signal, sys; from lossnet.cli import main\n"
        "import lossnet.training.checkpoint as checkpoint\n"
        "checkpoint.Checkpoint.__init__.__kwdefaults__['seconds'] = 0.0\n"
        "from lossnet.training import Trainer; plain = Trainer._epoch\n"
        "def epoch(self):\n"
        "    plain_size = 3000 if self.epoch == 1 else 10**9\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (plain_size, 10**9))\n"
        "    plain(self)\n"
        "Trainer._epoch = epoch; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "sys.exit(main())"
    )
    out = tmp_path / "a"
    arguments = ["train", csv_file, "--out", out, "--set", "max_epochs=4", "hidden=[8]", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", limited, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "training stopped after epoch 2" in done.stderr
    assert "File too large; free some space, then resume from the last good" in done.stderr
    assert sorted(path.name for path in out.iterdir()) == UNFINISHED
    assert main([*map(str, arguments), "--resume"]) == 0


def test_unwritable_folders_are_found_first(
    lossnet: Run, csv_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("training has begun")

    monkeypatch.setattr("lossnet.tasks.multilabel.MultiLabelClassifier.fit", never)
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "a", Path("/proc/nothing/a")):
        one_line(lossnet("train", csv_file, "--out", out, *SMALL))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "weather.csv"]


def _npz(path: Path, X: object, Y: object) -> Path:
    np.savez(path, X=X, Y=Y)
    return path


def test_bad_data_leaves_nothing_behind(lossnet: Run, tmp_path: Path) -> None:
    good = np.ones((6, 2))
    data = tmp_path / "data"
    data.mkdir()
    (data / "empty.arff").write_text("")
    (data / "cut.arff").write_text("@relation 'a: -C 1'\n@attribute y {0,1}\n@attribute x num")
    (data / "no-labels.csv").write_text("a,b\n1,2\n3,4\n")
    cases = {
        _npz(data / "inf.npz", good * np.inf, np.ones((6, 2))): "infinity",
        _npz(data / "two.npz", good, good * 2): "0 and 1",
        _npz(data / "rows.npz", good, np.ones((5, 2))): "6 rows and Y has 5",
        data / "empty.arff": "is empty",
        data / "cut.arff": "cut.arff",
        data / "no-labels.csv": "labels",
        data / "absent.csv": "does not exist",
    }
    for path, message in cases.items():
        result = lossnet("train", path, "--out", tmp_path / "runs" / "a", *SMALL)
        assert message in one_line(result)
        assert not (tmp_path / "runs").exists()


def test_a_loss_that_is_not_finite_keeps_the_checkpoint(
    lossnet: Run, csv_file: Path, tmp_path: Path
) -> None:
    huge = ["--set", "method.task_optimiser.lr=1e30", "batch_size=4", "hidden=[8]", "--quiet"]
    out = tmp_path / "a"
    method = ["--method", "cross-entropy"]
    result = lossnet("train", csv_file, "--out", out, *method, *huge)
    assert "'task' update" in one_line(result)
    assert sorted(path.name for path in out.iterdir()) == UNFINISHED
    assert "--resume" in one_line(lossnet("train", csv_file, "--out", out, *method, *huge))
    assert "unfinished run" in one_line(lossnet("evaluate", out, csv_file))


def test_parts_given_by_hand(lossnet: Run, tmp_path: Path) -> None:
    train = write_csv(tmp_path / "x.csv", rows=30)
    other = write_csv(tmp_path / "y.csv", rows=12, labels=("rain", "sun"), seed=1)
    (tmp_path / "z").mkdir()
    test = write_csv(tmp_path / "z" / "z.csv", rows=10, labels=("rain", "sun"), seed=2)
    out = tmp_path / "a"
    result = lossnet("train", train, "--out", out, *SMALL[:-1], "--test", test.parent)
    assert result.code == 0, result.err
    assert "30 train, 10 test rows" in result.out
    result = lossnet("train", train, "--out", tmp_path / "c", *SMALL[:-1], "--validation", other)
    assert "30 train, 12 validation rows" in result.out
    strange = write_csv(test, labels=("rain", "snow"))
    wrong = lossnet("train", train, "--out", tmp_path / "b", "--test", strange.parent, *SMALL)
    assert "absent from training: 'snow'" in one_line(wrong)
    assert not (tmp_path / "b").exists()


def test_other_files_are_coded_as_the_training_file(lossnet: Run, tmp_path: Path) -> None:
    lines = ["sky,dry,label:sun"]
    lines += [
        f"{'grey' if k % 3 else 'clear'},{'yes' if k % 2 else 'no'},{k % 2}" for k in range(30)
    ]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    (tmp_path / "y.csv").write_text("sky,dry,label:sun\ngrey,yes,1\ngrey,yes,1\n")
    given = ["--validation", tmp_path / "y.csv", *SMALL[:-1]]
    result = lossnet("train", tmp_path / "x.csv", "--out", tmp_path / "a", *given)
    assert result.code == 0, result.err
    assert "30 train, 2 validation rows, 3 features, 1 label" in result.out
    assert lossnet("evaluate", tmp_path / "a", tmp_path / "y.csv").code == 0


def test_the_history_is_in_files_and_on_a_board(
    lossnet: Run, csv_file: Path, tmp_path: Path
) -> None:
    pytest.importorskip("tensorboard")
    out, board = tmp_path / "a", tmp_path / "board"
    more = ["--tensorboard", board, "--set", "max_epochs=2", "hidden=[8]", "--quiet"]
    assert lossnet("train", csv_file, "--out", out, *more, "--method", "cross-entropy").code == 0
    rows = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    (stored,) = out.glob("history-*.json")
    assert rows == json.loads(stored.read_text())
    assert len((out / "history.csv").read_text().splitlines()) == 1 + len(rows)
    assert len(list(board.glob("events.out.tfevents.*"))) == 1

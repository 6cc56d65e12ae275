"""Mutants of configs, settings and model folders: success, or one clear error."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import write_csv, write_ner, write_pairs

from lossnet import ImageSegmenter, MultiLabelClassifier, SequenceTagger, TextClassifier
from lossnet.cli import main
from lossnet.cli.folder import load_model
from lossnet.cli.settings import resolve
from lossnet.errors import LossnetError
from lossnet.tasks.model_folder import CONFIG, DATA
from lossnet.tasks.registry import task_named

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mutants import mutants

SETTINGS: dict[str, dict[str, Any]] = {
    "multilabel": {
        "method": {
            **{"name": "implicit-nce", "sampler": {"k": 7}, "energy_optimiser": {"lr": 1e-3}},
            "gradient": {"kind": "implicit", "solver": {"kind": "cg", "steps": 2}, "damping": 3},
        },
        **{"seed": 5, "max_epochs": 9, "hidden": [8, 4], "dropout": 0.25, "threshold": "tuned"},
        **{"standardise": True, "metric": "map", "refine": "net", "energy_dropout": None},
    },
    "sequence": {
        "method": {"name": "infnet-plus", "sharing": "shared", "truncate": False},
        **{"hidden": 8, "vectors": None, "chars": True, "lowercase": False, "metric": "span-f1"},
        **{"global_energy": "both", "global_weight": 0.5, "fixed_vectors": True, "case": True},
    },
    "image": {
        "method": "alen",
        **{"width": 4, "crop": [16, 16], "flip": False, "crops": 1, "task_net": "unet"},
        **{"classes": ["sky", "ground"], "plateau": 3, "energy_width": 2, "device": "cpu"},
    },
    "text": {
        "method": {"name": "seal-nce", "energy_optimiser": {"lr": 1e-3}},
        **{"ngrams": 2, "min_count": 3, "max_features": 50, "hidden": [8], "threshold": 0.5},
    },
}


def fine(call: Callable[[], Any]) -> bool:
    """Whether the call succeeds; any error but the package's own fails the test."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except LossnetError:
        return False
    return True


def options(config: Path | None = None, settings: Iterable[str] = ()) -> argparse.Namespace:
    return argparse.Namespace(config=config, settings=settings, classes=None)


def as_yaml(settings: dict[str, Any]) -> bytes:
    import yaml

    return yaml.safe_dump(settings, default_flow_style=None).encode()


@pytest.mark.parametrize("kind", ["json", "yaml"])
@pytest.mark.parametrize("name", SETTINGS)
def test_config_files(name: str, kind: str, tmp_path: Path) -> None:
    task, path = task_named(name), tmp_path / f"run.{kind}"
    content = json.dumps(SETTINGS[name]).encode() if kind == "json" else as_yaml(SETTINGS[name])
    path.write_bytes(content)
    assert fine(lambda: resolve(task, options(config=path)))
    results = []
    for mutant in mutants(content, 90, seed=1):
        path.write_bytes(mutant)
        results.append(fine(lambda: resolve(task, options(config=path))))
    assert {True, False} <= set(results)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_on_the_command_line(name: str) -> None:
    task, own = task_named(name), SETTINGS[name]
    content = " ".join(f"{k}={json.dumps(v)}" for k, v in own.items() if k != "method").encode()
    for mutant in mutants(content, 70, seed=2):
        pairs = mutant.decode("utf-8", "surrogateescape").split(" ")
        fine(lambda pairs=pairs: resolve(task, options(settings=pairs), method="dvn"))
        for pair in pairs:
            fine(lambda pair=pair: resolve(task, options(settings=[pair]), method="dvn"))


# Model folders -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """A small model folder of each task, and what to predict."""
    base = tmp_path_factory.mktemp("models")
    data = {
        "multilabel": write_csv(base / "weather.csv", rows=20),
        "sequence": write_ner(base / "ner.conll", sentences=12, pos=True),
        "image": write_pairs(base / "discs", 6),
        "text": base / "news.jsonl",
    }
    rows = [{"text": f"oil and gas {k}", "labels": ["oil", "gas"][: k % 3]} for k in range(12)]
    data["text"].write_text("\n".join(map(json.dumps, rows)))
    small = {
        "multilabel": ["--method", "seal-nce", "--set", "hidden=[4]", "global_hidden=2"],
        "sequence": ["--method", "cross-entropy", "--columns", "pos", "--set", "hidden=4"],
        "image": ["--method", "cross-entropy", "--set", "width=2", "crops=1", "average=1"],
        "text": ["--method", "cross-entropy", "--set", "hidden=[4]"],
    }
    for name, source in data.items():
        out = ["--out", str(base / name), "--task", name, "--quiet"]
        assert main(["train", str(source), *out, *small[name], "max_epochs=1"]) == 0
    return {name: (base / name, source) for name, source in data.items()}


def predicted(folder: Path, name: str) -> None:
    """Load the model as the commands do, and predict a little."""
    _, model, _ = load_model(folder)
    if isinstance(model, TextClassifier):
        model.predict(["oil and gas"])
    elif isinstance(model, MultiLabelClassifier):
        model.predict(np.zeros((2, 3)))
    elif isinstance(model, SequenceTagger):
        model.predict([["Ann", "saw"]], columns={"pos": [["N", "V"]]})
    elif isinstance(model, ImageSegmenter):
        model.predict(np.zeros((1, 16, 16, 3), dtype=np.uint8))


def each_mutant(folder: Path, file: Path, count: int, seed: int) -> Iterable[None]:
    """Put one mutant after another in the file's place, the checksum of it in the config."""
    content, config = file.read_bytes(), json.loads((folder / CONFIG).read_text())
    for mutant in mutants(content, count, seed):
        file.write_bytes(mutant)
        for entry in config["files"].values():
            if entry["name"] == file.name:
                entry["sha256"] = hashlib.sha256(mutant).hexdigest()
                (folder / CONFIG).write_text(json.dumps(config))
        yield


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    ("start", "count"),
    [
        ("config", 120),
        ("labels", 30),
        ("history-", 15),
        ("weights", 40),
        ("vocabulary", 40),
        ("data", 40),
    ],
)
def test_model_folders(
    models: dict[str, tuple[Path, Path]], tmp_path: Path, name: str, start: str, count: int
) -> None:
    folder = Path(shutil.copytree(models[name][0], tmp_path / "m"))
    assert fine(lambda: predicted(folder, name))
    found = [path for path in folder.iterdir() if path.name.startswith(start)]
    if start == "vocabulary" and name not in ("sequence", "text"):
        assert not found
        return
    (file,) = found
    if start != "data":
        (folder / DATA).unlink()  # it belongs to the config as it was
    for _ in each_mutant(folder, file, count, seed=3):
        fine(lambda: predicted(folder, name))


@pytest.mark.parametrize("name", SETTINGS)
def test_facts_of_the_data(models: dict[str, tuple[Path, Path]], tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(models[name][0], tmp_path / "m"))
    for number, _ in enumerate(each_mutant(folder, folder / DATA, 25, seed=4)):
        out = str(tmp_path / f"out{number}") if name == "image" else str(tmp_path / "out.jsonl")
        out += "/" if name == "image" else ""
        arguments = ["predict", str(folder), str(models[name][1]), "--out", out]
        assert main(arguments) in (0, 2)

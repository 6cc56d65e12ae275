"""Small data and small models for the commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import (
    SMALL,
    SMALL_NET,
    SMALL_TAGGER,
    Result,
    write_csv,
    write_ner_folder,
    write_pairs,
)

from lossnet.cli import main


@pytest.fixture
def lossnet(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run the program in this process."""

    def _run(*arguments: str | Path) -> Result:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return _run


@pytest.fixture
def csv_file(tmp_path: Path) -> Path:
    """Forty rows, three features, two labels."""
    return write_csv(tmp_path / "weather.csv")


@pytest.fixture(scope="session")
def model_and_data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model folder trained on a CSV file, and that file."""
    folder = tmp_path_factory.mktemp("trained")
    data = write_csv(folder / "weather.csv")
    assert main(["train", str(data), "--out", str(folder / "model"), *SMALL]) == 0
    return folder / "model", data


@pytest.fixture
def model(model_and_data: tuple[Path, Path]) -> Path:
    """The model folder; not to be written to."""
    return model_and_data[0]


@pytest.fixture
def trained_on(model_and_data: tuple[Path, Path]) -> Path:
    """The file the model was trained on."""
    return model_and_data[1]


@pytest.fixture(scope="session")
def tagger_and_data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A tagger's folder and the folder of CoNLL files it was trained on."""
    folder = tmp_path_factory.mktemp("tagger")
    data = write_ner_folder(folder / "ner")
    train = ["train", str(data), "--out", str(folder / "model"), "--set", "max_epochs=15"]
    settings = ["hidden=16", "method.task_optimiser.lr=0.03", "batch_size=8"]
    assert main([*train, *settings, "--method", "cross-entropy", "--quiet"]) == 0
    return folder / "model", data


@pytest.fixture
def tagger(tagger_and_data: tuple[Path, Path]) -> Path:
    """The tagger's folder; not to be written to."""
    return tagger_and_data[0]


@pytest.fixture
def ner(tagger_and_data: tuple[Path, Path]) -> Path:
    """The folder that the tagger was trained on; not to be written to."""
    return tagger_and_data[1]


@pytest.fixture(scope="session")
def pos_tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger that reads parts of speech besides the words."""
    folder = tmp_path_factory.mktemp("pos")
    data = write_ner_folder(folder / "ner", pos=True)
    more = ["--columns", "pos", *SMALL_TAGGER]
    assert main(["train", str(data), "--out", str(folder / "model"), *more]) == 0
    return folder / "model"


@pytest.fixture(scope="session")
def segmenter_and_data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An ALEN model of RGB images, and the folder of parts it was trained on."""
    pytest.importorskip("PIL")
    folder = tmp_path_factory.mktemp("segmenter")
    for seed, (part, count) in enumerate([("train", 12), ("val", 4), ("test", 6)]):
        write_pairs(folder / "discs" / part, count, seed=seed)
    train = ["train", str(folder / "discs"), "--out", str(folder / "alen"), "--method", "alen"]
    settings = ["--set", *SMALL_NET, "--classes", "ground,disc", "--quiet"]
    assert main([*train, *settings]) == 0
    return folder / "alen", folder / "discs"


@pytest.fixture
def segmenter(segmenter_and_data: tuple[Path, Path]) -> Path:
    """The segmenter's folder; not to be written to."""
    return segmenter_and_data[0]


@pytest.fixture
def pictures(segmenter_and_data: tuple[Path, Path]) -> Path:
    """The folder that the segmenter was trained on; not to be written to."""
    return segmenter_and_data[1]

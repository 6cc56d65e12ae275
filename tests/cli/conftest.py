"""Small data and small models for the commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import SMALL, Result, write_csv

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

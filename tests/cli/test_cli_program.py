"""The program itself: help, versions, unknown names, errors, interrupts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from cli_helpers import Result, one_line

import lossnet as package
from lossnet.cli import COMMANDS

Run = Callable[..., Result]


def test_help_lists_every_command(lossnet: Run) -> None:
    result = lossnet("--help")
    assert result.code == 0
    assert all(name in result.out for name in COMMANDS)
    assert lossnet().out == result.out
    assert lossnet("--version").out == f"lossnet {package.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(lossnet: Run, name: str) -> None:
    result = lossnet(name, "--help")
    assert result.code == 0
    assert result.out.startswith(f"usage: lossnet {name}")


def test_help_loads_nothing_heavy() -> None:
    commands = "".join(f"main(['{name}', '--help']);" for name in COMMANDS)
    code = (
        f"import sys; from lossnet.cli import main; main(['--help']); {commands}"
        "heavy = {'torch', 'sklearn', 'numpy', 'scipy', 'yaml', 'tqdm', 'matplotlib',"
        "'transformers', 'peft', 'tokenizers', 'huggingface_hub'};"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_module_imports_the_text_extra() -> None:
    """They take seconds to import, and not everyone installs them."""
    code = (
        "import importlib, pkgutil, sys, lossnet\n"
        "for found in pkgutil.walk_packages(lossnet.__path__, 'lossnet.'):\n"
        "    if not found.name.endswith('__main__'): importlib.import_module(found.name)\n"
        "extra = {'transformers', 'peft', 'tokenizers', 'huggingface_hub'} & set(sys.modules)\n"
        "sys.exit(str(extra) if extra else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["lossnet", "lossnet.cli"])
def test_runs_as_a_module(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "trian"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "did you mean 'train'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_names_are_corrected(lossnet: Run) -> None:
    assert "did you mean 'methods'?" in one_line(lossnet("method"))
    assert "did you mean '--method'?" in one_line(lossnet("train", "ising", "--metod", "dvn"))
    assert "did you mean 'seal-nce'?" in one_line(lossnet("methods", "seal-nec"))
    assert "did you mean 'ising'?" in one_line(lossnet("describe", "isign"))
    assert "required: --out" in one_line(lossnet("train", "ising"))


def test_debug_shows_where(lossnet: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSNET_DEBUG", "1")
    with pytest.raises(package.errors.SettingError):
        lossnet("methods", "seal-nec")


def test_interrupt(lossnet: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("lossnet.cli.methods.run", stop)
    result = lossnet("methods")
    assert (result.code, result.err) == (130, "lossnet: interrupted\n")


def test_closed_pipe_is_no_error(lossnet: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_: object) -> int:
        raise BrokenPipeError

    monkeypatch.setattr("lossnet.cli.methods.run", closed)
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    assert lossnet("methods").code == 0

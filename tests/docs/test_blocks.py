"""Every code block of the README and the docs runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pages import BLOCK, PAGES, blocks

from lossnet.recipes import METHODS

HERE = re.compile(r"^\$ cat > (\S+) <<END\n(.*?)^END\n", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.usefixtures("packages")


def each(*languages: str) -> list[object]:
    """The blocks of these languages, each named by its page and line."""
    return [pytest.param(block.code, id=block.place) for block in blocks(*languages)]


def test_there_are_blocks() -> None:
    assert len(each("python")) > 10
    assert len(each("console")) > 2


@pytest.mark.parametrize("code", each("python"))
def test_python_block(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("block")
    monkeypatch.setitem(sys.modules, "block", module)  # dataclasses look their module up
    before = dict(METHODS)
    exec(compile(code, "block", "exec"), vars(module))
    for name in METHODS.keys() - before:  # a page's own recipes stay on their page
        del METHODS[name]


@pytest.mark.parametrize("code", each("console"))
def test_console_block(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that start with ``$ lossnet`` run in order; the others are their output.

    ``$ cat > FILE <<END`` writes the lines up to ``END``. What ``torchrun`` starts runs in this
    process alone: tests/training/test_processes.py and tests/cli/test_cli_torchrun.py run several.
    """
    from lossnet.cli import main

    monkeypatch.chdir(tmp_path)
    code, documents = HERE.sub("", code), HERE.findall(code)
    for name, text in documents:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    commands = [line[2:] for line in code.splitlines() if line.startswith("$ ")]
    assert commands
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "torchrun":
            program, *arguments = arguments[arguments.index("-m") + 1 :]
        assert program == "lossnet"
        assert main(arguments) == 0, command


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        text = re.sub(BLOCK, "", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#]+)", text):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_names_resolve() -> None:
    # In a new process: a module that another test has imported is an attribute of its package.
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    names = sorted({*re.findall(r"`(lossnet(?:\.[A-Za-z_]+)+)", text)})
    assert len(names) > 5
    code = f"import lossnet\nfor name in {names}: eval(name)"
    subprocess.run([sys.executable, "-c", code], check=True)

"""What is printed reaches any terminal, closed ones too, and steers none."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import SMALL, Result, one_line, write_csv

from lossnet.cli import main
from lossnet.cli.terminal import printable

Run = Callable[..., Result]
EVIL = "\x1b]0;owned\x07\x9b31m\u202erain"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m lossnet.cli"
    return subprocess.run(
        ["bash", "-c", command.replace("lossnet", program, 1)], capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("redirection", "message"),
    [(">&-", "standard output is closed"), ("> /dev/full", "No space left on device")],
)
def test_output_that_cannot_be_written(redirection: str, message: str) -> None:
    done = shell(f"lossnet train --help {redirection}")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_closed_streams_that_nobody_needs() -> None:
    assert shell("lossnet train --help 2>&-").returncode == 0
    done = shell("lossnet trian 2>&-")
    assert (done.returncode, done.stdout) == (2, "")
    done = shell("set -o pipefail; lossnet train --help | true")
    assert (done.returncode, done.stderr) == (0, "")


def test_text_on_an_ascii_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("lossnet.cli.methods.run", lambda _: print("F1 62 ± 1, größe, 😀") or 0)
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["methods"]) == 0
    assert written.getvalue() == rb"F1 62 \u00b1 1, gr\u00f6\u00dfe, \ud83d\ude00" + b"\n"
    errors = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(errors, encoding="ascii"))
    assert main(["describe", str(tmp_path / "größe.csv")]) == 2
    assert rb"gr\u00f6\u00dfe.csv" in errors.getvalue()


def test_names_steer_no_terminal(lossnet: Run, tmp_path: Path) -> None:
    data = write_csv(tmp_path / "a.csv", labels=("sun", EVIL))
    results = [
        lossnet("describe", data),
        lossnet("train", data, "--out", tmp_path / "m", *SMALL[:-1]),
        lossnet("predict", tmp_path / "m", data),
        lossnet("evaluate", tmp_path / "m", data),
        lossnet("describe", tmp_path / f"{EVIL}.csv"),
        lossnet("train", data, "--out", tmp_path / "n", "--set", f"{EVIL}=1"),
    ]
    assert [result.code for result in results] == [0, 0, 0, 0, 2, 2]
    for result in results:
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & {*result.out, *result.err}
    assert r"\u001b]0;owned" in results[0].out
    labels = {name for line in results[2].out.splitlines() for name in json.loads(line)["labels"]}
    assert EVIL in labels


def test_a_very_long_message_is_shortened(lossnet: Run, tmp_path: Path) -> None:
    value = "hidden=[" + "a," * 10_000 + "]"
    found = lossnet("train", write_csv(tmp_path / "a.csv"), "--out", tmp_path / "m", "--set", value)
    assert len(one_line(found)) < 2_100


def test_plain_text_is_left_alone() -> None:
    assert printable("a\tb\n± größe 日本 😀") == "a\tb\n± größe 日本 😀"

"""Tasks of other packages: found by their entry points, and no harm where they are broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from lossnet.cli import main
from lossnet.errors import SettingError
from lossnet.tasks.registry import BUILT_IN, names, task_named, tasks


def install(folder: Path, name: str, value: str) -> None:
    """Write what pip would leave of a package with one entry point."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[lossnet.tasks]\n{name} = {value}\n")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module_here:TASK", "cannot be loaded"),
        ("lossnet.tasks.registry:BUILT_IN", "must be a lossnet Task named 'broken'"),
    ],
)
def test_a_broken_task_is_left_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    value: str,
    message: str,
) -> None:
    install(tmp_path, "broken", value)
    monkeypatch.syspath_prepend(tmp_path)
    assert "broken" in names()
    with pytest.raises(SettingError, match=message):
        task_named("broken")
    with pytest.warns(UserWarning, match="it is left out"):
        assert [task.name for task in tasks()] == [*BUILT_IN]
    assert main(["train", "--help"]) == 0
    assert main(["describe", "ising", "--task", "broken"]) == 2
    assert message in capsys.readouterr().err


def test_a_package_cannot_replace_a_built_in_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "image", "no_such_module_here:TASK")
    monkeypatch.syspath_prepend(tmp_path)
    assert type(task_named("image")).__module__ == "lossnet.tasks.image.task"

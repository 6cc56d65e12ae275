"""The results store: what is written, found, resumed, and what damage does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lossnet.errors import DataError, SettingError
from lossnet.reports import DamagedResultWarning, find, has, path_of, record


def put(folder: Path, **changes: Any) -> Path:
    values: dict[str, Any] = {
        "command": "lossnet train bibtex",
        "data": "bibtex",
        "data_checksum": "abc",
        "method": "seal-nce",
        "seed": 0,
        "configuration": {"hidden": 400, "net": {"dropout": 0.5}},
        "metrics": {"example-f1": 0.45},
        "seconds": 1.5,
    }
    return record(folder, **(values | changes))


def test_a_run_is_one_readable_file(tmp_path: Path) -> None:
    path = put(tmp_path, seed=3, tags=["b", "a"])
    assert path.parent == tmp_path / "bibtex" / "seal-nce"
    assert path.name.startswith("3-")
    content = json.loads(path.read_text())
    assert content["command"] == "lossnet train bibtex"
    assert content["tags"] == ["a", "b"]
    assert set(content["versions"]) == {
        "python",
        "lossnet",
        "torch",
        "numpy",
        "scipy",
        "scikit-learn",
    }
    assert content["versions"]["numpy"] == np.__version__
    assert content["threads"] >= 1
    assert content["date"].endswith("+00:00")
    (run,) = find(tmp_path)
    assert run.metrics == {"example-f1": 0.45}
    assert run.configuration == {"hidden": 400, "net": {"dropout": 0.5}}


def test_the_same_run_replaces_itself(tmp_path: Path) -> None:
    put(tmp_path, metrics={"example-f1": 0.4, "map": 0.1})
    put(
        tmp_path,
        metrics={"example-f1": 0.5},
        configuration={"net": {"dropout": 0.5}, "hidden": 400},
    )
    (run,) = find(tmp_path)
    assert run.metrics == {"example-f1": 0.5}
    put(tmp_path, configuration={"hidden": 200})
    put(tmp_path, seed=1)
    put(tmp_path, method="dvn")
    assert len(find(tmp_path)) == 4


def test_numpy_values_and_paths_are_written_plainly(tmp_path: Path) -> None:
    settings = {"lr": np.float64(0.1), "n": np.int64(3), "sizes": (1, 2), "at": Path("x/y")}
    put(tmp_path, configuration=settings, metrics={"map": np.float32(0.5)}, seed=np.int64(2))
    (run,) = find(tmp_path)
    assert run.configuration == {"lr": 0.1, "n": 3, "sizes": [1, 2], "at": "x/y"}
    assert has(tmp_path, data="bibtex", method="seal-nce", seed=2, configuration=settings)
    with pytest.raises(SettingError, match="cannot be written as JSON"):
        put(tmp_path, configuration={"f": object()})
    with pytest.raises(DataError, match="metric 'map' is 'high'"):
        put(tmp_path, metrics={"map": "high"})


def test_undefined_metrics_are_null(tmp_path: Path) -> None:
    path = put(tmp_path, metrics={"map": float("nan"), "example-f1": 1})
    assert json.loads(path.read_text())["metrics"] == {"map": None, "example-f1": 1.0}


def test_has_tells_what_is_left_to_do(tmp_path: Path) -> None:
    put(tmp_path)
    run = {"data": "bibtex", "method": "seal-nce", "seed": 0}
    settings = {"hidden": 400, "net": {"dropout": 0.5}}
    assert has(tmp_path, **run, configuration=settings)
    assert has(tmp_path, **run, configuration=settings, data_checksum="abc")
    assert not has(tmp_path, **run, configuration=settings, data_checksum="other")
    assert not has(tmp_path, **run, configuration={"hidden": 400})
    assert not has(tmp_path, **(run | {"seed": 1}), configuration=settings)
    assert not has(tmp_path / "none", **run, configuration=settings)


def test_find_filters(tmp_path: Path) -> None:
    for seed in (10, 9, 0):
        put(tmp_path, seed=seed, tags=["paper"] if seed else [])
    put(tmp_path, method="dvn", configuration={"hidden": 200})
    put(tmp_path, data="yeast", method="dvn")
    assert [run.seed for run in find(tmp_path, method="seal-nce")] == [0, 9, 10]
    assert len(find(tmp_path, method=["dvn", "spen"])) == 2
    assert len(find(tmp_path, method="dvn", data="yeast")) == 1
    assert len(find(tmp_path, configuration__hidden=200)) == 1
    assert len(find(tmp_path, configuration__net__dropout=0.5)) == 4
    assert len(find(tmp_path, tags="paper")) == 2
    assert find(tmp_path / "none") == []
    with pytest.raises(SettingError, match="did you mean 'method'"):
        find(tmp_path, methods="dvn")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"data": "bibtex"}'])
def test_damage_is_named(tmp_path: Path, content: str) -> None:
    put(tmp_path, seed=1)
    path = put(tmp_path)
    path.write_text(content)
    with pytest.raises(DataError, match=path.name):
        find(tmp_path)
    with pytest.warns(DamagedResultWarning, match=path.name):
        assert [run.seed for run in find(tmp_path, damaged="warn")] == [1]
    settings = {"hidden": 400, "net": {"dropout": 0.5}}
    with pytest.warns(DamagedResultWarning, match=path.name):
        assert not has(tmp_path, data="bibtex", method="seal-nce", seed=0, configuration=settings)
    put(tmp_path)
    assert len(find(tmp_path)) == 2


def test_names_that_are_no_folder_names_stay_inside_and_apart(tmp_path: Path) -> None:
    one = path_of(tmp_path, "../my data/a", "x", 0, {})
    two = path_of(tmp_path, "../my data?a", "x", 0, {})
    assert one != two
    for path in (one, two):
        assert path.resolve().is_relative_to(tmp_path.resolve())
        assert len(path.relative_to(tmp_path).parts) == 3

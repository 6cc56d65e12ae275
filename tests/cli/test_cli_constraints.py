"""Constraints on the command line: those of a file, and those of a config."""

import json

import numpy as np
from cli_helpers import SMALL, one_line

from lossnet.tasks.multilabel import load

HEAD = "@relation r\n@attribute x numeric\n@attribute class hierarchical a,a/b,a/b/c,d\n@data\n"


def hierarchical(write):
    rng = np.random.default_rng(0)
    classes = rng.choice(["a", "a/b", "a/b/c", "d", "a/b/c@d"], size=60)
    rows = [
        f"{value:.3f},{name}\n" for value, name in zip(rng.normal(size=60), classes, strict=True)
    ]
    return write("tree.arff", HEAD + "".join(rows))


def labels_of(result) -> list[set[str]]:
    return [set(json.loads(line)["labels"]) for line in result.out.splitlines()]


def test_a_file_s_hierarchy_applies_by_itself(lossnet, write, tmp_path) -> None:
    data, model = hierarchical(write), tmp_path / "model"
    # Every other label alone would be on: its probability is above the threshold.
    assert lossnet("train", data, "--out", model, *SMALL, "--method", "cross-entropy").code == 0
    for threshold in ("0.2", "0.35", "0.5"):
        found = labels_of(lossnet("predict", model, data, "--threshold", threshold))
        assert len(found) == 60
        assert all("a" in row for row in found if "a/b" in row)
        assert all("a/b" in row for row in found if "a/b/c" in row)
    report = json.loads(lossnet("evaluate", model, data, "--split", "all", "--json").out)
    assert "example-f1" in json.dumps(report)


def test_rules_in_settings(lossnet, csv_file, tmp_path) -> None:
    model, config = tmp_path / "model", tmp_path / "config.yaml"
    config.write_text("constraints: [{at_most_one: [sun, rain]}, {at_least_one: [sun, rain]}]\n")
    run = lossnet("train", csv_file, "--out", model, "--config", config, *SMALL)
    assert run.code == 0
    assert "training rows break the constraints; predictions never do" in run.err + run.out
    found = labels_of(lossnet("predict", model, csv_file))
    assert {len(row) for row in found} == {1}
    both = load(csv_file).Y.sum(1)
    assert set(both.tolist()) == {0, 1, 2}
    rows = lossnet("evaluate", model, csv_file, "--split", "all")
    assert rows.code == 0
    setting = "constraints=[{implies: [sun, snow]}]"
    failed = lossnet("train", csv_file, "--out", tmp_path / "b", *SMALL[:-1], setting, "--quiet")
    assert "unknown label 'snow'" in one_line(failed)
    failed = lossnet("train", csv_file, "--out", tmp_path / "b", *SMALL[:-1], "constraints=sun")
    assert "constraints must be a list of rules" in one_line(failed)

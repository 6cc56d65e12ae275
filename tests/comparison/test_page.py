"""The page of a comparison: what it says, what it leaves out, and that it escapes every name."""

from __future__ import annotations

import html.parser
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_comparisons import EVIL, a_comparison, of_labels, of_masks, of_tags, with_failures

from lossnet.comparison import Comparison
from lossnet.comparison.answer import answer
from lossnet.comparison.blocks import Table
from lossnet.comparison.page import comparison_page, write_page
from lossnet.comparison.rendering import MissingTemplatesError, render
from lossnet.comparison.standing import Standing, method_differences
from lossnet.tasks.details import Details

VOID = {"meta", "link", "img", "br"}


class Balanced(html.parser.HTMLParser):
    """Raises on an end tag without its start tag; keeps texts and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page_of(comparison: Comparison) -> Balanced:
    return Balanced(render(comparison_page(comparison)))


def sections(comparison: Comparison) -> list[str]:
    return [section.key for section in comparison_page(comparison).sections]


def said(comparison: Comparison) -> str:
    return " ".join(answer(Standing(comparison)))


@pytest.mark.parametrize("make", [of_labels, of_tags, of_masks])
def test_it_is_one_file_that_fetches_nothing(make, tmp_path: Path) -> None:
    path = write_page(with_failures(make()), tmp_path / "new" / "folder")
    assert path.name == "report.html"
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    found = Balanced(path.read_text(encoding="utf-8"))
    for tag, attributes in found.tags:
        for name in ("src", "href"):
            address = attributes.get(name)
            assert address is None or address.startswith(("#", "data:")), (tag, address)
    assert "url(" not in path.read_text(encoding="utf-8")


def test_every_name_is_escaped() -> None:
    for comparison in (with_failures(of_labels(evil=True)), of_tags(evil=True)):
        found = page_of(comparison)
        assert [tag for tag, _ in found.tags].count("script") == 1
        assert any(EVIL in text for text in found.texts)
        assert not any(EVIL in text for text in found.texts if "addEventListener" in text)


def test_names_of_data_command_and_notes_are_escaped() -> None:
    named = {"data": EVIL, "command": EVIL, "notes": [EVIL], "about": EVIL, "measured_how": EVIL}
    found = page_of(replace(of_labels(), **named, versions={EVIL: EVIL}, main="example-f1"))
    assert [tag for tag, _ in found.tags].count("script") == 1
    assert sum(EVIL in text for text in found.texts) >= 6


def test_sections_without_data_are_left_out() -> None:
    assert " ".join(sections(with_failures(of_labels()))) == (
        "results differences cost curves calibration groups examples energies failures repeat"
    )
    some = "results differences cost curves groups examples repeat"
    assert " ".join(sections(of_tags())) == some
    runs = [replace(run, details=Details(), history=[], energy=None) for run in of_labels().runs]
    assert sections(a_comparison(runs, None)) == ["results", "cost", "repeat"]


def test_one_run_has_no_differences() -> None:
    comparison = a_comparison(of_labels().runs[:1], of_labels().examples)
    assert "differences" not in sections(comparison)
    assert re.match(
        r"cross-entropy has example-f1 \d\d\.\d % on the test part\.$", said(comparison)
    )


def test_without_runs_it_says_so() -> None:
    nothing = with_failures(replace(of_labels(), runs=[]))
    assert "No run finished" in said(nothing)
    assert sections(nothing) == ["failures", "repeat"]
    page_of(nothing)


def test_the_answer_says_which_is_best_by_how_much_and_whether_it_is_real() -> None:
    comparison = of_labels(seeds=5)
    found = method_differences(comparison)["dvn"]
    text = said(comparison)
    assert text.startswith("dvn is best on the test part: example-f1")
    assert f"{100 * found.mean:.1f} points above cross-entropy" in text
    assert found.real
    assert "The difference is real" in text
    assert "Training dvn takes 12 seconds a run, 0.54 times as long" in text
    assert "predicts 1.9 times as fast" in text
    runs = [
        replace(r, predictions_per_second=9.0 if r.method == "dvn" else 999.0)
        for r in comparison.runs
    ]
    assert "predicts 111 times more slowly" in said(replace(comparison, runs=runs))


def test_the_answer_where_the_reference_is_best_or_missing_or_has_one_seed() -> None:
    comparison = replace(of_labels(seeds=5), reference="dvn")
    assert "and it is the reference. The next, seal-nce, is" in said(comparison)
    assert "no finished run" in said(replace(of_labels(), reference="spen"))
    one = said(of_labels(seeds=1))
    assert "with other seeds it may not" in one or "other examples could reverse it" in one
    assert "1 run failed and 1 run did not fit in the budget" in said(with_failures(of_labels()))


def test_a_difference_that_may_be_chance_is_called_so() -> None:
    comparison = of_labels(("a", "b"), seeds=3)
    runs = [
        replace(run, details=replace(run.details, scores=noise(run.seed, run.method)))
        for run in comparison.runs
    ]
    assert "It may be chance" in said(replace(comparison, runs=runs))


def noise(seed: int, method: str) -> dict[str, np.ndarray]:
    return {"example-f1": np.random.default_rng([seed, ord(method[0])]).random(120)}


def test_a_baseline_without_randomness_counts_under_every_seed() -> None:
    comparison = of_labels(seeds=3)
    found = method_differences(comparison)["logistic-regression"]
    assert found.seeds == (0, 1, 2)
    # One that lacks runs is paired by what it has.
    failed = with_failures(comparison).failures[0]
    missing = [replace(failed, method="logistic-regression", seed=1, outside=True)]
    assert method_differences(replace(comparison, failures=missing))[
        "logistic-regression"
    ].seeds == (0,)


def test_intervals_of_fractions_end_at_one() -> None:
    comparison = of_labels(("a", "b"), seeds=2, baseline=None)
    wild = [
        replace(r, details=Details({"example-f1": np.full(3, float(r.method == "a") * r.seed)}))
        for r in comparison.runs
    ]
    found = method_differences(replace(comparison, runs=wild))["b"]
    assert (found.low, found.high) == (-1.0, 1.0)
    assert not found.real


def test_counts_of_spans_are_judged_by_their_ratio() -> None:
    comparison = of_tags()
    found = method_differences(comparison)["crf"]
    values = {
        name: np.mean([run.metrics["span-f1"] for run in comparison.of(name)])
        for name in comparison.methods
    }
    assert found.mean == pytest.approx(values["crf"] - values["cross-entropy"])
    assert found.examples == 8


def test_undefined_metrics_and_arrays_are_no_error() -> None:
    comparison = of_labels()
    odd = []
    for run in comparison.runs:
        scores = {"example-f1": np.full(120, np.nan)}
        groups = {"label 0": {"f1": None, "count": 3.0}}
        details = replace(run.details, scores=scores, groups=groups)
        energy = run.energy and replace(
            run.energy,
            energy=np.full_like(run.energy.energy, np.nan),
            rank_correlation=float("nan"),
            ties=np.full_like(run.energy.ties, np.nan),
        )
        odd.append(replace(run, details=details, energy=energy, predictions_per_second=np.nan))
    page_of(replace(comparison, runs=odd))


def test_results_are_sorted_and_the_best_marked() -> None:
    (table,) = comparison_page(of_labels()).sections[0].blocks
    assert isinstance(table, Table)
    assert [row[0].text for row in table.rows] == [
        "dvn",
        "seal-nce",
        "cross-entropy",
        "logistic-regression",
    ]
    assert [row[1].best for row in table.rows] == [True, False, False, False]
    assert "map" not in table.columns  # no run has it


def test_many_labels_are_cut_to_the_most_frequent() -> None:
    section = next(s for s in comparison_page(of_labels(labels=140)).sections if s.key == "groups")
    (table,) = section.blocks
    assert isinstance(table, Table)
    assert len(table.rows) == 100
    assert "the 100 most frequent of 140" in table.caption


def test_of_many_methods_the_best_and_the_reference_are_shown() -> None:
    comparison = of_labels([f"method {k}" for k in range(5)] * 2, seeds=1, baseline=None)
    names = [f"m{k}" for k in range(10)]
    runs = [replace(run, method=name) for run, name in zip(comparison.runs, names, strict=True)]
    comparison = a_comparison(runs, comparison.examples, reference="m0")
    section = next(s for s in comparison_page(comparison).sections if s.key == "examples")
    shown = {
        name
        for example in section.blocks[0].examples
        for o in example.outputs
        for name in o.name.split(", ")
    }
    assert len(shown - {"truth"}) == 6
    assert "m0" in shown


def test_examples_are_those_whose_shown_outputs_differ_most() -> None:
    comparison = of_labels(("a", "b"), seeds=3, baseline=None)
    scores = {(run.method, run.seed): run.details.scores["example-f1"] for run in comparison.runs}
    apart = np.abs(np.mean([scores["a", s] - scores["b", s] for s in range(3)], axis=0))
    apart[scores["a", 0] == scores["b", 0]] = 0
    section = next(s for s in comparison_page(comparison).sections if s.key == "examples")
    shown = section.blocks[0].examples
    expected = np.argsort(-apart, kind="stable")[:8]
    assert [example.title for example in shown] == [f"row {k}" for k in expected]
    for example, k in zip(shown, expected, strict=True):
        found = {output.name: output.score for output in example.outputs[1:]}
        assert found == {m: f"({100 * scores[m, 0][k]:.0f})" for m in ("a", "b")}


def test_equal_methods_are_named_together() -> None:
    one = of_labels(seeds=2, baseline=None)
    same = [replace(run, method="twin") for run in one.of("dvn")]
    text = said(replace(one, runs=[*one.runs, *same], methods=[*one.methods, "twin"]))
    assert "the same as twin, " in text


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingTemplatesError, match=r"jinja2 and pillow.*lossnet\[report\]"):
        render(comparison_page(of_labels()))


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(ValueError, match="cannot write"):
        write_page(of_masks(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]

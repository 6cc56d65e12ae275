"""The papers' tables as data: complete rows, known methods, data sets, columns and reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from lossnet import SequenceTagger
from lossnet.papers import FIGURES, TABLES
from lossnet.papers.data_sets import DATA_SETS
from lossnet.papers.report import difference
from lossnet.papers.runs import cells
from lossnet.papers.settings import (
    KINDS,
    Kind,
    configuration,
    estimator_of,
    few_updates,
    same,
    usual_configuration,
)
from lossnet.papers.table import Printed, Table
from lossnet.recipes import METHODS
from lossnet.tasks.registry import BUILT_IN


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_rows_and_columns_fit(table: Table) -> None:
    labels = [row.label for row in table.rows]
    assert len(set(labels)) == len(labels)
    printed = [column.printed for column in table.columns]
    assert len(set(printed)) == len(printed)
    assert {column.data for column in table.columns} <= DATA_SETS.keys()
    for row in table.rows:
        assert row.method is None or row.method in METHODS
        assert len(row.numbers.split()) in (0, len(table.columns)), row.printed
        for column, text in zip(table.columns, row.numbers.split(), strict=False):
            assert (table.number(row, column) is None) == (text == "-")
    assert {row for row, _ in table.why} <= set(labels)
    assert {column for _, column in table.why} <= set(printed)
    places = {(one.row, one.column, one.words) for one in table.changes}
    assert len(places) == len(table.changes)
    assert {row for row, *_ in places} <= set(labels)
    assert {column for _, column, _ in places} <= set(printed)
    for text in (table.protocol, table.ours, *table.why.values()):
        assert not text.endswith(".") or text in table.why.values()


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_every_cell_has_settings_that_work(table: Table) -> None:
    for row, column in cells(table):
        for kind in KINDS:
            model = estimator_of(row, column, kind, Path("data"))
            assert model is not None or kind.which == "preset"
            if model is not None:
                model._check_settings()
                assert model.preset is None


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_every_change_changes_a_setting_that_works(table: Table) -> None:
    for change in table.changes:
        kind = Kind("preset", change.schedule)
        pairs = [table.cell(change.row, change.column), table.changed(change)]
        models = [estimator_of(*pair, kind, Path("data")) for pair in pairs]
        before, after = (configuration(model) for model in models)
        assert before != after or change.data
        models[1]._check_settings()


def test_names_are_distinct_and_data_has_a_task() -> None:
    assert not TABLES.keys() & FIGURES.keys()
    assert {data.task for data in DATA_SETS.values()} <= set(BUILT_IN)
    for figure in FIGURES.values():
        assert set(figure.data) <= DATA_SETS.keys()


def test_numbers_as_printed() -> None:
    table = TABLES["seal-table1"]
    rows = {row.label: row for row in table.rows}
    columns = {column.printed: column for column in table.columns}
    assert table.number(rows["seal-nce"], columns["cal500"]) == Printed(41.62, 0.80)
    assert table.number(rows["dvn"], columns["spo_fun"]) == Printed(29.35, 0.31)


def test_few_updates() -> None:
    few = few_updates
    assert few({"energy_steps": 60, "task_steps": 5}) == {"energy_steps": 4, "task_steps": 1}
    assert few({"energy_steps": 1, "task_steps": 10}) == {"energy_steps": 1, "task_steps": 4}
    assert few({"energy_steps": 2, "task_steps": 1}) == {"energy_steps": 2, "task_steps": 1}
    assert few({"task_steps": 1, "samples": 7}) == {"task_steps": 1, "samples": 7}
    assert few({}) == {}
    assert few({"net_steps": 5}) == {"net_steps": 4}
    assert few({"energy_steps": 12, "task_steps": 7}) == {"energy_steps": 1, "task_steps": 1}


def test_settings_that_were_added_since_count_at_their_default() -> None:
    stored = {"lr": 1, "part": {"a": 2}}
    usual = {"lr": 5, "part": {"a": 1, "b": 0}, "new": None}
    assert same(stored, {"lr": 1, "part": {"a": 2, "b": 0}, "new": None}, usual)
    assert not same(stored, {"lr": 1, "part": {"a": 2, "b": 3}}, usual)
    assert not same(stored, {"lr": 2, "part": {"a": 2}}, usual)
    assert not same(stored, {"lr": 1}, usual)
    assert not same(stored, {"lr": 1, "part": {"a": 2}, "unheard-of": 1}, usual)


def test_a_default_that_changed_does_not_stand_for_what_was_done_before() -> None:
    chain, independent = SequenceTagger("seal-nce"), SequenceTagger("seal-nce", chain=False)
    stored = {k: v for k, v in configuration(independent).items() if k != "chain"}
    assert same(stored, configuration(independent), usual_configuration(independent))
    assert not same(stored, configuration(chain), usual_configuration(chain))


def test_differences_in_pooled_deviations() -> None:
    paper = Printed(40.0, 1.0)
    assert difference([], paper, 10) == ""
    assert difference([42.0], paper, 10) == "+2.0 (one seed)"
    # ((3 - 1) * 1 + (10 - 1) * 1) / 11 = 1.
    assert difference([41.0, 42.0, 43.0], paper, 10) == "+2.0 (+2.0 dev.)"
    # (2 * 4 + 9 * 1) / 11 = 1.545, its root 1.243.
    assert difference([40.0, 42.0, 44.0], paper, 10) == "+2.0 (+1.6 dev.)"
    assert difference([41.0, 42.0, 43.0], Printed(40.0, None), None) == "+2.0 (+2.0 dev. of ours)"
    assert difference([41.0], None, 10) == ""

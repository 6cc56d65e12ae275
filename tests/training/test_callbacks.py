"""Callbacks: what they are told, how they end training, and what a resumed fit knows of them."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from small_runs import exact_match, make_nets, make_trainer, rows, same, weights

from lossnet import (
    Callback,
    ImageSegmenter,
    MultiLabelClassifier,
    SemanticRoleLabeler,
    SequenceTagger,
    StructuredClassifier,
    StructuredTagger,
    TextClassifier,
)
from lossnet.errors import DataError, SettingError
from lossnet.recipes import build
from lossnet.training import HistoryFile, TensorBoard, resume, save_checkpoint

X, Y = rows(60)


class Told(Callback):
    """Keeps the order of what it is told."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def on_start(self, trainer) -> None:
        self.calls.append(f"start {len(trainer.history)}")

    def on_batch(self, trainer, losses: Mapping[str, float]) -> None:
        assert losses.keys() == {"task"}
        self.calls.append("batch")

    def on_epoch(self, trainer) -> None:
        self.calls.append(f"epoch {len(trainer.history)}")

    def on_end(self, trainer) -> None:
        self.calls.append("end")


class Counting(Callback):
    """Calls ``trainer.stop()``, or another method, at the n-th batch of all sessions."""

    def __init__(self, at: int, what: str = "stop") -> None:
        self.at, self.what, self.batches = at, what, 0

    def on_batch(self, trainer, losses) -> None:
        self.batches += 1
        if self.batches == self.at:
            getattr(trainer, self.what)()

    def state_dict(self) -> dict[str, Any]:
        return {"batches": self.batches}

    def load_state_dict(self, state) -> None:
        self.batches = state["batches"]


def fitted(*callbacks: Callback, method: str = "cross-entropy", **params: Any):
    settings = {"hidden": (4,), "max_epochs": 2, "batch_size": 20, "validation_fraction": 0.0}
    model = MultiLabelClassifier(method, random_state=0, **(settings | params))
    return model.fit(X, Y, callbacks=callbacks)


def test_callbacks_are_called_in_order() -> None:
    told = Told()
    fitted(told)
    batches = ["batch"] * 3
    assert told.calls == ["start 0", *batches, "epoch 1", *batches, "epoch 2", "end"]


def test_without_an_answer_they_change_nothing() -> None:
    np.testing.assert_array_equal(fitted(Told()).predict_proba(X), fitted().predict_proba(X))


def test_stop_within_an_epoch_keeps_what_was_trained() -> None:
    stopped = fitted(Counting(2), max_epochs=5).history_
    whole = fitted(max_epochs=1, batch_size=20).history_
    assert len(stopped) == 1
    assert stopped[0]["loss/task"] != whole[0]["loss/task"]
    # The row is the mean over the batches that ran.
    losses: list[float] = []
    recorded = Callback()
    recorded.on_batch = lambda trainer, own: losses.append(own["task"])
    fitted(recorded, max_epochs=1)
    assert stopped[0]["loss/task"] == pytest.approx(np.mean(losses[:2]))


def test_stop_keeps_the_best_weights() -> None:
    nets = make_nets(build("seal-nce"))
    trainer = make_trainer(build("seal-nce"), nets=nets, score=exact_match(nets), max_epochs=9)
    trainer.callbacks.append(Counting(8))
    trainer.run()
    assert len(trainer.history) == 3
    assert exact_match(nets)(trainer.phase.predict) == max(r["metric"] for r in trainer.history)


@pytest.mark.parametrize(
    ("what", "epochs"), [("stop", [1, 1, 1]), ("end_phase", [1, 4, 4])], ids=["stop", "end_phase"]
)
def test_every_phase_has_an_epoch(what, epochs) -> None:
    history = fitted(Counting(1, what), method="seal-static-nce", max_epochs=4).history_
    phases = [row["phase"] for row in history]
    assert [phases.count(name) for name in dict.fromkeys(phases)] == epochs


@pytest.mark.parametrize("batch", [1, 4])
def test_a_resumed_fit_knows_the_state_of_its_callbacks(tmp_path, batch) -> None:
    def trainer_of(*callbacks: Callback):
        options = {"max_epochs": 3, "callbacks": list(callbacks)}
        return make_trainer(build("seal-static-nce"), **options)

    class Kept(Callback):
        def on_epoch(self, trainer) -> None:
            save_checkpoint(tmp_path / str(len(trainer.history)), trainer, {})

    whole = trainer_of(Counting(batch), Kept())
    whole.run()
    files = sorted(tmp_path.iterdir())
    assert len(files) == len(whole.history) >= 3
    for file in files:
        resumed = trainer_of(Counting(batch))
        resume(file, resumed, {})
        resumed.run()
        assert len(resumed.history) == len(whole.history)
        assert all(same(own, weights(whole)[name]) for name, own in weights(resumed).items())


def test_a_state_that_json_cannot_hold_is_refused(tmp_path) -> None:
    state = Callback()
    state.state_dict = lambda: {"array": np.zeros(2)}
    trainer = make_trainer(build("cross-entropy"), callbacks=[state])
    with pytest.raises(SettingError, match="state_dict of the callback Callback must hold"):
        save_checkpoint(tmp_path / "c", trainer, {})


ESTIMATORS = [
    MultiLabelClassifier,
    ImageSegmenter,
    SequenceTagger,
    SemanticRoleLabeler,
    TextClassifier,
    StructuredClassifier,
    StructuredTagger,
]


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Told(), "must be a list of lossnet.Callback objects, got a Told"),
        ([Told], "must be objects, got the class Told"),
        ([print], "derive its class from lossnet.Callback"),
    ],
)
def test_anything_else_is_refused_before_data_are_read(kind, given, message) -> None:
    model = kind(base=None) if "Structured" in kind.__name__ else kind()
    with pytest.raises(SettingError, match=message):
        model.fit(None, callbacks=given)


def test_history_files_hold_every_epoch_once(tmp_path) -> None:
    files = [tmp_path / "sub" / "h.csv", tmp_path / "h.jsonl"]
    model = fitted(*map(HistoryFile, files), method="seal-static-nce")
    lines = [json.loads(line) for line in files[1].read_text().splitlines()]
    assert lines == model.history_
    table = list(csv.DictReader(files[0].open(newline="")))
    assert {*table[0]} == {name for row in model.history_ for name in row}
    for found, row in zip(table, model.history_, strict=True):
        assert {k: v for k, v in found.items() if v} == {k: str(v) for k, v in row.items()}
    # A later session replaces the file by its own history.
    again = fitted(HistoryFile(files[1]))
    assert [json.loads(line) for line in files[1].read_text().splitlines()] == again.history_


def test_a_history_file_that_cannot_be_written_ends_the_fit_at_once(tmp_path) -> None:
    (tmp_path / "file").touch()
    told = Told()
    with pytest.raises(DataError, match="cannot write"):
        fitted(told, HistoryFile(tmp_path / "file" / "h.csv"))
    assert told.calls == ["start 0", "end"]
    with pytest.raises(SettingError, match=r"must end in .csv or .jsonl, got 'h.txt'"):
        HistoryFile("h.txt")


def scalars(folder) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder)).Reload()
    return {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def test_tensorboard_holds_the_history_also_of_a_resumed_fit(tmp_path) -> None:
    pytest.importorskip("tensorboard")
    board, file = tmp_path / "board", tmp_path / "c"

    class Killed(Callback):
        def on_epoch(self, trainer) -> None:
            if len(trainer.history) == 1:
                save_checkpoint(file, trainer, {})
            if len(trainer.history) == 2:
                raise KeyboardInterrupt

    first = make_trainer(build("seal-nce"), callbacks=[TensorBoard(board), Killed()])
    with pytest.raises(KeyboardInterrupt):
        first.run()
    second = make_trainer(build("seal-nce"), callbacks=[TensorBoard(board)])
    resume(file, second, {})
    history = second.run()
    found = scalars(board)
    assert found.keys() == history[0].keys() - {"phase", "epoch"}
    for tag, points in found.items():
        expected = [(n, row[tag]) for n, row in enumerate(history, 1)]
        assert [step for step, _ in points] == [n for n, _ in expected]
        assert [v for _, v in points] == pytest.approx([v for _, v in expected], rel=1e-6)


def test_a_missing_tensorboard_says_what_to_install(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(SettingError, match=r"run pip install 'lossnet\[track\]'"):
        TensorBoard(tmp_path)


def test_a_board_that_cannot_be_written_is_an_error_in_words(tmp_path) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"for TensorBoard.*choose a folder"):
        fitted(TensorBoard(tmp_path / "file" / "board"))

"""What is said of the time that training takes."""

from itertools import count
from types import SimpleNamespace

import pytest
from small_runs import exact_match, make_nets, make_trainer, same, weights

from lossnet.recipes import build
from lossnet.training import Callback, Duration, progress


@pytest.fixture
def clock(monkeypatch) -> None:
    """Two seconds a batch: the clock is read before and after three of them."""
    ticks = count(0.0, 6.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))


def test_a_long_fit_says_how_long_after_its_first_batches(clock, capsys) -> None:
    method = build("cross-entropy")
    trainer = make_trainer(method, batch_size=5, max_epochs=30, callbacks=[Duration()])
    seen: list[str] = []
    told = Callback()
    told.on_batch = lambda trainer, losses: seen.append(capsys.readouterr().err)
    trainer.callbacks.append(told)
    trainer.run()
    # 10 batches of 2 seconds, 30 times.
    phase = method.phases[0].name
    said = f"{phase}: up to 10 minutes for 30 epochs, without validation\n"
    assert seen[:5] == ["", "", "", said, ""]
    assert not any(seen[4:])


def test_validation_is_counted_after_the_first_epoch(capsys) -> None:
    method = build("cross-entropy")
    nets = make_nets(method)
    settings = {"nets": nets, "score": exact_match(nets), "batch_size": 5, "max_epochs": 2}
    make_trainer(method, callbacks=[Duration(long=0.0)], **settings).run()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(", ")[1] for line in lines] == [
        "without validation; early stopping may end it sooner",
        "with validation; early stopping may end it sooner",
    ]


def test_short_epochs_and_short_fits(capsys) -> None:
    make_trainer(build("cross-entropy"), callbacks=[Duration(long=0.0)]).run()
    assert capsys.readouterr().err.count("without validation\n") == 1
    make_trainer(build("cross-entropy"), callbacks=[Duration()]).run()
    assert capsys.readouterr().err == ""


def test_weights_are_as_without(capsys) -> None:
    runs = [make_trainer(build("seal-nce"), callbacks=c) for c in ([], [Duration(long=0.0)])]
    for run in runs:
        run.run()
    for name in runs[0].nets:
        assert same(weights(runs[0])[name], weights(runs[1])[name])


def test_verbose_estimators_say_it(monkeypatch, capsys) -> None:
    from lossnet import MultiLabelClassifier
    from lossnet.tasks.multilabel import load_splits

    splits = load_splits("ising")
    monkeypatch.setattr(Duration.__init__, "__kwdefaults__", {"long": 0.0})
    for verbose in (1, 0):
        model = MultiLabelClassifier("cross-entropy", max_epochs=1, verbose=verbose)
        model.fit(splits.train.X, splits.train.Y)
        assert ("up to 0 seconds for 1 epochs" in capsys.readouterr().err) == bool(verbose)

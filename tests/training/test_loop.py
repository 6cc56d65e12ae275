"""The training loop: stopping, restoring, learning rates, errors before the first step."""

from itertools import chain, repeat

import pytest
import torch
from small_runs import data, make_net, make_nets, make_trainer, same, weights
from torch import nn

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts import Margin
from lossnet.errors import SettingError
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Compare, Judge
from lossnet.proposals import GBI, NetOutput, Samples
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.terms import CrossEntropy, Weighted
from lossnet.training import Callback, predict

XENT = Judge((Weighted(1.0, CrossEntropy()),))


class Recorder(Callback):
    """A callback that keeps the weights and learning rates after every epoch."""

    def __init__(self) -> None:
        self.weights, self.rates, self.batches, self.ended = [], [], [], 0

    def on_batch(self, trainer, losses) -> None:
        self.batches.append(dict(losses))

    def on_epoch(self, trainer) -> None:
        self.weights.append(weights(trainer))
        self.rates.append([o.lr for o in trainer.optimisers])

    def on_end(self, trainer) -> None:
        self.ended += 1


def scripted(values):
    """A score that returns these values in turn, then the last one for ever."""
    stream = chain(values, repeat(values[-1]))
    return lambda proposal: next(stream)


def test_stops_after_patience_and_restores_the_best_weights() -> None:
    recorder = Recorder()
    trainer = make_trainer(
        build("cross-entropy"),
        score=scripted([0.1, 0.5, 0.4, 0.5, 0.2, 0.9]),
        patience=3,
        max_epochs=20,
        callbacks=[recorder],
    )
    history = trainer.run()
    assert [row["metric"] for row in history] == [0.1, 0.5, 0.4, 0.5, 0.2]  # a tie is no gain
    assert [row["epoch"] for row in history] == [1, 2, 3, 4, 5]
    assert same(weights(trainer)["task"], recorder.weights[1]["task"])
    assert not same(weights(trainer)["task"], recorder.weights[-1]["task"])
    assert recorder.ended == 1


def test_epochs_before_the_first_hit_count_for_nothing() -> None:
    recorder = Recorder()
    settings = {"patience": 2, "max_epochs": 20, "callbacks": [recorder]}
    trainer = make_trainer(
        build("cross-entropy"), score=scripted([0.0] * 6 + [0.3, 0.2]), **settings
    )
    assert [row["metric"] for row in trainer.run()] == [0.0] * 6 + [0.3, 0.2, 0.2]
    assert same(weights(trainer)["task"], recorder.weights[6]["task"])
    # Without any hit the last weights are kept, not those of the first epoch.
    recorder = Recorder()
    settings |= {"max_epochs": 5, "callbacks": [recorder]}
    trainer = make_trainer(build("cross-entropy"), score=scripted([0.0]), **settings)
    assert len(trainer.run()) == 5
    assert same(weights(trainer)["task"], recorder.weights[-1]["task"])


def test_every_trained_net_is_restored() -> None:
    recorder = Recorder()
    trainer = make_trainer(
        build("seal-nce", {"samples": 3, "energy_steps": 1}),
        score=scripted([0.1, 0.5, 0.4]),
        patience=2,
        callbacks=[recorder],
        max_epochs=9,
    )
    trainer.run()
    for net in ("task", "energy"):
        assert same(weights(trainer)[net], recorder.weights[1][net])


def test_every_phase_stops_by_itself() -> None:
    trainer = make_trainer(
        build("spen", {"inference": {"steps": 1}}),
        score=scripted([0.9, 0.1, 0.1, 0.2, 0.3, 0.1, 0.1]),
        patience=2,
        max_epochs=10,
    )
    epochs = [(row["phase"], row["epoch"]) for row in trainer.run()]
    first = [("pretrain task", e) for e in (1, 2, 3)]
    assert epochs == [*first, *(("spen", e) for e in (1, 2, 3, 4))]


def test_without_a_score_every_epoch_runs_and_the_last_weights_stay() -> None:
    recorder = Recorder()
    trainer = make_trainer(build("cross-entropy"), max_epochs=4, patience=1, callbacks=[recorder])
    history = trainer.run()
    assert len(history) == 4
    assert "metric" not in history[0]
    assert same(weights(trainer)["task"], recorder.weights[-1]["task"])


def test_learning_rates_halve_on_a_plateau() -> None:
    update = Update("task", XENT, optimiser=Optimiser(lr=0.04, plateau=2))
    recorder = Recorder()
    trainer = make_trainer(
        Method("mine", (Phase((update,)),)),
        score=scripted([0.5, 0.4, 0.4, 0.6, 0.1, 0.1, 0.1, 0.1]),
        max_epochs=8,
        callbacks=[recorder],
    )
    trainer.run()
    rates = [rate for (rate,) in recorder.rates]
    assert rates == [0.04, 0.04, 0.02, 0.02, 0.02, 0.01, 0.01, 0.005]


def test_learning_rates_stay_without_a_plateau() -> None:
    recorder = Recorder()
    trainer = make_trainer(
        Method("mine", (Phase((Update("task", XENT, optimiser=Optimiser(lr=0.04)),)),)),
        score=scripted([0.5]),
        max_epochs=6,
        callbacks=[recorder],
    )
    trainer.run()
    assert recorder.rates == [[0.04]] * 6


def test_a_phase_may_watch_its_own_loss() -> None:
    """The validation loss is the objective's mean in eval mode, and the lowest one is kept."""
    update = Update("energy", Compare(Margin(), NetOutput()), optimiser=Optimiser(lr=0.2))
    pretrain = Phase((Update("task", XENT),), name="first")
    method = Method("mine", (pretrain, Phase((update,), monitor="loss", name="second")))
    recorder = Recorder()
    held_out = data(30, seed=4)
    trainer = make_trainer(
        method,
        score=lambda proposal: 0.0,
        validation=held_out,
        callbacks=[recorder],
        patience=3,
        max_epochs=12,
    )
    history = trainer.run()
    rows = [row for row in history if row["phase"] == "second"]
    values = [row["validation_loss"] for row in rows]
    assert all("metric" not in row for row in rows)
    assert len(rows) >= 4
    best = min(range(len(values)), key=values.__getitem__)
    assert best < len(values) - 1  # it was not simply the last
    kept = recorder.weights[len(history) - len(rows) + best]
    assert same(weights(trainer)["energy"], kept["energy"])
    for net in trainer.nets.values():
        net.eval()
    context = Context(trainer.nets, held_out.batch(torch.arange(30)), Binary())
    loss = update.objective(context).mean().item()
    assert values[best] == pytest.approx(loss, rel=1e-5)


def test_history_and_batch_losses() -> None:
    recorder = Recorder()
    trainer = make_trainer(
        build("seal-nce", {"samples": 3, "energy_steps": 2}), max_epochs=2, callbacks=[recorder]
    )
    history = trainer.run()
    assert len(recorder.batches) == 2 * 3  # 50 rows in batches of 20
    for number, row in enumerate(history):
        assert row["phase"] == "seal-nce"
        assert row["seconds"] > 0
        for net in ("task", "energy"):
            of_epoch = [batch[net] for batch in recorder.batches[3 * number : 3 * number + 3]]
            assert row[f"loss/{net}"] == pytest.approx(sum(of_epoch) / 3)


def test_the_first_loss_is_the_objective_of_the_first_batch() -> None:
    """Without dropout, one batch: cross-entropy summed over labels, mean over rows."""
    method = build("cross-entropy")
    nets = make_nets(method, dropout=0.0)
    source = data(20)
    batch = source.batch(torch.arange(20))
    with torch.no_grad():
        expected = nn.functional.binary_cross_entropy_with_logits(
            nets["task"](batch.x), batch.target, reduction="sum"
        )
    history = make_trainer(method, nets=nets, data=source, max_epochs=1).run()
    assert history[0]["loss/task"] == pytest.approx(expected.item() / 20, rel=1e-5)


def test_gradients_are_clipped() -> None:
    """A step of AdamW without decay is lr times the sign at first; with a tiny clip it is not."""
    moved = []
    for clip in (None, 1e-12):
        update = Update("task", XENT, optimiser=Optimiser(lr=0.1, weight_decay=0.0, clip=clip))
        trainer = make_trainer(Method("mine", (Phase((update,)),)), data=data(20), max_epochs=1)
        start = weights(trainer)["task"]["label_embeddings"]
        trainer.run()
        moved.append((weights(trainer)["task"]["label_embeddings"] - start).abs().max().item())
    assert moved[0] == pytest.approx(0.1, rel=1e-3)
    assert moved[1] < 1e-3


def test_frozen_parameters_of_a_trained_net_stay() -> None:
    method = build("seal-nce", {"samples": 3, "energy_steps": 1})
    nets = make_nets(method)
    nets["task"].features.requires_grad_(False)
    nets["energy"].global_bias.requires_grad_(False)
    trainer = make_trainer(method, nets=nets)
    start = weights(trainer)
    trainer.run()
    end = weights(trainer)
    for net, name in (("task", "features.layers.0.weight"), ("energy", "global_bias")):
        assert torch.equal(start[net][name], end[net][name])
    for net in ("task", "energy"):
        name = "label_embeddings"
        assert not torch.equal(start[net][name], end[net][name])


def frozen_nets() -> dict[str, nn.Module]:
    return {"task": make_net("task").requires_grad_(False)}


REFUSED = {
    "batch_size": ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
    "max_epochs": ({"max_epochs": -1}, "max_epochs must be at least 1, got -1"),
    "patience": ({"patience": 0}, "patience must be at least 1, got 0"),
    "a missing net": ({"nets": {}}, "method 'cross-entropy' needs a net named 'task'"),
    "nothing to train": (
        {"nets": frozen_nets()},
        "the net 'task' has no parameter that requires a gradient",
    ),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_before_training(options, message) -> None:
    with pytest.raises(SettingError, match=message):
        make_trainer(build("cross-entropy"), **options)


def test_a_monitored_loss_needs_validation_rows_before_training() -> None:
    with pytest.raises(SettingError, match="monitors its loss: it needs validation rows"):
        make_trainer(build("nce-energy"), score=lambda proposal: 0.0)
    make_trainer(build("nce-energy"))  # without a score nothing is monitored


# Predicting --------------------------------------------------------------------------------------


def test_predictions_do_not_depend_on_batches() -> None:
    nets = make_nets(build("spen"))
    for proposal in (NetOutput(), GBI(5, start=NetOutput())):
        whole = predict(proposal, nets, Binary(), data(23))
        pieces = predict(proposal, nets, Binary(), data(23), batch_size=7)
        assert whole.shape == (23, 4)
        torch.testing.assert_close(whole, pieces)
        assert not whole.requires_grad


def test_of_several_candidates_the_one_of_lowest_energy_is_predicted() -> None:
    nets = make_nets(build("spen"))
    source = data(9)
    outputs = predict(Samples(40), nets, Binary(), source)
    assert set(outputs.unique().tolist()) <= {0.0, 1.0}
    batch = source.batch(torch.arange(9))
    generator = torch.Generator().manual_seed(0)
    context = Context(nets, Batch(batch.x), Binary(), generator=generator, shared_noise=True)
    with torch.no_grad():
        y = Samples(40)(context).y
        best = context.energy(y).min(0).values
        torch.testing.assert_close(context.energy(outputs.unsqueeze(0))[0], best)


def test_one_discrete_candidate_is_predicted_as_it_is() -> None:
    """Rare labels make it a sparse one."""
    nets = make_nets(build("cross-entropy"))
    outputs = predict(Samples(1), nets, Binary(), data(9))
    assert outputs.shape == (9, 4)
    assert set(outputs.unique().tolist()) <= {0.0, 1.0}
    with torch.no_grad():
        nets["task"].label_embeddings.fill_(-5.0)
    assert not predict(Samples(1), nets, Binary(), data(9)).is_sparse


def test_several_candidates_without_an_energy_are_refused() -> None:
    nets = make_nets(build("cross-entropy"))
    message = "Samples gives 4 candidates and there is no net 'energy' to choose by"
    with pytest.raises(SettingError, match=message):
        predict(Samples(4), nets, Binary(), data(9))

"""Mixed precision: passes in bfloat16, everything else in float32."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_runs import data, make_nets, make_trainer, rows, same, weights

from lossnet import ImageSegmenter, MultiLabelClassifier, SequenceTagger
from lossnet.context import Context
from lossnet.energies import LabelEnergy
from lossnet.errors import SettingError
from lossnet.precision import check_precision
from lossnet.proposals import GBI, NetOutput
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.training import Checkpoint, predict, resume

SMALL = {"max_epochs": 1, "random_state": 0, "batch_size": 8, "precision": "bfloat16"}
METHODS = ["cross-entropy", "seal-nce", "seal-margin", "dvn", "alen", "infnet-plus", "implicit-nce"]


def context_of(precision: str, **options) -> Context:
    nets = make_nets(build("seal-nce"), dropout=0.0)
    generator = torch.Generator().manual_seed(0)
    batch = data().batch(slice(20))
    return Context(nets, batch, Binary(), generator=generator, precision=precision, **options)


def test_passes_are_in_bfloat16_and_what_they_give_in_float32() -> None:
    seen = []
    low, high = context_of("bfloat16"), context_of("float32")
    linear = next(m for m in low.nets["task"].modules() if isinstance(m, torch.nn.Linear))
    linear.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    y = torch.rand(3, 20, 4)
    for found, expected in [
        (low.logits(), high.logits()),
        (low.encoded(), high.encoded()),
        (low.energy(y), high.energy(y)),
    ]:
        assert found.dtype == torch.float32
        assert not torch.equal(found, expected)
        torch.testing.assert_close(found, expected, rtol=0.05, atol=0.05)
    assert seen == [torch.bfloat16]
    assert not torch.equal(low.energy(y), low.energy(y).bfloat16().float())
    assert {p.dtype for net in low.nets.values() for p in net.parameters()} == {torch.float32}


@pytest.mark.parametrize("name", METHODS)
def test_gradients_are_close_to_those_in_float32(name) -> None:
    method = build(name)
    found = {}
    for precision in ("float32", "bfloat16"):
        nets = make_nets(method, dropout=0.0)
        start = torch.Generator().manual_seed(0)
        update = method.phases[0].updates[0]
        parameters = [p for net in update.trained for p in nets[net].parameters()]
        context = Context(
            nets,
            data().batch(slice(20)),
            Binary(),
            generator=start,
            training=method.phases[0].trained,
            precision=precision,
        )
        gradient = update.gradient(update.objective, context, update.trained, parameters)
        values = [g.flatten() for g in gradient.values if g is not None]
        assert {value.dtype for value in values} == {torch.float32}
        found[precision] = torch.cat(values)
    alike = torch.cosine_similarity(found["float32"], found["bfloat16"], dim=0)
    assert alike > 0.95


def test_sparse_candidates_have_gradients_close_to_those_in_float32() -> None:
    torch.manual_seed(0)
    energy = LabelEnergy(5, 60, hidden=(8,), dropout=0.0, global_hidden=7)
    y = torch.zeros(3, 4, 60)
    y[..., ::20] = 1.0
    found = []
    for candidates in (y, y.to_sparse().coalesce()):
        for dtype in (torch.float32, torch.bfloat16):
            with torch.autocast("cpu", dtype=dtype, enabled=dtype == torch.bfloat16):
                e = energy(energy.encode(torch.ones(4, 5)), candidates)
            grads = torch.autograd.grad(e.float().sum(), list(energy.parameters()))
            found.append(torch.cat([g.flatten() for g in grads]))
    for other in found[1:]:
        assert torch.cosine_similarity(found[0], other, dim=0) > 0.99


def test_a_descent_follows_the_gradient_with_respect_to_the_output() -> None:
    descent = GBI(10, 0.1, start=NetOutput())
    outputs = [descent(context_of(precision)).y for precision in ("float32", "bfloat16")]
    before = context_of("float32")
    start, *ends = [before.energy(y).mean() for y in (NetOutput()(before).y, *outputs)]
    assert all(end < start for end in ends)
    assert float((outputs[0] - outputs[1]).abs().mean()) < 0.05


@pytest.mark.parametrize("name", ["seal-nce", "dvn", "implicit-nce"])
def test_labels(name, tmp_path) -> None:
    X, Y = rows(40)
    model = MultiLabelClassifier(name, hidden=(8,), **SMALL).fit(X, Y.astype(int))
    loaded = MultiLabelClassifier.load(model.save(tmp_path / "model"))
    assert loaded.precision == "bfloat16"
    assert loaded.accumulate == 1
    found = loaded.predict_proba(X)
    assert found.dtype == np.float32
    assert np.array_equal(found, model.predict_proba(X))
    plain = loaded.set_params(precision="float32").predict_proba(X)
    # A descent of these estimators is in double precision, which autocast leaves alone.
    assert np.array_equal(found, plain) == (name == "dvn")
    assert np.abs(found - plain).max() < 0.05
    assert model.energy(X, Y).dtype == np.float32


def test_sentences_and_images() -> None:
    words = [["a", "b"], ["b", "c", "a"], ["c"]] * 4
    tags = [["X" if word == "a" else "O" for word in sentence] for sentence in words]
    tagger = SequenceTagger("seal-nce", hidden=4, **SMALL).fit(words, tags)
    assert np.isfinite(np.concatenate(tagger.predict_proba(words))).all()
    images = np.random.default_rng(0).random((4, 8, 8, 3)).astype(np.float32)
    masks = (images[..., 0] > 0.5).astype(int)
    segmenter = ImageSegmenter("alen", width=4, crops=1, average=1, **SMALL).fit(images, masks)
    low = segmenter.predict_proba(images)
    assert not np.array_equal(low, segmenter.set_params(precision="float32").predict_proba(images))
    assert np.isfinite(low).all()


def test_a_resumed_run_ends_with_the_same_weights(tmp_path) -> None:
    method, path = build("seal-nce"), tmp_path / "checkpoint"

    def trainer(epochs: int, *callbacks):
        more = {"precision": "bfloat16", "accumulate": 2, "max_epochs": epochs}
        return make_trainer(method, callbacks=list(callbacks), **more)

    whole, part, rest = trainer(3), trainer(1, Checkpoint(path, {}, seconds=0.0)), trainer(3)
    whole.run()
    part.run()
    resume(path, rest, {})
    rest.run()
    assert all(same(weights(whole)[net], weights(rest)[net]) for net in whole.nets)


def test_precisions_that_a_device_or_a_method_lacks_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    with pytest.raises(SettingError, match="precision must be 'float32' on cuda"):
        check_precision("bfloat16", "cuda:0")
    with pytest.raises(SettingError, match="precision must be 'float32' on meta"):
        check_precision("bfloat16", "meta")
    check_precision("float32", "cuda")
    with pytest.raises(SettingError, match="unknown precision 'float16'"):
        MultiLabelClassifier(precision="float16").fit(None, None)
    gradient = {"curvature": "hessian", "product": "finite-differences"}
    with pytest.raises(SettingError, match="'float32' for implicit-nce with product='finite"):
        make_trainer(build("implicit-nce", {"gradient": gradient}), precision="bfloat16")
    nets = make_nets(build("seal-nce"))
    with pytest.raises(SettingError, match="unknown precision"):
        predict(NetOutput(), nets, Binary(), data(), precision="half")

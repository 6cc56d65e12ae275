"""Encoders: pooling, padding, what is trained and what is stored."""

from __future__ import annotations

import copy
import inspect
import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

from lossnet.encoders import Encoder, Pretrained
from lossnet.errors import SettingError
from lossnet.tasks.networks import without_memory
from lossnet.testing.encoders import write_tiny_encoder

SENTENCES = [["the", "dogs", "\u200b", "saw"], ["a"], ["rome", "ab", "cat"]]
TEXTS = ["the dogs saw rome", "", "ann left"]


def batch(tiny, pool, texts=None, marked=None):
    tokeniser = tiny.tokeniser(16)
    if pool == "words":
        return tokeniser.collate(tokeniser.sentences(texts or SENTENCES, marked))
    return tokeniser.collate(tokeniser.texts(texts or TEXTS))


def hidden_states(net, x):
    return net.body(input_ids=x.ids, attention_mask=x.attended.long()).last_hidden_state


def test_words_are_means_of_their_sub_words(tiny) -> None:
    x, net = batch(tiny, "words"), tiny.net(pool="words", training="frozen")
    hidden, expected = hidden_states(net, x), torch.zeros(3, 4, 16)
    for row in range(3):
        for word in range(4):
            places = [i for i, own in enumerate(x.words[row].tolist()) if own == word]
            if places:
                expected[row, word] = sum(hidden[row, i] for i in places) / len(places)
    torch.testing.assert_close(net(x), expected)
    assert not net(x)[0, 2].any()
    assert not net(x)[1, 1:].any()


@pytest.mark.parametrize("pool", ["mean", "cls", "words"])
def test_normalised_vectors_have_mean_0_and_variance_1(tiny, pool) -> None:
    x = batch(tiny, pool)
    plain, net = (tiny.net(pool=pool, normalise=on).eval() for on in (False, True))
    vectors, found = plain(x), net(x)
    has = vectors.any(-1)
    centred = vectors[has] - vectors[has].mean(-1, keepdim=True)
    expected = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(found[has], expected)
    assert not found[~has].any()


def test_texts_are_means_or_their_first_sub_word(tiny) -> None:
    x = batch(tiny, "mean")
    mean = tiny.net(pool="mean", training="frozen")
    cls = tiny.net(pool="cls", training="frozen")
    hidden = hidden_states(mean, x)
    lengths = x.attended.sum(1).tolist()
    expected = torch.stack([hidden[row, :n].mean(0) for row, n in enumerate(lengths)])
    torch.testing.assert_close(mean(x), expected)
    torch.testing.assert_close(cls(x), hidden[:, 0])
    assert mean.out_features == cls.out_features == 16


@pytest.mark.parametrize("pool", ["mean", "cls", "words"])
@pytest.mark.parametrize("training", ["frozen", "lora"])
def test_batch_mates_and_padding_change_nothing(tiny, pool, training) -> None:
    net = tiny.net(pool=pool, training=training).eval()
    texts = SENTENCES if pool == "words" else TEXTS
    together = net(batch(tiny, pool))
    for row, text in enumerate(texts):
        alone = net(batch(tiny, pool, [text]))[0]
        torch.testing.assert_close(together[row][: len(alone)], alone, atol=1e-6, rtol=1e-5)


def test_a_text_without_sub_words_is_zeros(tiny) -> None:
    x = batch(tiny, "mean", ["the dog", "a"])
    x.attended[1] = False
    for pool in ("mean", "cls"):
        vectors = tiny.net(pool=pool, training="frozen")(x)
        assert not vectors[1].any()
        assert vectors.isfinite().all()


def test_adapters_start_as_the_identity_and_are_all_that_is_trained(tiny) -> None:
    x, full = batch(tiny, "words"), tiny.net(pool="words", training="full").eval()
    lora = tiny.net(pool="words", training="lora", lora_rank=3).eval()
    torch.testing.assert_close(lora(x), full(x))
    trained = {name for name, p in lora.named_parameters() if p.requires_grad}
    assert trained == set(lora.state_dict())
    assert all("lora_" in name for name in trained)
    before = {name: p.clone() for name, p in lora.named_parameters()}
    optimiser = torch.optim.SGD([p for p in lora.parameters() if p.requires_grad], lr=1.0)
    for _ in range(2):
        optimiser.zero_grad()
        lora(x).square().sum().backward()
        optimiser.step()
    changed = {name for name, p in lora.named_parameters() if not torch.equal(p, before[name])}
    assert changed == trained
    assert all(p.requires_grad for p in full.parameters())


@pytest.mark.parametrize("training", ["frozen", "full", "lora"])
def test_the_state_of_a_part_restores_it(tiny, training) -> None:
    """Within another module too; the same numbers after a copy."""
    x = batch(tiny, "words")
    net = nn.Sequential(tiny.net(pool="words", training=training), nn.Linear(16, 2)).eval()
    for parameter in net.parameters():
        if parameter.requires_grad:
            parameter.data += 0.1 * torch.randn_like(parameter)
    other = nn.Sequential(tiny.net(pool="words", training=training), nn.Linear(16, 2)).eval()
    other.load_state_dict(net.state_dict())
    torch.testing.assert_close(other(x), net(x))
    torch.testing.assert_close(copy.deepcopy(net)(x), net(x))
    if training != "frozen":
        state = net.state_dict()
        del state[next(key for key in state if key.startswith("0.body"))]
        with pytest.raises(RuntimeError, match="Missing key"):
            other.load_state_dict(state)


def test_a_frozen_encoder_has_no_gradient_and_drops_nothing(tiny) -> None:
    net, x = tiny.net(pool="words", training="frozen").train(), batch(tiny, "words")
    assert not net.state_dict()
    assert torch.equal(net(x), net(x))
    assert not net(x).requires_grad
    assert not torch.equal(*(tiny.net(pool="words", training="full")(x) for _ in range(2)))


def test_marks_reach_every_word_with_and_without_token_types(tiny, tmp_path) -> None:
    without = Pretrained.load(write_tiny_encoder(tmp_path, types=1))
    for pretrained, learned in ((tiny, False), (without, True)):
        net = pretrained.net(pool="words", training="full").eval()
        assert (net.mark is not None) == learned
        if net.mark is not None:
            plain, marked = (net(batch(pretrained, "words", None, m)) for m in (None, [0, 0, 2]))
            torch.testing.assert_close(plain, marked)  # zeros at first
            net.mark.data = torch.linspace(-1, 1, 16)
        plain, marked = (net(batch(pretrained, "words", None, m)) for m in (None, [0, 0, 2]))
        assert ((plain - marked).abs().amax(-1) > 1e-4)[[0, 0, 1, 2, 2], [0, 1, 0, 1, 2]].all()


@pytest.mark.parametrize("training", ["frozen", "full", "lora"])
def test_nets_are_built_without_memory_and_without_files(tiny, training) -> None:
    with without_memory():
        net = tiny.net(pool="words", training=training)
    assert {p.device.type for p in net.parameters()} == {"meta"}
    real = tiny.net(pool="words", training=training)
    shapes = {name: p.shape for name, p in net.state_dict().items()}
    assert shapes == {name: p.shape for name, p in real.state_dict().items()}


def test_rates_and_marks_for_the_optimiser(tiny) -> None:
    assert Encoder.pretrained
    rates = {mode: tiny.net(training=mode).suggested_lr for mode in ("full", "lora", "frozen")}
    assert rates == {"full": 5e-5, "lora": 2e-3, "frozen": 0.0}


def test_a_wider_encoder_has_a_lower_lora_rate(tmp_path) -> None:
    wide = Pretrained.load(write_tiny_encoder(tmp_path / "wide", width=768))
    rates = {mode: wide.net(training=mode).suggested_lr for mode in ("full", "lora")}
    assert rates == {"full": 5e-5, "lora": 1e-3}


def test_pack_and_unpack_give_the_same_vectors(tiny) -> None:
    tensors, facts = tiny.pack()
    again = Pretrained.unpack({**tensors, "net/task/other": torch.zeros(1)}, facts)
    assert again.fingerprint == tiny.fingerprint
    x = batch(tiny, "mean")
    nets = [one.net(training="frozen") for one in (tiny, again)]
    assert torch.equal(nets[0](x), nets[1](x))
    light, facts = tiny.pack(weights=False)
    assert light == {}
    net = Pretrained.unpack(light, facts).net(training="full").eval()
    net.load_state_dict(tiny.net(training="full").state_dict())
    torch.testing.assert_close(net(x), nets[0](x))


def test_a_weight_that_is_one_number_has_a_fingerprint(tiny) -> None:
    one, two = (replace(tiny, weights={"scale": torch.tensor(value)}) for value in (1.0, 2.0))
    assert one.fingerprint != two.fingerprint


def test_another_encoder_has_another_fingerprint(tiny, tmp_path) -> None:
    same = Pretrained.load(write_tiny_encoder(tmp_path / "same"))
    other = Pretrained.load(write_tiny_encoder(tmp_path / "other", seed=1))
    assert same.fingerprint == tiny.fingerprint != other.fingerprint
    assert "bert, 16 wide" in repr(other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool": "max"}, "unknown pool 'max'"),
        ({"training": "half"}, "unknown encoder_training 'half'"),
        ({"training": "lora", "lora_rank": 0}, "lora_rank must be an integer of at least 1"),
    ],
)
def test_settings(tiny, options, message) -> None:
    with pytest.raises(SettingError, match=message):
        tiny.net(**options)


def test_peft_is_needed_for_lora_alone(tiny, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    tiny.net(training="full")
    with pytest.raises(SettingError, match=r"lora' needs .* peft .*pip install 'lossnet\[text\]'"):
        tiny.net(training="lora")


def test_nothing_is_imported_before_it_is_needed() -> None:
    import lossnet.encoders as package

    for name in ("cache", "encoder", "hub", "loading", "pretrained", "tokeniser"):
        source = inspect.getsource(sys.modules[f"{package.__name__}.{name}"])
        assert "import transformers" not in source
        assert "import peft" not in source

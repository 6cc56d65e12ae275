"""``chain``: the tagger's task-net as a CRF, with every kind of method."""

import itertools

import numpy as np
import pytest
import torch

from lossnet import SequenceTagger
from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.nets import ChainTagger, Tagger
from lossnet.spaces import Categorical
from lossnet.tasks.decision import Decision
from lossnet.tasks.sequence import spans

WORDS = [["Ann", "saw", "Rome"], ["Bob", "Lee", "left"], ["x", "x"]] * 8
TAGS = [["B-P", "O", "B-L"], ["B-P", "I-P", "O"], ["B-P", "I-P"]] * 8
QUICK = {"hidden": 8, "word_width": 8, "chars": False, "max_epochs": 2, "random_state": 0}


def tagger(method="cross-entropy", **settings) -> SequenceTagger:
    return SequenceTagger(method, **{**QUICK, **settings})


def test_a_chain_wherever_the_method_allows_it() -> None:
    chains = {
        method: tagger(method).resolved_params()["chain"]
        for method in ("cross-entropy", "seal-nce", "infnet-plus", "crf", "ssvm", "implicit-nce")
    }
    assert chains == {
        **dict.fromkeys(("cross-entropy", "seal-nce", "infnet-plus"), True),
        **dict.fromkeys(("crf", "ssvm", "implicit-nce"), False),
    }
    assert SequenceTagger().method == "cross-entropy"
    assert not tagger(preset="paper").resolved_params()["chain"]
    kinds = {
        flag: type(tagger(chain=flag).fit(WORDS, TAGS).nets_["task"]) for flag in (None, False)
    }
    assert kinds == {None: ChainTagger, False: Tagger}


@pytest.mark.parametrize("method", ["crf", "ssvm", "implicit-nce", "implicit-ssvm"])
def test_methods_without_a_chain_say_so(method) -> None:
    with pytest.raises(SettingError, match=f"chain=True needs a task-net.*{method!r}"):
        tagger(method, chain=True).fit(WORDS, TAGS)


def test_chain_is_a_flag() -> None:
    with pytest.raises(SettingError, match="chain"):
        tagger(chain="crf").fit(WORDS, TAGS)


METHODS = [
    *(("infnet-plus", {"sharing": kind}) for kind in ("separated", "shared", "stacked")),
    *((name, {}) for name in ("infnet", "seal-nce", "seal-ranking", "seal-regression-s", "alen")),
    *((name, {}) for name in ("seal-margin", "seal-static-nce", "spen", "task-ranking")),
]


@pytest.mark.parametrize(("method", "params"), METHODS)
def test_methods_work_on_the_marginals(tmp_path, method, params) -> None:
    model = tagger(method, chain=True, method_params=params).fit(WORDS, TAGS)
    proba = model.predict_proba(WORDS[:3])
    for rows in proba:
        np.testing.assert_allclose(rows.sum(-1), 1.0, atol=1e-4)
    loaded = SequenceTagger.load(model.save(tmp_path / "model"))
    assert loaded.predict(WORDS[:3]) == model.predict(WORDS[:3])


@pytest.mark.parametrize("features", ["copy", "shared"])
def test_the_loss_net_can_have_the_features_of_a_chain(features) -> None:
    model = tagger("seal-nce", chain=True, energy_features=features).fit(WORDS, TAGS)
    assert len(model.predict(WORDS)) == len(WORDS)


def test_unlabelled_sentences_and_bfloat16() -> None:
    tagger("seal-nce", chain=True).fit(WORDS, TAGS, unlabelled=WORDS[:6])
    plain, mixed = (
        tagger(precision=precision).fit(WORDS, TAGS) for precision in ("float32", "bfloat16")
    )
    one, other = (np.concatenate(model.predict_proba(WORDS[:3])) for model in (plain, mixed))
    np.testing.assert_allclose(one, other, atol=0.05)


def test_the_chain_learns_from_pairs_alone() -> None:
    """Words say nothing here: only the tag before tells a tag."""
    rng = np.random.default_rng(0)
    tags = [["AB"[(start + t) % 2] for t in range(6)] for start in rng.integers(0, 2, 60)]
    words = [[tags[0], *["x"] * 5] for tags in tags]
    rates = {"task_optimiser": {"lr": 0.02}}
    model = tagger(method_params=rates, max_epochs=30).fit(words, tags)
    net = model.nets_["task"]
    pairs = net.pairwise.detach()
    assert (pairs[0, 1] + pairs[1, 0] - pairs[0, 0] - pairs[1, 1]) > 1.0
    assert model.score(words, tags) == 1.0


def test_decisions_use_the_chains_own_probabilities() -> None:
    """The probability of every span, against a sum over all valid tag sequences."""
    model = tagger(metric="span-f1", decode="argmax").fit(WORDS, TAGS)
    torch.nn.init.normal_(model.nets_["task"].pairwise)
    source = model._source(model._data(WORDS[:1]))
    context = Context(model.nets_, source.batch(slice(0, 1)), Categorical())
    joint = model._joint(Decision("expected"))
    (pool,) = joint.pools(context, model.tags_, None)
    net, scores = model.nets_["task"], context.scores("task")[0]
    rules = model._rules()
    total, share = 0.0, {}
    for path in itertools.product(range(len(model.tags_)), repeat=3):
        steps = list(itertools.pairwise(path))
        if not (rules.begins[path[0]] and rules.ends[path[-1]]):
            continue
        if not all(rules.follows[a, b] for a, b in steps):
            continue
        score = sum(scores[t, tag] for t, tag in enumerate(path))
        weight = float(torch.exp(score + sum(net.pairwise[a, b] for a, b in steps)))
        total += weight
        for span in spans([model.tags_[tag] for tag in path], "IOB2"):
            share[span] = share.get(span, 0.0) + weight
    for p, span in pool:
        assert p == pytest.approx(share[span] / total, rel=1e-4)
    assert {span for _, span in pool} == {s for s, w in share.items() if w / total > 0.025}

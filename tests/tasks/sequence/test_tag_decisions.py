"""Tags decided for a metric, against brute force over all valid tag sequences."""

import itertools
from functools import lru_cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lossnet import SequenceTagger
from lossnet.decisions import Joint
from lossnet.errors import SettingError
from lossnet.exporting.runtime.chains import choose_spans
from lossnet.tasks.decision import Decision
from lossnet.tasks.sequence import span_scores, spans, token_accuracy
from lossnet.tasks.sequence.chain_marginals import Chain
from lossnet.tasks.sequence.decoding import tag_rules
from lossnet.tasks.sequence.tags import Span, from_spans

WORDS = {"O": ["the", "a", "x"], "B-P": ["Ann", "x", "Bob"], "I-P": ["Lee", "x", "Bob"]}
TAGS = ["B-P", "I-P", "O"]
LENGTH = 4
QUICK = {"hidden": 8, "max_epochs": 4, "chars": False, "word_width": 8, "dropout": 0.0}


def sentences(count, seed=0):
    """Four tokens, some of which say little of their tags; every sentence is valid IOB2."""
    rng = np.random.default_rng(seed)
    words, tags = [], []
    for _ in range(count):
        row = [str(rng.choice(["O", "B-P"]))]
        while len(row) < LENGTH:
            row.append(str(rng.choice(TAGS if row[-1] != "O" else ["B-P", "O"])))
        tags.append(row)
        words.append([str(rng.choice(WORDS[tag])) for tag in row])
    return words, tags


TEST = sentences(25, seed=2)


@lru_cache
def fitted(method="seal-nce", **settings):
    model = SequenceTagger(method, **{**QUICK, "random_state": 0, **settings})
    return model.fit(*sentences(150), validation_data=sentences(60, seed=1))


def valid(row):
    return all(not (b == "I-P" and a == "O") for a, b in itertools.pairwise(["O", *row]))


EVERY = [row for row in itertools.product(TAGS, repeat=LENGTH) if valid(row)]


def exact(model, weight):
    """The probabilities of all valid tag sequences for every test sentence, ``(n, N)``."""
    number = torch.tensor([[TAGS.index(tag) for tag in row] for row in EVERY])

    def log_p(context):
        y = F.one_hot(number, 3).bool().unsqueeze(1).expand(-1, len(context.batch.x.words), -1, -1)
        return Joint(context, model.method_.meaning, weight).log_p(y).T.double()

    data = model._unseen(TEST[0])
    found = [None] * len(data)
    from lossnet.spaces import Categorical
    from lossnet.training.predict import each_batch

    for rows, values in each_batch(log_p, model.nets_, Categorical(), model._source(data)):
        for row, value in zip(rows.tolist(), values, strict=True):
            found[row] = value.softmax(0).numpy()
    return np.stack(found)


@pytest.mark.parametrize("method", ["seal-nce", "seal-ranking"])
@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_the_mode_of_a_chain_is_the_most_probable_of_all_valid_sequences(method, weight):
    model = fitted(method)
    found = model._decode(model._decide(Decision("mode", weight=weight), model._unseen(TEST[0])))
    p = exact(model, weight)
    reached = [row[EVERY.index(tuple(tags))] for row, tags in zip(p, found, strict=True)]
    assert reached == pytest.approx(p.max(1), abs=1e-5)


def test_marginals_and_spans_of_a_chain_are_those_of_all_valid_sequences():
    model = fitted()
    joint = model._joint(Decision("samples", weight=0.5))
    data, p = model._unseen(TEST[0]), exact(model, 0.5)
    shares = model._by_batch(joint.marginals, data)
    onehot = np.array([[[tag == t for t in TAGS] for tag in row] for row in EVERY], dtype=float)
    assert np.stack(shares) == pytest.approx(np.einsum("nk,ktc->ntc", p, onehot), abs=1e-5)
    pools = model._by_batch(lambda c: joint.pools(c, model.tags_, None), data)
    for pool, row in zip(pools, p, strict=True):
        expected = {}
        for tags, share in zip(EVERY, row, strict=True):
            for span in spans(tags):
                expected[span] = expected.get(span, 0.0) + share
        assert {span: share for share, span in pool} == pytest.approx(
            {span: share for span, share in expected.items() if share > 0.025}, abs=1e-5
        )


def test_accuracy_takes_the_best_valid_sequence_of_the_marginals():
    model = fitted(decode="samples")
    p = exact(model, model.decision_.weight)
    onehot = np.array([[[tag == t for t in TAGS] for tag in row] for row in EVERY], dtype=float)
    shares = np.einsum("nk,ktc->ntc", p, onehot)
    score = np.log(np.maximum(shares, 1e-30))[:, None] * onehot[None]
    best = score.sum((2, 3))
    found = [EVERY.index(tuple(tags)) for tags in model.predict(TEST[0])]
    assert best[np.arange(len(found)), found] == pytest.approx(best.max(1), abs=1e-4)


def test_samples_converge_to_the_chain():
    """A loss-net of two parts, the second of no weight, is a chain that samples must stand for."""
    model = fitted(global_energy="forward", global_weight=0.0)
    data = model._unseen(TEST[0])
    p = exact(model, 1.0)
    drawn = model._joint(Decision("samples", weight=1.0, samples=4000))
    onehot = np.array([[[tag == t for t in TAGS] for tag in row] for row in EVERY], dtype=float)
    shares = np.stack(model._by_batch(drawn.marginals, data))
    assert shares == pytest.approx(np.einsum("nk,ktc->ntc", p, onehot), abs=0.05)
    few = Decision("mode", weight=1.0, samples=20)
    found = model._decode(model._decide(few, data))
    reached = np.array([row[EVERY.index(tuple(tags))] for row, tags in zip(p, found, strict=True)])
    assert reached == pytest.approx(p.max(1), abs=1e-5)
    assert model._effective_samples(Decision("mode", weight=1.0, samples=20), data) > 1


def test_chosen_spans_have_the_largest_sum_above_the_threshold():
    rng = np.random.default_rng(0)
    for _ in range(40):
        every = [Span("P", i, j) for i in range(5) for j in range(i + 1, 6)]
        pool = [(float(p), span) for p, span in zip(rng.random(15) * 0.6, every, strict=True)]
        apart = [
            some
            for size in range(6)
            for some in itertools.combinations(pool, size)
            if all(a[1].end <= b[1].start or b[1].end <= a[1].start
                   for a, b in itertools.combinations(some, 2))
        ]  # fmt: skip
        best = max(sum(p - 0.3 for p, _ in some) for some in apart)
        share = {span: p for p, span in pool}
        found = choose_spans(pool, 5, 0.3)
        from_spans(found, 5)  # they lie apart
        assert sum(share[span] - 0.3 for span in found) == pytest.approx(best)


def test_bioes_spans_by_messages_equal_enumeration():
    tags = ["B-P", "E-P", "I-P", "O", "S-P"]
    rules = tag_rules(tags, "BIOES")
    unary, steps = torch.randn(1, 4, 5).double(), torch.randn(5, 5).double()
    chain = Chain(unary, steps, torch.ones(1, 4).bool(), rules)
    expected, total = {}, 0.0
    for row in itertools.product(range(5), repeat=4):
        pairs = list(itertools.pairwise(row))
        if not (
            rules.begins[row[0]] and rules.ends[row[-1]] and all(rules.follows[p] for p in pairs)
        ):
            continue
        energy = sum(unary[0, t, c] for t, c in enumerate(row)) + sum(steps[p] for p in pairs)
        weight = float((-energy).exp())
        total += weight
        for span in spans([tags[c] for c in row], "BIOES"):
            expected[span] = expected.get(span, 0.0) + weight
    found = {span: p for p, span in chain.spans(tags, 0.0)[0]}
    assert found == pytest.approx({span: weight / total for span, weight in expected.items()})


@pytest.mark.parametrize("rule", ["expected", "samples", "mode"])
@pytest.mark.parametrize("energy", [None, "forward"])
def test_every_rule_keeps_to_the_scheme_and_is_stored(rule, energy, tmp_path):
    how = {"metric": "span-f1", "decode": rule, "decode_samples": 10, "global_energy": energy}
    model = fitted(**how)
    assert model.decision_.rule == rule
    found = model.predict(TEST[0])
    assert all(map(valid, found))
    assert model.predict_spans(TEST[0]) == [spans(tags) for tags in found]
    assert model.score(*TEST) == pytest.approx(span_scores(TEST[1], found).f1)
    assert model.predict(TEST[0][3:5]) == found[3:5]
    again = SequenceTagger.load(model.save(tmp_path / "model", keep_energy=False))
    assert again.predict(TEST[0]) == found
    assert again.decision_ == model.decision_


@pytest.mark.parametrize("metric", ["accuracy", "span-f1", "strict-span-f1"])
def test_auto_leaves_argmax_only_for_a_gain_above_its_standard_error(metric):
    model = fitted(metric=metric)
    decision = model.decision_
    rules = {"accuracy": {"argmax", "samples"}}.get(metric, {"argmax", "expected", "samples"})
    assert set(decision.tried) == rules
    best = max(value for rule, value in decision.tried.items() if rule != "argmax")
    assert (decision.rule == "argmax") == (best - decision.tried["argmax"] <= decision.error)
    model.tune_decision(*TEST)
    usual = SequenceTagger.set_params(model, decode="argmax").score(*TEST)
    model.set_params(decode="auto")
    assert model.decision_.tried["argmax"] == pytest.approx(usual)


@pytest.mark.parametrize("metric", ["span-f1", "accuracy"])
def test_minimum_risk_serves_tags_without_rules(metric):
    model = fitted(metric=metric, decode="samples", decode_samples=8, follow_scheme=False)
    found = model.predict(TEST[0])
    measure = (lambda a, b: span_scores(a, b).f1) if metric == "span-f1" else token_accuracy
    assert model.score(*TEST) == pytest.approx(measure(TEST[1], found))


def test_a_method_without_a_joint_still_takes_spans():
    assert set(fitted("infnet-plus", metric="span-f1").decision_.tried) == {"argmax", "expected"}
    assert not fitted("crf", metric="span-f1").decision_.tried
    assert not fitted("cross-entropy").decision_.tried


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decode": "expected"}, "'expected' needs a metric of spans"),
        ({"decode": "mode", "method": "cross-entropy"}, "a loss-net that gives probabilities"),
        ({"decode": "mode", "method": "infnet-plus"}, "a loss-net that gives probabilities"),
        ({"decode": "best"}, "unknown decode"),
        ({"decode_samples": 0}, "decode_samples must be"),
        ({"decode": "mode", "refine": "net"}, "leave one of them out"),
    ],
)
def test_rules_that_cannot_serve_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        fitted(**settings)


def test_a_loss_net_that_was_not_kept_is_refused(tmp_path):
    folder = fitted(decode="argmax").save(tmp_path / "model", keep_energy=False)
    with pytest.raises(SettingError, match="loss-net, which was not kept"):
        SequenceTagger.load(folder, decode="mode").predict(TEST[0])

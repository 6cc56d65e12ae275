"""Roles decided for a metric: valid BIO with V at the predicate, whatever the rule."""

import itertools
from functools import lru_cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from role_examples import small_roles

from lossnet import SemanticRoleLabeler
from lossnet.decisions import Joint
from lossnet.spaces import Categorical
from lossnet.tasks.decision import Decision
from lossnet.tasks.roles import RoleData, role_scores
from lossnet.tasks.sequence import spans
from lossnet.training.predict import each_batch

TEST = small_roles(30, seed=2)
#: Four tokens each: all tag sequences can be enumerated.
SHORT = RoleData.of([["Ann", "sees", "Eve", "."], ["the", "dog", "likes", "Bob"]] * 3, [1, 2] * 3)


@lru_cache
def fitted(method="seal-nce", **settings):
    quick = {"hidden": 8, "word_width": 8, "chars": False, "random_state": 0, "max_epochs": 2}
    model = SemanticRoleLabeler(method, **{**quick, "decode_samples": 30, **settings})
    return model.fit(small_roles(60), validation_data=small_roles(40, seed=1))


def valid(tags, predicate):
    """BIO, with B-V at the predicate and nowhere else."""
    inside = all(b[:2] != "I-" or a[2:] == b[2:] for a, b in itertools.pairwise(["O", *tags]))
    return inside and [k for k, tag in enumerate(tags) if tag == "B-V"] == [predicate]


@pytest.mark.parametrize(
    ("metric", "rule"),
    [("role-f1", "expected"), ("role-f1", "samples"), ("role-f1", "mode"), ("perfect", "mode"),
     ("perfect", "samples"), ("accuracy", "samples")],
)  # fmt: skip
def test_every_rule_gives_valid_roles_and_is_stored(metric, rule, tmp_path):
    model = fitted(metric=metric, decode=rule)
    assert model.decision_.rule == rule
    found = model.predict(TEST)
    assert all(map(valid, found, TEST.predicates))
    scores = role_scores(TEST.tags, found)
    values = {"role-f1": scores.f1, "perfect": scores.perfect_share, "accuracy": scores.accuracy}
    assert model.score(TEST) == pytest.approx(values[metric])
    roles = [[span for span in spans(tags) if span.type != "V"] for tags in found]
    assert model.predict_roles(TEST) == roles
    again = SemanticRoleLabeler.load(model.save(tmp_path / "model", keep_energy=False))
    assert again.predict(TEST.tokens, TEST.predicates) == found


def test_the_mode_is_the_most_probable_of_all_valid_sequences():
    model = fitted()
    every = torch.tensor(list(itertools.product(range(len(model.tags_)), repeat=4)))
    y = F.one_hot(every, len(model.tags_)).bool().unsqueeze(1)

    def log_p(context):
        joint = Joint(context, model.method_.meaning, 1.0)
        return joint.log_p(y.expand(-1, len(context.batch.x.words), -1, -1)).T

    names = [[model.tags_[tag] for tag in row] for row in every.tolist()]
    batches = each_batch(log_p, model.nets_, Categorical(), model._source(SHORT))
    found = dict(zip(range(6), model.predict(SHORT), strict=True))
    decided = model._decode(model._decide(Decision("mode", samples=30, weight=1.0), SHORT))
    assert all(map(valid, found.values(), SHORT.predicates))
    for rows, values in batches:
        for row, scores in zip(rows.tolist(), values.numpy(), strict=True):
            allowed = np.array([valid(tags, SHORT.predicates[row]) for tags in names])
            best = scores[allowed].max()
            assert scores[names.index(decided[row])] == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize(
    ("metric", "rules"),
    [("role-f1", {"argmax", "expected", "samples"}), ("perfect", {"argmax", "mode"}),
     ("accuracy", {"argmax", "samples"})],
)  # fmt: skip
def test_auto_tries_what_suits_the_metric(metric, rules):
    decision = fitted(metric=metric).decision_
    assert set(decision.tried) == rules
    best = max(value for rule, value in decision.tried.items() if rule != "argmax")
    assert (decision.rule == "argmax") == (best - decision.tried["argmax"] <= decision.error)


def test_without_the_scheme_v_stays_at_the_predicate():
    model = fitted(metric="role-f1", decode="samples", decode_samples=5, follow_scheme=False)
    for tags, predicate in zip(model.predict(TEST), TEST.predicates, strict=True):
        assert [k for k, tag in enumerate(tags) if tag == "B-V"] == [predicate]

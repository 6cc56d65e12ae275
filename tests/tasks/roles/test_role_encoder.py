"""Roles on a pretrained encoder: the predicate is marked at the input."""

from __future__ import annotations

import numpy as np
import pytest
from role_examples import small_roles

from lossnet import SemanticRoleLabeler
from lossnet.testing import write_tiny_encoder


@pytest.mark.parametrize("training", ["frozen", "lora"])
@pytest.mark.parametrize("shared", [False, True])
def test_predicates_of_one_sentence(training, shared, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LOSSNET_CACHE", str(tmp_path / "cache"))
    model = SemanticRoleLabeler(
        "seal-nce",
        encoder=str(write_tiny_encoder(tmp_path / "tiny")),
        encoder_training=training,
        energy_features="shared" if shared else "own",
        hidden=8,
        max_epochs=1,
        random_state=0,
    ).fit(small_roles())
    words = [["Ann", "sees", "and", "likes", "Bob"]] * 2
    first, second = model.predict_proba(words, [1, 3])
    assert not np.allclose(first[0], second[0], atol=1e-6)
    if training == "lora":  # not by the column alone, which is next to the word's own vector
        batch = model._source(model._data(words, [1, 3])).batch(slice(None))
        assert batch.x.subwords.types.sum(1).min() >= 1
    model.save(tmp_path / "model")
    again = SemanticRoleLabeler.load(tmp_path / "model")
    assert again.predict(words, [1, 3]) == model.predict(words, [1, 3])

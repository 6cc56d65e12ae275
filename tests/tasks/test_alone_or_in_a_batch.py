"""A row's prediction does not depend on the other rows it is predicted with."""

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("method", "refine"),
    [
        ("dvn", None),
        ("spen", None),
        ("seal-nce", "net"),
        ("seal-nce", "samples"),
        ("seal-nce", "random"),
    ],
)
def test_labels(classifier, method, refine) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 30))
    Y = (X[:, :12] + X[:, 12:24] > 0.5).astype(int)
    model = classifier(method, hidden=(40,), global_hidden=20, max_epochs=2, refine=refine)
    together = model.fit(X, Y).predict_proba(X)
    for size in (1, 3, 50):
        parts = [model.predict_proba(X[at : at + size]) for at in range(0, 60, size)]
        apart = np.concatenate(parts)
        assert np.abs(apart - together[: len(apart)]).max() < 1e-6
    backwards = model.predict_proba(X[::-1])[::-1]
    assert np.abs(backwards - together).max() < 1e-6

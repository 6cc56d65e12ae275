"""Training that ends in time."""

from __future__ import annotations

import numpy as np

from lossnet import MultiLabelClassifier
from lossnet.training import Stopwatch, TimeLimit

X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X > 0).astype(int)


def fitted(timer: Stopwatch, method: str, **params: object) -> MultiLabelClassifier:
    model = MultiLabelClassifier(method, hidden=(4,), random_state=0, patience=9999, **params)
    return model.fit(X, Y, callbacks=[timer])


def test_every_phase_has_its_share() -> None:
    timer = TimeLimit(0.4)
    model = fitted(timer, "seal-static-nce", max_epochs=9999)
    phases = {row["phase"]: 0.0 for row in model.history_}
    for row in model.history_:
        phases[row["phase"]] += row["seconds"]
    assert timer.cut
    assert len(phases) == 3
    assert max(phases.values()) < 3 * min(phases.values()) + 0.2
    assert fitted(TimeLimit(0.0), "cross-entropy", max_epochs=9999).history_[1:] == []


def test_enough_time_changes_nothing() -> None:
    timer, plain = TimeLimit(3600.0), MultiLabelClassifier("seal-nce", hidden=(4,), random_state=0)
    model = fitted(timer, "seal-nce", max_epochs=3)
    assert not timer.cut
    plain.set_params(max_epochs=3, patience=9999).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert timer.total >= sum(row["seconds"] for row in model.history_)

"""Sparse inputs of many features, which stay sparse up to the nets."""

import numpy as np
import pytest
import scipy.sparse as sp

from lossnet import MultiLabelClassifier
from lossnet.nets import LabelMLP
from lossnet.nets.wide import WIDE
from lossnet.training import Callback


@pytest.fixture
def wide(data) -> tuple[sp.csr_matrix, np.ndarray]:
    """The small task, its positive values among columns that are all but empty."""
    X, Y = data
    rng = np.random.default_rng(1)
    rest = sp.random(len(X), WIDE, density=0.002, random_state=rng, dtype=np.float32)
    return sp.hstack([np.maximum(X, 0), rest], format="csr"), Y


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce"])
def test_a_fit_on_sparse_rows_is_one_on_dense_rows(classifier, wide, method) -> None:
    X, Y = wide
    how = {"dropout": 0.0, "energy_dropout": 0.0, "standardise": False, "max_epochs": 3}
    found = classifier(method, **how).fit(X, Y)
    assert found._source(found._data(X)).batch(slice(2)).x.is_sparse
    expected = classifier(method, **how).fit(X.toarray(), Y)
    proba = expected.predict_proba(X)
    assert np.allclose(found.predict_proba(X), proba, atol=2e-3)
    assert np.allclose(found.predict_proba(X.toarray()), found.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("standardise", [True, "min-max"])
def test_columns_are_scaled_as_those_of_dense_rows(classifier, wide, standardise) -> None:
    X, Y = wide
    model = classifier(standardise=standardise).fit(X, Y)
    expected = model.predict_proba(X.toarray())
    assert np.allclose(model.predict_proba(X), expected, atol=1e-5)


def test_members_trees_and_a_stored_model(classifier, wide, tmp_path) -> None:
    X, Y = wide
    model = classifier("auto", members=2, trees=10).fit(X, Y)
    proba = model.predict_proba(X)
    assert np.allclose(model.predict_proba(X.toarray()), proba, atol=1e-5)
    loaded = MultiLabelClassifier.load(model.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(X), proba)


def test_nets_of_the_users_own_and_linear_ones_get_dense_rows(classifier, wide) -> None:
    X, Y = wide
    seen = []

    class Own(LabelMLP):
        def forward(self, x):
            seen.append(x.is_sparse)
            return super().forward(x)

    classifier(task_net=lambda d, n: Own(d, n, hidden=(4,)), max_epochs=1).fit(X, Y)
    assert not any(seen)
    linear = classifier(hidden=(), max_epochs=1).fit(X, Y)
    assert linear.predict_proba(X).shape == Y.shape


@pytest.mark.parametrize("method", ["alen", "implicit-nce", "infnet-plus"])
def test_other_methods_take_wide_rows(classifier, wide, method) -> None:
    X, Y = wide
    assert classifier(method, max_epochs=1).fit(X, Y).predict_proba(X).shape == Y.shape


def test_a_killed_fit_continues(classifier, wide, tmp_path) -> None:
    X, Y = wide
    whole = classifier("seal-nce").fit(X, Y)

    class StopError(Exception):
        pass

    class Stop(Callback):
        def on_batch(self, trainer, losses) -> None:
            if trainer.epoch == 2:
                raise StopError

        def on_epoch(self, trainer) -> None:
            trainer.callbacks[-1]._last = -np.inf  # write at every epoch

    with pytest.raises(StopError):
        classifier("seal-nce").fit(X, Y, checkpoint=tmp_path / "c", callbacks=[Stop()])
    again = classifier("seal-nce").fit(X, Y, checkpoint=tmp_path / "c", resume_from_checkpoint=True)
    assert np.array_equal(again.predict_proba(X), whole.predict_proba(X))

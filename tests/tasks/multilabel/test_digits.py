import numpy as np
import pytest
from sklearn.datasets import load_digits

from lossnet.errors import SettingError
from lossnet.tasks.multilabel import contradicts, digits_attributes, digits_completion
from lossnet.tasks.multilabel.digits import ATTRIBUTE_LABELS, valid_label_sets


def test_the_facts_are_true() -> None:
    on = {
        name: {d for d in range(10) if valid_label_sets()[d, k]}
        for k, name in enumerate(ATTRIBUTE_LABELS)
    }
    digits = range(10)
    assert on["even"] == {d for d in digits if d % 2 == 0}
    assert on["odd"] == set(digits) - on["even"]
    divisors = {d: [k for k in range(1, d + 1) if d % k == 0] for d in digits}
    assert on["prime"] == {d for d in digits if len(divisors[d]) == 2}
    assert on["composite"] == {d for d in digits if len(divisors[d]) > 2}
    assert on["square"] == {d for d in digits if round(d**0.5) ** 2 == d}
    assert on["power_of_two"] == {2**k for k in range(4)}
    assert on["multiple_of_three"] == {d for d in digits if d % 3 == 0}
    assert on["above_four"] == {d for d in digits if d > 4}
    assert on["fibonacci"] == {0, 1, 2, 3, 5, 8}
    assert on["printed_two_loops"] <= on["printed_loop"]
    assert all(on[f"digit_{d}"] == {d} for d in digits)


def test_only_ten_label_sets_exist() -> None:
    splits = digits_attributes()
    assert [d.n_rows for _, d in splits.items()] == [300, 300, 1197]
    for _, data in splits.items():
        assert (data.n_features, data.n_labels) == (64, 22)
        assert not contradicts(data.Y).any()
    assert splits.train.diversity == 10
    assert len(np.unique(valid_label_sets(), axis=0)) == 10


def test_contradictions() -> None:
    Y = np.repeat(valid_label_sets(), 22, axis=0)
    Y[np.arange(220), np.tile(np.arange(22), 10)] ^= 1
    assert contradicts(Y).all()  # no two of the ten differ in one label only
    assert contradicts(np.zeros((1, 22))).all()
    with pytest.raises(SettingError, match=r"expected \(rows, 22\)"):
        contradicts(np.zeros((1, 21)))


def test_the_seed_draws_noise_and_order() -> None:
    clean = digits_attributes(1, noise=0)
    noisy = digits_attributes(1, noise=0.5)
    np.testing.assert_array_equal(clean.train.Y, noisy.train.Y)
    difference = noisy.test.X - clean.test.X  # type: ignore[union-attr]
    assert abs(difference.std() - 0.5) < 0.01
    assert abs(difference.mean()) < 0.01
    assert clean.train.X.min() >= 0
    assert clean.train.X.max() <= 1
    assert digits_attributes(1).train.checksum() == noisy.train.checksum()
    assert digits_attributes(2).train.checksum() != noisy.train.checksum()


def test_completion_holds_both_halves_of_every_digit() -> None:
    splits = digits_completion(seed=4)
    X = np.concatenate([d.X for _, d in splits.items()])
    Y = np.concatenate([d.Y for _, d in splits.items()])
    assert X.shape == (1797, 32)
    assert Y.shape == (1797, 32)
    images = load_digits().data
    ours = {(x.tobytes(), y.tobytes()) for x, y in zip(X, Y, strict=True)}
    theirs = {
        ((i[:32] / 16).astype(np.float32).tobytes(), (i[32:] >= 8).astype(np.uint8).tobytes())
        for i in images
    }
    assert ours == theirs
    assert splits.train.feature_names[0] == "pixel_0_0"
    assert splits.train.label_names[0] == "pixel_4_0"
    assert splits.train.label_names[-1] == "pixel_7_7"

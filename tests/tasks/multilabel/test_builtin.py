import pytest

from lossnet.errors import SettingError
from lossnet.tasks.multilabel import BUILTIN, load, load_splits


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_every_name_loads_and_is_the_same_twice(name) -> None:
    small = f"{name}:n_train=20,n_validation=10"
    one, two = load_splits(small), load_splits(small)
    other = load_splits(f"{small},seed=1")
    assert one.name == name
    assert one.train.n_rows == 20
    for (_, a), (_, b), (_, c) in zip(one.items(), two.items(), other.items(), strict=True):
        assert a.checksum() == b.checksum() != c.checksum()
    assert load(small).n_rows == sum(d.n_rows for _, d in one.items())


def test_the_seed_argument_leaves_built_in_data_alone() -> None:
    one = load_splits("digits-completion", seed=0)
    assert one.train.checksum() == load_splits("digits-completion", seed=5).train.checksum()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("ising:cupling=1", "unknown parameter of ising 'cupling': did you mean 'coupling'"),
        ("ising:coupling", "expected parameter=value, got 'coupling'"),
        ("ising:coupling=high", "coupling must be a number, got 'high'"),
        ("ising:seed=1.5", "seed must be an integer, got '1.5'"),
        ("ising:seed=1,seed=2", "seed is given twice"),
        ("ising:n_test=0", "each must be positive"),
        ("ising:labels=40", "between 1 and 14"),
        ("digits-attributes:noise=-1", "cannot be negative"),
        ("digits-completion:n_train=5000", "leave some of the 1797 rows"),
    ],
)
def test_wrong_parameters(source, message) -> None:
    with pytest.raises(SettingError, match=message):
        load_splits(source)


def test_labels_of_built_in_data_cannot_be_chosen() -> None:
    for read in (load, load_splits):
        with pytest.raises(SettingError, match="leave labels= out"):
            read("ising", labels=3)

import json
import subprocess
import sys

import numpy as np
import pytest

from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import MultiLabelData, load, load_files, load_splits
from lossnet.tasks.parts import Parts, divide

HEAD = "@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute a numeric\n@data\n"


def arff(values) -> str:
    return HEAD + "".join(f"{k % 2},{v}\n" for k, v in enumerate(values))


def column(data):
    return data.X[:, 0].tolist()


def test_folder_with_split_json(write, tmp_path) -> None:
    write("toy/toy.arff", arff(range(6)))
    write("toy/toy-train.arff", arff([9, 9]))  # split.json goes first
    write("toy/split.json", json.dumps({"train": [4, 0, 2], "validation": [1], "test": [5, 3]}))
    splits = load_splits(tmp_path / "toy")
    assert splits.name == "toy"
    assert [column(d) for _, d in splits.items()] == [[4, 0, 2], [1], [5, 3]]
    assert column(load(tmp_path / "toy")) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("names", ["toy-train toy-test", "toy.train toy.test", "train test"])
def test_folder_with_two_parts(write, tmp_path, names) -> None:
    train, test = names.split()
    write(f"f/{train}.arff", arff([1, 3]))
    write(f"f/{test}.arff", arff([5, "?"]))
    write("f/README.txt", "about these files")
    splits = load_splits(tmp_path / "f")
    assert splits.validation is None
    assert splits.test is not None
    np.testing.assert_array_equal(column(splits.test), [5, np.nan])
    np.testing.assert_array_equal(column(load(tmp_path / "f")), [1, 3, 5, np.nan])


@pytest.mark.parametrize("word", ["valid", "val", "dev", "validation"])
def test_folder_with_three_parts_and_a_mark(write, tmp_path, word) -> None:
    write("f/x_FUN.train.reconstructed.arff", arff([1, 2, 3]))
    write(f"f/x_FUN.{word}.arff", arff([4]))
    write("f/x_FUN.test.arff", arff([5]))
    splits = load_splits(tmp_path / "f")
    assert [(n, d.n_rows) for n, d in splits.items()] == [
        ("train", 3),
        ("validation", 1),
        ("test", 1),
    ]
    assert splits.train.notes == ["x_FUN.train.reconstructed.arff is marked 'reconstructed'"]
    assert splits.marks == ["reconstructed"]
    assert splits.test is not None
    assert splits.test.notes == []


def test_folder_of_svmlight_text(write, tmp_path) -> None:
    write("f/train.txt", "2 3 2\n0 0:1\n1 2:1\n")
    write("f/test.txt", "1 3 2\n0,1 1:1\n")
    splits = load_splits(tmp_path / "f")
    assert splits.train.n_rows == 2
    assert splits.test is not None
    assert load(tmp_path / "f").X.toarray().tolist() == np.eye(3)[[0, 2, 1]].tolist()


def test_a_single_file_is_divided_at_random(write) -> None:
    path = write("toy.arff", arff(range(50)))
    splits = load_splits(path, seed=1)
    sizes = [d.n_rows for _, d in splits.items()]
    assert sizes == [30, 10, 10]
    rows = [v for _, d in splits.items() for v in column(d)]
    assert sorted(rows) == list(range(50))
    again, other = load_splits(path, seed=1), load_splits(path, seed=2)
    assert column(again.train) == column(splits.train)
    assert column(other.train) != column(splits.train)
    assert column(load_splits(path.parent, seed=1).train) == column(splits.train)


def test_the_folder_of_several_wholes_needs_a_name(write, tmp_path) -> None:
    write("f/a.arff", arff([1, 2]))
    write("f/b.csv", "a,label:y\n1,0\n")
    with pytest.raises(DataError, match=r"several data sets \(a.arff, b.csv\)"):
        load(tmp_path / "f")
    write("f/F.arff", arff([7, 8, 9]))
    assert column(load(tmp_path / "f")) == [7, 8, 9]  # the one with the folder's name


def test_with_validation() -> None:
    data = MultiLabelData(np.arange(20.0)[:, None], np.zeros((20, 1)))
    splits = Parts(data, None, None).with_validation(0.25, seed=3)
    assert splits.validation is not None
    assert (splits.train.n_rows, splits.validation.n_rows, splits.test) == (15, 5, None)
    assert sorted(column(splits.train) + column(splits.validation)) == list(range(20))
    assert splits.with_validation(0.5) is splits
    with pytest.raises(DataError, match="too few"):
        Parts(data.subset([0])).with_validation()
    with pytest.raises(DataError, match="too few to divide"):
        divide(data.subset([0, 1]))


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ("[1, 2]", "expected"),
        ('{"test": [1]}', "expected"),
        ('{"train": [0], "dev": [1]}', "unknown part 'dev'"),
        ('{"train": [0, 9]}', "names row 9, but there are 3 rows"),
        ('{"train": [0, -1]}', "not a list of row numbers"),
        ('{"train": [true]}', "not a list of row numbers"),
        ('{"train": 3}', "not a list of row numbers"),
        ('{"train": [0, 1], "test": [1]}', "row 1 is in train and in test"),
        ('{"train": [0', "not valid JSON"),
    ],
)
def test_damaged_split_json(write, tmp_path, split, message) -> None:
    write("toy/toy.arff", arff(range(3)))
    write("toy/split.json", split)
    with pytest.raises(DataError, match=message):
        load_splits(tmp_path / "toy")


def test_folders_without_what_is_needed(write, tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no data file"):
        load(tmp_path / "empty")
    write("t/a-test.arff", arff([1]))
    with pytest.raises(DataError, match="no training part, only test"):
        load_splits(tmp_path / "t")
    write("two/a-train.arff", arff([1]))
    write("two/b-train.arff", arff([1]))
    with pytest.raises(DataError, match="two train files"):
        load_splits(tmp_path / "two")
    write("s/a-train.arff", arff([1]))
    write("s/split.json", '{"train": [0]}')
    with pytest.raises(DataError, match="no file of all rows"):
        load_splits(tmp_path / "s")


def test_names_that_do_not_exist(write, tmp_path) -> None:
    with pytest.raises(SettingError, match="data set 'isin': did you mean 'ising'"):
        load("isin")
    for missing in ("nowhere.arff", "no/where", tmp_path / "nothing"):
        with pytest.raises(DataError, match="does not exist"):
            load(missing)
    with pytest.raises(DataError, match="unknown kind of file"):
        load(write("a.xlsx", "x"))
    with pytest.raises(DataError, match="must have one format"):
        load_files([write("a.arff", arff([1])), write("a.csv", "a,label:y\n1,0\n")])
    with pytest.raises(DataError, match="no files given"):
        load_files([])


def test_concatenate_keeps_sparse() -> None:
    from scipy.sparse import csr_matrix

    one = MultiLabelData(csr_matrix(np.eye(2)), np.eye(2), notes=["n"])
    both = MultiLabelData.join({"train": one, "test": one})
    assert both.is_sparse
    assert both.n_rows == 4
    assert both.notes == ["n"]


def test_importing_the_data_package_brings_no_torch_of_its_own() -> None:
    # The package's own front may import torch; its data folder must not.
    code = (
        "import sys, types;"
        "package = types.ModuleType('lossnet'); package.__path__ = [sys.argv[1]];"
        "sys.modules['lossnet'] = package; import lossnet.tasks.multilabel;"
        "print([n for n in ('torch', 'sklearn', 'scipy', 'pandas') if n in sys.modules])"
    )
    import lossnet

    folder = lossnet.__path__[0]
    run = subprocess.run(
        [sys.executable, "-c", code, folder], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_files_of_a_folder_that_are_not_read_are_named(tmp_path) -> None:
    for name in ("a-train.csv", "a-test.csv", "a.csv"):
        (tmp_path / name).write_text("x,label:y\n1,1\n2,0\n3,1\n")
    (tmp_path / "README.md").write_text("about")
    (tmp_path / ".hidden").write_text("")
    splits = load_splits(tmp_path)
    assert splits.train.notes == [f"not read in {tmp_path}: README.md, a.csv"]
    assert splits.test is not None
    assert splits.test.notes == []
    assert load(tmp_path).notes == [f"not read in {tmp_path}: README.md, a-test.csv, a-train.csv"]


def test_data_and_its_parts_have_a_short_repr():
    parts = load_splits("digits-attributes")
    assert (
        repr(parts.train) == "MultiLabelData('digits-attributes', 300 rows, 64 features, 22 labels)"
    )
    assert len(repr(parts)) < 400

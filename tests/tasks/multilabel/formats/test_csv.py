import numpy as np
import pandas as pd
import pytest

from lossnet.errors import DataError
from lossnet.tasks.multilabel import load, load_files


def test_marked_label_columns(write) -> None:
    text = 'a,label:hot,"b, quoted",colour,ok,label:wet\n'
    text += "1,0,2.5,red,yes,1\n\n3,1,,green,no,0\n NA ,1,1e2,?,yes,1\n"
    data = load(write("t.csv", text))
    assert data.label_names == ["hot", "wet"]
    assert data.feature_names == ["a", "b, quoted", "colour=green", "colour=red", "ok"]
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0], [1, 1]])
    nan = np.nan
    expected = [[1, 2.5, 0, 1, 1], [3, nan, 1, 0, 0], [nan, 100, 0, 0, 1]]
    np.testing.assert_allclose(data.X, expected)
    assert data.n_missing == 2


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("labels", [-2, ["v", "w"]])
def test_delimiters_and_chosen_labels(write, mark, labels) -> None:
    text = "a,b,v,w\n1,2,0,1\n3,4,1,1\n".replace(",", mark)
    data = load(write("t.csv", text), labels=labels)
    assert (data.feature_names, data.label_names) == (["a", "b"], ["v", "w"])
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 1]])


def test_tsv_may_hold_commas(write) -> None:
    data = load(write("t.tsv", "a, b, c\ty\n1\t0\n2\t1\n"), labels=1 - 2)
    assert data.feature_names == ["a, b, c"]


def test_what_pandas_writes(tmp_path) -> None:
    frame = pd.DataFrame({"a": [1.5, 2.5], "label:y": [True, False]})
    frame.to_csv(tmp_path / "p.csv")
    data = load(tmp_path / "p.csv")
    assert data.feature_names == ["a"]
    assert any("row index" in note for note in data.notes)
    np.testing.assert_array_equal(data.Y, [[1], [0]])


def test_files_of_one_data_set_agree(write) -> None:
    one = write("1.csv", "a,c,label:y\n1,u,0\n3,v,1\n")
    two = write("2.csv", "a,c,label:y\n,v,1\n")
    first, second = load_files([one, two])
    assert first.feature_names == second.feature_names == ["a", "c=u", "c=v"]
    np.testing.assert_array_equal(second.X, [[np.nan, 0, 1]])
    with pytest.raises(DataError, match="does not have the columns"):
        load_files([one, write("3.csv", "a,label:y\n1,1\n")])


def test_words_are_those_of_the_training_file(write) -> None:
    train = write("1.csv", "c,ok,label:y\nu,yes,no\nv,no,no\n")
    test = write("2.csv", "c,ok,label:y\nw,yes,yes\nu,?,no\n5,no,no\n")
    first, second = load_files([train, test])
    assert first.feature_names == second.feature_names == ["c=u", "c=v", "ok"]
    np.testing.assert_array_equal(second.X, [[0, 0, 1], [1, 0, np.nan], [0, 0, 0]])
    np.testing.assert_array_equal(second.Y, [[1], [0], [0]])  # a label's words are of all files
    assert first.notes == []
    assert second.notes == ["'c' has words absent from training, left out: '5', 'w'"]
    for cell, message in {
        "u,maybe": "'ok' is 'maybe'; expected one of no, yes",
        "nan,yes": "nan",
    }.items():
        with pytest.raises(DataError, match=f"3.csv, line 2: .*{message}"):
            load_files([train, write("3.csv", f"c,ok,label:y\n{cell},yes\n")])


def test_a_number_in_training_stays_one(write) -> None:
    train = write("1.csv", "a,label:y\n1,0\n2,1\n")
    with pytest.raises(DataError, match=r"2.csv, line 3: 'a' is 'u', not a number"):
        load_files([train, write("2.csv", "a,label:y\n1,0\nu,1\n")])


def test_a_column_of_row_names_is_dropped_and_text_refused(write) -> None:
    rows = "".join(f"name {k},{k},{k % 2}\n" for k in range(30))
    assert load(write("n.csv", "id,a,label:y\n" + rows)).feature_names == ["a"]
    rows = "".join(f"{k},words {k},{k % 2}\n" for k in range(30))
    path = write("t.csv", "a,text,label:y\n" + rows)
    with pytest.raises(DataError, match="'text' is text"):
        load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,label:y\n", "a header and no rows"),
        ("1,2,3\n1,2,0\n", "has no header line"),
        ("a,a,label:y\n1,2,0\n", "two columns are called 'a'"),
        ("a,,label:y\n1,2,0\n", "column 2 has no name"),
        ("a,b,y\n1,2,0\n", "does not say which columns are labels"),
        ("a,b,label:y\n1,2,0\n1,2\n", "line 3: 2 cells for 3 columns; is the file cut short"),
        ("a,b,label:y\n1,2,0,4\n", "line 2: 4 cells for 3 columns"),
        ('a,b,label:y\n1,"2,0\n', "is a quote left open"),
        ("a,label:y\n1,2\n", "line 2: 'label:y' is '2'; expected one of 0, 1"),
        ("a,label:y\n1,u\n2,v\n", "a label must be 0/1 or yes/no"),
        ("a,label:y\n1,0\nnan,0\n", "line 3: column 'a' is 'nan', not a finite number"),
        ("a,label:y\n1,0\n-inf,0\n", "line 3: column 'a' is '-inf', not a finite number"),
        ("a,label:y\n1,0\n2,0\n3o,1\n", "line 4: column 'a' is '3o', not a finite number"),
        ("label:a,label:y\n1,0\n", "every column is a label"),
    ],
)
def test_damaged(write, text, message) -> None:
    with pytest.raises(DataError, match=message):
        load(write("bad.csv", text))


def test_a_label_name_that_is_not_there(write) -> None:
    with pytest.raises(DataError, match="did you mean 'wet'"):
        load(write("a.csv", "a,wet\n1,0\n"), labels=["wett"])

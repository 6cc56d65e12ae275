import contextlib
import gzip

import numpy as np
import pytest

from lossnet.errors import DataError
from lossnet.tasks.multilabel import load, load_files

DENSE = """% a comment
@RELATION 'toy: -C 2'

@Attribute first {0,1}
@attribute\tsecond\t{0, 1}
@ATTRIBUTE 'size in cm' REAL
@attribute "it's" integer   % trailing comment
@attribute colour {red,'dark, blue',green}
@attribute loud {no,yes}
@attribute level {1,2,3}

@DATA
1,0,0.5,3,red,yes,1

% between rows
0, 1, -1e-3, 4, 'dark, blue', no, 3
0,0,?,?,?,?,2  % and after one
"""
NAMES = ["size in cm", "it's", "colour=red", "colour=dark, blue", "colour=green", "loud", "level"]


def dense(data):
    return data.X.toarray() if data.is_sparse else data.X


def test_dense_rows(write) -> None:
    data = load(write("toy.arff", DENSE))
    assert data.name == "toy"
    assert data.label_names == ["first", "second"]
    assert data.feature_names == NAMES
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [0, 0]])
    expected = [
        [0.5, 3, 1, 0, 0, 1, 1],
        [-1e-3, 4, 0, 1, 0, 0, 3],
        [np.nan, np.nan, 0, 0, 0, np.nan, 2],  # no colour at all
    ]
    np.testing.assert_allclose(data.X, np.float32(expected))
    assert not data.is_sparse
    assert data.n_missing == 3


def test_packed_file_and_byte_order_mark(tmp_path) -> None:
    path = tmp_path / "toy.ARFF.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + DENSE.replace("\n", "\r\n").encode()))
    assert load(path).feature_names == NAMES


SPARSE = """@relation s
@attribute y1 {0,1}
@attribute a numeric
@attribute b {0,1}
@attribute c {NO,YES}
@attribute d {YES,NO}
@attribute e {x,'y z',w}
@attribute f {1,0}
@attribute y2 {0,1}
@data
{0 1, 1 2.5,2 1}
{3 YES, 4 NO, 5 'y z', 6 0, 7 1}
{ }
{1 ?, 5 ?}
"""


def test_sparse_rows(write) -> None:
    data = load(write("s.arff", SPARSE), labels=["y2", "y1"])
    assert data.is_sparse
    assert data.label_names == ["y1", "y2"]  # the file's order
    assert data.feature_names == ["a", "b", "c", "d", "e=x", "e=y z", "e=w", "f"]
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [0, 0], [0, 0]])
    # What a row does not list has the first value declared: d is YES, e is x, f is 1.
    np.testing.assert_allclose(
        dense(data),
        np.float32(
            [
                [2.5, 1, 0, 1, 1, 0, 0, 1],
                [0, 0, 1, 0, 0, 1, 0, 0],
                [0, 0, 0, 1, 1, 0, 0, 1],
                [np.nan, 0, 0, 1, 0, 0, 0, 1],
            ]
        ),
    )


def test_sparse_and_dense_say_the_same(write) -> None:
    head = "@relation 'r: -C -1'\n@attribute a numeric\n@attribute b numeric\n"
    head += "@attribute y {0,1}\n@data\n"
    one = load(write("one.arff", head + "{0 1.5,2 1}\n{1 -2}\n"))
    two = load(write("two.arff", head + "1.5,0,1\n0,-2,0\n"))
    assert one.checksum() == two.checksum()


@pytest.mark.parametrize(
    ("declared", "cells", "numbers"),
    [
        ("{YES,NO}", "YES NO", [1, 0]),
        ("{no, yes}", "no yes", [0, 1]),
        ("{True,False}", "False True", [0, 1]),
        ("{n,y}", "y n", [1, 0]),
        ("{f,t}", "t f", [1, 0]),
        ("{0,1}", "1 0", [1, 0]),
        ("{-1,+1}", "-1 +1", [-1, 1]),
        ("{0.5,2e1}", "2e1 0.5", [20, 0.5]),
        ("string", "3 4", [3, 4]),
    ],
)
def test_words_and_numbers_of_nominal_features(write, declared, cells, numbers) -> None:
    a, b = cells.split()
    text = f"@relation r\n@attribute y {{0,1}}\n@attribute v {declared}\n@data\n0,{a}\n1,{b}\n"
    np.testing.assert_array_equal(load(write("v.arff", text), labels=1).X[:, 0], numbers)


def test_escapes_and_odd_names(write) -> None:
    text = (
        "@relation r\n@attribute y {0,1}\n@attribute 'don\\'t' {'a\\tb',\"c\\\"d\",'\\u0041'}\n"
        '@attribute / numeric\n@attribute a{0,1}\n@data\n1,\'a\\tb\',1,0\n0,"c\\"d",2,1\n'
        "0, 'A' ,3,1\n"
    )
    data = load(write("e.arff", text), labels=1)
    assert data.feature_names == ["don't=a\tb", "don't=c\"d", "don't=A", "/", "a"]
    np.testing.assert_array_equal(data.X[:, :3], np.eye(3))


def test_values_between_spaces(write) -> None:
    text = "@relation r\n@attribute y {0,1}\n@attribute a numeric\n@data\n1\t5\n0 6\n"
    np.testing.assert_array_equal(load(write("t.arff", text), labels=1).X[:, 0], [5, 6])


def test_latin_1_is_read_and_noted(tmp_path) -> None:
    path = tmp_path / "l.arff"
    path.write_bytes(
        "@relation r\n@attribute é numeric\n@attribute y {0,1}\n@data\n1,0\n".encode("latin-1")
    )
    data = load(path, labels=-1)
    assert data.feature_names == ["é"]
    assert any("Latin-1" in note for note in data.notes)


def test_names_declared_twice_are_numbered(write) -> None:
    twice = "@attribute a numeric\n" * 2
    text = f"@relation r\n{twice}@attribute y {{0,1}}\n@data\n1,2,0\n"
    data = load(write("d.arff", text), labels=-1)
    assert data.feature_names == ["a", "a#2"]
    assert any("'a#2'" in note for note in data.notes)


def rows_with_id(kind: str, n: int) -> str:
    head = f"@relation r\n@attribute id {kind}\n@attribute a numeric\n@attribute y {{0,1}}\n@data\n"
    return head + "".join(f"row{i},{i},{i % 2}\n" for i in range(n))


def test_a_column_that_names_the_rows_is_dropped(write) -> None:
    declared = "{" + ",".join(f"row{i}" for i in range(12)) + "}"
    for kind in (declared, "string"):
        data = load(write("id.arff", rows_with_id(kind, 12)), labels=-1)
        assert data.feature_names == ["a"]
        assert any("dropped 'id'" in note for note in data.notes)
    few = load(write("few.arff", rows_with_id("{row0,row1,row2}", 3)), labels=-1)
    assert few.n_features == 4  # three values in three rows may well be a real feature


def test_files_of_one_data_set_are_coded_alike(write) -> None:
    head = "@relation r\n@attribute a numeric\n@attribute c {VALUES}\n@attribute y {0,1}\n@data\n"
    train = write("train.arff", head.replace("VALUES", "u,v") + "1,u,0\n3,v,1\n")
    test = write("test.arff", head.replace("VALUES", "v,w,u") + "?,w,1\n10,?,0\n")
    first, second = load_files([train, test], labels=-1)
    assert first.feature_names == second.feature_names == ["a", "c=u", "c=v", "c=w"]
    np.testing.assert_array_equal(first.X, [[1, 1, 0, 0], [3, 0, 1, 0]])
    np.testing.assert_array_equal(second.X, [[np.nan, 0, 0, 1], [10, 0, 0, 0]])


def test_a_column_without_any_value(write) -> None:
    text = "@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n?,0\n?,1\n"
    np.testing.assert_array_equal(load(write("a.arff", text), labels=-1).X, [[np.nan], [np.nan]])


def test_files_with_other_columns_are_refused(write) -> None:
    head = "@relation r\n@attribute y {0,1}\n@attribute NAME numeric\n@data\n0,1\n"
    one, two = write("1.arff", head), write("2.arff", head.replace("NAME", "other"))
    with pytest.raises(DataError, match=r"does not have the columns of .* from number 1 on"):
        load_files([one, two], labels=1)


HEAD = "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@attribute y {0,1}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (HEAD, "line 4: the file ends without @data"),
        ("@relation r\n@data\n1\n", "line 2: @data before any @attribute"),
        (HEAD + "@data\n", "no rows after @data"),
        (HEAD + "@data\n1,0,1\n2,0\n", "line 7: 2 values for 3 attributes; is the file cut short"),
        (HEAD + "@data\n1,0,1,0\n", "line 6: 4 values for 3 attributes"),
        (HEAD + "@data\n1,0,1, {5}\n", "line 6: instance weights"),
        (HEAD + "@data\n1,0,1\n{0 1}\n", "line 7: a sparse row among dense ones"),
        (HEAD + "@data\n{0 1}\n1,0,1\n", "line 7: a dense row among sparse ones"),
        (HEAD + "@data\n{0 1,1\n", "line 6: no closing brace"),
        (HEAD + "@data\n{0 1,1}\n", "line 6: expected 'number value'"),
        (HEAD + "@data\n{0 1 1 1}\n", "line 6: expected 'number value'"),
        (HEAD + "@data\n{x 1}\n", "line 6: 'x' is not an attribute's number"),
        (HEAD + "@data\n{99999999999999999999 1}\n", "line 6: '9+' is not an attribute's"),
        (HEAD + "@data\n{0_1 1}\n", "line 6: expected 'number value' in '0_1 1'"),
        (HEAD + "@data\n{3 1}\n", "line 6: attribute number 3, but there are 3"),
        (HEAD + "@data\n{0 1}\n{1 1,0 2,1 1}\n", "line 7: attribute number 1 is given twice"),
        (HEAD + "@data\n{0 'x}\n", "line 6: "),
        (HEAD + "@data\n{0 abc}\n", "line 6: 'a' is 'abc', not a number"),
        (HEAD + "@data\n{1 7}\n", "line 6: 'b' is '7'; expected one of 0, 1"),
        (HEAD + "@data\n{2 7}\n", "line 6: 'y' is '7'; expected one of 0, 1"),
        (HEAD + "@data\n1,0,1\n'2,0,1\n", "line 7: a quote does not end"),
        (HEAD + "@data\n1,0,1\nabc,0,1\n", "line 7: 'a' is 'abc', not a number"),
        (HEAD + "@data\nnan,0,1\n", "line 6: 'a' is 'nan', not a number"),
        (HEAD + "@data\n1_0,0,1\n", "line 6: 'a' is '1_0', not a number"),
        (HEAD + "@data\n-inf,0,1\n", "line 6: 'a' is '-inf', not a number"),
        (HEAD + "@data\n1,2,1\n", "line 6: 'b' is '2'; expected one of 0, 1"),
        (HEAD + "@attribute z {1,2\n", "line 5: the values of 'z' have no closing brace"),
        (HEAD + "@attribute 'z numeric\n", "line 5: a quoted name does not end"),
        (HEAD + "@attribute z wibble\n", "line 5: attribute 'z' has the unknown type 'wibble'"),
        (HEAD + "hello\n", "line 5: expected @relation, @attribute"),
    ],
)
def test_damaged_files(write, text, message) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load(write("bad.arff", text), labels=-1)
    assert "bad.arff" in str(caught.value)


def test_undeclared_word(write) -> None:
    text = "@relation r\n@attribute y {0,1}\n@attribute c {u,v}\n@data\n0,u\n1,x\n"
    with pytest.raises(DataError, match="line 6: 'c' is 'x'; expected one of u, v"):
        load(write("w.arff", text), labels=1)


def test_text_and_dates_are_not_features(write) -> None:
    text = "@relation r\n@attribute y {0,1}\n@attribute c KIND\n@data\n0,'some words'\n1,'x y'\n"
    with pytest.raises(DataError, match="'c' is text; TextClassifier predicts from texts; here"):
        load(write("s.arff", text.replace("KIND", "string")), labels=1)
    with pytest.raises(DataError, match="'c' is of type date"):
        load(write("s.arff", text.replace("KIND", "date 'yyyy'")), labels=1)


def test_a_label_of_three_values(write) -> None:
    text = "@relation r\n@attribute a numeric\n@attribute y {0,1,2}\n@data\n0,1\n"
    with pytest.raises(DataError, match="a label must be 0/1 or yes/no"):
        load(write("y.arff", text), labels=-1)


def test_not_text_and_not_whole(tmp_path) -> None:
    path = tmp_path / "b.arff"
    path.write_bytes(DENSE.encode("utf-16"))
    with pytest.raises(DataError, match="a zero byte"):
        load(path)
    packed = tmp_path / "b.arff.gz"
    packed.write_bytes(gzip.compress(DENSE.encode())[:-20])
    with pytest.raises(DataError, match="not a complete gzip file"):
        load(packed)


def test_every_cut_is_noticed_or_loses_whole_rows(write) -> None:
    whole = HEAD + "@data\n1.5,0,1\n2.5,1,0\n"
    for end in range(len(whole)):
        path = write("cut.arff", whole[:end])
        with contextlib.suppress(DataError):
            data = load(path, labels=-1)
            assert data.n_features == 2
            np.testing.assert_array_equal(data.Y, [[1], [0]][: data.n_rows])

import numpy as np
import pytest

from lossnet.constraints import Implies, bind
from lossnet.errors import DataError
from lossnet.tasks.multilabel import load
from lossnet.tasks.multilabel.formats.clus import forest

TREE = """@RELATION 'r'
@ATTRIBUTE a numeric
@ATTRIBUTE class hierarchical 01,01/02,01/02/05,03/04
@DATA
1,01/02@03/04
2,01/02/05
3,01
"""


def test_a_class_implies_its_ancestors(write) -> None:
    data = load(write("t.arff", TREE))
    assert data.label_names == ["01", "01/02", "01/02/05", "03", "03/04"]
    assert data.parents == {1: [0], 2: [1], 4: [3]}
    implied = (Implies("01/02", "01"), Implies("01/02/05", "01/02"), Implies("03/04", "03"))
    assert data.constraints == data.subset([0]).constraints == implied
    assert data.without_labels().constraints == ()
    np.testing.assert_array_equal(data.Y, [[1, 1, 0, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]])
    assert data.feature_names == ["a"]


def test_graph_with_two_parents(write) -> None:
    text = TREE.replace("01,01/02,01/02/05,03/04", "root/a,root/b,a/c,b/c,c/d")
    text = text[: text.index("1,01")] + "1,d\n2,b\n"
    data = load(write("g.arff", text))
    assert data.label_names == ["a", "b", "c", "d"]
    assert data.parents == {2: [0, 1], 3: [2]}
    assert data.constraints == (Implies("c", "a"), Implies("c", "b"), Implies("d", "c"))
    assert bind(data.constraints, data.label_names).allows(data.Y).all()
    np.testing.assert_array_equal(data.Y, [[1, 1, 1, 1], [0, 1, 0, 0]])


def test_every_parent_is_on_where_its_child_is(write) -> None:
    data = load(write("t.arff", TREE))
    assert data.parents is not None
    for child, parents in data.parents.items():
        assert (data.Y[:, parents] >= data.Y[:, [child]]).all()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3,01\n", "3,09\n", "line 7: class '09' was not declared"),
        ("3,01\n", "3,?\n", "line 7: the classes are missing"),
        ("01/02/05,", "01//05,", "class '01//05' has an empty part"),
        ("hierarchical 01,01/02,01/02/05,03/04", "hierarchical", "declares no class"),
    ],
)
def test_damaged(write, old, new, message) -> None:
    with pytest.raises(DataError, match=message):
        load(write("t.arff", TREE.replace(old, new)))


def test_two_hierarchies_are_refused(write) -> None:
    text = TREE.replace("@ATTRIBUTE a numeric", "@ATTRIBUTE a hierarchical 1,2")
    with pytest.raises(DataError, match="2 hierarchical attributes"):
        load(write("t.arff", text))


def test_implied_nodes_count_once() -> None:
    assert forest(("a/b", "a/c", "a"), "file", 0).names == ["a", "a/b", "a/c"]

import numpy as np
import pytest

from lossnet.constraints import Implies
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import load
from lossnet.tasks.multilabel.formats.arff import find_xml, read_labels
from lossnet.tasks.multilabel.formats.encode import chosen

ARFF = """@relation r
@attribute a numeric
@attribute 'y &1' {0,1}
@attribute b numeric
@attribute y2 {0,1}
@attribute y3 {0,1}
@data
1,1,2,0,0
3,0,4,1,1
"""
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<!-- a comment -->
<label name="y3"><label name="y &amp;1"><label name="y2"/></label></label>
</labels>
"""


def test_scattered_labels_and_their_hierarchy(write) -> None:
    write("toy.xml", XML)
    data = load(write("toy.arff", ARFF))
    assert data.label_names == ["y &1", "y2", "y3"]
    assert data.feature_names == ["a", "b"]
    np.testing.assert_array_equal(data.Y, [[1, 0, 0], [0, 1, 1]])
    assert data.parents == {0: [2], 1: [0]}
    names = data.label_names
    assert data.constraints == (Implies(names[0], names[2]), Implies(names[1], names[0]))


def test_flat_labels_have_no_parents(write) -> None:
    write("toy.xml", '<labels><label name="y2"/></labels>')
    data = load(write("toy.arff", ARFF))
    assert (data.parents, data.constraints) == (None, ())


def test_the_argument_goes_before_the_xml_and_the_xml_before_meka(write) -> None:
    write("toy.xml", '<labels><label name="y2"/></labels>')
    path = write("toy.arff", ARFF.replace("@relation r", "@relation 'r: -C -1'"))
    assert load(path).label_names == ["y2"]
    assert load(path, labels=["y3", "y2"]).label_names == ["y2", "y3"]
    assert load(path, labels=-2).label_names == ["y2", "y3"]
    path.with_suffix(".xml").unlink()
    assert load(path).label_names == ["y3"]


@pytest.mark.parametrize("name", ["a.arff", "a-train.arff", "a.test.arff", "a_valid.x.arff.gz"])
def test_the_xml_of_a_part(write, name) -> None:
    xml = write("a.xml", XML)
    write("other.xml", XML)
    assert find_xml(xml.with_name(name)) == xml


def test_the_only_xml_is_taken(write) -> None:
    xml = write("labels.xml", XML)
    assert find_xml(xml.with_name("a.arff")) == xml
    write("more.xml", XML)
    assert find_xml(xml.with_name("a.arff")) is None


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<labels><label", "not well-formed XML"),
        ("<labels/>", "names no label"),
        ("<labels><label/></labels>", "a <label> without a name"),
        ('<labels><label name="a"/><label name="a"/></labels>', "'a' is named twice"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><labels/>', "declares a document type"),
    ],
)
def test_damaged_xml(write, xml, message) -> None:
    with pytest.raises(DataError, match=message):
        read_labels(write("a.xml", xml))


def test_a_label_that_is_no_attribute(write) -> None:
    write("toy.xml", '<labels><label name="y22"/></labels>')
    with pytest.raises(DataError, match=r"toy.xml.*no column is called 'y22'.*did you mean 'y2'"):
        load(write("toy.arff", ARFF))


def test_nothing_says_what_is_a_label(write) -> None:
    with pytest.raises(DataError, match="does not say which attributes are labels"):
        load(write("toy.arff", ARFF))


@pytest.mark.parametrize("labels", [0, 3, -3, 7, [], ["a", "b", "c"]])
def test_label_choices_that_leave_nothing(labels) -> None:
    with pytest.raises(DataError):
        chosen(["a", "b", "c"], labels, "file")


@pytest.mark.parametrize("labels", ["a", True])
def test_label_choices_of_a_wrong_type(labels) -> None:
    with pytest.raises(SettingError, match="give a number"):
        chosen(["a", "b", "c"], labels, "file")

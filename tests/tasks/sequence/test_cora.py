"""References with marked fields: tokens, tags, and what is refused."""

from __future__ import annotations

import pytest

from lossnet.errors import DataError
from lossnet.tasks.sequence import load_sequences, read_references, tokenise_reference

XML = """<?xml version="1.0"?>
<data>
<ref><author> A. Cau &amp; W. de Roever. </author> <title> On "hash". </title>
<pages> 3-26 </pages> .
</ref>
<ref><date>(1991a),</date><date>May.</date></ref>
</data>
"""


def test_fields_become_tags(write) -> None:
    data = read_references(write("refs.xml", XML))
    assert " ".join(data.tokens[0]) == "A. Cau & W. de Roever . On `` hash '' . 3-26 ."
    assert data.tags == [
        ["author"] * 7 + ["title"] * 5 + ["pages"] * 2,  # the last point stands behind its field
        ["date"] * 6,
    ]
    assert data.notes == ["1 pieces of text behind a field went to that field"]
    assert data.name == "refs"


def test_schemes_keep_touching_fields_apart(write) -> None:
    path = write("refs.xml", XML)
    tags = read_references(path, scheme="IOB2").tags[1]
    assert tags == ["B-date", *["I-date"] * 3, "B-date", "I-date"]
    assert load_sequences(path, scheme="BIOES").tags[1][-2:] == ["B-date", "E-date"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Dijkstra's and don't", "Dijkstra 's and don't"),
        ("U. Dayal, H. Garcia-Molina", "U. Dayal , H. Garcia-Molina"),
        ("Proc. ACM, Dept. of CS", "Proc . ACM , Dept. of CS"),
        ("36(1), pp. 27-47, 3–9.", "36 (1) , pp . 27-47 , 3–9 ."),
        ("D.C. (1991a) [3]", "D. C. -LRB- 1991a -RRB- -LRB- 3 -RRB-"),
        ("at http://a.b/~c.ps, 1999", "at http://a.b/~c.ps , 1999"),
        ('"Être et temps," 1927', "`` Être et temps , '' 1927"),
        ("a -- b ... 1,000", "a -- b ... 1,000"),
        ("  ", ""),
    ],
)
def test_tokens(text, tokens) -> None:
    assert tokenise_reference(text) == tokens.split()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (XML[:150], "line 6: not well-formed XML .* is the file cut short"),
        ("<?xml version='1.0'?>\n<data></data>", "holds no references"),
        ("<data><ref></ref></data>", "reference 0 .* no text in fields"),
        ("<data><ref><a> </a></ref></data>", "reference 0 .* no text in fields"),
        ("<data><ref>x <a>y</a></ref></data>", "text before its first field"),
        ("<data><ref><a>y</a></ref><ref><a><b>x</b></a></ref></data>", "reference 1 .*<b> stands"),
    ],
)
def test_bad_files(write, text, match) -> None:
    with pytest.raises(DataError, match=match) as caught:
        load_sequences(write("bad.xml", text))
    assert "bad.xml" in str(caught.value)


def test_wrong_encoding(tmp_path) -> None:
    path = tmp_path / "latin.xml"
    path.write_bytes("<data>\n<ref><a>é</a></ref></data>".encode("latin-1"))
    with pytest.raises(DataError, match="line 2: byte 0xe9 is not UTF-8"):
        load_sequences(path)

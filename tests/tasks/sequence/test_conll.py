"""CoNLL files: what is read, what is written, and what is refused."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lossnet.errors import DataError, SettingError
from lossnet.tasks.sequence import SequenceData, read_conll, write_conll

NER = """-DOCSTART- -X- -X- O

EU NNP B-NP I-ORG
rejects VBZ B-VP O

Peter NNP B-NP I-PER
Blackburn NNP I-NP I-PER

-DOCSTART- -X- -X- O

BRUSSELS NNP B-NP I-LOC
"""


def test_four_columns_and_documents(write) -> None:
    data = read_conll(write("ner.conll", NER), columns=["pos", "chunk"])
    assert data.tokens == [["EU", "rejects"], ["Peter", "Blackburn"], ["BRUSSELS"]]
    assert data.tags == [["I-ORG", "O"], ["I-PER", "I-PER"], ["I-LOC"]]
    assert data.columns["pos"] == [["NNP", "VBZ"], ["NNP", "NNP"], ["NNP"]]
    assert data.columns["chunk"][1] == ["B-NP", "I-NP"]
    assert data.documents == [0, 0, 1]
    assert (data.name, len(data), data.n_tokens) == ("ner", 3, 5)
    assert data.tag_names == ["I-LOC", "I-ORG", "I-PER", "O"]


def test_any_column_is_the_tag(write) -> None:
    path = write("ner.conll", NER)
    data = read_conll(path, tag_column=1)
    assert data.tag_names == ["NNP", "VBZ"]
    assert list(data.columns) == ["column2", "column3"]
    assert read_conll(path, token_column=-1, tag_column=0).tokens[0] == ["I-ORG", "O"]
    bare = read_conll(path, tag_column=None)
    assert (bare.tags, bare.tag_names) == (None, [])


def test_conversion(write) -> None:
    path = write("ner.conll", NER)
    assert read_conll(path, scheme="IOB2").tags[1] == ["B-PER", "I-PER"]
    assert read_conll(path, scheme="BIOES").tags[0] == ["S-ORG", "O"]
    plain = write("ref.train", "A author\nB author\nC title\n")
    assert read_conll(plain, scheme="IOB2").tags == [["B-author", "I-author", "B-title"]]
    with pytest.raises(SettingError, match="unknown scheme 'BILOU'"):
        read_conll(path, scheme="BILOU")
    with pytest.raises(DataError, match=r"mixed\.conll: tags with a prefix"):
        read_conll(write("mixed.conll", "a B-X\nb Y\n"), scheme="IOB2")


def test_spaces_tabs_line_ends_and_blank_lines_of_tabs(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeff\r\na\u00a0b \tX\r\n\u00a0\tY \r\n\t\r\n \r\nNew York\tX".encode())
    data = read_conll(path)
    assert data.tokens == [["a\u00a0b", "\u00a0"], ["New York"]]
    assert data.tags == [["X", "Y"], ["X"]]
    path.write_text("a   X  \nb \t Y\n")
    assert read_conll(path).tags == [["X", "Y"]]
    path.write_text("a b|X\n")
    assert read_conll(path, separator="|").tokens == [["a b"]]
    packed = tmp_path / "b.conll.gz"
    packed.write_bytes(gzip.compress(b"a X\n"))
    assert (read_conll(packed).tokens, read_conll(packed).name) == ([["a"]], "b")


def test_comments_are_not_hashtags(write) -> None:
    text = "#begin document (a); part 0\n# id 7 domain=en\n#tag O\n# O\n\n#end document\n"
    text += "#begin document (b); part 0\n# text = # 1\n#1 O\n"
    data = read_conll(write("a.conll", text))
    assert data.tokens == [["#tag", "#"], ["#1"]]
    assert data.documents == [0, 1]
    path = write("b.conll", "// note\na O\n")
    assert read_conll(path, comment="//").tokens == [["a"]]
    with pytest.raises(DataError, match="line 1 has 2"):
        read_conll(write("c.conll", "a O\n# what a long note\n"))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"-DOCSTART- O\n\n", "no tokens"),
        (b"a O\nb\nc O\n", "line 2: 1 columns where line 1 has 2: 'b'; is the file cut short"),
        (b"\na\tO\nb\tO\nc\tB-per extra\tO\n", "line 4: 3 columns where line 2 has 2"),
        (b"a\tO\nb\t", "line 2: 1 columns where line 1 has 2"),
        (b"a\tO\n\tO\n", "line 2: column 0 .* is empty"),
        (b"a O\ncaf\xe9 O\n", "line 2: byte 0xe9 is not UTF-8"),
        ("a O\n".encode("utf-16"), "line 1: byte 0xff is not UTF-8"),
        (b"a\0 O\n", "line 1: a zero byte"),
        (b"a\nb\n", "column 0 of 1 cannot be both .* give tag_column=None"),
    ],
)
def test_bad_files(tmp_path, content, match) -> None:
    path = tmp_path / "bad.conll"
    path.write_bytes(content)
    with pytest.raises(DataError, match=match) as caught:
        read_conll(path)
    assert "bad.conll" in str(caught.value)


def test_bad_columns_and_missing_files(write, tmp_path) -> None:
    path = write("ner.conll", NER)
    with pytest.raises(DataError, match="column 4 asked for, but there are 4"):
        read_conll(path, tag_column=4)
    for names in (["pos"], ["pos", "pos"]):
        with pytest.raises(DataError, match="cannot name the 2 columns"):
            read_conll(path, columns=names)
    with pytest.raises(DataError, match="does not exist"):
        read_conll(tmp_path / "no.conll")
    (tmp_path / "cut.conll.gz").write_bytes(gzip.compress(NER.encode())[:-9])
    with pytest.raises(DataError, match="not a complete gzip file"):
        read_conll(tmp_path / "cut.conll.gz")


CELL = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
SENTENCES = st.lists(
    st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=4), min_size=1, max_size=4
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(SENTENCES, st.booleans())
def test_written_files_read_back_or_are_refused(tmp_path, rows, documents) -> None:
    def column(k: int) -> list[list[str]]:
        return [[cells[k] for cells in sentence] for sentence in rows]

    numbers = [k // 2 for k in range(len(rows))] if documents else None
    data = SequenceData(column(0), column(2), {"pos": column(1)}, numbers)
    path = tmp_path / "a.conll"
    try:
        write_conll(data, path)
    except DataError:
        cells = [cell for sentence in rows for token in sentence for cell in token]
        assert any(set(cell) & set("\t\n\r\0") or cell.strip(" ") != cell for cell in cells)
        return
    assert read_conll(path, columns=["pos"]).checksum() == data.checksum()


def test_what_cannot_be_written(tmp_path) -> None:
    for token in ("a\tb", "a\n", " a", "-DOCSTART-", "# sent_id = 3", "\ud800"):
        data = SequenceData([["x"], ["y", token]], [["O"], ["O", "O"]])
        with pytest.raises(DataError, match="sentence 1, token 1"):
            write_conll(data, tmp_path / "a.conll")
    assert list(tmp_path.iterdir()) == []


def test_predicted_tags_beside_the_columns(write, tmp_path) -> None:
    data = read_conll(write("ner.conll", NER), columns=["pos", "chunk"])
    path = write_conll(replace(data, tags=[["O", "O"], ["O", "O"], ["O"]]), tmp_path / "out.conll")
    assert path.read_text().splitlines()[2] == "EU\tNNP\tB-NP\tO"
    assert read_conll(path).documents == [0, 0, 1]


def test_tokens_and_tags_in_their_columns(write, tmp_path) -> None:
    data = read_conll(write("ner.conll", NER), columns=["pos", "chunk"])
    path = write_conll(data, tmp_path / "out.conll", token_column=2, tag_column=0)
    assert path.read_text().splitlines()[2] == "I-ORG\tNNP\tEU\tB-NP"
    back = read_conll(path, token_column=2, tag_column=0, columns=["pos", "chunk"])
    assert back.checksum() == data.checksum()
    with pytest.raises(DataError, match="cannot be both tokens and tags"):
        write_conll(data, tmp_path / "out.conll", token_column=3)


def test_a_column_called_underscore_is_left_out(write) -> None:
    path = write("ner.conll", NER)
    assert list(read_conll(path, columns=["pos", "_"]).columns) == ["pos"]
    assert not read_conll(path, columns=["_", "_"]).columns
    with pytest.raises(DataError, match="all different, or _ to leave a column out"):
        read_conll(path, columns=["pos", "pos"])


@pytest.mark.parametrize(
    ("places", "mark"),
    [
        ({}, "-DOCSTART-\t-X-\t-X-\tO"),
        ({"tag_column": 1}, "-DOCSTART-\tO\t-X-\t-X-"),
        ({"token_column": 1, "tag_column": 0}, "-DOCSTART-\t-X-\t-X-\t-X-"),
    ],
)
def test_document_marks_have_no_tag(write, tmp_path, places, mark) -> None:
    data = read_conll(write("ner.conll", NER), columns=["pos", "chunk"])
    path = write_conll(data, tmp_path / "out.conll", **places)
    assert path.read_text().splitlines()[0] == mark


CONLLU_ROWS = """# newdoc id = a
# newpar
# a comment of no known shape
1-2\tvámonos\t_\t_
1\tvamos\tir\tVERB
2\tnos\tnosotros\tPRON
2.1\tya\tya\tADV

1\tsí\tsí\tINTJ
"""


def test_multiword_tokens_and_empty_nodes_are_left_out(write) -> None:
    path = write("es.conllu", CONLLU_ROWS)
    data = read_conll(path, token_column=1, tag_column=3, columns=["_", "lemma"])
    assert data.tokens == [["vamos", "nos"], ["sí"]]
    assert data.tags == [["VERB", "PRON"], ["INTJ"]]
    assert data.columns["lemma"] == [["ir", "nosotros"], ["sí"]]
    assert data.notes == ["2 multiword tokens and empty nodes left out"]
    with pytest.raises(DataError, match="column 0 of a CoNLL-U file numbers the tokens"):
        read_conll(path)


def test_scores_and_numbers_that_count_nothing_are_tokens(write) -> None:
    rows = "2-1 O\n3.5 O\n\n2 O\n1-0 O\n"
    assert read_conll(write("a.conll", rows)).tokens == [["2-1", "3.5"], ["2", "1-0"]]
    turned = read_conll(write("b.conll", "2-1 a\n2 b\n"), token_column=1, tag_column=0)
    assert turned.tags == [["2-1", "2"]]


def test_subsets_and_checksums(write) -> None:
    data = read_conll(write("ner.conll", NER))
    some = data.subset([2, 0])
    assert some.tokens == [["BRUSSELS"], ["EU", "rejects"]]
    assert some.tags == [["I-LOC"], ["I-ORG", "O"]]
    assert some.columns["column1"] == [["NNP"], ["NNP", "VBZ"]]
    assert some.documents == [1, 0]
    assert data.subset(np.array([True, False, True])).tokens == data.subset([0, -1]).tokens
    assert some.subset([1, 0]).checksum() == data.subset([0, 2]).checksum() != data.checksum()
    with pytest.raises(DataError, match="has 3 sentences: index 3 is out of bounds"):
        data.subset([3])
    with pytest.raises(DataError, match="has 3 sentences: boolean index did not match"):
        data.subset([True])


def test_the_repr_is_short(write) -> None:
    data = read_conll(write("ner.conll", NER), columns=["pos", "chunk"])
    assert repr(data) == ("SequenceData('ner', 3 sentences, 5 tokens, tagged, columns pos, chunk)")
    assert (
        repr(SequenceData([["a"]])) == "SequenceData('data', 1 sentences, 1 tokens, without tags)"
    )


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"tokens": []}, "no sentences"),
        ({"tokens": [["a"], []]}, "sentence 1 .* is empty"),
        ({"tokens": ["a b"]}, "sentence 0 .* is 'a b'; give a list of strings"),
        ({"tokens": "a b"}, "tokens is 'a b'; give a list of lists"),
        ({"tokens": [["a", ""]]}, "sentence 0 .*, token 1 is ''"),
        ({"tokens": [["a"]], "tags": [[3]]}, "sentence 0 .* of tags, token 0 is 3"),
        ({"tokens": [["a"]], "tags": []}, "1 sentences of tokens and 0 of tags"),
        ({"tokens": [["a"], ["b", "c"]], "tags": [["X"], ["X"]]}, "sentence 1 .* 2 tokens and 1"),
        ({"tokens": [["a"]], "columns": {"pos": [["X", "Y"]]}}, "1 tokens and 2 in column 'pos'"),
        ({"tokens": [["a"]], "documents": [0, 1]}, "2 document numbers for 1"),
    ],
)
def test_bad_data(arguments, match) -> None:
    with pytest.raises(DataError, match=match):
        SequenceData(**arguments)

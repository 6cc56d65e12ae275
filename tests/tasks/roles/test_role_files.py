"""Files of predicates and roles: read, written and read again, or one clear error."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from role_examples import GOLD, LINES, small_roles

from lossnet.errors import DataError
from lossnet.tasks.roles import (
    RoleData,
    load_role_splits,
    load_roles,
    read_gold_conll,
    read_role_lines,
    write_gold_conll,
    write_role_lines,
)


def same(one: RoleData, other: RoleData) -> None:
    assert one.checksum() == other.checksum()
    assert one.documents == other.documents
    assert one.sentences == other.sentences


def test_every_predicate_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "a.gold_conll").write_text(GOLD)
    data = read_gold_conll(tmp_path / "a.gold_conll")
    assert data.predicates == [1, 3, 1]
    assert data.tokens[0] == data.tokens[1] == ["I", "want", "to", "give", "up"]
    assert data.tags == [
        ["B-ARG0", "B-V", "B-ARG1", "I-ARG1", "I-ARG1"],
        ["B-ARG0", "O", "O", "B-V", "I-V"],
        ["B-ARG0", "B-V"],
    ]
    assert data.groups == [0, 0, 2]
    assert len(data.sentences) == 3
    assert data.sentences[0].frames[3] == ("give", "give.08")


@pytest.mark.parametrize("packed", [False, True])
def test_gold_conll_comes_back_letter_by_letter(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("a.gold_conll.gz" if packed else "a.gold_conll")
    path.write_bytes(gzip.compress(GOLD.encode()) if packed else GOLD.encode())
    data = read_gold_conll(path)
    write_gold_conll(data, tmp_path / "b.gold_conll")
    assert (tmp_path / "b.gold_conll").read_text() == GOLD
    same(read_gold_conll(tmp_path / "b.gold_conll"), data)


@pytest.mark.parametrize("part", ["dev", "test"])
def test_ewt_comes_back_letter_by_letter(tmp_path: Path, shared_roles: Path, part: str) -> None:
    source = shared_roles / f"{part}.gold_conll"
    write_gold_conll(read_gold_conll(source), tmp_path / "again.gold_conll")
    assert (tmp_path / "again.gold_conll").read_bytes() == source.read_bytes()


def test_lines_come_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    data = read_role_lines(tmp_path / "a.txt")
    assert data.predicates == [2, 1, 3]
    assert data.groups == [0, 1, 1]
    write_role_lines(data, tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_text() == LINES
    same(read_role_lines(tmp_path / "b.txt"), data)


def test_lines_without_tags_and_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0 Go away\n\n1 dogs bark\n")
    data = read_role_lines(tmp_path / "a.txt")
    assert not data.labelled
    assert data.blank == (1,)
    write_role_lines(data, tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_text() == "0 Go away\n1 dogs bark\n"


def test_from_one_format_to_the_other(tmp_path: Path) -> None:
    data = small_roles()
    write_gold_conll(data, tmp_path / "a.gold_conll")
    again = load_roles(tmp_path / "a.gold_conll")
    assert again.checksum() == data.checksum()
    assert again.sentences[0].frames[again.predicates[0]][1].endswith(".XX")
    assert write_role_lines(again, tmp_path / "a.txt")
    assert load_roles(tmp_path / "a.txt").checksum() == data.checksum()


def test_gold_conll_without_arguments_has_no_tags(tmp_path: Path) -> None:
    bare = "".join("\t".join(line.split("\t")[:8]) + "\n" for line in GOLD.splitlines())
    (tmp_path / "a.gold_conll").write_text(bare)
    data = read_gold_conll(tmp_path / "a.gold_conll")
    assert not data.labelled
    assert data.predicates == [1, 3, 1]


def test_a_folder_has_parts(tmp_path: Path) -> None:
    for name in ("train", "dev"):
        (tmp_path / f"{name}.gold_conll").write_text(GOLD)
    (tmp_path / "test.gold_conll.gz").write_bytes(gzip.compress(GOLD.encode()))
    (tmp_path / "train.txt").write_text("about the data")
    parts = load_role_splits(tmp_path)
    assert [len(data) for _, data in parts.items()] == [3, 3, 3]
    assert "train.txt" in parts.train.notes[0]
    joined = load_roles(tmp_path)
    assert joined.groups == [0, 0, 2, 3, 3, 5, 6, 6, 8]
    assert len(joined.sentences) == 9


def test_sentences_stay_together_in_splits(tmp_path: Path) -> None:
    lines = [f"{k} w{n} runs and jumps" for n in range(20) for k in (1, 3)]
    tags = {1: "B-ARG0 B-V O O", 3: "B-ARG0 O O B-V"}
    (tmp_path / "a.txt").write_text("".join(f"{x} ||| {tags[int(x[0])]}\n" for x in lines))
    parts = load_role_splits(tmp_path / "a.txt")
    first = [{tokens[0] for tokens in data.tokens} for _, data in parts.items()]
    assert sum(map(len, first)) == 20
    assert len(set.union(*first)) == 20


def line(number: int, old: str, new: str) -> str:
    lines = GOLD.split("\n")
    assert old in lines[number - 1]
    lines[number - 1] = lines[number - 1].replace(old, new)
    return "\n".join(lines)


WRONG = {
    "cut inside a line": (GOLD[: GOLD.index("give.08")], "line 4: 8 columns where line 1 has 10"),
    "cut after a line": (GOLD[: GOLD.index("d.xml\t0\t3")], "line 1: the sentence has 1 "),
    "a column too many": (line(8, "*)\t-\t-", "*)\t-\t-\t*"), "line 8: 9 columns"),
    "a column short": (line(3, "\t*", ""), "line 3: 9 columns where line 1 has 10"),
    "few columns": ("a\tb\n", "line 1: 2 columns where at least 8 are needed"),
    "never closed": (line(5, "\t*)", "\t*"), "line 3: the bracket of (ARG1* is never closed"),
    "closed twice": (line(2, "\t(V*)\t*", "\t(V*)\t*)"), "line 2: '*)' closes an argument"),
    "nested": (line(4, "\t*\t(V*", "\t(ARG2*\t(V*"), "line 4: '(ARG2*' opens an argument inside"),
    "no cell": (line(2, "(V*)", "V"), "line 2: 'V' is no argument"),
    "two V": (line(1, "(ARG0*)\t(ARG0*)", "(V*)\t(ARG0*)"), "line 2, column 8"),
    "no V": (line(2, "(V*)", "(ARG2*)"), "no token has B-V"),
    "V elsewhere": (line(11, "(V*)", "*").replace("Dogs\tNNS\t(TOP(S(NP*)\t-\t-\t(ARG0*)",
        "Dogs\tNNS\t(TOP(S(NP*)\t-\t-\t(V*)"), "line 11, column 8"),
    "an empty cell": (line(1, "PRP", ""), "line 1: column 4 (counted from 0) is empty"),
    "empty": ("\n\n", "is empty"),
    "no predicates": ("\n".join(GOLD.split("\n")[6:9]), "has no predicates"),
    "some without arguments": (
        line(11, "\t(V*)", "").replace("-\t(ARG0*)\nd.xml\t2\t1", "-\nd.xml\t2\t1"),
        "line 10: this sentence has no columns of arguments",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_gold_conll_names_its_line(tmp_path: Path, kind: str) -> None:
    text, message = WRONG[kind]
    path = tmp_path / "a.gold_conll"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read_gold_conll(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


WRONG_LINES = {
    "7 the dog barks": "line 2: the predicate's position must be from 0 to 2, got 7",
    "-1 the dog barks": "line 2: '-1' is no position of a predicate",
    "the dog barks": "line 2: 'the' is no position",
    "2": "line 2: no words",
    "1 dogs bark ||| B-ARG0": "line 2: 2 words and 1 tags; give one tag for each word",
    "1 dogs bark ||| B-V B-V": "line 2: 2 tokens have B-V",
    "1 dogs bark ||| O O": "line 2: no token has B-V",
    "1 dogs bark ||| B-V O": "line 2: the predicate, token 1, has the tag 'O'",
    "1 dogs bark ||| ARG0 B-V": "line 2: token 0 (counted from 0) has the tag 'ARG0'",
    "1 dogs bark": "line 2: no tags behind |||, and line 1 has tags",
}


@pytest.mark.parametrize("row", WRONG_LINES)
def test_a_wrong_line_is_named(tmp_path: Path, row: str) -> None:
    (tmp_path / "a.txt").write_text(f"1 cats sleep ||| B-ARG0 B-V\n{row}\n")
    with pytest.raises(DataError) as error:
        read_role_lines(tmp_path / "a.txt")
    assert WRONG_LINES[row] in str(error.value)


def test_what_is_no_file_of_roles(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        load_roles(tmp_path / "none.gold_conll")
    (tmp_path / "a.conll").write_text("x O\n")
    with pytest.raises(DataError, match=r"must be \.gold_conll or"):
        load_roles(tmp_path / "a.conll")
    with pytest.raises(DataError, match="has no training file"):
        load_roles(tmp_path)

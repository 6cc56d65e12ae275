"""Files and folders of sequence data: small ones, and the shared ones against their counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from lossnet.errors import DataError
from lossnet.tasks.parts import Parts
from lossnet.tasks.sequence import (
    ConllFormat,
    detect_scheme,
    load_sequence_splits,
    load_sequences,
    spans,
)
from lossnet.tasks.sequence.folders import holds_sequences, looks_like_conll

# sentences, tokens, tags; sentences as the data's README says
COUNTS = {
    "twitter_pos/oct27.train": (1000, 14619, 25),
    "twitter_pos/oct27.dev": (327, 4823, 23),
    "twitter_pos/oct27.test": (500, 7152, 23),
    "twitter_pos/daily547.conll": (547, 7707, 25),
    "wnut17/train.conll": (3394, 62730, 13),
    "wnut17/dev.conll": (1009, 15733, 13),
    "wnut17/test.conll": (1287, 23394, 13),
    "cora_citations/ref.train": (300, 9696, 13),
    "cora_citations/ref.test": (200, 6270, 13),
    "cora_citations/tagged_references.txt": (500, 15970, 13),
    "cora_citations/anystyle_core.xml": (1514, None, 23),
    "cora_citations/anystyle_gold.xml": (1669, None, 19),
}
PARTS = {
    "twitter_pos": {"train": 1000, "validation": 327, "test": 500},
    "wnut17": {"train": 3394, "validation": 1009, "test": 1287},
    "cora_citations": {"train": 300, "test": 200},
}


@pytest.fixture
def sequence(mlc: Path) -> Path:
    """The folder of sequence benchmark sets; the test is skipped where it is absent."""
    folder = mlc.parent / "sequence"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent")
    return folder


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_files(sequence, name) -> None:
    sentences, tokens, tags = COUNTS[name]
    data = load_sequences(sequence / name)
    assert (len(data), len(data.tag_names)) == (sentences, tags)
    assert tokens is None or data.n_tokens == tokens
    assert data.columns == {}
    assert data.documents is None
    assert detect_scheme(data.tags) == ("IOB2" if name.startswith("wnut17") else "plain")


@pytest.mark.parametrize("name", sorted(PARTS))
def test_folders(sequence, name) -> None:
    splits = load_sequence_splits(sequence / name)
    assert {part: len(data) for part, data in splits.items()} == PARTS[name]
    assert splits.name == name
    assert len(load_sequences(sequence / name)) == sum(PARTS[name].values())


def test_every_tweet_token_is_kept(sequence) -> None:
    tokens = [t for s in load_sequences(sequence / "twitter_pos/oct27.train").tokens for t in s]
    assert tokens.count("\u00a0") == 2
    assert "—\u00a0launch" in tokens


def test_entity_types(sequence) -> None:
    data = load_sequences(sequence / "wnut17/test.conll", scheme="BIOES")
    found = [span for tags in data.tags for span in spans(tags, "BIOES", strict=True)]
    assert len(found) == 1079
    assert {span.type for span in found} == {
        "corporation",
        "creative-work",
        "group",
        "location",
        "person",
        "product",
    }


def test_tagged_text_gives_the_tokenised_file(sequence) -> None:
    """The tagged text holds the citations of both tokenised files, in their order."""
    tokenised = load_sequences(sequence / "cora_citations/ref.train")
    tagged = load_sequences(sequence / "cora_citations/tagged_references.txt").subset(range(300))
    assert tagged.tag_names == tokenised.tag_names
    same = sum(
        [("and" if w == "&" else w) for w in one] == two
        for one, two in zip(tokenised.tokens, tagged.tokens, strict=True)
    )
    assert same >= 265


def test_a_folder_of_parts(write, tmp_path) -> None:
    write("a/x.train.conll", "-DOCSTART- O\n\na O\n\n-DOCSTART- O\n\nb O\n")
    write("a/x-dev.conll", "-DOCSTART- O\n\nc O\n")
    write("a/README.txt", "What this is.\nAnd why.\n")
    splits = load_sequence_splits(tmp_path / "a")
    assert isinstance(splits, Parts)
    assert [(part, len(data)) for part, data in splits.items()] == [("train", 2), ("validation", 1)]
    assert splits.test is None
    whole = load_sequences(tmp_path / "a")
    assert (whole.tokens, whole.documents) == ([["a"], ["b"], ["c"]], [0, 1, 2])
    assert whole.name == "a"
    write("a/x_valid.conll", "d O\n")
    with pytest.raises(DataError, match=r"two validation files: x-dev\.conll and x_valid\.conll"):
        load_sequence_splits(tmp_path / "a")


def test_one_file_is_divided(write) -> None:
    path = write("a.conll", "".join(f"{k} N O\n\n" for k in range(10)))
    splits = load_sequence_splits(path, conll=ConllFormat(tag_column=1, columns=["entity"]))
    assert [len(data) for _, data in splits.items()] == [6, 2, 2]
    assert splits.train.tag_names == ["N"]
    tokens = sorted(s[0] for _, data in splits.items() for s in data.tokens)
    assert tokens == sorted(map(str, range(10)))
    whole = Parts(load_sequences(path))
    cut = whole.with_validation(0.3, seed=1)
    assert (len(cut.train), len(cut.validation or [])) == (7, 3)
    assert cut.with_validation() is cut


def test_a_tag_in_angle_brackets_is_not_xml(write) -> None:
    assert load_sequences(write("a.conll", "<user> O\n<3 E\n")).tokens == [["<user>", "<3"]]


def test_bad_folders(write, tmp_path) -> None:
    write("a/test.conll", "a O\n")
    with pytest.raises(DataError, match="no training file"):
        load_sequence_splits(tmp_path / "a")
    with pytest.raises(DataError, match="does not exist"):
        load_sequences(tmp_path / "b")
    write("a/train.conll", "a N O\n")
    with pytest.raises(DataError, match="does not have the columns of"):
        load_sequences(tmp_path / "a")


def test_conllu_is_words_and_parts_of_speech(write) -> None:
    rest = "\t_" * 6
    path = write(
        "x/en-train.conllu", f"# s = 1\n1\tIt\tit\tPRON{rest}\n2\trains\train\tVERB{rest}\n"
    )
    data = load_sequences(path)
    assert (data.tokens, data.tags, data.columns) == ([["It", "rains"]], [["PRON", "VERB"]], {})
    assert holds_sequences(path.parent)
    assert load_sequence_splits(path.parent).train.tokens == data.tokens


def test_conll_2003_names_and_files_that_are_not_read(write, tmp_path) -> None:
    folder = tmp_path / "conll2003"
    for part, count in (("train", 3), ("testa", 2), ("testb", 1)):
        write(f"conll2003/eng.{part}", "U.N. I-ORG\n\n" * count)
    write("conll2003/eng.raw", "text")
    (folder / "ner").mkdir()
    write("conll2003/.hidden", "")
    splits = load_sequence_splits(folder)
    assert {part: len(data) for part, data in splits.items()} == {
        "train": 3,
        "validation": 2,
        "test": 1,
    }
    assert splits.train.notes == [f"not read in {folder}: eng.raw, ner"]
    assert len(load_sequences(folder)) == 6
    assert holds_sequences(folder)
    assert holds_sequences(folder / "eng.testb")
    (folder / "eng.train").unlink()
    with pytest.raises(DataError, match=r"no training file .*: eng.raw, eng.testa, eng.testb"):
        load_sequences(folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-DOCSTART- -X- O\n\nU.N. NNP I-ORG\nsays VBZ O\n\n", True),
        ("U.N.\tB-ORG\nsays\tO\n", True),
        ("0,2 1:0.5 3:1\n1 2:0.5 3:1\n", False),
        ("one sentence of words\nanother one\n", False),
        ("word\nword\n", False),
        ("", False),
    ],
)
def test_text_that_may_be_conll(tmp_path, text, expected) -> None:
    (tmp_path / "train.txt").write_text(text)
    assert looks_like_conll(tmp_path / "train.txt") == expected
    assert looks_like_conll(tmp_path) == expected
    assert not looks_like_conll(tmp_path / "nowhere.txt")

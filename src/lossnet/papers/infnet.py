"""The tables of paper 003: inference networks trained with the energy (InfNet+)."""

from __future__ import annotations

from typing import Any

from lossnet.papers.table import Benchmark, Column, Row, Table

#: Which of a token's features the columns have; the data at hand has no parts of speech or chunks.
_NER: dict[str, Any] = {"chars": False, "case": False, "fixed_vectors": True}
_PLUS: dict[str, Any] = {"chars": False, "case": True, "fixed_vectors": False}
_MORE: dict[str, Any] = {"chars": True, "case": True, "fixed_vectors": False}
_POS = Column("POS", "twitter_pos", "accuracy", "paper:pos")
_CONLL = (
    Column("NER", "conll2003-words", "span-f1", "paper:ner", _NER),
    Column("NER+", "conll2003", "span-f1", "paper:ner+", _PLUS),
)
_WNUT = (
    Column("WNUT-17 NER", "wnut17", "span-f1", "paper:ner", _NER),
    Column("WNUT-17 NER+", "wnut17", "span-f1", "paper:ner+", _PLUS),
    Column("WNUT-17 NER++", "wnut17", "span-f1", "paper:ner++", _MORE),
)
_PROTOCOL = (
    "POS: token accuracy on Twitter (Gimpel et al. 2011), 1,000 tweets to train, 327 to stop "
    "early, 500 to test, 100-dimensional skip-gram vectors of tweets, fixed, BiLSTM of 100; NER: "
    "span F1 on CoNLL-2003 as conlleval, BIOES, 100-dimensional GloVe vectors, BiLSTM of 128; NER "
    "has words and fixed vectors, NER+ also case, parts of speech, chunks and trained vectors, "
    "NER++ characters too; seeds are not given"
)
_OURS = (
    "GloVe vectors, of Wikipedia and news, in place of the tweets' own; CoNLL-2003 needs a licence "
    "and WNUT-17, which is harder, stands in without parts of speech and chunks: compare its rows "
    "with each other only; by default the tagger also reads the case and characters of tweets"
)
_VECTORS = (
    "GloVe vectors of Wikipedia and news lack words of tweets, one-letter words and most numbers, "
    "and nothing else describes a word here; the gain of the compound objective, 1.1 points, is "
    "the paper's 1.0."
)
_TREES = Benchmark("benchmarks/trees.py", "trees_ewt")
_CE: dict[str, Any] = {"xent_weight": 1.0}
_NO_CE: dict[str, Any] = {"xent_weight": 0.0}


def _sharing(how: str, numbers: str) -> Row:
    name = "infnet-plus" if how == "stacked" else f"infnet-plus-{how}"
    return Row(f"compound, {how}", "infnet-plus", numbers, {"sharing": how}, name=name)


def _global(letter: str, kind: str, numbers: str) -> Row:
    how, name = {"global_energy": kind}, f"infnet-plus-GE({letter})"
    words = f"+ global energy GE({letter})"
    return Row(words, "infnet-plus", numbers, {"sharing": "stacked"}, how, name=name)


def _margin(truncate: bool, xent: dict[str, Any], numbers: str) -> Row:
    words = "cut at 0" if truncate else "not cut"
    with_ce = "with CE" if xent["xent_weight"] else "without CE"
    name = f"infnet{'-cut' if truncate else ''}{'' if xent['xent_weight'] else '-no-ce'}"
    params = {"truncate": truncate, **xent}
    return Row(f"margin-rescaled, {words}, {with_ce}", "infnet", numbers, params, name=name)


def _perceptron(xent: dict[str, Any], numbers: str) -> Row:
    with_ce = "with CE" if xent["xent_weight"] else "without CE"
    name = f"infnet-perceptron{'' if xent['xent_weight'] else '-no-ce'}"
    params = {"loss": "perceptron", "truncate": False, **xent}
    return Row(f"perceptron, not cut, {with_ce}", "infnet", numbers, params, name=name)


TABLES = (
    Table(
        "infnet-table1",
        "paper 003, Table 1",
        "cutting the margin at zero, and local cross-entropy",
        _PROTOCOL,
        (_POS, *_CONLL),
        (
            _margin(True, _NO_CE, "13.9 3.91 3.91"),
            _margin(False, _NO_CE, "87.9 85.1 88.6"),
            _margin(True, _CE, "89.4 85.2 89.5"),
            _margin(False, _CE, "89.4 85.2 89.5"),
            _perceptron(_NO_CE, "88.2 84.0 88.1"),
            _perceptron(_CE, "88.6 84.7 89.0"),
        ),
        ours=_OURS,
    ),
    Table(
        "infnet-table2",
        "paper 003, Table 2",
        "the compound objective, and how the two nets share parameters",
        _PROTOCOL,
        (_POS, *_CONLL, *_WNUT),
        (
            Row("BiLSTM", "cross-entropy", "88.8 84.9 89.3 - - -"),
            _margin(True, _CE, "89.4 85.2 89.5 - - -"),
            _perceptron(_CE, "88.6 84.4 89.0 - - -"),
            _sharing("separated", "89.7 85.0 89.8 - - -"),
            _sharing("shared", "89.8 85.6 90.1 - - -"),
            _sharing("stacked", "89.8 85.6 90.1 - - -"),
        ),
        ours=_OURS,
        why=dict.fromkeys([(row, "POS") for row in ("cross-entropy", "infnet-plus")], _VECTORS),
    ),
    Table(
        "infnet-table3",
        "paper 003, Table 3",
        "how much better the test-time net is than the cost-augmented net",
        f"difference of the two nets' accuracy or F1 on the development part; {_PROTOCOL}",
        (
            Column("POS", "twitter_pos", "validation gap", "paper:pos"),
            Column("NER", "conll2003-words", "validation gap", "paper:ner", _NER),
            Column("WNUT-17 NER", "wnut17", "validation gap", "paper:ner", _NER),
        ),
        (
            _margin(False, _CE, "0.2 0 -"),
            _sharing("separated", "2.2 0.4 -"),
            _sharing("shared", "1.9 0.5 -"),
            _sharing("stacked", "2.6 1.7 -"),
        ),
        ours=f"{_OURS}; a stacked net is shown the truth, as in training",
    ),
    Table(
        "infnet-table4",
        "paper 003, Table 4",
        "global energies: language models of the tags",
        _PROTOCOL,
        (*_CONLL, Column("NER++", "conll2003", "span-f1", "paper:ner++", _MORE), *_WNUT),
        (
            Row("BiLSTM", "cross-entropy", "- - - - - -"),
            _margin(True, _CE, "85.2 89.5 90.2 - - -"),
            _sharing("stacked", "85.6 90.1 90.8 - - -"),
            _global("a", "forward", "85.8 90.2 90.7 - - -"),
            _global("b", "both", "85.9 90.2 90.8 - - -"),
            _global("c", "both+words", "86.3 90.4 91.0 - - -"),
        ),
        ours=_OURS,
    ),
    Table(
        "infnet-parsing",
        "paper 003, appendix A.1",
        "constituency parsing of linearised trees",
        "bracket F1 on the development part; trees as sequences, a sequence-to-sequence net with "
        "attention as in Tran et al. (2018), feature network pretrained by cross-entropy; seeds "
        "are not given",
        (
            Column("development F1", "switchboard", "validation bracket-f1"),
            Column("EWT development F1", "trees_ewt", "validation bracket-f1", benchmark=_TREES),
            Column("EWT test F1", "trees_ewt", "test bracket-f1", benchmark=_TREES),
        ),
        (
            Row("local cross-entropy", "cross-entropy", "82.80 - -"),
            Row("random field", "crf", "- - -"),
            Row(
                "stacked + global energy GE(a)",
                "infnet-plus",
                "83.22 - -",
                {"sharing": "stacked"},
                {"global_energy": "forward"},
                name="infnet-plus + GE(a)",
            ),
        ),
        ours="the paper's data needs a licence; on the English Web Treebank a BiLSTM of 100 tags "
        "words with GloVe vectors and characters, one tag for each word, trained on every second "
        "tree without rare tags: compare its rows with each other only; on the "
        "paper's data the preset would be that of Twitter, for it prints none for parsing",
    ),
)

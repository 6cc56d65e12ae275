"""The tables of paper 002: the loss-net trained with the implicit gradient."""

from __future__ import annotations

from lossnet.papers.table import Benchmark, Column, Row, Table

_DIRECT = {"gradient": "direct"}
_HALF = "example-f1@0.5"
_F1 = (
    Column("bibtex", "bibtex", _HALF, "paper:bibtex"),
    Column("delicious", "delicious", _HALF, "paper:delicious"),
    Column("eurlexev", "eurlexev", _HALF, "paper:eurlexev"),
)
#: The first column once more, for runs with settings of our own.
_OWN = Column(
    "bibtex, own settings",
    "bibtex",
    "example-f1 at 0.5",
    benchmark=Benchmark("benchmarks/multilabel.py", "bibtex", {"stage": "final"}),
)
_PROTOCOL = (
    "F1 of every test row, averaged over rows; threshold, parts and seeds are not given (ours: "
    "cut at 0.5, stratified parts of SEAL's sizes)"
)
_TEXT = Benchmark("benchmarks/text.py", "aapd_small")
_CITED = {
    count: Benchmark("benchmarks/citations.py", "cora_citations", {"labelled": count})
    for count in (5, 10, 50)
}
_WORDS = {"chars": False, "case": False, "fixed_vectors": True}
_CASE = {"chars": False, "case": True, "fixed_vectors": False}
_OBJECTIVES = {"SSVM": "ssvm", "DVN": "dvn", "CD": "cd", "NCE": "nce"}
_IMPLICIT = {
    "ssvm": "44.55 30.34 42.50",
    "dvn": "44.94 28.87 42.35",
    "cd": "45.76 34.50 42.92",
    "nce": "46.21 35.12 43.49",
}
_PLAIN = {
    "ssvm": "43.15 28.91 42.10",
    "dvn": "42.59 30.17 42.15",
    "cd": "43.3 31.09 42.79",
    "nce": "43.2 33.08 42.19",
}

_CHOSEN = (
    "own settings are chosen on validation rows for each row, for a tuned threshold, and gradients "
    "reach the candidates through their cost alone (path='cost')"
)
_WHY = {
    (f"implicit-{own}", _OWN.printed): "no gain over the direct gradient here, where the paper has "
    "1.4 to 2.5 points; results.md has a study of what departs from it."
    for own in ("ssvm", "dvn", "cd")
} | {("implicit-nce", _OWN.printed): "the paper's number, and its gain over the direct gradient."}
_WHY_OTHERS = {
    ("spen", _OWN.printed): "not explained; settings chosen for a tuned threshold, where it has "
    "45.6.",
    ("nce-energy", _OWN.printed): "not explained; papers 000 and 001 print 12.95 and 17.93 for it.",
    ("dvn", _OWN.printed): "the default has the plain steps of DVN's authors; SEAL's released "
    "settings (above) are below the paper.",
    ("alen", _OWN.printed): "the paper quotes alen-table1, of the official parts; see there.",
    ("cross-entropy", _OWN.printed): "settings chosen for a tuned threshold, where it has 46.2.",
}


def _again(numbers: str) -> str:
    """The paper's numbers, and the first once more."""
    return f"{numbers} {numbers.split()[0]}"


TABLES = (
    Table(
        "implicit-table1",
        "paper 002, Table 1",
        "F1 on multi-label data",
        _PROTOCOL,
        (*_F1, Column("bookmarks", "bookmarks-official", _HALF, "paper:bookmarks"), _OWN),
        (
            Row("SPEN", "spen", "43.12 26.56 41.75 34.4 43.12"),
            Row("NCE", "nce-energy", "20.12 16.97 19.50 - 20.12"),
            Row("DVN", "dvn", "42.73 29.71 31.90 37.1 42.73"),
            Row("ALEN", "alen", "46.4 - - 38.3 46.4"),
            Row("GSPEN", None, "48.6 - - 40.7 48.6"),
            Row("MBCE", "cross-entropy", "42.47 30.12 43.25 33.8 42.47"),
            Row("iALEN", "alen", "42.8 - - 37.2 42.8", output="net", name="alen-net"),
            Row("L_SSVM", "implicit-ssvm", "44.55 30.34 42.50 37.9 44.55"),
            Row("L_DVN", "implicit-dvn", "44.94 28.87 42.35 38.1 44.94"),
            Row("L_CD", "implicit-cd", "45.76 34.50 42.9 38.5 45.76"),
            Row("L_NCE", "implicit-nce", "46.21 35.12 43.49 38.5 46.21"),
        ),
        ours=f"the preset of SPEN, NCE, DVN and MBCE is SEAL's released one; {_CHOSEN}",
        why=_WHY | _WHY_OTHERS,
    ),
    Table(
        "implicit-table2",
        "paper 002, Table 2",
        "micro and macro F1 on RCV1 and AAPD, BERT",
        "test texts; threshold and seeds are not given",
        (
            Column("RCV Mi-F1", "rcv1", "micro-f1@0.5"),
            Column("RCV Ma-F1", "rcv1", "macro-f1@0.5"),
            Column("AAPD Mi-F1", "aapd", "micro-f1@0.5"),
            Column("AAPD Ma-F1", "aapd", "macro-f1@0.5"),
            Column("1000 Mi-F1", "aapd_small", "micro-f1 at 0.5", benchmark=_TEXT),
            Column("1000 Ma-F1", "aapd_small", "macro-f1 at 0.5", benchmark=_TEXT),
        ),
        (
            Row("SGM", None, "86.9 - 70.2 - - -"),
            Row("BERT-CE", "cross-entropy", "87.1 66.7 74.1 57.2 - -"),
            Row("OCD", None, "- - 72.1 58.5 - -"),
            Row("Seq2Seq", None, "87.9 66.0 69.0 54.1 - -"),
            Row("SeqTag", None, "87.7 68.7 73.1 58.5 - -"),
            Row("LACO", None, "88.2 69.1 74.7 59.1 - -"),
            Row("L_NCE", "implicit-nce", "88.5 68.9 75.6 59.8 - -"),
        ),
        ours=(
            "RCV1 and AAPD's 53,840 training abstracts are not here; the columns 1000 learn from "
            "800 of AAPD's validation abstracts with frozen MiniLM vectors and say nothing about "
            "the paper's numbers"
        ),
    ),
    Table(
        "implicit-table3",
        "paper 002, Table 3",
        "span F1 of named entities",
        "CoNLL-2003, GloVe vectors; NER has words, NER+ also parts of speech and chunks; F1 as "
        "conlleval; seeds are not given",
        (
            Column("NER", "conll2003-words", "span-f1", "paper:ner", _WORDS),
            Column("NER+", "conll2003", "span-f1", "paper:ner+", _CASE),
            Column("WNUT-17 NER", "wnut17", "span-f1", "paper:ner", _WORDS),
        ),
        (
            Row("BILSTM", "cross-entropy", "84.9 89.1 -"),
            Row("SPEN", "spen", "85.1 88.6 -"),
            Row("InfNet", "infnet", "85.2 89.3 -"),
            Row("InfNet+", "infnet-plus", "85.3 89.7 -"),
            Row("L_SSVM", "implicit-ssvm", "85.4 89.6 -"),
            Row("L_NCE", "implicit-nce", "85.7 90.3 -"),
        ),
        ours="CoNLL-2003 needs a licence; WNUT-17 is harder and other data: compare rows only",
    ),
    Table(
        "implicit-table4",
        "paper 002, Table 4",
        "token accuracy of citation fields from 5, 10 and 50 labelled citations",
        "1,000 unlabelled citations and a reward made of rules; draws and seeds are not given",
        [
            Column(f"{count} labelled", "cora_citations", "test accuracy", benchmark=script)
            for count, script in _CITED.items()
        ],
        (
            Row("GE", None, "54.7 57.9 68.0"),
            Row("RSPEN", None, "55.0 65.0 81.5"),
            Row("DVN", None, "57.4 60.9 79.4"),
            Row("SGSPEN", None, "53.0 62.4 82.6"),
            Row("Ours (L_NCE)", "implicit-reward", "58.9 67.8 82.9"),
            Row("cross-entropy, labelled only", "cross-entropy"),
            Row("CRF, labelled only", "crf"),
            Row("direct gradient", "seal-reward"),
        ),
        ours=(
            "other rules and another division of the 500 citations: 200 for test; regression in "
            "place of NCE, for a reward says how good an output is, not which is true"
        ),
        why=dict.fromkeys(
            [("implicit-reward", f"{count} labelled") for count in _CITED],
            "the rules differ: ours, decoded alone, give 91.2 % of the test tokens their field; "
            "the paper does not say what its own give.",
        ),
    ),
    Table(
        "implicit-table5",
        "paper 002, Table 5",
        "F1 with the direct and with the implicit gradient",
        _PROTOCOL,
        (*_F1, _OWN),
        (
            *(
                Row(f"non-implicit, L_{name}", f"implicit-{own}", _again(_PLAIN[own]), _DIRECT,
                    name=f"implicit-{own}-direct")
                for name, own in _OBJECTIVES.items()
            ),
            *(
                Row(f"implicit, L_{name}", f"implicit-{own}", _again(_IMPLICIT[own]))
                for name, own in _OBJECTIVES.items()
            ),
        ),
        ours=_CHOSEN,
        why=_WHY,
    ),
)  # fmt: skip

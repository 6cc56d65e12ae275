"""The tables of SEAL: paper 000 (NeurIPS 2022) and, for plain ranking, paper 001 (ICLR 2022)."""

from __future__ import annotations

from lossnet.papers.table import Benchmark, Change, Column, Row, Table

_SETS = ("bibtex", "delicious", "genbase", "cal500", "eurlexev", "expr_fun", "spo_fun")
_F1 = tuple(Column(name, name, "example-f1@0.5", f"paper:{name}") for name in _SETS)
_PROTOCOL = (
    "F1 of every test row, averaged over rows; a label is on from probability 0.5; early stopping "
    "on the same F1 of the validation part (patience 20, at most 300 epochs); settings searched "
    "for each cell; 10 seeds; six of ten stratified folds train, two validate, two test"
)
_OURS = (
    "other stratified parts of about the same sizes, except for spo_fun and expr_fun, whose parts "
    "are the published ones (expr_fun's training part is a reconstruction: 93 to 98 % of its rows "
    "are exact) and which count the hierarchy's root, on in every row, as the released data do; "
    "labels are not made to keep to the hierarchy; default runs stop early on F1 at a tuned "
    "threshold"
)
_DECLARED = "words coded in the order declared (YES is 0), row names kept"
_CHANGES = (
    *(
        Change(row, "genbase", _DECLARED, data="genbase-as-declared")
        for row in ("cross-entropy", "dvn", "seal-regression", "seal-nce")
    ),
    Change(
        "cross-entropy",
        "cal500",
        "columns centred and scaled, not mapped to [0, 1]",
        settings={"standardise": True},
    ),
    *(
        Change(
            row,
            "spo_fun",
            "columns mapped to [0, 1], not centred and scaled",
            settings={"standardise": "min-max"},
        )
        for row in ("cross-entropy", "seal-regression")
    ),
    Change("dvn", "cal500", "the rate is never lowered", {"energy_optimiser": {"plateau": None}}),
    Change("dvn", "cal500", "patience 100", settings={"patience": 100}),
    Change(
        "dvn",
        "cal500",
        "the rate is never lowered, patience 100",
        {"energy_optimiser": {"plateau": None}},
        {"patience": 100},
    ),
)
_CODED = (
    "the released data code words in the order declared, so that YES is 0 and the input nearly "
    "constant, and keep the rows' names as numbers; coded so, ours loses 26 to 28 points, and "
    "cross-entropy depends as much on the seed as the paper's (below)."
)
_EXPLAINED = (
    "the released data code words in the order declared; coded so, one seed has the paper's number "
    "within its deviation or half a point above it (below)."
)
_WHY = {
    ("cross-entropy", "genbase"): _CODED,
    ("dvn", "genbase"): _CODED,
    ("seal-regression", "genbase"): _EXPLAINED,
    ("seal-nce", "genbase"): _EXPLAINED,
    ("cross-entropy", "spo_fun"): "the paper's number lies between those of two ways to scale "
    "the columns (below); the released files do not say theirs.",
    ("seal-regression", "spo_fun"): "not explained, and three seeds are too few to tell it from "
    "chance (Welch's t test: p = 0.11): columns mapped to [0, 1], which lower cross-entropy too, "
    "make it 2.7 points lower (below), and NCE has the paper's F1.",
    ("dvn", "cal500"): "the released rule halves a rate of 6.5e-5 after six epochs without a "
    "better F1, when the value network has hardly moved; with the rate left alone F1 is 43.3 "
    "(below). What remains says little about the method: the labels' frequencies at a tuned "
    "threshold, the same labels for every row, have 47.5 (benchmarks/baselines.py), the paper's "
    "number. The default's steps of 0.5 are too short for 26 labels at 0.5, see the tuned column.",
    ("seal-nce", "cal500"): "as released it has the paper's F1 at 0.5; the default has an entropy "
    "term and is meant for a tuned threshold, where it is ahead.",
    ("dvn", "expr_fun"): "one seed; not explained.",
    ("dvn", "bibtex"): "papers 000 and 001 print 45.95 and 42.73 for this row; with the plain "
    "steps of DVN's authors, the default here, benchmarks/dvn.py has 46.2 ± 0.3 on the official "
    "parts.",
}
_HORSES = (
    "one of two seeds has the paper's number, the other is 4 points lower with both losses; "
    "regression gains 0.4 here, 1.4 in the paper."
)
_TEXT = Benchmark("benchmarks/text.py", "aapd_small")
_ROLES = Benchmark("benchmarks/roles.py", "roles-bilstm")

TABLES = (
    Table(
        "seal-table1",
        "paper 000, Table 1",
        "F1 on feature-based multi-label data",
        _PROTOCOL,
        _F1,
        (
            Row(
                "cross-entropy (CE)",
                "cross-entropy",
                "42.40±0.18 29.89±0.08 47.37±7.47 33.58±0.43 42.19±0.07 37.50±0.18 27.81±0.13",
            ),
            Row(
                "energy network: SPEN",
                "spen",
                "42.99±0.16 24.20±0.07 32.13±0.15 37.24±1.07 41.86±0.04 36.74±0.61 27.95±0.18",
            ),
            Row(
                "energy network: DVN",
                "dvn",
                "45.95±0.13 24.87±0.57 77.92±1.00 47.74±0.19 25.49±0.32 31.47±0.43 29.35±0.31",
            ),
            Row(
                "energy network: NCE ranking",
                "nce-energy",
                "12.95±0.53 12.69±0.15 12.40±0.81 33.89±0.49 0.19±0.00 27.74±0.17 18.06±0.38",
            ),
            Row(
                "SEAL-static: margin",
                "seal-static-margin",
                "43.11±0.15 28.08±0.06 57.45±5.17 33.91±0.45 42.15±0.08 38.13±0.17 28.15±0.17",
            ),
            Row(
                "SEAL-static: regression",
                "seal-static-regression",
                "42.29±0.18 30.09±0.08 96.68±0.11 37.63±0.44 42.18±0.07 38.12±0.17 28.42±0.09",
            ),
            Row(
                "SEAL-static: NCE ranking",
                "seal-static-nce",
                "43.03±0.15 30.08±0.05 96.43±0.15 37.82±0.38 42.11±0.11 37.78±0.16 28.29±0.05",
            ),
            Row(
                "SEAL-dynamic: margin (InfNet)",
                "seal-margin",
                "42.86±0.16 29.75±0.11 96.53±0.21 36.69±0.40 41.83±0.65 37.81±0.14 28.43±0.13",
            ),
            Row(
                "SEAL-dynamic: regression",
                "seal-regression",
                "43.74±0.14 29.79±0.05 96.95±0.14 37.97±0.33 41.67±0.08 37.99±0.09 29.02±0.11",
            ),
            Row(
                "SEAL-dynamic: regression-s",
                "seal-regression-s",
                "44.53±0.18 29.87±0.07 96.81±0.20 38.95±0.13 42.37±0.05 37.93±0.12 28.29±0.12",
            ),
            Row(
                "SEAL-dynamic: NCE ranking",
                "seal-nce",
                "44.76±0.17 34.67±0.38 97.32±0.81 41.62±0.80 42.77±0.06 38.28±0.09 28.83±0.13",
            ),
        ),
        ours=_OURS,
        seeds=10,
        why=_WHY,
        changes=_CHANGES,
    ),
    Table(
        "seal-table2",
        "paper 000, Table 2",
        "F1 on AAPD, abstracts with 54 topics, BERT fine-tuned",
        "test F1, BERT-base fine-tuned; seeds are not given",
        (
            Column("AAPD", "aapd", "example-f1@0.5"),
            Column("1000", "aapd_small", "example-f1 at 0.5", benchmark=_TEXT),
        ),
        (
            Row("BERT (cross-entropy)", "cross-entropy", "73.97 -"),
            Row("LACO", None, "74.90 -"),
            Row("SEAL-dynamic (NCE)", "seal-nce", "74.95±0.31 -"),
        ),
        ours=(
            "only the 1,000 validation and 1,000 test abstracts are public here, the 53,840 to "
            "train on are not: the column 1000 learns from 800 validation abstracts with frozen "
            "MiniLM vectors and says nothing about the paper's numbers"
        ),
    ),
    Table(
        "seal-table3",
        "paper 000, Table 3",
        "semantic roles: F1, and predicates with a core role twice (UCR)",
        "CoNLL-2012, BERT-base; F1 as CoNLL-2005's scorer, UCR in percent of predicates",
        (
            Column("CoNLL-12 dev F1", "conll2012", "validation role-f1"),
            Column("CoNLL-12 dev UCR", "conll2012", "validation violations"),
            Column("CoNLL-12 test F1", "conll2012", "role-f1"),
            Column("CoNLL-12 test UCR", "conll2012", "violations"),
            Column("EWT test F1", "srl_ewt", "test f1", benchmark=_ROLES),
            Column("EWT test UCR", "srl_ewt", "test violations", benchmark=_ROLES),
        ),
        (
            Row("cross-entropy", "cross-entropy", "- - - - - -"),
            Row("BERT-CRF", "crf", "85.92 1.41 85.97±0.14 1.32 - -"),
            Row("Structured tuning", "structured-tuning", "86.18 0.78 86.12±0.06 0.79 - -"),
            Row("SEAL-dynamic", "seal-nce", "86.94±0.07 0.92±0.02 86.90±0.06 0.91±0.03 - -"),
        ),
        ours=(
            "CoNLL-2012 needs a licence; the columns EWT are PropBank roles on the English Web "
            "Treebank with a BiLSTM on GloVe vectors, to show the order of the methods, not those "
            "numbers"
        ),
    ),
    Table(
        "seal-table4",
        "paper 000, Table 4",
        "mean IoU on Weizmann horses, 32 x 32",
        "intersection over union of the horse, image by image, averaged over 128 test images; 160 "
        "train, 40 validate; 24 x 24 crops in training, 36 crops averaged at test; a pixel is on "
        "from probability 0.5; seeds are not given",
        (Column("horses", "horses", "mean-iou"),),
        (
            Row("FCN (cross-entropy)", "cross-entropy", "77.80±0.59"),
            Row("DVN with GBI", "dvn", "72.93±0.52"),
            Row("SEAL-dynamic (regression)", "seal-regression", "79.23±0.35"),
            Row("SEAL-dynamic (NCE)", "seal-nce", "76.78±0.60"),
        ),
        ours="the same parts, 36 crops averaged at test; by default the task-net is a small U-Net",
        why={
            ("cross-entropy", "horses"): _HORSES,
            ("seal-regression", "horses"): _HORSES,
            ("seal-nce", "horses"): "the paper's number, with at most 5 updates per batch (the "
            "library's schedule).",
        },
    ),
    Table(
        "seal-iclr-table2",
        "paper 001, Table 2",
        "F1 on feature-based multi-label data, with plain ranking",
        _PROTOCOL,
        _F1,
        (
            Row("cross-entropy", "cross-entropy", "42.40 30.16 47.37 33.58 42.19 37.48 27.97"),
            Row("SPEN", "spen", "42.99 26.76 32.50 39.36 41.75 36.43 27.20"),
            Row("DVN", "dvn", "42.73 29.59 78.43 48.21 28.90 32.19 29.97"),
            Row("NCE", "nce-energy", "17.93 16.78 20.64 38.87 0.19 27.12 19.33"),
            Row("SEAL margin", "seal-margin", "42.86 29.75 96.53 36.69 41.83 37.91 28.43"),
            Row("SEAL regression", "seal-regression", "43.74 29.79 96.95 37.97 41.65 38.12 28.89"),
            Row(
                "SEAL regression-s",
                "seal-regression-s",
                "44.53 29.87 96.81 38.95 42.32 37.84 28.02",
            ),
            Row("SEAL NCE ranking", "seal-nce", "44.76 34.79 97.32 41.62 42.78 38.21 28.70"),
            Row("SEAL ranking", "seal-ranking", "44.20 36.04 96.60 40.71 42.78 38.03 29.68"),
        ),
        ours=f"the preset is the released one; appendix D of paper 001 prints others; {_OURS}",
        seeds=10,
    ),
)

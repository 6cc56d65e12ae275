"""The tables of paper 004: adversarial localised energy networks (ALEN)."""

from __future__ import annotations

from lossnet.papers.table import Benchmark, Column, Row, Table

_HALF = "example-f1@0.5"
_FACES = Benchmark("benchmarks/images.py", "faces")
_MAP = {"energy_net": "score-map"}
_IOU = (Column("mean IoU", "horses", "mean-iou"), Column("global IoU", "horses", "global-iou"))

TABLES = (
    Table(
        "alen-table1",
        "paper 004, Table 1",
        "F1 on bibtex and bookmarks",
        "F1 of every row of the published test file, averaged over rows, as in the DVN paper (cut "
        "at 0.5); settings by grid search; seeds are not given",
        (
            Column("bibtex", "bibtex-official", _HALF, "paper:bibtex"),
            Column("bookmarks", "bookmarks-official", _HALF, "paper:bookmarks"),
        ),
        (
            Row("Logistic regression", None, "37.2 30.7"),
            Row("Two layer NN", None, "38.9 33.8"),
            Row("SPEN", "spen", "42.2 34.4"),
            Row("SPEN (InfNet)", "infnet", "42.2 37.6"),
            Row("PRLR", None, "44.2 34.9"),
            Row("DVN", "dvn", "44.7 37.1"),
            Row("InfNet baseline", "cross-entropy", "38.9 32.8"),
            Row("AEN", "aen", "44.2 34.6"),
            Row("ALEN no L_task", "alen", "45.3 37.1", {"xent_weight": 0.0}, name="alen-no-xent"),
            Row("InfNet (ALEN)", "alen", "42.8 37.2", output="net", name="alen-net"),
            Row("ALEN", "alen", "46.4 38.3"),
        ),
        ours="15 % of the published training file are held out for early stopping; the preset of "
        "SPEN, DVN and cross-entropy is SEAL's released one",
    ),
    Table(
        "alen-table2",
        "paper 004, Table 2",
        "faces: superpixel accuracy on LFW parts",
        "share of superpixels whose most frequent class is right; 1,500 faces train, 500 validate, "
        "927 test; seeds are not given",
        (Column("SP Acc", "faces", "pixel-accuracy", benchmark=_FACES),),
        (
            Row("DVN", "dvn", "92.44"),
            Row("FCN baseline", "cross-entropy", "95.36"),
            Row("InfNet (ALEN)", "alen", "95.87", output="net", name="alen-net"),
            Row("ALEN", "alen", "96.47"),
            Row("CRF (250 x 250)", None, "93.23"),
            Row("GLOC (250 x 250)", None, "93.23"),
            Row("DNN (250 x 250)", None, "96.54"),
            Row("DNN+CRF+SBM (250 x 250)", None, "96.97"),
        ),
        ours="the data has no superpixels: ours is the accuracy of pixels, which is another number",
        why=dict.fromkeys(
            [(row, "SP Acc") for row in ("cross-entropy", "alen-net", "alen")],
            "pixels are counted, not superpixels, which the data lacks.",
        ),
    ),
    Table(
        "alen-table3",
        "paper 004, Table 3",
        "intersection over union on Weizmann horses, 32 x 32",
        "of the horse: image by image, averaged over the test images (mean), and over all their "
        "pixels together (global); an FCN energy that scores every pixel; seeds are not given",
        _IOU,
        (
            Row("CHOPPS", None, "69.9 -"),
            Row("DVN", "dvn", "84.1 84.0"),
            Row("FCN baseline", "cross-entropy", "78.56 78.7"),
            Row("DVN baseline", "dvn", "84.7 84.3", settings=_MAP, name="dvn-map"),
            Row("InfNet (ALEN)", "alen", "81.3 81.3", output="net", name="alen-net"),
            Row("ALEN", "alen", "85.5 85.4"),
            Row("MMBM2 (128 x 128)", None, "- 72.1"),
            Row("MMBM2 + GC (128 x 128)", None, "- 75.8"),
            Row("Shape NN (128 x 128)", None, "- 83.5"),
        ),
        ours="36 crops averaged at test; by default the task-net is a small U-Net",
    ),
)

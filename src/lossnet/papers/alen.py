"""The tables of paper 004: adversarial localised energy networks (ALEN)."""

from __future__ import annotations

from lossnet.papers.table import Benchmark, Column, Row, Table

_HALF = "example-f1@0.5"
_FACES = Benchmark("benchmarks/images.py", "faces")
_MAP = {"energy_net": "score-map"}
_OFFICIAL = Benchmark("benchmarks/multilabel.py", "bibtex-official")
_HORSES = Benchmark("benchmarks/images.py", "horses")
_IOU = (
    Column("mean IoU", "horses", "mean-iou"),
    Column("global IoU", "horses", "global-iou"),
    Column("mean IoU, own settings", "horses", "mean-iou", benchmark=_HORSES),
    Column("global IoU, own settings", "horses", "global-iou", benchmark=_HORSES),
)

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
            Column(
                "bibtex, own settings", "bibtex-official", "example-f1 at 0.5", benchmark=_OFFICIAL
            ),
        ),
        (
            Row("Logistic regression", None, "37.2 30.7 -"),
            Row("Two layer NN", None, "38.9 33.8 -"),
            Row("SPEN", "spen", "42.2 34.4 42.2"),
            Row("SPEN (InfNet)", "infnet", "42.2 37.6 42.2"),
            Row("PRLR", None, "44.2 34.9 -"),
            Row("DVN", "dvn", "44.7 37.1 44.7"),
            Row("InfNet baseline", "cross-entropy", "38.9 32.8 38.9"),
            Row("AEN", "aen", "44.2 34.6 44.2"),
            Row(
                "ALEN no L_task",
                "alen",
                "45.3 37.1 45.3",
                {"xent_weight": 0.0},
                name="alen-no-xent",
            ),
            Row("InfNet (ALEN)", "alen", "42.8 37.2 42.8", output="net", name="alen-net"),
            Row("ALEN", "alen", "46.4 38.3 46.4"),
        ),
        ours="15 % of the published training file are held out for early stopping; the preset of "
        "SPEN, DVN and cross-entropy is SEAL's released one; own settings are chosen on validation "
        "rows, those of dvn are the default",
        why=dict.fromkeys(
            [
                (row, column)
                for row in ("alen", "alen-net")
                for column in ("bibtex", "bibtex, own settings")
            ],
            "the paper prints neither rates nor weights; the library's are chosen for a tuned "
            "threshold, where the preset has 43.2. What remains is not explained.",
        ),
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
            Row("CHOPPS", None, "69.9 - - -"),
            Row("DVN", "dvn", "84.1 84.0 84.1 84.0"),
            Row("FCN baseline", "cross-entropy", "78.56 78.7 78.56 78.7"),
            Row("DVN baseline", "dvn", "84.7 84.3 84.7 84.3", settings=_MAP, name="dvn-map"),
            Row("InfNet (ALEN)", "alen", "81.3 81.3 81.3 81.3", output="net", name="alen-net"),
            Row("ALEN", "alen", "85.5 85.4 85.5 85.4"),
            Row("MMBM2 (128 x 128)", None, "- 72.1 - -"),
            Row("MMBM2 + GC (128 x 128)", None, "- 75.8 - -"),
            Row("Shape NN (128 x 128)", None, "- 83.5 - -"),
        ),
        ours="36 crops averaged at test; by default the task-net is a small U-Net, with own "
        "settings the papers' FCN, 80 epochs",
        why=dict.fromkeys(
            [
                (row, column)
                for row in ("alen", "alen-net")
                for column in ("mean IoU", "global IoU")
            ],
            "the paper prints neither rates nor weights; by the preset, one seed, refining changes "
            "nothing, and with own settings (below) it gains 7.5 points over the net.",
        )
        | {
            (
                "alen",
                "mean IoU, own settings",
            ): "2.4 points lower; its gain over the FCN, 5.0 points "
            "of mean IoU, is of the size of the paper's 6.9.",
            ("dvn", "mean IoU, own settings"): "far below, not explained: 40 epochs, one seed.",
            (
                "alen-net",
                "mean IoU, own settings",
            ): "below the FCN here, above it in the paper; not explained.",
        },
    ),
)

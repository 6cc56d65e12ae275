"""Write the tables of the results store into the docs: ``python benchmarks/report.py``.

Replaces the text between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` in README.md,
docs/results.md, docs/choosing.md, docs/decisions.md, docs/methods.md, docs/structured.md,
docs/export.md and docs/papers.md. ``--check`` only reports whether they are up to date.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path

import citations
import costs
import defaults
import dvn
import equal_time
import export
import few_labels
import images
import implicit_study
import ising
import label_decisions
import members
import multilabel
import partial_labels
import roles
import sequence
import structured_decisions
import tagger_wrapper
import tagging_speed
import text
import variants
import wrapper

from lossnet.papers.report import page as papers_page
from lossnet.reports import find, summarise

ROOT = Path(__file__).parents[1]
PAGES = tuple(
    ROOT / page
    for page in (
        "README.md",
        "docs/results.md",
        "docs/choosing.md",
        "docs/decisions.md",
        "docs/export.md",
        "docs/methods.md",
        "docs/papers.md",
        "docs/structured.md",
    )
)


def printed(call: Callable[[argparse.Namespace], None], **arguments: object) -> str:
    """What a table command prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        call(argparse.Namespace(results=str(ROOT / "results"), **arguments))
    return text.getvalue().strip()


def summary() -> str:
    """Cross-entropy compared with seal-nce on every data set."""
    lines = [
        "| data | cross-entropy, tuned | seal-nce, tuned | cross-entropy, 0.5 | seal-nce, 0.5 |",
        "|---|---|---|---|---|",
    ]
    for name in (*multilabel.ALL_SETS, *text.BUDGET):
        cells = []
        for metric in ("example-f1", "example-f1 at 0.5"):
            for method in ("cross-entropy", "seal-nce"):
                runs = find(ROOT / "results", data=name, method=method, tags=["final", "text"])
                cells.append(summarise([run.metrics[metric] for run in runs]) if runs else "-")
        if set(cells) != {"-"}:
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


#: Tags and pixels in the README: what a row says, its data, metric, baseline and other methods.
TAGS_AND_PIXELS: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    ("horses, mean IoU", "horses", "mean-iou", "cross-entropy", ("alen", "seal-regression")),
    ("horses with a U-Net", "horses", "mean-iou", "cross-entropy, U-Net", ("alen, U-Net",)),
    (
        "faces, pixel accuracy",
        "faces",
        "pixel-accuracy",
        "cross-entropy",
        ("alen", "seal-regression"),
    ),
    (
        "WNUT-17 entities, span F1",
        "wnut17",
        "test span-f1",
        "cross-entropy",
        ("infnet-plus + GE(c)",),
    ),
    ("semantic roles, F1", "roles-bilstm", "test f1", "cross-entropy", ("seal-nce",)),
    (
        "semantic roles, predicates with a core role twice",
        "roles-bilstm",
        "test violations",
        "cross-entropy",
        ("seal-nce",),
    ),
    (
        "Twitter parts of speech, accuracy",
        "twitter_pos",
        "oct27 accuracy",
        "cross-entropy",
        ("infnet-plus",),
    ),
)


def tags_and_pixels() -> str:
    """Cross-entropy compared with learned losses on tags and pixels."""
    lines = ["| data | cross-entropy | learned loss |", "|---|---|---|"]

    def cell(name: str, method: str, metric: str, **labelled: int) -> str:
        runs = find(ROOT / "results", data=name, method=method, tags=["final", "roles"])
        chosen = [run for run in runs if labelled.items() <= run.configuration.items()]
        return summarise([run.metrics[metric] for run in chosen]) if chosen else "-"

    for words, name, metric, baseline, methods in TAGS_AND_PIXELS:
        learned = ", ".join(
            f"`{method.split(',')[0]}` {cell(name, method, metric)}" for method in methods
        )
        lines.append(f"| {words} | {cell(name, baseline, metric)} | {learned} |")
    for count in citations.LABELLED:
        found = [
            cell(citations.NAME, method, "test accuracy", labelled=count)
            for method in ("cross-entropy", "seal-reward")
        ]
        words = f"citation fields, {count} labelled, accuracy"
        lines.append(f"| {words} | {found[0]} | `seal-reward` {found[1]} |")
    return "\n".join(lines)


def speed() -> str:
    """The ratios of the last speed run."""
    lines = ["| ratio | measured | limit |", "|---|---|---|"]
    from speed import LIMITS

    for run in find(ROOT / "results", data="speed")[-1:]:
        measured = [(name, run.metrics[name]) for name in LIMITS if name in run.metrics]
        lines += [f"| {name} | {ratio:.2f}x | {LIMITS[name]}x |" for name, ratio in measured]
    return "\n".join(lines)


def own_loop() -> str:
    """LearnedLoss in a user's loop compared with the estimator."""
    lines = ["| bibtex | n | F1 tuned | F1 at 0.5 |", "|---|---|---|---|"]
    for way in ("LearnedLoss", "MultiLabelClassifier"):
        runs = find(ROOT / "results", data="bibtex-own-loop", method=way)
        cells = [
            summarise([run.metrics[key] for run in runs])
            for key in ("example-f1", "example-f1 at 0.5")
        ]
        lines.append(f"| {way} | {len(runs)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def refinement() -> str:
    """F1 against refinement steps, run by run."""
    lines = [
        "| data | method | seed | steps chosen on validation | F1 | F1 after 6 steps "
        "| F1 of the best of 30 | net alone |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in ("bibtex", multilabel.OFFICIAL):
        for method in multilabel.REFINED:
            alone = {
                run.seed: run for run in find(ROOT / "results", data=name, method=f"{method}-net")
            }
            for run in find(ROOT / "results", data=name, method=method, tags="final"):
                values = [
                    run.metrics["example-f1"],
                    run.metrics["example-f1 after 6 steps"],
                    run.metrics["example-f1 of the best step"],
                    alone[run.seed].metrics["example-f1"],
                ]
                steps = int(run.metrics["refinement steps"] or 0)
                cells = " | ".join(f"{100 * (value or 0.0):.2f}" for value in values)
                lines.append(f"| {name} | {method} | {run.seed} | {steps} | {cells} |")
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {
    "summary": summary,
    "tags-and-pixels": tags_and_pixels,
    "multilabel": lambda: printed(
        multilabel.table, data=[*multilabel.ALL_SETS, multilabel.OFFICIAL]
    ),
    "costs": costs.table,
    "refinement": refinement,
    "implicit-study": lambda: printed(implicit_study.table),
    "few-labels": lambda: printed(few_labels.table),
    "defaults-f1": lambda: printed(defaults.table, metric="example-f1"),
    "defaults-exact": lambda: printed(defaults.table, metric="subset-accuracy"),
    "members": lambda: printed(members.table),
    "variants": lambda: printed(variants.table),
    "wrapper": lambda: printed(wrapper.table, metric="subset-accuracy"),
    "tagger-wrapper": lambda: printed(tagger_wrapper.table, data=list(sequence.TASKS)),
    "partial-labels": lambda: printed(partial_labels.table),
    "ising": lambda: printed(ising.table, couplings=list(ising.COUPLINGS)),
    "decisions-exact": lambda: printed(label_decisions.table, metric="subset-accuracy"),
    "decisions-f1": lambda: printed(label_decisions.table, metric="example-f1"),
    "decisions-structured": lambda: printed(structured_decisions.table),
    "dvn": lambda: printed(dvn.table),
    "text": lambda: printed(text.table, data=list(text.BUDGET)),
    "roles": lambda: printed(roles.table),
    "sequence": lambda: printed(sequence.table, data=list(sequence.TASKS)),
    "equal-time": lambda: printed(equal_time.table, data=list(equal_time.SETTINGS)),
    "export": lambda: printed(export.table, models=list(export.MODELS)),
    "truncation": lambda: printed(sequence.print_truncation),
    "citations": lambda: printed(citations.table),
    "images": lambda: printed(images.table, data=list(images.DATA)),
    "papers": lambda: papers_page(ROOT / "results"),
    "own-loop": own_loop,
    "speed": speed,
    "tagging-speed": tagging_speed.table,
}


def filled(text: str) -> str:
    """A page with every marked table written anew."""
    for name, table in TABLES.items():
        block = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if block.search(text):
            body = table()
            text = block.sub(lambda match, body=body: f"{match[1]}\n{body}\n\n{match[2]}", text)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; 1 if out of date")
    arguments = parser.parse_args()
    stale = [page for page in PAGES if filled(page.read_text()) != page.read_text()]
    for page in stale:
        print(f"{page.name} is out of date" if arguments.check else f"{page.name} written anew")
        if not arguments.check:
            page.write_text(filled(page.read_text()), encoding="utf-8")
    return int(bool(stale) and arguments.check)


if __name__ == "__main__":
    raise SystemExit(main())

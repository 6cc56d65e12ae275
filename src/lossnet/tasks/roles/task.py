"""Predicates with their semantic roles, and ``SemanticRoleLabeler``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lossnet.plain_text import counted
from lossnet.tasks.options import picture
from lossnet.tasks.sequence.measured import ALL, TYPE
from lossnet.tasks.sequence.span_metrics import SHARES
from lossnet.tasks.sequence.task import SequenceTask
from lossnet.tasks.task import Judged, Known, Measured, Task, emit

if TYPE_CHECKING:
    from lossnet.tasks.description import Description
    from lossnet.tasks.parts import Parts

STANDARD_INPUT = "-"


class RolesTask(SequenceTask):
    """See :class:`~lossnet.tasks.task.Task`."""

    name = "roles"
    unit = "predicates"
    formats = (
        "Predicates and their semantic roles: PropBank's .gold_conll, also .gz, or a folder with a "
        "file per part; with --task roles also .txt, one predicate per line: 'INDEX WORDS ||| "
        "TAGS'. predict also reads 'INDEX WORDS' lines from standard input (-)."
    )
    estimator_path = "lossnet.tasks.roles.labeler:SemanticRoleLabeler"
    default_method = "seal-nce"
    compared_methods: tuple[str, ...] = ("cross-entropy", "seal-nce")
    outputs = (".jsonl", ".gold_conll", ".txt")
    facts_form: Mapping[str, Any] = {"tags": [str]}
    measured_how = "F1 as CoNLL-2005's scorer counts; violations: predicates with a core role twice"

    def add_options(self, group: Any, command: str) -> None:
        if command != "evaluate":
            return
        what = "draw sentences with their roles, each model's next to the truth, errors first"
        group.add_argument("--picture", type=picture, metavar="FILE", help=what)
        what = "also print 95 %% intervals of F1 and violations, from N resamples of the sentences"
        group.add_argument("--bootstrap", type=int, metavar="N", help=what)

    # Data ------------------------------------------------------------------------------------

    def recognises(self, source: str) -> bool:
        from lossnet.tasks.roles.role_files import holds_roles

        return holds_roles(source)

    def read(
        self,
        source: str,
        args: argparse.Namespace,
        *,
        known: Known | None = None,
        labelled: bool = True,
    ) -> dict[str, Any]:
        from lossnet.data.text import decoded
        from lossnet.tasks.roles.role_files import read_role_parts
        from lossnet.tasks.roles.role_lines import roles_of_lines

        if source == STANDARD_INPUT:
            text = decoded(sys.stdin.buffer.read(), "standard input")
            return {"": roles_of_lines(text, "standard input", "standard input")}
        return {**read_role_parts(source)}

    def facts(self, data: Any, args: argparse.Namespace) -> dict[str, Any]:
        return {"tags": data.tag_names}

    def known(self, model: Any) -> Known:
        return {"tags": model.tags_}

    def sizes(self, parts: Parts[Any], args: argparse.Namespace) -> str:
        from lossnet.tasks.roles.overview import roles_in

        sentences = sum(len(data.sentences) for _, data in parts.items())
        counts = f"{counted(sentences, 'sentence')}, {counted(len(roles_in(parts.train)), 'role')}"
        return f"{Task.sizes(self, parts, args)}, {counts}"

    def notes(self, parts: Parts[Any], args: argparse.Namespace) -> list[str]:
        from lossnet.tasks.sequence.reading import other_parts, unseen_tags

        notes = Task.notes(self, parts, args)
        for part, data in list(parts.items())[1:]:
            notes += [f"{part}: {note}" for note in unseen_tags(data, parts.train.tag_names)]
        divided = args.validation is None and args.test is None
        return notes + (other_parts(args.data) if divided else [])

    def evaluation_notes(self, data: Any, args: argparse.Namespace, known: Known) -> list[str]:
        from lossnet.tasks.sequence.reading import unseen_tags

        return unseen_tags(data, known["tags"])

    def describe(
        self, data: Any, parts: Mapping[str, Any], args: argparse.Namespace
    ) -> Description:
        from lossnet.tasks.roles.overview import describe_roles

        return describe_roles(data, parts)

    # Metrics ---------------------------------------------------------------------------------

    def check_evaluation(self, models: Mapping[str, Any], args: argparse.Namespace) -> None:
        from lossnet.checks import check_int

        if args.bootstrap is not None:
            check_int("--bootstrap", args.bootstrap)

    def measure(self, model: Any, data: Any, args: argparse.Namespace | None = None) -> Measured:
        from lossnet.tasks.roles.metrics import bootstrap, role_scores
        from lossnet.tasks.roles.role_outputs import predicted

        tags = predicted(model, data)
        scores = role_scores(data.tags, tags)
        measured = {ALL: {f"role-{share}": getattr(scores, share) for share in reversed(SHARES)}}
        measured[ALL] |= {"violations": scores.violations, "perfect": scores.perfect_share}
        measured[ALL]["accuracy"] = scores.accuracy
        if args is not None and args.bootstrap is not None:
            found = bootstrap(data.tags, tags, data.groups, n=args.bootstrap)
            for name, interval in found.items():
                measured[ALL] |= {f"{name}-low": interval.low, f"{name}-high": interval.high}
        for name, score in scores.roles.items():
            counts = {"spans": score.true, "predicted": score.predicted}
            measured[TYPE + name] = {share: getattr(score, share) for share in SHARES} | counts
        return measured

    def flat(self, measured: Measured) -> dict[str, float]:
        roles = {name: values for name, values in measured.items() if name != ALL}
        own = {f"role-f1:{name.removeprefix(TYPE)}": found["f1"] for name, found in roles.items()}
        return {**measured[ALL], **own}

    def compared(self, parts: Parts[Any]) -> Sequence[str]:
        return ["role-f1", "violations", "perfect", "seconds"]

    def counts(self, model: Any, data: Any, predicted: Any) -> dict[str, Any]:
        from lossnet.tasks.roles.metrics import role_scores

        pairs = zip(data.tags, predicted, strict=True)
        scores = [role_scores([gold], [guess]) for gold, guess in pairs]
        return {"role-f1": [(one.correct, one.predicted, one.true) for one in scores]}

    def model_facts(self, model: Any, args: argparse.Namespace | None = None) -> dict[str, Any]:
        return super().model_facts(model)

    def model_text(self, model: Any, args: argparse.Namespace | None = None) -> str:
        return super().model_text(model)

    def draw(self, judged: Mapping[str, Judged], args: argparse.Namespace) -> list[str]:
        from lossnet.tasks.roles.role_outputs import draw

        return [] if args.picture is None else [f"picture: {draw(judged, args.picture)}"]

    # Predictions -----------------------------------------------------------------------------

    def write(self, model: Any, data: Any, args: argparse.Namespace) -> None:
        from lossnet.tasks.roles.role_outputs import lines_for

        emit(lines_for(model, data, args.out or "", proba=args.proba), args.out)


TASK = RolesTask()

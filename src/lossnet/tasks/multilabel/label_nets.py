"""The nets of a classifier: one task-net or several, trees that vote beside them, a loss-net."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from torch import nn

from lossnet.checks import check_int, check_widths
from lossnet.energies import LabelEnergy
from lossnet.errors import DataError, SettingError
from lossnet.exporting import Exported
from lossnet.method import Method
from lossnet.nets import Forest, HeldOut, LabelMLP, LabelMLPs
from lossnet.proposals import NetOutput
from lossnet.recipes.members import MEMBERS, with_members
from lossnet.spaces import Binary, Space
from lossnet.streams import stream_seed
from lossnet.tasks.multilabel.exported_labels import exported
from lossnet.tasks.multilabel.many_labels import ManyLabels
from lossnet.tasks.multilabel.stratified import stratified_folds
from lossnet.tasks.multilabel.trees import (
    affordable,
    as_columns,
    choose_share,
    cross_fitted,
    rows_of,
    votes_in,
    votes_of,
)
from lossnet.training import Source, predict
from lossnet.training.weights import InFolds

#: Parts of the rows that trees beside one net leave out.
FOLDS = 4


class LabelNets(ManyLabels):
    """What the nets of :class:`MultiLabelClassifier` are made of."""

    hidden: Sequence[int]
    input_dropout: float
    global_hidden: int
    members: int | None
    trees: int | None
    trees_: Forest
    trees_share_: float

    # Settings --------------------------------------------------------------------------------

    @property
    def _sizes(self) -> dict[str, int]:
        """Numbers of task-nets and of trees."""
        members, trees = self.members, self.trees
        return {
            "members": 1 if members is None else members,
            "trees": 0 if trees is None else trees,
        }

    def _filled_in(self, method: Method) -> dict[str, Any]:
        return self._sizes

    def _assembled(self) -> Method:
        check_int("members", self._sizes["members"])
        check_int("trees", self._sizes["trees"], least=0)
        method = super()._assembled()
        return with_members(method, self._sizes["members"], trees=self._sizes["trees"] > 0)

    def _check_sizes(self) -> None:
        """Raise on sizes of nets that cannot work."""
        check_widths("hidden", self.hidden)
        check_int("global_hidden", self.global_hidden)
        if self._own_factory("task") is None:
            return
        for name, least in (("members", 1), ("trees", 0)):
            if self._sizes[name] > least:
                rule = f"{name} must be {least} with a task_net of your own"
                raise SettingError(f"{rule}, got {self._sizes[name]}; leave one of the two out")

    # Fitting ---------------------------------------------------------------------------------

    def _learn_folds(self, data: Any, seed: int) -> None:
        """Set ``folds_``: one for each of several members, and four for trees beside one."""
        members, trees = self._sizes["members"], self._sizes["trees"]
        if self.__dict__.get("members") is not None and len(data) < members:
            rule = f"members must be at most the number of training rows, {len(data)}"
            raise DataError(f"{rule}, got {members}")
        if members > 1 or trees:
            rng = np.random.default_rng(stream_seed(seed, "folds"))
            count = min(members if members > 1 else FOLDS, len(data))
            if count > 1 and data.has_dense_labels:
                self.folds_ = stratified_folds(data.Y, count, rng)
            else:
                self.folds_ = rng.permutation(len(data)) % count

    def _fit_beforehand(self, data: Any, seed: int, **weights: Any) -> None:
        """Divide the rows into folds, and grow trees, on all rows and without each fold."""
        self.training_rows_ = len(data)
        self._learn_folds(data, seed)
        trees = self._sizes["trees"]
        if trees and self.__dict__.get("trees") is None:
            few = data.has_dense_labels and not hasattr(data.X, "blocks")  # not those on disk
            trees = affordable(trees, len(data), self.encoding_.width) if few else 0
        elif trees and not data.has_dense_labels:
            many = f"{len(data):,} rows of {self.n_labels_:,} labels, too many for trees to vote on"
            raise DataError(f"trees must be 0 for {many}, got {trees}")
        if trees:
            X, Y = rows_of(self._batches(data, None)), data.Y[:, : self.n_labels_]
            given = X, Y, self.folds_, trees, stream_seed(seed, "trees")
            found = cross_fitted(*given, progress=bool(self.verbose), **weights)
            self.trees_, self._training_votes = found

    def _output(self) -> tuple[tuple[int, ...], Space]:
        return (self.n_labels_,), Binary(self.constraints_ or None)

    def _make_net(self, name: str, features: Any = None) -> nn.Module:
        columns = self.encoding_.width + (self.n_labels_ if hasattr(self, "trees_") else 0)
        sizes = columns, self.n_labels_
        if own := self._own_factory(name):
            return own(*sizes)
        widths: dict[str, Any] = {"hidden": self.hidden, "input_dropout": self.input_dropout}
        filled_in = self._filled_in(self.method_)
        if name == MEMBERS:
            own_widths = {**widths, "dropout": filled_in["dropout"]}
            return LabelMLPs(*sizes, members=self._sizes["members"], **own_widths)
        if name != "energy":
            return LabelMLP(*sizes, dropout=filled_in["dropout"], **widths)
        widths |= {"dropout": filled_in["energy_dropout"], "features": features}
        return LabelEnergy(*sizes, global_hidden=self.global_hidden, **widths)

    def _new_nets(self, names: Iterable[str], seed: int = 0) -> dict[str, nn.Module]:
        nets = super()._new_nets(names, seed)
        if hasattr(self, "trees_") and isinstance(task := nets.get("task"), HeldOut):
            task.voters = partial(votes_in, labels=self.n_labels_)
            task.share = getattr(self, "trees_share_", 0.0)
        return nets

    def _source(self, data: Any, *, training: bool = False, reward: Any = None) -> Source:
        labelled = training and data.labelled
        votes = self.__dict__.pop("_training_votes", None) if labelled else None
        Y = data.Y[:, : self.n_labels_] if data.labelled else None
        found = self._batches(data, Y, None if votes is None else as_columns(votes))
        if not labelled or self._sizes["members"] == 1:
            return found
        self._cross_fitted = InFolds(found, self.folds_), Y
        return self._cross_fitted[0]

    def _batches(self, data: Any, Y: np.ndarray | None, extra: np.ndarray | None = None) -> Any:
        """Batches of the rows with these targets; the trees' votes are further columns."""
        if extra is None and hasattr(self, "trees_"):
            extra = as_columns(votes_of(self.trees_, super()._batches(data, None)))
        return super()._batches(data, Y, extra)

    def _exported(self) -> Exported:
        return exported(self)

    def _compute_out_of_fold(self) -> None:
        """Keep outputs of the training rows, each by the member and the trees that left it out."""
        source, Y = self.__dict__.pop("_cross_fitted", (None, None))
        # A descent refines what the nets say, and would have to on all these rows.
        many = not isinstance(Y, np.ndarray)
        if source is None or many or not isinstance(self._proposal(), NetOutput):
            return
        how: dict[str, Any] = {"batch_size": 2048, "precision": self.precision}
        found = predict(NetOutput(), self.nets_, self._output()[1], source, **how)
        self._out_of_fold = Y, found.float().cpu().numpy()

    def _choose_share(self, validation: Any) -> None:
        """Set what the trees' votes count beside the nets' outputs."""
        if not hasattr(self, "trees_"):
            return
        task: Any = self.nets_["task"]
        self.trees_share_ = 0.5
        if validation is not None:
            source = self._source(validation)  # which has the votes
            nets = self._outputs(NetOutput(), validation, source=source)
            task.share = 1.0
            alone = self._outputs(NetOutput(), validation, source=source)
            self.trees_share_ = choose_share(nets, alone, validation.Y[:, : self.n_labels_])
        task.share = self.trees_share_

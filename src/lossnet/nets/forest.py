"""A forest of decision trees as a net: its splits and the labels in its leaves are tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import torch
from torch import Tensor, nn

from lossnet.errors import DataError

#: Values that are looked up at a time.
_ENTRIES = 2**22


class Forest(nn.Module):
    """Probabilities of labels by the mean over trees of what their leaves hold.

    The nodes of all trees are numbered together. A row goes to ``left`` where its feature is at
    most the threshold; leaves are their own children. Leaf k holds the probabilities ``value`` of
    the labels ``label`` at the positions ``start[k]`` to ``start[k + 1]``, and 0 of all others: few
    labels are on in the rows of a leaf. Nothing of it is trained here, and as it is stored with
    what the estimator learnt, not with the nets' weights, it has no entry in ``state_dict``.

    Args:
        tensors: by name: ``roots`` ``(T,)``; ``feature``, ``threshold``, ``left`` and ``right``
            ``(N,)``; ``start`` ``(N + 1,)``; ``label`` and ``value`` ``(V,)``.
        features: length of an input row.
        labels: number of labels.

    >>> stump = {"roots": [0], "feature": [0, 0, 0], "threshold": [0.5, 0.0, 0.0],
    ...          "left": [1, 1, 2], "right": [2, 1, 2], "start": [0, 0, 1, 3],
    ...          "label": [1, 0, 1], "value": [0.5, 1.0, 0.25]}
    >>> forest = Forest({k: torch.tensor(v) for k, v in stump.items()}, features=1, labels=2)
    >>> forest(torch.tensor([[0.0], [1.0]]))
    tensor([[0.0000, 0.5000],
            [1.0000, 0.2500]])
    """

    NAMES = ("roots", "feature", "threshold", "left", "right", "start", "label", "value")
    roots: Tensor
    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    start: Tensor
    label: Tensor
    value: Tensor

    def __init__(self, tensors: Mapping[str, Tensor], *, features: int, labels: int) -> None:
        super().__init__()
        _check(tensors, features, labels)
        self.features, self.labels = features, labels
        for name in self.NAMES:
            self.register_buffer(name, tensors[name], persistent=False)

    def tensors(self) -> dict[str, Tensor]:
        """What it is made of, by name."""
        return {name: getattr(self, name) for name in self.NAMES}

    @classmethod
    def joined(cls, trees: list[Self], features: int, labels: int) -> Self:
        """One forest of several."""
        nodes, values = 0, 0
        parts: list[dict[str, Tensor]] = []
        for tree in trees:
            own = tree.tensors()
            for name in ("roots", "left", "right"):
                own[name] = own[name] + nodes
            own["start"] = (own["start"] if not parts else own["start"][1:]) + values
            nodes, values = nodes + len(own["feature"]), values + len(own["label"])
            parts.append(own)
        return cls(
            {name: torch.cat([own[name] for own in parts]) for name in cls.NAMES},
            features=features,
            labels=labels,
        )

    def leaves(self, x: Tensor) -> Tensor:
        """The leaf of each row in each tree, ``(B, T)``, for rows ``(B, features)``."""
        x = x.to(self.threshold.dtype)
        node = self.roots.expand(len(x), -1).flatten().clone()
        row = torch.arange(len(x), device=x.device).repeat_interleave(len(self.roots))
        walking = torch.arange(len(node), device=x.device)  # those that have not reached a leaf
        while len(walking):
            here = node[walking]
            low = x[row[walking], self.feature[here]] <= self.threshold[here]
            below = torch.where(low, self.left[here], self.right[here])
            node[walking] = below
            walking = walking[self.left[below] != below]
        return node.view(len(x), len(self.roots))

    def forward(self, x: Tensor) -> Tensor:
        """Probabilities ``(B, L)`` of rows ``(B, features)``, in the precision of x."""
        found = x.new_zeros(len(x), self.labels)
        for rows in torch.arange(len(x), device=x.device).split(self._rows_at_a_time()):
            leaf = self.leaves(x[rows])
            held = self.start[leaf + 1] - self.start[leaf]
            first, count = self.start[leaf].flatten(), held.flatten()
            # The positions of every leaf's values, one leaf after the other.
            before = count.cumsum(0) - count
            place = torch.arange(int(count.sum()), device=x.device)
            place = place + (first - before).repeat_interleave(count)
            row = torch.arange(len(rows), device=x.device).repeat_interleave(held.sum(1))
            cell = row * self.labels + self.label[place]
            part = x.new_zeros(len(rows) * self.labels)
            part.index_add_(0, cell, self.value[place].to(x.dtype))
            found[rows] = part.view(len(rows), self.labels) / len(self.roots)
        return found.clamp_(0.0, 1.0)

    def _rows_at_a_time(self) -> int:
        per_leaf = 1 + len(self.value) // max(1, len(self.feature) // 2)
        return max(1, _ENTRIES // (len(self.roots) * per_leaf))


def _check(tensors: Mapping[str, Tensor], features: int, labels: int) -> None:
    """Raise where the tensors are no forest, so that a damaged file is found before it is used."""
    shapes = {name: tuple(tensors[name].shape) for name in Forest.NAMES}
    nodes, values = shapes["feature"], shapes["value"]
    fits = shapes["start"] == (nodes[0] + 1,) if len(nodes) == 1 else False
    fits &= all(shapes[name] == nodes for name in ("threshold", "left", "right"))
    fits &= shapes["label"] == values and len(values) == 1 and shapes["roots"] != (0,)
    if fits:
        numbers = {"feature": features, "label": labels, "roots": nodes[0]}
        numbers |= {"left": nodes[0], "right": nodes[0]}
        fits = all(_within(tensors[name], most) for name, most in numbers.items())
        start, node = tensors["start"], torch.arange(nodes[0])
        fits &= bool((start.diff() >= 0).all()) and int(start[0]) == 0
        fits &= int(start[-1]) == values[0]
        # Children come after their parent, so that every walk ends.
        leaf = (tensors["left"] == node) & (tensors["right"] == node)
        fits &= bool((leaf | ((tensors["left"] > node) & (tensors["right"] > node))).all())
    if not fits:
        raise DataError(f"these tensors are no forest of {features} features: {shapes}")


def _within(numbers: Tensor, most: int) -> bool:
    return not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < most)

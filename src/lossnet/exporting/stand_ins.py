"""Modules that compute the same as others and can be traced for any batch and length."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lossnet.nets import CharacterCNN, Forest, WordTable

Table = Mapping[type[nn.Module], Callable[[Any], nn.Module]]
TREES = "TreeEnsembleRegressor"


def replaced(net: nn.Module, table: Table) -> nn.Module:
    """A copy of the net with some of its modules replaced, by their types."""
    net = copy.deepcopy(net)
    for module in list(net.modules()):
        for name, child in list(module.named_children()):
            if type(child) in table and _can_replace(child):
                setattr(module, name, table[type(child)](child))
    return net


def _can_replace(module: nn.Module) -> bool:
    """Whether a module is of the kind that the estimators build."""
    if not isinstance(module, nn.LSTM):
        return True
    single = module.num_layers == 1 and not module.bidirectional and not module.proj_size
    return single and module.batch_first and module.bias


class Characters(nn.Module):
    """A :class:`~lossnet.nets.CharacterCNN` as a convolution over all places, padding masked."""

    def __init__(self, net: CharacterCNN) -> None:
        super().__init__()
        self.embedding, self.convolution = net.embedding, net.convolution

    def forward(self, chars: Tensor) -> Tensor:
        """``(B, T, filters)`` of ``chars`` ``(B, T, W)``."""
        batch, time, width = chars.shape
        flat = chars.reshape(batch * time, width)
        values = self.convolution(self.embedding(flat).transpose(1, 2))[:, :, :width]
        nothing = flat == 0
        top = values.masked_fill(nothing.unsqueeze(1), -torch.inf).amax(2)
        top = top.masked_fill(nothing.all(1, keepdim=True), 0.0)
        return top.reshape(batch, time, self.convolution.out_channels)


class Words(nn.Module):
    """A :class:`~lossnet.nets.WordTable` as one table, since nothing is trained any more."""

    table: Tensor

    def __init__(self, net: WordTable) -> None:
        super().__init__()
        self.register_buffer("table", torch.cat([net.trained.detach(), net.fixed]))

    def forward(self, numbers: Tensor) -> Tensor:
        """Vectors ``(..., width)`` of word numbers ``(...)``."""
        return F.embedding(numbers, self.table)


class OnnxLSTM(nn.Module):
    """An LSTM as ONNX's operator; it can be traced and not run."""

    inputs: Tensor
    states: Tensor
    biases: Tensor

    def __init__(self, net: nn.LSTM) -> None:
        super().__init__()
        self.hidden = net.hidden_size
        parameters = dict(net.named_parameters())
        inputs, states, bias_inputs, bias_states = (
            self._ordered(parameters[f"{kind}_l0"])
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        self.register_buffer("inputs", inputs)
        self.register_buffer("states", states)
        self.register_buffer("biases", torch.cat([bias_inputs, bias_states], 1))

    def _ordered(self, weight: Tensor) -> Tensor:
        """Gates in ONNX's order: input, output, forget, cell."""
        gate, forget, cell, output = weight.detach().split(self.hidden)
        return torch.cat([gate, output, forget, cell]).unsqueeze(0)

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        """``(B, T, hidden)`` of ``(B, T, d)``."""
        x = x.transpose(0, 1)
        how: dict[str, Any] = {"dtype": x.dtype, "shape": (x.shape[0], 1, x.shape[1], self.hidden)}
        given = x, self.inputs, self.states, self.biases
        found = torch.onnx.ops.symbolic("LSTM", given, {"hidden_size": self.hidden}, **how)
        return found.squeeze(1).transpose(0, 1), None


class TorchLSTM(nn.Module):
    """An LSTM as one operator, which :mod:`lossnet.exporting.runtime.lstm` defines."""

    def __init__(self, net: nn.LSTM) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        """``(B, T, hidden)`` of ``(B, T, d)``."""
        import lossnet.exporting.runtime.lstm  # noqa: F401

        return torch.ops.lossnet.lstm(x, *self.net.parameters()), None


class OnnxForest(nn.Module):
    """A forest as ONNX's operator, whose attributes :func:`fill_in` adds after tracing."""

    def __init__(self, net: Forest) -> None:
        super().__init__()
        self.forest = net

    def forward(self, x: Tensor) -> Tensor:
        """Probabilities ``(B, L)`` of rows ``(B, features)``."""
        shape = x.shape[0], self.forest.labels
        how: dict[str, Any] = {"dtype": x.dtype, "shape": shape, "version": 3}
        return torch.onnx.ops.symbolic(f"ai.onnx.ml::{TREES}", (x,), {}, **how).clamp(0.0, 1.0)


def tree_attributes(forest: Forest) -> dict[str, Any]:
    """The attributes of ONNX's operator for a forest."""
    arrays = {name: tensor.numpy() for name, tensor in forest.tensors().items()}
    node = np.arange(len(arrays["feature"]))
    # Trees are numbered, and their nodes from 0; those of a tree follow its root.
    tree = np.searchsorted(arrays["roots"], node, side="right") - 1
    first = arrays["roots"][tree]
    leaf, owner = arrays["left"] == node, np.repeat(node, np.diff(arrays["start"]))
    found = {
        "nodes_treeids": tree,
        "nodes_nodeids": node - first,
        "nodes_featureids": arrays["feature"],
        "nodes_values": arrays["threshold"],
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ"),
        "nodes_truenodeids": np.where(leaf, 0, arrays["left"] - first),
        "nodes_falsenodeids": np.where(leaf, 0, arrays["right"] - first),
        "target_treeids": tree[owner],
        "target_nodeids": (node - first)[owner],
        "target_ids": arrays["label"],
        "target_weights": arrays["value"],
    }
    how = {"n_targets": forest.labels, "aggregate_function": "AVERAGE", "post_transform": "NONE"}
    return {**how, **{name: values.tolist() for name, values in found.items()}}


class TorchForest(nn.Module):
    """A forest that takes as many steps as its deepest leaf needs, for every row."""

    def __init__(self, net: Forest) -> None:
        super().__init__()
        self.forest = net
        self.steps, self.most = _depth(net), int(net.start.diff().max())

    def forward(self, x: Tensor) -> Tensor:
        """Probabilities ``(B, L)`` of rows ``(B, features)``."""
        own = self.forest
        node = own.roots.expand(x.shape[0], -1)
        for _ in range(self.steps):
            low = x.gather(1, own.feature[node].long()) <= own.threshold[node]
            node = torch.where(low, own.left[node], own.right[node])
        first, count = own.start[node], own.start[node + 1] - own.start[node]
        total = x.new_zeros(x.shape[0], own.labels)
        for k in range(self.most):
            place = (first + k).clamp_max(len(own.value) - 1)
            value = torch.where(count > k, own.value[place], 0.0)
            total = total.scatter_add(1, own.label[place].long(), value)
        return (total / len(own.roots)).clamp(0.0, 1.0)


def _depth(forest: Forest) -> int:
    """Steps from a root to the deepest leaf."""
    left, right = forest.left.numpy(), forest.right.numpy()
    now, steps = forest.roots.numpy(), 0
    while len(now := now[left[now] != now]):
        now, steps = np.concatenate([left[now], right[now]]), steps + 1
    return steps


_BOTH: Table = {CharacterCNN: Characters, WordTable: Words}
ONNX: Table = {**_BOTH, nn.LSTM: OnnxLSTM, Forest: OnnxForest}
TORCH: Table = {**_BOTH, nn.LSTM: TorchLSTM, Forest: TorchForest}

"""A net as a program: traced by torch, written for onnxruntime or for torch."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lossnet.errors import SettingError
from lossnet.exporting import stand_ins
from lossnet.exporting.spec import Exported
from lossnet.nets import Forest


class _Program(nn.Module):
    """A net whose inputs have an order in place of names, and whose outputs are a tuple."""

    def __init__(self, net: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.net, self.names = net, list(names)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Outputs of the inputs."""
        found = self.net(**dict(zip(self.names, inputs, strict=True)))
        return found if isinstance(found, tuple) else (found,)


def _traced(exported: Exported, table: stand_ins.Table) -> Any:
    """The program that torch traces for inputs of any length along their free axes."""
    net = _Program(stand_ins.replaced(exported.net, table), list(exported.inputs))
    net.eval().requires_grad_(False)
    for weight in net.parameters():  # torch.export.save takes no other layout
        weight.data = weight.data.contiguous()
    inputs = exported.inputs.values()
    free = tuple(dict.fromkeys(one.free, torch.export.Dim.DYNAMIC) for one in inputs)
    with _quiet(), torch.no_grad():
        try:
            return torch.export.export(
                net, tuple(one.example for one in inputs), dynamic_shapes=(free,)
            )
        except Exception as error:  # torch raises many kinds
            raise SettingError(f"torch cannot export the net that predicts: {error}") from error


def torch_program(exported: Exported) -> Callable[[Path], None]:
    """What writes the net as a ``.pt2`` file."""
    traced = _traced(exported, stand_ins.TORCH)
    return lambda path: torch.export.save(traced, path)


def onnx_program(exported: Exported) -> Callable[[Path], None]:
    """What writes the net as an ``.onnx`` file."""
    import onnx

    if not hasattr(torch.onnx, "ops"):
        what = f"format 'onnx' needs torch 2.8 or later, and this is {torch.__version__}"
        raise SettingError(f"{what}; run pip install -U torch, or take format='torch'")
    traced = _traced(exported, stand_ins.ONNX)
    names: dict[str, Any] = {"input_names": [*exported.inputs], "output_names": [*exported.outputs]}
    with _quiet(), torch.no_grad():
        try:
            found = torch.onnx.export(traced, dynamo=True, verbose=False, **names)
        except Exception as error:
            raise SettingError(f"torch cannot write the net as ONNX: {error}") from error
    assert found is not None
    proto = found.model_proto
    trees = [net for net in exported.net.modules() if isinstance(net, Forest)]
    for node in proto.graph.node:
        if node.op_type == stand_ins.TREES:
            attributes = stand_ins.tree_attributes(trees[0])
            node.attribute.extend(onnx.helper.make_attribute(*pair) for pair in attributes.items())
    return lambda path: onnx.save(proto, path)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch's exporter says of packages that are not there and of its own code."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)

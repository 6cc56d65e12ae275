"""Train and eval mode of nets, as steps set them."""

from __future__ import annotations

from typing import Self

import pytest
import torch
from torch import nn

from lossnet.nets import LabelMLP
from lossnet.nets.base import set_mode


class Frozen(nn.Sequential):
    """A module that stays in eval mode."""

    def train(self, mode: bool = True) -> Self:
        return super().train(False)


def modes(net: nn.Module) -> list[bool]:
    return [module.training for module in net.modules()]


def test_modes_are_those_of_train() -> None:
    net = nn.ModuleDict({"frozen": Frozen(nn.Dropout()), "net": LabelMLP(3, 2, hidden=(4, 4))})
    for mode in (False, True, False):
        set_mode(net, mode)
        found = modes(net)
        net.train(mode)
        assert found == modes(net)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripted_modules_change_modes() -> None:
    net = nn.Sequential(torch.jit.script(nn.Dropout()))
    set_mode(net, False)
    assert torch.equal(net(torch.ones(100)), torch.ones(100))
    set_mode(net, True)
    assert (net(torch.ones(100)) == 0).any()

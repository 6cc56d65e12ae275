"""Task-nets and their pieces."""

from __future__ import annotations

import pytest
import torch

from lossnet.errors import SettingError
from lossnet.nets import Dropout, LabelMLP


def test_dropout_drops_its_share_and_keeps_the_mean() -> None:
    torch.manual_seed(0)
    dropout = Dropout(0.3).train()
    out = dropout(torch.ones(200, 500))
    assert (out == 0).float().mean().item() == pytest.approx(0.3, abs=0.005)
    assert out.mean().item() == pytest.approx(1.0, abs=0.01)
    assert out.unique().tolist() == pytest.approx([0.0, 1 / 0.7])


def test_dropout_passes_gradients_only_where_it_kept() -> None:
    torch.manual_seed(0)
    x = torch.ones(50, 20, requires_grad=True)
    out = Dropout(0.5).train()(x)
    out.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, out.detach())


def test_dropout_is_off_in_eval_mode() -> None:
    x = torch.randn(5, 4)
    assert Dropout(0.5).eval()(x) is x


@pytest.mark.parametrize("p", [-0.1, 1.0, 2.0])
def test_dropout_refuses_shares_out_of_range(p: float) -> None:
    with pytest.raises(SettingError, match="from 0 to below 1"):
        Dropout(p)


def test_label_mlp_is_features_times_embeddings() -> None:
    net = LabelMLP(6, 3, hidden=(5, 4), dropout=0.5).eval()
    x = torch.randn(7, 6)
    first, second = (m for m in net.features.layers if isinstance(m, torch.nn.Linear))
    hidden = torch.nn.functional.softplus(second(torch.nn.functional.softplus(first(x))))
    assert torch.allclose(net(x), hidden @ net.label_embeddings.T)

"""LearnedLoss in the Trainers of the examples: what is trained, when, and what checkpoints hold."""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from lossnet.testing import tiny_news, write_tiny_encoder

EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = tiny_news(64)
#: A Trainer of the example with a method, in a folder, with settings.
Make = Callable[..., Any]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder"))


def without_dropout(net: nn.Module) -> None:
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def tensors(*modules: nn.Module) -> list[torch.Tensor]:
    """All tensors of the modules' states: weights, optimizers, random streams."""

    def walk(value: object) -> list[torch.Tensor]:
        if isinstance(value, dict):
            return [tensor for part in value.values() for tensor in walk(part)]
        return [value.clone()] if isinstance(value, torch.Tensor) else []

    return [tensor for module in modules for tensor in walk(module.state_dict())]


def same(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


# Hugging Face ------------------------------------------------------------------------------------


@pytest.fixture
def make_trainer(encoder: Path, tmp_path: Path) -> Make:
    make = runpy.run_path(str(EXAMPLES / "hf_trainer.py"))["make_trainer"]

    def made(method: str = "seal-nce", folder: str = "run", **settings: Any) -> Any:
        settings = {"max_steps": 4, "disable_tqdm": True, "save_strategy": "no"} | settings
        return make(method, encoder, ROWS, str(tmp_path / folder), **settings)

    return made


def test_a_hugging_face_trainer_trains_the_loss_net_and_evaluation_does_not(make_trainer) -> None:
    trainer = make_trainer()
    start = tensors(trainer.criterion.energy)
    trainer.train()
    assert math.isfinite(trainer.criterion.last_energy_loss)
    assert not any(
        torch.equal(a, b) for a, b in zip(start, tensors(trainer.criterion.energy), strict=True)
    )
    trained = tensors(trainer.criterion, trainer.model)
    found = trainer.evaluate()
    assert math.isfinite(found["eval_loss"])
    assert 0.0 <= found["eval_f1"] <= 1.0
    assert same(trained, tensors(trainer.criterion, trainer.model))


def test_a_hugging_face_trainer_resumes_with_its_loss_net(make_trainer) -> None:
    saving = {"save_strategy": "steps", "save_steps": 2}
    whole, resumed = make_trainer(**saving), make_trainer(**saving)
    whole.train()
    resumed.train(resume_from_checkpoint=f"{resumed.args.output_dir}/checkpoint-2")
    assert same(tensors(whole.criterion, whole.model), tensors(resumed.criterion, resumed.model))


def test_a_hugging_face_trainer_accumulates_gradients(make_trainer) -> None:
    """Halves of a batch give the gradient of the batch."""
    weights = []
    for size, steps in ((16, 1), (8, 2)):
        settings = {"per_device_train_batch_size": size, "gradient_accumulation_steps": steps}
        trainer = make_trainer("cross-entropy", optim="sgd", max_grad_norm=0, **settings)
        without_dropout(trainer.model)
        trainer.train()
        weights.append(tensors(trainer.model))
    for left, right in zip(*weights, strict=True):
        torch.testing.assert_close(left, right)


def test_a_hugging_face_trainer_in_mixed_precision(make_trainer) -> None:
    trainer = make_trainer(bf16=True, use_cpu=True, max_steps=1)
    trainer.train()
    assert math.isfinite(trainer.criterion.last_energy_loss)
    assert all(p.dtype == torch.float32 for p in trainer.criterion.parameters())


# Lightning ---------------------------------------------------------------------------------------


@pytest.fixture
def fit(encoder: Path, tmp_path: Path) -> Make:
    from lightning import Trainer

    example = runpy.run_path(str(EXAMPLES / "lightning_module.py"))
    train, _, labels = example["make_loaders"](ROWS, encoder)
    in_order = DataLoader(list(train), batch_size=None)

    def fitted(epochs: int, **settings: Any) -> tuple[Any, Any]:
        torch.manual_seed(0)
        module = example["LearnedLossModule"](encoder, labels)
        without_dropout(module)
        trainer = Trainer(
            max_epochs=epochs,
            default_root_dir=tmp_path,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(module, in_order, **settings)
        return trainer, module

    return fitted


def test_a_lightning_module_trains_the_loss_net_and_validation_does_not(fit: Make) -> None:
    _, untrained = fit(0)
    trainer, module = fit(1)
    assert math.isfinite(trainer.callback_metrics["energy_loss"])
    moved = [tensors(one.criterion.energy) for one in (untrained, module)]
    assert not any(torch.equal(a, b) for a, b in zip(*moved, strict=True))
    trained = tensors(module)
    (found,) = trainer.validate(module, trainer.train_dataloader, verbose=False)
    assert math.isfinite(found["loss"])
    assert same(trained, tensors(module))


def test_a_lightning_checkpoint_holds_the_loss_net(fit: Make, tmp_path: Path) -> None:
    _, whole = fit(2)
    trainer, _ = fit(1)
    trainer.save_checkpoint(tmp_path / "half.ckpt")
    _, resumed = fit(2, ckpt_path=tmp_path / "half.ckpt")
    assert same(tensors(whole), tensors(resumed))

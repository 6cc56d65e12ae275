"""Crops: what they cut, how they are drawn, and that averaging puts an image together again."""

import pytest
import torch

from lossnet.batch import Batch
from lossnet.exporting.runtime.tiling import evenly
from lossnet.proposals import Candidates
from lossnet.spaces import Binary
from lossnet.tasks.image.crops import FixedCrops, RandomCrops
from lossnet.training import predict


def ramp(height: int, width: int, count: int = 3) -> torch.Tensor:
    """Images whose pixel tells its image, row and column: ``(n, 3, H, W)``."""
    n, i, j = torch.meshgrid(
        torch.arange(count), torch.arange(height), torch.arange(width), indexing="ij"
    )
    return torch.stack([n, i, j], 1).float()


class Identity:
    """Predicts the image itself, ``(B, H, W, 3)``."""

    provides: frozenset[str] = frozenset()
    nets: frozenset[str] = frozenset()
    needs = frozenset()

    def __call__(self, context, *, keep_graph: bool = False) -> Candidates:
        return Candidates(context.batch.x.movedim(1, -1).unsqueeze(0))


@pytest.mark.parametrize("count", [1, 2, 6])
@pytest.mark.parametrize("size", [(32, 32), (9, 25), (24, 24)])
def test_averaged_crops_of_an_identity_are_the_image(size, count) -> None:
    images = ramp(*size)
    crop = (min(24, size[0]), 5 if size[1] == 25 else 24)
    source = FixedCrops(images, crop=crop, side=count)
    found = source.average(predict(Identity(), {}, Binary(), source, batch_size=7))
    torch.testing.assert_close(found, images.movedim(1, -1), rtol=0, atol=1e-6)


def test_the_papers_have_36_crops() -> None:
    assert FixedCrops(ramp(32, 32), crop=(24, 24), side=6).times == 36
    assert evenly(32, 24, 6).places == [0, 2, 3, 5, 6, 8]
    assert evenly(8, 8, 6).places == [0]


def test_random_crops_are_cut_from_image_and_target_alike() -> None:
    images = ramp(10, 12)
    targets = images[:, 1:].movedim(1, -1)  # (n, H, W, 2): row and column
    source = RandomCrops(images, targets, crop=(4, 5), times=40)
    assert len(source) == 120
    generator = torch.Generator().manual_seed(0)
    batches = source.shuffled(16, generator)
    assert sum(map(len, batches)) == 120
    seen, mirrored = torch.zeros(3), 0
    for rows in batches:
        batch = source.batch(rows)
        assert batch.x.shape[1:] == (3, 4, 5)
        torch.testing.assert_close(batch.x[:, 1:].movedim(1, -1), batch.target)
        seen += torch.bincount(batch.x[:, 0, 0, 0].long(), minlength=3)
        steps = batch.x[:, 2, :, 1:] - batch.x[:, 2, :, :-1]
        assert (steps.abs() == 1).all()
        mirrored += int((steps[:, 0, 0] < 0).sum())
    assert seen.tolist() == [40, 40, 40]
    assert 30 < mirrored < 90
    corner = torch.cat([source.batch(rows).x[:, 1, 0, 0] for rows in batches])
    assert sorted(set(corner.tolist())) == list(range(7))


def test_an_epoch_of_many_images_is_a_random_part() -> None:
    images = torch.arange(50.0).view(50, 1, 1, 1).expand(50, 1, 3, 3)
    source = RandomCrops(images, images[:, 0], crop=(2, 2), most=20)
    assert len(source) == 20
    epochs = []
    for seed in range(40):
        rows = torch.cat(list(source.shuffled(8, torch.Generator().manual_seed(seed))))
        assert len(rows) == 20
        epochs.append(source.examples(rows).tolist())
        assert len(set(epochs[-1])) == 20  # no image twice
    assert {number for epoch in epochs for number in epoch} == set(range(50))
    assert source.batch(slice(0, 3)).x.shape == (3, 1, 2, 2)
    assert len(RandomCrops(images, images[:, 0], crop=(2, 2), times=2, most=1000)) == 100


def test_random_crops_without_flips_or_crops_are_the_images() -> None:
    images = ramp(4, 5)
    source = RandomCrops(images, crop=(4, 5), flip=False)
    (rows,) = source.shuffled(8, torch.Generator().manual_seed(1))
    assert sorted(rows.tolist()) == [0, 1, 2]
    batch = source.batch(rows)
    assert isinstance(batch, Batch)
    assert batch.target is None
    torch.testing.assert_close(batch.x, images[rows])
    torch.testing.assert_close(source.batch(slice(0, 3)).x, images)


def test_the_generator_alone_decides() -> None:
    source = RandomCrops(ramp(8, 8), crop=(4, 4), times=2)

    def draw(seed: int) -> torch.Tensor:
        return torch.cat(list(source.shuffled(2, torch.Generator().manual_seed(seed))))

    assert torch.equal(draw(3), draw(3))
    assert not torch.equal(draw(3), draw(4))

"""Tag language models of a tagger: trained with the energy, or before it and then fixed."""

import math
import shutil

import pytest
import torch

from lossnet import SequenceTagger
from lossnet.errors import SettingError
from lossnet.training import Checkpoint, save_checkpoint

# Tags alternate, so a model of them knows all but the first.
SENTENCES = [["a", "b", "c", "d"][: 2 + n % 3] for n in range(40)]
TAGS = [["X" if (t + n) % 2 else "Y" for t in range(len(s))] for n, s in enumerate(SENTENCES)]


def tagger(**settings) -> SequenceTagger:
    standard = {"hidden": 8, "word_width": 6, "batch_size": 8, "max_epochs": 3, "random_state": 0}
    standard |= {"global_energy": "both+words", "pretrain_global": True, "chars": False}
    return SequenceTagger("infnet-plus", **{**standard, **settings})


def models(fitted: SequenceTagger) -> list[dict[str, torch.Tensor]]:
    return [dict(part.state_dict()) for part in fitted.nets_["energy"].parts[1:]]


def same(one, other) -> bool:
    return all(torch.equal(a[key], b[key]) for a, b in zip(one, other, strict=True) for key in a)


def test_pretrained_models_are_likely_and_stay_fixed() -> None:
    one = tagger(max_epochs=6).fit(SENTENCES, TAGS)
    other = tagger(max_epochs=6, method_params={"energy_optimiser": {"lr": 1e-2}, "net_steps": 2})
    assert same(models(one), models(other.fit(SENTENCES, TAGS)))
    joint = tagger(max_epochs=6, pretrain_global=False).fit(SENTENCES, TAGS)
    assert not same(models(one), models(joint))
    phases = list(dict.fromkeys(row["phase"] for row in one.history_))
    expected = ["tags-forward", "tags-backward", "tags+words-forward", "tags+words-backward"]
    assert phases == [*expected, "infnet-plus"]
    for phase in expected:
        losses = [row["validation_loss"] for row in one.history_ if row["phase"] == phase]
        assert min(losses) < losses[0] < 6 * math.log(3)
    assert set(one.nets_) == {"task", "energy", "augmented"}


def test_a_folder_holds_pretrained_models(tmp_path) -> None:
    fitted = tagger().fit(SENTENCES, TAGS)
    loaded = SequenceTagger.load(fitted.save(tmp_path / "model"))
    assert same(models(fitted), models(loaded))
    assert loaded.predict(SENTENCES) == fitted.predict(SENTENCES)


def test_resuming_anywhere_gives_the_same_weights(tmp_path, monkeypatch) -> None:
    kept = []

    def on_epoch(self, trainer) -> None:
        save_checkpoint(self.path, trainer, self.settings)
        kept.append(shutil.copy(self.path, tmp_path / f"{len(kept)}"))

    monkeypatch.setattr(Checkpoint, "on_epoch", on_epoch)
    settings = {"max_epochs": 2, "global_energy": "both"}
    whole = tagger(**settings).fit(SENTENCES, TAGS, checkpoint=tmp_path / "c")
    for file in list(kept):
        resumed = tagger(**settings)
        resumed.fit(SENTENCES, TAGS, checkpoint=file, resume_from_checkpoint=True)
        for name, net in whole.nets_.items():
            for key, value in net.state_dict().items():
                assert torch.equal(value, resumed.nets_[name].state_dict()[key]), (name, key)


def test_words_have_a_weight_of_their_own() -> None:
    fitted = tagger(max_epochs=1, global_weight=0.5, words_weight=0.1).fit(SENTENCES, TAGS)
    assert fitted.nets_["energy"].weights == pytest.approx([1.0, 0.5, 0.5, 0.05, 0.05])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"words_weight": -1.0}, "words_weight must be a number of at least 0, got -1.0"),
        ({"global_weight": float("nan")}, "global_weight must be a number of at least 0, got nan"),
        ({"global_energy": None}, "pretrain_global needs a global_energy to train"),
    ],
)
def test_bad_settings(settings, message) -> None:
    with pytest.raises(SettingError, match=message):
        tagger(**settings).fit(SENTENCES, TAGS)

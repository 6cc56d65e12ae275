"""LearnedLoss in a LightningModule with manual optimisation, compared with cross-entropy.

As it is, it trains a tiny random BERT on made-up news, offline. On your own texts:
``python examples/lightning_module.py --encoder FOLDER --data FILE.jsonl``, where a line of the
file is ``{"text": "...", "labels": ["...", ...]}``.
"""

import argparse
import json
from tempfile import TemporaryDirectory

import torch
from lightning import LightningModule, Trainer, seed_everything
from torch.utils.data import DataLoader
from transformers import AutoModel, AutoTokenizer

from lossnet import LearnedLoss
from lossnet.energies import LabelEnergy
from lossnet.tasks.multilabel import example_f1
from lossnet.testing import tiny_news, write_tiny_encoder


class LearnedLossModule(LightningModule):
    """An encoder with a linear head; the loss-net reads the same features, detached."""

    def __init__(self, encoder, labels, method="seal-nce", lr=3e-3):
        super().__init__()
        self.automatic_optimization = False
        self.encoder = AutoModel.from_pretrained(encoder).train()  # is loaded in eval mode
        width = self.encoder.config.hidden_size
        self.head = torch.nn.Linear(width, labels)
        # A submodule, so that checkpoints hold its weights and its random state.
        self.criterion = LearnedLoss(LabelEnergy(width, labels, hidden=(64,)), method)
        self.lr = lr

    def configure_optimizers(self):
        own = torch.optim.AdamW([*self.encoder.parameters(), *self.head.parameters()], lr=self.lr)
        energy = self.criterion.optimizer
        return [own] if energy is None else [own, energy]  # cross-entropy has no loss-net

    def forward(self, texts):
        words = self.encoder(texts["input_ids"], texts["attention_mask"]).last_hidden_state
        attended = texts["attention_mask"].unsqueeze(-1)
        features = (words * attended).sum(1) / attended.sum(1)
        return features, self.head(features)

    def training_step(self, batch, number):
        features, logits = self(batch["texts"])
        loss = self.criterion(features, logits, batch["labels"])
        if self.criterion.optimizer is not None:
            energy_loss = self.criterion.energy_loss(features, logits, batch["labels"])
            self.log("energy_loss", energy_loss)
            loss = loss + energy_loss  # neither sends a gradient to the other's net
        self.manual_backward(loss)
        optimizers = self.optimizers()
        for optimizer in optimizers if isinstance(optimizers, list) else [optimizers]:
            optimizer.step()
            optimizer.zero_grad()

    def validation_step(self, batch, number):
        features, logits = self(batch["texts"])
        self.log("loss", self.criterion(features, logits, batch["labels"]), prog_bar=True)

    def predict_step(self, batch):
        return torch.stack([self(batch["texts"])[1] > 0, batch["labels"] > 0])


def make_loaders(rows, encoder):
    """Training and test batches, and the number of labels."""
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    cut = {"truncation": True, "max_length": min(256, tokenizer.model_max_length)}
    classes = sorted({name for row in rows for name in row["labels"]})

    def collate(rows):
        texts = tokenizer([row["text"] for row in rows], padding=True, return_tensors="pt", **cut)
        labels = [[float(name in row["labels"]) for name in classes] for row in rows]
        return {"texts": dict(texts), "labels": torch.tensor(labels)}

    first = len(rows) * 3 // 4
    train = DataLoader(rows[:first], batch_size=16, shuffle=True, collate_fn=collate)
    return train, DataLoader(rows[first:], batch_size=16, collate_fn=collate), len(classes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", help="folder or name of a Hugging Face encoder")
    parser.add_argument(
        "--data", type=argparse.FileType(encoding="utf-8"), help="JSONL file, rows in any order"
    )
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.data] if given.data else tiny_news()
    with TemporaryDirectory() as folder:
        words = {word for row in rows for word in row["text"].split()}
        encoder = given.encoder or write_tiny_encoder(folder, words=words, width=32)
        rate, epochs = (5e-5, 3) if given.encoder else (5e-3, 10)
        train, test, labels = make_loaders(rows, encoder)
        for method in ("cross-entropy", "seal-nce"):
            seed_everything(0)
            module = LearnedLossModule(encoder, labels, method, rate)
            trainer = Trainer(max_epochs=epochs, default_root_dir=folder, logger=False)
            trainer.fit(module, train, test)
            predicted, truth = torch.cat(trainer.predict(module, test), 1).numpy()
            print(f"{method}: test F1 {example_f1(truth, predicted):.3f}")

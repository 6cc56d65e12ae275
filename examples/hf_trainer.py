"""LearnedLoss in a Hugging Face Trainer, compared with cross-entropy in the same Trainer.

As it is, it trains a tiny random BERT on made-up news, offline. On your own texts:
``python examples/hf_trainer.py --encoder FOLDER --data FILE.jsonl``, where a line of the file is
``{"text": "...", "labels": ["...", ...]}``.
"""

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments, set_seed

from lossnet import LearnedLoss
from lossnet.energies import LabelEnergy
from lossnet.tasks.multilabel import example_f1
from lossnet.testing import tiny_news, write_tiny_encoder


class Classifier(torch.nn.Module):
    """An encoder, the mean of its sub-words, and a linear head; returns features and logits."""

    def __init__(self, encoder, labels):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(encoder)
        self.head = torch.nn.Linear(self.encoder.config.hidden_size, labels)

    def forward(self, input_ids, attention_mask):
        words = self.encoder(input_ids, attention_mask).last_hidden_state
        attended = attention_mask.unsqueeze(-1)
        features = (words * attended).sum(1) / attended.sum(1)
        return features, self.head(features)


class LearnedLossTrainer(Trainer):
    """A Trainer whose loss is a LearnedLoss. One pass of the encoder serves both nets."""

    def __init__(self, *args, criterion, **kwargs):
        super().__init__(*args, **kwargs)
        self.criterion = criterion.to(self.args.device)
        # The loss is the mean of a batch: the Trainer shall divide it by the accumulated batches.
        self.model_accepts_loss_kwargs = False

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        features, logits = model(**inputs)
        # Trains the loss-net on detached features and logits; in evaluation it does nothing.
        self.criterion.step(features, logits, labels)
        loss = self.criterion(features, logits, labels)
        return (loss, {"logits": logits}) if return_outputs else loss

    # The loss-net, its optimizer and its random state are stored where the model's optimizer is.
    def _save_optimizer_and_scheduler(self, output_dir):
        super()._save_optimizer_and_scheduler(output_dir)
        if self.args.should_save:
            torch.save(self.criterion.state_dict(), Path(output_dir, "criterion.pt"))

    def _load_optimizer_and_scheduler(self, checkpoint):
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            self.criterion.load_state_dict(torch.load(Path(checkpoint, "criterion.pt")))


def make_trainer(method, encoder, rows, folder, **settings):
    """A Trainer on the first three quarters of the rows, evaluated on the others."""
    set_seed(0)  # every process starts from the same weights
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    cut = {"truncation": True, "max_length": min(256, tokenizer.model_max_length)}
    classes = sorted({name for row in rows for name in row["labels"]})
    data = [
        tokenizer(row["text"], return_token_type_ids=False, **cut)
        | {"labels": [float(name in row["labels"]) for name in classes]}
        for row in rows
    ]
    model = Classifier(encoder, len(classes))
    energy = LabelEnergy(model.head.in_features, len(classes), hidden=(64,))
    # The labels are for compute_loss: forward does not name them, and they are kept nevertheless.
    kept = {"label_names": ["labels"], "remove_unused_columns": False}
    return LearnedLossTrainer(
        model,
        TrainingArguments(folder, report_to="none", **kept, **settings),
        criterion=LearnedLoss(energy, method),
        processing_class=tokenizer,
        train_dataset=data[: len(rows) * 3 // 4],
        eval_dataset=data[len(rows) * 3 // 4 :],
        compute_metrics=lambda found: {"f1": example_f1(found.label_ids, found.predictions > 0)},
    )


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
        for method in ("cross-entropy", "seal-nce"):
            settings = {"learning_rate": rate, "num_train_epochs": epochs}
            trainer = make_trainer(method, encoder, rows, f"{folder}/{method}", **settings)
            trainer.train()
            print(f"{method}: test F1 {trainer.evaluate()['eval_f1']:.3f}")

"""LearnedLoss in a plain PyTorch loop, compared with cross-entropy in the same loop."""

import torch
from torch.utils.data import DataLoader, TensorDataset

import lossnet
from lossnet.tasks.multilabel import example_f1, load_splits

splits = load_splits("digits-attributes")
x, y = torch.from_numpy(splits.train.X), torch.from_numpy(splits.train.Y).float()
test = torch.from_numpy(splits.test.X)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)

for method in ("cross-entropy", "seal-nce"):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 128), torch.nn.ReLU(), torch.nn.Linear(128, y.shape[1])
    )
    energy = lossnet.energies.LabelEnergy(in_features=x.shape[1], labels=y.shape[1], hidden=(128,))
    criterion = lossnet.LearnedLoss(energy, method=method)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(20):
        for inputs, labels in loader:
            logits = model(inputs)
            criterion.step(inputs, logits, labels)  # cross-entropy has no loss-net to train
            loss = criterion(inputs, logits, labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    with torch.no_grad():
        predicted = torch.sigmoid(model(test)).numpy() >= 0.5
    print(f"{method}: test F1 {example_f1(splits.test.Y, predicted):.3f}")

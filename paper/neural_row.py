"""N-BoF, a bag of features whose codebook is learned, and TABL. The home of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.order_book_data import LABELS, Part
from paper.order_book_settings import BookSettings, metrics_of
from paper.prototype_rows import prototypes, squared_distances

MISSING = "N-BoF needs PyTorch: make setup-neural"
BATCH, HIDDEN = 256, 256


class Network:
    """Radial codebook, mean over the window, one hidden layer; trained with Adam.

    Parameters
    ----------
    part : Part
        What it is trained on.
    codewords : int
        Size of the codebook.
    per_epoch : int
        Windows that an epoch looks at.
    balance : float
        Classes weigh as their share to the power of minus this: 1 makes them equal.
    seed : int
        Decides the start and the order of the windows.
    """

    def __init__(self, part: Part, codewords: int, per_epoch: int, balance: float, seed: int):
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)  # sums come out the same every time
        self.windows, self.per_epoch = part.train.X, per_epoch
        self.rng = np.random.default_rng(seed)
        self.y = np.searchsorted(LABELS, part.train.y)
        blocks = part.train.X.last_blocks
        centres = prototypes(blocks, codewords, seed).astype(np.float32)
        sample = blocks[:: max(1, len(blocks) // 4096)]
        near = np.sqrt(squared_distances(sample, centres)).min(axis=1).mean()
        count = len(centres)
        self.centres = torch.nn.Parameter(torch.from_numpy(centres))
        self.sharpness = torch.nn.Parameter(torch.full((count,), 4.0 / float(near)))
        self.head = torch.nn.Sequential(
            torch.nn.Linear(count, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, len(LABELS))
        )
        share = np.bincount(self.y, minlength=len(LABELS)) / len(self.y)
        weights = share**-balance
        weights = torch.tensor(weights / (share @ weights), dtype=torch.float32)
        self.loss = torch.nn.CrossEntropyLoss(weight=weights)
        groups = [
            {"params": [self.centres, self.sharpness], "lr": 1e-3},
            {"params": self.head.parameters(), "lr": 1e-3},
        ]
        self.optimiser = torch.optim.Adam(groups)

    def epoch(self) -> float:
        """Train on a random part of the windows; the mean loss."""
        import torch

        chosen = self.rng.permutation(len(self.windows))[: self.per_epoch]
        losses = []
        for start in range(0, len(chosen), BATCH):
            rows = chosen[start : start + BATCH]
            targets = torch.from_numpy(self.y[rows])
            loss = self.loss(self._scores(self.windows[rows]), targets)
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            losses.append(float(loss.detach()))
        return float(np.mean(losses))

    def predict(self, windows: Any) -> np.ndarray:
        """Positions of the labels (n,)."""
        import torch

        with torch.no_grad():
            parts = [
                self._scores(windows[start : start + 2048]).argmax(dim=1).numpy()
                for start in range(0, len(windows), 2048)
            ]
        return np.concatenate(parts)

    def _scores(self, windows: np.ndarray) -> Any:
        """Scores (n, C) of windows (n, I, blocks)."""
        import torch

        n, size, blocks = windows.shape
        flat = np.ascontiguousarray(windows.transpose(0, 2, 1), dtype=np.float32).reshape(-1, size)
        distances = torch.cdist(torch.from_numpy(flat), self.centres)
        membership = torch.softmax(-distances * self.sharpness.abs(), dim=1)
        histogram = membership.reshape(n, blocks, -1).mean(dim=1)
        # Times the number of codewords: entries of order one suit the start of the layers above.
        return self.head(histogram * len(self.centres))


def neural_bag_of_features(
    settings: BookSettings, inner: Part, outer: Part, seed: int
) -> dict[str, Any]:
    """The N-BoF row of one fold: balance and number of epochs chosen on the training days."""
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for balance in (0.5, 1.0):
        network = _network(settings, inner, balance, seed)
        curve: dict[str, list[float]] = {"loss": [], "held_out_f1": []}
        for _ in range(settings.neural_epochs):
            curve["loss"].append(round(network.epoch(), 5))
            guess = LABELS[network.predict(inner.test.X)]
            curve["held_out_f1"].append(metrics_of(inner.test.y, guess)[3])
        epoch = int(np.argmax(curve["held_out_f1"]))
        if curve["held_out_f1"][epoch] > best[0]:
            best = (
                curve["held_out_f1"][epoch],
                {"balance": balance, "epochs": epoch + 1, "c": curve},
            )
    f1, chosen = best
    curve = chosen.pop("c")
    network = _network(settings, outer, chosen["balance"], seed)
    for _ in range(chosen["epochs"]):
        network.epoch()
    metrics = metrics_of(outer.test.y, LABELS[network.predict(outer.test.X)])
    return {"metrics": metrics, "selected": chosen, "inner_f1": f1, "curve": curve}


def _network(settings: BookSettings, part: Part, balance: float, seed: int) -> Network:
    return Network(part, settings.neural_codewords, settings.neural_windows, balance, seed)


class OneLayerTABL:
    """A(TABL): one bilinear layer that weighs the blocks of a window by attention.

    ``W1 X`` has a row per class. A softmax over time of ``W1 X W``, with the diagonal of W fixed,
    says how much each block counts; a learned number from 0 to 1 mixes that with ``W1 X`` as it
    is, and ``W2`` adds up the blocks. Trained with Adam; all classes weigh the same. After Tran,
    Iosifidis, Kanniainen and Gabbouj, IEEE TNNLS 2019.

    Parameters
    ----------
    windows : array or store of shape (n, I, blocks)
        The training windows.
    y : ndarray of shape (n,)
        Their labels.
    seed : int
        Decides the start and the order of the windows.
    """

    def __init__(self, windows: Any, y: np.ndarray, seed: int = 0):
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)  # sums come out the same every time
        self.windows, self.y = windows, np.searchsorted(LABELS, y)
        self.rng = np.random.default_rng(seed)
        _, size, blocks = windows.shape
        first, second = torch.empty(len(LABELS), size), torch.empty(blocks, 1)
        torch.nn.init.xavier_uniform_(first)
        torch.nn.init.xavier_uniform_(second)
        self.first, self.second = torch.nn.Parameter(first), torch.nn.Parameter(second)
        self.offset = torch.nn.Parameter(torch.zeros(len(LABELS), 1))
        self.attention = torch.nn.Parameter(torch.full((blocks, blocks), 1 / blocks))
        self.mix = torch.nn.Parameter(torch.tensor(0.5))
        share = np.bincount(self.y, minlength=len(LABELS)) / len(self.y)
        weights = torch.tensor(1 / np.maximum(share, 1e-9) / len(LABELS), dtype=torch.float32)
        self.loss = torch.nn.CrossEntropyLoss(weight=weights)
        learned = [self.first, self.second, self.offset, self.attention, self.mix]
        self.optimiser = torch.optim.Adam(learned, lr=1e-2)

    def epoch(self) -> float:
        """Train on all windows once; the mean loss."""
        import torch

        order, losses = self.rng.permutation(len(self.y)), []
        for start in range(0, len(order), BATCH):
            rows = np.sort(order[start : start + BATCH])
            loss = self.loss(self._scores(self.windows[rows]), torch.from_numpy(self.y[rows]))
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            with torch.no_grad():
                self.mix.clamp_(0, 1)
            losses.append(float(loss.detach()))
        return float(np.mean(losses))

    def predict(self, windows: Any) -> np.ndarray:
        """The labels (n,)."""
        import torch

        with torch.no_grad():
            parts = [
                self._scores(windows[start : start + 2048]).argmax(dim=1).numpy()
                for start in range(0, len(windows), 2048)
            ]
        return np.asarray(LABELS[np.concatenate(parts)])

    def _scores(self, windows: np.ndarray) -> Any:
        """Scores (n, C) of windows (n, I, blocks)."""
        import torch

        X = self.first @ torch.from_numpy(np.ascontiguousarray(windows, dtype=np.float32))
        n_blocks = len(self.attention)
        diagonal = torch.eye(n_blocks, dtype=torch.bool)
        fixed = torch.where(diagonal, torch.tensor(1 / n_blocks), self.attention)
        weights = torch.softmax(X @ fixed, dim=2)
        mixed = self.mix * (X * weights) + (1 - self.mix) * X
        return (mixed @ self.second + self.offset)[:, :, 0]

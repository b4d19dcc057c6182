"""Sections about projectors that give no scores: samples projected and reconstructed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenfold.app.report.page import Gallery, Picture, Prose, Section
from tenfold.app.report.pictures import joined
from tenfold.app.report.subject import Subject
from tenfold.datasets.locations import natural_key
from tenfold.mathematics.algebra import Array
from tenfold.system.tables import Table, number, percent

N_SAMPLES = 2000  # used, evenly spread over the data
N_PAIRS = 6


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """How much of the scatter of the samples the subspace keeps.

    Parameters
    ----------
    rows : ndarray of shape (m,)
        The samples used.
    restored : ndarray of shape (m, I_1, ..., I_K)
        Each of them projected and mapped back.
    scatter, lost : ndarrays of shape (m,)
        Squared distance of each sample from the mean, and what of it the subspace does not hold.
    """

    rows: Array
    restored: Array
    scatter: Array
    lost: Array

    @property
    def n_samples(self) -> int:
        """How many were used."""
        return len(self.rows)

    @property
    def overall(self) -> float:
        """Share of the scatter about the mean that is kept."""
        return self.share(np.ones(len(self.rows), dtype=bool))

    @property
    def shares(self) -> Array:
        """Share kept of each sample, shape (m,)."""
        return 1 - self.lost / np.where(self.scatter > 0, self.scatter, 1)

    def share(self, chosen: Array) -> float:
        """Share kept of some of the samples together."""
        total = float(self.scatter[chosen].sum())
        return 1 - float(self.lost[chosen].sum()) / total if total > 0 else 1.0


def reconstruction_of(subject: Subject) -> Reconstruction:
    """Project samples, map them back, and compare about the mean."""
    step = -(-len(subject.data) // N_SAMPLES)
    X = subject.data.X[::step]
    restored = subject.estimator.inverse_transform(subject.estimator.transform(X))
    flat = np.asarray(X, dtype=float).reshape(len(X), -1)
    missing = flat - restored.reshape(len(X), -1)
    # A projection is linear: what is missing of X - M is what is missing of X, less that of M.
    missing -= missing.mean(axis=0)
    deviation = flat - flat.mean(axis=0)
    shaped = restored.reshape(len(X), *subject.sample_shape)
    rows = np.arange(0, len(subject.data), step)
    return Reconstruction(rows, shaped, (deviation**2).sum(axis=1), (missing**2).sum(axis=1))


def sections(subject: Subject) -> list[Section]:
    """Samples before and after, and a table by class."""
    kept = reconstruction_of(subject)
    order = np.argsort(kept.shares, kind="stable")
    text = (
        f"{kept.n_samples:,} samples were projected and mapped back. What the subspace cannot hold "
        "is missing in the right half of each picture."
    )
    blocks = [
        Prose(text),
        Gallery("Kept best", _pairs(subject, kept, order[::-1][:N_PAIRS])),
        Gallery("Kept least", _pairs(subject, kept, order[:N_PAIRS])),
    ]
    if subject.data.y is not None:
        blocks.append(_table(subject, kept))
    return [Section("kept", "What the subspace keeps", blocks)]


def _pairs(subject: Subject, kept: Reconstruction, positions: Array) -> list[Picture]:
    pictures = []
    for p in positions:
        i = int(kept.rows[p])
        name = subject.name_of(i)
        share = f"{100 * kept.shares[p]:.1f} % kept"
        both = joined(subject.sample(i), kept.restored[p], subject.pictures.high)
        description = f"{name}, as it is and mapped back"
        pictures.append(subject.pictures.picture(both, description, [name, share]))
    return pictures


def _table(subject: Subject, kept: Reconstruction) -> Table:
    y = subject.y[kept.rows]
    rows = [
        [str(label), number(int((y == label).sum())), percent(kept.share(y == label))]
        for label in sorted(np.unique(y), key=lambda label: natural_key(str(label)))
    ]
    return Table(
        "Share of the scatter about the mean of all, in percent.",
        ["Class", "Samples", "Kept"],
        rows,
    )

"""Synthetic sets: one whose mode subspaces are known, and one like recordings of the brain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenfold.datasets.tensor_dataset import TensorDataset
from tenfold.linalg.algebra import reconstruct


@dataclass(frozen=True, repr=False, eq=False)
class SyntheticTensors(TensorDataset):
    """A `TensorDataset` that knows how it was made.

    Parameters
    ----------
    subspaces : tuple of ndarray of shape (I_k, r_k)
        Orthonormal bases of the mode subspaces the class means lie in.
    means : ndarray of shape (n_classes, I_1, ..., I_K)
        The class means before noise.
    """

    subspaces: tuple[np.ndarray, ...] = ()
    means: np.ndarray | None = None


def make_tensor_classes(
    n_samples: int = 300,
    *,
    sample_shape: Sequence[int] = (12, 10),
    ranks: Sequence[int] = (3, 2),
    n_classes: int = 3,
    separation: float = 3.0,
    noise: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> SyntheticTensors:
    """Gaussian classes whose means differ only inside known mode subspaces.

    A sample of class c is ``G_c x_1 W_1 ... x_K W_K`` plus white noise, ``W_k`` orthonormal.

    Parameters
    ----------
    n_samples : int, default=300
        Number of samples; class sizes differ by at most one.
    sample_shape : sequence of int, default=(12, 10)
        Shape of one sample.
    ranks : sequence of int, default=(3, 2)
        Dimension r_k of each mode subspace.
    n_classes : int, default=3
        Number of classes, labelled 0, 1, ...
    separation : float, default=3.0
        Standard deviation of the entries of the cores G_c.
    noise : float, default=1.0
        Standard deviation of the white noise.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    SyntheticTensors
        X (n_samples, I_1, ..., I_K), y (n_samples,), the true ``subspaces`` and ``means``.

    Examples
    --------
    >>> from tenfold.datasets import make_tensor_classes
    >>> make_tensor_classes(60, random_state=0)
    SyntheticTensors 'synthetic': 60 samples of 12x10 (float64), 3 classes
    """
    shape = tuple(sample_shape)
    ranks = tuple(ranks)
    if len(ranks) != len(shape) or not all(1 <= r <= n for r, n in zip(ranks, shape, strict=True)):
        raise ValueError(
            f"ranks {ranks} do not fit samples of shape {shape}; give one rank per mode, each from "
            "1 to the size of the mode"
        )
    if not 2 <= n_classes <= n_samples:
        raise ValueError(
            f"{n_classes} classes among {n_samples} samples; expected at least 2 classes, and a "
            "sample for each"
        )
    rng = np.random.default_rng(random_state)
    bases = [np.linalg.qr(rng.standard_normal((size, size)))[0] for size in shape]
    subspaces = tuple(Q[:, :rank] for Q, rank in zip(bases, ranks, strict=True))
    means = separation * reconstruct(rng.standard_normal((n_classes, *ranks)), subspaces)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    X = means[y] + noise * rng.standard_normal((n_samples, *shape))
    about = f"{n_classes} Gaussian classes that differ in mode subspaces of ranks {ranks}."
    return SyntheticTensors(X, y, None, "synthetic", about, subspaces=subspaces, means=means)


def make_trials(
    n_samples: int = 80,
    *,
    n_channels: int = 24,
    n_times: int = 60,
    n_classes: int = 4,
    amplitude: float = 0.4,
    random_state: int = 0,
    subject: int = 0,
) -> TensorDataset:
    """Simulated recordings of channels over time, as of a brain that answers to a stimulus.

    A trial is a response in noise. The response of a class is a pattern over channels times a wave
    over time, of a strength that varies from trial to trial. The noise is alike in neighbouring
    channels and changes slowly in time.

    Parameters
    ----------
    n_samples : int, default=80
        Number of trials; classes 0, 1, ... take turns.
    n_channels, n_times : int, default=24, 60
        Shape of a trial.
    n_classes : int, default=4
        Number of classes.
    amplitude : float, default=0.4
        Size of the response; the noise has a standard deviation of about 1.
    random_state : int, default=0
        Seed of the trials.
    subject : int, default=0
        Seed of the patterns and of the mixing of channels; trials to train and to test on share it.

    Returns
    -------
    TensorDataset
        X (n_samples, n_channels, n_times), modes "channel" and "time".

    Examples
    --------
    >>> from tenfold.datasets import make_trials
    >>> make_trials(80)
    TensorDataset 'trials': 80 samples of 24x60 (float64), 4 classes
    """
    of_subject = np.random.default_rng(subject)
    rng = np.random.default_rng([random_state, subject])
    mixing = of_subject.normal(size=(n_channels, n_channels)) / np.sqrt(n_channels)
    patterns = of_subject.normal(size=(n_classes, n_channels))
    time = np.linspace(0, 1, n_times)
    peaks = np.linspace(0.3, 0.7, n_classes)
    waves = np.exp(-(((time - peaks[:, None]) / 0.12) ** 2))
    y = np.arange(n_samples) % n_classes
    noise = rng.normal(size=(n_samples, n_channels, n_times))
    for t in range(1, n_times):
        noise[..., t] = 0.9 * noise[..., t - 1] + np.sqrt(1 - 0.9**2) * noise[..., t]
    strength = amplitude * rng.uniform(0.5, 1.5, (n_samples, 1, 1))
    X = mixing @ noise + strength * patterns[y][:, :, None] * waves[y][:, None, :]
    about = f"Simulated responses of {n_classes} kinds in {n_channels} channels over time."
    return TensorDataset(X, y, None, "trials", about, ("channel", "time"))

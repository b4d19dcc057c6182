"""Seeded splits of a face set, stratified by person."""

from __future__ import annotations

import numpy as np


def stratified_split(
    y: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of training and test images, each person cut in the same share.

    Where a person's share is not a whole number of images, it is rounded up or down at random,
    so that the share is right on average. Every person keeps at least one image on each side.

    Parameters
    ----------
    y : ndarray of shape (n,)
        The person of each image.
    share : float
        The share of images for training.
    rng : numpy Generator
        The dice.

    Returns
    -------
    train, test : ndarrays of ints
        Positions, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.experiments.splits import stratified_split
    >>> y = np.repeat(["s1", "s2"], 10)
    >>> train, test = stratified_split(y, 0.2, np.random.default_rng(0))
    >>> y[train].tolist()
    ['s1', 's1', 's2', 's2']
    """
    train = []
    for person in np.unique(y):
        images = rng.permutation(np.flatnonzero(y == person))
        wanted = share * len(images)
        n_train = int(wanted) + (rng.random() < wanted - int(wanted) - 1e-9)
        train.append(images[: min(max(n_train, 1), len(images) - 1)])
    chosen = np.sort(np.concatenate(train))
    return chosen, np.setdiff1d(np.arange(len(y)), chosen)


def inner_folds(
    y: np.ndarray, n_folds: int, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Stratified folds of the training images, or none when a person has a single image.

    Parameters
    ----------
    y : ndarray of shape (n,)
        The person of each training image.
    n_folds : int
        Folds at most; no more than the images of the person with fewest.
    rng : numpy Generator
        The dice.

    Returns
    -------
    list of (train, validation)
        Positions in y; every person is on both sides of every fold.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.experiments.splits import inner_folds
    >>> rng = np.random.default_rng(0)
    >>> len(inner_folds(np.repeat([1, 2], 5), 3, rng)), inner_folds(np.array([1, 2]), 3, rng)
    (3, [])
    """
    persons, counts = np.unique(y, return_counts=True)
    n_folds = min(n_folds, int(counts.min()))
    if n_folds < 2:
        return []
    fold_of = np.empty(len(y), dtype=int)
    for person in persons:
        images = rng.permutation(np.flatnonzero(y == person))
        fold_of[images] = np.arange(len(images)) % n_folds
    return [
        (np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold))
        for fold in range(n_folds)
    ]

"""Features of samples: the numbers that a fitted model works with."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.decisions.members import answer_of, unwrap
from tenfold.decisions.scores import in_blocks
from tenfold.mathematics.algebra import Array
from tenfold.validation import samples as check


def features_of(estimator: Any, X: Any) -> tuple[list[str], Array]:
    """The features of samples and their names, for models of every kind.

    Parameters
    ----------
    estimator : fitted estimator
        A projector, verifier, bank or `ProbabilisticLDA`, or a search or pipeline over one.
    X : array-like or store of shape (n, I_1, ..., I_K)
        The samples; what does not fit into memory is read in blocks.

    Returns
    -------
    names : list of d str
        What each feature is called.
    features : ndarray of shape (n, d)
        Of a projector or verifier the projected samples, of `ProbabilisticLDA` the coordinates in
        which it compares classes, of a bank the distances from the class means.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MPCA
    >>> from tenfold.decisions.features import features_of
    >>> X = load_digits().images
    >>> names, features = features_of(MPCA((2, 2)).fit(X), X)
    >>> names, features.shape
    (['mpca_0_0', 'mpca_0_1', 'mpca_1_0', 'mpca_1_1'], (1797, 4))
    """
    model, prepare = unwrap(estimator)
    answer = answer_of(model)
    if answer == "class":
        names = [f"distance {label}" for label in model.classes_.tolist()]
        return names, in_blocks(lambda block: model.distances(prepare(block)), X)
    if answer == "probability":
        names = [f"coordinate {k}" for k in range(len(model.between_))]
        found = in_blocks(lambda block: _coordinates(model, prepare(block)), X)
        return names, found
    (projector,) = model.members_
    found = in_blocks(lambda block: np.asarray(projector.transform(prepare(block))), X)
    return _mode_names(projector), found.reshape(len(found), -1)


def _coordinates(model: Any, X: Any) -> Array:
    return np.asarray(model.coordinates()(np.asarray(check.check_samples(model, X))))


def _mode_names(projector: Any) -> list[str]:
    """One name per number of a projected sample, by its column in every mode."""
    word = type(projector).__name__.lower()
    return ["_".join([word, *map(str, place)]) for place in np.ndindex(*projector.ranks_)]

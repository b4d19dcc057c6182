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
    >>> names[:2], features.shape
    (['mpca_mode0_0_mode1_0', 'mpca_mode0_0_mode1_1'], (1797, 4))
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
    return projector.get_feature_names_out().tolist(), found.reshape(len(found), -1)


def _coordinates(model: Any, X: Any) -> Array:
    return np.asarray(model.coordinates()(np.asarray(check.check_samples(model, X))))

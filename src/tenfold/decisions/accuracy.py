"""The accuracy of classifiers whose samples may be arrays of other libraries."""

from __future__ import annotations

from typing import Any

from sklearn.metrics import accuracy_score

from tenfold.mathematics.algebra import to_numpy
from tenfold.validation.samples import in_numpy


class AccuracyScore:
    """`score` of scikit-learn's classifiers, for any arrays; it stands before their mixin."""

    predict: Any

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of samples whose class is predicted.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Sample weights.

        Returns
        -------
        float
            Between 0 and 1.
        """
        labels, weight = in_numpy(y, "y"), in_numpy(sample_weight, "sample_weight")
        predicted = to_numpy(self.predict(X))
        return float(accuracy_score(labels, predicted, sample_weight=weight))

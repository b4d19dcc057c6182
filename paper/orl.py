"""The ORL (AT&T) faces of the paper's Table 1."""

from __future__ import annotations

import os
from typing import Literal

import numpy as np
from sklearn.datasets import fetch_olivetti_faces

from paper.locations import data_directory, not_found
from tenfold.datasets.images import read_image, resize_images
from tenfold.datasets.tensor_dataset import TensorDataset

_ORIGIN = (
    "The set is the Database of Faces of AT&T Laboratories Cambridge, formerly ORL: 40 folders s1 "
    "to s40 of 10 PGM images each, unpacked into a folder orl. It is free, with credit."
)
_PERSONS, _IMAGES, _SHAPE = 40, 10, (112, 92)


def load_orl(
    data: str | os.PathLike[str] | None = None,
    *,
    shape: tuple[int, int] | None = (40, 30),
    source: Literal["folder", "olivetti"] = "folder",
) -> TensorDataset:
    """The ORL (AT&T) faces: 40 persons, 10 images each.

    Parameters
    ----------
    data : path or None, default=None
        Directory that holds ``orl/s1/1.pgm`` or ``s1/1.pgm``; None takes the environment variable
        ``TENFOLD_DATA``. With ``source="olivetti"``, scikit-learn's data home (None: its default).
    shape : (height, width) or None, default=(40, 30)
        Size to bring the images to, with anti-aliasing. None keeps the original: 112x92, or 64x64
        for the Olivetti copy.
    source : {"folder", "olivetti"}, default="folder"
        "olivetti" reads the copy that ``sklearn.datasets.fetch_olivetti_faces`` has already
        downloaded; nothing is downloaded here.

    Returns
    -------
    TensorDataset
        X of shape (400, 40, 30) in [0, 1], y "s1" to "s40". Person i of the Olivetti copy, counted
        from 1, is called "s<i>".

    Examples
    --------
    >>> from paper.orl import load_orl
    >>> load_orl("faces")                                            # doctest: +SKIP
    TensorDataset 'orl': 400 samples of 40x30 (float64), 40 classes
    """
    if source == "olivetti":
        images, files = _read_olivetti(data), None
    elif source == "folder":
        images, files = _read_orl_folder(data)
    else:
        raise ValueError(f'source is {source!r}; expected "folder" or "olivetti"')
    original = f"{images.shape[1]}x{images.shape[2]}"
    return TensorDataset(
        images if shape is None else resize_images(images, shape),
        np.repeat([f"s{person}" for person in range(1, _PERSONS + 1)], _IMAGES),
        name="orl",
        description=f"ORL (AT&T) faces, Samaria and Harter 1994; originals of {original} pixels.",
        mode_names=("row", "column"),
        sample_info={} if files is None else {"file": np.array(files)},
    )


def _read_orl_folder(data: str | os.PathLike[str] | None) -> tuple[np.ndarray, list[str]]:
    """Images (400, 112, 92) and their names."""
    place = data_directory(data, "the ORL faces")
    names = [f"s{p}/{i}.pgm" for p in range(1, _PERSONS + 1) for i in range(1, _IMAGES + 1)]
    root = next((r for r in (place / "orl", place) if (r / "s1").is_dir()), None)
    if root is None:
        raise not_found("The ORL faces", ["orl/s1/1.pgm", "s1/1.pgm"], place, _ORIGIN)
    images = np.empty((len(names), *_SHAPE))
    for position, name in enumerate(names):
        if not (root / name).is_file():
            raise not_found("One of the 400 ORL images was", [name], root, _ORIGIN)
        pixels = read_image(root / name)
        if pixels.shape != _SHAPE:
            raise ValueError(
                f"{root / name} has {pixels.shape[0]}x{pixels.shape[1]} pixels, but ORL images "
                "have 112x92; restore the original, or read other images with load_image_folder"
            )
        images[position] = pixels
    return images, names


def _read_olivetti(data: str | os.PathLike[str] | None) -> np.ndarray:
    """Images (400, 64, 64), persons in order."""
    home = None if data is None else os.fspath(data)
    try:
        faces = fetch_olivetti_faces(data_home=home, download_if_missing=False)
    except OSError as error:
        raise FileNotFoundError(
            f"scikit-learn has no Olivetti faces in {home or 'its default data home'}; run "
            "sklearn.datasets.fetch_olivetti_faces() once, which downloads them"
        ) from error
    return np.asarray(faces.images[np.argsort(faces.target, kind="stable")], dtype=np.float64)

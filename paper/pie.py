"""The CMU PIE faces of the paper's Table 2."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from paper.locations import data_directory, not_found
from tenfold.datasets import TensorDataset, load, resize_images
from tenfold.datasets.locations import natural_key

_ORIGIN = (
    "CMU PIE is licensed by Carnegie Mellon University; cropped 32x32 copies circulate as "
    "PIE05.mat ... PIE29.mat or PIE_32x32.mat with arrays fea and gnd. Put one into a folder pie."
)
PIE_STAND_INS = tuple(range(60, 69))
"""Labels 60 to 68, which stand in for the paper's nine individuals of CMU PIE: the usual copies
number the persons 1 to 68, and those numbers are not the identifiers the paper cites."""


def load_pie(
    data: str | os.PathLike[str] | None = None,
    *,
    persons: Iterable[int] | None = None,
    shape: tuple[int, int] | None = (40, 30),
) -> TensorDataset:
    """CMU PIE faces, in the forms people have them.

    Looked for in this order: a file given as `data`; in ``pie`` below the directory or in the
    directory itself, ``pie*.npz`` (arrays X and y), ``PIE*.mat`` (``fea`` with one column-major
    image per row, ``gnd``; several files, one per pose, are joined), or an image folder with one
    subfolder per person.

    The usual copies number the persons 1 to 68. These are not CMU's identifiers, so the nine
    individuals of the paper cannot be picked out: `PIE_STAND_INS`, labels 60 to 68, stand in.

    Parameters
    ----------
    data : path or None, default=None
        Directory or file; None takes the environment variable ``TENFOLD_DATA``.
    persons : iterable of int or None, default=None
        Labels to keep; None keeps everyone.
    shape : (height, width) or None, default=(40, 30)
        Size to bring the images to, with anti-aliasing; None keeps the original.

    Returns
    -------
    TensorDataset
        X of shape (n, 40, 30) in [0, 1], y the person, groups the pose where it is known.

    Examples
    --------
    >>> from paper.pie import PIE_STAND_INS, load_pie
    >>> load_pie("faces", persons=PIE_STAND_INS)                     # doctest: +SKIP
    TensorDataset 'pie': 1530 samples of 40x30 (float64), 9 classes
    """
    images, labels, poses = _read_pie(data_directory(data, "the CMU PIE faces"))
    if persons is not None:
        wanted = np.array(sorted(set(persons)), dtype=labels.dtype)
        absent = np.setdiff1d(wanted, labels)
        if len(absent):
            raise ValueError(
                f"PIE has no persons {absent.tolist()}; the labels at hand go from {labels.min()} "
                f"to {labels.max()}"
            )
        keep = np.isin(labels, wanted)
        images, labels = images[keep], labels[keep]
        poses = None if poses is None else poses[keep]
    images = _unit_range(images)
    return TensorDataset(
        images if shape is None else resize_images(images, shape),
        labels,
        groups=poses,
        name="pie",
        description="CMU Pose, Illumination, and Expression faces. Labels are those of the copy, "
        "not CMU's identifiers: 60 to 68 stand in for the individuals of the paper.",
        mode_names=("row", "column"),
    )


def _read_pie(place: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Images (n, H, W) as stored, labels (n,), poses (n,) where known."""
    if place.is_file():
        return _read_pie_files([place])
    for folder in (place / "pie", place):
        if not folder.is_dir():
            continue
        for suffix in (".npz", ".mat"):
            found = [
                file
                for file in folder.iterdir()
                if file.suffix.lower() == suffix and file.name.lower().startswith("pie")
            ]
            if found:
                return _read_pie_files(sorted(found, key=lambda file: natural_key(file.name)))
        if folder != place and any(child.is_dir() for child in folder.iterdir()):
            return _read_pie_folder(folder)
    names = ["pie/pie*.npz", "pie/PIE*.mat", "pie/<person>/<image>"]
    raise not_found("The CMU PIE faces", names, place, _ORIGIN)


def _read_pie_files(files: list[Path]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    parts = [_read_pie_file(file) for file in files]
    shapes = {images.shape[1:] for images, _, _ in parts}
    if len(shapes) > 1:
        raise ValueError(
            f"the PIE files {', '.join(file.name for file in files)} in {files[0].parent} hold "
            f"images of different sizes {sorted(shapes)}; keep one size, or pass one file as data"
        )
    images, labels, poses = zip(*parts, strict=True)
    known = all(pose is not None for pose in poses)
    return np.concatenate(images), np.concatenate(labels), np.concatenate(poses) if known else None


def _read_pie_file(file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    if file.suffix.lower() == ".npz":
        stored = load(file, key="X", labels="y")
        pose = stored.sample_info.get("pose")
    elif file.suffix.lower() == ".mat":
        stored = load(file, key="fea", labels="gnd")
        pose = _pose_in_name(file, len(stored))
    else:
        raise ValueError(
            f"{file} is not a .npz or .mat file; those are the forms of PIE understood"
        )
    images = np.asarray(stored.X)
    if images.ndim == 2:
        side = round(images.shape[1] ** 0.5)
        if side * side != images.shape[1]:
            raise ValueError(
                f"{file}: rows of {images.shape[1]} numbers are not square images; expected "
                "(n, 1024), one column-major 32x32 image per row"
            )
        images = images.reshape(-1, side, side).transpose(0, 2, 1)
    if images.ndim != 3:
        raise ValueError(f"{file}: images have shape {images.shape}; expected (n, H, W)")
    return images, np.asarray(stored.y).astype(np.int64), pose


def _read_pie_folder(folder: Path) -> tuple[np.ndarray, np.ndarray, None]:
    stored = load(folder, classes_from="first")
    numbers = {name: "".join(filter(str.isdecimal, name)) for name in stored.classes}
    for name, number in numbers.items():
        if not number:
            raise ValueError(
                f"{folder / name} has no number in its name; name PIE folders by person: 1 to 68"
            )
    return stored.X, np.array([int(numbers[name]) for name in stored.y]), None


def _pose_in_name(file: Path, n_samples: int) -> np.ndarray | None:
    """Pose from a name like PIE05.mat; PIE_32x32.mat has none."""
    digits = file.stem[3:]
    return np.full(n_samples, int(digits)) if digits.isdecimal() else None


def _unit_range(images: np.ndarray) -> np.ndarray:
    """Pixels in [0, 1]; whole numbers, and any set with values above 1, are read as 0 to 255."""
    if images.dtype.kind in "iu" or images.max() > 1.0:
        return images / 255.0
    return images.astype(np.float64, copy=False)

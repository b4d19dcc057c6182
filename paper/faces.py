"""Tables 1 and 2: face verification on ORL and CMU PIE."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from paper.experiment import Cell
from paper.face_models import Candidate, FaceMethod, map_of_candidates
from paper.hog import with_hog
from paper.orl import load_orl
from paper.pie import PIE_STAND_INS, load_pie

SHARES = (0.1, 0.2, 0.25, 0.35, 0.5)
DIGITS = 6  # of a result in percent; what is beyond is rounding of the machine


@dataclass(frozen=True)
class FaceRow:
    """One row of a face table.

    Parameters
    ----------
    name : str
        As the table shows it.
    method : {"CSDA", "MDA", "MCSDA", "pixels"}
        What is learned.
    images : {"pixels", "hog", "unit hog", "original"}
        What it is learned from: images of 40x30, those stacked with their HOG images as drawn or
        scaled to [0, 1], or images of the original size.
    shrinkage : tuple of float or "auto"
        Shrinkages to choose from.
    ranks : tuple of int or None
        Ranks to choose from, where they are not those of the whole table.
    splits : int or None
        Splits, where there are fewer than for the whole table.
    per_sample : bool
        Whether lambda is added to scatters per sample, or to their sums; see `FaceMethod`.
    """

    name: str
    method: str
    images: str = "pixels"
    shrinkage: tuple[float | str, ...] = (0.0,)
    ranks: tuple[int, ...] | None = None
    splits: int | None = None
    per_sample: bool = True


PAPER_ROWS = tuple(
    FaceRow(method + suffix, method, images)
    for suffix, images in (("", "pixels"), ("-H", "hog"))
    for method in ("CSDA", "MDA", "MCSDA")
)
SHRUNK = (0.25, 0.5, 0.75, "auto")
BEYOND_ROWS = (
    FaceRow("CSDA, shrinkage", "CSDA", shrinkage=SHRUNK),
    FaceRow("MCSDA, shrinkage", "MCSDA", shrinkage=(0.5, "auto"), ranks=tuple(range(4, 21, 2))),
    FaceRow("CSDA-H, HOG in [0, 1]", "CSDA", "unit hog", shrinkage=(0.0, *SHRUNK)),
    FaceRow("MDA-H, HOG in [0, 1]", "MDA", "unit hog", ranks=(6, 10, 14, 18)),
    FaceRow("MCSDA-H, HOG in [0, 1]", "MCSDA", "unit hog", ranks=(6, 10, 14, 18)),
    FaceRow("MDA, lambda on the sum", "MDA", ranks=(6, 10, 14, 20), per_sample=False),
    FaceRow("CSDA, original size", "CSDA", "original"),
    FaceRow("MDA, original size", "MDA", "original", ranks=(10,), splits=1),
    FaceRow("MCSDA, original size", "MCSDA", "original", ranks=(10,), splits=1),
    FaceRow("pixel distance", "pixels"),
)


@dataclass(frozen=True)
class FaceSettings:
    """Everything that decides the figures of a face table, beside the images themselves."""

    experiment: str
    seed: int = 0
    quick: bool = False
    shares: tuple[float, ...] = SHARES
    n_splits: int = 5
    ranks: tuple[int, ...] = tuple(range(2, 21))
    dimensions: tuple[int, ...] = tuple(r * r for r in range(2, 28))
    rows: tuple[FaceRow, ...] = PAPER_ROWS + BEYOND_ROWS
    ridge: float = 0.01
    max_iter: int = 20
    tol: float = 0.0
    inner_folds: int = 2
    inner_max_iter: int = 5
    rank_without_folds: int = 7

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON types."""
        return asdict(self)


def face_settings(experiment: str, seed: int, quick: bool) -> FaceSettings:
    """The protocol of a face table, or a small version that has every row."""
    rows = PAPER_ROWS + BEYOND_ROWS
    if quick:
        return FaceSettings(
            experiment,
            seed,
            quick=True,
            shares=(0.1, 0.5) if experiment == "orl" else (0.1, 0.2),
            n_splits=1,
            ranks=(5, 10),
            dimensions=(25, 100, 729),
            rows=tuple(
                replace(row, shrinkage=row.shrinkage[-1:], ranks=row.ranks and (10,), splits=1)
                for row in rows
            ),
            max_iter=5,
            inner_max_iter=2,
        )
    if experiment == "pie":  # up to 765 images: every further shrinkage of CSDA takes minutes
        rows = tuple(replace(row, shrinkage=row.shrinkage[:: len(row.shrinkage) - 1 or 1])
                     for row in rows)  # fmt: skip
    return FaceSettings(experiment, seed, rows=rows)


def face_cells(settings: FaceSettings, data: str) -> list[Cell]:
    """One cell per row, share and split."""
    cost = {"CSDA": 0.5, "pixels": 0.2}
    return [
        Cell(
            cell_name(row, share, split),
            face_cell,
            (settings, data, row, share, split),
            weight=cost.get(row.method, 8.0 if row.images != "original" else 25.0),
        )
        for share in settings.shares
        for split in range(settings.n_splits)
        for row in settings.rows
        if split < (row.splits or settings.n_splits)
    ]


def cell_name(row: FaceRow, share: float, split: int) -> str:
    """The name of a cell in the ledger."""
    return f"{row.name} | k={share} | split {split + 1}"


def face_cell(
    settings: FaceSettings, data: str, row: FaceRow, share: float, split: int
) -> dict[str, Any]:
    """Test mAP of every candidate, and what the training images alone say about them.

    Returns
    -------
    dict
        ``ranks`` and ``shrinkages`` of the R candidates; ``test`` their mAP on the test images;
        ``inner`` their mean mAP over folds of the training images, None where a person has a
        single one or there is nothing to choose; ``selected`` the position that is chosen
        without a look at the test images.
    """
    X, y = face_images(settings.experiment, data, row.images)
    # Not the row: all rows see the same splits.
    rng = np.random.default_rng([settings.seed, round(1000 * share), split])
    train, test = stratified_split(y, share, rng)
    folds = inner_folds(y[train], settings.inner_folds, rng)
    options = candidates_of(settings, row)
    method = FaceMethod(row.method, settings.ridge, settings.max_iter, settings.tol, row.per_sample)
    on_test = map_of_candidates(method, options, (X[train], y[train]), (X[test], y[test]))
    inner = None
    if folds and len(options) > 1:
        quicker = replace(method, max_iter=settings.inner_max_iter)
        parts = [((X[train[a]], y[train[a]]), (X[train[b]], y[train[b]])) for a, b in folds]
        inner = np.mean([map_of_candidates(quicker, options, *part) for part in parts], axis=0)
    return {
        "ranks": [option.rank for option in options],
        "shrinkages": [option.shrinkage for option in options],
        "test": np.round(on_test, DIGITS).tolist(),
        "inner": None if inner is None else np.round(inner, DIGITS).tolist(),
        "selected": _selected(settings, row, options, inner),
    }


def candidates_of(settings: FaceSettings, row: FaceRow) -> list[Candidate]:
    """All pairs of rank and shrinkage that a row chooses from."""
    if row.method == "pixels":
        return [Candidate(0)]
    own = settings.dimensions if row.method == "CSDA" else row.ranks or settings.ranks
    return [Candidate(rank, shrinkage) for shrinkage in row.shrinkage for rank in own]


def _selected(
    settings: FaceSettings, row: FaceRow, options: list[Candidate], inner: np.ndarray | None
) -> int:
    """The best on the inner folds. With one image per person nothing can be held out.

    Then CSDA keeps all dimensions and the others the square root of the image height, with the
    last of the shrinkages.
    """
    if inner is not None:
        return int(np.argmax(np.round(inner, DIGITS)))
    ranks = np.array([option.rank for option in options])
    wanted = ranks.max() if row.method == "CSDA" else settings.rank_without_folds
    return int(np.flatnonzero(np.abs(ranks - wanted) == np.abs(ranks - wanted).min())[-1])


def stratified_split(
    y: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of training and test images, each person cut in the same share.

    Where a person's share is not a whole number of images, it is rounded up or down at random,
    so that the share is right on average. Every person keeps at least one image on each side.

    `y` (n,) is the person of each image, `share` that of the images for training.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.faces import stratified_split
    >>> y = np.repeat(["s1", "s2"], 10)
    >>> train, test = stratified_split(y, 0.2, np.random.default_rng(0))
    >>> y[train].tolist()
    ['s1', 's1', 's2', 's2']
    """
    train = []
    for person in np.unique(y):
        images = rng.permutation(np.flatnonzero(y == person))
        wanted = share * len(images)
        n_train = int(wanted) + (rng.random() < wanted - int(wanted) - 1e-9)
        train.append(images[: min(max(n_train, 1), len(images) - 1)])
    chosen = np.sort(np.concatenate(train))
    return chosen, np.setdiff1d(np.arange(len(y)), chosen)


def inner_folds(
    y: np.ndarray, n_folds: int, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Stratified folds of the training images, or none when a person has a single image.

    At most `n_folds`, and no more than the images of the person with fewest. Positions in `y`, for
    training and for validation; every person is on both sides of every fold.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.faces import inner_folds
    >>> rng = np.random.default_rng(0)
    >>> len(inner_folds(np.repeat([1, 2], 5), 3, rng)), inner_folds(np.array([1, 2]), 3, rng)
    (3, [])
    """
    persons, counts = np.unique(y, return_counts=True)
    n_folds = min(n_folds, int(counts.min()))
    if n_folds < 2:
        return []
    fold_of = np.empty(len(y), dtype=int)
    for person in persons:
        images = rng.permutation(np.flatnonzero(y == person))
        fold_of[images] = np.arange(len(images)) % n_folds
    return [
        (np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold))
        for fold in range(n_folds)
    ]


@lru_cache(maxsize=8)
def face_images(experiment: str, data: str, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, I_1, I_2) or (n, I_1, I_2, 2) and their persons."""
    shape = None if kind == "original" else (40, 30)
    if experiment == "orl":
        faces = load_orl(data, shape=shape)
    else:
        faces = load_pie(data, persons=PIE_STAND_INS, shape=shape)
    X = np.asarray(faces.X, dtype=np.float64)
    if "hog" in kind:
        X = with_hog(X, unit=kind == "unit hog")
    return X, np.asarray(faces.y)


def face_fingerprint(experiment: str, data: str) -> str:
    """Short hash of the images and labels, so that a run is not continued on other data."""
    X, y = face_images(experiment, data, "pixels")
    return hashlib.sha256(X.tobytes() + np.asarray(y, dtype=str).tobytes()).hexdigest()[:16]

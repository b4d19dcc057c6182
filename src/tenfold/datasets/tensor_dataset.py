"""The value every loader returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from tenfold.datasets.locations import natural_key


class Samples(Protocol):
    """Samples in memory or on disk: a shape, a type of numbers, and slices along axis 0."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (n, I_1, ..., I_K)."""

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""

    def __getitem__(self, rows: slice, /) -> object: ...


@dataclass(frozen=True, repr=False, eq=False)
class TensorDataset:
    """Labelled tensors, with what is known about them.

    Unpacks into samples and labels: ``X, y = load_digits_tensor()``.

    Parameters
    ----------
    X : array of shape (n, I_1, ..., I_K)
        The samples. A NumPy array, or anything with ``shape``, ``dtype`` and slicing along
        axis 0: a memory map, a Zarr array, `SegmentedWindows`.
    y : ndarray of shape (n,) or None
        One label per sample; None for samples that are only to be scored.
    groups : ndarray of shape (n,) or None, default=None
        What must not be split between training and test: the day, the camera.
    name : str, default="data"
        A short name for tables and plots.
    description : str, default=""
        Where the samples come from and what was done to them.
    mode_names : tuple of str, default=()
        What each of the K modes counts, such as ``("row", "column")``.
    sample_info : mapping of str to ndarray of shape (n,), default={}
        Further facts per sample, such as the file or the stock.
    notes : tuple of str, default=()
        What the loader chose without being asked, in sentences; worth showing to a person.
    rows : ndarray of shape (n,) or None, default=None
        The row numbers of these samples in their file, where `select` took some of them; None means
        0 to n - 1.
    reading : mapping of str to values, default={}
        How the samples were read, as options of `tenfold.datasets.load`. The command line stores
        it with a model, and reads later samples in the same way.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.datasets import TensorDataset
    >>> data = TensorDataset(np.zeros((6, 4, 3)), np.array([0, 0, 0, 1, 1, 1]), name="toy")
    >>> data
    TensorDataset 'toy': 6 samples of 4x3 (float64), 2 classes
    >>> data.sample_shape
    (4, 3)
    >>> X, y = data
    """

    X: Any  # whatever is sliced along axis 0; a user's type checker should take it for an array
    y: np.ndarray | None
    groups: np.ndarray | None = None
    name: str = "data"
    description: str = ""
    mode_names: tuple[str, ...] = ()
    sample_info: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rows: np.ndarray | None = None
    reading: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_samples = self.X.shape[0]
        per_sample = {"labels": self.y, "groups": self.groups, "rows": self.rows}
        per_sample |= self.sample_info
        for what, values in per_sample.items():
            if values is not None and np.shape(values) != (n_samples,):
                raise ValueError(
                    f"{self.name}: {what} have shape {np.shape(values)}, but there are {n_samples} "
                    f"samples (X has shape {tuple(self.X.shape)}); give one value per sample"
                )
        if self.mode_names and len(self.mode_names) != len(self.sample_shape):
            raise ValueError(
                f"{self.name}: {len(self.mode_names)} mode names {self.mode_names} for samples of "
                f"shape {self.sample_shape}; give one name per mode"
            )

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.sample_shape)) or "1"
        labels = "no labels" if self.y is None else f"{len(self.classes)} classes"
        return (
            f"{type(self).__name__} {self.name!r}: {len(self)} samples of {shape} "
            f"({self.X.dtype}), {labels}"
        )

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape (I_1, ..., I_K) of one sample."""
        return tuple(self.X.shape[1:])

    @property
    def classes(self) -> np.ndarray:
        """The distinct labels, sorted."""
        return np.unique(np.asarray([] if self.y is None else self.y))

    @property
    def class_counts(self) -> dict[str, int]:
        """How many samples every class has, by its label as text, in natural order."""
        labels, counts = np.unique(np.asarray([] if self.y is None else self.y), return_counts=True)
        found = zip(map(str, labels.tolist()), counts.tolist(), strict=True)
        return dict(sorted(found, key=lambda one: natural_key(one[0])))

    @property
    def row_numbers(self) -> np.ndarray:
        """Row number of every sample in its file, counted from 0, shape (n,)."""
        return np.arange(len(self)) if self.rows is None else self.rows

    @property
    def sample_names(self) -> np.ndarray:
        """What to call every sample: its file, or its row number in the file; shape (n,)."""
        return np.asarray(self.sample_info.get("file", self.row_numbers))

    @property
    def is_held_out(self) -> np.ndarray:
        """Which samples to keep for a test, shape (n,): the last quarter of every class.

        The order is that of the file, so that near copies, which follow one another there, are on
        one side. Samples of one of the `groups` are on one side, too. A class of one sample is
        for training.
        """
        y = np.zeros(len(self), dtype=int) if self.y is None else self.y
        held_out = np.zeros(len(self), dtype=bool)
        if self.groups is not None:
            from sklearn.model_selection import StratifiedGroupKFold

            n_folds = min(4, len(np.unique(self.groups)))
            if n_folds < 2:
                raise ValueError(f"{self.name}: all samples are of one group; none can be held out")
            folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=0)
            tests = [test for _, test in folds.split(y, y, self.groups)]
            nearest = min(tests, key=lambda test: abs(len(test) - len(self) / 4))
            held_out[nearest] = True
            return held_out
        for label in np.unique(y):
            own = np.flatnonzero(y == label)
            held_out[own[len(own) - (len(own) + 2) // 4 :]] = True
        return held_out

    def select(self, rows: np.ndarray | slice) -> TensorDataset:
        """Keep some samples.

        Parameters
        ----------
        rows : slice, int array or bool array of shape (n,)
            Which samples, in the order wanted.

        Returns
        -------
        TensorDataset
            The chosen samples with their labels, groups, facts and row numbers. Samples that are
            on disk stay there, and the chosen ones are read when they are used.

        Examples
        --------
        >>> from tenfold.datasets import load_digits_tensor
        >>> digits = load_digits_tensor()
        >>> digits.select(digits.y < 2)
        TensorDataset 'digits': 360 samples of 8x8 (float64), 2 classes
        """
        return replace(
            self,
            X=_chosen_samples(self.X, rows),
            y=None if self.y is None else self.y[rows],
            groups=None if self.groups is None else self.groups[rows],
            sample_info={key: values[rows] for key, values in self.sample_info.items()},
            rows=self.row_numbers[rows],
        )


def _chosen_samples(X: Any, rows: np.ndarray | slice) -> object:
    """Some of the samples: a view, a copy, or a store that reads them when they are asked for."""
    from tenfold.statistics.stores import MappedStore, StoredSamples, is_stored
    from tenfold.validation.absent_chunks import absent_chunk

    if hasattr(X, "select"):  # SegmentedWindows need not become an array
        return X.select(rows)
    is_view = isinstance(X, np.memmap) and isinstance(rows, slice)
    if is_view or not is_stored(X):
        return X[rows]
    # Zarr and HDF5 each understand other kinds of index; StoredSamples reads slices only.
    samples = replace(StoredSamples.of(X, absent_chunk), gaps=True)
    return MappedStore(samples[rows], np.asarray)

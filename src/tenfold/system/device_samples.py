"""Samples that are an array of another library, perhaps on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.on_device import Place, class_moments, run, to_numpy
from tenfold.mathematics.stores import BlockWork, Source, T, folded


@dataclass(frozen=True, eq=False)
class DeviceSamples(Source):
    """Samples at a place: what grows with their number is done there, all else on the host.

    Parameters
    ----------
    array : array of shape (n, I_1, ..., I_K)
        Of another library.
    place : Place
        Its namespace and device.
    """

    array: Any
    place: Place

    is_array = True

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape (n, I_1, ..., I_K)."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """Type of the numbers, by NumPy's name."""
        return np.dtype(str(self.array.dtype).rpartition(".")[2])

    @cached_property
    def on_host(self) -> Array:
        """The samples in NumPy's memory, moved there once."""
        return to_numpy(self.array)

    def __getitem__(self, rows: slice | Array) -> DeviceSamples:
        where = np.arange(len(self))[rows].astype(np.int64)
        xp = self.place.xp
        return replace(self, array=xp.take(self.array, self.place.put(where), axis=0))

    def reshape(self, n: int, *sample_shape: int) -> DeviceSamples:
        """The same samples in another shape; -1 stands for all their numbers."""
        shape = (n, *folded(self.shape[1:], sample_shape))
        return replace(self, array=self.place.xp.reshape(self.array, shape))

    def ends(self) -> Array:
        """One block: all of them."""
        return np.array([len(self)])

    def moments(self, y: Any, weight: Any, classes: Array) -> ClassMoments:
        """Class moments, on the device if it has float64 numbers."""
        if self.place.has_float64:
            return class_moments(self.array, self.place, y, weight, classes)
        return ClassMoments.from_batch(self.on_host, y, weight, classes=classes)

    def total(self, work: BlockWork[T], y: Any, weight: Any) -> T:
        """What `work` gives for the samples, on the host."""
        return work(self.on_host, y, weight)

    def rows(self, work: Callable[..., Array], column: Array | None = None) -> Any:
        """What `work` gives: on the device, or NumPy's where it has no way to run there."""
        if column is not None:
            return work(self.on_host, column)
        found = run(work, self.array, self.place)
        return work(self.on_host) if found is None else found

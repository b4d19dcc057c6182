"""Moments as files: `save` and `load` of `ClassMoments`.

The mathematics knows no files. Who calls these methods has asked for `tenfold.files`, which is
above, and only then is it looked up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Self, cast

FILES = "tenfold.files.moment_files"


class FiledMoments:
    """What class moments can do with files."""

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        reading: Mapping[str, Any] | None = None,
        mode_names: tuple[str, ...] = (),
        minimum_count: int | None = None,
        labelled: bool = True,
    ) -> None:
        """Write the moments to one safetensors file, which `ClassMoments.load` reads.

        The file holds arrays and a JSON header, no pickle, under a checksum; it is written whole
        or not at all. It says more of single samples than one may think: see the page "Several
        sites" of the user guide.

        Parameters
        ----------
        path : path-like
            Where to, such as "site1.safetensors"; an existing file is replaced.
        reading : mapping or None, default=None
            How the samples were read: ``data.reading`` of a `TensorDataset`. Moments of samples
            that were read otherwise are then refused as summands.
        mode_names : tuple of K str, default=()
            What the modes of a sample are called; moments with other names are refused as well.
        minimum_count : int or None, default=None
            Refuse to write moments of a class with fewer samples. Counts are sums of weights.
        labelled : bool, default=True
            False for samples without labels, so that they are not added to those of a class 0.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from tenfold import ClassMoments
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(40, 4, 3)), np.arange(40) % 2
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paths = [os.path.join(folder, f"site{i}.safetensors") for i in (1, 2)]
        ...     ClassMoments.from_batch(X[:30], y[:30]).save(paths[0], minimum_count=10)
        ...     ClassMoments.from_batch(X[30:], y[30:]).save(paths[1])
        ...     both = ClassMoments.load(*paths)
        >>> both.counts
        array([20., 20.])
        """
        import_module(FILES).save_moments(self, path, reading, mode_names, minimum_count, labelled)

    @classmethod
    def load(cls, *paths: str | os.PathLike[str]) -> Self:
        """The moments of one file, or the sum of those of several, if they are of like samples.

        Parameters
        ----------
        *paths : path-like
            Files that `save` or ``tenfold moments`` wrote. Classes may differ; shapes, names of
            modes and the way in which samples were read must not.

        Returns
        -------
        ClassMoments
            Of all samples together.

        Raises
        ------
        ModelFileError
            A `ValueError` that names the file and what is wrong with it.
        """
        return cast(Self, import_module(FILES).load_moments(*paths).of_kind(cls))

"""Writing a report: which page, and where to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets import TensorDataset
from tenfold.report.model_page import model_page
from tenfold.report.page import as_html
from tenfold.system.atomic_write import write_whole


def write_report(
    model: Any, data: Any, path: str | os.PathLike[str], *, title: str | None = None
) -> Path:
    """Write one self-contained HTML page about a fitted model.

    The page needs no network and no other file. It holds a summary, the plots of `tenfold.plots`,
    the learned directions, the hardest samples as pictures, every class in detail, and tables
    that can be sorted.

    Parameters
    ----------
    model : fitted estimator
        A projector, `ClassSpecificVerifier` or `ClassSpecificClassifier`, or a search or
        pipeline over one.
    data : TensorDataset or (X, y)
        The samples to test a model on, best those it was not fitted on. `MPCA` and the
        multi-class projectors give no scores; of them the page shows what their subspace keeps.
    path : path
        The file to write, usually ``something.html``. It is replaced as a whole or not at all.
    title : str or None, default=None
        None makes one from the method and the name of the data.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tenfold import MCSDA
    >>> from tenfold.datasets import load_digits_tensor
    >>> from tenfold.report import write_report
    >>> digits = load_digits_tensor()
    >>> mcsda = MCSDA(ranks=(4, 4), positive=3).fit(digits.X[:900], digits.y[:900])
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "three.html"
    >>> write_report(mcsda, digits.select(slice(900, None)), page).name
    'three.html'
    """
    page = model_page(model, _as_dataset(data), title)
    write_whole(path, as_html(page).encode())
    return Path(path)


def _as_dataset(data: Any) -> TensorDataset:
    if isinstance(data, TensorDataset):
        return data
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise TypeError(
            f"data is {type(data).__name__}; pass a TensorDataset, or samples and labels as (X, y)"
        )
    X, y = data
    return TensorDataset(
        X if hasattr(X, "shape") else np.asarray(X), None if y is None else np.asarray(y)
    )

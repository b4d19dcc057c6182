"""The page that compares tenfold with others: the code is asked for every yes and no of ours."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import tenfold
from tenfold import (
    CMDA,
    MCSDA,
    MPCA,
    ClassSpecificVerifier,
    GaussianImputer,
    ProbabilisticLDA,
)
from tenfold.files.onnx_export import to_onnx

PAGE = Path(__file__).parents[1] / "docs" / "comparison.md"
Y = np.arange(60) % 3
X = np.random.default_rng(0).normal(size=(60, 5, 4))
X += 2 * np.random.default_rng(1).normal(size=(3, 5, 4))[Y]


def are_public(*names):
    return all(inspect.isclass(getattr(tenfold, name, None)) for name in names)


def takes(function, parameter):
    return parameter in inspect.signature(function).parameters


def nothing_is_called(pattern):
    """No public name, and no parameter of a public class, says that there is such a thing."""
    names = set(tenfold.__all__)
    for name in tenfold.__all__:
        if hasattr(getattr(tenfold, name), "get_params"):
            names |= inspect.signature(getattr(tenfold, name)).parameters.keys()
    return not any(re.search(pattern, name) for name in names)


def any_order():
    rng = np.random.default_rng(2)
    return all(
        CMDA(ranks=1).fit(rng.normal(size=(9, *[3] * order)), Y[:9]).ranks_ == (1,) * order
        for order in (1, 2, 3, 4)
    )


def a_stream_is_exact():
    parts, whole = MCSDA(positive=1), MCSDA(positive=1).fit(X, Y)
    for rows in np.array_split(np.arange(len(Y)), 4):
        parts.partial_fit(X[rows], Y[rows], classes=[0, 1, 2])
    return np.allclose(parts.transform(X), whole.transform(X), atol=1e-8)


def forgets():
    ever = ProbabilisticLDA().partial_fit(X, Y, classes=[0, 1, 2]).partial_fit(-X, Y)
    late = ProbabilisticLDA().partial_fit(X, Y, classes=[0, 1, 2]).partial_fit(-X, Y, decay=1e-9)
    return late.score(-X, Y) > ever.score(-X, Y) + 0.3


def takes_gaps():
    holed = np.where(np.random.default_rng(3).random(X.shape) < 0.1, np.nan, X)
    return bool(np.isfinite(GaussianImputer().fit(holed).transform(holed)).all())


def takes_dask():
    array = pytest.importorskip("dask.array").from_array(X, chunks=(20, 5, 4))
    return np.allclose(CMDA().fit(array, Y).transform(X), CMDA().fit(X, Y).transform(X))


def takes_other_arrays():
    """In a process of its own: SciPy wants to know of other arrays before it is imported."""
    pytest.importorskip("array_api_strict")
    lines = (
        "import sklearn, array_api_strict as xp",
        "from tenfold import MPCA",
        "sklearn.set_config(array_api_dispatch=True)",
        "X = xp.reshape(xp.arange(60, dtype=xp.float64) ** 2, (10, 3, 2))",
        "assert isinstance(MPCA(ranks=1).fit(X).transform(X), type(X))",
    )
    words = [sys.executable, "-c", "\n".join(lines)]
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    run = subprocess.run(words, env=environment, capture_output=True, text=True)
    if "SciPy must be" in run.stderr:
        pytest.skip("this SciPy dispatches no arrays")
    return not run.returncode


def keeps_names_of_axes():
    xarray = pytest.importorskip("xarray")
    named = xarray.DataArray(X, dims=("trial", "channel", "time"))
    return CMDA().fit(named, Y).transform(named).dims[0] == "trial"


def saves_without_pickle(folder):
    path = folder / "model.safetensors"
    ProbabilisticLDA().fit(X, Y).save(path)
    return b"\x80\x04" not in path.read_bytes()[:2] and tenfold.load(path).score(X, Y) > 0.5


def exports(folder):
    pytest.importorskip("onnx")
    to_onnx(CMDA().fit(X, Y), folder / "model.onnx")
    return (folder / "model.onnx").stat().st_size > 0


def common_checks_pass():
    failed = check_estimator(CMDA(), on_fail=None, on_skip=None)
    return not [one for one in failed if one["status"] == "failed"]


CHECKS = {
    "MPCA": lambda _: are_public("MPCA"),
    "CMDA, DATER, DGTDA, GTDA, HODA": lambda _: are_public(
        "CMDA", "DATER", "DGTDA", "GTDA", "HODA"
    ),
    "CSDA, MCSDA, KernelCSDA": lambda _: are_public("CSDA", "MCSDA", "KernelCSDA"),
    "samples of any order": lambda _: any_order(),
    "a rank per mode": lambda _: CMDA(ranks=(2, 1)).fit(X, Y).ranks_ == (2, 1),
    "transforms new samples": lambda _: MPCA().fit(X).transform(X[:2]).shape[0] == 2,
    "scikit-learn's common checks": lambda _: common_checks_pass(),
    "`sample_weight`": lambda _: takes(CMDA().fit, "sample_weight"),
    "probabilities": lambda _: ProbabilisticLDA().fit(X, Y).predict_proba(X).shape == (60, 3),
    "a promised rate of false accepts": lambda _: takes(ClassSpecificVerifier, "false_accept_rate"),
    '"none of these" as an answer': lambda _: takes(tenfold.OpenSetClassifier, "unknown"),
    "exact `partial_fit`": lambda _: a_stream_is_exact(),
    "forgets old samples": lambda _: forgets(),
    "gaps in samples": lambda _: takes_gaps(),
    "Dask arrays": lambda _: takes_dask(),
    "tensors of PyTorch": lambda _: takes_other_arrays(),
    "named axes of xarray": lambda _: keeps_names_of_axes(),
    "model files without pickle": saves_without_pickle,
    "ONNX": exports,
    "patterns beside filters": lambda _: len(CMDA().fit(X, Y).patterns_) == 2,
    "weights per class": lambda _: not nothing_is_called("class_weight"),
    "covariance geometry": lambda _: not nothing_is_called("(?i)riemann|tangent"),
    "features that survive shifts in time": lambda _: not nothing_is_called("(?i)rocket|shapelet"),
    "CP, Tucker, tensor trains": lambda _: not nothing_is_called("^CP|(?i:tucker|train$)"),
    "deep networks": lambda _: not nothing_is_called("(?i)network|layers"),
}


def column():
    table = PAGE.read_text(encoding="utf-8").partition("|---|")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| (.+?) \| (\w+) \|", table, re.M))


def test_every_row_is_asked():
    assert column().keys() == CHECKS.keys()
    assert set(column().values()) == {"yes", "no"}


@pytest.mark.parametrize("feature", CHECKS)
def test_the_page_says_what_the_code_does(feature, tmp_path):
    assert ("yes" if CHECKS[feature](tmp_path) else "no") == column()[feature]

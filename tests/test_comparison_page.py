"""The page that compares tenfold with others: the code is asked for every yes and no of ours."""

import inspect
import re
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

import tenfold
from tenfold import (
    CMDA,
    MCSDA,
    MPCA,
    ClassSpecificVerifier,
    ProbabilisticLDA,
)
from tenfold.files.onnx_export import to_onnx

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "comparison.md"
X, Y = np.random.default_rng(0).normal(size=(9, 5, 4)), np.arange(9) % 3


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


# What is there; that it is right is in the tests of each.
CHECKS = {
    "MPCA": are_public("MPCA"),
    "CMDA, DATER, DGTDA, GTDA, HODA": are_public("CMDA", "DATER", "DGTDA", "GTDA", "HODA"),
    "CSDA, MCSDA, KernelCSDA": are_public("CSDA", "MCSDA", "KernelCSDA"),
    "samples of any order": CMDA(ranks=1).fit(np.eye(8).reshape(8, 2, 2, 2), [0, 1] * 4),
    "a rank per mode": CMDA(ranks=(2, 1)).fit(X, Y).ranks_ == (2, 1),
    "transforms new samples": hasattr(MPCA, "transform"),
    "scikit-learn's common checks": issubclass(CMDA, BaseEstimator),
    "`sample_weight`": takes(CMDA.fit, "sample_weight"),
    "probabilities": hasattr(ProbabilisticLDA, "predict_proba"),
    "a controlled false-accept rate": takes(ClassSpecificVerifier, "false_accept_rate"),
    '"none of these" as an answer': takes(tenfold.OpenSetClassifier, "unknown"),
    "exact `partial_fit`": hasattr(MCSDA, "partial_fit"),
    "down-weights old samples": takes(ProbabilisticLDA.partial_fit, "decay"),
    "gaps in samples": are_public("GaussianImputer"),
    "Dask arrays": (TESTS / "test_distributed.py").is_file(),
    "tensors of PyTorch": (TESTS / "test_array_api.py").is_file(),
    "named axes of xarray": (TESTS / "test_named_axes.py").is_file(),
    "model files without pickle": hasattr(ProbabilisticLDA, "save"),
    "ONNX": callable(to_onnx),
    "patterns next to filters": len(CMDA().fit(X, Y).patterns_) == 2,
    "weights per class": not nothing_is_called("class_weight"),
    "covariance geometry": not nothing_is_called("(?i)riemann|tangent"),
    "features that survive shifts in time": "filters"
    in ProbabilisticLDA(views="auto")
    .fit(np.random.default_rng(0).normal(size=(12, 2, 20)), np.arange(12) % 2)
    .views_,
    "CP, Tucker, tensor trains": not nothing_is_called("^CP|(?i:tucker|train$)"),
    "deep networks": not nothing_is_called("(?i)network|layers"),
}


def test_the_page_says_what_the_code_does():
    table = PAGE.read_text(encoding="utf-8").partition("|---|")[2].partition("\n\n")[0]
    said = dict(re.findall(r"^\| (.+?) \| (\w+) \|", table, re.M))
    assert said == {feature: "yes" if there else "no" for feature, there in CHECKS.items()}

"""The first example of the README: ours is the best row of its table, at defaults, and it is so."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import SVC, LinearSVC

from tenfold import CMDA, ProbabilisticLDA
from tenfold.datasets import make_trials

ROOT = Path(__file__).parents[1]
MODELS = {
    "`ProbabilisticLDA(CMDA())`": ProbabilisticLDA(CMDA()),
    "`RidgeClassifier`": RidgeClassifier(),
    "`LinearSVC`": LinearSVC(),
    "`LinearDiscriminantAnalysis`, shrinkage": LinearDiscriminantAnalysis(
        solver="lsqr", shrinkage="auto"
    ),
    "`SVC`": SVC(),
}


def table():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = text.partition("<!-- first -->")[2].partition("<!-- /first -->")[0]
    return {
        name: int(share) for name, share in re.findall(r"^\| (.+?) \| \D*(\d+) % *\**", part, re.M)
    }


def test_the_table_of_the_first_example_is_what_one_gets():
    train, test = make_trials(80), make_trials(400, random_state=1)
    found = {}
    for name, model in MODELS.items():
        ours = "Probabilistic" in name
        X, Z = (one.X if ours else one.X.reshape(len(one), -1) for one in (train, test))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn about itself
            found[name] = 100 * model.fit(X, train.y).score(Z, test.y)
    said = table()
    assert said.keys() == found.keys()
    for name, share in said.items():
        assert share == pytest.approx(found[name], abs=1.5), name  # a few of 400 answers
    assert max(found, key=found.get) == "`ProbabilisticLDA(CMDA())`"


def test_trials_of_a_subject_share_patterns_and_not_noise():
    first, second = make_trials(2000), make_trials(2000, random_state=1)
    other = make_trials(2000, subject=1)

    def pattern(data):
        means = np.stack([data.X[data.y == c].mean(axis=0) for c in range(4)])
        return (means - means.mean(axis=0)).ravel()

    def alike(a, b):
        return np.corrcoef(pattern(a), pattern(b))[0, 1]

    assert alike(first, second) > 0.9
    assert abs(alike(first, other)) < 0.5
    assert not np.array_equal(first.X, second.X)
    # a class mean is of rank one: a pattern over channels times a wave over time
    values = np.linalg.svd(pattern(first).reshape(4, 24, 60)[0], compute_uv=False)
    assert first.X.std() == pytest.approx(1, abs=0.25)
    assert values[0] > 3 * values[4]

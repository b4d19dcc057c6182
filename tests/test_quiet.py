"""Warnings name the line of the user, and threads leave those of the process as they found them."""

import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

import tenfold
from tenfold import (
    CMDA,
    MCSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    OpenSetClassifier,
    ProbabilisticLDA,
    compare,
)
from tenfold.quiet import quietly, warn


def samples(seed=0, n_classes=4):
    rng = np.random.default_rng(seed)
    y = np.arange(8 * n_classes) % n_classes
    return rng.normal(size=(n_classes, 4, 3))[y] + rng.normal(size=(len(y), 4, 3)), y


def test_threads_that_fit_leave_warnings_on():
    code = """
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.special  # adds filters of its own
from sklearn.base import clone

from tenfold import CSDA, ClassSpecificClassifier, MCSDA, OpenSetClassifier, compare

sys.setswitchinterval(1e-6)
rng = np.random.default_rng(0)
y = np.arange(32) % 4
X = rng.normal(size=(4, 4, 3))[y] + rng.normal(size=(32, 4, 3))
model = OpenSetClassifier(ClassSpecificClassifier(CSDA(2)), n_groups=4, false_accept_rate=0.5)
start = threading.Barrier(8)


def work(seed):
    start.wait()
    for k in range(4):
        clone(model).fit(X, y)
    compare(X, y, [MCSDA((2, 2))], cv=2, verbose=False)


model.fit(X, y)  # libraries add filters of their own when they are imported
compare(X, y, [MCSDA((2, 2))], cv=2, verbose=False)
filters, show = list(warnings.filters), warnings.showwarning
with ThreadPoolExecutor(8) as pool:
    list(pool.map(work, range(8)))
# scikit-learn's validators catch warnings too, so that one of theirs may stay; none of ours may,
# and none that hides more than one message.
left = [one for one in warnings.filters if one not in filters]
assert not [one for one in left if one[0] == "ignore" and one[1] is None], left
assert warnings.showwarning is show
warnings.warn("still heard", UserWarning)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert "still heard" in run.stderr


def test_no_module_changes_the_filters_of_the_process():
    root = Path(tenfold.__file__).parent
    # The command line owns its process, and has one thread when it begins.
    changing = [
        path.relative_to(root).as_posix()
        for path in sorted(root.rglob("*.py"))
        if any(word in path.read_text() for word in ("catch_warnings()", "simplefilter("))
    ]
    assert changing == ["app/cli/command.py"]


def test_an_open_set_warns_once_of_what_each_of_its_models_would():
    X, y = samples()
    bank = ClassSpecificClassifier(MCSDA((2, 2), max_iter=1, tol=1e-12))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        OpenSetClassifier(bank, n_groups=4, false_accept_rate=0.5).fit(X, y)
    assert [one.category for one in heard].count(ConvergenceWarning) == 1


def test_what_others_warn_of_is_heard():
    class Warning_(RidgeClassifier):
        def fit(self, X, y):
            warnings.warn("of another library", RuntimeWarning, stacklevel=1)
            return super().fit(X, y)

    X, y = samples()
    with pytest.warns(RuntimeWarning, match="of another library"):
        compare(X, y, [Warning_()], cv=2, verbose=False)


SHORT = MCSDA((2, 2), max_iter=1, tol=1e-12)
CALLS = {
    "fit": lambda X, y: clone(SHORT).set_params(positive=0).fit(X, y),
    "fit of a bank": lambda X, y: ClassSpecificClassifier(SHORT).fit(X, y),
    "fit in a pipeline": lambda X, y: make_pipeline(ClassSpecificClassifier(SHORT)).fit(X, y),
    "fit of views": lambda X, y: ProbabilisticLDA(views=["numbers", "filters"]).fit(X, y),
    "partial_fit of views": lambda X, y: ProbabilisticLDA(views=["filters"]).partial_fit(X, y),
    "fit with a low rate": lambda X, y: ClassSpecificVerifier(positive=0).fit(X, y),
    "transform": lambda X, y: CMDA((2, 2)).fit(X, y).transform(1e9 * X),
    "score": lambda X, y: ProbabilisticLDA().fit(X, y).score(1e9 * X, y),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_warning_names_the_line_of_the_user(call):
    X, y = samples()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        call(X, y)
    assert {one.filename for one in heard} == {__file__}


def test_quiet_is_of_one_category_and_one_thread():
    quietly(warn, "not heard", ConvergenceWarning, without=ConvergenceWarning)
    with pytest.warns(UserWarning, match="heard"):
        quietly(warn, "heard", UserWarning, without=ConvergenceWarning)

    def elsewhere():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(warn, "heard in a thread", UserWarning).result()

    with pytest.warns(UserWarning, match="heard in a thread"):
        quietly(elsewhere)


def test_quiet_ends_with_an_error():
    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quietly(fail)
    with pytest.warns(UserWarning, match="heard"):
        warn("heard", UserWarning)

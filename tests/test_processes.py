"""Long work goes to other processes, each with one thread of BLAS; short work stays."""

import os

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from tenfold import MCSDA, MPCA, ProbabilisticLDA, compare, processes, threads
from tenfold.processes import over_processes
from tenfold.selection import comparison


def place_and_threads(number):
    """Where this runs, and how many threads BLAS may use there."""
    np.eye(2) @ np.eye(2)
    return number, os.getpid(), threads.allowed_threads()


@pytest.fixture
def two_threads(monkeypatch):
    """As on a machine where BLAS may use two, also by the word of the environment."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    monkeypatch.setattr(processes, "allowed_threads", lambda: 2)


def test_short_work_stays_here(two_threads):
    found = dict(over_processes(place_and_threads, [(k,) for k in range(5)]))
    assert [found[k][0] for k in range(5)] == list(range(5))
    assert {place for _, place, _ in found.values()} == {os.getpid()}
    assert {allowed for _, _, allowed in found.values()} == {1}  # times are as they are elsewhere


def test_work_that_never_leaves_has_all_threads(two_threads):
    before = threads.allowed_threads()
    found = dict(over_processes(place_and_threads, [(k,) for k in range(3)], patience=np.inf))
    assert {place for _, place, _ in found.values()} == {os.getpid()}
    assert {allowed for _, _, allowed in found.values()} == {before}


def test_one_thread_means_one_process(monkeypatch):
    monkeypatch.setattr(processes, "allowed_threads", lambda: 1)
    found = dict(over_processes(place_and_threads, [(k,) for k in range(5)], patience=-1.0))
    assert {place for _, place, _ in found.values()} == {os.getpid()}


@pytest.mark.long
def test_long_work_goes_to_processes_with_one_thread_each(two_threads):
    found = dict(over_processes(place_and_threads, [(k,) for k in range(6)], patience=-1.0))
    assert [found[k][0] for k in range(6)] == list(range(6))
    assert os.getpid() not in {place for _, place, _ in found.values()}
    assert {allowed for _, _, allowed in found.values()} == {1}


@pytest.mark.long
def test_errors_come_back(two_threads):
    with pytest.raises(ZeroDivisionError):
        dict(over_processes(divmod, [(1, 0)] * 4, patience=-1.0))


@pytest.mark.long
def test_processes_find_the_figures_of_one(two_threads, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 12)
    X = rng.normal(size=(3, 5, 4))[y] + rng.normal(size=(36, 5, 4))
    rows = [ProbabilisticLDA(), MCSDA((2, 2)), MPCA((2, 2)), RidgeClassifier()]
    here = compare(X, y, rows, cv=3)
    monkeypatch.setattr(comparison, "PATIENCE", -1.0)
    there = compare(X, y, rows, cv=3)
    figures = ("method", "ranks", "average_precision", "deviation", "roc_auc", "accuracy")
    for name in figures:
        assert [getattr(one, name) for one in there.methods] == [
            pytest.approx(getattr(one, name)) for one in here.methods
        ]

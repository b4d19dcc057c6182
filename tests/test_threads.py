"""Threads of this library, of BLAS and of other people together are never more than allowed."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident

import numpy as np
import pytest

from tenfold import MCSDA, ClassSpecificClassifier, ProbabilisticLDA, threads

FAR_FROM_ONE = 3


@pytest.fixture
def controller():
    controller = threads._controller()
    if not any(library.user_api == "blas" for library in controller.lib_controllers):
        pytest.skip("no BLAS whose threads can be counted")
    with controller.limit(limits=FAR_FROM_ONE):
        yield controller


def test_blas_has_one_thread_while_parts_are_worked_on(controller):
    inside = threads.over_threads(lambda part: threads.allowed_threads(), [0, 1, 2])
    assert inside == [1, 1, 1]
    assert threads.allowed_threads() == FAR_FROM_ONE


def test_callers_at_the_same_time_leave_blas_as_they_found_it(controller):
    entered, left = Barrier(2, timeout=300), Barrier(2, timeout=300)

    def first():
        with threads._one_blas_thread(controller):
            entered.wait()
            left.wait()

    def second():
        entered.wait()
        with threads._one_blas_thread(controller):
            left.wait()
        return threads.allowed_threads()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result()
    assert threads.allowed_threads() == FAR_FROM_ONE


def test_an_error_in_a_part_reaches_the_caller_and_frees_blas(controller):
    with pytest.raises(ZeroDivisionError):
        threads.over_threads(lambda part: 1 // part, [1, 0])
    assert threads.allowed_threads() == FAR_FROM_ONE


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_can_fit():
    code = """
import os
import numpy as np
from tenfold import MCSDA
X, y = np.random.default_rng(0).normal(size=(60, 20, 16)), np.arange(60) % 2
here = MCSDA(ranks=3).fit(X, y).projections_[0]
child = os.fork()
if child == 0:
    there = MCSDA(ranks=3).fit(X, y).projections_[0]
    os._exit(0 if (here == there).all() else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=120)
    assert run.returncode == 0


def test_fits_scores_and_files_in_eight_threads_are_those_of_one(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 12, 9)), np.arange(90) % 3

    def work(seed):
        model = ClassSpecificClassifier(MCSDA(ranks=(2 + seed % 3, 2))).fit(X, y)
        folder = tmp_path / f"{seed} in thread {get_ident()}"
        folder.mkdir()
        model.save(folder / "own.safetensors")
        model.save(tmp_path / "shared.safetensors")
        saved = np.frombuffer((folder / "own.safetensors").read_bytes(), np.uint8)
        return [model.distances(X), *model.projectors_[0].projections_, saved]

    with threads._controller().limit(limits=1):  # sums of several BLAS threads round differently
        alone = [work(seed) for seed in range(8)]
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(work, range(8)))
    for one, other in zip(alone, together, strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
    shared = (tmp_path / "shared.safetensors").read_bytes()
    assert shared in [files[-1].tobytes() for files in alone], "one of the eight, whole"
    assert not list(tmp_path.rglob("*.part"))


def test_a_gaussian_model_scores_in_four_threads_what_it_scores_in_one():
    """What is made at the first question is made once, whoever asks first."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 4, 3)), np.arange(40) % 3
    model = ProbabilisticLDA(views=["numbers", "rbf"]).fit(X, y)
    expected = model.predict_proba(X)
    model.enroll(X[:2], [7, 7])
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(model.predict_proba, [X] * 8))
    assert all((one == together[0]).all() for one in together)
    assert together[0].shape[1] == expected.shape[1] + 1

"""Ctrl-C at any point of a fit leaves the old model or the new one, and BLAS all its threads."""

import signal
import sys
from copy import copy
from threading import Thread

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from tenfold import (
    CMDA,
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    OpenSetClassifier,
    RankSearchCV,
    threads,
)

SHAPE = (4, 3)
FAR_FROM_ONE = 3


@pytest.fixture
def controller():
    controller = threads._controller()
    if not any(library.user_api == "blas" for library in controller.lib_controllers):
        pytest.skip("no BLAS whose threads can be counted")
    with controller.limit(limits=FAR_FROM_ONE):
        yield controller


@pytest.fixture(autouse=True)
def usual_interrupts():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def samples(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(24) % 3
    return rng.normal(size=(3, *SHAPE))[y] + rng.normal(size=(24, *SHAPE)), y


CHANGING = ("base.py", "classifier.py", "verifier.py", "open_set.py", "rank_search.py")


def traced(work, at_line, files):
    """Run the work, and call `at_line` before every line of code in files with these names."""

    def trace(frame, event, _):
        if not frame.f_code.co_filename.endswith(files):
            return None
        if event == "line":
            at_line()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)


def interrupted(work, lines, files=CHANGING):
    """Whether an interrupt came that was sent before so many lines of code were done."""
    done = []

    def count():
        done.append(1)
        if len(done) == lines:
            signal.raise_signal(signal.SIGINT)

    try:
        traced(work, count, files)
    except KeyboardInterrupt:
        return True
    return False


def n_lines(work, files=CHANGING):
    """How many lines of code the work takes."""
    done = []
    traced(work, lambda: done.append(1), files)
    return len(done)


MODELS = {
    "projector": lambda: CMDA((2, 2)),
    "bank": lambda: ClassSpecificClassifier(CSDA(2)),
    "bank with a second classifier": lambda: ClassSpecificClassifier(
        MCSDA((2, 2)), classifier=LinearDiscriminantAnalysis(), cv=2
    ),
    "verifier": lambda: ClassSpecificVerifier(CSDA(2), positive=1, cv=2, false_accept_rate="equal"),
    "search": lambda: RankSearchCV(ClassSpecificClassifier(CSDA()), ranks=[1, 2], cv=2),
    "open set": lambda: OpenSetClassifier(
        ClassSpecificClassifier(CSDA(2)), false_accept_rate=0.5, n_groups=2
    ),
}


def answers(model, X):
    return model.transform(X) if isinstance(model, CMDA) else model.decision_function(X)


def said(model, X):
    if isinstance(model, OpenSetClassifier):
        return np.append(model.score_samples(X), model.threshold_)
    return answers(model, X)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
def test_an_interrupt_leaves_the_old_model_or_the_new_one(kind):
    old, new = samples(0), samples(1)
    fitted = MODELS[kind]().fit(*old)
    before = said(fitted, old[0])
    after = said(MODELS[kind]().fit(*new), old[0])
    total = n_lines(lambda: MODELS[kind]().fit(*new))
    states = set()
    # In many places, and at each of the last lines, where the estimator itself changes.
    places = {*np.linspace(1, total, 8).astype(int).tolist(), *range(max(1, total - 20), total)}
    for place in sorted(places):
        model = copy(fitted)
        interrupted(lambda model=model: model.fit(*new), place)
        found = said(model, old[0])
        is_old = np.array_equal(found, before)
        assert is_old or np.array_equal(found, after), f"neither model at line {place} of {total}"
        states.add(is_old)
    assert True in states


def test_a_stream_that_is_interrupted_goes_on():
    first, second = samples(0), samples(1)
    whole = CMDA((2, 2)).partial_fit(*first).partial_fit(*second)
    total = n_lines(lambda: CMDA((2, 2)).partial_fit(*first))
    for place in range(max(1, total - 40), total + 1):
        model = CMDA((2, 2)).partial_fit(*first)
        if interrupted(lambda model=model: model.partial_fit(*second), place):
            counts = model.class_count_.sum()
            assert counts in (24, 48)
            assert model._is_stream
            if counts == 24:
                model.partial_fit(*second)
        np.testing.assert_allclose(model.transform(first[0]), whole.transform(first[0]))


def test_an_interrupt_at_any_line_gives_blas_its_threads_back(controller):
    X, y = samples(0)

    def work():
        with threads.one_thread(), threads.threads_for((3, 4), of_stacks=True):
            return threads.over_threads(lambda part: part, [0])

    total = n_lines(work, "threads.py")
    total_of_contexts = n_lines(work, "contextlib.py")
    assert total > 40
    assert total_of_contexts > 20
    places = [(k, "threads.py") for k in range(1, total + 1)]
    places += [(k, "contextlib.py") for k in range(1, total_of_contexts + 1)]
    n_interrupts = 0
    for place, name in places:
        kept = []

        def keeping(kept=kept):
            try:
                work()
            except KeyboardInterrupt as error:
                kept.append(error)  # as an interactive session does: frames stay alive
                raise

        n_interrupts += interrupted(keeping, place, name)
        assert threads.allowed_threads() == FAR_FROM_ONE, f"{name}, line {place} that ran"
        assert not threads._holds
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        other = Thread(target=work, daemon=True)
        other.start()
        other.join(timeout=60)
        assert not other.is_alive(), f"{name}, line {place}: a lock was left behind"
    assert n_interrupts > 60
    CSDA(2).fit(X, y == 1)
    assert threads.allowed_threads() == FAR_FROM_ONE


def test_an_interrupted_fit_gives_blas_its_threads_back(controller):
    X, y = samples(0)
    model = ClassSpecificClassifier(MCSDA((2, 2)))
    total = n_lines(lambda: model.fit(X, y))
    for place in np.linspace(1, total, 40).astype(int).tolist():
        interrupted(lambda: model.fit(X, y), place)
        assert threads.allowed_threads() == FAR_FROM_ONE, f"at line {place} of {total}"


def test_an_interrupt_that_is_only_noted_does_not_stop_a_fit(controller):
    X, y = samples(0)
    noted = []
    signal.signal(signal.SIGINT, lambda *told: noted.append(told))
    model = CSDA(2, positive=1)
    total = n_lines(lambda: CSDA(2, positive=1).fit(X, y))
    assert not interrupted(lambda: model.fit(X, y), total // 2)
    assert len(noted) == 1
    assert np.array_equal(model.transform(X), CSDA(2, positive=1).fit(X, y).transform(X))
    assert threads.allowed_threads() == FAR_FROM_ONE

"""Dask arrays: the same model from any chunks, on any scheduler, whoever dies meanwhile."""

import os
import random
import signal
import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import tenfold.validation.dask_array
from tenfold import (
    CMDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    RankSearchCV,
    gather_moments,
)
from tenfold.methods import LINEAR_METHODS
from tenfold.statistics.stores import BlockError
from ways import assert_same_model, learned, quiet

N, SHAPE = 240, (6, 5)
EXACT = 1e-8  # what the issue asks for


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """No chunk is joined to its neighbour unless it is tiny."""
    monkeypatch.setattr(tenfold.validation.dask_array, "BLOCK_BYTES", 4 * 8 * 30)
    monkeypatch.setattr(tenfold.validation.dask_array, "SAMPLES_PER_TABLE", 0)


@pytest.fixture(scope="module")
def data():
    return make_data()


def make_data(n=N, shape=SHAPE):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, *shape)) + 2 * rng.normal(size=(3, *shape))[y] + 10
    return X, y, rng.random(n) + 0.1


def uneven(X, rng, n_chunks=12):
    """A Dask array with random chunks along the samples, some empty, and cut modes."""
    cuts = np.sort(rng.integers(0, len(X) + 1, n_chunks - 1))
    chunks = np.diff([0, *cuts, *cuts[-1:], len(X)])  # one chunk is empty for certain
    return da.from_array(X, chunks=(tuple(chunks.tolist()), 4, 5))


# ── The same model ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("statistics", ["auto", "samples"])
@pytest.mark.parametrize("Method", LINEAR_METHODS, ids=lambda M: M.__name__)
def test_every_method_learns_the_same_from_any_chunks(Method, statistics, data):
    X, y, weight = data
    rng = np.random.default_rng(1)
    method = quiet(Method)
    reference = learned(method, "auto", X, y, weight)
    for lazy in (False, True):
        labels, weights = (da.from_array(c, chunks=77) if lazy else c for c in (y, weight))
        model = learned(method, statistics, uneven(X, rng), labels, weights)
        assert_same_model(model, reference)
        np.testing.assert_allclose(model.objective_, reference.objective_, rtol=EXACT)


@given(chunks=st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(lambda c: sum(c) > 3))
@settings(max_examples=25)
def test_moments_do_not_depend_on_the_chunks(chunks):
    n = sum(chunks)
    rng = np.random.default_rng(n)
    X, y, weight = rng.normal(size=(n, 3, 2)), np.arange(n) % 2, rng.random(n) + 0.1
    moments = gather_moments(da.from_array(X, chunks=(tuple(chunks), 2, 1)), y, weight)
    expected = ClassMoments.from_batch(X, y, weight)
    np.testing.assert_allclose(moments.scatters, expected.scatters, atol=1e-12)
    np.testing.assert_allclose(moments.means, expected.means, atol=1e-12)


def test_unknown_chunk_sizes_are_found_out(data):
    X, y, _ = data
    lazy, labels = da.from_array(X, chunks=(50, 6, 5)), da.from_array(y, chunks=50)
    chosen = labels < 2  # Dask cannot know how many these are
    model = quiet(MCSDA).fit(lazy[chosen], labels[chosen])
    assert_same_model(model, quiet(MCSDA).fit(X[y < 2], y[y < 2]))


def test_moments_that_do_not_fit_give_way_to_passes_on_the_cluster(data, allow):
    X, y, _ = data
    reference = quiet(MCSDA).fit(X, y)
    allow(8 * 30 * 30)
    assert_same_model(quiet(MCSDA).fit(uneven(X, np.random.default_rng(0)), y), reference)


# ── Lazy results ────────────────────────────────────────────────────────────────────────────────


def test_results_are_lazy_and_the_same(data):
    X, y, _ = data
    lazy = uneven(X, np.random.default_rng(2))
    mcsda, mpca = quiet(MCSDA).fit(X, y), quiet(MPCA, output="tensor").fit(X)
    bank = ClassSpecificClassifier(quiet(MCSDA)).fit(X, np.array(["a", "b", "c"])[y])
    second = ClassSpecificClassifier(quiet(MCSDA), classifier=LogisticRegression()).fit(X, y)
    verifier = ClassSpecificVerifier(quiet(MCSDA), positive=1, false_accept_rate=0.5).fit(X, y)
    for method in (
        mcsda.transform,
        mcsda.decision_function,
        mpca.transform,
        lambda A: mpca.inverse_transform(mpca.transform(A)),
        bank.distances,
        bank.decision_function,
        bank.predict,
        second.predict,
        second.predict_proba,
        verifier.predict,
    ):
        result, expected = method(lazy), method(X)
        assert isinstance(result, da.Array), method
        assert result.shape == expected.shape
        assert result.dtype == expected.dtype
        assert result.chunks[0] == lazy.chunks[0]
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(result.compute(), expected, atol=1e-12)
        else:
            np.testing.assert_array_equal(result.compute(), expected)


def test_nothing_is_computed_before_it_is_asked_for(data):
    X, y, _ = data
    mcsda = quiet(MCSDA).fit(X, y)

    def refuse(block):
        raise AssertionError("computed")

    lazy = da.from_array(X, chunks=(50, 6, 5)).map_blocks(refuse, dtype=float, meta=X[:0])
    mcsda.transform(lazy)
    mcsda.decision_function(lazy)
    with pytest.raises(AssertionError, match="computed"):
        mcsda.transform(lazy).compute()


def test_scores_and_searches_take_dask_arrays(data):
    X, y, _ = data
    lazy, labels = uneven(X, np.random.default_rng(3)), da.from_array(y, chunks=100)
    for estimator in (quiet(MCSDA), ClassSpecificClassifier(quiet(MCSDA))):
        assert clone(estimator).fit(lazy, labels).score(lazy, labels) == pytest.approx(
            clone(estimator).fit(X, y).score(X, y), abs=EXACT
        )
        search = RankSearchCV(estimator, ranks=[1, 2, 3], cv=3)
        found, reference = clone(search).fit(lazy, labels), clone(search).fit(X, y)
        assert found.best_params_ == reference.best_params_
        np.testing.assert_allclose(
            found.cv_results_["mean_test_score"],
            reference.cv_results_["mean_test_score"],
            atol=EXACT,
        )


# ── Shape of the work ───────────────────────────────────────────────────────────────────────────


# ── What goes wrong ─────────────────────────────────────────────────────────────────────────────


def with_bad_block(X, which, error):
    def read(block, block_id=None):
        if block_id[0] == which:
            raise error
        return block

    return da.from_array(X, chunks=(20, 6, 5)).map_blocks(read, dtype=X.dtype, meta=X[:0])


@pytest.mark.parametrize("statistics", ["moments", "samples"])
def test_a_block_that_cannot_be_read_is_named(statistics, data):
    X, y, _ = data
    lazy = with_bad_block(X, 3, OSError("disk says no"))
    with pytest.raises(BlockError, match=r"samples 60 to 79 could not be read.*disk says no"):
        learned(quiet(MCSDA), statistics, lazy, y)


def test_samples_that_are_not_finite_are_named(data):
    X, y, _ = data
    bad = X.copy()
    bad[101, 2, 2] = np.nan
    lazy = da.from_array(bad, chunks=(20, 6, 5))
    with pytest.raises(ValueError, match=r"in 1 of the samples 100 to 119: 101"):
        quiet(MCSDA).fit(lazy, y)
    with pytest.raises(ValueError, match=r"in 1 of the samples 100 to 119: 101"):
        quiet(MCSDA).fit(X, y).transform(lazy).compute()


def test_after_repair_gathering_goes_on_behind_what_was_saved(data, tmp_path):
    X, y, _ = data
    with pytest.raises(BlockError, match="samples 140 to 159"):
        gather_moments(with_bad_block(X, 7, OSError("no")), y, checkpoint=tmp_path, save_every=40)
    read = []

    def note(block, block_id=None):
        read.append(block_id[0])
        return block

    lazy = da.from_array(X, chunks=(20, 6, 5)).map_blocks(note, dtype=float, meta=X[:0])
    moments = gather_moments(lazy, y, checkpoint=tmp_path, save_every=40)
    compared = [0, 2, 5, 8, 11]  # blocks of a handful of samples, to know them again
    assert sorted(read) == sorted([*range(6, 12), *compared]), "blocks 0 to 5 were saved"
    np.testing.assert_allclose(moments.scatters, ClassMoments.from_batch(X, y).scatters, atol=1e-10)


@pytest.mark.parametrize(
    ("labels", "weights", "message"),
    [
        (da.zeros(N - 1, chunks=9), None, r"inconsistent numbers of samples: \[240, 239\]"),
        (da.full(N, np.nan, chunks=9), None, "y contains NaN"),
        (da.arange(N, chunks=9) % 2, -da.ones(N, chunks=9), "weights of 0 or more"),
    ],
)
def test_lazy_labels_and_weights_are_checked(labels, weights, message, data):
    with pytest.raises(ValueError, match=message):
        quiet(MCSDA).fit(da.from_array(data[0], chunks=(50, 6, 5)), labels, weights)


# ── A cluster ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes, which come back when they die."""
    from distributed import Client, LocalCluster

    quiet_logs = {"logging": {"distributed": "critical"}}
    with (
        dask.config.set(quiet_logs),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=50,
        ) as local,
        Client(local),
    ):
        yield local


@pytest.mark.cluster
@pytest.mark.parametrize("Method", [MCSDA, CMDA, MPCA], ids=lambda M: M.__name__)
@pytest.mark.parametrize("statistics", ["auto", "samples"])
def test_a_cluster_learns_what_memory_learns(Method, statistics, cluster, data):
    X, y, weight = data
    method = quiet(Method)
    reference = learned(method, "auto", X, y, weight)
    for seed in range(3):
        lazy = uneven(X, np.random.default_rng(seed))
        assert 0 in lazy.chunks[0]
        model = learned(method, statistics, lazy, da.from_array(y, chunks=77), weight)
        assert_same_model(model, reference)
        np.testing.assert_allclose(
            abs(model.transform(lazy).compute()), abs(reference.transform(X)), atol=EXACT
        )


@pytest.mark.cluster
def test_banks_and_searches_run_on_a_cluster(cluster, data):
    X, y, _ = data
    lazy, labels = uneven(X, np.random.default_rng(3)), da.from_array(y, chunks=100)
    bank = ClassSpecificClassifier(quiet(MCSDA))
    reference = clone(bank).fit(X, y)
    found = clone(bank).fit(lazy, labels)
    np.testing.assert_allclose(found.distances(lazy).compute(), reference.distances(X), atol=EXACT)
    np.testing.assert_array_equal(found.predict(lazy).compute(), reference.predict(X))
    search = RankSearchCV(quiet(MCSDA), ranks=[1, 2], cv=2)
    assert clone(search).fit(lazy, labels).best_params_ == search.fit(X, y).best_params_


class Killer(threading.Thread):
    """Kills a worker process at random moments while something else goes on."""

    def __init__(self, cluster, times, seed):
        super().__init__(daemon=True)
        self.cluster, self.times = cluster, times
        self.dice, self.killed = random.Random(seed), []
        self.enough = threading.Event()

    def run(self):
        while len(self.killed) < self.times and not self.enough.is_set():
            time.sleep(self.dice.uniform(0.3, 1.0))
            pids = [worker.pid for worker in self.cluster.workers.values()]
            alive = [pid for pid in pids if pid is not None and pid not in self.killed]
            if alive and not self.enough.is_set():
                pid = self.dice.choice(alive)
                os.kill(pid, signal.SIGKILL)
                self.killed.append(pid)


@pytest.mark.cluster
@pytest.mark.parametrize("statistics", ["moments", "samples"])
def test_workers_that_are_killed_change_nothing(statistics, cluster, data):
    X, y, _ = data
    reference = quiet(MCSDA, max_iter=2).fit(X, y)

    def slowly(block):
        time.sleep(0.25 if statistics == "moments" else 0.05)
        return block

    lazy = da.from_array(X, chunks=(8, 6, 5)).map_blocks(slowly, dtype=float, meta=X[:0])
    killer = Killer(cluster, times=3, seed=7)
    killer.start()
    model = learned(quiet(MCSDA, max_iter=2), statistics, lazy, y)
    killer.enough.set()
    killer.join()
    assert len(killer.killed) == 3, "the fit ended before three workers were killed"
    assert_same_model(model, reference)


# ── A cluster that cannot do it ─────────────────────────────────────────────────────────────────


def small_cluster(**options):
    from distributed import LocalCluster

    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "silence_logs": 50}
    return LocalCluster(**{**settings, "dashboard_address": ":0", **options})


def deadly(block):
    os._exit(1)


def slow(block):
    time.sleep(5)
    return block


@pytest.mark.cluster
def test_a_block_that_kills_its_workers_ends_in_words(data):
    from distributed import Client

    X, y, _ = data
    lazy = da.from_array(X, chunks=(80, 6, 5)).map_blocks(deadly, dtype=float, meta=X[:0])
    killed = pytest.raises(RuntimeError, match=r"KilledWorker.*lack of memory.*smaller chunks")
    with small_cluster() as local, Client(local), killed:
        quiet(MCSDA).fit(lazy, y)


@pytest.mark.cluster
def test_a_cluster_that_is_closed_during_a_fit_ends_in_words(data):
    from distributed import Client

    X, y, _ = data
    lazy = da.from_array(X, chunks=(80, 6, 5)).map_blocks(slow, dtype=float, meta=X[:0])
    with small_cluster() as local, Client(local) as client:
        closer = threading.Timer(2.0, client.restart)
        closer.start()
        with pytest.raises(RuntimeError, match=r"closed or restarted meanwhile; nothing was fitt"):
            quiet(MCSDA).fit(lazy, y)
        closer.join()

"""Samples that are not in memory: stores, streams, checkpoints."""

import subprocess
import sys
import textwrap
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import h5py
import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import tenfold.statistics.stores
from tenfold import (
    CMDA,
    CSDA,
    CSRDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    RankSearchCV,
    gather_batches,
    gather_moments,
    write_blocks,
)
from tenfold.gathering.checkpoint import COMPARED, FILE
from tenfold.methods import LINEAR_METHODS
from tenfold.serialization.model_format import read, write
from tenfold.statistics.class_statistics import MomentStatistics
from tenfold.statistics.pooled import PooledMoments
from tenfold.statistics.scatters import along_mode
from tenfold.statistics.stores import BlockError, StoredSamples, check_block
from ways import assert_same_model, learned, quiet

N, SHAPE, BLOCK = 240, (6, 5), 16
EXACT = 1e-8  # what the issue asks for; rounding of sums in another order stays below 1e-12 here


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 16 samples, so that small data have many."""
    monkeypatch.setattr(tenfold.statistics.stores, "BLOCK_BYTES", BLOCK * 8 * 30)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, N)
    X = rng.normal(size=(N, *SHAPE)) + 2 * rng.normal(size=(3, *SHAPE))[y] + 10
    return X, y, rng.random(N) + 0.1


class Recorder:
    """A store that remembers what was read, and can have bad rows."""

    def __init__(self, array, chunk=None, bad=()):
        self.array, self.bad, self.read = array, set(bad), []
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        self.chunks = None if chunk is None else (chunk, *array.shape[1:])

    def __getitem__(self, rows):
        assert isinstance(rows, slice), "a store is read by slices only"
        self.read.append((rows.start, rows.stop))
        if self.bad & set(range(rows.start, rows.stop)):
            raise OSError("checksum does not match")
        return self.array[rows]

    @property
    def n_read(self):
        return sum(stop - start for start, stop in self.read)


def stores(X, folder):
    np.save(folder / "x.npy", X)
    file = h5py.File(folder / "x.h5", "w")
    return {
        "memory map": np.load(folder / "x.npy", mmap_mode="r"),
        "zarr": zarr.create_array(folder / "x.zarr", data=X, chunks=(50, 6, 3)),
        "hdf5": file.create_dataset("X", data=X),
        "chunked hdf5": file.create_dataset("Y", data=X, chunks=(7, 6, 5)),
        "anything": Recorder(X),
    }


# ── Fitting ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("statistics", ["auto", "samples", "moments"])
@pytest.mark.parametrize("Method", LINEAR_METHODS, ids=lambda M: M.__name__)
def test_every_method_learns_the_same_from_a_store_as_from_memory(
    Method, statistics, data, tmp_path
):
    X, y, weight = data
    method = quiet(Method)
    reference = learned(method, "auto", X, y, weight)
    for store in stores(X, tmp_path).values():
        model = learned(method, statistics, store, y, weight)
        assert_same_model(model, reference)
        np.testing.assert_allclose(model.objective_, reference.objective_, rtol=EXACT)
        np.testing.assert_allclose(
            abs(model.transform(store)), abs(reference.transform(X)), atol=EXACT
        )


def test_a_store_is_read_once_for_moments_in_blocks_from_front_to_back(data):
    X, y, _ = data
    store = Recorder(X)
    quiet(MCSDA).fit(store, y)
    assert store.read == [(first, first + BLOCK) for first in range(0, N, BLOCK)]


def test_a_block_is_whole_chunks(data):
    X, y, _ = data
    store = Recorder(X, chunk=12)
    quiet(MCSDA).fit(store, y)
    assert store.read == [(first, first + 12) for first in range(0, N, 12)]
    large = Recorder(X, chunk=100)
    quiet(MCSDA).fit(large, y)
    assert large.read == [(0, 100), (100, 200), (200, 240)]


@pytest.mark.parametrize("Method", [MCSDA, CMDA, MPCA], ids=lambda M: M.__name__)
def test_without_moments_there_is_one_pass_per_mode_and_round(Method, data):
    X, y, _ = data
    store = Recorder(X)
    model = learned(Method(ranks=2, tol=50.0), "samples", store, y)
    assert model.n_iter_ == 2
    means, modes = 1, 2 * model.n_iter_
    noise = int(Method is MCSDA)  # its likelihood ratio asks for the noise in the subspace
    assert store.n_read == (means + modes + noise) * N
    assert max(stop - start for start, stop in store.read) == BLOCK


def test_moments_that_do_not_fit_the_budget_give_way_to_passes(data, allow):
    X, y, _ = data
    reference = quiet(MCSDA).fit(X, y)
    allow(8 * 30 * 30)
    store = Recorder(X)
    assert_same_model(quiet(MCSDA).fit(store, y), reference)
    assert store.n_read > N


def test_scatters_beyond_the_budget_are_refused_with_advice(data, allow):
    X, y, _ = data
    allow(8 * 20)
    with pytest.raises(ValueError, match=r"6 x 6 numbers do not fit.*MPCA\(ranks=0.999\)"):
        quiet(MCSDA).fit(Recorder(X), y)


def test_few_long_vectors_are_solved_in_their_span(data, allow):
    X, y, _ = data
    allow(3 * 8 * 20 * 30)
    reference = CSDA(ranks=3).fit(X[:20], y[:20])
    assert_same_model(CSDA(ranks=3).fit(Recorder(X[:20]), y[:20]), reference)


def test_automatic_shrinkage_asks_for_moments(data):
    X, y, _ = data
    automatic = quiet(MCSDA, shrinkage="auto")
    reference = clone(automatic).fit(X, y)
    assert_same_model(clone(automatic).fit(Recorder(X), y), reference)
    with pytest.raises(ValueError, match="pass shrinkage as a number"):
        learned(automatic, "samples", Recorder(X), y)


def test_partial_fit_takes_stores(data):
    X, y, _ = data
    model = quiet(MCSDA)
    for part in (slice(0, 100), slice(100, 240)):
        model.partial_fit(Recorder(X[part]), y[part])
    assert_same_model(model, quiet(MCSDA).fit(X, y))
    continued = quiet(MCSDA).fit(Recorder(X[:100]), y[:100])
    assert_same_model(continued.partial_fit(X[100:], y[100:]), quiet(MCSDA).fit(X, y))


def test_flat_rows_of_a_store_are_folded(data):
    X, y, _ = data
    model = quiet(MCSDA, sample_shape=SHAPE).fit(Recorder(X.reshape(N, -1)), y)
    assert model.sample_shape_ == SHAPE
    assert_same_model(model, quiet(MCSDA).fit(X, y))


@pytest.mark.parametrize(
    ("store", "message"),
    [
        (Recorder(np.zeros(5)), "at least 2 axes"),
        (Recorder(np.zeros((0, 4, 3))), r"0 sample\(s\)"),
        (Recorder(np.zeros((5, 4), dtype=complex)), "complex128; expected real numbers"),
    ],
)
def test_a_store_of_anything_else_is_refused(store, message):
    with pytest.raises(ValueError, match=message):
        MPCA().fit(store)


UNDER_A_LIMIT = """
    import resource, sys
    import numpy as np
    from tenfold import MCSDA
    from tenfold.datasets import load

    store = load(sys.argv[1], labelled=False, missing_chunks="fill").X
    y = np.arange(store.shape[0]) % 2
    limit = 500 * 2**20  # the libraries alone take a good part of it
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        store[:]
    except MemoryError:
        MCSDA(ranks=(2, 2), tol=50.0).fit(store, y)
    else:
        sys.exit("the limit does not hold")
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces RLIMIT_DATA")
def test_a_store_larger_than_the_memory_that_is_allowed_is_fitted(tmp_path):
    shape = (800_000, 10, 10)  # 640 MB, of which only one chunk is on disk: the rest is zeros
    store = zarr.create_array(tmp_path / "x", shape=shape, chunks=(16_000, 10, 10), dtype=float)
    store[:16_000] = np.random.default_rng(0).normal(size=(16_000, 10, 10))
    command = [sys.executable, "-c", textwrap.dedent(UNDER_A_LIMIT), str(tmp_path / "x")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


# ── Using ───────────────────────────────────────────────────────────────────────────────────────


def test_scores_and_classes_are_found_block_by_block(data):
    X, y, _ = data
    mcsda = quiet(MCSDA).fit(X, y)
    bank = ClassSpecificClassifier(quiet(MCSDA)).fit(X, y)
    for method in (mcsda.decision_function, bank.decision_function, bank.predict):
        store = Recorder(X)
        np.testing.assert_array_equal(method(store), method(X))
        assert store.read == [(first, first + BLOCK) for first in range(0, N, BLOCK)]
    assert mcsda.score(Recorder(X), y) == mcsda.score(X, y)
    assert bank.score(Recorder(X), y) == bank.score(X, y)


def test_the_way_back_goes_block_by_block(data):
    X, y, _ = data
    for model in (quiet(MPCA), quiet(MPCA, output="tensor"), CSDA(ranks=2)):
        Y = model.fit(X, y).transform(X)
        np.testing.assert_array_equal(
            model.inverse_transform(Recorder(Y)), model.inverse_transform(Y)
        )


def test_results_are_written_block_by_block(data, tmp_path):
    X, y, _ = data
    model = quiet(MCSDA).fit(X, y)
    on_disk = zarr.create_array(tmp_path / "y.zarr", shape=(N, 4), chunks=(30, 4), dtype=float)
    assert write_blocks(model.transform, Recorder(X), on_disk) is on_disk
    np.testing.assert_array_equal(on_disk[:], model.transform(X))
    mapped = np.memmap(tmp_path / "scores", dtype=float, mode="w+", shape=(N,))
    write_blocks(model.decision_function, Recorder(X), mapped)
    np.testing.assert_array_equal(mapped, model.decision_function(X))
    with pytest.raises(ValueError, match=r"out has shape \(240, 3\).*\(240, 4\)"):
        write_blocks(model.transform, Recorder(X), np.empty((N, 3)))


def test_a_search_over_a_store_is_the_search_over_its_array(data):
    X, y, _ = data
    for estimator in (quiet(MCSDA), ClassSpecificClassifier(quiet(MCSDA))):
        search = RankSearchCV(estimator, ranks=[1, 2, 3], cv=3)
        found, reference = clone(search).fit(Recorder(X), y), clone(search).fit(X, y)
        assert found.best_params_ == reference.best_params_
        np.testing.assert_allclose(
            found.cv_results_["mean_test_score"],
            reference.cv_results_["mean_test_score"],
            atol=EXACT,
        )


@given(rows=st.lists(st.integers(0, 49), min_size=1, max_size=60))
def test_any_selection_of_samples_comes_in_its_own_order(rows):
    array = np.arange(50.0 * 3).reshape(50, 3)
    chosen = StoredSamples.of(Recorder(array, chunk=7))[np.array(rows)]
    np.testing.assert_array_equal(chosen.rows(np.array), array[rows])
    np.testing.assert_array_equal(chosen[:5].rows(np.array), array[rows][:5])


# ── What goes wrong ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("statistics", ["moments", "samples"])
def test_a_block_that_cannot_be_read_ends_the_fit_and_is_named(statistics, data, allow):
    X, y, _ = data
    model = quiet(MCSDA)
    allow(2**32 if statistics == "moments" else 8 * 30 * 30)
    with pytest.raises(BlockError, match=r"samples 96 to 111 could not be read.*checksum"):
        model.fit(Recorder(X, bad=[100]), y)
    with pytest.raises(NotFittedError):
        model.transform(X)
    reference = clone(model).fit(X, y)
    scores = model.fit(X, y).decision_function(X)
    with pytest.raises(BlockError):
        model.fit(Recorder(X[::-1], bad=[100]), y)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert_same_model(model, reference)


def test_samples_that_are_not_finite_are_named(data):
    X, y, _ = data
    bad = X.copy()
    bad[101, 2, 2], bad[107, 0, 0] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"NaN or infinity in 2 of the samples 96 to 111: 101, 10"):
        quiet(MCSDA).fit(Recorder(bad), y)
    huge = np.full((40, 3), 1e308)
    assert check_block(huge, 0) is huge  # the sum overflows, but no sample does


def test_a_store_that_ends_early_is_named(data):
    X, y, _ = data
    store = Recorder(X)
    store.array = X[:200]
    with pytest.raises(BlockError, match=r"samples 192 to 207.*8 samples came instead of 16"):
        quiet(MCSDA).fit(store, y)


# ── Checkpoints ─────────────────────────────────────────────────────────────────────────────────


def assert_same_moments(found, expected):
    np.testing.assert_array_equal(found.classes, expected.classes)
    np.testing.assert_allclose(found.counts, expected.counts, rtol=1e-12)
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
    np.testing.assert_allclose(found.scatters, expected.scatters, rtol=1e-9, atol=1e-9)


def test_after_repair_gathering_goes_on_behind_what_was_saved(data, tmp_path):
    X, y, weight = data
    gather = partial(gather_moments, y=y, sample_weight=weight, checkpoint=tmp_path, save_every=32)
    with pytest.raises(BlockError, match="samples 96 to 111"):
        gather(Recorder(X, bad=[100]))
    repaired = Recorder(X)
    moments = gather(repaired)
    assert from_blocks(repaired)[0][0] == 96, "the first 96 samples were saved"
    assert_same_moments(moments, ClassMoments.from_batch(X, y, weight))
    assert_same_model(quiet(MCSDA).fit_moments(moments), quiet(MCSDA).fit(X, y, weight))
    again = Recorder(X)
    assert_same_moments(gather(again), moments)
    assert from_blocks(again) == [], "all of it was saved"
    assert again.n_read == COMPARED, "a handful tells whether they are the same samples"


def from_blocks(store):
    """What was read of a store, apart from single samples that are compared."""
    return [(start, stop) for start, stop in store.read if stop > start + 1]


def test_samples_that_were_repaired_are_the_same_samples(data, tmp_path):
    X, y, _ = data
    bad = X.copy()
    bad[(N - 1) // 2] = np.nan  # one of those that are compared
    with pytest.raises(ValueError, match="NaN"):
        gather_moments(Recorder(bad), y, checkpoint=tmp_path)
    assert_same_moments(
        gather_moments(Recorder(X), y, checkpoint=tmp_path), ClassMoments.from_batch(X, y)
    )


def test_a_checkpoint_of_other_samples_is_not_picked_up(data, tmp_path):
    X, y, weight = data
    gather_moments(X, y, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"shape was \(240, 6, 5\) and is \(200, 6, 5\)"):
        gather_moments(X[:200], y[:200], checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"labels was .* and is"):
        gather_moments(X, y[::-1], checkpoint=tmp_path)
    with pytest.raises(ValueError, match="weights was None and is"):
        gather_moments(X, y, weight, checkpoint=tmp_path)
    with pytest.raises(
        ValueError, match=r"something else: samples was \w+ and is \w+; name another folder, or del"
    ):
        gather_moments(100 * X, y, checkpoint=tmp_path)
    last = np.concatenate([X[:-1], -X[-1:]])
    with pytest.raises(ValueError, match="something else: samples was"):
        gather_moments(Recorder(last), y, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="dtype was float64 and is float32"):
        gather_moments(X.astype(np.float32), y, checkpoint=tmp_path)


@pytest.mark.parametrize("kept", [0, 1, 1000, "array", "text", "other file"])
def test_a_damaged_checkpoint_is_named(kept, data, tmp_path):
    X, y, _ = data
    gather_moments(X, y, checkpoint=tmp_path)
    path = tmp_path / FILE
    if kept == "array":
        with open(path, "wb") as file:
            np.save(file, X)
    elif kept == "text":
        path.write_text("moments")
    elif kept == "other file":
        MPCA().fit(X).save(path)
    else:
        path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"moments.safetensors is not a checkpoint, or is damaged"):
        gather_moments(X, y, checkpoint=tmp_path)


@pytest.mark.parametrize("name", ["done", "subject", "moments"])
def test_a_checkpoint_that_was_written_otherwise_is_named(name, data, tmp_path):
    """With the right checksum; what files of moments are refused for is in their tests."""
    X, y, _ = data
    gather_moments(X, y, checkpoint=tmp_path)
    header, arrays = read(tmp_path / FILE)
    kept = {key: header[key] for key in ("labels", "checkpoint")}
    kept["checkpoint"][name] = "otherwise"
    write(tmp_path / FILE, kept, arrays)
    with pytest.raises(ValueError, match=r"moments\.safetensors is not a checkpoint"):
        gather_moments(X, y, checkpoint=tmp_path)


def test_two_runs_on_one_checkpoint_give_the_same_moments(data, tmp_path):
    """Each writes whole files, so whichever comes last leaves moments of all that it names."""
    X, y, _ = data
    alone = gather_moments(X, y, checkpoint=tmp_path / "alone", save_every=16)
    with ThreadPoolExecutor(4) as pool:
        runs = [
            pool.submit(gather_moments, X, y, checkpoint=tmp_path / "both", save_every=16)
            for _ in range(8)
        ]
    for run in runs:
        assert_same_moments(run.result(), alone)
    assert [path.name for path in (tmp_path / "both").iterdir()] == [FILE]
    assert_same_moments(gather_moments(X, y, checkpoint=tmp_path / "both", save_every=16), alone)


def test_a_process_that_is_killed_leaves_what_it_saved(data, tmp_path):
    X, y, _ = data
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    script = """
        import os, signal, sys
        import numpy as np
        import tenfold.statistics.stores
        from tenfold import gather_moments

        tenfold.statistics.stores.BLOCK_BYTES = 16 * 8 * 30
        folder = sys.argv[1]

        class Deadly:
            array = np.load(folder + "/x.npy", mmap_mode="r")
            shape, dtype, ndim = array.shape, array.dtype, array.ndim
            def __getitem__(self, rows):
                if rows.start >= 128 and rows.stop > rows.start + 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                return self.array[rows]

        y = np.load(folder + "/y.npy")
        gather_moments(Deadly(), y, checkpoint=folder, save_every=16)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    assert subprocess.run(command, capture_output=True).returncode == -9
    done = read(tmp_path / FILE)[0]["checkpoint"]["done"]
    assert 0 < done <= 128
    store = Recorder(X)
    moments = gather_moments(store, y, checkpoint=tmp_path, save_every=16)
    assert from_blocks(store)[0][0] == done
    uninterrupted = gather_moments(X, y, checkpoint=tmp_path / "other", save_every=16)
    for name in ("classes", "counts", "means", "scatters"):
        np.testing.assert_array_equal(getattr(moments, name), getattr(uninterrupted, name))
    assert_same_moments(moments, ClassMoments.from_batch(X, y))


# ── Streams of batches ──────────────────────────────────────────────────────────────────────────


@given(cuts=st.lists(st.integers(1, N - 1), max_size=8, unique=True).map(sorted))
def test_moments_do_not_depend_on_how_a_stream_of_batches_is_cut(cuts):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], N // 3)  # later labels turn up in later batches
    X, weight = rng.normal(size=(N, 3, 2)), rng.random(N) + 0.1
    pieces = [np.split(a, cuts) for a in (X, y, weight)]
    moments = gather_batches(zip(*pieces, strict=True))
    assert_same_moments(moments, ClassMoments.from_batch(X, y, weight))


def test_a_stream_may_use_its_memory_again(data):
    X, y, _ = data
    buffer = np.empty((24, *SHAPE)), np.empty(24, dtype=int)

    def batches():
        for first in range(0, N, 24):
            buffer[0][:], buffer[1][:] = X[first : first + 24], y[first : first + 24]
            yield buffer

    moments = gather_batches(batches())
    assert_same_moments(moments, ClassMoments.from_batch(X, y))


def test_a_stream_is_not_held(data):
    X, y, _ = data
    alive, most = weakref.WeakSet(), 0

    class Watched(np.ndarray):
        __hash__ = object.__hash__

    def batches():
        nonlocal most
        for first in range(0, N, 24):
            batch = np.array(X[first : first + 24]).view(Watched)
            alive.add(batch)
            most = max(most, len(alive))
            yield batch, y[first : first + 24]

    gather_batches(batches())
    assert most <= 3, "one that comes, one that is added, one that is remembered"


def test_labels_come_with_every_batch_or_with_none(data):
    X, y, _ = data
    with pytest.raises(
        ValueError, match="batch 1: it has no labels, but the batches before it had"
    ):
        gather_batches([(X, y), X])
    with pytest.raises(ValueError, match=r"batch 2: it has labels, but the batches.*had none"):
        gather_batches([X, (X, None), (X, y)])
    with pytest.raises(ValueError, match=r"batch 1: labels are text .* known so far are numbers"):
        gather_batches([(X, y), (X, y.astype(str))])


def test_a_bad_batch_is_named(data):
    X, y, _ = data
    with pytest.raises(ValueError, match=r"batch 1: samples have shape \(5, 6\)"):
        gather_batches([(X, y), (X.swapaxes(1, 2), y)])
    with pytest.raises(ValueError, match="at least one"):
        gather_batches([])


# ── Models from moments ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("Method", LINEAR_METHODS, ids=lambda M: M.__name__)
def test_a_model_of_gathered_moments_is_the_model_of_the_samples(Method, data):
    X, y, weight = data
    moments = gather_moments(X, y, weight)
    model, reference = quiet(Method).fit_moments(moments), quiet(Method).fit(X, y, weight)
    assert_same_model(model, reference)
    twice = model.partial_fit(X, y, sample_weight=weight)
    assert_same_model(twice, quiet(Method).fit(X, y, 2 * weight))


@pytest.mark.parametrize(
    ("moments", "message"),
    [
        ("nothing", "is a str; expected ClassMoments"),
        (ClassMoments.from_batch(np.zeros((3, 4, 2)), np.array([0, 0, 0])), "1 class"),
        (ClassMoments.from_batch(np.zeros((0, 4, 2)), classes=np.arange(2)), "of no samples"),
        (ClassMoments.from_batch(np.zeros((4, 5)), np.array([0, 0, 1, 1])), "sample_shape"),
    ],
)
def test_moments_that_no_model_can_be_made_of(moments, message):
    with pytest.raises(ValueError, match=message):
        MCSDA(sample_shape=(4, 2)).fit_moments(moments)


# ── Compression ─────────────────────────────────────────────────────────────────────────────────


# ── One reading per pass ────────────────────────────────────────────────────────────────────────


class CountedRows:
    """A store that counts how often each of its rows is read."""

    def __init__(self, X):
        self.X, self.times = X, np.zeros(len(X), dtype=int)
        self.shape, self.dtype, self.ndim = X.shape, X.dtype, X.ndim

    def __len__(self):
        return len(self.X)

    def __getitem__(self, rows):
        self.times[rows] += 1
        return self.X[rows]


@pytest.mark.parametrize(
    "estimator",
    [
        ClassSpecificVerifier(MCSDA(ranks=2, tol=50.0), positive=1, false_accept_rate=0.5),
        ClassSpecificVerifier(CSDA(ranks=2), positive=1, cv=3, false_accept_rate="equal"),
        ClassSpecificClassifier(MCSDA(ranks=2, tol=50.0), classifier=LogisticRegression()),
        ClassSpecificClassifier(CSDA(ranks=2), classifier=LogisticRegression(), cv=3),
    ],
    ids=str,
)
def test_folds_of_a_store_are_those_of_memory_and_a_verifier_reads_it_three_times(estimator, data):
    X, y, weight = data
    for sample_weight in (None, weight):
        store = CountedRows(X)
        model = clone(estimator).fit(store, y, sample_weight)
        if isinstance(estimator, ClassSpecificVerifier):  # before that it is dealt by content
            np.testing.assert_array_equal(store.times, 3)
        in_memory = clone(estimator).fit(X, y, sample_weight)
        np.testing.assert_allclose(model.decision_function(X), in_memory.decision_function(X))


# ── One class against all others ────────────────────────────────────────────────────────────────


VERIFIED = {
    "MCSDA": MCSDA(ranks=(3, 2)),
    "MCSDA by distances": MCSDA(ranks=(3, 2), decision="distance"),
    "MCSDA, both": MCSDA(ranks=(3, 2), negatives="both"),
    "CSDA": CSDA(ranks=4),
    "CSDA, own shrinkage": CSDA(ranks=4, shrinkage="auto"),
    "null space": CSDA(ranks=4, solver="null_space"),
    "CSRDA": CSRDA(ranks=4),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", VERIFIED)
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_verifier_of_a_store_pools_the_other_classes_and_learns_the_same(
    method, n_classes, weighted
):
    rng = np.random.default_rng(7)
    y = rng.permutation(np.arange(N) % n_classes)
    X = rng.normal(size=(N, *SHAPE)) + rng.normal(size=(n_classes, *SHAPE))[y] + 10
    weight = rng.random(N) + 0.1 if weighted else None
    if weighted:
        weight[:20] = 0
    groups = y * 2 + rng.integers(0, 2, N) if n_classes == 3 else None  # a fold may hold one class
    verifier = ClassSpecificVerifier(VERIFIED[method], positive=1, false_accept_rate=0.3)
    inside = clone(verifier).fit(X, y, weight, groups)
    outside = clone(verifier).fit(Recorder(X), y, weight, groups)
    assert outside.threshold_ == pytest.approx(inside.threshold_, rel=1e-6)
    assert outside.error_rates_ == pytest.approx(inside.error_rates_)
    assert_same_model(outside.projector_, inside.projector_)


def test_pooled_moments_say_what_moments_say(data):
    X, y, weight = data
    cells = 2 * y + np.arange(N) % 2
    of_class = np.arange(6) // 2
    table_of = np.array([0, 1, 2, 3, 0, 1])  # those of classes 0 and 2 are one
    pooled = PooledMoments.of_store(StoredSamples.of(X), cells, weight, table_of)
    for kept in ([1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 0, 1], [1, 1, 0, 1, 1, 1]):
        here = np.array(kept, dtype=bool)
        some = here[cells]
        found = pooled.part(here, of_class, np.arange(3), 1)
        exact = MomentStatistics.of(ClassMoments.from_batch(X[some], y[some], weight[some]))
        assert_allclose(found.counts, exact.counts)
        assert_allclose(found.means, exact.means)
        assert found.traces.sum() == pytest.approx(exact.traces.sum())
        assert found.traces[1] == pytest.approx(exact.traces[1])
        whole = [np.eye(size)[None] for size in SHAPE]
        pairs = [(s.in_class(1), s.within(), s.total()) for s in (found, exact)]
        for own, other in zip(*(along_mode(each, 0, whole) for each in pairs), strict=True):
            assert_allclose(own, other, rtol=1e-10)

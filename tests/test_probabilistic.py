"""Laws of ProbabilisticLDA: one model however samples come, views, enrollment, bad input."""

import pickle
import tracemalloc

import dask.array as da
import joblib
import numpy as np
import pytest
import zarr
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenfold import CMDA, MPCA, ProbabilisticLDA, gather_moments, load_model

DIGITS = load_digits().images, load_digits().target
FEW = ["numbers", "rbf_wide"]  # one of each kind
OURS = ["numbers", "units", "length", "kronecker", "rbf_wide", "rbf_narrow"]


def drawn(counts, shape=(3, 2), seed=0, apart=2.0):
    """Samples of Gaussian classes with so many samples each, shuffled."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    size = int(np.prod(shape))
    X = apart * rng.normal(size=(len(counts), size))[y]
    X = X + rng.normal(size=(len(y), size)) @ rng.normal(size=(size, size))
    return X.reshape(len(y), *shape), y


def digits(n_train, n_test=300, seed=0):
    """Training and test samples of handwritten digits."""
    X, y = DIGITS
    rows = np.random.default_rng(seed).permutation(len(X))
    train, test = rows[:n_train], rows[n_train : n_train + n_test]
    return X[train], y[train], X[test], y[test]


def log_loss(model, X, y):
    """The mean log loss of what a model says."""
    P = model.predict_proba(X)
    return float(-np.log(P[np.arange(len(y)), np.searchsorted(model.classes_, y)]).mean())


def assert_same_answers(came, expected, X, tolerance=1e-8):
    assert_array_equal(came.classes_, expected.classes_)
    assert_allclose(came.predict_proba(X), expected.predict_proba(X), atol=tolerance)
    ratios = expected.log_likelihood_ratio(X)
    scale = max(1.0, np.abs(ratios).max())
    assert_allclose(came.log_likelihood_ratio(X), ratios, atol=100 * tolerance * scale)


# ── Weights, copies, chance, few samples ────────────────────────────────────────────────────────


def test_a_sample_twice_is_a_sample_of_weight_two():
    X, y, new, _ = digits(70)
    doubled = np.random.default_rng(0).random(len(X)) < 0.5
    twice = ProbabilisticLDA().fit(np.r_[X, X[doubled]], np.r_[y, y[doubled]])
    weighted = ProbabilisticLDA().fit(X, y, sample_weight=1.0 + doubled)
    assert_same_answers(twice, weighted, new)
    assert twice.loo_log_loss_ == pytest.approx(weighted.loo_log_loss_, rel=1e-9)


def test_with_every_sample_twice_nobody_is_told_by_a_copy_of_themselves():
    X, y, new, answers = digits(80, n_test=1500)
    once = ProbabilisticLDA().fit(X, y)
    twice = ProbabilisticLDA().fit(np.r_[X, X], np.r_[y, y])
    assert twice.loo_log_loss_ > 0.7 * once.loo_log_loss_
    assert twice.score(new, answers) > once.score(new, answers) - 0.02


@pytest.mark.parametrize(("n", "n_classes"), [(10, 2), (40, 8), (150, 8)])
def test_nothing_is_found_in_noise(n, n_classes):
    """Neither the centre nor the factors of structured noise may know who is left out.

    Of few samples with many numbers, a centre that knows the sample tells its class: the mean of
    the class without it lies on the other side. So do factors that know some classes only.
    """
    worse = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = np.arange(n) % n_classes
        model = ProbabilisticLDA().fit(rng.normal(size=(n, 4, 60)), y)
        new = rng.normal(size=(200, 4, 60))
        worse.append(log_loss(model, new, np.arange(200) % n_classes) - np.log(n_classes))
    assert np.mean(worse) <= 0.03, worse


def test_shuffled_labels_are_told_no_better_than_by_chance():
    losses = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(60, 4, 5)), rng.normal(size=(1000, 4, 5))
        y, answers = np.arange(60) % 2, np.arange(1000) % 2
        losses.append(log_loss(ProbabilisticLDA().fit(X, y), new, answers))
    assert np.mean(losses) <= np.log(2) + 0.03, losses


def test_shuffled_digits_are_told_no_better_than_by_chance():
    losses = []
    for seed in range(2):
        X, y, new, _ = digits(80, seed=seed)
        rng = np.random.default_rng(seed)
        model = ProbabilisticLDA(priors="equal").fit(X, rng.permutation(y))
        losses.append(log_loss(model, new, rng.integers(0, 10, len(new))))
    assert np.mean(losses) <= np.log(10) + 0.03, losses


def test_two_classes_of_five_samples():
    losses = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        means = rng.normal(size=(2, 8))
        y, answers = np.arange(10) % 2, np.arange(400) % 2
        X = means[y] + rng.normal(size=(10, 8))
        new = means[answers] + rng.normal(size=(400, 8))
        losses.append(log_loss(ProbabilisticLDA().fit(X, y), new, answers))
    assert np.mean(losses) < 0.45, losses
    assert max(losses) < 0.9, losses


def test_two_percent_of_positives():
    """Eights among other digits: as good as scikit-learn's LDA, and as rare as they came."""
    X, y = DIGITS
    rng = np.random.default_rng(0)
    eights = rng.permutation(np.flatnonzero(y == 8))[:33]
    rows = rng.permutation(np.concatenate([np.flatnonzero(y != 8), eights]))
    train, test = rows[:600], rows[600:]
    model = ProbabilisticLDA(views="linear").fit(X[train], y[train] == 8)
    flat = X.reshape(len(X), -1)
    lda = LinearDiscriminantAnalysis().fit(flat[train], y[train] == 8)
    assert model.score(X[test], y[test] == 8) > lda.score(flat[test], y[test] == 8) - 0.005
    told = model.predict_proba(X[test])[:, 1].mean()
    assert abs(told - np.mean(y[test] == 8)) < 0.01
    shares = np.bincount(y[test] == 8) / len(test)
    assert log_loss(model, X[test], y[test] == 8) < 0.7 * -(shares @ np.log(shares))


def test_classes_of_one_to_a_hundred_samples():
    counts = [1, 2, 5, 20, 100]
    X, y = drawn(counts, (4, 4), seed=2)
    new, answers = drawn([200] * 5, (4, 4), seed=2)
    rng = np.random.default_rng(3)
    means = 2 * rng.normal(size=(5, 16))
    noise = rng.normal(size=(16, 16))
    X = (means[y] + rng.normal(size=(len(y), 16)) @ noise).reshape(-1, 4, 4)
    new = (means[answers] + rng.normal(size=(1000, 16)) @ noise).reshape(-1, 4, 4)
    model = ProbabilisticLDA(priors="equal").fit(X, y)
    assert_array_equal(model.class_count_, counts)
    assert log_loss(model, new, answers) < 0.8 * np.log(5)
    assert model.score(new, answers) > 0.6


# ── Last bits, units, order, cuts ───────────────────────────────────────────────────────────────

CHANGES = {
    "last bit": (1 + 1e-12, 0.0),
    "thousandth": (1e-3, 0.0),
    "million": (1e6, 0.0),
    "tiny": (1e-30, 0.0),
    "huge": (1e30, 0.0),
    "offset": (1.0, 1e6),
}


@pytest.fixture(scope="module")
def plain():
    """A model of digits, and what it answers."""
    X, y, new, _ = digits(70)
    model = ProbabilisticLDA().fit(X, y)
    return X, y, new, model.predict(new), model


@pytest.mark.parametrize(("factor", "offset"), CHANGES.values(), ids=CHANGES)
def test_units_and_offset_change_no_answer(plain, factor, offset):
    X, y, new, answers, _ = plain
    model = ProbabilisticLDA().fit(factor * X + offset, y)
    assert_array_equal(model.predict(factor * new + offset), answers)


def test_the_order_of_samples_and_float32_change_no_answer(plain):
    X, y, new, answers, model = plain
    rows = np.random.default_rng(5).permutation(len(X))
    other = ProbabilisticLDA().fit(X[rows], y[rows])
    assert_array_equal(other.predict_proba(new), model.predict_proba(new))
    thirds = ProbabilisticLDA().fit((X / 3).astype(np.float32), y)
    assert np.mean(thirds.predict((new / 3).astype(np.float32)) != answers) <= 0.001


def test_many_classes_are_judged_well_by_some_of_their_samples(monkeypatch):
    X, y = drawn([3] * 250, shape=(12,), apart=2.0)
    some = ProbabilisticLDA(views=["numbers"]).fit(X, y)  # one sample of each class searches
    monkeypatch.setattr("tenfold.gaussian.views.LARGEST_SEARCH", len(X) * 250)
    every = ProbabilisticLDA(views=["numbers"]).fit(X, y)  # all three do
    assert some.loo_log_loss_ <= every.loo_log_loss_ + 0.01  # nats, of the same samples


@pytest.mark.parametrize(("seed", "apart"), [(1, 2.0), (2, 100.0)])
@pytest.mark.parametrize(("factor", "offset"), [(1.0, 0.0), (1 / 3, 0.0), (1.0, 1e3)])
def test_order_units_and_offset_choose_the_same_samples_of_many_classes(
    seed, apart, factor, offset
):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(250), 3)
    X = apart * rng.normal(size=(250, 12))[y] + rng.normal(size=(750, 12))
    new = (X[:100] + X[100:200]) / 2
    model = ProbabilisticLDA(views=["numbers"]).fit(X, y)
    other = ProbabilisticLDA(views=["numbers"]).fit((factor * X + offset)[::-1], y[::-1])
    found = other.predict_log_proba(factor * new + offset)
    assert_allclose(found, model.predict_log_proba(new), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e150, 1e160, 1e300])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_samples_that_float64_cannot_square_are_refused_in_words(factor):
    X, y = drawn([8, 9, 7])
    with pytest.raises(ValueError, match=r"too (small|large) for float64"):
        ProbabilisticLDA().fit(factor * X, y)
    with pytest.raises(ValueError, match=r"too (small|large) for float64"):
        ProbabilisticLDA().partial_fit(factor * X, y)


@pytest.mark.parametrize("factor", [1e-120, 1e120])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_samples_of_extreme_size_are_learned_from(factor):
    X, y = drawn([8, 9, 7])
    expected = ProbabilisticLDA(FEW).fit(X, y)
    found = ProbabilisticLDA(FEW).fit(factor * X, y)
    assert_allclose(found.predict_proba(factor * X), expected.predict_proba(X), atol=1e-8)
    assert np.isfinite(found.log_likelihood_ratio(factor * X)).all()


@pytest.mark.parametrize("views", ["auto", "linear", ["length", "rbf"]], ids=str)
@pytest.mark.parametrize("size", [1e100, 1e160])
@pytest.mark.filterwarnings("ignore:samples hold numbers up to:UserWarning")
def test_far_samples_get_probabilities_or_words(views, size, tmp_path):
    X, y = drawn([8, 9, 7])
    model = ProbabilisticLDA(views=views).fit(X, y)
    np.save(tmp_path / "far.npy", size * X)
    stored = np.load(tmp_path / "far.npy", mmap_mode="r")
    for far in (size * X, stored):
        if size > 1e150 and far is not stored:
            with pytest.raises(ValueError, match="too large for float64"):
                model.predict_proba(far)
            continue
        P = model.predict_proba(far)
        assert np.isfinite(P).all()
        assert_allclose(P.sum(axis=1), 1)
        assert not np.isnan(model.log_likelihood_ratio(far)).any()
        assert not np.isnan(model.decision_function(far)).any()


@pytest.mark.parametrize("value", [1e8, 1e9, 1e10, 1e30])
@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore:samples hold numbers up to")
@pytest.mark.filterwarnings("ignore:.* will hold 101 training samples")
def test_one_sample_that_is_far_from_all_others_does_not_matter(value, tmp_path):
    """Such as a frame of a camera that was off: others are far from the mean then."""
    X, y, new, labels = digits(100)
    noise = np.random.default_rng(0).normal(size=X.shape)
    X, new = X / 16 + 0.1 * noise, new / 16
    expected = ProbabilisticLDA().fit(X, y).score(new, labels)
    far = np.full_like(X[:1], value)
    model = ProbabilisticLDA().fit(np.concatenate([X, far]), np.append(y, 3))
    assert model.score(new, labels) > expected - 0.06
    model.save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    later = ProbabilisticLDA(["rbf"]).fit(X, y).enroll(np.concatenate([far, 1.001 * far]), [10, 11])
    assert np.isfinite(later.predict_proba(new)).all()


@pytest.mark.parametrize("views", ["auto", [MPCA(ranks=(2, 2))]], ids=["auto", "transformer"])
def test_any_cut_of_a_stream_gives_the_model_of_one_fit(views):
    X, y = drawn([14, 9, 12, 7], (3, 4))
    new, _ = drawn([14, 9, 12, 7], (3, 4), seed=1)
    whole = ProbabilisticLDA(views=views).fit(X, y)
    rng = np.random.default_rng(3)
    for n_parts in (2, 4):
        stream = ProbabilisticLDA(views=views)
        cuts = np.sort(rng.choice(np.arange(1, len(X)), n_parts - 1, replace=False))
        for rows in np.split(rng.permutation(len(X)), cuts):
            stream.partial_fit(X[rows], y[rows])
        assert_array_equal(stream.predict_proba(new), whole.predict_proba(new))
        assert stream.loo_log_loss_ == whole.loo_log_loss_


def test_a_long_stream_is_one_fit_in_linear_views():
    """Beyond 2000 samples, moments are of all of them."""
    X, y = drawn([1000, 1300, 400], (3, 2), apart=0.5)
    whole = ProbabilisticLDA(views="linear").fit(X, y)
    stream = ProbabilisticLDA(views="linear")
    for rows in np.array_split(np.random.default_rng(0).permutation(len(X)), 4):
        stream.partial_fit(X[rows], y[rows])
    assert_same_answers(stream, whole, X, 1e-9)
    assert_array_equal(stream.class_count_, [1000, 1300, 400])
    flat = X.reshape(len(X), -1)
    lda = LinearDiscriminantAnalysis().fit(flat, y)
    assert np.mean(whole.predict(X) != lda.predict(flat)) < 0.02


def test_decay_is_a_weight_of_all_that_came_before():
    X, y = drawn([14, 9, 12])
    more, labels = drawn([5, 5, 5], seed=1)
    stream = ProbabilisticLDA(FEW).partial_fit(X, y).partial_fit(more, labels, decay=0.5)
    weight = np.r_[np.full(len(X), 0.5), np.ones(len(more))]
    whole = ProbabilisticLDA(FEW).fit(np.r_[X, more], np.r_[y, labels], weight)
    assert_same_answers(stream, whole, X)
    for _ in range(6):  # of what came first not even a trace is left
        stream.partial_fit(more, labels, decay=1e-60)
    assert_same_answers(stream, ProbabilisticLDA(FEW).fit(more, labels), X, 1e-6)
    with pytest.raises(ValueError, match="decay forgets too much"):
        stream.partial_fit(more[:1], labels[:1], decay=1e-40)


def test_before_there_are_two_of_a_class_a_stream_gathers():
    X, y = drawn([14, 9, 12], (6,))
    firsts = [np.flatnonzero(y == c)[0] for c in range(3)]
    model = ProbabilisticLDA(FEW).partial_fit(X[firsts], y[firsts])
    with pytest.raises(NotFittedError):
        model.predict(X)
    rest = np.setdiff1d(np.arange(len(y)), firsts)
    model.partial_fit(X[rest], y[rest])
    assert_same_answers(model, ProbabilisticLDA(FEW).fit(X, y), X)
    grown = ProbabilisticLDA(FEW).fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert_same_answers(grown, ProbabilisticLDA(FEW).fit(X, y), X)
    large = np.zeros((len(X), 300))
    large[:, :6] = X
    for fitted in (
        ProbabilisticLDA(["numbers"]).fit(large, y),
        ProbabilisticLDA(["numbers"]).fit(large[:, :20], y, groups=np.arange(len(y)) % 5),
    ):
        with pytest.raises(ValueError, match="start with partial_fit"):
            fitted.partial_fit(large[:, : fitted.n_features_in_], y)


def test_samples_without_weight_are_not_there():
    X, y = drawn([14, 9, 12])
    strange = np.r_[X, 1e3 * X[:4] + 1e4]
    weight = np.r_[np.ones(len(X)), np.zeros(4)]
    came = ProbabilisticLDA(FEW).fit(strange, np.r_[y, [0, 1, 2, 7]], sample_weight=weight)
    assert_same_answers(came, ProbabilisticLDA(FEW).fit(X, y), X)


def stored(form, X, folder):
    """Samples in an array of another library, or in a store."""
    if form == "dask":
        return da.from_array(X, chunks=(7, *X.shape[1:]))
    if form == "memory map":
        np.save(folder / "samples.npy", X)
        return np.load(folder / "samples.npy", mmap_mode="r")
    store = zarr.create_array(str(folder / "samples.zarr"), shape=X.shape, dtype=X.dtype)
    store[:] = X
    return store


@pytest.mark.parametrize("form", ["dask", "memory map", "zarr"])
def test_stores_give_the_model_of_memory(form, tmp_path):
    X, y = drawn([14, 9, 12, 7], (12,))
    samples = stored(form, X, tmp_path)
    model = ProbabilisticLDA(FEW).fit(samples, y)
    expected = ProbabilisticLDA(FEW).fit(X, y)
    assert_same_answers(model, expected, X)
    assert_allclose(np.asarray(model.predict_proba(samples)), expected.predict_proba(X))
    later = np.full(len(X), 9)
    assert_same_answers(model.enroll(samples, later), expected.enroll(X, later), X)


def test_few_large_samples_never_make_a_table_of_their_numbers():
    y = np.arange(18) % 3
    X = np.random.default_rng(0).normal(size=(18, 60, 50)) + y[:, None, None]
    tracemalloc.start()
    try:
        ProbabilisticLDA().fit(X, y).predict(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 3000**2 / 4  # one 3000 x 3000 table takes 72 MB


# ── Views ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("views", "tried"),
    [
        ("numbers", ["numbers"]),
        (["units"], ["units"]),
        (["length", "numbers"], ["numbers", "length"]),
        (["rbf"], ["rbf_wide", "rbf_narrow"]),
        (["rbf_narrow"], ["rbf_narrow"]),
        (["kronecker"], ["kronecker"]),
        ("linear", ["numbers", "units", "kronecker"]),
        (["linear", "rbf_wide"], ["numbers", "units", "kronecker", "rbf_wide"]),
        ("auto", OURS),
        ([..., "numbers"], OURS),
        ([..., PCA(3)], [*OURS, "PCA"]),
        (("numbers", PCA(3), PCA(2)), ["numbers", "PCA", "PCA 2"]),
    ],
    ids=str,
)
def test_views_by_name(views, tried):
    X, y = drawn([6, 7, 8, 6, 7, 6, 5], (3, 4), apart=0.7)
    if any(isinstance(view, PCA) for view in views):
        X = X.reshape(len(X), -1)
        tried = [name for name in tried if name != "kronecker"]
    model = ProbabilisticLDA(views=views).fit(X, y)
    found = list(model.views_)
    if "kronecker" in tried and "kronecker" not in found:
        found.insert(tried.index("kronecker"), "kronecker")  # a first look said no
    assert found == tried
    assert model.weights_.shape == (len(model.views_),)
    assert len(model.pool_["views"]) == np.sum(model.weights_ > 0)
    assert model.score(X, y) > 0.6


def test_flat_rows_are_folded_as_sample_shape_says():
    X, y = drawn([6, 7, 8], (3, 4))
    folded = ProbabilisticLDA(sample_shape=(3, 4)).fit(X.reshape(len(X), -1), y)
    expected = ProbabilisticLDA().fit(X, y)
    assert folded.sample_shape_ == (3, 4)
    assert_array_equal(folded.predict_proba(X.reshape(len(X), -1)), expected.predict_proba(X))


class Spy(TransformerMixin, BaseEstimator):
    """Passes samples on as rows, and notes how it is called."""

    calls = []  # noqa: RUF012

    def __init__(self, spoil=None):
        self.spoil = spoil

    def fit(self, X, y=None):
        Spy.calls.append((X.shape, y))
        return self

    def transform(self, X):
        rows = np.array(X).reshape(len(X), -1)
        if self.spoil == "gap" and len(rows) > 3:
            rows[3, 0] = np.nan
        if self.spoil == "rows":
            rows = rows[:-1]
        if self.spoil == "one axis":
            rows = rows[:, 0]
        return rows


def test_transformers_are_fitted_once_and_see_no_labels():
    X, y = drawn([9, 8, 7], (4, 3))
    Spy.calls.clear()
    spy = Spy()
    model = ProbabilisticLDA(views=["numbers", spy]).fit(X, y)
    assert Spy.calls == [((24, 4, 3), None)]
    assert vars(spy) == {"spoil": None}
    assert model.views_ == ["numbers", "Spy"]
    model.predict(X)
    assert len(Spy.calls) == 1


def test_a_view_that_passes_numbers_on_is_the_view_of_numbers():
    X, y = drawn([9, 8, 7], (4, 3))
    own = ProbabilisticLDA(views=["numbers", "units"]).fit(X, y)
    passed = ProbabilisticLDA(views=[Spy()]).fit(X, y)
    least = own.pool_["log_losses"].min()
    assert passed.pool_["log_losses"][0] == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize(
    "view",
    [PCA(5), StandardScaler(), make_pipeline(StandardScaler(), PCA(15)), MPCA(ranks=0.95)],
    ids=lambda v: type(v).__name__,
)
def test_transformers_of_scikit_learn_and_ours_are_views(view):
    X, y, new, answers = digits(150)
    if not isinstance(view, MPCA):
        X, new = X.reshape(len(X), -1), new.reshape(len(new), -1)
    model = ProbabilisticLDA(views=[view]).fit(X, y)
    assert model.score(new, answers) > 0.7
    outside = clone(view).fit(X)
    before = ProbabilisticLDA(views=["numbers", "units"]).fit(outside.transform(X), y)
    least = before.pool_["log_losses"].min()
    assert model.pool_["log_losses"][0] == pytest.approx(least, rel=1e-6)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.predict_proba(new), model.predict_proba(new))


@pytest.mark.parametrize("view", [CMDA(), LinearDiscriminantAnalysis()], ids=repr)
def test_a_view_that_needs_labels_is_refused_in_words(view):
    X, y = drawn([9, 8, 7], (12,))
    name = type(view).__name__
    with pytest.raises(ValueError, match=f"view {name} needs labels.*make_pipeline"):
        ProbabilisticLDA(views=[view]).fit(X, y)
    pipeline = make_pipeline(clone(view), ProbabilisticLDA(views=["numbers"]))
    assert pipeline.fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ("gap", "view 'Spy' gave features that are not finite, first for sample 3"),
        ("rows", r"view 'Spy' gave features of shape \(23, 12\) for 24 samples"),
        ("one axis", r"view 'Spy' gave features of shape \(24,\) for 24 samples"),
    ],
)
def test_a_view_with_bad_features_is_named(spoil, words):
    X, y = drawn([9, 8, 7], (4, 3))
    with pytest.raises(ValueError, match=words):
        ProbabilisticLDA(views=["numbers", Spy(spoil)]).fit(X, y)


@pytest.mark.parametrize(
    ("views", "words"),
    [
        ("kernel", "views holds 'kernel'; expected one of 'auto', 'linear'"),
        (["numbers", "unit"], "views holds 'unit'; expected one of"),
        ([], r"views is \[\]; expected 'auto', 'linear' or a list"),
        (3, "views is 3; expected"),
        (None, "views is None; expected"),
        ([3.5], "views holds 3.5; expected a name, or a transformer with fit and transform"),
        ([KeyError], "expected a name, or a transformer"),
    ],
)
def test_views_that_are_none_are_refused_in_words(views, words):
    X, y = drawn([9, 8, 7], (4, 3))
    with pytest.raises(ValueError, match=words):
        ProbabilisticLDA(views=views).fit(X, y)
    with pytest.raises(ValueError, match=words):
        ProbabilisticLDA(views=views).partial_fit(X, y)


# ── Groups ──────────────────────────────────────────────────────────────────────────────────────


def test_whole_groups_are_left_out():
    """Frames of one video are near copies: with groups the model knows how little it knows."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(20), 5)
    y = group % 2
    means = 0.5 * rng.normal(size=(2, 12))
    videos = rng.normal(size=(20, 12)) + means[np.arange(20) % 2]
    X = videos[group] + 0.01 * rng.normal(size=(100, 12))
    answers = np.arange(400) % 2
    new = rng.normal(size=(400, 12)) + means[answers]
    with pytest.warns(UserWarning, match=r"near copy.*pass groups="):
        sure = ProbabilisticLDA(FEW).fit(X, y)
    model = ProbabilisticLDA(FEW).fit(X, y, groups=group)
    assert model.loo_log_loss_ > 10 * sure.loo_log_loss_
    assert log_loss(model, new, answers) < 0.8 * log_loss(sure, new, answers)
    names = np.array([f"video {g:02}" for g in group])
    rows = rng.permutation(100)
    again = ProbabilisticLDA(FEW).fit(X[rows], y[rows], groups=names[rows])
    assert_same_answers(again, model, new)
    with pytest.raises(ValueError, match="groups has one group only"):
        ProbabilisticLDA(FEW).fit(X, y, groups=np.zeros(100))
    with pytest.raises(ValueError, match="groups"):
        ProbabilisticLDA(FEW).fit(X, y, groups=group[:7])


@pytest.mark.parametrize("name", ["{1}{0}", "{0}{1}"], ids=["class last", "class first"])
def test_the_names_of_groups_do_not_keep_any_class_from_being_left_out(name):
    """Sessions of ten people: sorted by name, every tenth group is of the same person."""
    X, y = drawn([12] * 10, shape=(8,), apart=1.5)
    session = np.arange(len(y)) % 4
    groups = np.array([name.format(person, s) for person, s in zip(y, session, strict=True)])
    chosen = ProbabilisticLDA(FEW).fit(X, y, groups=groups)
    chance = np.log(10)
    assert chosen.loo_log_loss_ < 0.8 * chance
    assert chosen.views_ == FEW


def test_groups_of_whole_classes_cannot_choose_and_say_so():
    X, y = drawn([6, 6, 6])
    with pytest.warns(UserWarning, match="groups hold whole classes"):
        ProbabilisticLDA(FEW).fit(X, y, groups=y)
    weight = (np.arange(18) % 2).astype(float)
    with pytest.raises(ValueError, match="groups has one group only"):
        ProbabilisticLDA(FEW).fit(X, y, sample_weight=weight, groups=weight)
    with pytest.raises(ValueError, match="groups contains NaN or None"):
        ProbabilisticLDA(FEW).fit(X, y, groups=["a", "b", np.nan] * 6)


@pytest.mark.parametrize("views", ["auto", "linear"])
def test_two_sessions_of_one_sample_each_do_not_choose_and_say_so(views):
    """Without a session no class has two samples, so there is no noise to be in units of."""
    X, y, new, labels = digits(400)
    rows = np.concatenate([np.flatnonzero(y == c)[:2] for c in range(10)])
    models = []
    for unit in (1.0, 1e-6):
        model = ProbabilisticLDA(views=views)
        with pytest.warns(UserWarning, match="groups leave one sample of each class at most"):
            model.fit(unit * X[rows], y[rows], groups=np.arange(20) % 2)
        models.append(model.predict_proba(unit * new))
    assert_allclose(models[1], models[0], atol=1e-8)
    assert np.log(models[0])[np.arange(len(new)), labels].mean() > -1.3


def test_equal_samples_of_several_groups_are_all_counted():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1], [2400, 600]))
    X = (rng.integers(0, 3, size=(3000, 3)) + y[:, None]).astype(float)
    model = ProbabilisticLDA("linear").fit(X, y, groups=rng.integers(0, 50, 3000))
    assert_array_equal(model.class_count_, [2400, 600])


def test_classes_have_all_their_samples_where_no_table_of_them_is_kept():
    counts = [2300, 60]
    y = np.repeat([0, 1], counts)
    X = np.random.default_rng(0).normal(size=(len(y), 2501)).astype(np.float32)
    model = ProbabilisticLDA(["numbers"]).fit(X, y)
    assert_array_equal(model.class_count_, counts)
    assert_allclose(model.priors_, np.array(counts) / len(y))
    stream = ProbabilisticLDA(["numbers"]).partial_fit(X[:1200], y[:1200], classes=[0, 1])
    assert_array_equal(stream.partial_fit(X[1200:], y[1200:]).class_count_, counts)


def test_a_view_that_the_samples_do_not_suit_is_said_to_be_left_out():
    X, y = drawn([6, 6, 6], shape=(5,))
    with pytest.warns(UserWarning, match="views names filters, kronecker, which cannot be tried"):
        model = ProbabilisticLDA(["numbers", "filters", "kronecker"]).fit(X, y)
    assert model.views_ == ["numbers"]
    X, y = drawn([2] * 1100, shape=(3,), apart=5.0)  # of each class one sample is kept
    with pytest.warns(UserWarning, match="views names length, which cannot be tried"):
        model = ProbabilisticLDA(["numbers", "length"]).fit(X, y)
    assert model.views_ == ["numbers"]


class Doubled(TransformerMixin, BaseEstimator):
    """Features that are made in place."""

    def fit(self, X, y=None):
        X *= 2
        return self

    def transform(self, X):
        X *= 2
        return X.reshape(len(X), -1)


def test_a_transformer_that_works_in_place_changes_no_sample():
    X, y = drawn([6, 6, 6])
    before = X.copy()
    model = ProbabilisticLDA(["numbers", Doubled()]).fit(X, y)
    first = model.predict_proba(X)
    assert_array_equal(model.predict_proba(X), first)
    assert_array_equal(X, before)


# ── Enrollment ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("label", [1, 9], ids=["a known label", "a new label"])
def test_enrolled_samples_are_added_to_class_means_and_counts(label):
    """Linear views: the formula with explicit inverses, mean and count with the new samples."""
    X, y = drawn([5, 4, 6], (12,))
    later, _ = drawn([3], (12,), seed=7)
    model = ProbabilisticLDA(views=["numbers"]).fit(X, y)
    before = model.log_likelihood_ratio(X)
    (packed,) = model.pool_["views"]
    assert model.enroll(later[:1], [label]).enroll(later[1:], [label, label]) is model
    known = label == 1
    own = np.r_[X[y == 1], later] if known else later
    n, m = len(own), own.mean(axis=0) - X.mean(axis=0)
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    deviations = X - means[y]
    scatter, rho, b, freedom = deviations.T @ deviations, packed["rho"], packed["b"], 12.0
    R_0, R_n, R_more = (
        freedom * np.linalg.inv(scatter + (rho + k * b) * np.eye(12)) for k in (0, n, n + 1)
    )
    a = n / (n + 1)
    expected = a * (X - X.mean(axis=0)) @ (R_0 - R_more) @ m
    expected -= 0.5 * m @ (a * R_0 - n * R_n + n * a * R_more) @ m
    expected *= packed["weight"] / packed["temperature"]
    column = 1 if known else 3
    found = model.decision_function(X)[:, column] - np.log(model.priors_[column])
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert model.class_count_[column] == n
    assert model.classes_.tolist() == ([0, 1, 2] if known else [0, 1, 2, 9])
    others = [c for c in range(3) if c != column]
    after = model.log_likelihood_ratio(X)[:, others]
    assert_allclose(after, before[:, others], atol=1e-9)


@pytest.mark.parametrize("views", [["numbers", "units"], ["rbf"], ["length"]], ids=str)
def test_digits_that_come_later_are_found(views):
    X, y, new, answers = digits(300)
    known = y < 8
    model = ProbabilisticLDA(views=views, priors="equal").fit(X[known], y[known])
    model.enroll(X[~known], y[~known])
    assert_array_equal(model.classes_, np.arange(10))
    whole = ProbabilisticLDA(views=views, priors="equal").fit(X, y)
    late = answers >= 8
    assert model.score(new[late], answers[late]) > whole.score(new[late], answers[late]) - 0.1
    assert model.score(new, answers) > whole.score(new, answers) - 0.04
    copy = pickle.loads(pickle.dumps(model))
    assert_allclose(copy.predict_proba(new), model.predict_proba(new), atol=1e-9)


def test_a_known_sample_may_be_enrolled_again():
    X, y = drawn([5, 4, 6], (12,))
    model = ProbabilisticLDA(views=["rbf"]).fit(X, y)
    model.enroll(X[:3], y[:3]).enroll(np.r_[X[:1], X[:1]], [7, 7])
    assert np.isfinite(model.log_likelihood_ratio(X)).all()
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_an_enrolled_class_gets_the_mean_prior():
    X, y = drawn([30, 6, 12, 3, 4])
    first = y < 3
    for priors, before in [
        (None, np.array([30, 6, 12]) / 48),
        ("equal", np.full(3, 1 / 3)),
        ({0: 0.1, 1: 0.2, 2: 0.7}, np.array([0.1, 0.2, 0.7])),
    ]:
        model = ProbabilisticLDA(views=["numbers"], priors=priors).fit(X[first], y[first])
        model.enroll(X[y == 0][:5], y[y == 0][:5])  # more samples of a known class
        assert_allclose(model.priors_, before)
        model.enroll(X[~first], y[~first])
        assert_allclose(model.priors_, np.append(before, [1 / 3, 1 / 3]) * 3 / 5)


def test_partial_fit_after_enrollment_knows_all_samples():
    X, y = drawn([14, 9, 12, 11])
    labels = np.array(["b", "a", "d", "c"])[y]
    first = (y != 3) & (np.arange(len(y)) < 36)  # "c", between the others, comes later
    model = ProbabilisticLDA(FEW).partial_fit(X[first], labels[first])
    second = y == 3
    model.enroll(X[second], labels[second])
    rest = ~first & ~second
    model.partial_fit(X[rest], labels[rest])
    assert_same_answers(model, ProbabilisticLDA(FEW).fit(X, labels), X)


def test_enrollment_that_is_wrong_is_refused_in_words():
    X, y = drawn([4, 4, 4])
    model = ProbabilisticLDA(FEW, priors=[0.2, 0.3, 0.5]).fit(X, y).enroll(X[:1], [3])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="NaN"):
        model.enroll(np.full((1, 3, 2), np.nan), [4])
    with pytest.raises(ValueError, match="shape"):
        model.enroll(X[:, :2], y)
    with pytest.raises(ValueError, match=r"labels are text.*numbers"):
        model.enroll(X[:1], ["new"])
    with pytest.raises(ValueError, match="y"):
        model.enroll(X[:1], None)
    with pytest.raises(NotFittedError):
        ProbabilisticLDA(FEW).enroll(X, y)
    assert pickle.dumps(model) == before


# ── Probabilities and decisions ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("counts", [[30, 6], [30, 6, 12]])
@pytest.mark.parametrize("priors", [None, "equal", "given", "by label"])
def test_decisions_probabilities_and_priors_agree(priors, counts):
    X, y = drawn(counts, apart=0.4)
    given = np.arange(1, len(counts) + 1) / sum(range(len(counts) + 1))
    asked = {"given": given, "by label": dict(enumerate(given))}.get(priors, priors)
    model = ProbabilisticLDA(FEW, priors=asked).fit(X, y)
    stated = {None: np.array(counts) / sum(counts), "equal": np.full(len(counts), 1 / len(counts))}
    assert_allclose(model.priors_, stated.get(priors, given))
    decision, P = model.decision_function(X), model.predict_proba(X)
    decided = (decision > 0).astype(int) if len(counts) == 2 else decision.argmax(axis=1)
    assert_array_equal(model.predict(X), decided)
    assert_array_equal(model.predict(X), P.argmax(axis=1))
    assert_allclose(P.sum(axis=1), 1)
    assert_allclose(np.exp(model.predict_log_proba(X)), P)
    floor = 1 / (len(y) + 2)
    assert P.min() >= floor / len(counts)
    assert P.max() <= 1 - floor + floor / len(counts)
    ratios = model.log_likelihood_ratio(X)
    assert ratios.shape == (len(X), len(counts))


def test_priors_follow_weights():
    X, y = drawn([30, 6, 12])
    weight = np.where(y == 1, 3.0, 1.0)
    model = ProbabilisticLDA(FEW).fit(X, y, sample_weight=weight)
    assert_allclose(model.priors_, np.array([30, 18, 12]) / 60)


def test_a_class_of_prior_zero_is_never_predicted():
    X, y = drawn([12, 15, 11])
    model = ProbabilisticLDA(FEW, priors=[0.5, 0.5, 0.0]).fit(X, y)
    assert (model.predict_proba(X)[:, 2] == 0).all()
    assert np.isfinite(model.loo_log_loss_)
    assert set(model.predict(X)) == {0, 1}


def test_ratios_do_not_depend_on_priors_and_tell_strangers():
    X, y, new, answers = digits(300)
    known = y < 7
    model = ProbabilisticLDA(views=["rbf"]).fit(X[known], y[known])
    equal = ProbabilisticLDA(views=["rbf"], priors="equal").fit(X[known], y[known])
    of_known = model.log_likelihood_ratio(new[answers < 7]).max(axis=1)
    of_strangers = model.log_likelihood_ratio(new[answers >= 7]).max(axis=1)
    assert np.mean(of_known[:, None] > of_strangers) > 0.85
    assert np.mean(of_known > 0) > 0.8
    assert np.mean(model.log_likelihood_ratio(new[answers >= 7]) < 0) > 0.8
    other = equal.log_likelihood_ratio(new)
    assert np.corrcoef(other.ravel(), model.log_likelihood_ratio(new).ravel())[0, 1] > 0.99


def test_the_score_of_a_set_is_the_mean_of_its_samples():
    X, y, new, answers = digits(200)
    model = ProbabilisticLDA(views=["numbers"]).fit(X, y)
    names, scores = model.set_scores(new, answers)
    assert_array_equal(names, np.arange(10))
    ratios = model.log_likelihood_ratio(new)
    for name, score in zip(names, scores, strict=True):
        assert_allclose(score, ratios[answers == name].mean(axis=0))
    assert_array_equal(scores.argmax(axis=1), names)


# ── What can be seen ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("views", [["numbers"], ["units"], ["kronecker"], "linear"], ids=str)
def test_patterns_are_the_covariance_times_the_weights(views):
    X, y = drawn([9, 8, 7, 6, 5, 8], (4, 3))
    model = ProbabilisticLDA(views=views).fit(X, y)
    assert model.patterns_.shape == (6, 4, 3)
    flat = X.reshape(len(X), -1)
    weights = []
    for place in range(12):  # what a step along one number adds to the scores
        step = np.eye(12)[place].reshape(1, 4, 3)
        weights.append((model.decision_function(step) - model.decision_function(0 * step))[0])
    weights = np.array(weights)
    weights -= weights.mean(axis=1, keepdims=True)
    expected = np.cov(flat.T, bias=True) @ weights
    assert_allclose(model.patterns_.reshape(6, 12).T, expected, rtol=1e-7, atol=1e-9)


def test_without_a_linear_view_there_are_no_patterns():
    X, y = drawn([9, 8, 7], (4, 3))
    model = ProbabilisticLDA(views=["rbf"]).fit(X, y)
    with pytest.raises(AttributeError, match="fit with views='linear'"):
        _ = model.patterns_


def test_the_pool_shows_what_was_tried():
    X, y, _, _ = digits(80)
    model = ProbabilisticLDA().fit(X, y)
    assert len(model.pool_["log_losses"]) == len(model.views_) == len(model.weights_)
    sure, right, counts = model.pool_["calibration"]
    assert counts.sum() == pytest.approx(80)
    assert ((sure >= 0) & (sure <= 1) & (right >= 0) & (right <= 1)).all()
    assert model.loo_log_loss_ < np.log(10)
    assert model.pool_["floor"] == pytest.approx(1 / 82)


# ── Moments ─────────────────────────────────────────────────────────────────────────────────────


def test_moments_alone_give_the_view_of_numbers():
    X, y, new, answers = digits(300)
    model = ProbabilisticLDA().fit_moments(gather_moments(X, y))
    assert model.views_ == ["numbers"]
    numbers = ProbabilisticLDA(views=["numbers"]).fit(X, y)
    assert model.score(new, answers) > numbers.score(new, answers) - 0.03
    assert log_loss(model, new, answers) < log_loss(numbers, new, answers) + 0.3
    assert np.isfinite(model.log_likelihood_ratio(new)).all()
    assert model.patterns_.shape == (10, 8, 8)
    assert model.enroll(new[:2], [10, 10]).classes_[-1] == 10


@pytest.mark.parametrize("views", [["rbf"], [MPCA(ranks=2)]])
def test_views_that_cannot_be_are_named(views):
    X, y = drawn([6, 6, 6])
    with pytest.warns(UserWarning, match="from moments the only view is 'numbers'"):
        assert ProbabilisticLDA(views).fit_moments(gather_moments(X, y)).views_ == ["numbers"]
    X, y = drawn([2, 1, 1])
    with pytest.warns(UserWarning, match="cannot be tried .* the views tried are numbers"):
        assert ProbabilisticLDA(views).fit(X, y).views_ == ["numbers"]


def test_without_left_out_samples_the_loss_is_that_of_a_guess():
    X, y = drawn([6, 6, 12])
    for model, priors in (
        (ProbabilisticLDA().fit_moments(gather_moments(X, y)), [0.25, 0.25, 0.5]),
        (ProbabilisticLDA(priors="equal").fit_moments(gather_moments(X, y)), [1 / 3] * 3),
        (ProbabilisticLDA(priors=[0, 0.5, 0.5]).fit_moments(gather_moments(X, y)), [0.5] * 2),
    ):
        assert model.loo_log_loss_ == pytest.approx(-np.dot(priors, np.log(priors)))


# ── Manners ─────────────────────────────────────────────────────────────────────────────────────


def test_a_fit_that_fails_changes_nothing():
    X, y = drawn([12, 9, 14])
    model = ProbabilisticLDA(FEW).fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="1 class"):
        model.fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full_like(X, np.nan), y)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("views", ["auto", "linear"])
def test_what_cannot_be_learned_from_is_refused_in_words(views):
    X, y = drawn([4, 4, 4])
    for samples, labels, words in [
        (X, np.zeros(12), "1 class"),
        (X, np.arange(12), "two or more of some class"),
        (np.ones_like(X), y, "all samples are equal"),
        (0 * X, y, "all samples are equal"),
    ]:
        with pytest.raises(ValueError, match=words):
            ProbabilisticLDA(views=views).fit(samples, labels)
    X, y = drawn([3, 7, 10])
    with pytest.raises(ValueError, match="all samples are equal"):  # class means are rounded
        ProbabilisticLDA(views=views).fit(0 * X + 0.1, y)
    moments = gather_moments(X, np.zeros(20, dtype=int))
    with pytest.raises(ValueError, match="1 class"):
        ProbabilisticLDA(views=views).fit_moments(moments)


@pytest.mark.parametrize(
    ("priors", "words"),
    [
        ([0.3, 0.3, 0.3], "sum 0.9.*sum to 1"),
        ([-0.5, 0.5, 1.0], "0 or more"),
        ([0.5, 0.5], r"shape \(2,\).*3 classes"),
        ({0: 0.4, 1: 0.4, 7: 0.2}, "differ in 2, 7"),
        ("uniform", "priors is 'uniform'.*'equal'"),
    ],
)
def test_priors_that_are_wrong_are_refused_in_words(priors, words):
    X, y = drawn([4, 4, 4])
    with pytest.raises(ValueError, match=words):
        ProbabilisticLDA(FEW, priors=priors).fit(X, y)
    with pytest.raises(ValueError, match=words):
        ProbabilisticLDA(FEW, priors=priors).partial_fit(X, y)


def test_constant_numbers_and_single_samples_are_served():
    X, y = drawn([9, 9, 1, 9], (3, 3), apart=20.0)
    X[:, 1] = 7.0
    model = ProbabilisticLDA().fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.predict(X[y == 2]).tolist() == [2]
    assert model.score(X, y) > 0.8


def test_classes_without_any_noise_are_told_apart():
    y = np.repeat([0, 1, 2], 4)
    X = np.eye(3)[y].reshape(12, 3, 1) + np.zeros((12, 3, 2))
    model = ProbabilisticLDA().fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert_array_equal(model.predict(X), y)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_structure_is_not_learned_from_equal_samples():
    """Two of three recordings are empty."""
    y = np.arange(36) % 3
    groups = np.arange(36) // 12
    varied, _ = drawn([12], (4, 3))
    X = np.zeros((36, 4, 3))
    X[:12] = varied + 20.0 * np.eye(3)[y[:12], None]
    model = ProbabilisticLDA().fit(X, y, groups=groups)
    assert np.isfinite(model.predict_proba(X)).all()
    assert "kronecker" not in model.views_


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [3, 8]], ids=str)
def test_two_labels_of_any_kind(labels):
    X, y = drawn([12, 9], apart=3.0)
    named = np.array(labels)[y]
    model = ProbabilisticLDA(FEW).fit(X, named)
    assert model.classes_.tolist() == labels
    assert model.decision_function(X).shape == (len(X),)
    assert_array_equal(model.predict(X), np.array(labels)[(model.decision_function(X) > 0) * 1])
    plain_model = ProbabilisticLDA(FEW).fit(X, y)
    assert_array_equal(model.predict_proba(X), plain_model.predict_proba(X))


def test_copies_and_searches(tmp_path):
    X, y = drawn([12, 9, 14], (4, 3))
    model = ProbabilisticLDA(views=["numbers", "rbf"]).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (joblib.load(tmp_path / "model.joblib"), pickle.loads(pickle.dumps(model))):
        assert_allclose(copy.predict_proba(X), model.predict_proba(X), atol=1e-12)
    again = clone(model)
    assert again.views == ["numbers", "rbf"]
    assert not hasattr(again, "pool_")
    stream = ProbabilisticLDA(FEW).partial_fit(X[:20], y[:20])
    grown = pickle.loads(pickle.dumps(stream)).partial_fit(X[20:], y[20:])
    assert_same_answers(grown, ProbabilisticLDA(FEW).fit(X, y), X)
    grid = {"views": ["linear", ["numbers"], [MPCA(ranks=(2, 2))]]}
    search = GridSearchCV(ProbabilisticLDA(FEW), grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict(X).shape == y.shape


def test_classes_that_differ_where_little_varies_are_told_apart_from_many_samples():
    """As in spectra: most variance lies along few directions, and classes differ along others."""
    rng = np.random.default_rng(0)
    spread = np.geomspace(1, 1e-3, 30)
    means = 1.5 * spread * rng.normal(size=(4, 30)) * (spread < 0.01)
    y = np.arange(2400) % 4
    X = means[y] + spread * rng.normal(size=(2400, 30))
    X = X @ np.linalg.qr(rng.normal(size=(30, 30)))[0]
    model = ProbabilisticLDA(views="linear").fit(X[:1200], y[:1200])
    oracle = LinearDiscriminantAnalysis().fit(X[:1200], y[:1200])
    assert model.score(X[1200:], y[1200:]) > oracle.score(X[1200:], y[1200:]) - 0.01

"""Training samples cannot be read back from what is saved or pickled, as an attacker would try."""

import pickle
import warnings

import numpy as np
import pytest
import safetensors.numpy
from sklearn.pipeline import make_pipeline

import tenfold
from tenfold import (
    CSDA,
    CSRDA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    CovariateRemover,
    GaussianImputer,
    KernelCSDA,
    ModeScaler,
    OpenSetClassifier,
    ProbabilisticLDA,
    RankSearchCV,
)
from tenfold.methods import LINEAR_METHODS

SHAPE, SIZE = (4, 3), 12
RNG = np.random.default_rng(0)
Y = np.repeat(["ann", "bob", "cleo"], 6)
X = RNG.normal(size=(18, *SHAPE)) + RNG.normal(size=(3, *SHAPE))[np.repeat([0, 1, 2], 6)]

MODELS = [
    *(Method(ranks=2) for Method in LINEAR_METHODS),
    KernelCSDA(ranks=2, kernel="rbf"),
    ClassSpecificClassifier(MCSDA(ranks=2)),
    ClassSpecificVerifier(MCSDA(ranks=2, positive="bob"), false_accept_rate=0.5),
    ProbabilisticLDA("linear"),
    ProbabilisticLDA(["length", MPCA(ranks=(4, 3))]),
    ProbabilisticLDA(["rbf_narrow"]),
    OpenSetClassifier(ProbabilisticLDA("linear"), false_accept_rate=0.5),
    RankSearchCV(ClassSpecificClassifier(MCSDA()), [2, 3], cv=2),
    ModeScaler((), per_sample=False),
    ModeScaler(),
    GaussianImputer(),
    CovariateRemover(),
]
STREAMS = [MCSDA(ranks=2), MPCA(ranks=2), ClassSpecificClassifier(MCSDA(ranks=2))]
STREAMS += [ModeScaler()]


def fitted(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, Y)


def streamed(model):
    labels = {} if isinstance(model, ModeScaler) else {"classes": np.unique(Y)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for half in (slice(0, None, 2), slice(1, None, 2)):
            model = model.partial_fit(X[half], Y[half], **labels)
        return model


def arrays_in(value, seen=None):
    """Every array that can be reached from an object."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, str | bytes | int | float | type | None):
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            yield value
        return
    parts = value if isinstance(value, list | tuple | set) else ()
    parts = [*value, *value.values()] if isinstance(value, dict) else parts
    for part in [*parts, *getattr(value, "__dict__", {}).values()]:
        yield from arrays_in(part, seen)


def rows_of(arrays):
    """Whatever has as many numbers as a sample: rows, columns, and class means out of subspaces."""
    for array in arrays:
        if array.size and array.size % SIZE == 0:
            yield from array.reshape(-1, SIZE)
            yield from np.moveaxis(array, 0, -1).reshape(-1, SIZE)
    flat = [array for array in arrays if array.ndim == 2 and len(array) == SIZE]
    means = [array.ravel() for array in arrays if array.size == SIZE]
    for directions in flat:
        back = np.linalg.pinv(directions)
        for inside in arrays:
            if inside.ndim == 2 and inside.shape[1] == directions.shape[1]:
                for mean in [np.zeros(SIZE), *means]:
                    yield from mean + inside @ back


def attack(arrays):
    """How many training samples follow from some arrays, to 1e-6 of their size."""
    arrays = list(arrays)
    rows = np.unique(np.round([*rows_of(arrays), np.zeros(SIZE)], 12), axis=0)
    guesses = [rows]
    for array in arrays:  # of two samples, mean plus and minus the only direction of the scatter
        if array.ndim >= 2 and array.shape[-2:] == (SIZE, SIZE):
            for scatter in array.reshape(-1, SIZE, SIZE):
                values, vectors = np.linalg.eigh((scatter + scatter.T) / 2)
                step = np.sqrt(max(values[-1], 0) / 2) * vectors[:, -1]
                guesses += [rows + step, rows - step]
    if len(rows) < 400:  # the means of n and n - 1 samples tell the last one
        first, second = rows[:, None], rows[None]
        guesses += [(n * first - (n - 1) * second).reshape(-1, SIZE) for n in range(2, 19)]
    samples = X.reshape(-1, SIZE)
    nearest = np.full(len(samples), np.inf)
    for guess in guesses:
        for start in range(0, len(guess), 2000):
            away = np.abs(samples[:, None] - guess[None, start : start + 2000]).max(axis=2)
            nearest = np.minimum(nearest, away.min(axis=1))
    return int((nearest < 1e-6).sum())


def in_file(model, path, **options):
    model.save(path, **options)
    return safetensors.numpy.load_file(path).values()


def in_pickle(model):
    return arrays_in(pickle.loads(pickle.dumps(model)))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def test_the_attack_finds_what_is_there():
    moments = tenfold.ClassMoments.from_batch(X[[0, 1, 2]], np.array([0, 1, 1]))
    assert attack([moments.means, moments.scatters]) == 3
    assert attack([X[:5]]) == 5
    assert attack([X[:6].mean(axis=0), X[:5].mean(axis=0)]) == 1
    assert attack([X.mean(axis=0)]) == 0


def test_every_public_estimator_is_attacked():
    public = {getattr(tenfold, name) for name in tenfold.__all__}
    learners = {kind for kind in public if isinstance(kind, type) and hasattr(kind, "fit")}
    assert {type(model) for model in MODELS} == learners


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.filterwarnings("error")
def test_files_and_pickles_of_a_fitted_model_hold_no_training_samples(model, path):
    model = fitted(model)
    if isinstance(model, KernelCSDA):
        with pytest.warns(UserWarning, match="will hold 18 training samples, unchanged"):
            assert attack(in_file(model, path)) == len(X)
        return
    if isinstance(model, ProbabilisticLDA) and model.views == ["rbf_narrow"]:
        words = (
            "will hold 18 training samples: the landmarks of view 'rbf_narrow'; .*views='linear'"
        )
        with pytest.warns(UserWarning, match=words) as said:
            arrays = list(in_file(model, path))
        assert len(said) == 1
        mean = model.pool_["mean"]
        assert attack([array + mean for array in arrays if array.shape == (18, SIZE)]) == len(X)
        return
    saved = in_file(model, path) if hasattr(model, "save") else ()
    assert attack([*saved, *in_pickle(model)]) == 0


@pytest.mark.parametrize("model", STREAMS, ids=repr)
def test_moments_of_a_stream_are_in_pickles_and_in_files_that_ask_for_them(model, path):
    model = streamed(model)
    assert attack(in_file(model, path)) == 0
    if isinstance(model, ModeScaler):
        return
    with pytest.raises(ValueError, match=r"without keeping the moments.*moments=True"):
        tenfold.load_model(path).partial_fit(X, Y)
    model.save(path, moments=True)
    for again in (tenfold.load_model(path), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.moments_.scatters, model.moments_.scatters)
        again.partial_fit(X, Y)


def test_a_stream_of_a_gaussian_model_has_samples_in_pickles_and_never_in_files(path):
    model = streamed(ProbabilisticLDA("linear"))
    assert attack(in_pickle(model)) == len(X)
    assert attack(in_file(model, path)) == 0
    with pytest.raises(ValueError, match="keeps samples in place of moments"):
        model.save(path, moments=True)
    with pytest.raises(ValueError, match="or loaded from a file; so partial_fit cannot add to it"):
        tenfold.load_model(path).partial_fit(X, Y)


def test_samples_inside_of_others_are_named(path):
    """In a pipeline, in an open set, and in a view."""
    kernel = ProbabilisticLDA(["rbf_narrow"])
    with pytest.warns(UserWarning, match="18 training samples: the landmarks of view"):
        tenfold.save(make_pipeline(ModeScaler(), kernel).fit(X, Y), path)
    opened = fitted(OpenSetClassifier(kernel, false_accept_rate=0.5))
    with pytest.warns(UserWarning, match="18 training samples: the landmarks of view"):
        opened.save(path)
    one = np.r_[5:18]  # one sample of ann
    model = make_pipeline(ModeScaler(), ProbabilisticLDA("linear")).fit(X[one], Y[one])
    with pytest.warns(UserWarning, match="the only sample of class 'ann'"):
        tenfold.save(model, path)
    opened = fitted(OpenSetClassifier(ProbabilisticLDA("linear"), false_accept_rate=0.5))
    opened.model_.enroll(X[:1] + 1, ["dora"])
    with pytest.warns(UserWarning, match="the only sample of class 'dora'"):
        opened.save(path)


def test_moments_that_fit_has_in_memory_cannot_be_asked_for(path):
    model = fitted(MCSDA(ranks=2))
    with pytest.raises(ValueError, match="no moments of a stream to save; learn with partial_fit"):
        model.save(path, moments=True)
    assert not path.exists()


def test_a_stream_without_a_model_is_saved_with_its_moments_or_not_at_all(path):
    waiting = MCSDA(positive="bob").partial_fit(X[:3], Y[:3], classes=np.unique(Y))
    with pytest.raises(ValueError, match=r"has no model yet.*moments=True"):
        waiting.save(path)
    waiting.save(path, moments=True)
    assert tenfold.load_model(path).partial_fit(X[3:], Y[3:]).classes_.tolist() == [
        "ann",
        "bob",
        "cleo",
    ]


@pytest.mark.parametrize(
    "model",
    [
        MCSDA(ranks=2, positive="ann"),
        *(Method(ranks=2, positive="bob") for Method in (CSDA, CSRDA, MCSDA)),
        ClassSpecificClassifier(MCSDA(ranks=2)),
        ProbabilisticLDA("linear"),
    ],
    ids=repr,
)
def test_the_only_sample_of_a_class_is_named(model, path):
    one_sided = getattr(model, "positive", None) == "bob"  # the mean of all others is that of ann
    rows = np.arange(5, 12 if one_sided else 18)  # one sample of ann
    model.fit(X[rows], Y[rows])
    with pytest.warns(UserWarning, match="will hold the only sample of class 'ann'") as said:
        found = attack(in_file(model, path))
    assert len(said) == 1
    assert found <= 1  # a Gaussian model has that mean in its subspace


def test_an_enrolled_class_of_one_sample_is_named(path):
    model = ProbabilisticLDA("linear").fit(X[6:], Y[6:]).enroll(X[:1], Y[:1])
    with pytest.warns(UserWarning, match="the only sample of class 'ann'"):
        model.save(path)

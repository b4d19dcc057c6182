"""Laws of model files: the same model comes back, or an error that names the problem."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF, PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC

import tenfold
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassMoments,
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
from tenfold.methods.base import Savable
from tenfold.serialization.model_format import HEADER_LIMIT, ModelFileError, _checksum, read
from tenfold.serialization.values import mapping_of, unpacked_labels

DIGITS = load_digits()
X, Y = DIGITS.images[:600], DIGITS.target[:600]
CUBES = np.random.default_rng(0).normal(size=(60, 4, 3, 5))
CUBE_LABELS = np.tile(["ann", "bob", "cleo"], 20)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.fixture
def small(path):
    """A file with a small model."""
    MCSDA(ranks=2, positive="bob").fit(CUBES, CUBE_LABELS).save(path)
    return path


def through_file(estimator, path, **options):
    estimator.save(path, **options)
    return tenfold.load_model(path)


def assert_same(came, saved):
    """Equal in every bit, dtype and type; NumPy scalars come back as Python's."""
    came, saved = (v.item() if isinstance(v, np.generic) else v for v in (came, saved))
    assert type(came) is type(saved)
    if isinstance(saved, np.ndarray):
        assert came.dtype == saved.dtype
        assert came.shape == saved.shape
        assert came.tolist() == saved.tolist() if saved.dtype == object else True
        assert came.dtype == object or came.tobytes() == saved.tobytes()
    elif isinstance(saved, list | tuple):
        assert len(came) == len(saved)
        for one, other in zip(came, saved, strict=True):
            assert_same(one, other)
    elif isinstance(saved, dict):
        assert came.keys() == saved.keys()
        for name, value in saved.items():
            assert_same(came[name], value)
    elif isinstance(saved, ClassMoments | BaseEstimator):
        # The stack of a bank's subspaces and the scorer of a pool are made of learned attributes,
        # and not saved; nor are the moments that a fit has in memory, nor samples of a stream.
        unsaved = {"_stacked", "_scorer", "_gathered", *NOT_USED}
        unsaved |= set() if getattr(saved, "_is_stream", True) else {"moments_"}
        unsaved |= {"_is_stream"} if isinstance(saved, ProbabilisticLDA) else set()
        unsaved |= {"traces"} if isinstance(saved, ClassMoments) else set()  # follow from scatters
        state = {name: value for name, value in vars(saved).items() if name not in unsaved}
        assert vars(came).keys() - unsaved == state.keys()
        for name, value in state.items():
            assert_same(getattr(came, name), value)
    else:
        assert came == saved


NOT_USED = {"_fit_svd_solver"}  # by the transform of scikit-learn's transformers


def outputs(model, X):
    for name in (
        "transform",
        "decision_function",
        "predict",
        "distances",
        "similarity",
        "predict_proba",
        "log_likelihood_ratio",
    ):
        if hasattr(model, name):
            yield getattr(model, name)(X)


STATE = np.random.RandomState(0)
LEFT = np.arange(60) % 2 == 0
CSDABank = ClassSpecificClassifier(CSDA(ranks=4))


class OwnPCA(PCA):
    """Not the one of scikit-learn, though it is made of it."""


def clone_of_dots(estimator):
    """In a file the dots among views are "auto", which they stand for."""
    views = getattr(estimator, "views", None)
    if isinstance(views, list) and ... in views:
        estimator.set_params(views=["auto" if view is ... else view for view in views])
    return estimator


ESTIMATORS = [
    *(M(ranks=2) for M in LINEAR_METHODS),
    KernelCSDA(ranks=2),
    MCSDA(ranks=2, orthonormal=False, output="tensor", shrinkage="auto"),
    MCSDA(ranks=2, solver="trace_ratio", ridge=("absolute", 0.01)),
    CSDA(ranks=np.int64(3)),
    ClassSpecificClassifier(MCSDA(ranks=2)),
    ClassSpecificClassifier(CSDA(ranks=4), normalize=False),
    ClassSpecificVerifier(MCSDA(ranks=2), false_accept_rate=0.5),
    ClassSpecificVerifier(CSDA(ranks=4), false_accept_rate="equal"),
    ProbabilisticLDA(),
    *(ProbabilisticLDA([name]) for name in ("numbers", "units", "length", "rbf", "kronecker")),
    ProbabilisticLDA([..., MPCA(ranks=2)], priors="equal"),
    ProbabilisticLDA([MPCA(ranks=2), ModeScaler(0)]),
    OpenSetClassifier(ProbabilisticLDA("linear"), false_accept_rate=0.5),
    OpenSetClassifier(ClassSpecificClassifier(CSDA(ranks=4)), false_accept_rate=0.9),
    ModeScaler(),
    ModeScaler(0, keep="both", output="flat"),
    ModeScaler((), per_sample=False),
    GaussianImputer(),
    CovariateRemover(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("data", ["cubes", "vectors"])
def test_every_estimator_comes_back_the_same_to_the_last_bit(estimator, data, path):
    batch, labels = CUBES, CUBE_LABELS
    batch = batch.reshape(len(batch), -1) if data == "vectors" else batch
    if isinstance(estimator, ClassSpecificVerifier):
        estimator = clone(estimator).set_params(positive=labels[0])
    with warnings.catch_warnings():
        words = ".*guarantee|.*promise|.*never seen|views names kronecker"  # of vectors
        warnings.filterwarnings("ignore", words)
        estimator.fit(batch, labels)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* will hold .* training samples")
        loaded = through_file(estimator, path)
    estimator = clone_of_dots(estimator)
    assert_same(loaded, estimator)
    for samples in (batch, batch.astype(np.float32), batch[:1]):
        for came, saved in zip(outputs(loaded, samples), outputs(estimator, samples), strict=True):
            assert_same(came, saved)


def test_every_public_estimator_that_learns_a_model_can_be_saved():
    public = {getattr(tenfold, name) for name in tenfold.__all__}
    learners = {kind for kind in public if isinstance(kind, type) and hasattr(kind, "fit")}
    assert {kind.__name__ for kind in learners if not issubclass(kind, Savable)} == {"RankSearchCV"}
    assert {type(estimator) for estimator in ESTIMATORS} == learners - {tenfold.RankSearchCV}


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["zwölf", "a", "長い"]),
        np.array(["with\nline", 'quote"', "\ud800"], dtype=object),
        np.array([-3, 0, 7], dtype=np.int8),
        np.array([1, 2**63, 2**64 - 1], dtype=np.uint64),
        np.array([False, True, True]),
        np.array([0.0, 1.0, 2.0], dtype=np.float32),
        np.array([-1.0, 2.0, 3.0]),
    ],
    ids=lambda labels: f"{labels.dtype}",
)
def test_labels_of_any_plain_kind_keep_their_kind(labels, path):
    y = labels[np.arange(len(CUBES)) % 3]
    positive = labels[1].item() if isinstance(labels[1], np.generic) else labels[1]
    bank = ClassSpecificClassifier(MCSDA(ranks=2, positive=positive)).fit(CUBES, y)
    loaded = through_file(bank, path)
    assert_same(loaded.classes_, bank.classes_)
    assert_same(loaded.predict(CUBES), bank.predict(CUBES))
    assert_same(loaded.projector.positive, positive)


@pytest.mark.parametrize("labels", [[b"a", b"b", b"c"], np.array([1, 2, 3], "M8[D]")])
def test_labels_of_another_kind_are_refused_before_anything_is_written(labels, path):
    bank = ClassSpecificClassifier(MCSDA(ranks=2)).fit(CUBES, CUBE_LABELS)
    bank.classes_ = np.array(labels)
    with pytest.raises(ValueError, match=r"classes_=.* of ClassSpecificClassifier cannot be saved"):
        bank.save(path)
    assert os.listdir(path.parent) == []


def test_ranks_for_every_label_and_column_names_come_back(path):
    frame = pd.DataFrame(X.reshape(len(X), -1)).add_prefix("pixel")
    model = MCSDA(ranks=dict.fromkeys(range(10), (2, 3)), sample_shape=[8, 8])
    bank = ClassSpecificClassifier(model).fit(frame, Y)
    loaded = through_file(bank, path)
    assert_same(loaded, bank)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"pixel0": "other"}))


def test_the_memory_order_of_arrays_is_kept(path):
    model = MCSDA(ranks=4).fit(X, Y)
    first, second = model.projections_
    model.projections_ = [np.asfortranarray(first), second[:, ::1]]
    model.mean_ = np.ones((8, 16))[:, ::2]  # neither order
    loaded = through_file(model, path)
    assert loaded.projections_[0].flags.f_contiguous
    assert loaded.projections_[1].flags.c_contiguous
    assert_same(loaded.transform(X), model.transform(X))


# ── partial_fit goes on ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "make",
    [
        MPCA,
        MCSDA,
        lambda **kw: ClassSpecificClassifier(MCSDA(**kw)),
        lambda **kw: ClassSpecificClassifier(CSDA(**kw)),
        lambda **kw: ClassSpecificClassifier(),
    ],
)
@pytest.mark.parametrize("first", [4, 300])
def test_a_saved_stream_goes_on_as_if_never_saved(make, first, path):
    """With 4 samples there is nothing to solve yet for most, and only moments are saved."""
    model = make(ranks=2)
    model.partial_fit(X[:first], Y[:first], classes=np.arange(10))
    loaded = through_file(model, path, moments=True)
    assert_same(loaded, model)
    assert_same(loaded.partial_fit(X[first:], Y[first:]), model.partial_fit(X[first:], Y[first:]))


@pytest.mark.parametrize("views", ["linear", ["length"], ["rbf"], ["kronecker"]], ids=str)
@pytest.mark.filterwarnings("ignore:.*training samples. the landmarks")
def test_a_saved_model_enrolls_as_if_never_saved(views, path):
    model = ProbabilisticLDA(views).fit(CUBES, CUBE_LABELS)
    loaded = through_file(model, path)
    later = CUBES[:3] + 1
    assert_same(loaded.enroll(later, ["dora"] * 3), model.enroll(later, ["dora"] * 3))
    for _ in range(2):
        again = through_file(model, path)
        assert_same(again, model)
        assert_same(again.predict_proba(CUBES), model.predict_proba(CUBES))
        model.adapt(CUBES + 0.5)


@pytest.mark.parametrize("first", [4, 300])
def test_a_stream_of_samples_is_never_written(first, path):
    """It keeps samples, which no file may hold; its model is saved as any other."""
    model = ProbabilisticLDA("linear").partial_fit(X[:first], Y[:first])
    words = "no model yet" if first == 4 else "keeps samples in place of moments.*never written"
    with pytest.raises(ValueError, match=words):
        model.save(path, moments=True)
    if first == 4:
        with pytest.raises(ValueError, match=r"no model yet.*samples are never written"):
            model.save(path)
        assert not path.exists()
        return
    loaded = through_file(model, path)
    assert_same(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match=r"loaded from a file.*start with partial_fit"):
        loaded.partial_fit(X, Y)


# ── Pipelines ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "last",
    [
        MCSDA(ranks=2, positive=3),
        ClassSpecificClassifier(MCSDA(ranks=2)),
        ProbabilisticLDA([MPCA(ranks=3)]),
        ClassSpecificVerifier(MCSDA(ranks=2), positive=3, false_accept_rate=0.5),
    ],
    ids=str,
)
def test_a_pipeline_comes_back_the_same_to_the_last_bit(last, path):
    model = Pipeline([("scale", ModeScaler(0)), ("none", "passthrough"), ("model", clone(last))])
    model.fit(X, Y)
    tenfold.save(model, path, reading={"scale": 16})
    loaded = tenfold.load_model(path)
    assert isinstance(loaded, Pipeline)
    assert [name for name, _ in loaded.steps] == ["scale", "none", "model"]
    for came, saved in zip(outputs(loaded, X), outputs(model, X), strict=True):
        assert_same(came, saved)
    summary = read(path)[0]["summary"]
    assert summary["steps"] == ["ModeScaler"]
    assert summary["method"] == type(last).__name__
    assert summary["sample_shape"] == [8, 8]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(NMF(3), CSDA(ranks=2)), r"NMF is not part.*knows StandardScaler.*joblib"),
        (make_pipeline(OwnPCA(9), CSDA(ranks=2)), r"OwnPCA is not part of tenfold.*joblib"),
        (make_pipeline(PCA(9, random_state=STATE), CSDA(ranks=2)), r"random_state=.*cannot be"),
        (ProbabilisticLDA([NMF(3)]), r"views=.*NMF is not part.*may hold Stand.*joblib"),
        (RankSearchCV(CSDA(), [1, 2], cv=2), "save its best_estimator_"),
        (ClassSpecificClassifier(CSDA(ranks=2), classifier=SVC()), "classifier=SVC.*joblib"),
    ],
    ids=["NMF", "subclass", "random state", "view", "search", "second classifier"],
)
def test_what_would_need_pickle_is_refused_with_advice(model, message, path):
    model.fit(X.reshape(len(X), -1), Y == 3)
    with pytest.raises(ValueError, match=message):
        tenfold.save(model, path)
    assert os.listdir(path.parent) == []


TRANSFORMERS = [
    StandardScaler(),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler((-1, 1), clip=True),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False, with_scaling=False),
    Normalizer("l1"),
    PCA(9),
    PCA(0.9, whiten=True, random_state=0),
    PCA(9, svd_solver="randomized", random_state=0),
]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_transformers_of_scikit_learn_come_back_the_same(transformer, dtype, path):
    rows, labels = X.reshape(len(X), -1)[:200].astype(dtype), Y[:200] == 3
    model = make_pipeline(clone(transformer), CSDA(ranks=2, positive=True)).fit(rows, labels)
    tenfold.save(model, path)
    loaded = tenfold.load_model(path)
    assert type(loaded[0]) is type(transformer)
    assert_same(loaded[0], model[0])
    for came, saved in zip(outputs(loaded, rows), outputs(model, rows), strict=True):
        assert_same(came, saved)
    assert read(path)[0]["summary"]["sample_shape"] == [64]
    assert len(loaded[0].get_feature_names_out()) == len(model[0].get_feature_names_out())


def test_scalers_come_back_inside_others_and_with_names_of_columns(path):
    """As a view, before an open set, and fitted on a table."""
    frame = pd.DataFrame(X[:200].reshape(200, -1)).add_prefix("pixel")
    plda = ProbabilisticLDA(["units", PCA(9)], sample_shape=None)
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), plda)
    model.fit(frame, Y[:200])
    assert model[-1].weights_[1] > 0
    tenfold.save(model, path)
    loaded = tenfold.load_model(path)
    assert_same(loaded[0].feature_names_in_, model[0].feature_names_in_)
    loaded[0].set_output(transform="pandas")
    assert_same(loaded.predict_proba(frame), model.predict_proba(frame))
    opened = OpenSetClassifier(make_pipeline(StandardScaler(), CSDABank), false_accept_rate=0.5)
    rows = X[:200].reshape(200, -1)
    opened.fit(rows, Y[:200])
    loaded = through_file(opened, path)
    assert_same(loaded.predict(rows), opened.predict(rows))


def forged_scaler(edit, path):
    model = make_pipeline(StandardScaler(), PCA(3), CSDA(ranks=2)).fit(CUBES.reshape(60, -1), LEFT)
    tenfold.save(model, path)
    return rewrite(path, edit)


def step(number, **changes):
    def edit(header, arrays):
        packed = header["model"]["pipeline"][number][1]
        for name, value in changes.items():
            target = packed["parameters"] if name in packed["parameters"] else packed["learned"]
            target[name] = value

    return edit


def named(name):
    return lambda header, _: header["model"]["pipeline"][0][1].update(method=name)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (named("sklearn.SVC"), "'sklearn.SVC', which this tenfold does not know"),
        (named("sklearn.os"), "'sklearn.os', which this tenfold does not know"),
        (named("sklearn.preprocessing.FunctionTransformer"), "does not know"),
        (named("sklearn."), "does not know"),
        (named("sklearn.FunctionTransformer"), "does not know"),
        (named("sklearn.PCA"), "PCA has no parameters named with_mean"),
        (step(0, with_mean="yes"), "with_mean"),
        (step(0, evil=1), "has not learned"),
        (step(0, __class__=1), "has not learned"),
        (step(0, transform=1), "has not learned"),
        (step(0, scale_=None), "does not transform|not finite|scale_"),
        (step(0, scale_=3.0), "scale_ of its StandardScaler"),
        (step(0, n_features_in_=10**15), "n_features_in_ of its StandardScaler"),
        (step(0, n_features_in_=59), "is not \\(59,\\) finite numbers"),
        (step(0, n_features_in_="60"), "n_features_in_ of its StandardScaler"),
        (step(0, n_samples_seen_=-1), "n_samples_seen_ of its StandardScaler"),
        (step(0, n_samples_seen_=True), "n_samples_seen_ of its StandardScaler"),
        (step(1, components_={"array": "pca.mean_"}), "components_ of its PCA"),
        (step(1, noise_variance_="0"), "noise_variance_ of its PCA"),
        (step(1, n_components={"list": []}), "n_components"),
        (lambda h, a: a["standardscaler.scale_"].fill(0.0), "not finite"),
        (lambda h, a: a["standardscaler.mean_"].fill(np.nan), "NaN or infinity"),
        (lambda h, _: h["model"]["pipeline"][0][1]["learned"].clear(), "is not fitted"),
        (lambda h, _: h["model"]["pipeline"][0][1].pop("learned"), "where a dict should be"),
        (lambda h, _: h["model"]["pipeline"][0][1].update(parameters=3), "where a dict should"),
    ],
)
def test_a_forged_scaler_is_refused(edit, message, path):
    with pytest.raises(ModelFileError, match=message):
        tenfold.load_model(forged_scaler(edit, path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda steps: steps.clear(), "no steps"),
        (lambda steps: steps.append(steps[0]), "two of one name"),
        (lambda steps: steps[0].append(1), "where a str should be"),
        (lambda steps: steps[1][1]["learned"].clear(), "step 'csda' of its pipeline is not fitted"),
    ],
    ids=["empty", "twice", "triple", "unfitted"],
)
def test_a_forged_pipeline_is_refused(change, message, path):
    tenfold.save(make_pipeline(ModeScaler(), CSDA(ranks=2)).fit(X, Y == 3), path)
    rewrite(path, lambda header, _: change(header["model"]["pipeline"]))
    with pytest.raises(ModelFileError, match=message):
        tenfold.load_model(path)


# ── What cannot be saved ────────────────────────────────────────────────────────────────────────


def test_a_reading_is_words_and_numbers(path):
    model = MCSDA(ranks=2).partial_fit(X, Y)
    for value in (np.zeros((8, 8)), [model.moments_], {"mean": 1}):
        with pytest.raises(ValueError, match=r"reading\['mean_'\] is "):
            model.save(path, reading={"mean_": value})
        with pytest.raises(ValueError, match=r"reading\['mean_'\] is "):
            tenfold.save_moments(model.moments_, path, reading={"mean_": value})
    assert not path.exists()


def test_an_unfitted_estimator_cannot_be_saved(path):
    with pytest.raises(NotFittedError):
        MCSDA().save(path)


# ── The file ────────────────────────────────────────────────────────────────────────────────────


def test_the_file_is_an_ordinary_safetensors_file(path):
    """An answer from outside: the library's own reader finds the same numbers."""
    model = MCSDA(ranks=4).partial_fit(X, Y)
    model.save(path, moments=True)
    arrays = safetensors.numpy.load_file(path)
    assert_same(arrays["projections_.1"], np.ascontiguousarray(model.projections_[1]))
    assert_same(arrays["moments_.scatters"], model.moments_.scatters)
    assert_same(arrays["mean_"], model.mean_)
    with safetensors.safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["tenfold"])
    assert header == read(path)[0]


def test_the_header_tells_what_a_person_wants_to_know(path):
    weight = np.ones(len(Y))
    weight[Y == 9] = 0
    bank = ClassSpecificClassifier(MCSDA(ranks=2)).fit(X, Y, weight)
    bank.save(path)
    header, _ = read(path)
    assert header["format"] == "3.1"
    assert header["versions"]["tenfold"] == tenfold.__version__
    assert header["versions"]["numpy"] == np.__version__
    assert header["labels"] == [{"dtype": "<i8", "values": list(range(9))}]
    members = bank.projectors_
    assert header["summary"] == {
        "method": "ClassSpecificClassifier",
        "steps": [],
        "projector": "MCSDA",
        "sample_shape": [8, 8],
        "n_classes": 9,
        "ranks": [[2, 2]] * 9,
        "n_iter": [member.n_iter_ for member in members],
        "converged": [member.converged_ for member in members],
        "objective": [member.objective_[-1] for member in members],
        "counts": np.bincount(Y)[:9].tolist(),
    }


# ── Whole or not at all ─────────────────────────────────────────────────────────────────────────


SAVE_FOR_EVER = """
import signal, sys, warnings
import numpy as np, tenfold
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(60, 12, 10))
model = tenfold.MCSDA(ranks=2).partial_fit(X, np.arange(60) % 20)
model.save(sys.argv[1], moments=True)
print("ready", flush=True)
while True:
    model.save(sys.argv[1], moments=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process there")
def test_ctrl_c_leaves_a_whole_file(path):
    command = [sys.executable, "-c", SAVE_FOR_EVER, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(0.013)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert b"KeyboardInterrupt" in errors
    assert os.listdir(path.parent) == [path.name]
    assert tenfold.load_model(path).ranks_ == (2, 2)


def test_saving_follows_a_link_and_respects_the_umask(small, tmp_path):
    link = tmp_path / "latest"
    link.symlink_to(small)
    MPCA(ranks=2).fit(X).save(link)
    assert link.is_symlink()
    assert isinstance(tenfold.load_model(small), MPCA)
    (tmp_path / "plain").touch()
    assert small.stat().st_mode == (tmp_path / "plain").stat().st_mode


# ── Versions ────────────────────────────────────────────────────────────────────────────────────


def rewrite(path, edit, sign=True):
    """Change the header and arrays of a file by hand, as someone else's program might."""
    header, arrays = read(path)
    header = json.loads(json.dumps(header))
    edit(header, arrays)
    rows = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if sign:
        header["checksum"] = _checksum(header, rows)
    path.write_bytes(safetensors.numpy.save(rows, {"tenfold": json.dumps(header)}))
    return path


def test_a_newer_minor_version_loads_and_says_what_it_left_out(small):
    model = tenfold.load_model(small)

    def age(header, arrays):
        header["format"] = "3.7"
        header["mood"] = "good"
        arrays["shine_"] = np.ones(3)
        header["model"]["parameters"]["polish"] = {"new": "kind"}
        header["model"]["learned"]["shine_"] = {"array": "shine_"}

    rewrite(small, age)
    with pytest.warns(UserWarning, match=r"left out (polish|shine_) of MCSDA") as told:
        newer = tenfold.load_model(small)
    assert len(told) == 2
    assert_same(newer, model)


def test_a_newer_major_version_asks_for_an_upgrade(small):
    rewrite(small, lambda header, _: header.update(format="4.0", checksum="blake3:..."), sign=False)
    with pytest.raises(ModelFileError, match=r"model\.safetensors.*format 4\.0.*upgrade tenfold"):
        tenfold.load_model(small)


def test_a_file_of_before_is_refused_in_words(small):
    rewrite(small, lambda header, _: header.update(format="1.1"))
    with pytest.raises(ModelFileError, match=r"format 1\.1.*no longer read; fit the model again"):
        tenfold.load_model(small)


# ── Damaged, foreign and hostile files ──────────────────────────────────────────────────────────


def test_other_numbers_are_never_returned_silently(small):
    """A single bit of a single number: without the checksum nothing would show it."""
    data = bytearray(small.read_bytes())
    data[-3] ^= 1
    small.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"model\.safetensors.*checksum is wrong"):
        tenfold.load_model(small)


FOREIGN = {
    "empty": (b"", "not a safetensors file"),
    "pickle": (pickle.dumps(SVC()), "not a safetensors file"),
    "length": (b"\xff" * 8 + b"{}", "declares a header of 18446744073709551615 bytes"),
    "cut": ((50).to_bytes(8, "little") + b"{}", "cut short"),
    "utf8": ((3).to_bytes(8, "little") + b"{\xff}", "not valid JSON"),
    "weights": (safetensors.numpy.save({"w": np.ones(3)}), "another program"),
    "metadata": (safetensors.numpy.save({}, {"tenfold": "[]"}), "not a JSON object"),
    "nan": (safetensors.numpy.save({}, {"tenfold": '{"a": NaN}'}), "NaN is not JSON"),
}


@pytest.mark.parametrize(("data", "message"), FOREIGN.values(), ids=FOREIGN.keys())
def test_a_foreign_file_is_named_and_explained(data, message, path):
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=rf"model\.safetensors: .*{message}"):
        tenfold.load_model(path)


def test_what_is_no_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        tenfold.load_model(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="not a regular file"):
        tenfold.load_model(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # opening it would wait for ever
        with pytest.raises(ModelFileError, match="not a regular file"):
            tenfold.load_model(tmp_path / "pipe")


def raw(table, data=b""):
    head = json.dumps(table).encode()
    return len(head).to_bytes(8, "little") + head + data


def entry(**changes):
    return {"dtype": "F64", "shape": [2], "data_offsets": [0, 16], **changes}


TABLES = {
    "huge shape": ({"a": entry(shape=[2**40, 2**40])}, "does not fit its 16 bytes"),
    "huge offset": ({"a": entry(shape=[2**44], data_offsets=[0, 2**47])}, "cut short"),
    "beyond int": ({"a": entry(shape=[2**100])}, "that no array can have"),
    "bool": ({"a": entry(shape=[True, 2])}, "that no array can have"),
    "empty, yet huge": (
        {"a": entry(shape=[2**40, 2**40, 2**40, 0], data_offsets=[0, 0])},
        "array is too big|Maximum allowed",
    ),
    "overlap": ({"a": entry(), "b": entry(data_offsets=[8, 24])}, "overlap or leave a gap"),
    "gap": ({"a": entry(), "b": entry(data_offsets=[24, 40])}, "overlap or leave a gap"),
    "backwards": ({"a": entry(data_offsets=[16, 0])}, "does not fit its -16 bytes"),
    "dtype": ({"a": entry(dtype="BF16")}, "dtype 'BF16'"),
    "object": ({"a": entry(dtype={"evil": 1})}, "expected F64 or F32"),
    "list": ({"a": [1, 2]}, "no proper dtype"),
    "too long": ({}, "too long: its arrays take 0 bytes, but 16"),
}


@pytest.mark.parametrize(("table", "message"), TABLES.values(), ids=TABLES.keys())
def test_sizes_are_checked_before_anything_is_allocated(table, message, path):
    header = json.dumps({"format": "3.0"})
    size = 0 if "too big" in message else 16
    path.write_bytes(raw({"__metadata__": {"tenfold": header}, **table}, bytes(size)))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message):
            tenfold.load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_a_bank_of_many_classes_can_be_saved(path):
    """The header of this one takes more than the 4 MiB that a file of few numbers may have."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(2800), 2)
    X = np.repeat(rng.normal(size=(2800, 2, 2)), 2, axis=0) + rng.normal(size=(5600, 2, 2))
    bank = tenfold.ClassSpecificClassifier(tenfold.CSDA(ranks=1)).fit(X, y)
    bank.save(path)
    assert int.from_bytes(path.read_bytes()[:8], "little") > HEADER_LIMIT
    loaded = tenfold.load_model(path)
    np.testing.assert_array_equal(loaded.predict(X[:50]), bank.predict(X[:50]))


ROOM = HEADER_LIMIT - 100
HOSTILE = {
    "deep lists": lambda: "[" * (ROOM // 2) + "]" * (ROOM // 2),
    "deep objects": lambda: '{"a":' * (ROOM // 6) + "1" + "}" * (ROOM // 6),
    "lists": lambda: "[" + ",".join(["[[]]"] * (ROOM // 5)) + "]",
    "objects": lambda: "[" + ",".join(['{"":{}}'] * (ROOM // 8)) + "]",
    "keys": lambda: "{" + ",".join(f'"{i:x}":{i}' for i in range(ROOM // 14)) + "}",
    "digits": lambda: "9" * ROOM,
    "words": lambda: '"' + "\\u00e9" * (ROOM // 6) + '"',
}


@pytest.mark.parametrize("place", ["outside", "inside"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_header_costs_less_than_200_megabytes(kind, place, path):
    text = HOSTILE[kind]()
    if place == "inside":
        text = json.dumps({"tenfold": f'{{"format":"3.0","x":{text}}}'})
    head = f'{{"__metadata__":{text}}}'.encode()[:HEADER_LIMIT]
    path.write_bytes(len(head).to_bytes(8, "little") + head)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            tenfold.load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


def learned(name, value):
    return lambda header, _: header["model"]["learned"].update({name: value})


def array(name, value):
    def edit(header, arrays):
        arrays[name] = np.asarray(value)

    return edit


def labels(dtype, values):
    return lambda header, _: header.update(labels=[{"dtype": dtype, "values": values}])


FORGERIES = {
    "unknown method": (lambda h, _: h["model"].update(method="os.system"), "does not know"),
    "no model": (lambda h, _: h.pop("model"), "does not say of which method"),
    "no labels": (lambda h, _: h.pop("labels"), "lists no labels"),
    "parameter": (lambda h, _: h["model"]["parameters"].update(evil=1), "no parameters named evil"),
    "attribute": (learned("__class__", 1), "no learned named __class__"),
    "missing": (lambda h, _: h["model"]["learned"].pop("mean_"), "lacks mean_"),
    "reference": (learned("mean_", {"array": "nowhere"}), "'nowhere' that is not there"),
    "kind": (learned("mean_", {"import": "os"}), "stands for nothing"),
    "bare dict": (learned("mean_", {}), "stands for nothing"),
    "text mean": (learned("mean_", "0"), "its mean_ is '0'"),
    "wide shape": (learned("sample_shape_", [4, 3, 6]), "n_features_in_ has 60, but"),
    "other ranks": (learned("ranks_", [2, 2, 3]), "projections_ has"),
    "few modes": (learned("ranks_", [2, 2]), "projections_ has"),
    "label index": (learned("classes_", {"labels": 7}), "labels 7 that are not there"),
    "positive": (lambda h, _: h["model"]["parameters"].update(positive="eve"), "positive is 'eve'"),
    "mean": (array("mean_", np.ones((3, 4, 5))), "mean_ has"),
    "mean dtype": (array("mean_", np.ones((4, 3, 5), dtype=np.float32)), None),
    "objective": (array("objective_", np.ones(1000)), "objective_ has"),
    "infinite": (array("mean_", np.full((4, 3, 5), np.inf)), "'mean_' holds NaN or infinity"),
    "nan": (array("projections_.0", np.full((4, 2), np.nan)), "holds NaN or infinity"),
    "huge words": (labels("<U99999999", ["a", "b", "c"]), "take more than"),
    "mixed": (labels("<U4", ["ann", 1, "cleo"]), "must not be of types"),
    "cut words": (labels("<U2", ["ann", "bob", "cleo"]), "do not fit their dtype"),
    "overflow": (labels("|i1", [1, 2, 300]), "out of bounds|do not fit"),
    "void": (labels("V8", ["ann", "bob", "cleo"]), "not of a plain kind"),
    "commas": (labels("i4,i4", ["ann", "bob", "cleo"]), "not of a plain kind"),
    "objects": (labels("|O", [["ann"], ["bob"], ["cleo"]]), "must not be of types|plain"),
    "one label": (labels("<U4", ["ann"]), "positive is 'bob'"),
}


@pytest.mark.parametrize(("edit", "message"), FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_model_must_fit_together(edit, message, small):
    """The checksum is right, so only what the file says can give it away."""
    rewrite(small, edit)
    if message is None:
        assert tenfold.load_model(small).transform(CUBES).shape == (60, 8)
        return
    with pytest.raises(ModelFileError, match=rf"model\.safetensors: .*({message})"):
        tenfold.load_model(small)


def forged_bank(edit, path):
    bank = ClassSpecificClassifier(MCSDA(ranks=2, decision="distance"))
    bank.fit(CUBES, CUBE_LABELS).save(path)
    return rewrite(path, edit)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda h, _: h["model"]["learned"]["projectors_"]["list"].pop(), "projectors_ has"),
        (lambda h, _: h["model"]["parameters"].update(projector=3), "its projector is 3"),
        (array("spreads_", [1.0, 0.0, 1.0]), "spreads_ are not all above 0"),
        (array("spreads_", [1.0, 1.0]), "spreads_ has"),
        (learned("projectors_", {"list": [1, 2, 3]}), "projectors_ has"),
    ],
)
def test_a_forged_bank_must_fit_together(edit, message, path):
    with pytest.raises(ModelFileError, match=message):
        tenfold.load_model(forged_bank(edit, path))


WATCHED_LOAD = """
import sys
from tenfold import load_model

seen = []
quiet = {"object.__getattr__", "object.__setattr__", "object.__delattr__", "builtins.id"}
sys.addaudithook(lambda event, args: seen.append(event) if watching else None)
watching = True
model = load_model(sys.argv[1])
watching = False
print([event for event in seen if event not in quiet])
watching = True
__import__("pickle").loads(b"cos\\ngetcwd\\n.")
watching = False
print(seen)
"""


def test_loading_runs_no_code_imports_nothing_and_opens_one_file(small):
    """Python's own audit events: no import, compile, exec, pickle or process; one open."""
    code = "watching = False\n" + WATCHED_LOAD
    run = subprocess.run([sys.executable, "-c", code, small], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded, unpickled = run.stdout.splitlines()
    assert loaded == "['open']"
    assert "pickle.find_class" in unpickled  # the watchman would see it


def test_keys_of_a_mapping_that_collide_are_refused_at_once():
    modulus = 2**61 - 1  # of the hash of an int
    with pytest.raises(ValueError, match="keys that collide"):
        mapping_of([(k * modulus, (1, 1)) for k in range(40_000)])
    assert mapping_of([(k, k) for k in range(1000)]) == {k: k for k in range(1000)}


def test_labels_that_claim_to_be_long_take_no_memory():
    with pytest.raises(TypeError, match="take more than"):
        unpacked_labels({"dtype": "<U16777216", "values": ["a"] * 64})


# ── Forged pools ────────────────────────────────────────────────────────────────────────────────


def pool_value(header, *names):
    """A value inside of pool_, and the pair that holds it."""
    pairs, pair = header["model"]["learned"]["pool_"]["pairs"], None
    for name in names:
        if isinstance(name, int):
            pairs = pair[1]["list"][name]["pairs"]
            continue
        pair = next(pair for pair in pairs if pair[0] == name)
        pairs = pair[1].get("pairs") if isinstance(pair[1], dict) else None
    return pair


def put(value, *names):
    def edit(header, arrays):
        pool_value(header, *names)[1] = value

    return edit


def drop(*names):
    def edit(header, arrays):
        pairs = header["model"]["learned"]["pool_"]["pairs"]
        if len(names) > 1:
            pairs = pool_value(header, "views")[1]["list"][names[1]]["pairs"]
        pairs[:] = [pair for pair in pairs if pair[0] != names[-1]]

    return edit


def array_of(header, *names):
    return next(iter(pool_value(header, *names)[1].values()))


def reshape(shape, *names):
    def edit(header, arrays):
        arrays[array_of(header, *names)] = np.ones(shape)

    return edit


def filled(value, *names):
    def edit(header, arrays):
        arrays[array_of(header, *names)].fill(value)

    return edit


POOL = ("views", 0)
POOL_FORGERIES = {
    "no pool": (learned("pool_", {"pairs": []}), "pool_ has not the values"),
    "list pool": (learned("pool_", {"list": []}), "its pool_ is"),
    "no floor": (drop("floor"), "pool_ has not the values"),
    "floor": (put(1.5, "floor"), "the floor 1.5"),
    "floor word": (put("0", "floor"), "ratio or the floor"),
    "ratio": (put([-1.0, 0.0], "ratio"), "which cannot be"),
    "ratio words": (put(["a", "b"], "ratio"), "ratio or the floor"),
    "three": (put([1.0, 2.0, 3.0], "ratio"), "ratio or the floor"),
    "no views": (put({"list": []}, "views"), "has no views"),
    "views": (put({"list": [1]}, "views"), "its view has not the values"),
    "view dict": (put({"pairs": []}, "views"), "has no views"),
    "mean": (reshape(7, "mean"), "pool_ mean has"),
    "calibration": (reshape((3, 4), "calibration"), "pool_ calibration has"),
    "losses": (reshape(9, "log_losses"), "pool_ log_losses has"),
    "no rho": (drop("views", 0, "rho"), "its view has not the values"),
    "rho": (put(-1.0, *POOL, "rho"), "not above 0"),
    "rho word": (put("much", *POOL, "rho"), "rho='much'; expected float"),
    "rho switch": (put(True, *POOL, "rho"), "rho=True; expected float"),
    "name": (put(3, *POOL, "name"), "name=3; expected str"),
    "other name": (put("units", *POOL, "name"), "pool_ has"),
    "means": (reshape((3, 59), *POOL, "means"), "means and axes of shapes"),
    "flat means": (reshape(60, *POOL, "means"), "means and axes of shapes"),
    "few means": (reshape((2, 60), *POOL, "means"), "means and axes of shapes"),
    "axes": (reshape((2, 2, 2), *POOL, "axes"), "means and axes of shapes"),
    "values": (reshape(3, *POOL, "values"), "means and axes of shapes"),
    "map": (put(3, *POOL, "map"), "map=3; expected FeatureMap"),
    "no kind": (put({"pairs": []}, *POOL, "map"), "of kind None"),
    "kind": (put("os.system", *POOL, "map", "kind"), "of kind 'os.system'"),
    "list kind": (put({"list": []}, *POOL, "map", "kind"), r"of kind \[\]"),
    "other kind": (put("length", *POOL, "map", "kind"), "length has not the values"),
    "map mean": (reshape(59, *POOL, "map", "mean"), "is not for 60 numbers"),
    "views_": (learned("views_", {"list": [1]}), "views_ are not names"),
    "more views_": (learned("views_", {"list": ["numbers", "units"]}), "weights_ has"),
    "weights_": (array("weights_", [0.0]), "pool_ has"),
    "priors_": (array("priors_", [0.0, 0.0, 0.0]), "priors_ sum to 0"),
    "class_count_": (array("class_count_", [0.0, 0.0, 0.0]), "counts no samples"),
    "huge": (filled(1e300, *POOL, "means"), "not finite"),
    "infinite": (filled(np.inf, *POOL, "means"), "NaN or infinity"),
    "infinite mean": (filled(np.nan, "mean"), "NaN or infinity"),
    "moments": (learned("moments_", {"moments": {}}), "no learned named moments_"),
    "parameter": (lambda h, _: h["model"]["parameters"].update(views="all"), "views holds 'all'"),
}


@pytest.mark.parametrize(("edit", "message"), POOL_FORGERIES.values(), ids=POOL_FORGERIES.keys())
def test_a_forged_pool_must_fit_together(edit, message, path):
    ProbabilisticLDA(["numbers"]).fit(CUBES, CUBE_LABELS).save(path)
    with pytest.raises(ModelFileError, match=message):
        tenfold.load_model(rewrite(path, edit))


@pytest.mark.parametrize(
    ("views", "edit", "message"),
    [
        (["rbf_wide"], put(-1.0, *POOL, "map", "width"), "width"),
        (["rbf_wide"], put(None, *POOL, "map", "centre"), "centre=None"),
        (["rbf_wide"], reshape((10**5, 1), *POOL, "map", "landmarks"), "landmarks of shape"),
        (["rbf_wide"], reshape((60, 59), *POOL, "map", "landmarks"), "cannot|match|shape|numbers"),
        (["rbf_wide"], reshape(59, *POOL, "map", "scale"), "is not for 60 numbers"),
        (["length"], reshape(59, *POOL, "map", "direction"), "is not for 60 numbers"),
        (["units"], reshape(59, *POOL, "map", "scale"), "is not for 60 numbers"),
        (["kronecker"], put([4, 3], *POOL, "map", "shape"), "is not for 60 numbers"),
        (["kronecker"], put([-4, 3, 5], *POOL, "map", "shape"), "shape=.*expected tuple"),
        (["kronecker"], put({"list": [1]}, *POOL, "map", "factors"), "factors=.*expected list"),
        (["kronecker"], reshape(60, *POOL, "spread"), None),
        (["kronecker"], reshape(3, *POOL, "spread"), "spread that no class means"),
        ([MPCA(ranks=2)], put(3, *POOL, "map", "transformer"), "does not fit together"),
        ([MPCA(ranks=2)], put([59], *POOL, "map", "shape"), "is not for 60 numbers"),
        ([MPCA(ranks=2)], reshape(5, *POOL, "map", "mean"), "is not for|broadcast|does not fit"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*training samples. the landmarks")
def test_a_forged_view_must_fit_together(views, edit, message, path):
    ProbabilisticLDA(views).fit(CUBES, CUBE_LABELS).save(path)
    rewrite(path, edit)
    if message is None:
        tenfold.load_model(path).predict(CUBES)
        return
    with pytest.raises(ModelFileError, match=message):
        tenfold.load_model(path)

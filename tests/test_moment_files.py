"""Moments as files: two sites give the model of all samples, and what does not fit is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from sklearn.base import clone

import tenfold
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    ProbabilisticLDA,
    load_moments,
    save_moments,
)
from tenfold.files.moment_files import read_moments
from tenfold.methods import LINEAR_METHODS
from tenfold.serialization.model_format import ModelFileError, read, write


def data(n=120, shape=(4, 3), seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(["ann", "bob", "cleo", "dora"])[rng.permutation(np.arange(n) % 4)]
    centres = 3 * rng.normal(size=(4, *shape))
    return rng.normal(size=(n, *shape)) + centres[np.unique(y, return_inverse=True)[1]], y


def saved(path, X, y, **more):
    save_moments(ClassMoments.from_batch(X, y), path, **more)
    return path


@pytest.mark.parametrize("labels", ["words", "objects", "numbers", "points", "flags", None])
def test_loaded_moments_are_the_saved_ones_to_the_bit(labels, tmp_path):
    X, y = data()
    numbers = np.unique(y, return_inverse=True)[1]
    kinds = {"objects": y.astype(object), "numbers": numbers, "points": numbers / 2}
    kinds |= {"words": y, "flags": numbers > 1, None: None}
    moments = ClassMoments.from_batch(X, kinds[labels])
    if labels == "numbers":  # an array may lie column by column
        moments = replace(moments, means=np.asfortranarray(moments.means))
    save_moments(moments, tmp_path / "m.safetensors")
    found = load_moments(tmp_path / "m.safetensors")
    assert found.classes.dtype == moments.classes.dtype
    for name in ("classes", "counts", "means", "scatters"):
        assert_array_equal(getattr(found, name), getattr(moments, name))


def test_labels_that_no_file_holds_are_refused_in_words(tmp_path):
    X, y = data()
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")[(y == "ann").astype(int)]
    with pytest.raises(ValueError, match=r"labels of dtype '<M8.*; pass labels that are words"):
        saved(tmp_path / "m.safetensors", X, days)
    assert not (tmp_path / "m.safetensors").exists()


# ── Sites ───────────────────────────────────────────────────────────────────────────────────────

GIVEN = {"shares": ProbabilisticLDA(), "equal": ProbabilisticLDA(priors="equal")}
MODELS = [*(M() for M in LINEAR_METHODS), *GIVEN.values()]
MODELS += [ClassSpecificClassifier(MCSDA(ranks=2)), ClassSpecificClassifier(CSDA(ranks=2))]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_two_sites_give_the_model_of_all_samples(model, tmp_path):
    """The sites know different classes; nobody sees the samples of the other."""
    X, y = data()
    first = (np.arange(len(y)) < 50) & (y != "dora")
    paths = [
        saved(tmp_path / f"{i}.safetensors", X[s], y[s]) for i, s in enumerate([first, ~first])
    ]
    found = clone(model).fit_moments(load_moments(*paths))
    if model in GIVEN.values():  # the samples themselves would be left out; moments have none
        expected = clone(model).fit_moments(ClassMoments.from_batch(X, y))
    else:
        expected = clone(model).fit(X, y)
    if model._needs_labels:
        assert_array_equal(found.classes_, expected.classes_)
    if hasattr(expected, "projections_"):
        pairs = zip(found.projections_, expected.projections_, strict=True)
        for ours, theirs in pairs:
            assert subspace_angles(ours, theirs).max() < 1e-7
    for use in ("decision_function", "predict_log_proba", "distances"):
        if hasattr(expected, use):
            scores = getattr(expected, use)(X)
            scale = np.abs(scores).max()
            assert_allclose(getattr(found, use)(X), scores, atol=1e-8 * scale)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"X": lambda X: X[:, :3]}, r"shape=\(4, 3\), but .*shape=\(3, 3\); .*resize"),
        ({"X": lambda X: X.transpose(0, 2, 1)}, r"shape=\(3, 4\); .*transpose"),
        ({"y": lambda y: np.unique(y, return_inverse=True)[1]}, "labels are numbers .*astype"),
        ({"mode_names": ("time", "channel")}, r"mode_names=\('channel', 'time'\), but .* again"),
        ({"reading": {"scale": 1, "usual_size": 1.0}}, r"scale=255, but .* scale=1; .*gather"),
        ({"reading": {"usual_size": 1.0}}, r"scale=255, but .* scale=None; .*gather"),
        ({"reading": {"scale": 255, "usual_size": 300.0}}, "units differ; .*scale=X"),
        ({"labelled": False}, r"b\.safetensors is of samples without labels.*, or those of all"),
    ],
)
def test_sites_whose_samples_are_not_alike_are_refused(change, complaint, tmp_path):
    X, y = data()
    told = {"reading": {"scale": 255, "usual_size": 1.0}, "mode_names": ("channel", "time")}
    first = saved(tmp_path / "a.safetensors", X, y, **told)
    X, y = change.pop("X", lambda X: X)(X), change.pop("y", lambda y: y)(y)
    second = saved(tmp_path / "b.safetensors", X, y, **(told | change))
    with pytest.raises(ValueError, match=complaint):
        load_moments(first, second)


def test_sites_that_do_not_say_how_they_read_are_added(tmp_path):
    X, y = data()
    first = saved(tmp_path / "a.safetensors", X, y, reading={"scale": 255}, mode_names=("a", "b"))
    second = saved(tmp_path / "b.safetensors", X, y)
    assert load_moments(first, second).count == 240
    assert load_moments(second, first).count == 240


def test_the_usual_size_is_that_of_all_samples_in_any_order(tmp_path):
    X, y = data()
    first = saved(tmp_path / "a", X[:30], y[:30], reading={"usual_size": 1.0})
    second = saved(tmp_path / "b", X[30:], y[30:], reading={"usual_size": 3.0})
    for paths in ((first, second), (second, first)):
        assert read_moments(*paths).reading == {"usual_size": pytest.approx(np.sqrt(7))}
    with pytest.raises(ValueError, match="no files"):
        load_moments()


# ── Folds ───────────────────────────────────────────────────────────────────────────────────────


def test_moments_of_classes_in_folds_are_refused_in_words(tmp_path):
    """Files of earlier versions may have them."""
    X, y = data()
    path = saved(tmp_path / "old.safetensors", X, y)
    header, arrays = read(path)
    header["labels"].append({"dtype": "<i8", "values": [16, 17, 18, 19]})
    header["moments"]["folds"] = {"labels": len(header["labels"]) - 1}
    write(path, {name: header[name] for name in ("moments", "summary", "labels")}, arrays)
    words = r"in folds, which an earlier tenfold wrote.*gather the moments again"
    with pytest.raises(ModelFileError, match=words):
        load_moments(path)
    header["moments"]["folds"] = None  # as files of classes had it
    header["labels"].pop()
    write(path, {name: header[name] for name in ("moments", "summary", "labels")}, arrays)
    assert load_moments(path).counts.tolist() == [30, 30, 30, 30]


# ── Few samples ─────────────────────────────────────────────────────────────────────────────────


def test_classes_with_few_samples_are_not_written_on_request(tmp_path):
    X, y = data()
    keep = (y != "bob") | (np.cumsum(y == "bob") <= 4)
    path = tmp_path / "a.safetensors"
    with pytest.raises(ValueError, match=r"1 of 4 classes .*minimum_count=5 .*'bob' has 4.*leave"):
        saved(path, X[keep], y[keep], minimum_count=5)
    assert not path.exists()
    saved(path, X[keep], y[keep], minimum_count=4)
    for wrong in (0, -1, 2.5, "many"):
        with pytest.raises(ValueError, match="minimum_count is"):
            saved(path, X, y, minimum_count=wrong)


def test_a_class_without_samples_is_not_a_small_one(tmp_path):
    X, y = data()
    own = y == "bob"
    moments = ClassMoments.from_batch(X, y) - ClassMoments.from_batch(X[own], y[own])
    save_moments(moments, tmp_path / "a.safetensors", minimum_count=10)
    found = load_moments(tmp_path / "a.safetensors")
    assert found.counts.tolist() == [30, 0, 30, 30]


# ── Bad files ───────────────────────────────────────────────────────────────────────────────────


def test_models_and_moments_are_not_taken_for_each_other(tmp_path):
    X, y = data()
    moments = saved(tmp_path / "moments.safetensors", X, y)
    MPCA().fit(X).save(tmp_path / "model.safetensors")
    with pytest.raises(ModelFileError, match=r"moments, not a model; .*--from-moments"):
        tenfold.load_model(moments)
    with pytest.raises(ModelFileError, match="it holds a model; expected moments"):
        load_moments(tmp_path / "model.safetensors")
    with pytest.raises(FileNotFoundError):
        load_moments(tmp_path / "nothing.safetensors")


def negative_count(arrays):
    arrays["moments.counts"][0] = -1


def negative_variance(arrays):
    arrays["moments.scatters"][0, 0, 0] = -5


def lopsided(arrays):
    arrays["moments.scatters"][0, 0, 1] += 5


def too_correlated(arrays):
    arrays["moments.scatters"][0, 0, 1] = arrays["moments.scatters"][0, 1, 0] = 1e9


def negative_eigenvalue(arrays):
    S = arrays["moments.scatters"][0]  # with diagonal and entries that samples may have
    values, vectors = np.linalg.eigh(S)
    S -= 1.01 * values[-1] * np.outer(vectors[:, -1], vectors[:, -1])
    S += np.eye(len(S)) * np.maximum(-np.diagonal(S), 0).max() / 2


def other_size(arrays):
    arrays["moments.scatters"] = arrays["moments.scatters"][:, 1:, 1:]


def one_array_more(arrays):
    arrays["moments.extra"] = np.zeros(3)


def narrow(arrays):
    arrays["moments.means"] = arrays["moments.means"].astype(np.float32)


def huge_mean(arrays):
    arrays["moments.means"][0, 0, 0] = 1e300


def huge_count(arrays):
    arrays["moments.counts"][0] = 1e300


def mean_of_nobody(arrays):
    arrays["moments.counts"][0] = 0


FORGERIES = [negative_count, negative_variance, lopsided, too_correlated, other_size]
FORGERIES += [negative_eigenvalue]
FORGERIES += [one_array_more, narrow, mean_of_nobody, huge_mean, huge_count]


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda f: f.__name__)
def test_moments_that_no_samples_have_are_refused(forge, tmp_path):
    """With the right checksum."""
    path = saved(tmp_path / "a.safetensors", *data())
    header, arrays = read(path)
    forge(arrays)
    kept = {name: header[name] for name in ("summary", "labels", "moments")}
    write(path, kept, arrays)
    with pytest.raises(
        ModelFileError, match=r"cannot load .*a\.safetensors: (its|it|a|one of its|samples) "
    ):
        load_moments(path)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("labels", [{"dtype": "<U4", "values": ["dora", "bob", "cleo", "ann"]}]),
        ("labels", []),
        ("moments", {"classes": {"labels": 0}}),
        ("moments", 3),
        ("mode_names", ["one"]),
        ("mode_names", [1, 2]),
        ("reading", {"usual_size": "large"}),
        ("reading", [1]),
    ],
)
def test_headers_that_do_not_fit_are_refused(part, value, tmp_path):
    path = saved(tmp_path / "a.safetensors", *data())
    header, arrays = read(path)
    kept = {name: header[name] for name in ("summary", "labels", "moments")}
    write(path, kept | {part: json.loads(json.dumps(value))}, arrays)
    with pytest.raises(ModelFileError, match="cannot load"):
        load_moments(path)
    with pytest.raises(ValueError, match="one name per mode"):
        save_moments(ClassMoments.from_batch(*data()), path, mode_names=("a",))

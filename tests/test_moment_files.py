"""Moments as files: two sites give the model of all samples, and what does not fit is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import tenfold
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    ProbabilisticLDA,
    gather_moments,
    load_moments,
    save_moments,
)
from tenfold.files.moment_files import read_moments
from tenfold.mathematics.alternation import subspace_distance
from tenfold.methods import LINEAR_METHODS
from tenfold.system.model_format import ModelFileError, read, write


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


# ── Sites ───────────────────────────────────────────────────────────────────────────────────────

GIVEN = {"auto": ProbabilisticLDA(), "0.2": ProbabilisticLDA(shrinkage=0.2)}
MODELS = [*(M() for M in LINEAR_METHODS), *GIVEN.values()]
MODELS += [ClassSpecificClassifier(MCSDA(ranks=2)), ClassSpecificClassifier(CSDA(ranks=2))]
MODELS += [ProbabilisticLDA(MPCA(ranks=(3, 2)), shrinkage=0.1)]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_two_sites_give_the_model_of_all_samples(model, tmp_path):
    """The sites know different classes; nobody sees the samples of the other."""
    X, y = data()
    first = (np.arange(len(y)) < 50) & (y != "dora")
    paths = [
        saved(tmp_path / f"{i}.safetensors", X[s], y[s]) for i, s in enumerate([first, ~first])
    ]
    found = clone(model).fit_moments(load_moments(*paths))
    if model is GIVEN["auto"]:  # the samples themselves would be held out; moments have none
        expected = clone(model).fit_moments(ClassMoments.from_batch(X, y))
    else:
        expected = clone(model).fit(X, y)
    if model._needs_labels:
        assert_array_equal(found.classes_, expected.classes_)
    if hasattr(expected, "projections_"):
        pairs = zip(found.projections_, expected.projections_, strict=True)
        for ours, theirs in pairs:
            assert subspace_distance(*(np.linalg.qr(W)[0] for W in (ours, theirs))) < 1e-7
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

AUTO = [
    ProbabilisticLDA(),
    ProbabilisticLDA(MPCA(ranks=(3, 2))),
    ProbabilisticLDA(noise_prior="identity"),
    ProbabilisticLDA(shrinkage=0.2),
]


@pytest.mark.parametrize("model", AUTO, ids=repr)
def test_sites_in_folds_give_what_is_chosen_on_held_out_samples(model, tmp_path):
    X, y = data()
    first = (np.arange(len(y)) < 50) & (y != "dora")
    paths = [tmp_path / "1.safetensors", tmp_path / "2.safetensors"]
    for rows, path in zip([first, ~first], paths, strict=True):
        save_moments(gather_moments(X[rows], y[rows], folds=True), path)
    folds = load_moments(*paths)
    found = clone(model).fit_moments(folds)
    expected = clone(model).partial_fit(X, y)
    assert_allclose(found.predict_log_proba(X), expected.predict_log_proba(X), atol=1e-7)
    assert found.shrinkage_ == expected.shrinkage_
    whole = folds.by_class()
    assert_allclose(whole.scatters, ClassMoments.from_batch(X, y).scatters, atol=1e-9)
    if model.shrinkage == "auto":
        found.partial_fit(X[:9] + 1, y[:9])
        expected.partial_fit(X[:9] + 1, y[:9])
        assert_allclose(found.predict_log_proba(X), expected.predict_log_proba(X), atol=1e-7)


def test_folds_are_added_up_where_one_site_has_none(tmp_path):
    X, y = data()
    saved(tmp_path / "plain.safetensors", X[:60], y[:60])
    folds = gather_moments(X[60:], y[60:], folds=True)
    save_moments(folds, tmp_path / "folds.safetensors")
    found = load_moments(tmp_path / "plain.safetensors", tmp_path / "folds.safetensors")
    assert found.folds is None
    assert_allclose(found.scatters, ClassMoments.from_batch(X, y).scatters, atol=1e-9)
    again = load_moments(tmp_path / "folds.safetensors")
    for name in ("classes", "counts", "means", "scatters", "folds"):
        assert_array_equal(getattr(again, name), getattr(folds, name))
    with pytest.raises(ValueError, match="labels are numbers"):
        folds + gather_moments(X, np.arange(len(y)) % 2, folds=True)


def test_any_method_takes_moments_in_folds():
    X, y = data()
    found = CSDA(positive="ann").fit_moments(gather_moments(X, y, folds=True))
    expected = CSDA(positive="ann").fit_moments(gather_moments(X, y))
    assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-9)


def test_weights_and_absent_classes_in_folds():
    X, y = data()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    found = ProbabilisticLDA().fit_moments(gather_moments(X, y, weight, folds=True))
    expected = ProbabilisticLDA().partial_fit(X, y, sample_weight=weight)
    assert_allclose(found.predict_log_proba(X), expected.predict_log_proba(X), atol=1e-8)
    own = y == "bob"
    folds = gather_moments(X, y, folds=True)
    left = folds - gather_moments(X[own], y[own], folds=True)
    found = ProbabilisticLDA().fit_moments(left)
    assert found.classes_.tolist() == ["ann", "cleo", "dora"]


def test_the_minimum_count_holds_in_every_fold(tmp_path):
    X, y = data()
    folds = gather_moments(X, y, folds=True)
    least = folds.counts.min()
    save_moments(folds, tmp_path / "a.safetensors", minimum_count=int(least))
    with pytest.raises(ValueError, match=rf"in a fold have fewer than .*has {least:g}"):
        save_moments(folds, tmp_path / "b.safetensors", minimum_count=int(least) + 1)
    assert not (tmp_path / "b.safetensors").exists()


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
    moments = ClassMoments.from_batch(X, y).revert(X[own], y[own])
    save_moments(moments, tmp_path / "a.safetensors", minimum_count=10)
    found = load_moments(tmp_path / "a.safetensors")
    assert found.counts.tolist() == [30, 0, 30, 30]


# ── Bad files ───────────────────────────────────────────────────────────────────────────────────


def test_models_and_moments_are_not_taken_for_each_other(tmp_path):
    X, y = data()
    moments = saved(tmp_path / "moments.safetensors", X, y)
    MPCA().fit(X).save(tmp_path / "model.safetensors")
    with pytest.raises(ModelFileError, match=r"moments, not a model; .*--from-moments"):
        tenfold.load(moments)
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

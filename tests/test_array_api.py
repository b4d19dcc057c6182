"""Arrays of other libraries go in and come out: the numbers are those of NumPy, everywhere.

`array_api_strict` is NumPy with the functions of the standard alone, and with devices that NumPy
cannot read. PyTorch is tested where it is installed.
"""

import pickle
import re
import subprocess
import sys
from collections import Counter
from copy import deepcopy
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import tenfold
from reference import ARRAY_API_CHECKS, problem
from tenfold import (
    CSDA,
    DATER,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    KernelCSDA,
    ModeScaler,
    ProbabilisticLDA,
    RankSearchCV,
    labelled_projections,
)
from tenfold.methods import ALL_METHODS
from tenfold.system.device_samples import DeviceSamples

strict = pytest.importorskip("array_api_strict")

X, y = problem((4, 3), classes=4, seed=0)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2, len(X))


class Strict:
    """Arrays on a device that NumPy cannot read."""

    device = strict.Device("device1")
    other_device = strict.Device("device2")

    def asarray(self, array, device=None):
        return strict.asarray(np.asarray(array), device=device or self.device)

    def to_numpy(self, array):
        return np.asarray(strict.asarray(array, device=strict.Device("CPU_DEVICE")))

    def is_here(self, array):
        return isinstance(array, type(strict.asarray(0))) and array.device == self.device


class Torch:
    """Tensors on the CPU."""

    def __init__(self):
        self.torch = pytest.importorskip("torch")

    def asarray(self, array):
        return self.torch.asarray(np.array(array))

    def to_numpy(self, array):
        return array.numpy()

    def is_here(self, array):
        return isinstance(array, self.torch.Tensor)


def skip_without_dispatch(monkeypatch):
    """The oldest SciPy and scikit-learn that tenfold takes do not dispatch."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    try:
        with config_context(array_api_dispatch=True):
            pass
    except ImportError as error:
        pytest.skip(str(error))


@pytest.fixture(params=[Strict, Torch], ids=["strict", "torch"])
def library(request, monkeypatch):
    skip_without_dispatch(monkeypatch)
    found = request.param()
    with config_context(array_api_dispatch=True):
        yield found


@pytest.fixture
def torch(monkeypatch):
    skip_without_dispatch(monkeypatch)
    return pytest.importorskip("torch")


def quick(Method, **parameters):
    rest = {} if "tol" not in Method().get_params() else {"tol": 10.0}
    return Method(ranks=5 if Method.flattens else 2, **rest, **parameters)


ESTIMATORS = {
    **{M.__name__: quick(M) for M in ALL_METHODS},
    "moments": quick(MCSDA, statistics="moments"),
    "samples": quick(DATER, statistics="samples"),
    "blocks": MCSDA(ranks=1, blocks=3, tol=10.0),
    "kernel": KernelCSDA(ranks=3),
    "bank": ClassSpecificClassifier(quick(MCSDA)),
    "bank of blocks": ClassSpecificClassifier(MCSDA(ranks=1, blocks=2, tol=10.0)),
    "verifier": ClassSpecificVerifier(quick(MCSDA), positive=3, false_accept_rate="equal"),
    "probabilistic": ProbabilisticLDA(),
    "probabilistic on MPCA": ProbabilisticLDA(quick(MPCA), shrinkage=0.3),
    "scaler": ModeScaler(keep="both"),
    "search": RankSearchCV(ClassSpecificClassifier(quick(MCSDA)), ranks=[1, 2], cv=3),
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)
SAYS = ["transform", "decision_function", "predict", "predict_proba", "predict_log_proba"]
SAYS += ["distances", "similarity"]


def answers(estimator, samples):
    """What every method that the estimator has says of samples."""
    found = {name: getattr(estimator, name)(samples) for name in SAYS if hasattr(estimator, name)}
    if "transform" in found and hasattr(estimator, "inverse_transform"):
        found["inverse_transform"] = estimator.inverse_transform(found["transform"])
    return found


def arrays_in(value, name=""):
    """All arrays that were learned, with names; labels, moments and results are NumPy's."""
    if isinstance(value, list | tuple):
        for i, part in enumerate(value):
            yield from arrays_in(part, f"{name}.{i}")
    elif hasattr(value, "get_params"):
        for key, part in vars(value).items():
            if key.endswith("_") and key not in ("classes_", "moments_", "cv_results_"):
                yield from arrays_in(part, f"{name}.{key}")
    elif hasattr(value, "shape"):
        yield name, value


# ── The same numbers ────────────────────────────────────────────────────────────────────────────


@each_estimator
@pytest.mark.parametrize("weighted", [False, True])
def test_all_that_is_learned_and_said_is_that_of_numpy_and_where_the_samples_are(
    library, name, weighted
):
    labels = (y == 3) + 0 if name == "verifier" and weighted else y
    estimator = clone(ESTIMATORS[name])
    if name == "verifier" and weighted:
        estimator.set_params(positive=1)
    weight = WEIGHT if weighted else None
    expected = clone(estimator).fit(X, labels, sample_weight=weight)
    there = library.asarray(X)
    found = estimator.fit(
        there,
        library.asarray(labels),
        sample_weight=None if weight is None else library.asarray(weight),
    )
    assert found is estimator
    theirs, ours = dict(arrays_in(found)), dict(arrays_in(expected))
    assert theirs.keys() == ours.keys()
    for key, array in ours.items():
        assert library.is_here(theirs[key]), key
        got = library.to_numpy(theirs[key])
        np.testing.assert_allclose(got, array, rtol=1e-6, atol=1e-8, err_msg=key)
        assert got.dtype == array.dtype
    said, wanted = answers(found, there), answers(expected, X)
    assert said.keys() == wanted.keys()
    for method, array in wanted.items():
        assert library.is_here(said[method]), method
        got = library.to_numpy(said[method])
        np.testing.assert_allclose(got, array, rtol=1e-6, atol=1e-8, err_msg=method)
        assert got.dtype == array.dtype
    if hasattr(expected, "score"):
        score = found.score(there, library.asarray(labels))
        assert score == pytest.approx(expected.score(X, labels), abs=1e-6)  # float32


@pytest.mark.parametrize("name", ["MCSDA", "CSDA", "MPCA", "blocks", "bank", "probabilistic"])
def test_float32_samples_give_what_they_give_in_numpy_up_to_float32(library, name):
    narrow = X.astype(np.float32)
    expected, found = clone(ESTIMATORS[name]).fit(narrow, y), clone(ESTIMATORS[name])
    found.fit(library.asarray(narrow), library.asarray(y))
    said, wanted = answers(found, library.asarray(narrow)), answers(expected, narrow)
    for method, array in wanted.items():
        got = library.to_numpy(said[method])
        np.testing.assert_allclose(got, array, rtol=1e-4, atol=1e-4 * np.abs(array).max())
        assert got.dtype == array.dtype


@pytest.mark.parametrize("kind", ["uint8", "int64", "float16", "bool"])
def test_other_numbers_are_taken_for_what_they_are_worth(library, kind):
    if kind == "float16" and isinstance(library, Strict):
        pytest.skip("the standard has no float16")
    whole = np.random.default_rng(0).integers(0, 2 if kind == "bool" else 9, X.shape).astype(kind)
    model = quick(MCSDA).fit(library.asarray(whole), y)
    got = library.to_numpy(model.transform(library.asarray(whole)))
    np.testing.assert_allclose(got, quick(MCSDA).fit(whole, y).transform(whole), rtol=1e-6)


def test_moments_of_a_device_are_those_of_the_sums_written_out(library):
    far = 1e6 + X
    weight = np.where(np.arange(len(X)) % 5 == 0, 0.0, WEIGHT)
    model = quick(MPCA, statistics="moments")
    moments = model.fit(library.asarray(far), sample_weight=library.asarray(weight)).moments_
    mean = np.average(X, axis=0, weights=weight)
    flat = (X - mean).reshape(len(X), -1)
    np.testing.assert_allclose(moments.means[0], 1e6 + mean, rtol=1e-14)
    np.testing.assert_allclose(moments.scatters[0], (flat.T * weight) @ flat, rtol=1e-8, atol=1e-8)
    assert moments.counts[0] == pytest.approx(weight.sum())


def test_a_stream_of_batches_gives_the_model_of_all(library):
    there, labels = library.asarray(X), library.asarray(y)
    model = quick(MCSDA, positive=2)
    for rows in np.array_split(np.arange(len(X)), 3):
        batch = library.asarray(X[rows])
        model.partial_fit(batch, library.asarray(y[rows]), classes=[0, 1, 2, 3])
    whole = quick(MCSDA, positive=2).fit(X, y)
    got = library.to_numpy(model.decision_function(there))
    np.testing.assert_allclose(got, whole.decision_function(X), rtol=1e-6)
    assert isinstance(model.moments_, ClassMoments)
    bank = ClassSpecificClassifier(quick(MCSDA)).partial_fit(there, labels)
    assert library.is_here(bank.partial_fit(there, labels).spreads_)


def test_classes_are_enrolled_and_sessions_recentred_where_the_model_is(library):
    known = y < 3
    expected = ProbabilisticLDA().fit(X[known], y[known])
    found = ProbabilisticLDA().fit(library.asarray(X[known]), y[known])
    later, labels = X[~known][:2], y[~known][:2]
    assert found.enrol(library.asarray(later), library.asarray(labels)) is found
    wanted = expected.enrol(later, labels).recentred(X + 1).predict_proba(X + 1)
    session = found.recentred(library.asarray(X + 1))
    assert library.is_here(session.mean_)
    got = session.predict_proba(library.asarray(X + 1))
    np.testing.assert_allclose(library.to_numpy(got), wanted, rtol=1e-6, atol=1e-9)
    names, scores = found.set_scores(library.asarray(X), library.asarray(y))
    assert library.is_here(scores)
    assert library.to_numpy(names).tolist() == [0, 1, 2, 3]


def test_labels_may_be_text_which_only_numpy_has(library):
    words = np.array(["a", "b", "c", "d"])[y]
    bank = ClassSpecificClassifier(quick(MCSDA)).fit(library.asarray(X), words)
    expected = ClassSpecificClassifier(quick(MCSDA)).fit(X, words).predict(X)
    assert bank.predict(library.asarray(X)).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["MPCA", "MCSDA", "moments", "blocks", "bank", "verifier"])
def test_scoring_does_not_move_the_samples_to_the_host(library, name, monkeypatch):
    model = clone(ESTIMATORS[name]).fit(library.asarray(X), y)
    monkeypatch.setattr(DeviceSamples, "on_host", property(lambda self: pytest.fail("moved")))
    for method in ("transform", "decision_function", "predict"):
        if hasattr(model, method):
            getattr(model, method)(library.asarray(X))
    if name == "moments":
        model.fit(library.asarray(X), y)


# ── scikit-learn's checks ───────────────────────────────────────────────────────────────────────

CHECKED = {
    **{M.__name__: M() for M in (*ALL_METHODS, KernelCSDA)},
    "bank": ClassSpecificClassifier(MCSDA()),
    "verifier": ClassSpecificVerifier(MCSDA(), false_accept_rate="equal"),
    "probabilistic": ProbabilisticLDA(),
    "scaler": ModeScaler((), per_sample=False),
    "search": RankSearchCV(MCSDA(), ranks=[1, 2], cv=2),
}


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_array_api_checks_of_scikit_learn_pass_and_are_counted(name, monkeypatch):
    skip_without_dispatch(monkeypatch)
    estimator = CHECKED[name]
    assert estimator.__sklearn_tags__().array_api_support
    counted = Counter()
    for model, check in estimator_checks_generator(estimator):
        if check.func.__name__ in ARRAY_API_CHECKS:
            try:
                check(model)
                counted[check.keywords.get("array_namespace", "mixed")] += 1
            except SkipTest:  # a library or a device that is not here
                counted["skipped"] += 1
    assert counted["numpy"] == 1  # that dispatch changes nothing
    if tuple(map(int, version("scikit-learn").split(".")[:2])) >= (1, 9):
        # Two devices, and the refusal of other arrays than those of fit.
        assert counted["array_api_strict"] == 3
        # float64 and float32; labels and weights of another library.
        torch = find_spec("torch") is not None
        assert (counted["torch"], counted["mixed"]) == ((2, 1) if torch else (0, 0))


# ── Copies, files, and models that change places ────────────────────────────────────────────────


@each_estimator
def test_a_model_of_another_library_is_saved_as_numpy_and_answers_as_before(
    library, name, tmp_path
):
    if name == "search":
        pytest.skip("a search is not saved")
    model = clone(ESTIMATORS[name]).fit(library.asarray(X), library.asarray(y))
    model.save(tmp_path / "model.safetensors")
    loaded = tenfold.load(tmp_path / "model.safetensors")
    assert all(type(array) is np.ndarray for _, array in arrays_in(loaded))
    there = answers(loaded, library.asarray(X))  # a model of NumPy arrays serves any library
    for method, array in answers(model, library.asarray(X)).items():
        assert library.is_here(there[method])
        got, wanted = library.to_numpy(there[method]), library.to_numpy(array)
        np.testing.assert_array_equal(got, wanted)
    with config_context(array_api_dispatch=False):
        assert type(next(iter(answers(loaded, X).values()))) is np.ndarray


@pytest.mark.parametrize("name", ["MCSDA", "bank", "probabilistic", "verifier"])
@pytest.mark.parametrize("way", [lambda m: pickle.loads(pickle.dumps(m)), deepcopy])
def test_copies_are_where_the_model_was(library, name, way):
    if isinstance(library, Strict):
        pytest.skip("its devices are not the same after pickling")
    there = library.asarray(X)
    model = clone(ESTIMATORS[name]).fit(there, y)
    copied = way(model)
    assert all(library.is_here(array) for _, array in arrays_in(copied))
    for method, array in answers(model, there).items():
        got = library.to_numpy(answers(copied, there)[method])
        np.testing.assert_array_equal(got, library.to_numpy(array))
    assert not list(arrays_in(clone(model)))


def test_what_is_set_after_fitting_counts(library):
    model = quick(MCSDA, positive=1).fit(library.asarray(X), y)
    assert model.transform(library.asarray(X)).ndim == 2
    assert model.set_params(output="tensor").transform(library.asarray(X)).shape[1:] == (2, 2)
    centre = library.asarray(X[0])
    model.mean_ = centre
    assert library.to_numpy(model.decision_function(library.asarray(X)))[0] == pytest.approx(0)


def test_a_failed_fit_changes_nothing_and_a_new_one_changes_the_place(library):
    model = quick(MCSDA, positive=1).fit(library.asarray(X), y)
    before = {k: id(v) for k, v in vars(model).items()}
    with pytest.raises(ValueError, match="1 class"):
        model.fit(library.asarray(X), np.zeros(len(X), int))
    assert {k: id(v) for k, v in vars(model).items()} == before
    assert all(type(array) is np.ndarray for _, array in arrays_in(model.fit(X, y)))
    assert type(model.transform(X)) is np.ndarray


def test_the_edges_read_models_of_any_library(library):
    model = quick(MCSDA, positive=1).fit(library.asarray(X), y)
    pytest.importorskip("xarray")
    expected = labelled_projections(quick(MCSDA, positive=1).fit(X, y))
    np.testing.assert_allclose(labelled_projections(model)[0], expected[0], atol=1e-9)


def test_without_dispatch_tensors_are_read_as_numpy_arrays(torch):
    there = torch.asarray(X)
    for name in ("MCSDA", "bank", "probabilistic"):
        model = clone(ESTIMATORS[name]).fit(there, torch.asarray(y))
        for method, array in answers(clone(ESTIMATORS[name]).fit(X, y), X).items():
            np.testing.assert_array_equal(answers(model, there)[method], array)
    with config_context(array_api_dispatch=True):
        model = quick(MCSDA).fit(there, y)
    assert type(model.transform(X)) is type(model.transform(there)) is np.ndarray


def test_the_code_of_the_page_runs(torch):
    page = Path(__file__).parents[1] / "docs" / "user_guide" / "arrays.md"
    if not page.exists():
        pytest.skip("the pages are not part of an sdist")
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{code-block\} python\n(.*?)^```$", text, flags=re.M | re.S)
    assert blocks
    words = [sys.executable, "-c", "\n".join(blocks)]
    run = subprocess.run(words, capture_output=True, text=True)  # SCIPY_ARRAY_API is set
    assert run.stdout.startswith("torch.Size([897, 10])"), run.stderr


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


def test_samples_elsewhere_than_the_model_are_refused_with_the_remedy(library):
    model = ClassSpecificClassifier(quick(MCSDA)).fit(library.asarray(X), y)
    words = r"ClassSpecificClassifier.predict\(\).*same namespace.*same device.*tenfold.load"
    with pytest.raises(ValueError, match=words):
        model.predict(X)
    if isinstance(library, Strict):
        with pytest.raises(ValueError, match=r"device1.*device2.*X\.to\(device\)"):
            model.transform_ = model.predict(library.asarray(X, library.other_device))
        with pytest.raises(ValueError, match=r"partial_fit\(\) must use the same"):
            quick(MCSDA).partial_fit(library.asarray(X), y).partial_fit(
                library.asarray(X, library.other_device), y
            )


def test_labels_and_weights_may_be_elsewhere(library):
    model = quick(MCSDA).fit(library.asarray(X), strict.asarray(y), strict.asarray(WEIGHT))
    expected = quick(MCSDA).fit(X, y, WEIGHT)
    got = library.to_numpy(model.mean_)
    np.testing.assert_allclose(got, expected.mean_, rtol=1e-12)
    np.testing.assert_allclose(
        quick(MCSDA).fit(X, library.asarray(y)).mean_, quick(MCSDA).fit(X, y).mean_
    )


def test_samples_that_are_no_batch_of_finite_numbers_get_the_usual_messages(library):
    bad = X.copy()
    bad[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        quick(MCSDA).fit(library.asarray(bad), y)
    model = quick(MCSDA).fit(library.asarray(X), y)
    with pytest.raises(ValueError, match="fill gaps"):
        model.transform(library.asarray(bad))
    with pytest.raises(ValueError, match=r"shape \(3, 4\).*fitted on \(4, 3\)"):
        model.transform(library.asarray(X.transpose(0, 2, 1)))
    with pytest.raises(ValueError, match="at least one sample"):
        model.transform(library.asarray(X[:0]))


@pytest.mark.parametrize("dispatch", [False, True])
def test_tensors_that_cannot_be_read_are_refused_with_the_remedy(torch, dispatch):
    there = torch.asarray(X)
    cases = {
        r"requires gradients.*X\.detach\(\)": there.clone().requires_grad_(),
        r"bfloat16.*X\.float\(\)": there.to(torch.bfloat16),
        r"complex128.*real": there.to(torch.complex128),
        r"'meta'.*no numbers": there.to("meta"),
        r"sparse.*to_dense\(\)": there.to_sparse(),
    }
    with config_context(array_api_dispatch=dispatch):
        model = quick(MCSDA).fit(there, y)
        for words, tensor in cases.items():
            with pytest.raises(ValueError, match=words):
                quick(MCSDA).fit(tensor, y)
            with pytest.raises(ValueError, match=words):
                model.transform(tensor)
        with pytest.raises(ValueError, match=r"y is on device 'meta'"):
            quick(CSDA).fit(there, torch.asarray(y).to("meta"))
        weight = torch.ones(len(X), requires_grad=True)
        with pytest.raises(ValueError, match=r"sample_weight requires.*sample_weight\.detach"):
            quick(MCSDA).fit(there, y, weight)


def test_another_device_without_dispatch_is_refused_with_the_remedy():
    elsewhere = strict.asarray(X, device=strict.Device("device1"))
    with pytest.raises(ValueError, match=r"device1.*array_api_dispatch=True.*SCIPY_ARRAY_API=1"):
        quick(MCSDA).fit(elsewhere, y)


# ── With gaps, covariates and batches that are taken back ───────────────────────────────────────

SOME = [MCSDA(ranks=2, positive=1), ClassSpecificClassifier(CSDA(ranks=3)), ProbabilisticLDA()]


@pytest.mark.parametrize("model", SOME, ids=lambda model: type(model).__name__)
def test_a_batch_is_taken_back_where_the_samples_are(library, model):
    here = library.asarray(X)
    expected = clone(model).partial_fit(X, y).revert(X[:7], y[:7]).decision_function(X)
    model = clone(model).partial_fit(here, y).revert(library.asarray(X[:7]), y[:7])
    found = model.decision_function(here)
    assert library.is_here(found)
    np.testing.assert_allclose(library.to_numpy(found), expected, atol=1e-8)


@pytest.mark.parametrize("model", SOME, ids=lambda model: type(model).__name__)
def test_gaps_and_covariates_of_tensors_are_those_of_arrays(library, model):
    rng = np.random.default_rng(1)
    ages, holed = rng.normal(size=len(X)), X.copy()
    holed[rng.random(X.shape) < 0.1] = np.nan
    gappy = clone(model)
    inner = getattr(gappy, "projector", None)
    (gappy if inner is None else inner).missing = "complete"
    for asked, samples, extra in ((model, X, {"covariates": ages}), (gappy, holed, {})):
        expected = clone(asked).fit(samples, y, **extra).decision_function(samples, **extra)
        there = library.asarray(samples)
        found = clone(asked).fit(there, y, **extra).decision_function(there, **extra)
        assert library.is_here(found)
        np.testing.assert_allclose(library.to_numpy(found), expected, atol=1e-8)

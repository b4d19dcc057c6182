"""Arrays of other libraries go in and come out: the numbers are those of NumPy, everywhere.

`array_api_strict` is NumPy with the functions of the standard alone, and with devices that NumPy
cannot read. PyTorch is tested where it is installed.
"""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

import tenfold
from reference import problem
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    GaussianImputer,
    KernelCSDA,
    ModeScaler,
    ProbabilisticLDA,
    RankSearchCV,
)
from tenfold.methods import LINEAR_METHODS

strict = pytest.importorskip("array_api_strict")

X, y = problem((4, 3), classes=4, seed=0)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2, len(X))


class Strict:
    """Arrays on a device that NumPy cannot read."""

    device = strict.Device("device1")

    def asarray(self, array):
        return strict.asarray(np.asarray(array), device=self.device)

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
    return Method(ranks=5 if Method._flattens else 2, **rest, **parameters)


ESTIMATORS = {
    **{M.__name__: quick(M) for M in LINEAR_METHODS},
    "imputer": GaussianImputer(),
    "kernel": KernelCSDA(ranks=3),
    "bank": ClassSpecificClassifier(quick(MCSDA)),
    "verifier": ClassSpecificVerifier(quick(MCSDA), positive=3, false_accept_rate="equal"),
    "probabilistic": ProbabilisticLDA(),
    "probabilistic on MPCA": ProbabilisticLDA(views=[quick(MPCA)]),
    "scaler": ModeScaler(keep="both"),
    "search": RankSearchCV(ClassSpecificClassifier(quick(MCSDA)), ranks=[1, 2], cv=3),
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)
SAYS = ["transform", "decision_function", "predict", "predict_proba", "predict_log_proba"]
SAYS += ["distances", "similarity", "log_likelihood_ratio"]


def answers(estimator, samples):
    """What every method that the estimator has says of samples."""
    found = {name: getattr(estimator, name)(samples) for name in SAYS if hasattr(estimator, name)}
    if "transform" in found and hasattr(estimator, "inverse_transform"):
        found["inverse_transform"] = estimator.inverse_transform(found["transform"])
    return found


def arrays_in(value, name=""):
    """All arrays that were learned, with names."""
    if isinstance(value, list | tuple):
        for i, part in enumerate(value):
            yield from arrays_in(part, f"{name}.{i}")
    elif hasattr(value, "get_params"):
        for key, part in vars(value).items():
            if key.endswith("_"):
                yield from arrays_in(part, f"{name}.{key}")
    elif hasattr(value, "shape"):
        yield name, value


# ── The same numbers ────────────────────────────────────────────────────────────────────────────


@each_estimator
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore:.*will hold .* training samples")
def test_answers_are_those_of_numpy_where_the_samples_are_and_what_is_learned_is_numpys(
    library, name, weighted, tmp_path
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
    assert not any(library.is_here(array) for _, array in arrays_in(found))
    said, wanted = answers(found, there), answers(expected, X)
    assert said.keys() == wanted.keys()
    for method, array in wanted.items():
        assert library.is_here(said[method]), method
        got = library.to_numpy(said[method])
        np.testing.assert_allclose(got, array, rtol=1e-6, atol=1e-8, err_msg=method)
        assert got.dtype == array.dtype
    for method, array in answers(found, X).items():  # the model serves NumPy as well
        np.testing.assert_allclose(array, wanted[method], rtol=1e-6, atol=1e-8, err_msg=method)
    if hasattr(expected, "score"):
        score = found.score(there, library.asarray(labels))
        assert score == pytest.approx(expected.score(X, labels))
    for copied in (clone(found), pickle.loads(pickle.dumps(found))):
        assert not any(library.is_here(array) for _, array in arrays_in(copied))
    if hasattr(found, "save"):
        found.save(tmp_path / "model.safetensors")
        loaded = answers(tenfold.load_model(tmp_path / "model.safetensors"), there)
        for method, array in said.items():
            np.testing.assert_array_equal(
                library.to_numpy(loaded[method]), library.to_numpy(array), err_msg=method
            )


@pytest.mark.parametrize("name", ["MCSDA", "CSDA", "MPCA", "bank", "probabilistic"])
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
    model = quick(MPCA)
    model.partial_fit(library.asarray(far), sample_weight=library.asarray(weight))
    moments = model.moments_
    mean = np.average(X, axis=0, weights=weight)
    flat = (X - mean).reshape(len(X), -1)
    np.testing.assert_allclose(moments.means[0], 1e6 + mean, rtol=1e-14)
    np.testing.assert_allclose(moments.scatters[0], (flat.T * weight) @ flat, rtol=1e-8, atol=1e-8)
    assert moments.counts[0] == pytest.approx(weight.sum())


def test_a_stream_of_batches_gives_the_model_of_all(library):
    there, labels = library.asarray(X), library.asarray(y)
    for model in (quick(MCSDA, positive=2), ClassSpecificClassifier(quick(MCSDA))):
        whole = clone(model).fit(X, y)
        for rows in np.array_split(np.arange(len(X)), 3):
            batch = library.asarray(X[rows])
            model.partial_fit(batch, library.asarray(y[rows]), classes=[0, 1, 2, 3])
        got = library.to_numpy(model.decision_function(there))
        np.testing.assert_allclose(got, whole.decision_function(X), rtol=1e-6)
    model = ProbabilisticLDA().partial_fit(there, labels)
    expected = ProbabilisticLDA().fit(X, y).predict_proba(X)
    got = library.to_numpy(model.predict_proba(there))
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_classes_are_enrolled_from_arrays_of_any_library(library):
    known = y < 3
    expected = ProbabilisticLDA().fit(X[known], y[known])
    found = ProbabilisticLDA().fit(library.asarray(X[known]), y[known])
    later, labels = X[~known][:2], y[~known][:2]
    assert found.enroll(library.asarray(later), library.asarray(labels)) is found
    wanted = expected.enroll(later, labels).predict_proba(X)
    got = found.predict_proba(library.asarray(X))
    np.testing.assert_allclose(library.to_numpy(got), wanted, rtol=1e-6, atol=1e-9)
    names, scores = found.set_scores(library.asarray(X), library.asarray(y))
    assert library.is_here(scores)
    assert names.tolist() == [0, 1, 2, 3]


def test_labels_may_be_text_which_only_numpy_has(library):
    words = np.array(["a", "b", "c", "d"])[y]
    bank = ClassSpecificClassifier(quick(MCSDA)).fit(library.asarray(X), words)
    expected = ClassSpecificClassifier(quick(MCSDA)).fit(X, words).predict(X)
    assert bank.predict(library.asarray(X)).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["MPCA", "MCSDA", "bank", "verifier"])
def test_scoring_does_not_move_the_samples_to_the_host(name, monkeypatch):
    """Arrays on this device cannot be read by NumPy; results hold less than the samples."""
    skip_without_dispatch(monkeypatch)
    there = Strict().asarray(X)
    with config_context(array_api_dispatch=True):
        model = clone(ESTIMATORS[name]).fit(there, y)
        asarray = strict.asarray

        def watched(array, *args, **kwargs):
            moves = str(kwargs.get("device")) == str(strict.Device("CPU_DEVICE"))
            assert not moves or np.prod(array.shape) < X.size
            return asarray(array, *args, **kwargs)

        monkeypatch.setattr(strict, "asarray", watched)
        for method in ("transform", "decision_function", "predict"):
            if hasattr(model, method):
                getattr(model, method)(there)
        if name == "moments":
            model.fit(there, y)


def test_labels_and_weights_may_be_elsewhere(library):
    model = quick(MCSDA).fit(library.asarray(X), strict.asarray(y), strict.asarray(WEIGHT))
    expected = quick(MCSDA).fit(X, y, WEIGHT)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-12)


def test_without_dispatch_tensors_are_read_as_numpy_arrays(torch):
    there = torch.asarray(X)
    for name in ("MCSDA", "bank", "probabilistic"):
        model = clone(ESTIMATORS[name]).fit(there, torch.asarray(y))
        for method, array in answers(clone(ESTIMATORS[name]).fit(X, y), X).items():
            np.testing.assert_array_equal(answers(model, there)[method], array)


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


def test_samples_that_are_no_batch_of_finite_numbers_get_the_usual_messages(library):
    bad = X.copy()
    bad[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        quick(MCSDA).fit(library.asarray(bad), y)
    model = quick(MCSDA).fit(library.asarray(X), y)
    with pytest.raises(ValueError, match="GaussianImputer"):
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

"""Laws of all steps: scikit-learn's own, and that stores, files and graphs change no number."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import tenfold
from reference import problem, with_gaps
from tenfold import (
    CSDA,
    MPCA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    CovariateRemover,
    GaussianImputer,
    ModeScaler,
    ProbabilisticLDA,
)

X, y = problem((5, 4), classes=4, per_class=9, seed=0)
AGES = np.random.default_rng(0).normal(size=(len(X), 2))
STEPS = {
    "ModeScaler": ModeScaler(),
    "GaussianImputer": GaussianImputer(),
    "CovariateRemover": CovariateRemover(),
}
each_step = pytest.mark.parametrize("name", STEPS)


def given(name):
    return {"covariates": AGES} if name == "CovariateRemover" else {}


def samples_for(name):
    return with_gaps(X, 0.1) if name == "GaussianImputer" else X


@each_step
def test_files_and_pickles_change_no_number(name, tmp_path):
    data, besides = samples_for(name), given(name)
    step = clone(STEPS[name]).fit(data, y, **besides)
    expected = step.transform(data, **besides)
    step.save(tmp_path / "step.safetensors")
    for copy in (
        tenfold.load_model(tmp_path / "step.safetensors"),
        pickle.loads(pickle.dumps(step)),
    ):
        np.testing.assert_array_equal(copy.transform(data, **besides), expected)
        assert copy.get_feature_names_out().tolist() == step.get_feature_names_out().tolist()


@each_step
def test_stores_are_changed_as_they_are_read(name, tmp_path):
    data, besides = samples_for(name), given(name)
    np.save(tmp_path / "x.npy", data)
    stored = np.load(tmp_path / "x.npy", mmap_mode="r")
    step = clone(STEPS[name]).fit(data, y, **besides)
    expected = step.transform(data, **besides)
    found = clone(step).fit(stored, y, **besides).transform(stored, **besides)
    assert not isinstance(found, np.ndarray)
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-9)
    np.testing.assert_allclose(found[7:9], expected[7:9], atol=1e-9)
    np.testing.assert_allclose(found[[5, 2]], expected[[5, 2]], atol=1e-9)


@each_step
def test_dask_arrays_stay_lazy(name):
    da = pytest.importorskip("dask.array")
    data, besides = samples_for(name), given(name)
    lazy = da.from_array(data, chunks=(10, 5, 4))
    step = clone(STEPS[name]).fit(data, y, **besides)
    found = clone(step).fit(lazy, y, **besides).transform(lazy, **besides)
    assert isinstance(found, da.Array)
    np.testing.assert_allclose(found.compute(), step.transform(data, **besides), atol=1e-9)


@each_step
def test_weights_are_repeats_and_float32_stays(name):
    data, besides = samples_for(name), given(name)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    step = clone(STEPS[name]).fit(data, y, sample_weight=weight, **besides)
    repeated = {k: np.repeat(v, weight, axis=0) for k, v in besides.items()}
    other = clone(step).fit(np.repeat(data, weight, axis=0), np.repeat(y, weight), **repeated)
    expected = np.abs(step.transform(data, **besides))
    np.testing.assert_allclose(np.abs(other.transform(data, **besides)), expected, atol=1e-5)
    assert step.transform(data.astype(np.float32), **besides).dtype == np.float32


@pytest.mark.parametrize(
    "steps",
    [
        [CovariateRemover(last=2), CSDA(ranks=3, positive=1)],
        [CovariateRemover(), ModeScaler(0), MPCA(ranks=(2, 2))],
    ],
    ids=["last numbers", "second input"],
)
def test_graphs_give_what_pipelines_give(steps, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from tenfold.files.onnx_export import to_onnx

    data, feed = X.astype(np.float32), {}
    if getattr(steps[0], "last", None):
        data = np.hstack([data.reshape(len(X), -1), AGES]).astype(np.float32)
    model, changed = make_pipeline(*map(clone, steps)), data
    for _, step in model.steps[:-1]:
        if isinstance(step, CovariateRemover) and step.last is None:
            feed = {"covariates": AGES.astype(np.float32)}
        changed = step.fit_transform(changed, y, **(feed if changed is data else {}))
    last = model.steps[-1][1].fit(changed, y)
    to_onnx(model, tmp_path / "m.onnx")
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": data} | feed), strict=True))
    expected = last.transform(changed)
    np.testing.assert_allclose(found["projected"], expected, atol=1e-4 * np.abs(expected).max())


def test_a_graph_cannot_complete_gaps(tmp_path):
    pytest.importorskip("onnx")
    from tenfold.files.onnx_export import to_onnx

    model = make_pipeline(GaussianImputer(), MPCA(ranks=2)).fit(X)
    with pytest.raises(ValueError, match=r"GaussianImputer has no ONNX form.*pipeline\[1:\]"):
        to_onnx(model, tmp_path / "m.onnx")


class Unreadable:
    """A store; who refuses to make a table of it does so before it is read."""

    shape, ndim, dtype = X.shape, X.ndim, X.dtype

    def __getitem__(self, rows):
        raise OSError("this store was read")


@each_step
def test_tables_come_out_where_rows_are_flat(name):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X.reshape(len(X), -1), columns=[f"n{i}" for i in range(20)])
    step = clone(STEPS[name]).set_output(transform="pandas").fit(frame, y)
    assert step.transform(frame).columns.tolist() == step.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="set_output asks for pandas"):
        clone(step).fit(X, y).transform(Unreadable())


@each_step
def test_a_damaged_file_is_refused(name, tmp_path):
    step = clone(STEPS[name]).fit(samples_for(name), y, **given(name))
    learned = {k: v for k, v in vars(step).items() if k.endswith("_") and isinstance(v, np.ndarray)}
    for attribute in learned:
        broken = clone(step)
        vars(broken).update(vars(step))
        setattr(broken, attribute, getattr(step, attribute)[:-1])
        broken.save(tmp_path / "step.safetensors")
        with pytest.raises(tenfold.serialization.model_format.ModelFileError):
            tenfold.load_model(tmp_path / "step.safetensors")


# ── Covariates by metadata routing ──────────────────────────────────────────────────────────────


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def with_covariates():
    return (
        CovariateRemover().set_fit_request(covariates=True).set_transform_request(covariates=True)
    )


def test_banks_and_verifiers_in_pipelines_take_covariates(routing):
    moved = X + 5 * AGES[:, :1, None]
    for model in (
        ClassSpecificClassifier(CSDA(ranks=2)),
        ClassSpecificVerifier(CSDA(ranks=2), positive=1, false_accept_rate=0.4),
        ProbabilisticLDA(views="linear"),
    ):
        pipeline = make_pipeline(with_covariates(), clone(model)).fit(moved, y, covariates=AGES)
        corrected = with_covariates().fit_transform(moved, y, covariates=AGES)
        expected = clone(model).fit(corrected, y).decision_function(corrected)
        found = pipeline.decision_function(moved, covariates=AGES)
        np.testing.assert_allclose(found, expected, atol=1e-9)

"""Laws of ModeScaler: samples centred and scaled along modes, by themselves or by the training."""

from itertools import pairwise

import joblib
import numpy as np
import onnxruntime
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import zscore
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenfold import MPCA, ClassMoments, ModeScaler, ProbabilisticLDA
from tenfold.files.onnx_export import to_onnx

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3, 5)) * rng.lognormal(size=(40, 3, 1)) + np.array([[0], [5], [-100]])
Y = np.arange(40) % 2
SCALERS = [
    ModeScaler(),
    ModeScaler(0, pseudocount=0.3, keep="mean"),
    ModeScaler(keep="spread"),
    ModeScaler(keep="both", output="flat"),
    ModeScaler((0, 1), pseudocount=0),
    ModeScaler(per_sample=False),
    ModeScaler((), per_sample=False),
    ModeScaler((0, -1), per_sample=False, output="flat"),
]
each_scaler = pytest.mark.parametrize("scaler", SCALERS, ids=lambda s: " ".join(str(s).split()))


def assert_same_scaler(one, other, tolerance=1e-13):
    for name in ("mean_", "spread_", "mean_spread_", "scale_"):
        a, b = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=name)


# ── What is computed ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("modes", [0, 1, -1])
def test_without_a_pseudocount_it_is_the_z_score_of_every_fibre(modes):
    came = ModeScaler(modes, pseudocount=0).fit_transform(X)
    np.testing.assert_allclose(came, zscore(X, axis=modes % 2 + 1), rtol=1e-11, atol=1e-11)


def test_whole_samples_by_themselves():
    flat = zscore(X.reshape(40, -1), axis=1).reshape(X.shape)
    came = ModeScaler((0, 1), pseudocount=0).fit_transform(X)
    np.testing.assert_allclose(came, flat, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_pixel_over_the_training_samples_is_the_scaler_of_scikit_learn(weighted):
    weight = np.arange(40) % 3 if weighted else None
    theirs = StandardScaler().fit(X.reshape(40, -1), sample_weight=weight)
    ours = ModeScaler((), per_sample=False).fit(X, sample_weight=weight)
    np.testing.assert_allclose(ours.mean_.ravel(), theirs.mean_, rtol=1e-12)
    np.testing.assert_allclose(ours.scale_.ravel(), theirs.scale_, rtol=1e-12)
    expected = theirs.transform(X.reshape(40, -1)).reshape(X.shape)
    np.testing.assert_allclose(ours.transform(X), expected, rtol=1e-10, atol=1e-12)


@each_scaler
def test_from_moments_it_is_that_of_all_samples(scaler):
    weight = np.arange(40) % 3 + 0.5
    moments = ClassMoments.from_batch(X, Y, weight)
    found = clone(scaler).fit_moments(moments)
    assert_same_scaler(found, clone(scaler).fit(X, sample_weight=weight), 1e-10)
    assert found.n_samples_seen_ == weight.sum()
    if scaler.per_sample:
        with pytest.raises(ValueError, match="moments do not contain single samples"):
            found.transform_moments(moments)
        return
    expected = ClassMoments.from_batch(found.transform(X), Y, weight)
    came = found.transform_moments(moments)
    assert came.shape == expected.shape
    np.testing.assert_allclose(came.means, expected.means, atol=1e-11)
    np.testing.assert_allclose(came.scatters, expected.scatters, atol=1e-10)


def test_moments_of_constant_numbers_on_an_offset_scale_as_the_samples_do():
    level = X.copy()
    level[:, 1] = 1e6 / 3
    level[:, 2] += 1e6
    moments = ClassMoments.from_batch(level, Y)
    for modes in ((), 0, -1, (0, 1)):
        scaler = ModeScaler(modes, per_sample=False)
        found = clone(scaler).fit_moments(moments)
        np.testing.assert_allclose(found.scale_, clone(scaler).fit(level).scale_, rtol=1e-9)


def test_moments_of_another_shape_are_refused():
    scaler = ModeScaler((), per_sample=False).fit(X)
    for others in (X[:, :, 0], X.swapaxes(1, 2)):
        with pytest.raises(ValueError, match="but this ModeScaler was fitted on"):
            scaler.transform_moments(ClassMoments.from_batch(others, Y))
    with pytest.raises(ValueError, match="moments is a ndarray; expected ClassMoments"):
        scaler.transform_moments(X)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 + 0.1])
@pytest.mark.parametrize("size", [3, 7, 10])
def test_constant_fibres_have_no_spread_in_moments_either(value, size):
    samples = np.full((20, size, 2), value)
    samples[:, :, 1] = X.ravel()[: 20 * size].reshape(20, size)
    scaler = ModeScaler(0, per_sample=False)
    found = clone(scaler).fit_moments(ClassMoments.from_batch(samples))
    np.testing.assert_allclose(found.scale_, clone(scaler).fit(samples).scale_, rtol=1e-10)
    assert found.scale_[0, 0] == 1


def test_a_pixel_that_never_changed_is_centred_and_not_divided():
    """As scikit-learn does it: what it is in new samples keeps its own unit."""
    dead = X.copy()
    dead[:, 1, 2] = 7.0
    theirs = StandardScaler().fit(dead.reshape(40, -1))
    ours = ModeScaler((), per_sample=False).fit(dead)
    assert ours.mean_.shape == ours.spread_.shape == ours.mean_spread_.shape == (3, 5)
    expected = theirs.transform(X.reshape(40, -1)).reshape(X.shape)
    np.testing.assert_allclose(ours.transform(X), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.inverse_transform(expected), X, rtol=1e-12, atol=1e-12)
    level = X - X.mean(axis=2, keepdims=True) + np.array([[1.0], [2.0], [3.0]])
    kept = ModeScaler(keep="mean").fit(level).transform(level + 4.0)[..., -1]
    np.testing.assert_allclose(kept, 4.0, rtol=1e-12)  # all means were equal: in their own unit
    kept = ModeScaler(keep="spread", pseudocount=0).fit(np.ones((4, 2, 5))).transform(X[:, :2])
    np.testing.assert_allclose(kept[..., -1], np.log(X[:, :2].std(axis=2)), rtol=1e-10)


@pytest.mark.parametrize("offset", [1.0, -1.0, 30.0])
def test_small_numbers_on_a_large_offset_are_no_rounding(offset):
    small = offset + 1e-9 * np.random.default_rng(1).normal(size=(40, 3, 5))
    flat = small.reshape(40, -1)
    over_samples = ModeScaler((), per_sample=False).fit_transform(small)
    expected = StandardScaler().fit_transform(flat - flat[0]).reshape(small.shape)
    np.testing.assert_allclose(over_samples, expected, atol=2e-6 * abs(offset))
    alone = ModeScaler(pseudocount=0).fit_transform(small)
    np.testing.assert_allclose(alone, zscore(small - offset, axis=2), atol=2e-6 * abs(offset))
    means = ModeScaler(keep="mean", pseudocount=0).fit_transform(small)[..., -1]
    expected = zscore((small - offset).mean(axis=2), axis=0)
    np.testing.assert_allclose(means, expected, atol=2e-6 * abs(offset))


@pytest.mark.parametrize("pseudocount", [0.5, 1, 20])
def test_the_pseudocount_stands_for_more_numbers_with_the_typical_spread(pseudocount):
    """Written number by number, as the docstring says it."""
    scaler = ModeScaler(pseudocount=pseudocount, keep="both").fit(X)
    typical = np.sqrt(np.mean([[np.var(fibre) for fibre in sample] for sample in X], axis=0))
    means = np.array([[np.mean(fibre) for fibre in sample] for sample in X])
    for sample, scaled in zip(X, scaler.transform(X), strict=True):
        for i, fibre in enumerate(sample):
            square = (5 * np.var(fibre) + pseudocount * typical[i] ** 2) / (5 + pseudocount)
            expected = [
                *((fibre - fibre.mean()) / np.sqrt(square)),
                (fibre.mean() - means[:, i].mean()) / means[:, i].std(),
                np.log(np.sqrt(square) / typical[i]),
            ]
            np.testing.assert_allclose(scaled[i], expected, rtol=1e-10, atol=1e-12)


@each_scaler
def test_units_do_not_matter(scaler):
    """Each feature in a unit of its own gives the same numbers, if it is scaled by itself."""
    units = np.array([[1e-6], [3.0], [1e7]]) if scaler.modes in (-1, ()) else np.array([[1e5]])
    units = units if scaler.modes != () else units * np.arange(1, 6)
    one, other = scaler.fit_transform(X), scaler.fit_transform(X * units)
    np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)


@each_scaler
def test_the_way_back(scaler):
    scaled = scaler.fit_transform(X)
    if scaler.per_sample and scaler.keep != "both":
        with pytest.raises(ValueError, match=r"not there any more.*keep='both'.*per_sample=False"):
            scaler.inverse_transform(scaled)
    else:
        np.testing.assert_allclose(scaler.inverse_transform(scaled), X, rtol=1e-12, atol=1e-11)
        with pytest.raises(ValueError, match="pass what transform returned"):
            scaler.inverse_transform(np.ones((2, 7)))


# ── However the samples come ────────────────────────────────────────────────────────────────────


@given(st.lists(st.integers(0, 40), max_size=5), st.booleans())
def test_the_scaler_does_not_depend_on_how_the_stream_is_cut(cuts, weighted):
    weight = np.arange(40) % 3 + 0.5 if weighted else np.ones(40)
    far = X + 1e4
    whole, grown = ModeScaler().fit(far, sample_weight=weight), ModeScaler()
    edges = [0, *sorted(cuts), 40]
    for start, stop in pairwise(edges):
        if stop > start:
            grown.partial_fit(far[start:stop], sample_weight=weight[start:stop])
    assert grown.n_samples_seen_ == pytest.approx(weight.sum())
    assert_same_scaler(grown, whole, 1e-9)


@each_scaler
def test_stores_give_stores_that_scale_as_they_are_read(scaler, tmp_path):
    stored = zarr.create_array(tmp_path / "x.zarr", data=X, chunks=(7, 3, 5))
    mapped = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=float, shape=X.shape)
    mapped[:] = X
    expected = scaler.fit(X).transform(X)
    for store in (stored, mapped):
        scaled = scaler.fit(store).transform(store)
        assert not isinstance(scaled, np.ndarray)
        assert (scaled.shape, scaled.dtype, len(scaled)) == (expected.shape, expected.dtype, 40)
        rows = (slice(3, 9), slice(0, 0), [5, 1], np.arange(40) > 30, 4, (slice(2), 1), (..., 0))
        for key in rows:
            np.testing.assert_allclose(scaled[key], expected[key], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(np.asarray(scaled), expected, rtol=1e-9, atol=1e-11)


def test_float32_samples_give_float32_with_sums_in_float64():
    far = (X + 1e4).astype(np.float32)
    scaler = ModeScaler(keep="both").fit(far)
    assert scaler.mean_.dtype == np.float64
    came = scaler.transform(far)
    assert came.dtype == np.float32
    exact = ModeScaler(keep="both").fit_transform(far.astype(float))
    np.testing.assert_allclose(came, exact, rtol=1e-6, atol=1e-6)
    assert ModeScaler().fit_transform(far.astype(int)).dtype == np.float64


# ── Degenerate samples ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("value", [0.1, 1e6 / 3, -1e-5, 0.0])
@pytest.mark.parametrize("pseudocount", [0, 1])
def test_constant_fibres_give_zeros_and_no_noise_of_rounding(value, pseudocount):
    odd = X.copy()
    odd[3, 1] = value  # in one sample
    odd[:, 2] = value  # in all of them
    scaler = ModeScaler(pseudocount=pseudocount, keep="both").fit(odd)
    came = scaler.transform(odd)
    assert np.isfinite(came).all()
    assert (came[3, 1, :5] == 0).all()
    assert (came[:, 2, :5] == 0).all()
    assert np.abs(came[:, 2]).max() <= 1e-15 * abs(value)
    odd[0, 2] = [1, 2, 3, 4, 5]  # varied after all, and is not divided by nothing
    np.testing.assert_allclose(
        scaler.transform(odd)[0, 2, :5],
        zscore(np.arange(5)) * np.sqrt((5 + pseudocount) / 5),
        rtol=1e-12,
    )


def test_a_mode_of_one_entry_gives_zeros():
    scaled = ModeScaler(keep="mean").fit_transform(X[:, :, :1])
    assert scaled.shape == (40, 3, 2)
    assert (scaled[..., 0] == 0).all()
    np.testing.assert_allclose(scaled[..., 1], zscore(X[:, :, 0], axis=0), atol=1e-10)


BAD_PARAMETERS = [
    ({"modes": 2}, r"modes is 2 .*; those of samples of shape \(3, 5\) are 0 to 1, or -2 to -1"),
    ({"modes": 2**70}, r"modes is 1180591620717411303424 .*expected the number of a mode"),
    ({"modes": (1, -1)}, r"modes is \(1, -1\) .*each once"),
    ({"modes": (0, True)}, r"modes is \(0, True\) \(a bool is no number of a mode\)"),
    ({"modes": "time"}, r"modes is 'time' .*expected the number of a mode"),
    ({"modes": ()}, r"modes is empty, so every number would be its own mean.*per_sample=False"),
    ({"per_sample": "no"}, r"per_sample is 'no'; expected one of True, False"),
    ({"pseudocount": -1}, r"pseudocount is -1; expected a number of 0 or more"),
    ({"keep": "means"}, r"keep is 'means'; expected one of 'mean', 'spread', 'both'"),
    ({"keep": "mean", "modes": (0, 1)}, r"keep='mean' adds.*pass one mode and per_sample=True"),
    ({"sample_shape": (3, 4)}, r"sample_shape is \(3, 4\)"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_parameters_that_fit_no_sample_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        ModeScaler(**parameters).fit(X)


BAD_SAMPLES = [
    (X[:0], "pass at least one sample"),
    (np.where(np.arange(5) == 2, np.nan, X), "contains NaN"),
    (X[0, 0], "Expected 2D array"),
    (1e160 * X, "too large for float64.*divide the samples by a large number"),
]


@pytest.mark.parametrize(("samples", "message"), BAD_SAMPLES)
@pytest.mark.parametrize("scaler", [ModeScaler(), ModeScaler((), per_sample=False)])
def test_samples_that_cannot_be_scaled_are_refused(samples, message, scaler):
    with pytest.raises(ValueError, match=message):
        scaler.fit(samples)


def test_a_failed_fit_changes_nothing_and_shapes_must_agree():
    scaler = ModeScaler().fit(X)
    before = joblib.hash(vars(scaler))
    for wrong in (X[:, :, :4], X.transpose(0, 2, 1), X * np.nan):
        for method in (scaler.transform, scaler.partial_fit):
            with pytest.raises(ValueError, match=r"fitted on \(3, 5\)|contains NaN"):
                method(wrong)
    assert joblib.hash(vars(scaler)) == before
    with pytest.raises(ValueError, match=r"pass X\[None\]"):
        scaler.transform(X[0])
    with pytest.raises(NotFittedError):
        ModeScaler().transform(X)


# ── An estimator like every other ───────────────────────────────────────────────────────────────


@each_scaler
def test_the_onnx_graph_gives_what_numpy_gives(scaler, tmp_path):
    batch, path = X.astype(np.float32), tmp_path / "scaler.onnx"
    batch[4, 1] = 0.1
    batch[:, 2] = 1 / 3
    to_onnx(scaler.fit(batch), path)
    (came,) = onnxruntime.InferenceSession(path).run(None, {"X": batch})
    expected = scaler.transform(batch)
    assert came.shape == expected.shape
    np.testing.assert_allclose(came, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scaler", [SCALERS[0], SCALERS[3]], ids=str)
def test_a_pipeline_of_scalers_and_a_model_has_an_onnx_form(scaler, tmp_path):
    path, batch = tmp_path / "model.onnx", X.astype(np.float32)
    after = scaler.fit(batch).scaling().shape_after((3, 5))
    model = ProbabilisticLDA(views=[MPCA((2, 2))], sample_shape=after)
    pipeline = make_pipeline(ModeScaler((), per_sample=False), scaler, model).fit(batch, Y)
    to_onnx(pipeline, path)
    session = onnxruntime.InferenceSession(path)
    assert session.get_inputs()[0].shape[1:] == [3, 5]
    (probabilities,) = session.run(["probabilities"], {"X": batch})
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(batch), atol=1e-5)
    foreign = make_pipeline(StandardScaler(), ModeScaler()).fit(batch.reshape(40, -1))
    with pytest.raises(ValueError, match=r"StandardScaler has no ONNX form here"):
        to_onnx(foreign, path)

"""Views of curves and images: what they are for, and that all a model can do works with them."""

import numpy as np
import onnxruntime
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

import tenfold
from tenfold import ProbabilisticLDA
from tenfold.files.onnx_export import to_onnx

N_CLASSES = 3


def events(n, seed, shape=(2, 40)):
    """Curves with one event each, at any time: its form is the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % N_CLASSES
    forms = [[1, 1, 1, -1, -1, -1], [1, -1, 1, -1, 1, -1], [1, 1, -1, -1, 1, 1]]
    X = 0.2 * rng.normal(size=(n, *shape))
    for sample, label in zip(X, y, strict=True):
        start = rng.integers(0, shape[1] - 6)
        sample[:, start : start + 6] += forms[label]
    return X, y


def bars(n, seed, size=16):
    """Bars in one of three directions, anywhere, dark or bright."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % N_CLASSES
    down, right = np.mgrid[:size, :size] - (size - 1) / 2
    angles = np.pi * y / N_CLASSES
    across = np.cos(angles)[:, None, None] * down + np.sin(angles)[:, None, None] * right
    shift = rng.uniform(-size / 3, size / 3, size=(n, 1, 1))
    contrast = rng.choice([-1.0, 1.0], size=(n, 1, 1))
    X = contrast * np.exp(-((across - shift) ** 2) / 2)
    return X + 0.3 * rng.normal(size=X.shape), y


SETS = {"filters": events, "gradients": bars}
each_view = pytest.mark.parametrize("name", SETS)


@each_view
def test_a_view_tells_apart_what_it_is_for_and_is_chosen_at_defaults(name):
    X, y = SETS[name](90, 0)
    new, answers = SETS[name](300, 1)
    model = ProbabilisticLDA().fit(X, y)
    assert model.weights_[model.views_.index(name)] > 0
    assert model.score(new, answers) > 0.95
    before = ProbabilisticLDA("linear").fit(X, y)
    assert before.score(new, answers) < 0.9


def test_views_are_tried_where_samples_have_room_for_them():
    X, y = load_digits().data[:60], load_digits().target[:60]
    tried = {
        (8, 8): {"gradients"},
        (64,): {"filters"},
        (4, 16): {"filters"},
        (16, 4): {"filters"},
        (2, 4, 8): set(),
        (2, 2, 16): {"filters"},
    }
    for shape, expected in tried.items():
        model = ProbabilisticLDA().fit(X.reshape(-1, *shape), y)
        assert set(model.views_) & set(SETS) == expected, shape


@pytest.mark.parametrize("shape", [(16, 16, 3), (3, 16, 16), (16, 3, 16)], ids=str)
def test_the_place_of_the_channels_does_not_matter(shape):
    """Images are the two longest modes; what lies beside them is a channel."""
    gray, y = bars(30, 2)
    colors = gray[..., None] * np.array([1.0, 0.5, 2.0])
    expected = ProbabilisticLDA(["gradients"]).fit(colors, y).predict_proba(colors)
    X = np.moveaxis(colors, 3, 1 + shape.index(3))
    found = ProbabilisticLDA(["gradients"]).fit(X, y).predict_proba(X)
    assert_allclose(found, expected, atol=1e-9)


# ── Laws of all views ───────────────────────────────────────────────────────────────────────────

CHANGES = {
    "units": lambda X: 1000.0 * X,
    "tiny units": lambda X: 1e-130 * X,
    "offset": lambda X: X + 100.0,
    "last bits": lambda X: X * (1 + 1e-12),
}


@each_view
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_units_offset_and_last_bits_play_no_part(name, change):
    X, y = SETS[name](60, 3)
    new, _ = SETS[name](100, 4)
    expected = ProbabilisticLDA([name]).fit(X, y).predict_proba(new)
    found = ProbabilisticLDA([name]).fit(change(X), y).predict_proba(change(new))
    assert_allclose(found, expected, atol=1e-6)


@each_view
def test_order_and_batches_play_no_part(name):
    X, y = SETS[name](60, 5)
    expected = ProbabilisticLDA([name]).fit(X, y).predict_proba(X)
    order = np.random.default_rng(0).permutation(60)
    stream = ProbabilisticLDA([name])
    for rows in np.array_split(order, 4):
        stream.partial_fit(X[rows], y[rows])
    assert_allclose(stream.predict_proba(X), expected, atol=1e-9)


@each_view
def test_a_weight_of_two_is_having_a_sample_twice(name):
    X, y = SETS[name](45, 6)
    weights = np.where(np.arange(45) < 20, 2.0, 1.0)
    twice, labels = np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]])
    expected = ProbabilisticLDA([name]).fit(twice, labels).predict_proba(X)
    found = ProbabilisticLDA([name]).fit(X, y, sample_weight=weights).predict_proba(X)
    assert_allclose(found, expected, atol=1e-9)


@each_view
@pytest.mark.parametrize("size", [1e50, 1e150])
@pytest.mark.filterwarnings("ignore:samples hold numbers up to")
def test_samples_that_are_far_off_get_probabilities(name, size):
    X, y = SETS[name](45, 7)
    P = ProbabilisticLDA([name]).fit(X, y).predict_proba(size * X[:5])
    assert np.isfinite(P).all()


@each_view
def test_samples_without_any_variation_along_the_way(name):
    """All curves are flat and all images are plain: the features say nothing, and nothing fails."""
    _, y = SETS[name](45, 7)
    rng = np.random.default_rng(0)
    flat = np.ones((45, 12, 20)) * (y[:, None, None] + 0.1 * rng.normal(size=(45, 1, 1)))
    model = ProbabilisticLDA().fit(flat, y)
    assert model.score(flat, y) > 0.9
    assert np.isfinite(ProbabilisticLDA([name]).fit(flat, y).predict_proba(flat)).all()


@each_view
def test_many_samples_are_looked_at_first(name):
    X, y = SETS[name](900, 8)
    model = ProbabilisticLDA().fit(X, y)
    assert model.weights_[model.views_.index(name)] > 0
    noise = np.random.default_rng(0).normal(size=X.shape) + 0.3 * (y == 0)[:, None, None]
    assert name not in ProbabilisticLDA().fit(noise, y).views_


# ── Later, elsewhere ────────────────────────────────────────────────────────────────────────────


@each_view
def test_classes_that_come_later(name):
    X, y = SETS[name](90, 9)
    known = y < 2
    model = ProbabilisticLDA([name], priors="equal").fit(X[known], y[known])
    model.enroll(X[~known], y[~known])
    new, answers = SETS[name](150, 10)
    assert model.score(new, answers) > 0.9


@each_view
def test_a_session_with_another_offset_changes_little(name):
    X, y = SETS[name](90, 9)
    new, _ = SETS[name](150, 10)
    model = ProbabilisticLDA([name]).fit(X, y)
    before = model.predict(new)
    assert (model.adapt(new + 5.0).predict(new + 5.0) == before).mean() > 0.95


@each_view
def test_a_model_file_holds_the_view_and_no_samples(name, tmp_path):
    X, y = SETS[name](60, 11)
    model = ProbabilisticLDA(["numbers", name]).fit(X, y)
    model.save(tmp_path / "model.tenfold")
    loaded = tenfold.load_model(tmp_path / "model.tenfold")
    assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    assert_allclose(
        loaded.log_likelihood_ratio(X), model.log_likelihood_ratio(X), rtol=1e-9, atol=1e-9
    )
    packed = next(view for view in model.pool_["views"] if view["name"] == name)
    arrays = [value for value in packed["map"].values() if isinstance(value, np.ndarray)]
    assert all(len(X) not in array.shape for array in arrays)


@each_view
def test_a_graph_gives_what_numpy_gives(name, tmp_path):
    X, y = SETS[name](60, 12)
    new = SETS[name](50, 13)[0].astype(np.float32)
    model = ProbabilisticLDA(["numbers", name]).fit(X, y)
    assert model.weights_[1] > 0
    to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    names = [output.name for output in session.get_outputs()]
    came = dict(zip(names, session.run(None, {"X": new}), strict=True))
    assert_allclose(came["probabilities"], model.predict_proba(new), atol=1e-5)
    ratios = model.log_likelihood_ratio(new)
    assert_allclose(came["log_likelihood_ratio"], ratios, atol=1e-5 * np.abs(ratios).max())


@pytest.mark.parametrize("shape", [(20, 2), (2, 20, 2), (600,)], ids=str)
def test_graphs_of_curves_along_any_mode(shape, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, *shape)).cumsum(axis=1 + int(np.argmax(shape)))
    X[y == 1] += 0.3 * rng.normal(size=X[y == 1].shape)
    model = ProbabilisticLDA(["filters"]).fit(X, y)
    to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    new = X[:9].astype(np.float32)
    came = session.run(["probabilities"], {"X": new})[0]
    assert_allclose(came, model.predict_proba(new), atol=1e-5)

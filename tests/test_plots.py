"""What is drawn is what was learned: oracles on the data of the drawings, not on their pixels."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import (
    PrecisionRecallDisplay,
    RocCurveDisplay,
    average_precision_score,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenfold import (
    CMDA,
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    ProbabilisticLDA,
    RankSearchCV,
)
from tenfold.plots import (
    DirectionsDisplay,
    ObjectiveDisplay,
    PoolDisplay,
    ProjectionsDisplay,
    RankGridDisplay,
    ScoresDisplay,
)

pyplot = pytest.importorskip("matplotlib.pyplot")

X, LABELS = load_digits().images[:600], load_digits().target[:600]
MODEL = MCSDA(ranks=(4, 3), positive=3, tol=1.0)


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def mcsda():
    return MODEL.fit(X, LABELS)


@pytest.fixture(scope="module")
def bank():
    return ClassSpecificClassifier(MCSDA(ranks=(4, 3), tol=1.0)).fit(X, LABELS)


@pytest.fixture(scope="module")
def verifier():
    return ClassSpecificVerifier(
        MCSDA(ranks=(4, 3), tol=1.0), positive=3, false_accept_rate=0.5
    ).fit(X, LABELS)


@pytest.fixture(scope="module")
def everyone(mcsda, bank, verifier):
    search = RankSearchCV(MODEL, ranks=[(2, 2), (4, 3)], cv=2).fit(X, LABELS)
    flat = MCSDA(ranks=(4, 3), positive=3, tol=1.0, sample_shape=(8, 8))
    pipeline = make_pipeline(StandardScaler(), flat).fit(X.reshape(len(X), -1), LABELS)
    return {
        "projector": (mcsda, X),
        "bank": (bank, X),
        "verifier": (verifier, X),
        "search": (search, X),
        "pipeline": (pipeline, X.reshape(len(X), -1)),
    }


# ── Displays ────────────────────────────────────────────────────────────────────────────────────


def test_the_objective_is_drawn_round_by_round(mcsda):
    display = ObjectiveDisplay.from_estimator(mcsda)
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, mcsda.n_iter_ + 1))
    np.testing.assert_array_equal(line.get_ydata(), mcsda.objective_)


def test_a_bank_has_one_objective_per_class(bank):
    lines = ObjectiveDisplay.from_estimator(bank).lines_
    assert [line.get_label() for line in lines] == [str(label) for label in range(10)]
    for line, projector in zip(lines, bank.projectors_, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), projector.objective_)


def test_columns_are_drawn_with_their_largest_entry_positive(mcsda):
    display = ProjectionsDisplay.from_estimator(mcsda, mode_names=("row", "column"))
    for ax, W in zip(display.axes_, mcsda.projections_, strict=True):
        drawn = np.asarray(ax.images[0].get_array())
        np.testing.assert_array_equal(np.abs(drawn), np.abs(W))
        np.testing.assert_array_equal(np.abs(drawn).max(axis=0), drawn.max(axis=0))
        # One sign per column: the outer product of each column with itself knows no sign.
        for before, after in zip(W.T, drawn.T, strict=True):
            np.testing.assert_array_equal(np.outer(before, before), np.outer(after, after))
    assert display.axes_[0].get_ylabel() == "row"


def test_a_projected_number_is_the_inner_product_with_its_direction(mcsda):
    display = DirectionsDisplay.from_estimator(mcsda, n_directions=12)
    projected = mcsda.transform(X).reshape(len(X), 4, 3)
    for direction, (i, j) in zip(display.directions, display.columns, strict=True):
        product = np.tensordot(X, direction, axes=2)
        sign = np.sign(product @ projected[:, i - 1, j - 1])
        np.testing.assert_allclose(sign * product, projected[:, i - 1, j - 1], atol=1e-9)
    assert len({tuple(columns) for columns in display.columns}) == 12
    for ax, direction in zip(display.axes_, display.directions, strict=True):
        np.testing.assert_array_equal(np.asarray(ax.images[0].get_array()), direction)


def test_directions_of_a_vector_method_have_the_shape_of_the_samples():
    csda = CSDA(ranks=5, positive=3).fit(X, LABELS)
    display = DirectionsDisplay.from_estimator(csda)
    assert display.directions.shape == (5, 8, 8)
    found = display.directions.reshape(5, 64)
    np.testing.assert_allclose(np.abs(found), np.abs(csda.projections_[0].T))


@pytest.fixture(scope="module")
def pooled():
    return ProbabilisticLDA(views=["numbers", "units", "length"]).fit(X[:300], LABELS[:300])


def test_directions_of_gaussian_classes_are_their_patterns(pooled):
    display = DirectionsDisplay.from_estimator(pooled, n_directions=3)
    assert display.columns == [(0,), (1,), (2,)]
    np.testing.assert_array_equal(display.directions, pooled.patterns_[:3])
    seven = DirectionsDisplay.from_estimator(make_pipeline(pooled), positive=7)
    np.testing.assert_array_equal(seven.directions, pooled.patterns_[[7]])
    with pytest.raises(ValueError, match=r"there is no class 'x'"):
        DirectionsDisplay.from_estimator(pooled, positive="x")
    with pytest.raises(ValueError, match=r"no projections.*make_pipeline\(CMDA\(\), Prob"):
        ProjectionsDisplay.from_estimator(pooled)
    with pytest.raises(ValueError, match=r"no objective to draw.*PoolDisplay"):
        ObjectiveDisplay.from_estimator(pooled)


def test_a_projector_before_gaussian_classes_is_drawn():
    model = make_pipeline(CMDA((3, 2), tol=1.0), ProbabilisticLDA(views="linear"))
    model.fit(X[:300], LABELS[:300])
    shown = ProjectionsDisplay.from_estimator(model).projections
    for drawn, W in zip(shown, model[0].projections_, strict=True):
        np.testing.assert_array_equal(drawn, W)
    assert DirectionsDisplay.from_estimator(model).directions.shape == (6, 8, 8)


@pytest.mark.parametrize("around", [lambda model: model, make_pipeline], ids=["alone", "pipeline"])
def test_a_pool_is_drawn_with_weights_losses_and_calibration(pooled, around):
    display = PoolDisplay.from_estimator(around(pooled))
    names = [text.get_text() for text in display.axes_[0].get_yticklabels()]
    assert names == pooled.views_
    widths = [bar.get_width() for bar in display.weight_bars_]
    np.testing.assert_array_equal(widths, pooled.weights_)
    losses = [bar.get_width() for bar in display.loss_bars_]
    np.testing.assert_array_equal(losses, pooled.pool_["log_losses"])
    (line,) = display.axes_[1].lines
    assert set(line.get_xdata()) == {pooled.loo_log_loss_}
    known = pooled.pool_["calibration"][2] > 0
    np.testing.assert_array_equal(
        display.dots_.get_offsets(), pooled.pool_["calibration"][:2, known].T
    )
    figure, (left, right) = pyplot.subplots(1, 2)
    drawn = PoolDisplay.from_estimator(around(pooled), ax=right)
    assert drawn.figure_ is figure
    assert not left.has_data()


def test_what_has_no_pool_is_refused(mcsda):
    with pytest.raises(TypeError, match=r"MCSDA has no pool of views; pass a fitted Probab"):
        PoolDisplay.from_estimator(mcsda)
    with pytest.raises(NotFittedError):
        PoolDisplay.from_estimator(ProbabilisticLDA())


@pytest.mark.parametrize("kind", ["projector", "verifier", "search", "pipeline", "bank"])
def test_histograms_count_every_sample_of_its_group_once(everyone, kind):
    estimator, samples = everyone[kind]
    display = ScoresDisplay.from_estimator(estimator, samples, LABELS, positive=3)
    model = estimator.projector_ if kind == "verifier" else estimator  # before the threshold
    scores = model.decision_function(samples)
    scores = scores[:, 3] if scores.ndim == 2 else scores
    np.testing.assert_array_equal(display.scores, scores)
    for shares, group in zip(
        display.shares_, [scores[LABELS == 3], scores[LABELS != 3]], strict=True
    ):
        counted, _ = np.histogram(group, display.edges_)
        assert counted.sum() == len(group)
        np.testing.assert_allclose(shares, counted / len(group))
    drawn = [patch for patch in display.ax_.patches if patch.get_fill()]
    np.testing.assert_array_equal([patch.get_data().values for patch in drawn], display.shares_)


def test_the_threshold_of_a_verifier_is_drawn_where_it_is(verifier):
    display = ScoresDisplay.from_estimator(verifier, X, LABELS)
    (line,) = display.ax_.lines
    assert set(line.get_xdata()) == {verifier.threshold_}
    asked = ScoresDisplay.from_estimator(verifier, X, LABELS, threshold=-5.0)
    assert set(asked.ax_.lines[0].get_xdata()) == {-5.0}


def test_scikit_learn_draws_the_curves(bank, verifier):
    """Of a verifier from the estimator; of one class of a bank from its scores."""
    display = RocCurveDisplay.from_estimator(verifier, X, verifier.positive_label_ == LABELS)
    truth = verifier.positive_label_ == LABELS
    assert display.roc_auc == pytest.approx(roc_auc_score(truth, verifier.decision_function(X)))
    scores = bank.decision_function(X)[:, 3]
    drawn = PrecisionRecallDisplay.from_predictions(LABELS == 3, scores)
    assert drawn.average_precision == average_precision_score(LABELS == 3, scores)


@pytest.mark.parametrize("around", ["alone", "pipeline", "search"])
def test_two_classes_of_a_bank_are_judged_each_by_its_own_model(around):
    two = LABELS < 2
    bank = ClassSpecificClassifier(MCSDA(ranks=(4, 3), tol=1.0), normalize=False)
    model = {
        "alone": bank,
        "pipeline": make_pipeline(bank),
        "search": RankSearchCV(bank, [(4, 3)], cv=2),
    }[around].fit(X[two], LABELS[two])
    distances = bank.fit(X[two], LABELS[two]).distances(X[two])
    for c in (0, 1):
        drawn = ScoresDisplay.from_estimator(model, X[two], LABELS[two], positive=c)
        np.testing.assert_allclose(drawn.scores, -distances[:, c], rtol=1e-9)


# ── Rank grids ──────────────────────────────────────────────────────────────────────────────────


def test_a_grid_of_two_modes_puts_every_score_in_its_cell():
    ranks = [(a, b) for a in (2, 4, 8) for b in (1, 3) if (a, b) != (4, 3)]
    display = RankGridDisplay(ranks, [0.1, 0.2, 0.3, 0.5, 0.4]).plot()
    np.testing.assert_array_equal(display.grid_, [[0.1, 0.2], [0.3, np.nan], [0.5, 0.4]])
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["2", "4", "8"]
    mark = display.ax_.lines[0]
    assert (np.mean(mark.get_xdata()[:-1]), np.mean(mark.get_ydata()[:-1])) == (0, 2)
    assert display.ax_.get_title() == "best: 8×1"


def test_a_grid_of_three_modes_shows_the_best_over_the_third():
    ranks = [(a, b, c) for a in (2, 3) for b in (4, 5) for c in (1, 2)]
    scores = [0.1, 0.9, 0.3, 0.2, 0.5, 0.4, 0.7, 0.8]
    display = RankGridDisplay(ranks, scores).plot()
    assert display.grid_.tolist() == [[0.9, 0.3], [0.5, 0.8]]
    assert display.ax_.get_title() == "best: 2×4×2"


@pytest.mark.parametrize(
    "ranks", [[4, 2, 3], [(4, 4), (2, 2), (3, 3)], [(4, 9, 5), (2, 8, 5), (3, 8, 5)]]
)
def test_ranks_that_grow_together_make_a_line(ranks):
    display = RankGridDisplay(ranks, [0.7, 0.5, 0.9], [0.1, 0.2, 0.3]).plot()
    assert display.grid_ is None
    assert display.ax_.lines[0].get_ydata().tolist() == [0.5, 0.9, 0.7]
    assert display.ax_.lines[1].get_ydata().tolist() == [0.9]


def test_the_grid_of_a_search_is_its_best_score_per_choice_of_ranks():
    grid = [(a, b) for a in (2, 4) for b in (2, 4)]
    search = RankSearchCV(MODEL, ranks=grid, ridge=[1e-3, 1e-1], cv=2).fit(X, LABELS)
    display = RankGridDisplay.from_estimator(search)
    scores = search.cv_results_["mean_test_score"]
    best = dict.fromkeys(grid, -np.inf)
    for params, score in zip(search.cv_results_["params"], scores, strict=True):
        best[params["ranks"]] = max(score, best[params["ranks"]])
    assert display.grid_.ravel().tolist() == list(best.values())
    assert np.nanmax(display.grid_) == search.best_score_


def test_displays_are_made_of_lists_and_arrays():
    matrices, names = [[[1.0, -2.0], [3.0, 4.0]]], np.array(["channel"])
    (image,) = DirectionsDisplay(matrices, [(1, 1)]).plot().axes_[0].images
    assert image.get_array().tolist() == matrices[0]
    (ax,) = ProjectionsDisplay(matrices, names, np.array([["left", "right"]])).plot().axes_
    assert [text.get_text() for text in ax.get_yticklabels()] == ["left", "right"]
    assert ObjectiveDisplay([[1.0, 2.0]], [""], "").plot().ax_.get_ylabel() == "objective"


# ── The convention ──────────────────────────────────────────────────────────────────────────────

WITH_DATA = (ScoresDisplay,)
WITHOUT_DATA = (ObjectiveDisplay, ProjectionsDisplay, DirectionsDisplay)


@pytest.mark.parametrize("kind", ["bank", "pipeline"])  # histograms are of every kind, above
@pytest.mark.parametrize("display", [*WITH_DATA, *WITHOUT_DATA], ids=lambda d: d.__name__)
def test_every_display_draws_where_it_is_told(everyone, kind, display):
    estimator, samples = everyone[kind]
    arguments = (samples, LABELS) if display in WITH_DATA else ()
    figure, (left, right) = pyplot.subplots(1, 2)
    drawn = display.from_estimator(estimator, *arguments, ax=right)
    assert drawn.ax_ is right
    assert drawn.figure_ is figure
    assert not left.has_data()
    assert drawn.plot().figure_ is not figure
    figure.canvas.draw()


def test_axes_that_cannot_be_divided_are_refused_with_the_remedy(mcsda):
    free = pyplot.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match=r"no place in a grid.*make it with plt.subplots"):
        ProjectionsDisplay.from_estimator(mcsda, ax=free)

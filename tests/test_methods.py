"""Every method has an answer from outside its own code; the invariances that theory promises."""

import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from tensorly.decomposition import partial_tucker

import reference
from reference import distance, problem, projector
from tenfold import (
    CMDA,
    CSDA,
    CSRDA,
    DATER,
    DGTDA,
    GTDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    RankSearchCV,
)
from tenfold.methods import CLASS_SPECIFIC_METHODS, LINEAR_METHODS
from tenfold.optimization.criteria import automatic_shrinkage
from tenfold.statistics.class_statistics import MomentStatistics
from tenfold.statistics.sample_statistics import SampleStatistics
from ways import learned

RIDGE = 0.1
PRINTED = {
    "shrinkage": 0.0,
    "orthonormal": True,
    "decision": "distance",
}  # what the paper has, whatever the defaults are
SHAPES = {1: (6,), 2: (5, 4), 3: (4, 3, 3), 4: (3, 2, 3, 2)}
RANKS = {1: (3,), 2: (2, 3), 3: (2, 2, 1), 4: (2, 1, 2, 2)}
each_order = pytest.mark.parametrize("order", SHAPES)
each_method = pytest.mark.parametrize("Method", LINEAR_METHODS, ids=lambda M: M.__name__)
each_statistics = pytest.mark.parametrize("statistics", ["moments", "samples", "auto"])
SOLVERS = {
    "ratio_trace": reference.ratio_trace,
    "trace_ratio": reference.trace_ratio,
    "trace_difference": reference.trace_difference,
}


def rounds(n):
    """Exactly n rounds."""
    return {"max_iter": n, "tol": 0.0}


def make(Method, order=2, **parameters):
    """The method with the ranks of this file; CSDA has one mode whatever the order is."""
    return Method(ranks=6 if Method._flattens else RANKS[order], **parameters)


def metric(W):
    """W W^T: sees span and scale, but no signs."""
    return W @ W.T


# ── Oracles ─────────────────────────────────────────────────────────────────────────────────────


@each_order
@each_statistics
@pytest.mark.parametrize("solver", SOLVERS)
def test_mcsda_is_algorithm_1(order, statistics, solver):
    X, y = problem(SHAPES[order], seed=order)
    n = 1 if order == 1 else 4
    expected = reference.mcsda(X, y, 1, RANKS[order], ridge=RIDGE, rounds=n, solve=SOLVERS[solver])
    mcsda = MCSDA(
        ranks=RANKS[order],
        solver=solver,
        ridge=("absolute", RIDGE),
        positive=1,
        **PRINTED,
        **rounds(n),
    )
    assert distance(learned(mcsda, statistics, X, y).projections_, expected) <= 1e-8


REFERENCES = {
    CMDA: reference.ratio_trace,
    DATER: reference.metric_columns,  # the scale of the ratio trace
    GTDA: reference.trace_difference,
}


@each_order
@each_statistics
@pytest.mark.parametrize("Method", REFERENCES, ids=lambda M: M.__name__)
def test_multi_class_methods_are_the_reference(Method, order, statistics):
    X, y = problem(SHAPES[order], classes=5, seed=order)
    n = 1 if order == 1 else 4
    expected = reference.multi_class(X, y, RANKS[order], REFERENCES[Method], ridge=RIDGE, rounds=n)
    method = make(Method, order, ridge=("absolute", RIDGE), **rounds(n))
    for V, W in zip(learned(method, statistics, X, y).projections_, expected, strict=True):
        assert np.linalg.norm(metric(V) - metric(W)) <= 1e-8 * np.linalg.norm(metric(W))


def test_cmda_from_all_ones_is_the_reference_from_all_ones():
    X, y = problem((5, 4), classes=5, seed=2)
    expected = reference.multi_class(
        X, y, (2, 3), reference.ratio_trace, ridge=RIDGE, rounds=4, start=reference.ones
    )
    cmda = CMDA(ranks=(2, 3), init="ones", ridge=("absolute", RIDGE), **rounds(4))
    assert distance(cmda.fit(X, y).projections_, expected) <= 1e-8


def test_dater_on_vectors_is_linear_discriminant_analysis():
    X, y = problem((6,), classes=4, per_class=30, seed=1)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    dater = DATER(ranks=3, ridge=0.0).fit(X, y)
    assert distance(dater.projections_, [lda.scalings_[:, :3]]) <= 1e-8
    # LDA divides the within scatter by N; beyond that and signs, the columns are the same.
    ours, theirs = dater.projections_[0] * np.sqrt(len(X)), lda.scalings_[:, :3]
    np.testing.assert_allclose(np.abs(np.sum(ours * theirs, axis=0)), np.sum(theirs**2, axis=0))


def test_dater_on_matrices_is_two_dimensional_lda():
    X, y = problem((6, 5), classes=5, per_class=20, seed=3)
    expected = reference.two_dimensional_lda(X, y, 3, 2, rounds=5)
    dater = DATER(ranks=(3, 2), ridge=0.0, **rounds(5)).fit(X, y)
    for V, W in zip(dater.projections_, expected, strict=True):
        assert np.linalg.norm(projector(V) - projector(W)) <= 1e-8
        assert np.linalg.norm(metric(V) - metric(W)) <= 1e-8 * np.linalg.norm(metric(W))


@each_order
@each_statistics
def test_dgtda_is_the_reference_without_iteration(order, statistics):
    X, y = problem(SHAPES[order], classes=5, seed=order)
    expected = reference.dgtda(X, y, RANKS[order], ridge=RIDGE)
    dgtda = learned(DGTDA(ranks=RANKS[order], ridge=("absolute", RIDGE)), statistics, X, y)
    assert distance(dgtda.projections_, expected) <= 1e-8
    assert dgtda.n_iter_ == 1
    assert dgtda.converged_


def test_the_objective_of_dgtda_is_that_of_its_projections():
    X, y = problem((5, 4), classes=5, seed=2)
    dgtda = DGTDA(ranks=(2, 3), ridge=0.0).fit(X, y)
    Y = dgtda.transform(X).reshape(len(X), 6, 1)
    one = [np.eye(6), np.eye(1)]
    between = np.trace(reference.between_scatter(Y, y, one, 0))
    within = np.trace(reference.within_scatter(Y, y, one, 0))
    assert dgtda.objective_.tolist() == [pytest.approx(between / within, rel=1e-8)]


@each_order
@each_statistics
def test_mpca_is_the_reference(order, statistics):
    X, _ = problem(SHAPES[order], seed=order)
    n = 1 if order == 1 else 4
    expected = reference.mpca(X, RANKS[order], rounds=n)
    mpca = learned(MPCA(ranks=RANKS[order], **rounds(n)), statistics, X)
    assert distance(mpca.projections_, expected) <= 1e-8


@pytest.mark.parametrize("n", [80, 5], ids=["n > I", "n < I"])
def test_mpca_on_vectors_is_pca(n):
    X = np.random.default_rng(0).normal(size=(n, 8)) * np.arange(1, 9) + 5
    pca = PCA(n_components=3).fit(X)
    mpca = MPCA(ranks=3).fit(X)
    assert distance(mpca.projections_, [pca.components_.T]) <= 1e-8
    np.testing.assert_allclose(np.abs(mpca.transform(X)), np.abs(pca.transform(X)), atol=1e-8)
    assert mpca.captured_ == pytest.approx(pca.explained_variance_ratio_.sum(), rel=1e-10)
    np.testing.assert_allclose(
        mpca.inverse_transform(mpca.transform(X)), pca.inverse_transform(pca.transform(X))
    )


def test_mpca_on_order_3_is_tensorlys_partial_tucker_of_the_centred_samples():
    X, _ = problem((6, 5, 4), per_class=20, seed=5)
    (_, factors), _ = partial_tucker(
        X - X.mean(axis=0), rank=[2, 3, 2], modes=[1, 2, 3], n_iter_max=300, tol=0
    )
    mpca = MPCA(ranks=(2, 3, 2), **rounds(300)).fit(X)
    assert distance(mpca.projections_, factors) <= 1e-8


@each_statistics
@pytest.mark.parametrize("n", ["n > I", "n < I"])
def test_csda_is_its_closed_form(statistics, n):
    shape = (3, 2) if n == "n > I" else (8, 7)
    X, y = problem(shape, per_class=6, seed=6)
    assert (len(X) < X[0].size) == (n == "n < I")
    flat = X.reshape(len(X), -1)
    expected = reference.csda(flat, y, 1, 4, ridge=RIDGE)
    options = {"ridge": ("absolute", RIDGE), "positive": 1, **PRINTED}
    csda = learned(CSDA(ranks=4, **options), statistics, X, y)
    assert distance(csda.projections_, [expected]) <= 1e-8
    scores = csda.decision_function(X)
    m_p = flat[y == 1].mean(axis=0)
    np.testing.assert_allclose(scores, -np.linalg.norm((flat - m_p) @ expected, axis=1), atol=1e-8)


def test_csda_of_whole_photographs_needs_no_matrix_of_their_size():
    """112 x 92 pixels: a 10304 x 10304 scatter would take 849 MB, twice."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 8)
    X = (rng.normal(size=(6, 112, 92))[y] + rng.normal(size=(48, 112, 92))).astype(np.float32)
    tracemalloc.start()
    csda = CSDA(ranks=10, positive=3, decision="distance").fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * X.size * 8
    assert csda.projections_[0].shape == (10304, 10)
    assert csda.score(X, y) == 1.0


# ── Samples, moments, streams ───────────────────────────────────────────────────────────────────


@each_method
@each_order
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_moments_and_samples_give_the_same_projections(Method, order, offset):
    X, y = problem(SHAPES[order], classes=5, seed=8)
    X = X + offset
    found = [learned(make(Method, order), s, X, y).projections_ for s in ("moments", "samples")]
    assert distance(*found) <= 1e-8


@each_method
@pytest.mark.parametrize("shape", [(40,), (8, 6)], ids=str)
def test_moments_and_samples_agree_with_fewer_samples_than_numbers(Method, shape):
    X, y = problem(shape, classes=3, per_class=4, seed=9)
    assert len(X) < X[0].size
    ranks = 2 if Method._flattens or len(shape) == 1 else (2, 2)
    found = [learned(Method(ranks=ranks), s, X, y) for s in ("moments", "samples", "auto")]
    assert found[0].ranks_ == found[1].ranks_ == found[2].ranks_
    assert distance(found[0].projections_, found[1].projections_) <= 1e-8
    assert distance(found[0].projections_, found[2].projections_) <= 1e-8


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("Method", [CSDA, CMDA, DATER], ids=lambda M: M.__name__)
def test_a_rank_beyond_what_the_samples_span_is_solved_as_from_moments(Method, solver):
    """Some solvers prefer directions outside the span of few samples to bad ones inside."""
    X, y = problem((20,), classes=3, per_class=2, seed=10)
    assert len(X) == 9
    found = [
        learned(Method(ranks=7, solver=solver, ridge=0.05), s, X, y) for s in ("moments", "samples")
    ]
    assert found[0].ranks_ == found[1].ranks_
    # Directions outside the span are all alike, so compare what both do to differences of samples.
    a, b = (estimator.transform(X - X.mean(axis=0)) for estimator in found)
    np.testing.assert_allclose(a @ a.T, b @ b.T, rtol=1e-6, atol=1e-8 * np.abs(a @ a.T).max())
    assert found[0].objective_ == pytest.approx(found[1].objective_, rel=1e-8)


@each_method
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), offset=st.sampled_from([0.0, 1e6]))
def test_partial_fit_over_random_cuts_is_one_fit(Method, seed, offset):
    X, y = problem((4, 3), classes=3, per_class=8, seed=seed % 1000)
    X = X + offset
    rng = np.random.default_rng(seed)
    edges = [0, *np.sort(rng.integers(1, len(X), 4)).tolist(), len(X)]
    parts = [np.arange(a, b) for a, b in pairwise(edges) if a < b]
    rng.shuffle(parts)
    ranks = 3 if Method._flattens else (2, 2)
    options = {} if "tol" not in Method().get_params() else rounds(3)
    whole = Method(ranks=ranks, **options).fit(X, y)
    stream = Method(ranks=ranks, **options)
    for part in parts:
        stream.partial_fit(X[part], y[part], classes=np.arange(3))
    assert distance(stream.projections_, whole.projections_) <= 1e-8
    np.testing.assert_allclose(stream.transform(X), whole.transform(X), rtol=1e-6, atol=1e-8)


@each_method
@each_statistics
def test_integer_weights_repeat_samples(Method, statistics):
    X, y = problem((4, 3), classes=4, seed=12)
    weight = 1 + np.arange(len(X)) % 3
    weight[::7] = 0
    repeated = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    weighted = learned(make(Method), statistics, X, y, sample_weight=weight)
    assert (
        distance(
            weighted.projections_,
            learned(make(Method), statistics, *repeated).projections_,
        )
        <= 1e-8
    )
    stream = make(Method)
    stream.partial_fit(X[:30], y[:30], sample_weight=weight[:30])
    stream.partial_fit(X[30:], y[30:], sample_weight=weight[30:])
    assert distance(stream.projections_, weighted.projections_) <= 1e-8


@each_method
@each_statistics
def test_a_class_without_weight_is_not_there(Method, statistics):
    X, y = problem((4, 3), classes=4, seed=13)
    weight = (y < 3).astype(float)
    weighted = learned(make(Method), statistics, X, y, sample_weight=weight)
    without = learned(make(Method), statistics, X[y < 3], y[y < 3])
    np.testing.assert_array_equal(weighted.classes_, without.classes_)
    assert distance(weighted.projections_, without.projections_) <= 1e-8


# ── Invariances ─────────────────────────────────────────────────────────────────────────────────


def tight(Method):
    """The same number of rounds on both sides of an invariance."""
    return {} if "tol" not in Method().get_params() else rounds(5)


@each_method
@pytest.mark.parametrize("mode", [0, 1])
def test_rotating_a_mode_rotates_its_subspace(Method, mode):
    X, y = problem((4, 3), classes=4, seed=15)
    R = np.linalg.qr(np.random.default_rng(0).normal(size=(X.shape[mode + 1],) * 2))[0]
    turned = np.stack([reference.mode_product(x, R, mode) for x in X])
    options = tight(Method) | ({"init": "identity"} if Method is MCSDA else {})
    plain = make(Method, **options).fit(X, y).projections_
    found = make(Method, **options).fit(turned, y).projections_
    if Method._flattens:
        expected = [
            np.kron(R, np.eye(3)) @ plain[0] if mode == 0 else np.kron(np.eye(4), R) @ plain[0]
        ]
    else:
        expected = [R @ W if k == mode else W for k, W in enumerate(plain)]
    assert distance(found, expected) <= 1e-8


@each_method
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_units_of_the_data_do_not_matter(Method, scale):
    X, y = problem((4, 3), classes=4, seed=17)
    plain = make(Method, **tight(Method)).fit(X, y)
    scaled = make(Method, **tight(Method)).fit(scale * X, y)
    assert distance(plain.projections_, scaled.projections_) <= 1e-8
    if Method in CLASS_SPECIFIC_METHODS:
        unit = scale if plain.orthonormal and plain.decision == "distance" else 1.0
        np.testing.assert_allclose(
            scaled.decision_function(scale * X), unit * plain.decision_function(X), rtol=1e-6
        )


@each_method
def test_the_names_of_the_classes_do_not_matter(Method):
    X, y = problem((4, 3), classes=3, seed=18)
    names = np.array(["ape", "bee", "cat"])
    named = make(Method).fit(X, names[y])
    plain = make(Method).fit(X, y)
    np.testing.assert_array_equal(named.transform(X), plain.transform(X))


@pytest.mark.parametrize("Method", CLASS_SPECIFIC_METHODS, ids=lambda M: M.__name__)
def test_without_shrinkage_a_class_specific_method_sees_one_class_against_the_rest(Method):
    X, y = problem((4, 3), classes=4, seed=19)
    wanted = {"shrinkage": 0.0, "negatives": "samples", "ridge": 0.01}  # "auto" sees all classes
    options = {name: v for name, v in wanted.items() if name in Method().get_params()}
    many = make(Method, positive=2, **options).fit(X, y)
    binary = make(Method, positive=True, **options).fit(X, y == 2)
    assert distance(many.projections_, binary.projections_) <= 1e-8


# ── What a fitted method does ───────────────────────────────────────────────────────────────────


@each_method
@each_order
def test_transform_is_eq_6_and_inverse_transform_its_least_squares_way_back(Method, order):
    X, y = problem(SHAPES[order], classes=5, seed=20)
    estimator = make(Method, order).fit(X, y)
    centre = X.mean(axis=0) if Method is MPCA else np.zeros(SHAPES[order])
    samples = (X - centre).reshape(len(X), -1) if Method._flattens else X - centre
    expected = np.stack([reference.projected(x, estimator.projections_) for x in samples])
    Y = estimator.transform(X)
    np.testing.assert_allclose(Y, expected.reshape(len(X), -1), atol=1e-9)
    assert Y.shape == (len(X), np.prod(estimator.ranks_))
    back = np.stack(
        [reference.projected(x, [projector(W) for W in estimator.projections_]) for x in samples]
    )
    expected = back.reshape(X.shape) + centre
    np.testing.assert_allclose(estimator.inverse_transform(Y), expected, atol=1e-8)
    # What is in the subspace comes back unchanged.
    np.testing.assert_allclose(estimator.transform(estimator.inverse_transform(Y)), Y, atol=1e-8)


@each_method
def test_tensor_output_is_the_flat_one_folded(Method):
    X, y = problem((4, 3), classes=4, seed=21)
    flat = make(Method).fit(X, y)
    tensor = make(Method, output="tensor").fit(X, y)
    Y = tensor.transform(X)
    assert Y.shape == (len(X), *tensor.ranks_)
    np.testing.assert_array_equal(Y.reshape(len(X), -1), flat.transform(X))
    np.testing.assert_allclose(
        tensor.inverse_transform(Y), flat.inverse_transform(flat.transform(X))
    )


@each_method
def test_folded_rows_are_the_tensors_they_came_from(Method):
    X, y = problem((4, 3), classes=4, seed=22)
    rows = X.reshape(len(X), -1)
    folded = make(Method, sample_shape=(4, 3)).fit(rows, y)
    plain = make(Method).fit(X, y)
    assert folded.sample_shape_ == (4, 3)
    np.testing.assert_array_equal(folded.transform(rows), plain.transform(X))
    np.testing.assert_array_equal(folded.transform(X), plain.transform(X))
    assert folded.inverse_transform(folded.transform(rows)).shape == rows.shape


def test_moments_of_flat_rows_are_folded_as_the_rows_are():
    X, y = problem((4, 3), classes=3, seed=50)
    rows = X.reshape(len(X), -1)
    folded = CSDA(ranks=2, positive=1, sample_shape=(4, 3)).fit_moments(
        ClassMoments.from_batch(rows, y)
    )
    assert folded.sample_shape_ == (4, 3)
    assert folded.mean_.shape == (4, 3)
    for shape, moments in [((5, 3), rows), ((3, 4), X)]:
        with pytest.raises(ValueError, match="shape"):
            CSDA(positive=1, sample_shape=shape).fit_moments(ClassMoments.from_batch(moments, y))


@pytest.mark.parametrize("Method", [MCSDA, CSDA, CSRDA], ids=lambda M: M.__name__)
def test_scores_rank_samples_as_the_papers_similarity_does(Method):
    X, y = problem((4, 3), classes=3, seed=23)
    rule = {} if Method is CSRDA else {"decision": "distance"}
    estimator = make(Method, positive=0, **rule).fit(X, y)
    if Method is not CSRDA:  # which learns the point that it measures from
        np.testing.assert_allclose(estimator.mean_, X[y == 0].mean(axis=0), atol=1e-12)
    Y, M_p = estimator.transform(X), estimator.transform(estimator.mean_[None])
    similarity = 1 / np.linalg.norm(Y - M_p, axis=1)
    scores = estimator.decision_function(X)
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(similarity))
    assert estimator.decision_function(estimator.mean_[None]).tolist() == [0.0]
    assert estimator.score(X, y) == average_precision_score(y == 0, similarity)


@each_method
def test_float32_stays_float32_and_agrees_with_float64(Method):
    X, y = problem((4, 3), classes=4, seed=25)
    single, double = make(Method).fit(X.astype(np.float32), y), make(Method).fit(X, y)
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.transform(X).dtype == double.transform(X).dtype == np.float64
    assert single.inverse_transform(single.transform(X.astype(np.float32))).dtype == np.float32
    assert distance(single.projections_, double.projections_) <= 1e-4
    if Method in CLASS_SPECIFIC_METHODS:
        assert single.decision_function(X.astype(np.float32)).dtype == np.float32


def test_captured_is_the_share_of_the_scatter_that_is_kept():
    X, _ = problem((5, 4), seed=29)
    mpca = MPCA(ranks=(2, 3), **rounds(5)).fit(X)
    kept = np.sum((mpca.transform(X)) ** 2)
    assert mpca.captured_ == pytest.approx(kept / np.sum((X - X.mean(axis=0)) ** 2), rel=1e-10)
    assert MPCA(ranks=(5, 4)).fit(X).captured_ == pytest.approx(1.0, rel=1e-12)


def test_not_coming_to_rest_is_a_warning_that_says_what_to_do():
    X, y = problem((5, 4), seed=31)
    with pytest.warns(ConvergenceWarning, match=r"MCSDA still changed.*round 2; raise max_iter"):
        estimator = MCSDA(ranks=(2, 2), max_iter=2, tol=1e-12, positive=2).fit(X, y)
    assert not estimator.converged_
    assert estimator.n_iter_ == len(estimator.objective_) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rested = MCSDA(ranks=(2, 2), max_iter=500, tol=1e-6, positive=2).fit(X, y)
        made = MCSDA(ranks=(2, 2), max_iter=2, tol=0, positive=2).fit(X, y)  # as asked: no warning
    assert rested.converged_
    assert rested.n_iter_ < 500
    assert made.n_iter_ == 2


@each_method
@pytest.mark.filterwarnings("error", "ignore:no null space:UserWarning")
def test_a_default_fit_is_silent(Method):
    digits, rng = load_digits(), np.random.default_rng(0)
    named = {"positive": 3} if Method in CLASS_SPECIFIC_METHODS else {}
    assert Method(**named).fit(digits.images, digits.target).converged_
    for shape, n in (((6, 5), 200), ((9, 8, 3), 40), ((30, 20), 30)):
        X, y = rng.normal(size=(n, *shape)), np.arange(n) % 5
        assert Method(**named).fit(X, y).converged_


@pytest.mark.parametrize("Method", CLASS_SPECIFIC_METHODS, ids=lambda M: M.__name__)
def test_a_positive_class_that_nobody_named_is_named_in_a_warning(Method):
    X, y = problem((4, 3), classes=3, seed=36)
    labels = np.array(["ant", "bee", "cat"])[y]
    with pytest.warns(UserWarning, match=r"^positive is None, so .* takes 'cat', .* of 3 classes"):
        found = make(Method).fit(X, labels)
    assert found.positive_label_ == "cat"
    with pytest.warns(UserWarning, match=r"^positive is None.*pass positive='cat'"):
        RankSearchCV(make(Method), ranks=[1, 2], cv=StratifiedKFold(2)).fit(X, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "no null space")
        warnings.filterwarnings("ignore", "ranks is")
        make(Method, positive="cat").fit(X, labels)
        make(Method).fit(X, labels == "cat")  # of two classes, True is the one that is meant
        ClassSpecificClassifier(make(Method)).fit(X, labels)
        bank = ClassSpecificClassifier(make(Method))
        RankSearchCV(bank, ranks=[1, 2], cv=2).fit(X, labels)


@each_method
@pytest.mark.parametrize("shares", [0.9, "mixed"])
def test_shares_of_the_scatter_give_the_same_ranks_on_all_paths(Method, shares):
    X, y = problem((6, 5), classes=12, per_class=20, seed=37)
    X *= np.geomspace(1, 0.05, 6)[:, None]  # or no share would leave anything out
    ranks = shares if shares != "mixed" else (0.9,) if Method._flattens else (0.8, 2)
    named = {"positive": 1} if Method in CLASS_SPECIFIC_METHODS else {}
    estimator = Method(ranks=ranks, **named)
    Z = X - X.mean(axis=0)
    kept = [Z.swapaxes(1, 2).reshape(-1, 6), Z.reshape(-1, 5)]
    kept = [Z.reshape(len(Z), 30)] if Method._flattens else kept
    expected = []
    for k, matrix in enumerate(kept):
        values = np.linalg.svd(matrix, compute_uv=False) ** 2
        asked = ranks[k] if isinstance(ranks, tuple) else ranks
        enough = int(np.argmax(np.cumsum(values) >= asked * values.sum())) + 1
        expected.append(enough if isinstance(asked, float) else asked)
    found = [
        learned(estimator, "samples", X, y),
        learned(estimator, "moments", X, y),
        clone(estimator).fit_moments(ClassMoments.from_batch(X, y)),
        clone(estimator).partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2]),
    ]
    assert any(rank < matrix.shape[1] for rank, matrix in zip(expected, kept, strict=True))
    assert {model.ranks_ for model in found} == {tuple(expected)}
    for model in found[1:]:
        assert distance(model.projections_, found[0].projections_) <= 1e-7


# ── Automatic shrinkage ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n_positive", [3, 10, 40])
def test_automatic_shrinkage_nearly_minimises_the_error_of_the_covariance(n_positive):
    """Against a Monte-Carlo oracle: the share that is best when the true covariance is known."""
    rng = np.random.default_rng(n_positive)
    size, n_rest = 20, 400
    root = rng.normal(size=(size, size))
    true = root @ root.T
    others = np.trace(true) / size * np.eye(size)  # so the pooled target is not the truth
    grid = np.linspace(0, 1, 51)
    chosen, error_of_chosen, errors = [], [], []
    for _ in range(100):
        own = rng.normal(size=(n_positive, size)) @ root.T
        rest = rng.normal(size=(n_rest, size)) * np.sqrt(others[0, 0])
        X, y = np.concatenate([own, rest]), np.repeat([1, 0], [n_positive, n_rest])
        moments = ClassMoments.from_batch(X, y)
        share = float(automatic_shrinkage(MomentStatistics.of(moments))[1])
        S = moments.scatters[1] / (n_positive - 1)
        T = moments.scatters.sum(axis=0) / (len(X) - 2)
        errors.append([np.sum(((1 - g) * S + g * T - true) ** 2) for g in grid])
        error_of_chosen.append(np.sum(((1 - share) * S + share * T - true) ** 2))
        chosen.append(share)
    mean_errors = np.mean(errors, axis=0)
    # tr(S^2) stands in for tr(Sigma^2) and is a little larger, so a little more is shrunk.
    assert np.mean(chosen) == pytest.approx(grid[mean_errors.argmin()], abs=0.15)
    # Choosing per data set costs a sixth over the best share at most, and beats both ends.
    assert np.mean(error_of_chosen) <= 7 / 6 * mean_errors.min()
    assert np.mean(error_of_chosen) <= min(mean_errors[0], mean_errors[-1]) * (1 + 1e-12)


@pytest.mark.parametrize(
    "statistics",
    [lambda X, y: MomentStatistics.of(ClassMoments.from_batch(X, y)), SampleStatistics.from_batch],
    ids=["moments", "samples"],
)
@pytest.mark.parametrize("scale", [1e-100, 1e80])
def test_automatic_shrinkage_does_not_see_units(statistics, scale):
    X, y = problem((4, 3), classes=4, seed=35)
    plain, scaled = (automatic_shrinkage(statistics(Z, y)) for Z in (X, scale * X))
    assert ((plain > 0) & (plain < 1)).any()
    np.testing.assert_allclose(scaled, plain, rtol=1e-8)


@pytest.mark.parametrize("statistics", ["moments", "samples"])
def test_automatic_shrinkage_stands_any_weight(statistics):
    """Weights are counts: with less than a sample all is shrunk; of very many, no more matter."""
    X, y = problem((4, 3), classes=3, seed=50)
    options = {"ranks": 2, "positive": 1, "ridge": 0.1}

    def weighted(weight):
        model = CSDA(shrinkage="auto", **options)
        return learned(model, statistics, X, y, np.full(len(X), weight)).projections_

    pooled = CSDA(shrinkage=1.0, **options).fit(X, y).projections_
    assert max(distance(weighted(weight), pooled) for weight in (1e-100, 1e-9)) < 1e-6
    assert distance(weighted(1e9), weighted(1e100)) < 1e-6


@pytest.mark.parametrize("Method", [MCSDA, CSDA, CSRDA], ids=lambda M: M.__name__)
def test_auto_shrinkage_is_its_closed_form_put_in_by_hand(Method):
    """The ridge is part of the target: more shrinkage than usual is more ridge than usual."""
    X, y = problem((4, 3), classes=4, seed=35)
    moments = ClassMoments.from_batch(X, y)
    shares = automatic_shrinkage(MomentStatistics.of(moments))
    share, usual = float(shares[1]), float(moments.counts @ shares / moments.count)
    assert 0 < share < 1
    auto = make(Method, shrinkage="auto", positive=1, ridge=1e-2).fit(X, y)
    ridge = 1e-2 * share / usual
    by_hand = make(Method, shrinkage=share, positive=1, ridge=ridge).fit(X, y)
    assert distance(auto.projections_, by_hand.projections_) <= 1e-8
    plain = make(Method, positive=1, ridge=1e-2).fit(X, y)
    assert distance(auto.projections_, plain.projections_) > 1e-6


@pytest.mark.parametrize("weight", [None, [2.0, 0.0, 0.0]])
def test_automatic_shrinkage_is_not_chosen_by_rounding(weight):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 12)), np.array([1] * 3 + [0] * 7)
    w = np.ones(10)
    if weight is None:  # the other class is a point, so that S and T are the same
        X[3:], positive = X[3], 1
    else:  # two samples at one point have no scatter
        w[:3], positive = weight, 1
    models = [
        learned(CSDA(ranks=2, positive=positive, shrinkage="auto"), s, X, y, w)
        for s in ("auto", "moments", "samples")
    ]
    for other in models[1:]:
        np.testing.assert_allclose(other.objective_, models[0].objective_, rtol=1e-8)


def test_mpca_does_not_look_at_announced_classes():
    X, y = problem((4, 3), classes=3, seed=11)
    names = np.array(["ash", "beech", "cherry"])
    whole = make(MPCA).fit(X)
    grown = make(MPCA).partial_fit(X[:20], names[y[:20]], names)
    grown.partial_fit(X[20:], names[y[20:]], names)
    assert distance(grown.projections_, whole.projections_) <= 1e-8


def test_useful_ranks_are_chosen_when_none_are_asked_for():
    X, y = problem((40, 30), classes=3, per_class=5, seed=30)
    assert MCSDA().fit(X, y).ranks_ == (7, 6)
    assert MPCA().fit(X).ranks_ == (7, 6)
    vectors = X[:, :6, 0]
    # No more than the class means span; GTDA would find a third direction, but one of no use.
    assert DATER().fit(vectors, y).ranks_ == GTDA().fit(vectors, y).ranks_ == (2,)
    assert MCSDA(ranks=2).fit(X, y).ranks_ == (2, 2)

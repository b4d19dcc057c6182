"""Laws of `decision="likelihood_ratio"`: what SciPy's densities say, and who may use it."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.special import logit, logsumexp, softmax
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score

from reference import problem
from tenfold import (
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    ProbabilisticLDA,
    RankSearchCV,
    load_model,
)
from tenfold.classifiers.thresholds import Impostors, threshold_at
from ways import learned

DIGITS = load_digits()
X, Y = DIGITS.images[:600], DIGITS.target[:600]
NEW = DIGITS.images[600:900]


def by_densities(model, X, y, new):
    """The log ratio of the two Gaussians, from SciPy, in the subspace of a model."""
    Z = model.transform(X).reshape(len(X), -1)
    means = np.stack([Z[y == c].mean(axis=0) for c in model.classes_])
    codes = np.searchsorted(model.classes_, y)
    p = model.positive_index_
    if len(means) == 2:
        return by_two_covariances(model, Z, codes == p, new)
    s = ((Z - means[codes]) ** 2).sum() / (len(Z) - len(means)) / Z.shape[1]
    rest = codes != p
    m_o = Z[rest].mean(axis=0)
    B = (means[codes[rest]] - m_o).T @ (means[codes[rest]] - m_o) / rest.sum()
    own = multivariate_normal(means[p], s * np.eye(Z.shape[1]))
    other = multivariate_normal(m_o, s * np.eye(Z.shape[1]) + B)
    W = model.transform(new).reshape(len(new), -1)
    return own.logpdf(W) - other.logpdf(W)


def by_two_covariances(model, Z, is_own, new):
    """The same for two classes: each has a covariance of its own where the class is tighter."""
    n, n_own, size = len(Z), int(is_own.sum()), Z.shape[1]
    own, rest = Z[is_own], Z[~is_own]
    within = np.concatenate([own - own.mean(axis=0), rest - rest.mean(axis=0)])
    pooled = within.T @ within / (n - 2)
    spread = np.sqrt(np.diag(pooled))
    squares = ((pooled / np.outer(spread, spread)) ** 2).sum()
    share = 1.0
    if size > 1:
        share = ((1 - 2 / size) * squares + size**2) / ((n - 1 - 2 / size) * (squares - size))
        share = min(share, 1.0)
    pooled = (1 - share) * pooled + share * np.diag(spread**2)
    values, axes = eigh(np.cov(own.T).reshape(size, size), pooled)
    edge = (1 - np.sqrt(size / (n_own - 1))) ** 2
    tight = np.clip(values / edge, 1 / n_own, 1.0)
    wide = (n - n_own * tight) / (n - n_own)
    back = np.linalg.inv(axes)
    W = model.transform(new).reshape(len(new), -1)
    of_class = multivariate_normal(own.mean(axis=0), back.T @ np.diag(tight) @ back)
    of_others = multivariate_normal(rest.mean(axis=0), back.T @ np.diag(wide) @ back)
    return of_class.logpdf(W) - of_others.logpdf(W)


@pytest.mark.parametrize("statistics", ["moments", "samples"])
@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize(
    "make", [lambda **k: MCSDA((3, 4), **k), lambda **k: CSDA(9, **k)], ids=["MCSDA", "CSDA"]
)
def test_scores_are_the_log_ratio_of_two_gaussians(make, classes, statistics):
    used = classes > Y
    model = learned(make(positive=1), statistics, X[used], Y[used])
    expected = by_densities(model, X[used], Y[used], NEW)
    np.testing.assert_allclose(model.decision_function(NEW), expected, rtol=1e-8, atol=1e-8)


def test_a_bank_compares_what_its_members_say(tmp_path):
    ranks = {c: (2 + c % 3, 3) for c in range(10)}
    bank = ClassSpecificClassifier(MCSDA(ranks), normalize=False).fit(X, Y)
    each = np.stack([member.decision_function(NEW) for member in bank.projectors_], axis=1)
    np.testing.assert_allclose(-bank.distances(NEW), each, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(bank.predict(NEW), bank.classes_[each.argmax(axis=1)])
    bank.save(tmp_path / "bank.safetensors")
    again = load_model(tmp_path / "bank.safetensors").distances(NEW)
    np.testing.assert_array_equal(again, bank.distances(NEW))
    normalized = ClassSpecificClassifier(MCSDA(ranks)).fit(X, Y).distances(NEW)
    typical, even = np.stack([member.anchors_ for member in bank.projectors_]).T
    np.testing.assert_allclose(
        normalized * np.abs(normalized), (even - each) / (even - typical), rtol=1e-7, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")  # few samples are little
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [CSDA(3), MCSDA(2, tol=10.0)], ids=["CSDA", "MCSDA"])
def test_few_large_samples_are_held_out_as_in_plain_fits(model, weighted):
    """Folds are what all samples say less a few columns; the threshold is that of plain fits."""
    samples, labels = problem((12, 10), classes=7, per_class=5, seed=4, spread=0.4)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(labels)) if weighted else None
    model, own = clone(model).set_params(positive=1), labels == 1
    counted, far = np.ones(len(own)) if weight is None else weight, np.full(len(own), np.nan)
    for label in range(7):
        train, test = labels != label, labels == label
        if label != 1:
            batch = samples[train], labels[train], counted[train]
            fold = clone(model).fit(*batch)
            typical, even = fold.anchors_
            squares = (even - fold.decision_function(samples[test])) / (even - typical)
            far[test] = np.sign(squares) * np.sqrt(np.abs(squares))
    found = ClassSpecificVerifier(model, false_accept_rate=0.3, cv=6).fit(samples, labels, weight)
    limit = threshold_at(Impostors(far[~own], counted[~own], labels[~own]), 0.3)
    typical, even = found.projector_.anchors_
    expected = even - np.sign(limit) * limit**2 * (even - typical)
    assert found.threshold_ == pytest.approx(expected, rel=1e-6)


def test_noise_larger_than_the_difference_of_means_hides_no_class():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    Z = rng.normal(size=(600, 6, 20)) * np.linspace(0.3, 3, 20)
    Z[y == 1, :2, :8] += 0.25
    train = np.arange(600) % 2 == 0
    scores = {
        decision: MCSDA(positive=1, decision=decision)
        .fit(Z[train], y[train])
        .score(Z[~train], y[~train])
        for decision in ("likelihood_ratio", "distance")
    }
    assert scores["likelihood_ratio"] > 0.8 > 0.65 > scores["distance"]


def test_a_rate_that_few_classes_cannot_promise_is_for_new_samples_of_them():
    verifier = ClassSpecificVerifier(CSDA(), positive=8)
    with pytest.warns(
        UserWarning, match=r"9 other classes can guarantee 0\.1.*new samples of these"
    ):
        verifier.fit(DIGITS.images, DIGITS.target)
    assert verifier.error_rates_["false_accepts"] <= 0.011
    assert verifier.error_rates_["false_rejects"] <= 0.15


@pytest.mark.parametrize("same", ["samples", "means"])
def test_degenerate_samples_give_finite_scores(same):
    y = np.array([0, 0, 1, 1, 2])
    Z = np.ones((5, 3, 2))
    if same == "means":
        Z[::2] += 1.0
    for model in (MCSDA(positive=1), CSDA(positive=1)):
        assert np.isfinite(model.fit(Z, y).decision_function(Z)).all()


def test_what_is_not_a_decision_is_refused():
    with pytest.raises(ValueError, match="decision is 'ratio'; expected one of"):
        MCSDA(decision="ratio", positive=1).fit(X, Y)
    with pytest.raises(ValueError, match="normalize='own' divides distances"):
        ClassSpecificClassifier(MCSDA(), normalize="own").fit(X, Y)


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
def test_without_a_method_the_ratio_of_gaussian_classes_decides(tmp_path):
    """With many labels that against someone else, with two that against the other class."""
    for labels, positive in ((Y, 8), (Y == 8, None)):
        found = ClassSpecificVerifier(positive=positive).fit(X, labels)
        inside = found.projector_
        assert type(inside) is ProbabilisticLDA
        if positive is None:
            odds_before = np.log(inside.priors_[1] / inside.priors_[0])
            scores = inside.decision_function(NEW) - odds_before
        else:
            ratios = inside.log_likelihood_ratio(NEW)
            others = np.column_stack([np.zeros(len(NEW)), np.delete(ratios, 8, axis=1)])
            scores = ratios[:, 8] - logsumexp(others, axis=1, b=1 / 10)
        np.testing.assert_allclose(found.decision_function(NEW), scores - found.threshold_)
        np.testing.assert_array_equal(found.predict(NEW), scores >= found.threshold_)
        low, high = found.false_accept_interval_
        assert 0 <= low <= found.error_rates_["false_accepts"] <= high <= 1
        found.save(tmp_path / "verifier.safetensors")
        again = load_model(tmp_path / "verifier.safetensors")
        np.testing.assert_array_equal(again.decision_function(NEW), found.decision_function(NEW))
        assert again.false_accept_interval_ == found.false_accept_interval_


def test_without_a_method_impostors_are_scored_without_their_class():
    """20 others guarantee 5 %: new persons are accepted at the rate that was asked for."""
    accepted, rejected = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = np.repeat(np.arange(121), 6)
        people = rng.normal(size=(121, 12))[y] + rng.normal(0, 0.8, (len(y), 12))
        known = (y < 21) & (np.arange(len(y)) % 6 < 4)
        model = ClassSpecificVerifier(positive=0, false_accept_rate=0.05)
        model.fit(people[known], y[known])
        accepted.append(model.predict(people[y > 20]).mean())
        rejected.append(1 - model.predict(people[(y == 0) & ~known]).mean())
    assert 0.02 < np.mean(accepted) < 0.1
    assert np.mean(rejected) < 0.3


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
def test_one_positive_sample_is_enough_and_a_search_needs_a_method():
    few = (Y != 8) | (np.arange(len(Y)) == np.flatnonzero(Y == 8)[0])
    found = ClassSpecificVerifier(positive=8).fit(X[few], Y[few])
    assert "false_rejects" not in found.error_rates_
    with pytest.raises(ValueError, match=r"projector is None.*name the method to search"):
        RankSearchCV(ClassSpecificVerifier(positive=8), ranks=[2]).fit(X, Y)


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
def test_the_default_verifier_scores_a_class_against_all_others_and_strangers():
    """Its score is that of the class among all classes and a stranger, all equally likely."""
    found = ClassSpecificVerifier(positive=8).fit(X, Y)
    ratios = found.projector_.log_likelihood_ratio(NEW)
    odds = logit(softmax(np.column_stack([ratios, np.zeros(len(NEW))]), axis=1)[:, 8])
    score = found.decision_function(NEW) + found.threshold_
    usual = np.abs(odds) < 15  # beyond, a probability near 1 has too few digits
    assert usual.mean() > 0.3
    np.testing.assert_allclose(score[usual], odds[usual] + np.log(10), atol=1e-6)
    # Impostors of known classes speak for their own.
    is_eight = DIGITS.target[600:900] == 8
    plain = average_precision_score(is_eight, ratios[:, 8])
    assert average_precision_score(is_eight, score) > plain + 0.05

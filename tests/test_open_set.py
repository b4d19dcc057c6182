"""Open sets: "none of these", at a rate that strangers keep over all classes."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import tenfold
from tenfold import (
    CSDA,
    MCSDA,
    ClassSpecificClassifier,
    FalseAcceptRateWarning,
    ModeScaler,
    OpenSetClassifier,
    ProbabilisticLDA,
)
from tenfold.app.report import write_report
from tenfold.classifiers.scores import scores_and_decisions
from tenfold.datasets import TensorDataset
from tenfold.metrics import evaluate

GAUSSIAN = ProbabilisticLDA(views=["numbers"])
MODELS = {
    "gaussian": GAUSSIAN,
    "bank": ClassSpecificClassifier(CSDA(ranks=6)),
    "pipeline": make_pipeline(ModeScaler((), per_sample=False), GAUSSIAN),
}


def people(n_persons, n_each, seed, shape=(5, 4), noise=0.7):
    """Samples of persons whose means are drawn at random."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_persons), n_each)
    return rng.normal(size=(n_persons, *shape))[y] + rng.normal(0, noise, (len(y), *shape)), y


X, Y = people(16, 5, 0)
NEW = people(16 + 200, 4, 0)[0][64:]


def scores_by_hand(model, X):
    if isinstance(model, ProbabilisticLDA):
        return model.log_likelihood_ratio(X).max(axis=1)
    if isinstance(model, ClassSpecificClassifier):
        return -model.distances(X).min(axis=1)
    return scores_by_hand(model[-1], model[:-1].transform(X))


@pytest.mark.parametrize(
    ("kind", "rate"), [("gaussian", 0.05), ("gaussian", 0.2), ("bank", 0.2), ("pipeline", 0.2)]
)
@pytest.mark.long
def test_strangers_get_through_at_the_rate_that_was_asked_for(kind, rate):
    """The mean over ten draws of the persons; all classes together, not each by itself."""
    given = []
    for seed in range(10):
        X, y = people(30 + 100, 5, seed)
        model = OpenSetClassifier(MODELS[kind], false_accept_rate=rate)
        model.fit(X[:150], y[:150])
        answers = model.predict(X[150:])
        given.append(np.mean(answers != -1))
        assert set(answers) <= {*range(30), -1}
    assert rate / 2 < np.mean(given) < 2 * rate


@pytest.mark.realdata
def test_strangers_among_faces_get_through_at_no_more_than_twice_the_rate(data_root):
    """Half of the persons are known, by five images each; the others are strangers."""
    from paper.orl import load_orl

    X, y = load_orl(data_root, shape=(20, 15))
    persons, given = np.unique(y), []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        known = np.isin(y, rng.permutation(persons)[:20])
        some = known & (np.arange(len(y)) % 10 < 5)
        model = OpenSetClassifier(ProbabilisticLDA(views=["numbers"]), false_accept_rate=0.05)
        model.fit(X[some], y[some])
        given.append(np.mean(model.predict(X[~known]) != model.unknown_))
    assert 0 < np.mean(given) < 0.1


def test_below_what_classes_can_promise_it_warns_and_is_careful():
    given = []
    for seed in range(10):
        X, y = people(20 + 200, 5, seed)
        model = OpenSetClassifier(GAUSSIAN, false_accept_rate=0.01)
        with pytest.warns(
            FalseAcceptRateWarning, match=r"0\.01, but 20 classes can guarantee 0\.048.*99 would"
        ):
            model.fit(X[:100], y[:100])
        given.append(np.mean(model.predict(X[100:]) != -1))
    assert np.mean(given) < 0.02
    assert model.guaranteed_rate_ == 1 / 21


@pytest.mark.parametrize("kind", ["bank", "pipeline"])
def test_the_threshold_comes_from_models_that_never_met_the_person(kind):
    """One person a group: its scores are those of a model of all others, of directions too."""
    model = OpenSetClassifier(MODELS[kind], false_accept_rate=0.3, n_groups=16).fit(X, Y)
    scores = scores_without_each_person(MODELS[kind])
    falling = np.sort(scores)[::-1]
    place = (1 - 0.7 ** (15 / 16)) * 17 / 16 * len(X)  # of a share of 16 / 17 of all, from above
    assert falling[int(np.ceil(place)) - 1] <= model.threshold_ <= falling[int(place) - 1] + 1e-9
    np.testing.assert_allclose(model.score_samples(X), scores_by_hand(model.model_, X))
    assert model.error_rates_["false_accepts"] == pytest.approx(np.mean(scores >= model.threshold_))


def scores_without_each_person(model):
    scores = np.empty(len(X))
    for c in range(16):
        others = clone(model).fit(X[c != Y], Y[c != Y])
        scores[c == Y] = scores_by_hand(others, X[c == Y])
    return scores


def test_the_threshold_without_refitting_is_near_that_of_refitting(monkeypatch):
    """One fit serves the model and the scores of strangers."""
    n_fits = []
    fit = ProbabilisticLDA._fit

    def counted(self, *args):
        n_fits.append(self)
        return fit(self, *args)

    monkeypatch.setattr(ProbabilisticLDA, "_fit", counted)
    model = OpenSetClassifier(GAUSSIAN, false_accept_rate=0.3, n_groups=16).fit(X, Y)
    assert len(n_fits) == 1
    assert 0.15 < np.mean(scores_without_each_person(GAUSSIAN) >= model.threshold_) < 0.45


def test_above_0_is_known_and_probabilities_have_a_column_for_the_unknown():
    model = OpenSetClassifier(GAUSSIAN, false_accept_rate=0.1).fit(X, Y)
    both = np.concatenate([X, NEW])
    decision = model.decision_function(both)
    np.testing.assert_allclose(decision, model.score_samples(both) - model.threshold_)
    np.testing.assert_array_equal(decision >= 0, model.predict(both) != -1)
    P = model.predict_proba(both)
    assert P.shape == (len(both), 17)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    odds = model.model_.log_likelihood_ratio(both) + np.log(model.model_.priors_)
    np.testing.assert_allclose(P[:, :-1] / P[:, -1:], np.exp(odds), rtol=1e-9)
    assert P[:80, -1].mean() < 0.2 < 0.8 < P[80:, -1].mean()
    bank = OpenSetClassifier(MODELS["bank"], false_accept_rate=0.1).fit(X, Y)
    assert bank.decision_function(both).shape == (len(both),)
    with pytest.raises(AttributeError, match="predict_proba"):
        bank.predict_proba(both)


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")  # 10 classes guarantee 9 %
@pytest.mark.parametrize(("rate", "least"), [(0.05, 0.5), (0.01, 0.1)])
def test_ten_classes_and_a_low_rate_name_somebody_and_let_few_in(rate, least):
    """The tail of normal means is lighter than that of real classes, so this is careful."""
    accepted, known, best = [], [], []
    for seed in range(12):
        X, y = people(10 + 100, 12, seed, noise=1.0)
        train = (y < 10) & (np.arange(len(y)) % 2 == 0)
        test = (y < 10) & ~train
        model = OpenSetClassifier(GAUSSIAN, false_accept_rate=rate).fit(X[train], y[train])
        strangers = model.score_samples(X[y >= 10])
        own = model.score_samples(X[test])
        accepted.append(np.mean(strangers >= model.threshold_))
        known.append(np.mean(own >= model.threshold_))
        best.append(np.mean(own >= np.quantile(strangers, 1 - rate)))
    assert np.mean(accepted) < 1.5 * rate
    assert np.mean(known) > least * np.mean(best)


def test_one_number_that_nobody_had_before_does_not_spoil_all_ratios():
    """A pixel that is dark in all images but one is worth a million nats to one view."""
    digits = load_digits()
    rng = np.random.default_rng(1)
    chosen = rng.permutation(10)[:5]
    rows = []
    for c in chosen:
        rows += list(rng.permutation(np.flatnonzero(digits.target == c))[:60])
    model = ProbabilisticLDA().fit(digits.images[rows], digits.target[rows])
    ratios = model.log_likelihood_ratio(digits.images[rows])
    own = ratios[np.arange(len(rows)), np.searchsorted(model.classes_, digits.target[rows])]
    assert np.median(own) > 1
    assert np.median(ratios) < 0


def test_a_person_with_many_samples_counts_once():
    """Frames of one video of one person say no more about strangers than one of them."""
    copies = np.where(Y == 3, 40, 1)
    many, labels = np.repeat(X, copies, axis=0), np.repeat(Y, copies)
    bank = ClassSpecificClassifier(CSDA(ranks=6))
    models = [
        OpenSetClassifier(bank, false_accept_rate=0.2).fit(X, Y, sample_weight=copies),
        OpenSetClassifier(bank, false_accept_rate=0.2).fit(many, labels),
    ]
    assert models[0].threshold_ == pytest.approx(models[1].threshold_)
    assert models[0].guaranteed_rate_ == models[1].guaranteed_rate_ == 1 / 17


# ── Answers ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("labels", "unknown", "expected"),
    [
        (Y, None, -1),
        (Y - 5, None, -6),
        (Y.astype(np.uint8), None, -1),
        (Y.astype(float), None, -1),
        (np.array([f"s{i}" for i in range(16)])[Y], None, "unknown"),
        (np.array([f"s{i}" for i in range(16)], object)[Y], "nobody", "nobody"),
        (Y, "nobody", "nobody"),
        (Y, 99, 99),
        (Y, np.int64(99), 99),
        (Y > 7, None, -1),
    ],
)
@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
def test_the_answer_for_strangers_is_no_class(labels, unknown, expected):
    model = OpenSetClassifier(GAUSSIAN, false_accept_rate=0.1, unknown=unknown).fit(X, labels)
    assert model.unknown_ == expected
    assert expected not in model.classes_.tolist()
    answers = model.predict(NEW)
    assert {expected} < set(answers.tolist()) <= {expected, *model.classes_.tolist()}
    accepted = model.score_samples(NEW) >= model.threshold_
    assert [a != expected for a in answers.tolist()] == accepted.tolist()
    if labels.dtype.kind == "b":
        assert accuracy_score(labels, model.predict(X)) > 0.5  # scikit-learn takes them together
    named = model.model_.predict(NEW).tolist()
    assert [a for a in answers.tolist() if a != expected] == np.array(named)[accepted].tolist()


def test_the_score_counts_strangers_that_were_rejected(tmp_path):
    model = OpenSetClassifier(GAUSSIAN, false_accept_rate=0.1).fit(X, Y)
    both, labels = np.concatenate([X, NEW]), np.r_[Y, np.full(len(NEW), 77)]
    answers = model.predict(both)
    right = np.where(labels == 77, answers == -1, answers == labels)
    assert model.score(both, labels) == pytest.approx(right.mean())
    facts = evaluate(model, both, labels).as_dict()
    assert facts["kind"] == "OpenSetClassifier"
    assert facts["accuracy"] == pytest.approx(right.mean())
    assert facts["strangers"]["false_accept_rate"] == np.mean(answers[80:] != -1)
    assert facts["strangers"]["false_reject_rate"] == np.mean(answers[:80] == -1)
    np.testing.assert_array_equal(scores_and_decisions(model, both)["decision"], answers)
    write_report(model, TensorDataset(both, labels, name="toy"), tmp_path / "page.html")
    page = " ".join((tmp_path / "page.html").read_text(encoding="utf-8").split())
    assert f"names {100 * np.mean(answers[80:] != -1):.1f} % of these strangers" in page


# ── As scikit-learn has it ──────────────────────────────────────────────────────────────────────


def test_it_works_in_a_pipeline_and_in_a_search(tmp_path):
    inside = OpenSetClassifier(MODELS["pipeline"], false_accept_rate=0.1).fit(X, Y)
    last = OpenSetClassifier(GAUSSIAN, false_accept_rate=0.1)
    outside = make_pipeline(ModeScaler((), per_sample=False), last).fit(X, Y)
    for model in (inside, outside):
        tenfold.save(model, tmp_path / "model.safetensors")
        found = tenfold.load_model(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(found.predict(NEW), model.predict(NEW))
        facts = evaluate(found, np.concatenate([X, NEW]), np.r_[Y, np.full(len(NEW), 77)]).as_dict()
        assert facts["strangers"]["samples"] == len(NEW)
    grid = {"false_accept_rate": [0.1, 0.5], "model__views": [["numbers"], ["units"]]}
    search = GridSearchCV(last, grid, cv=2).fit(X, Y)
    assert search.best_params_["false_accept_rate"] == 0.5  # no strangers were among these samples


@pytest.mark.parametrize("kind", MODELS)
def test_a_saved_one_gives_the_same_answers(kind, tmp_path):
    model = OpenSetClassifier(MODELS[kind], false_accept_rate=0.1, unknown="nobody").fit(X, Y)
    model.save(tmp_path / "model.safetensors")
    found = tenfold.load_model(tmp_path / "model.safetensors")
    assert repr(found) == repr(model)
    np.testing.assert_array_equal(found.predict(NEW), model.predict(NEW))
    assert found.threshold_ == model.threshold_
    assert found.error_rates_ == model.error_rates_


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", MODELS)
def test_few_classes_are_named_with_a_warning(kind):
    two, three = Y < 2, Y < 3
    model = OpenSetClassifier(MODELS[kind])
    with pytest.warns(FalseAcceptRateWarning, match="nothing is guaranteed"):
        model.fit(X[two], Y[two])
    assert model.guaranteed_rate_ == 1
    assert set(model.predict(NEW)) <= {0, 1, -1}
    with pytest.warns(
        FalseAcceptRateWarning, match="3 classes can guarantee 0.25.*extrapolates from scores"
    ):
        model.fit(X[three], Y[three])
    assert model.error_rates_["false_accepts"] == 0


@pytest.mark.parametrize(
    ("rows", "labels", "parameters", "words"),
    [
        (X[:5], Y[:5], {}, "1 class"),
        (X, Y, {"unknown": 3}, "unknown is 3, and samples have this label"),
        (X, np.where(Y == 3, "unknown", "s" + Y.astype(str).astype(object)), {}, "have this label"),
        (X[::5], Y[::5], {}, "sample"),
        (np.ones_like(X), Y, {}, "samples"),
        (np.full_like(X, np.nan), Y, {}, "NaN"),
        (X, Y, {"false_accept_rate": 1.5}, "from 0 to 1"),
        (X, Y, {"false_accept_rate": "equal"}, "from 0 to 1"),
        (X, Y, {"n_groups": 1}, "n_groups"),
        (X, Y, {"model": MCSDA()}, "expected a ProbabilisticLDA"),
    ],
    ids=lambda v: "",
)
def test_bad_input_is_refused_in_words(rows, labels, parameters, words):
    with pytest.raises(ValueError, match=words):
        OpenSetClassifier(**{"model": GAUSSIAN, **parameters}).fit(rows, labels)


def test_what_comes_to_predict_is_checked():
    model = OpenSetClassifier(GAUSSIAN, false_accept_rate=0.1).fit(X, Y)
    for wrong, words in ((NEW[:0], "0 sample"), (NEW[:, :2], "shape"), (NEW * np.nan, "NaN")):
        with pytest.raises(ValueError, match=words):
            model.predict(wrong)
    with pytest.warns(UserWarning, match="numbers up to"):
        assert (model.predict(1e3 * NEW) == -1).all()  # nobody is like this
    strangers = evaluate(model, NEW, np.full(len(NEW), 77)).as_dict()["strangers"]  # nobody else
    assert strangers["false_accept_rate"] == np.mean(model.predict(NEW) != -1)
    assert strangers["false_reject_rate"] is None


def test_classes_that_cannot_be_left_out_are_named():
    few = np.r_[0:5, 5:80:5]  # one person of five samples, and one sample of each other
    with pytest.raises(ValueError, match=r"classes \[.*\] cannot be left out"):
        OpenSetClassifier(MODELS["pipeline"], n_groups=16).fit(X[few], Y[few])


def test_priors_of_all_classes_and_classes_without_weight_are_no_obstacle():
    rng = np.random.default_rng(0)
    y = np.arange(1600) % 4
    X = rng.normal(size=(1600, 2, 3)) + 4 * rng.normal(size=(4, 2, 3))[y]
    model = ProbabilisticLDA(priors=[0.1, 0.2, 0.3, 0.4])
    given = OpenSetClassifier(model, false_accept_rate=0.2).fit(X, y)
    plain = OpenSetClassifier(false_accept_rate=0.2).fit(X, y)
    assert given.threshold_ == pytest.approx(plain.threshold_, abs=1)
    weighted = OpenSetClassifier(false_accept_rate=0.3).fit(X, y, sample_weight=(y > 0) * 1.0)
    assert weighted.classes_.tolist() == [1, 2, 3]


LARGE = 2**63
HOSTILE_LABELS = {
    "uint64 above int64": np.array([0, 5, LARGE, LARGE + 1, 2**64 - 1], dtype=np.uint64),
    "uint64 within int64": np.array([0, 5, 2**53 + 1, LARGE - 2, LARGE - 1], dtype=np.uint64),
    "int64 to its ends": np.array([-LARGE, -LARGE + 1, -1, 0, LARGE - 1]),
    "int64 beside the least": np.array([-LARGE + 1, -LARGE + 2, -2, -1, 7]),
    "int64 that a float64 rounds": -np.array([2**53, 2**53 + 1, 2**53 + 2, 1, 2]),
    "int8": np.array([-128, -1, 0, 1, 127], dtype=np.int8),
    "uint8": np.array([0, 1, 2, 3, 255], dtype=np.uint8),
    "large floats": np.array([-(2.0**60), -(2.0**53), -1.0, 0.0, 2.0**60]),
    "float32": np.array([-1.0, 0.0, 1.0, 2.0, 16777216.0], dtype=np.float32),
    "text": np.array(["a", "ab", "abc", "unknowns", "Unknown"]),
    "objects": np.array(["a", "ab", "abc", "unknowns", "Unknown"], dtype=object),
}


@pytest.mark.filterwarnings("ignore:left-out samples are recognized")
@pytest.mark.filterwarnings("ignore:samples hold numbers")
@pytest.mark.parametrize("unknown", [None, "nobody", -5, LARGE + 7, 0.5])
@pytest.mark.parametrize("kind", HOSTILE_LABELS)
def test_every_answer_is_exactly_a_class_or_unknown(kind, unknown, tmp_path):
    names = HOSTILE_LABELS[kind]
    rng = np.random.default_rng(3)
    number = np.arange(60) % 5
    samples = 9 * rng.normal(size=(5, 4))[number] + rng.normal(size=(60, 4))
    model = OpenSetClassifier(GAUSSIAN, false_accept_rate=0.5, unknown=unknown)
    model.fit(samples, names[number])
    asked = np.concatenate([samples, 1e3 * rng.normal(size=(20, 4))])
    answers = model.predict(asked)
    known = set(names.tolist())
    assert model.unknown_ not in known
    assert set(answers.tolist()) <= known | {model.unknown_}
    assert model.unknown_ in answers.tolist()
    assert len(set(answers.tolist()) & known) == 5
    if unknown is None and names.dtype.kind in "iuf" and kind != "uint64 above int64":
        assert answers.dtype.kind in "if", "a type that metrics take"
    model.save(tmp_path / "own.safetensors")
    loaded = tenfold.load_model(tmp_path / "own.safetensors")
    assert loaded.unknown_ == model.unknown_
    assert loaded.predict(asked).tolist() == answers.tolist()


def test_strangers_choose_the_weights_of_views_in_the_ratio():
    """Views that name classes well need not tell strangers: border pixels of digits do not."""
    digits = load_digits()
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        known = rng.permutation(10)[:5]
        rows = []
        for label in known:
            rows += list(rng.permutation(np.flatnonzero(digits.target == label))[:50])
        test = np.setdiff1d(np.arange(len(digits.target)), rows)
        is_known = np.isin(digits.target[test], known)
        samples, labels = digits.images[rows], digits.target[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FalseAcceptRateWarning)
            model = OpenSetClassifier().fit(samples, labels)
        plain = ProbabilisticLDA().fit(samples, labels)
        scores = model.score_samples(digits.images[test])
        ratios = plain.log_likelihood_ratio(digits.images[test])
        areas = roc_auc_score(is_known, scores), roc_auc_score(is_known, ratios.max(axis=1))
        found.append(areas)
    by_strangers, by_classes = np.mean(found, axis=0)
    assert by_strangers > by_classes + 0.005
    assert by_strangers > 0.95


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
def test_strangers_without_weight_are_not_there():
    X, y = load_digits().images[:200], load_digits().target[:200]
    is_known = y < 7
    labels = np.where(is_known, y, -1)
    found = OpenSetClassifier(unknown=-1).fit(X, labels, sample_weight=is_known.astype(float))
    assert found.unknown_ == -1
    assert found.classes_.tolist() == list(range(7))

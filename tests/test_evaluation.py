"""Metrics and comparisons in Python: what the command line and the report print."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from tenfold import CMDA, MCSDA, MPCA, ClassSpecificClassifier, ClassSpecificVerifier, compare
from tenfold.decisions.members import answer_of, members_of
from tenfold.decisions.metrics import evaluate
from tenfold.decisions.scores import class_scores, scores_and_decisions

RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
X = RNG.normal(size=(3, 6, 5))[Y] + RNG.normal(0, 1.5, (90, 6, 5))
MODEL = MCSDA((2, 2), tol=10.0)


def test_the_three_kinds_of_models_name_their_fitted_projectors():
    verifier = ClassSpecificVerifier(MODEL, positive=2, false_accept_rate="equal")
    kinds = [clone(MODEL), ClassSpecificClassifier(MODEL), verifier]
    assert not any(hasattr(kind, "members_") for kind in kinds)
    projector, bank, verifier = (kind.fit(X, Y) for kind in kinds)
    assert projector.members_ == [projector]
    assert bank.members_ == bank.projectors_
    assert verifier.members_ == [verifier.projector_]


def test_each_kind_of_model_has_its_answer():
    kinds = [ClassSpecificClassifier(MODEL), ClassSpecificVerifier(MODEL), MODEL, MPCA()]
    assert [answer_of(kind) for kind in kinds] == ["class", "acceptance", "score", "projection"]
    with pytest.raises(TypeError, match="ndarray has no projections"):
        answer_of(X)


def test_the_class_of_a_verifier_may_be_that_of_its_projector():
    """A model whose class is said inside the verifier is scored for that class."""
    inside = MCSDA((2, 2), tol=10.0, positive=0)
    verifier = ClassSpecificVerifier(inside, false_accept_rate=0.5).fit(X, Y)
    (member,) = members_of(verifier)
    assert member.label == 0
    (found,) = class_scores(verifier, X, Y)
    assert (found.is_positive == (Y == 0)).all()
    np.testing.assert_array_equal(found.scores >= found.threshold, verifier.predict(X))
    assert evaluate(verifier, X, Y).is_known.all()  # of three classes; `classes_` are its answers


def test_an_evaluation_holds_scikit_learns_figures():
    bank = ClassSpecificClassifier(MODEL).fit(X[:60], Y[:60])
    new, labels = X[60:], Y[60:]
    found = evaluate(bank, new, labels)
    scores = bank.decision_function(new)
    expected = [average_precision_score(labels == c, scores[:, c]) for c in range(3)]
    assert found.average_precision == pytest.approx(np.mean(expected))
    assert found.classes[1].roc_auc == pytest.approx(roc_auc_score(labels == 1, scores[:, 1]))
    assert found.accuracy == accuracy_score(labels, bank.predict(new))
    assert (scores_and_decisions(bank, new)["decision"] == bank.predict(new)).all()


def test_a_comparison_is_a_table_and_figures():
    found = compare([CMDA((2, 2), tol=10.0), MODEL], X, Y, cv=3, random_state=5, verbose=False)
    by_name = {one.method: one for one in found.methods}
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[2:4]] == [one.method for one in found.methods]
    right = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=5).split(X, Y):
        bank = ClassSpecificClassifier(MODEL).fit(X[train], Y[train])
        right.append(bank.score(X[test], Y[test]))
    assert by_name["MCSDA"].accuracy == pytest.approx(np.mean(right))
    assert found.as_dict()["methods"][0]["method"] == found.methods[0].method


def test_a_comparison_on_one_class_has_no_accuracy():
    found = compare([MODEL], X, Y, positive=2, cv=3, verbose=False)
    assert found.methods[0].accuracy is None
    assert "accuracy" not in str(found)

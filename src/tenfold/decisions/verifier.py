"""A verifier: accept a sample as one of a class, or reject it."""

from __future__ import annotations

import sys
import warnings
from functools import partial
from math import ceil
from numbers import Real
from types import FrameType
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.metaestimators import available_if

from tenfold.decisions.distances import OfBlock
from tenfold.decisions.thresholds import Impostors, equal_threshold, kish, threshold_at
from tenfold.decisions.verification import (
    ALIKE,
    Verification,
    fold_plan,
    merged_equals,
    n_folds_of,
    tells_of_strangers,
    verified,
)
from tenfold.mathematics.algebra import Array, to_numpy
from tenfold.mathematics.sample_statistics import codes_of
from tenfold.mathematics.stores import ArraySamples, over_blocks
from tenfold.methods.base import ClassSpecificProjector, Labels, Savable
from tenfold.methods.csda import CSDA
from tenfold.methods.mcsda import MCSDA
from tenfold.system.plain_values import check_agree
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.samples import in_numpy


def _decides_by_distance(verifier: ClassSpecificVerifier) -> bool:
    if verifier.projector is not None and verifier.projector.decision == "distance":
        return True
    raise ValueError("similarity is one over a distance; use decision='distance' of the projector")


class RateWarning(UserWarning):
    """The samples cannot promise the false-accept rate that a verifier was asked for."""


class ClassSpecificVerifier(ClassifierMixin, Savable, BaseEstimator):
    """Accept or reject samples as members of one class.

    The threshold is set on impostors that the scoring model has not met, for a wanted share of
    false accepts, or for equal error rates. To scikit-learn it is a binary classifier.

    Parameters
    ----------
    projector : MCSDA, CSDA or another class-specific method, or None, default=None
        The method, with its parameters. None tries `CSDA` and, on tensors, `MCSDA`, and takes the
        one that tells held-out samples apart better: by the area under the ROC curve, and `CSDA`
        where both are alike or no positive can be held out.
    positive : label or None, default=None
        The class to verify; None means the `positive` of the projector, and if that is None too,
        the last of two classes. With more classes it must be said.
    false_accept_rate : float or "equal", default=0.01
        The share of new samples of others to accept: of others who were never seen, or of the same
        ones where there are fewer than 4 other classes, or fewer than 10 that cannot promise so
        low a rate. Or "equal" for the threshold at which the shares of false accepts and false
        rejects are the same.
    cv : int, splitter or iterable of splits, default=5
        Folds for the held-out scores. An int holds out so many folds of other classes, or of their
        samples where the rate is for these; more, up to 50, where models without a fold
        are unlike the model of all. Positives stay in these models; they are held out in folds of
        their own, for the share of false rejects. A single positive is never held out.
        Samples are dealt by their content, so their order plays no part.

    Attributes
    ----------
    projector_ : projector
        The model, fitted on all samples; its `classes_` are all the labels.
    threshold_ : float
        Samples whose score, that of `projector_`, is at least this are accepted.
    error_rates_ : dict
        Held-out shares of "false_accepts" and, where positives were held out, "false_rejects".
    promised_rate_ : float
        The least false-accept rate that these samples can promise whatever the distribution of
        scores is: 1 / (K + 1) for K other classes, 1 / (n + 1) for n samples of a single one.
    classes_ : ndarray of shape (2,)
        What `predict` gives, the accepted one last: the labels when there are two and the last of
        them is the positive one, else False and True.

    Warns
    -----
    RateWarning
        When the asked rate is below `promised_rate_`, and is therefore extrapolated from the nearer
        half of the held-out samples; and when the models of the folds are unlike the final one.

    Notes
    -----
    Scores of a fold are measured in units of what other samples have by the model that scored,
    which follows from its scatters: distances divided by their root mean square distance from the
    positive mean, log likelihood ratios by their expected one. The threshold is found on that
    scale. The i-th closest of n independent impostors stands at
    i / (n + 1). Samples of one class are not independent: they count for as many as they differ.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, ClassSpecificVerifier
    >>> X, y = load_digits().images, load_digits().target
    >>> model = MCSDA(ranks=(5, 5))
    >>> verifier = ClassSpecificVerifier(model, positive=6, false_accept_rate=0.1)
    >>> accepted = verifier.fit(X[:900], y[:900]).predict(X[900:])
    >>> bool(accepted[y[900:] == 6].mean() > 0.95), bool(accepted[y[900:] != 6].mean() < 0.1)
    (True, True)
    >>> verifier.promised_rate_
    0.1
    """

    _answer = "acceptance"

    projector_: ClassSpecificProjector
    threshold_: float
    error_rates_: dict[str, float]
    promised_rate_: float
    classes_: Labels

    def __init__(
        self,
        projector: Any = None,
        *,
        positive: Any = None,
        false_accept_rate: Any = 0.01,
        cv: Any = 5,
    ):
        self.projector = projector
        self.positive = positive
        self.false_accept_rate = false_accept_rate
        self.cv = cv

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the subspace of the positive class and the threshold.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples. A store is read once for all statistics, and once for the scores of
            samples that were held out; before, samples that are dealt to folds one by one. These
            are read once more where they have to be dealt finer, and for each method that is tried.
        y : array-like of shape (n,)
            Class labels, at least two.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            The fitted verifier.
        """
        self._check_parameters()
        candidates = self._candidates()
        described, X, labels, weight = candidates[0]._first_batch(X, y, sample_weight)
        X = X.in_memory() if isinstance(X, ArraySamples) else X  # equal ones are found by bytes
        classes = check.present_labels(labels, weight)
        positive = self.positive_among(classes)
        used = np.ones(len(labels), bool) if weight is None else weight > 0
        codes = codes_of(X, labels, classes)
        number = int(np.searchsorted(classes, positive))
        plan = fold_plan(self.cv, X, codes, number, used, self.false_accept_rate)
        equal = self.false_accept_rate == "equal"
        met, own_met = n_folds_of(plan.impostors[0]), n_folds_of(plan.own)
        if not met or (equal and not own_met):
            missing = "the positive class" if met else "other classes"
            raise ValueError(
                f"no sample of {missing} was held out, so there is nothing to choose the threshold "
                f"on; pass more samples or other folds (cv), or a number as false_accept_rate"
            )
        tried = []
        for model in candidates if X.ndim > 2 else candidates[:1]:  # the same on vectors
            model.set_params(positive=positive)  # in a fold without it, None means another class
            found = verified(model, described, X, labels, weight, classes, plan)
            tried.append((found, *_held_out(found, codes, number, plan.by_class, weight)))
        found, impostors, own = tried[0] if len(tried) == 1 else max(tried, key=_told_apart)
        limit = self._limit(impostors, own)
        n_classes = len(classes) - 1
        promised = 1 / (1 + (n_classes if n_classes > 1 else kish(impostors.weight)))
        self._warn(n_classes, promised, found.ratio)
        whole = found.whole.projector.set_params(positive=self._candidates()[0].positive)
        for name in self._learned_attributes():
            delattr(self, name)
        self.__dict__.update(check.of_samples(described))
        self.projector_, self.promised_rate_ = whole, promised
        self.threshold_ = found.whole.score_at(limit)
        self.error_rates_ = {"false_accepts": _share(impostors.farness <= limit, impostors)}
        if len(own.farness):
            self.error_rates_["false_rejects"] = _share(own.farness > limit, own)
        self.classes_ = classes if _is_last_of_two(positive, classes) else np.array([False, True])
        return self

    def _check_learned(self) -> None:
        """Refuse a projector of other samples, and other answers than two."""
        own = getattr(self.projector_, "sample_shape_", None)
        check_agree("projector_", own, self.sample_shape_)
        check_agree("classes_", len(self.classes_), 2)

    def _check_parameters(self) -> None:
        """Validate parameters."""
        if self.projector is not None:
            parameters.check_class_specific(self.projector, ClassSpecificProjector)
        asked = self.positive, getattr(self.projector, "positive", None)
        for positive in asked:
            parameters.check_one_label(positive)
        if None not in asked and asked[0] != asked[1]:
            raise ValueError(
                f"positive is {parameters.plain(asked[0])!r}, but that of the projector is "
                f"{parameters.plain(asked[1])!r}; expected one class to verify; set only one of "
                "them"
            )
        rate = self.false_accept_rate
        if rate != "equal" and not (isinstance(rate, Real) and 0 <= float(rate) <= 1):
            raise ValueError(
                f"false_accept_rate is {rate!r}; expected a number from 0 to 1, or 'equal'"
            )

    def model(self) -> Any:
        """The projector for the class to verify, not fitted."""
        if self.projector is None:
            raise ValueError(
                "projector is None, and a verifier then chooses a method; name the one to search, "
                "as ClassSpecificVerifier(CSDA())"
            )
        return self._candidates()[0]

    def _candidates(self) -> list[Any]:
        """The projectors to try for the class to verify, not fitted."""
        models = [CSDA(), MCSDA()] if self.projector is None else [clone(self.projector)]
        for model in models if self.positive is not None else []:
            model.set_params(positive=self.positive)
        return models

    def positive_among(self, classes: Array) -> Any:
        """The label of the class to verify, or an error that says how to name it."""
        model = self._candidates()[0]
        if model.positive is None and len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass; "
                "pass positive, the class to verify, and y == positive is the target"
            )
        label = classes[model._positive_in(classes)]
        if len(classes) > 2 and _is_calibrated():
            raise ValueError(
                f"CalibratedClassifierCV gave {len(classes)} labels to a verifier, whose answers "
                "are False and True: it would take these for the labels 0 and 1; pass it "
                f"y == {parameters.plain(label)!r}, and a verifier without positive"
            )
        if len(classes) == 2 and label != classes[1] and classes.dtype.kind in "biuf":
            raise ValueError(
                f"y has the labels {classes.tolist()}, and positive is the first of them, but "
                "scikit-learn takes the second of two numbers as the positive one and would turn "
                f"every curve round; pass y == {parameters.plain(label)!r} without positive, or "
                "labels that are words"
            )
        return label

    def _limit(self, impostors: Impostors, own: Impostors) -> float:
        """How far samples may be to be accepted."""
        if self.false_accept_rate == "equal":
            return equal_threshold(impostors, own.farness, own.weight)
        return threshold_at(impostors, float(self.false_accept_rate))

    def _warn(self, n_classes: int, promised: float, ratio: float) -> None:
        """Say so where the asked rate is more than the samples can promise."""
        rate = self.false_accept_rate
        if rate == "equal":
            return
        if 0 < rate < promised:
            what = f"{n_classes} other classes" if n_classes > 1 else "the other samples"
            how = (
                "extrapolates from their scores"
                if n_classes == 1 or tells_of_strangers(n_classes, rate)
                else "is meant for new samples of these classes"
            )
            warnings.warn(
                f"asked for a false-accept rate of {rate:g}, but {what} can promise "
                f"{promised:.2g}, one over their number plus one; {ceil(1 / rate) - 1} would "
                f"promise {rate:g}. The threshold {how}",
                RateWarning,
                stacklevel=3,
            )
        if ratio > ALIKE**2:
            warnings.warn(
                "models without some of the other samples are unlike the model of all: their "
                f"scores differ by a factor of {ratio:.2f}, so held-out scores say little "
                "about the false-accept rate; lower ranks or more shrinkage help",
                RateWarning,
                stacklevel=3,
            )

    @property
    def members_(self) -> list[ClassSpecificProjector]:
        """The fitted projectors of the model: one."""
        check.check_fitted(self, "projector_")
        return [self.projector_]

    def decision_function(self, X: Any) -> Array:
        """By how much the score of each sample exceeds the threshold.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            What `projector_.decision_function` gives, a log likelihood ratio or minus a distance,
            minus `threshold_`. Samples are accepted where it is not negative.
        """
        check.check_fitted(self, "projector_")
        return self.projector_.decision_function(X) - self.threshold_

    @available_if(_decides_by_distance)
    def similarity(self, X: Any) -> Array:
        """The paper's similarity, one over the distance; infinite at the mean itself.

        For ``decision="distance"``.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            Positive numbers.
        """
        check.check_fitted(self, "projector_")
        work = partial(similarities, scoring=self.projector_._scoring())
        return over_blocks(check.check_samples(self, X), work)

    def predict(self, X: Any) -> Array:
        """Whether each sample is accepted.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            The last of `classes_` where the sample is accepted, else the first: booleans, or the
            two labels.
        """
        check.check_fitted(self, "projector_")
        decide = partial(
            decided,
            scoring=self.projector_._scoring(),
            threshold=self.threshold_,
            classes=self.classes_,
        )
        return over_blocks(check.check_samples(self, X), decide)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Average precision at finding the positive class.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.
        y : array-like of shape (n,)
            Their labels as in `fit`, or whether they are of the positive class.
        sample_weight : array-like of shape (n,), default=None
            Sample weights.

        Returns
        -------
        float
            Between 0 and 1.
        """
        check.check_fitted(self, "projector_")
        classes, y = self.projector_.classes_, in_numpy(y, "y")
        if np.asarray(y).dtype == bool and classes.dtype != bool:
            positive = self.projector_.positive_label_
            y = np.where(y, positive, classes[classes != positive][0])
        return float(self.projector_.score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.three_d_array = True
        return tags


def similarities(X: Array, scoring: OfBlock) -> Array:
    """One over the distance of samples in memory; infinite at the mean itself."""
    distance = -to_numpy(scoring(X))
    infinite = np.full(distance.shape, np.inf)
    return np.asarray(np.divide(1.0, distance, out=infinite, where=distance > 0))


def decided(X: Array, scoring: OfBlock, threshold: float, classes: Array) -> Array:
    """For samples in memory the last of two classes where the score reaches the threshold."""
    return np.asarray(classes[(to_numpy(scoring(X)) >= threshold).astype(np.intp)])


def _is_calibrated() -> bool:
    """Whether scikit-learn's calibration calls; nothing that it passes tells."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != "sklearn.calibration":
        frame = frame.f_back
    return frame is not None


def _is_last_of_two(label: Any, classes: Array) -> bool:
    return len(classes) == 2 and bool(label == classes[1])


def _held_out(
    found: Verification, codes: Array, positive: int, by_class: bool, weight: Array | None
) -> tuple[Impostors, Impostors]:
    """Held-out samples of other classes, and those of the class itself; equal ones are one."""
    rows = np.flatnonzero(~np.isnan(found.farness))  # no fold holds out what has no weight
    counts = np.ones(len(rows)) if weight is None else weight[rows]
    first, counts = merged_equals(found.content[rows], codes[rows], counts)
    farness, codes = found.farness[rows[first]], codes[rows[first]]
    own = codes == positive
    groups = codes[~own] if by_class else None
    return (
        Impostors(farness[~own], counts[~own], groups),
        Impostors(farness[own], counts[own], None),
    )


def _told_apart(tried: tuple[Verification, Impostors, Impostors]) -> float:
    """How well held-out samples are told apart, as the area under the ROC curve."""
    _, impostors, own = tried
    if not len(own.farness):
        return 0.5
    is_own = np.repeat([False, True], [len(impostors.farness), len(own.farness)])
    far = np.concatenate([impostors.farness, own.farness])
    weight = np.concatenate([impostors.weight, own.weight])
    near = -np.maximum(far, np.finfo(float).min)  # minus infinity is at the very mean
    return float(roc_auc_score(is_own, near, sample_weight=weight))


def _share(which: Array, of: Impostors) -> float:
    return float(of.weight[which].sum() / of.weight.sum())

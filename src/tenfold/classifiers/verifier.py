"""A verifier: accept a sample as one of a class, or reject it.

The threshold rests on the many samples of other classes, not on the few of the positive one. So
every positive sample stays in the training part when impostors are held out: the models of the
folds are as good as that of all samples. Positives are held out in folds of their own, to estimate
the share of false rejects.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import average_precision_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from tenfold.classifiers.folds import folds_of
from tenfold.classifiers.held_out import (
    ABOVE_ALL,
    ALIKE,
    FEWEST_CLASSES,
    fold_plan,
    given_folds,
    score_held_out,
)
from tenfold.classifiers.probabilistic import ProbabilisticLDA
from tenfold.classifiers.thresholds import (
    FalseAcceptRateWarning,
    Impostors,
    equal_threshold,
    kish,
    threshold_at,
    warn_of_rate,
)
from tenfold.gaussian.model import LeftOut
from tenfold.gaussian.signals import has_image, image_modes
from tenfold.linalg.arrays import Array, to_numpy
from tenfold.methods.base import Labels, Savable
from tenfold.methods.class_specific import ClassSpecificProjector
from tenfold.methods.csda import CSDA
from tenfold.quiet import warn
from tenfold.serialization.values import check_agree
from tenfold.statistics.cost import Split, renumbered
from tenfold.statistics.scatters import codes_of
from tenfold.statistics.stores import ArraySamples, OfBlock, over_blocks
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.containers import in_numpy
from tenfold.validation.labels import (
    check_groups,
    check_labels,
    missing_labels,
    present_labels,
    which_are,
)
from tenfold.validation.parameter_types import Folds, Label, Numeric
from tenfold.validation.samples import InputInfo

IMAGE_VIEWS = ("numbers", "length", "rbf_narrow", "gradients")
LONGEST_IMAGE = 1.5  # sides of an image; what is longer may be a series of many sensors
CLASS_GROUPS = 10  # in which classes are left out of a ProbabilisticLDA
N_DRAWS = 500  # of the bootstrap


def _decides_by_distance(verifier: ClassSpecificVerifier) -> bool:
    if verifier.projector is not None and verifier.projector.decision == "distance":
        return True
    raise ValueError("similarity is one over a distance; use decision='distance' of the projector")


@dataclass(frozen=True, eq=False)
class VerifierModel:
    """What a verifier learns; `ClassSpecificVerifier` says what the fields are."""

    projector: Any
    positive_label: Any
    threshold: float
    error_rates: dict[str, float]
    false_accept_interval: tuple[float, float]
    guaranteed_rate: float
    classes: Labels


class HeldOut(NamedTuple):
    """A model, scores of samples that it has not seen, and the threshold that these give."""

    input_info: InputInfo
    projector: ClassSpecificProjector | ProbabilisticLDA
    classes: Array  # (C,), all labels
    positive: Label
    impostors: Impostors
    own: Impostors
    limit: float  # the largest signed distance that is accepted
    threshold: float  # the score there
    interval: tuple[float, float]  # of the share of impostors up to the limit


@dataclass(eq=False, repr=False)
class ClassSpecificVerifier(ClassifierMixin, Savable, BaseEstimator):
    """Accept or reject samples as members of one class.

    The threshold is set on impostors that the scoring model has not met, for a wanted share of
    false accepts, or for equal error rates. To scikit-learn it is a binary classifier.

    Parameters
    ----------
    projector : MCSDA, CSDA or another class-specific method, or None, default=None
        The method, with its parameters. None takes the likelihood ratio of a `ProbabilisticLDA`
        of all labels: of the positive class against someone else, who is of another class or a
        stranger, or, with two labels, against the other one. Its held-out scores come in closed
        form, from one fit.
    positive : label or None, default=None
        The class to verify; None means the `positive` of the projector, and if that is None too,
        the last of two classes. With more classes it must be said.
    false_accept_rate : float or "equal", default=0.01
        The share of new samples of others to accept: of others who were never seen, where there
        are at least 4 other classes (10 for a projector, if these cannot guarantee the rate), else
        of the same others. Or "equal" for the threshold at which the shares of false accepts and
        false rejects are the same.
    cv : int, splitter or iterable of splits, default=5
        Folds for the held-out scores of a verifier around a method: so many of other classes, or of
        their samples where the rate is for these, or of `groups`; more, up to 50, where models
        without a fold are unlike the model of all. Of a splitter the test parts are held out, in
        turn. Positives stay in these models; they are held out in folds of their own, for the share
        of false rejects. A single positive is never held out. Samples are assigned to folds by
        their content, so their order does not matter. Without a method classes and samples are
        left out in closed form, and an int says how many groups of classes there are, ten at the
        least; of a splitter the test parts are left out, and samples that are in none together.

    Attributes
    ----------
    projector_ : projector or ProbabilisticLDA
        The model, fitted on all samples; its `classes_` are all the labels.
    positive_label_ : label
        The class that is verified.
    threshold_ : float
        Samples whose score, that of `projector_`, is at least this are accepted.
    error_rates_ : dict
        Held-out shares of "false_accepts" and, where positives were held out, "false_rejects".
    false_accept_interval_ : tuple of two floats
        Where 95 % of the held-out shares of false accepts lie if other classes are drawn anew from
        those seen: a bootstrap over classes, or over samples where classes are not held out.
        Impostors cluster by person, so few classes give a wide interval. Below
        `guaranteed_rate_` it is that of the pooled pairs of classes that set the threshold.
    guaranteed_rate_ : float
        The least false-accept rate that these samples can guarantee whatever the distribution of
        scores is: 1 / (K + 1) for K other classes, 1 / (n + 1) for n samples of a single one.
    classes_ : ndarray of shape (2,)
        What `predict` gives, the accepted one last: the labels when there are two and the last of
        them is the positive one, else False and True.

    Warns
    -----
    FalseAcceptRateWarning
        When the asked rate is below `guaranteed_rate_`, and is therefore an estimate; and when the
        models of the folds are unlike the final one.

    Notes
    -----
    A rate of at least `guaranteed_rate_` is a quantile of the held-out scores for the positive
    class. With projector=None a lower rate is estimated from the scores of every class (up to 20)
    for samples of every other class, each scored by a model without its class: likelihood ratios
    have the same unit for all classes, and the quantile of all pairs is the threshold. A projector
    extrapolates from the nearer half of the held-out samples.

    Scores of a fold are measured in units of what other samples have by the model that scored,
    which follows from its scatters: distances divided by their root mean square distance from the
    positive mean, log likelihood ratios by their expected one. The threshold is found on that
    scale. The i-th closest of n independent impostors stands at
    i / (n + 1). Samples of one class are not independent: they count for as many as they differ.

    ``CalibratedClassifierCV`` calibrates for the labels that it is given. Of more than two it would
    take the answers False and True for the labels 0 and 1: pass it ``y == positive``, and a
    verifier without `positive`.

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
    >>> verifier.guaranteed_rate_
    0.1
    """

    _output_kind = "acceptance"
    _value: ClassVar = VerifierModel
    _allowed: ClassVar = {
        "projector": (ClassSpecificProjector, None),
        "false_accept_rate": (parameters.Number(0, 1), "equal"),
    }

    projector: ClassSpecificProjector | None = None
    _: KW_ONLY
    positive: Label = None
    false_accept_rate: Numeric | Literal["equal"] = 0.01
    cv: Folds = 5
    # What was learned: the fields of `VerifierModel`.
    projector_: Any = field(init=False)
    positive_label_: Any = field(init=False)
    threshold_: float = field(init=False)
    error_rates_: dict[str, float] = field(init=False)
    false_accept_interval_: tuple[float, float] = field(init=False)
    guaranteed_rate_: float = field(init=False)
    classes_: Labels = field(init=False)

    def fit(
        self, X: object, y: object = None, sample_weight: object = None, groups: object = None
    ) -> Self:
        """Learn the subspace of the positive class and the threshold.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples. A store is read once for all statistics, and once for the scores of
            samples that were held out; samples that are assigned to folds one by one are read
            before that, and once more for finer folds and for each method that is tried.
        y : array-like of shape (n,)
            Class labels, at least two.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.
        groups : array-like of shape (n,), default=None
            Numbers or names of groups that are held out together, such as recordings. None holds
            out whole classes, or single samples where classes say too little.

        Returns
        -------
        self
            The fitted verifier.
        """
        self._check_parameters()
        if y is None:
            raise missing_labels(self)
        if self.projector is None:
            return self._decide(self._fit_ratio(X, y, sample_weight, groups))
        return self._decide(self._fit_projector(X, y, sample_weight, groups))

    def _fit_projector(
        self, X: object, y: object, sample_weight: object, groups: object
    ) -> HeldOut:
        """Learn a subspace and the scores of samples that folds hold out."""
        model = self.model()
        model._check_parameters()
        input_info, X, labels, weight = check.check_first_batch(model, X, y, sample_weight)
        assert labels is not None
        X = X.in_memory() if isinstance(X, ArraySamples) else X  # equal ones are found by bytes
        classes = present_labels(labels, weight)
        positive = self.positive_among(classes)
        used = np.ones(len(labels), bool) if weight is None else weight > 0
        codes = codes_of(X, labels, classes)
        number = int(np.searchsorted(classes, positive))
        if isinstance(self.cv, Integral):
            n_folds, units = self._folds(labels, groups)
            plan = fold_plan(n_folds, X, codes, number, used, self.false_accept_rate, units)
        else:
            plan = given_folds(folds_of(self.cv, labels, groups), codes, number, used)
        model.set_params(positive=positive)  # in a fold without it, None means another class
        found = score_held_out(model, input_info, X, labels, weight, classes, plan)
        projector = found.whole.projector.set_params(positive=self.model().positive)
        limit = self._limit(found.impostors, found.own)
        if self.false_accept_rate != "equal":
            _warn_unless_alike(found.ratio)
        return HeldOut(
            input_info=input_info,
            projector=projector,
            classes=classes,
            positive=positive,
            impostors=found.impostors,
            own=found.own,
            limit=limit,
            threshold=found.whole.score_at(limit),
            interval=bootstrap_interval(found.impostors, limit),
        )

    def _fit_ratio(self, X: object, y: object, sample_weight: object, groups: object) -> HeldOut:
        """Learn the likelihood ratio of a `ProbabilisticLDA`, and those of left-out samples."""
        model = ProbabilisticLDA(priors="equal")
        _, batch, labels, weight = check.check_first_batch(model, X, y, sample_weight)
        assert labels is not None
        model.views = views_for(batch.shape[1:])
        classes = present_labels(labels, weight)
        positive = self.positive_among(classes)
        if len(classes) == 2:  # then its views are chosen as those of a `ProbabilisticLDA()`
            model.priors = None
        n_groups = CLASS_GROUPS
        if isinstance(self.cv, Integral):
            n_folds, units = self._folds(labels, groups)
            n_groups = max(n_folds, CLASS_GROUPS)
        else:
            units = fold_of_each(folds_of(self.cv, labels, groups), len(labels))
        left_out = model._fit(X, labels, weight, units, n_groups, positive)
        if left_out is None:
            raise ValueError(
                "no sample can be left out to choose the threshold; pass two or more samples of "
                "two classes, and with groups or splits such that share classes"
            )
        _warn_of_halves(units)
        number = int(np.searchsorted(classes, positive))
        n_others = len(classes) - 1
        rate = self.false_accept_rate
        by_class = units is None and n_others >= FEWEST_CLASSES
        impostors, own = _held_out_ratios(left_out, number, by_class)
        if by_class and rate != "equal" and 0 < rate * (n_others + 1) < 1:
            pairs, strangers = _pairs_of_classes(left_out)
            limit = threshold_at(pairs, float(rate))
            drawn = Impostors(pairs.signed_distance, pairs.shares(), strangers)
            interval = bootstrap_interval(drawn, limit)
        else:
            limit = self._limit(impostors, own)
            interval = bootstrap_interval(impostors, limit)
        return HeldOut(
            input_info=check.input_info_of(model),
            projector=model,
            classes=classes,
            positive=positive,
            impostors=impostors,
            own=own,
            limit=limit,
            threshold=float(np.clip(-limit, -ABOVE_ALL, ABOVE_ALL)),
            interval=interval,
        )

    def _decide(self, held_out: HeldOut) -> Self:
        """Set all that was learned, and warn of rates that cannot be guaranteed."""
        classes = held_out.classes
        impostors = held_out.impostors
        limit = held_out.limit
        n_others = len(classes) - 1
        n_independent = n_others if n_others > 1 else kish(impostors.weight)
        guaranteed = 1 / (1 + n_independent)
        if self.false_accept_rate != "equal":
            who = f"{n_others} other classes" if n_others > 1 else "the other samples"
            how = "is meant for new samples of these classes"
            if n_others == 1 or impostors.groups is not None:
                how = "extrapolates from their scores"
                if self.projector is None and n_others > 1:
                    how = "is an estimate from the scores of all classes for samples of the others"
            warn_of_rate(float(self.false_accept_rate), guaranteed, who, how)
        accepted = impostors.signed_distance <= limit
        rates = {"false_accepts": float(np.average(accepted, weights=impostors.weight))}
        own = held_out.own
        if len(own.signed_distance):
            rejected = own.signed_distance > limit
            rates["false_rejects"] = float(np.average(rejected, weights=own.weight))
        as_labelled = len(classes) == 2 and bool(held_out.positive == classes[1])
        model = VerifierModel(
            projector=held_out.projector,
            positive_label=parameters.plain(held_out.positive),
            threshold=held_out.threshold,
            error_rates=rates,
            false_accept_interval=held_out.interval,
            guaranteed_rate=guaranteed,
            classes=classes if as_labelled else np.array([False, True]),
        )
        return self._set_fitted(check.of_samples(held_out.input_info), model)

    def _check_learned(self) -> None:
        """Refuse a projector of other samples, and other answers than two."""
        if not isinstance(self.projector_, ClassSpecificProjector | ProbabilisticLDA):
            raise ValueError(f"its projector_ is {self.projector_!r:.80}, which verifies no class")
        if self.positive_label_ not in self.projector_.classes_.tolist():
            raise ValueError("its positive_label_ is none of its classes")
        own = getattr(self.projector_, "sample_shape_", None)
        check_agree("projector_", own, self.sample_shape_)
        check_agree("classes_", len(self.classes_), 2)

    def _check_parameters(self) -> None:
        """Validate parameters."""
        parameters.check_declared(self)
        asked = self.positive, getattr(self.projector, "positive", None)
        for positive in asked:
            parameters.check_one_label(positive)
        if None not in asked and asked[0] != asked[1]:
            raise ValueError(
                f"positive is {parameters.plain(asked[0])!r}, but that of the projector is "
                f"{parameters.plain(asked[1])!r}; expected one class to verify; set only one of "
                "them"
            )

    def model(self) -> Any:
        """The projector for the class to verify, not fitted."""
        if self.projector is None:
            raise ValueError(
                "projector is None, and a verifier then uses ProbabilisticLDA, which has no ranks; "
                "name the method to search, as ClassSpecificVerifier(CSDA())"
            )
        model = clone(self.projector)
        if self.positive is not None:
            model.set_params(positive=self.positive)
        return model

    def positive_among(self, classes: Array) -> Any:
        """The label of the class to verify, or an error that says how to name it."""
        model = CSDA(positive=self.positive) if self.projector is None else self.model()
        if model.positive is None and len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass; "
                "pass positive, the class to verify, and y == positive is the target"
            )
        label = classes[parameters.check_positive(model.positive, classes)]
        if len(classes) == 2 and label != classes[1] and classes.dtype.kind in "biuf":
            raise ValueError(
                f"y has the labels {classes.tolist()}, and positive is the first of them, but "
                "scikit-learn takes the second of two numbers as the positive one and would turn "
                f"every curve round; pass y == {parameters.plain(label)!r} without positive, or "
                "labels that are words"
            )
        return label

    def _folds(self, labels: Array, groups: object) -> tuple[int, Array | None]:
        """How many folds, and the number (n,) of what is held out together, if that was said."""
        n_folds = parameters.check_option("cv", self.cv, [parameters.Number(2, whole=True)])
        named = None if groups is None else check_groups("groups", groups, len(labels))
        return n_folds, None if named is None else named[1]

    def _limit(self, impostors: Impostors, own: Impostors) -> float:
        """How far samples may be to be accepted."""
        if self.false_accept_rate == "equal":
            if not len(own.signed_distance):
                raise ValueError(
                    "no sample of the positive class was held out, so there is no basis to choose "
                    "the threshold on; pass more samples, or a number as false_accept_rate"
                )
            return equal_threshold(impostors, own.signed_distance, own.weight)
        return threshold_at(impostors, float(self.false_accept_rate))

    @property
    def members_(self) -> list[ClassSpecificProjector]:
        """The fitted projectors of the model: one."""
        check.check_fitted(self, "projector_")
        if isinstance(self.projector_, ProbabilisticLDA):
            return []
        return [self.projector_]

    def _scoring(self) -> OfBlock:
        """What scores samples in memory, (n,)."""
        check.check_fitted(self, "projector_")
        inside = self.projector_
        if not isinstance(inside, ProbabilisticLDA):
            scoring: OfBlock = inside._scoring()
            return scoring
        number = inside.classes_.tolist().index(self.positive_label_)
        return partial(ratio_scores, model=inside, positive=number)

    def decision_function(self, X: object) -> Array:
        """By how much the score of each sample exceeds the threshold.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            The score, a log likelihood ratio or minus a distance, minus `threshold_`. Samples are
            accepted where it is not negative.
        """
        return self._scores(X) - self.threshold_

    def _class_scores(self, X: object) -> Array:
        """Scores (n, 1) of the positive class, which reach `threshold_` where it is accepted."""
        return np.asarray(self._scores(X))[:, None]

    def _scores(self, X: object) -> Array:
        """Scores (n,) of samples."""
        check.check_fitted(self, "projector_")
        if isinstance(self.projector_, ProbabilisticLDA):
            return over_blocks(check.check_samples(self, X), self._scoring())
        found: Array = self.projector_.decision_function(X)
        return found

    @available_if(_decides_by_distance)
    def similarity(self, X: object) -> Array:
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
        with np.errstate(divide="ignore"):
            return np.asarray(1 / np.abs(to_numpy(self.projector_.decision_function(X))))

    def predict(self, X: object) -> Array:
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
            apply_threshold,
            scoring=self._scoring(),
            threshold=self.threshold_,
            classes=self.classes_,
        )
        return over_blocks(check.check_samples(self, X), decide)

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
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
        scores = to_numpy(self._scores(X))
        labels = check_labels(self, scores, y)
        classes = self.projector_.classes_
        if labels.dtype == bool and classes.dtype != bool:
            is_own = which_are(True, labels, np.array([False, True]))
        else:
            is_own = which_are(self.positive_label_, labels, classes)
        weight = in_numpy(sample_weight, "sample_weight")
        return float(average_precision_score(is_own, scores, sample_weight=weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.three_d_array = True
        return tags


def fold_of_each(splits: list[Split], n: int) -> Array:
    """The last fold that tests each of n samples; -1 for none."""
    folds = np.full(n, -1)
    for fold, (_, test) in enumerate(splits):
        folds[test] = fold
    if len(np.unique(folds)) < 2:
        raise ValueError(
            "cv has one fold that tests all samples, so none is left to learn from; pass two folds "
            "or more"
        )
    return folds


def _warn_unless_alike(ratio: float) -> None:
    """Say so where models of folds are unlike the model of all samples."""
    if ratio > ALIKE**2:
        warn(
            "models without some of the other samples are unlike the model of all: their "
            f"scores differ by a factor of {ratio:.2f}, so held-out scores say little "
            "about the false-accept rate; lower ranks or more shrinkage help",
            FalseAcceptRateWarning,
        )


def _warn_of_halves(units: Array | None) -> None:
    """Say so where models without a fold lack about half of the samples."""
    if units is not None and len(np.unique(units)) == 2:
        warn(
            "groups or splits make two folds only: models without one of them have about half of "
            "the samples, so their scores say little about those of the model of all; pass three "
            "folds or more",
            FalseAcceptRateWarning,
        )


def views_for(shape: tuple[int, ...]) -> str | list[str]:
    """The views of a `ProbabilisticLDA` that tell strangers from a class of such samples.

    Structure and filters take two thirds of the time on images, and lower their false rejects by
    nothing beside gradients; structure is worth its time from three modes on. Samples that are much
    longer than wide may be series of many sensors, and need both.
    """
    if not has_image(shape):
        return "auto"
    sides = [shape[mode] for mode in image_modes(shape)]
    if max(sides) > LONGEST_IMAGE * min(sides):
        return "auto"
    return [*IMAGE_VIEWS, "kronecker"] if sum(size > 1 for size in shape) > 2 else [*IMAGE_VIEWS]


def apply_threshold(X: Array, scoring: OfBlock, threshold: float, classes: Array) -> Array:
    """For samples in memory the last of two classes where the score reaches the threshold."""
    return np.asarray(classes[(to_numpy(scoring(X)) >= threshold).astype(np.intp)])


def ratio_scores(X: Array, model: ProbabilisticLDA, positive: int) -> Array:
    """How much more likely samples are of the positive class than of someone else, (n,).

    With two classes, than of the other one.
    """
    if len(model.classes_) == 2:
        log_priors = model.log_priors()
        odds: Array = to_numpy(model.decision_function(X)) - (log_priors[1] - log_priors[0])
        return odds if positive == 1 else -odds
    return against_everyone(to_numpy(model.log_likelihood_ratio(X)), positive)


def against_everyone(ratios: Array, positive: int) -> Array:
    """Log likelihood ratios (n,) of one class against someone else: another class or a stranger.

    With ratios r against a stranger, and all alternatives equally likely, it is
    ``r_p - log mean(1, exp(r_k) for k != p)``. An impostor of a known class then speaks for that
    class, which the ratio against a stranger does not look at.

    Parameters
    ----------
    ratios : ndarray of shape (n, C)
        Log likelihood ratios of all classes against a stranger; minus infinity for a class that
        plays no part, NaN for a sample that cannot be scored.
    positive : int
        The column of the class.
    """
    others = np.delete(ratios, positive, axis=1)
    n_alternatives = 1 + (others > -np.inf).sum(axis=1)
    with np.errstate(invalid="ignore"):  # NaN stands for a sample that cannot be left out
        of_others = np.logaddexp(0.0, logsumexp(others, axis=1))
    return np.asarray(ratios[:, positive] - of_others + np.log(n_alternatives))


def _held_out_ratios(
    left_out: LeftOut, positive: int, by_class: bool
) -> tuple[Impostors, Impostors]:
    """Minus the scores of left-out samples of other classes, and of the positive class."""
    assert left_out.seen_ratios is not None
    assert left_out.scores is not None
    codes, weights = left_out.codes, left_out.weights
    if left_out.ratios.shape[1] == 2:
        seen = left_out.scores[:, positive] - left_out.scores[:, 1 - positive]
    else:
        seen = against_everyone(left_out.seen_ratios, positive)
    of_others = seen
    if by_class:
        of_others = against_everyone(left_out.without_own_class(), positive)
        of_others[np.isnan(left_out.ratios[:, positive])] = np.nan
    others = np.flatnonzero((codes != positive) & ~np.isnan(of_others))
    own = np.flatnonzero((codes == positive) & ~np.isnan(seen))
    if not len(others):
        raise ValueError(
            "no sample of other classes can be left out to choose the threshold; pass more"
        )
    groups = codes[others] if by_class else None
    impostors = Impostors(-of_others[others], weights[others], groups)
    return impostors, Impostors(-seen[own], weights[own], None)


def _pairs_of_classes(left_out: LeftOut) -> tuple[Impostors, Array]:
    """Minus the scores of classes for samples of every other class, and the classes of these.

    One class meets few strangers, and none of them at a low rate; K classes make K (K - 1) pairs.
    A likelihood ratio has the same unit for all classes, so their scores share one quantile. Every
    pair of classes counts the same.
    """
    columns = np.flatnonzero(np.isfinite(left_out.of_strangers()).any(axis=0))
    ratios = left_out.without_own_class()
    scores = np.stack([against_everyone(ratios, int(c)) for c in columns], axis=1)
    is_other = np.isfinite(scores) & (left_out.codes[:, None] != columns)
    rows, places = np.nonzero(is_other)
    pairs = left_out.codes[rows] * len(columns) + places
    impostors = Impostors(-scores[rows, places], left_out.weights[rows], pairs)
    return impostors, left_out.codes[rows]


def bootstrap_interval(impostors: Impostors, limit: float) -> tuple[float, float]:
    """Where 95 % of the shares of accepted impostors lie if their classes are drawn anew."""
    accepted = impostors.signed_distance <= limit
    groups = impostors.groups
    _, code = renumbered(np.arange(len(accepted)) if groups is None else groups)
    totals = np.bincount(code, impostors.weight)
    sums = np.bincount(code, impostors.weight * accepted)
    rng = np.random.default_rng(0)
    shares = np.empty(N_DRAWS)
    for draw in range(N_DRAWS):
        chosen = rng.integers(len(totals), size=len(totals))
        shares[draw] = sums[chosen].sum() / totals[chosen].sum()
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)

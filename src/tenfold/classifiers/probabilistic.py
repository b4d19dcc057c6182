"""Gaussian classes with Gaussian means, in several views of a sample that are pooled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from math import ceil, prod
from typing import Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags

from tenfold.classifiers.classifier import AccuracyScore
from tenfold.gaussian.gathered import LARGEST_TABLE, Gathered, Summary
from tenfold.gaussian.maps import Transformer
from tenfold.gaussian.model import (
    BINS,
    LearnedPool,
    LearnedView,
    LeftOut,
    Packed,
    Scorer,
    learn,
    learn_from_moments,
    pattern_of,
)
from tenfold.gaussian.pool import floor_of, probabilities
from tenfold.gaussian.views import (
    LINEAR,
    MOST_BUNCHES,
    NAMES,
    leaves_noise,
    suits,
    typical_count,
)
from tenfold.linalg.arrays import Array, asarray_like, to_numpy
from tenfold.linalg.constants import KEPT_MOMENTS, MEDIUM
from tenfold.methods.base import Labels, Savable, TensorProjector
from tenfold.progress import progress
from tenfold.quiet import warn
from tenfold.serialization.values import Axes, check_agree
from tenfold.statistics.accumulate import check_same_kind, check_squares
from tenfold.statistics.moments import ClassMoments, check_decay
from tenfold.statistics.stores import Range, Source, over_blocks
from tenfold.threads import one_thread
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.labels import check_groups, check_known_labels, present_labels
from tenfold.validation.parameter_types import Label, SampleShape

RBF = ("rbf_wide", "rbf_narrow")
NEAR_COPY = 0.03  # of the median squared distance in a class: neighbors that are nearer are copies
CERTAIN = 0.02  # nats: a left-out loss that is suspiciously small
MOST_COLUMNS = 20  # classes that strangers are scored for, where one class is asked for


@dataclass(eq=False, repr=False)
class ProbabilisticLDA(AccuracyScore, ClassifierMixin, Savable, BaseEstimator):
    """Classification from few samples, with probabilities and a score for strangers.

    Samples of a class are normal about its mean, with a covariance that all classes share; class
    means are normal themselves. The same formula is applied to several *views* of a sample: its
    numbers as they are, in units of their spread, brought to unit length, in the space of a
    Gaussian kernel, with a covariance that has one factor per mode, by the answers of filters
    along a long mode such as time, and by the gradients of an image. The log loss of left-out
    samples, which is computed in closed form, chooses the regularization of each view and their
    weights in a pool. There is nothing to tune.

    Parameters
    ----------
    views : "auto", "linear", transformer or list, default="auto"
        The views to try. "auto" tries all that come with tenfold, "linear" those that are linear
        in the numbers of a sample. A list has names ("numbers", "units", "length", "rbf",
        "filters", "gradients", "kronecker", "auto", "linear") and transformers that need no
        labels, such as ``["auto", MiniRocket()]`` or ``[MPCA(ranks=0.95)]``; ``...`` stands for
        "auto".
    priors : array-like of shape (C,), mapping of labels to numbers, "equal" or None, default=None
        The probabilities of the classes before a sample is seen. None takes their shares of the
        training samples, as scikit-learn does; use "equal" if class frequencies will differ at
        test time.
    sample_shape : tuple of ints or None, default=None
        The shape that flat rows are folded to.
    verbose : bool, default=False
        Whether to show progress; it is shown on a terminal in any case.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    class_count_ : ndarray of shape (C,)
        The sum of the sample weights of each class.
    priors_ : ndarray of shape (C,)
        The probabilities of the classes before a sample is seen.
    views_ : list of V strings
        The views that were tried.
    weights_ : ndarray of shape (V,)
        Their weights in the pool; 0 for a view that is not used.
    loo_log_loss_ : float
        The mean log loss of the pool on left-out samples. It was minimized, so it is optimistic.
        Where no sample can be left out, as from moments, the loss of a guess by the priors.
    pool_ : dict
        What was learned of each view with a weight, the left-out loss of every view alone, and
        the calibration of left-out samples; `PoolDisplay` draws it.
    patterns_ : ndarray of shape (C, I_1, ..., I_K)
        What each class looks like to the linear views; there are none without such a view.
    sample_shape_ : tuple of K ints
        The shape of a sample.

    See Also
    --------
    OpenSetClassifier : Names a class or answers that a sample is of none.
    tenfold.plots.PoolDisplay : Weights, left-out losses and calibration of the views.

    Notes
    -----
    Leaving a sample out changes the covariance by a matrix of rank one, so all left-out scores
    follow from three small tables; see `tenfold.gaussian.formula`. The result does not depend on
    the order of the samples, on how a stream is batched, or on units and offset. Equal samples are
    merged and left out together, so a weight of 2 is the same as having a sample twice.

    Up to 2000 distinct samples everything is exact. With more, linear views use the moments of all
    samples (up to 2500 numbers in a sample), left-out samples and other views come from 2000
    samples that a hash of their content selects.

    `decision_function` is what `predict` decides by: scores plus the logarithms of the priors.
    Use `log_likelihood_ratio` where samples may be of a class that is not known.

    References
    ----------
    S. Ioffe, "Probabilistic linear discriminant analysis", ECCV 2006.

    S. Prince, J. Elder, "Probabilistic linear discriminant analysis for inferences about
    identity", ICCV 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import ProbabilisticLDA
    >>> X, y = load_digits().images, load_digits().target
    >>> model = ProbabilisticLDA().fit(X[:400], y[:400])
    >>> model.predict_proba(X[900:]).shape
    (897, 10)
    >>> bool(model.score(X[900:], y[900:]) > 0.9)
    True

    A class that comes later, from three samples:

    >>> known = y[:400] < 9
    >>> model = ProbabilisticLDA(views="linear").fit(X[:400][known], y[:400][known])
    >>> model.enroll(X[:400][~known][:3], y[:400][~known][:3]).classes_.tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    _needs_labels: ClassVar[bool] = True
    _streams: ClassVar[bool] = True
    _output_kind: ClassVar[str] = "probability"
    _gathered: ClassVar[Gathered | None] = None  # what `partial_fit` goes on with
    _scorer: ClassVar[Scorer | None] = None
    _goes_with_fit: ClassVar = ("_is_stream", "_gathered", "_scorer")
    _allowed: ClassVar = {"verbose": (True, False)}

    views: str | Transformer | Sequence[object] = "auto"
    _: KW_ONLY
    priors: Mapping[Label, float] | Sequence[float] | Array | Literal["equal"] | None = None
    sample_shape: SampleShape = None
    verbose: bool = False

    classes_: Labels = field(init=False)
    class_count_: Annotated[Array, Axes("C", least=0)] = field(init=False)
    priors_: Annotated[Array, Axes("C", least=0)] = field(init=False)
    views_: list[str] = field(init=False)
    weights_: Annotated[Array, Axes("V", least=0)] = field(init=False)
    loo_log_loss_: float = field(init=False)
    pool_: Packed = field(init=False)

    # -- parameters -------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Validate parameters."""
        parameters.check_declared(self)
        asked_views(self.views)

    # -- fitting ----------------------------------------------------------------------------------

    def fit(
        self, X: object, y: object = None, sample_weight: object = None, groups: object = None
    ) -> Self:
        """Learn from one batch.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples. A store is read once, block by block, and twice with `groups`.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights. A weight of 2 is the same as having the sample twice.
        groups : array-like of shape (n,), default=None
            Group labels of the samples, such as subjects, days or brands. Whole groups are left
            out, so that the choice is made for samples of a new group. With more than ten groups,
            several are left out together, if possible not all groups of any class.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, y, sample_weight, groups, None)
        return self

    def _fit(
        self,
        X: object,
        y: object,
        sample_weight: object,
        groups: object,
        n_groups: int | None,
        positive: Label = None,
    ) -> LeftOut | None:
        """All that `fit` does; verifiers and open sets also ask for ratios of left-out samples.

        `groups` are those of `fit`: samples that are left out together. `n_groups` is the number of
        groups of classes that are left out together, to score strangers; None returns no ratios.
        The `positive` class, if there is one, is a group by itself, and strangers are scored for it
        and for some others.
        """
        self._check_parameters()
        input_info, X, labels, weight = check.check_first_batch(self, X, y, sample_weight)
        assert labels is not None
        classes = present_labels(labels, weight)
        gathered = gather(X, labels, weight, classes)
        bunches = None
        if groups is not None:
            names, numbers = check_groups("groups", groups, len(labels))
            used = np.unique(numbers if weight is None else numbers[weight > 0])
            if len(used) < 2:
                raise ValueError(
                    f"groups has one group only ({parameters.plain(names[used[0]])!r}), so none "
                    "can be left out; pass two or more groups, or no groups"
                )
            gathered, bunches = _gather_groups(X, labels, weight, classes, numbers, gathered)
            _warn_of_groups(gathered.sketch.codes, bunches)
        class_groups = columns = None
        if n_groups is not None:
            class_groups = groups_of_classes(len(classes), n_groups)
        if class_groups is not None and positive is not None:
            alone = np.where(classes == positive, len(classes), class_groups)
            class_groups = np.unique(alone, return_inverse=True)[1]
            n_columns = min(len(classes), MOST_COLUMNS)
            some = np.linspace(0, len(classes) - 1, n_columns).round().astype(np.intp)
            columns = np.union1d(some, np.flatnonzero(classes == positive))
        learned, left_out = self._learned(gathered, bunches, class_groups, columns)
        is_small = gathered.sketch.X.nbytes <= KEPT_MOMENTS
        if groups is None and gathered.sketch.is_complete and is_small:
            learned["_gathered"] = gathered  # `partial_fit` can go on
        self._set_fitted(input_info, **learned)
        return left_out

    def partial_fit(
        self,
        X: object,
        y: object = None,
        classes: ArrayLike | None = None,
        sample_weight: object = None,
        *,
        decay: float = 1.0,
    ) -> Self:
        """Add a batch: however a stream is batched, the result equals one `fit`.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples of this batch. It may bring new classes at any time.
        y : array-like of shape (n,)
            Class labels.
        classes : array-like of shape (C,), default=None
            Labels that will come. It is not needed; if it is given, the labels must be among them.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.
        decay : float above 0 and up to 1, default=1.0
            What the weights of all earlier samples are multiplied by: 1 forgets nothing.

        Returns
        -------
        self
            The updated estimator. Until there are two classes, and two samples of one of them, it
            gathers samples, and using it raises `NotFittedError`. It keeps up to 2000 samples in
            memory and in a pickle, never in a model file. `fit` without `groups` keeps samples of
            up to 64 KiB in memory alone, so that `partial_fit` can go on.
        """
        self._check_parameters()
        factor = check_decay("decay", decay)
        first = not hasattr(self, "sample_shape_")
        if first:
            input_info, X, labels, weight = check.check_first_batch(
                self, X, y, sample_weight, classes, more_will_come=True
            )
        else:
            if self._gathered is None:
                raise ValueError(
                    "this ProbabilisticLDA was fitted with groups, from moments or on samples of "
                    "more than 64 kB, which fit does not keep, or loaded from a file; so "
                    "partial_fit cannot add to it; start with partial_fit, or use enroll"
                )
            X, labels, weight = check.check_batch(self, X, y, sample_weight)
            input_info, X = check.input_info_with(self, X)
            assert labels is not None
            check_same_kind(labels, self._gathered.classes)
        assert labels is not None
        present = present_labels(labels, weight)
        if classes is not None:
            check_known_labels(present, np.unique(classes))
        gathered = gather(X, labels, weight, present)
        if not first:
            assert self._gathered is not None
            gathered = self._gathered.decayed(factor) + gathered
        kept: Packed = {"_gathered": gathered, "_is_stream": True}
        counts = gathered.counts
        if (counts > 0).sum() > 1 and (counts > 1).any():
            learned, _ = self._learned(gathered, None)
            return self._set_fitted(input_info, **kept, **learned)
        if hasattr(self, "pool_"):
            raise ValueError(
                "decay forgets too much: what it leaves is less than what a model can be learned "
                "from (weights are counts of samples); pass a decay nearer to 1, or larger batches"
            )
        return self._set_fitted(input_info, **kept, classes_=gathered.classes)

    def fit_moments(self, moments: ClassMoments) -> Self:
        """Learn from moments that are gathered already; no samples are read.

        Without samples none can be left out: the only view is "numbers", and its regularization is
        chosen by leaving classes out of the covariance.

        Parameters
        ----------
        moments : ClassMoments
            Of all samples, as `gather_moments`, `gather_batches` or ``+`` give them.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        input_info, moments = check.check_moments(self, moments)
        _check_scatter(moments.counts, float(moments.traces.sum()), moments.means)
        priors = parameters.check_priors(self.priors, moments.classes, moments.counts)
        means = moments.means.reshape(len(moments.classes), -1)
        pool = learn_from_moments(moments.counts, means, moments.scatters, priors)
        mean = moments.counts @ means / moments.counts.sum()
        if "numbers" not in asked_views(self.views)[0]:
            warn(
                f"views is {self.views!r:.80}, but from moments the only view is 'numbers'; fit on "
                "samples to have the others",
                UserWarning,
            )
        learned = attributes_of(moments.classes, moments.counts, priors, pool, mean)
        return self._set_fitted(input_info, **learned)

    def enroll(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Add classes that come later, or samples of known classes, without learning anew.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            Samples; one per class is enough.
        y : array-like of shape (n,)
            Their labels: new ones, or known ones, to whose means the samples are added.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.

        Returns
        -------
        self
            With more classes; views, weights and covariances stay as they are. A new class gets
            the mean prior of those before; then all are scaled to sum to 1.
        """
        check.check_fitted(self, "pool_")
        X, labels, weight = check.check_batch(self, X, y, sample_weight)
        assert labels is not None
        check_same_kind(labels, self.classes_)
        info, X = check.input_info_with(self, X)
        rows = _flat(X.in_memory() if isinstance(X, Source) else X)
        w = np.ones(len(rows)) if weight is None else weight
        rows = rows[w > 0]
        labels = labels[w > 0]
        w = w[w > 0]
        classes = np.union1d(self.classes_, labels)
        at = np.searchsorted(classes, self.classes_)
        codes = np.searchsorted(classes, labels)
        counts = np.zeros(len(classes))
        counts[at] = self.class_count_
        priors = np.full(len(classes), self.priors_.mean())
        priors[at] = self.priors_
        views = [view.enrolled(rows, codes, w, counts, at) for view in views_of(self.pool_)]
        counts = counts + np.bincount(codes, w, minlength=len(classes))
        new = {
            **vars(self),
            "classes_": classes,
            "class_count_": counts,
            "priors_": priors / priors.sum(),
            "pool_": {**self.pool_, "views": [view.packed() for view in views]},
        }
        new.pop("_scorer", None)
        if "range_" in info:
            seen = info["range_"]
            new["range_"] = seen.bounds() if isinstance(seen, Range) else seen
        if self._gathered is not None:
            new["_gathered"] = self._gathered + Gathered.of_batch(
                rows.reshape(-1, *self.sample_shape_), labels, w, np.unique(labels)
            )
        self.__dict__ = new
        return self

    def adapt(self, X: object) -> Self:
        """Move mean and noise towards unlabelled samples of another session, site or language.

        Another camera, day or microphone moves all samples alike and makes some directions
        noisier. Samples of many classes show by how much, without labels. Their mean takes the
        place of the mean of the training samples in every view; in linear views the noise grows
        where they vary more than samples of any class should. Views, weights and class means
        about the mean stay as they are.

        Do not use it with samples of few classes: what these have in common would be taken away.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            Samples of that session, two or more; no labels are needed.

        Returns
        -------
        self
            The adapted model. `fit` and `partial_fit` forget the session.

        References
        ----------
        The excess of the variance over what the model expects is added to the noise, as speaker
        recognition toolkits adapt their two-covariance models without labels.
        """
        check.check_fitted(self, "pool_")
        samples = check.check_samples(self, X)
        rows = _flat(samples.in_memory() if isinstance(samples, Source) else samples)
        if len(rows) < 2:
            raise ValueError(
                f"adapt got {len(rows)} sample; expected two or more, best of many classes, so "
                "that they show the mean and the noise of the session"
            )
        counts = self.class_count_
        mean = rows.mean(axis=0)
        step = mean - self.pool_["mean"]
        views = [view.adapted(rows, counts, step) for view in views_of(self.pool_)]
        pool = {**self.pool_, "views": [view.packed() for view in views], "mean": mean}
        new = {**vars(self), "pool_": pool}
        new.pop("_scorer", None)
        self.__dict__ = new
        return self

    # -- what is learned --------------------------------------------------------------------------

    def _learned(
        self,
        gathered: Gathered,
        bunches: Array | None,
        class_groups: Array | None = None,
        stranger_columns: Array | None = None,
    ) -> tuple[Packed, LeftOut | None]:
        """Learned attributes by name, and ratios of left-out samples if `class_groups` are given.

        The estimator itself does not change.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused
            summary = gathered.summary()
            noise = float(summary.noise.diagonal.sum())
        counts = summary.counts
        _check_scatter(counts, noise, summary.means)
        if not np.ptp(gathered.sketch.X, axis=0).any():  # class means may differ by rounding
            raise _equal_samples_error()
        priors = parameters.check_priors(self.priors, gathered.classes, counts)
        with np.errstate(divide="ignore"):
            log_priors = np.log(priors)
        names, transformers = asked_views(self.views)
        samples = gathered.sketch.X.reshape(-1, *gathered.shape)
        fitted = {name: _fitted(name, view, samples.copy()) for name, view in transformers.items()}
        shown = True if self.verbose else None
        total = len(names) + len(fitted) + 1
        with (
            one_thread(len(gathered.sketch.codes) <= MEDIUM),
            progress("ProbabilisticLDA", total, shown) as advance,
        ):
            pool = learn(
                summary,
                log_priors,
                names,
                fitted,
                bunches,
                lambda name: advance(1, name),
                class_groups,
                stranger_columns,
            )
        _warn_of_near_copies(gathered, pool.log_loss, bunches)
        _warn_of_views(self.views, pool.names, summary)
        learned = attributes_of(gathered.classes, counts, priors, pool, summary.mean)
        return learned, pool.left_out

    def __getstate__(self) -> Packed:
        """The state for a pickle, without what can be made again."""
        state = super().__getstate__()
        state.pop("_scorer", None)
        if not self._is_stream:
            state.pop("_gathered", None)  # samples are in the pickle of a stream only
        return state

    def _check_learned(self) -> None:
        """Refuse what a file says of the pool where it does not fit together."""
        n_classes = len(self.classes_)
        size = prod(self.sample_shape_)
        _check_pool(self.pool_, self.views_, self.weights_, size)
        if np.shape(self.class_count_) != (n_classes,) or not (self.class_count_ > 0).any():
            raise ValueError("its class_count_ counts no samples of its classes")
        total = float(np.sum(self.priors_))
        if not np.isclose(total, 1.0):
            raise ValueError(f"its priors_ sum to {total:.6g}, not to 1")
        try:
            with np.errstate(all="ignore"):
                views = views_of(self.pool_)
                for view in views:
                    view.check_fits(n_classes, size)
                mean, n = self.pool_["mean"], self.pool_["typical_count"]
                scorer = Scorer.of(views, self.class_count_, mean, n)
                zeros = np.zeros((1, size))
                numbers = [scorer.constants, scorer.scores(zeros), scorer.ratios(zeros)]
        except (TypeError, KeyError, AttributeError, np.linalg.LinAlgError) as error:
            raise ValueError(f"its pool_ does not fit together: {error}") from error
        if not all(np.isfinite(part).all() for part in numbers):
            raise ValueError("its pool_ gives scores that are not finite")
        used = [name for name, weight in zip(self.views_, self.weights_, strict=True) if weight > 0]
        check_agree("pool_", [view.name for view in views if view.weight > 0], used)

    @property
    def members_(self) -> list[TensorProjector]:
        """The fitted projectors of the model: none."""
        check.check_fitted(self, "pool_")
        return []

    @property
    def patterns_(self) -> Array:
        """What each class looks like to the linear views, (C, I_1, ..., I_K).

        It is the covariance of the samples times the weights of the class (Haufe and others,
        "On the interpretation of weight vectors of linear models", NeuroImage 2014): where it is
        large, the numbers of a sample vary together with the score of the class.
        """
        check.check_fitted(self, "pool_")
        views = [view for view in views_of(self.pool_) if view.is_linear and view.weight > 0]
        if not views:
            raise AttributeError(
                "patterns_ are of linear views, and none has a weight in this pool; fit with "
                "views='linear'"
            )
        found = sum(pattern_of(view, self.class_count_) for view in views)
        return np.asarray(found).reshape(-1, *self.sample_shape_)

    # -- using ------------------------------------------------------------------------------------

    def decision_function(self, X: object) -> Array:
        """Score of every class plus the logarithm of its prior.

        The class of the largest one is what `predict` says.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C), or (n,) for two classes
            For two classes that of the second minus that of the first.
        """
        return _over_blocks(self, X, partial(_decision, log_priors=self.log_priors()))

    def log_likelihood_ratio(self, X: object) -> Array:
        """Logarithm of the density under "this class" over that under "someone else".

        It does not depend on priors or on which other classes are known, so it is what to
        threshold when a sample may be of a stranger. For the same reason it is not the best
        ranking of samples that are all of known classes: it does not use that a sample which
        another class explains better is of that class. Rank these by `predict_log_proba`
        (digits with 20 samples per class: mean average precision 99.8, by this ratio 96.0).

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            Above 0 where the class explains the sample better than an unseen class does.
            Offset and scale are calibrated on left-out samples.
        """
        scorer = scorer_of(self)
        scale, offset = self.pool_["ratio"]
        work = partial(_ratios, scorer=scorer, scale=scale, offset=offset)
        return over_blocks(check.check_samples(self, X), work)

    def predict(self, X: object) -> Array:
        """The most probable class of every sample.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        finish = partial(_best, log_priors=self.log_priors(), classes=self.classes_)
        return _over_blocks(self, X, finish)

    def predict_log_proba(self, X: object) -> Array:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            At most 0.
        """
        log_priors = self.log_priors()
        finish = partial(_log_probabilities, log_priors=log_priors, floor=self.pool_["floor"])
        return _over_blocks(self, X, finish)

    def predict_proba(self, X: object) -> Array:
        """The probability of every class, if the sample belongs to one of them.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            Rows that sum to 1. With N training samples no class gets less than 1 / (N + 2) / C.
        """
        log_priors = self.log_priors()
        finish = partial(probabilities, log_priors=log_priors, floor=self.pool_["floor"])
        return _over_blocks(self, X, finish)

    def set_scores(self, X: object, sets: object) -> tuple[Array, Array]:
        """Scores of sets of samples, where all samples of a set are of one unknown class.

        A set may be all images of one video, or all steps of one walk. Its score is the mean of
        the scores of its samples, and not their sum: what samples of one recording have in common
        would count many times.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.
        sets : array-like of shape (n,)
            For each sample the name or number of its set.

        Returns
        -------
        names : ndarray of shape (S,)
            The sets, sorted.
        scores : ndarray of shape (S, C)
            For every set and class the log likelihood ratio of a typical sample, without the
            prior of the class. The class with the largest one is
            ``classes_[scores.argmax(axis=1)]``.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from tenfold import ProbabilisticLDA
        >>> X, y = load_digits().images, load_digits().target
        >>> model = ProbabilisticLDA(views="linear").fit(X[:400], y[:400])
        >>> names, scores = model.set_scores(X[900:], y[900:])
        >>> model.classes_[scores.argmax(axis=1)]
        array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        """
        found = self.log_likelihood_ratio(X)
        scores = to_numpy(found)
        names, numbers = check_groups("sets", sets, len(scores))
        sums = np.zeros((len(names), scores.shape[1]))
        np.add.at(sums, numbers, scores)
        return names, asarray_like(sums / np.bincount(numbers)[:, None], found)

    def log_priors(self) -> Array:
        """Logarithms of the prior probabilities of the classes."""
        check.check_fitted(self, "pool_")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.priors_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        return tags


def groups_of_classes(n_classes: int, n_groups: int) -> Array:
    """The group (C,) of each class; without any of them there are two classes at least."""
    n_groups = max(n_groups, ceil(n_classes / max(n_classes - 2, 1)))
    dealt: Array = np.random.default_rng(0).permutation(n_classes) % min(n_groups, n_classes)
    return dealt


# ── Samples ──────────────────────────────────────────────────────────────────────────────────────


def _flat(X: Array) -> Array:
    """Samples as rows of float64."""
    rows = np.asarray(to_numpy(X), dtype=np.float64)
    return rows.reshape(len(rows), prod(rows.shape[1:]))


def gather(X: check.Samples, labels: Array, weight: Array | None, classes: Array) -> Gathered:
    """What is kept of a batch in memory, or of a store, read block by block and added up."""
    if isinstance(X, Source):
        return X.total(partial(gather, classes=classes), labels, weight)
    return Gathered.of_batch(to_numpy(X), labels, weight, classes)


def _warn_of_groups(codes: Array, bunches: Array) -> None:
    """Warn if no group can be left out: of each class, or of all classes, too little is left."""
    pairs = np.unique(np.stack([codes, bunches]), axis=1)[0]
    if np.bincount(pairs).max(initial=0) < 2:
        warn(
            "groups hold whole classes: no class has samples in two groups, so no sample can be "
            "left out without its class, and views and regularization are not chosen; pass groups "
            "that share classes, such as subjects or sessions, or no groups",
            UserWarning,
        )
    elif not leaves_noise(codes, bunches).any():
        warn(
            "groups leave one sample of each class at most: without a group no class shows how "
            "much its samples vary, so no group can be left out, and views and regularization are "
            "not chosen; pass more groups, more samples in each, or no groups",
            UserWarning,
        )


def _gather_groups(
    X: check.Samples,
    labels: Array,
    weight: Array | None,
    classes: Array,
    numbers: Array,
    gathered: Gathered,
) -> tuple[Gathered, Array]:
    """What is kept of a batch, and the bunch of groups of each sample of the sketch.

    Equal samples of different groups are kept apart.
    """
    pairs = np.stack([numbers, np.searchsorted(classes, labels)])
    cells, codes = np.unique(pairs, axis=1, return_inverse=True)
    codes = codes.ravel()  # NumPy 2.0 gives a row
    by_cell = gather(X, codes, weight, np.arange(cells.shape[1]))
    sketch = by_cell.sketch.placed(cells[1])
    bunches = bunches_of_groups(cells[0], cells[1], by_cell.counts)[by_cell.sketch.codes]
    bunches = np.unique(bunches, return_inverse=True)[1]  # a sketch may lack some
    moments = gathered.moments
    if moments is None and not sketch.is_complete and prod(gathered.shape) <= LARGEST_TABLE:
        moments = gathered.all_moments()  # equal samples of several groups are many in the sketch
    return Gathered(classes, gathered.shape, sketch, gathered.counts, moments), bunches


def bunches_of_groups(groups: Array, codes: Array, weights: Array) -> Array:
    """The bunch of each cell, which is the part of a group that is of one class.

    Groups of a bunch are left out together. There are at most `MOST_BUNCHES`. The groups of one
    class go to different bunches where that is possible, the largest group first, so that some of
    the class is left whichever bunch is left out.

    Parameters
    ----------
    groups, codes, weights : ndarrays of shape (m,)
        The number of the group of each cell, sorted, the class of the cell, and what its samples
        weigh.
    """
    known, first, n_cells = np.unique(groups, return_index=True, return_counts=True)
    of_class = np.bincount(codes, weights)[codes]
    shares = weights / np.maximum(of_class, np.finfo(float).tiny)
    shares_of_groups = np.add.reduceat(shares, first)
    n_bunches = min(int(np.count_nonzero(shares_of_groups)), MOST_BUNCHES)
    if len(known) == n_bunches:
        return np.searchsorted(known, groups)  # each group is a bunch by itself
    # Sums are rounded, so that the last bit does not choose between equal groups or bunches.
    largest_first = np.argsort(-shares_of_groups.round(9), kind="stable")
    loads = np.zeros((n_bunches, int(codes.max()) + 1))  # the share of each class in each bunch
    bunches = np.zeros(len(groups), dtype=np.intp)
    for g in largest_first:
        cells = slice(first[g], first[g] + n_cells[g])
        classes = codes[cells]
        of_same_classes = (loads[:, classes] @ shares[cells]).round(9)
        candidates = np.flatnonzero(of_same_classes == of_same_classes.min())
        of_all_classes = loads[candidates].sum(axis=1).round(9)
        bunch = candidates[np.argmin(of_all_classes)]
        loads[bunch, classes] += shares[cells]
        bunches[cells] = bunch
    return bunches


# ── Checks ───────────────────────────────────────────────────────────────────────────────────────


def _check_pool(pool: object, names: list[str], weights: Array, size: int) -> None:
    """Refuse a pool from a file that lacks something, or whose values are of other kinds."""
    needed = {"views", "log_losses", "calibration", "ratio", "mean", "floor", "typical_count"}
    if not isinstance(pool, dict) or pool.keys() != needed:
        raise ValueError(f"its pool_ has not the values {', '.join(sorted(needed))}")
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError("its views_ are not names of views")
    check_agree("weights_", np.shape(weights), (len(names),))
    arrays = {"log_losses": (len(names),), "calibration": (3, BINS), "mean": (size,)}
    for name, shape in arrays.items():
        value = pool[name]
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            raise ValueError(f"the {name} of its pool_ is {value!r:.80}, not numbers")
        check_agree(f"pool_ {name}", value.shape, shape)
        if not np.isfinite(value).all():
            raise ValueError(f"the {name} of its pool_ is not finite")
    ratio, floor = pool["ratio"], pool["floor"]
    is_pair = isinstance(ratio, tuple) and len(ratio) == 2
    if not is_pair or not all(type(number) is float for number in (*ratio, floor)):
        raise ValueError("the ratio or the floor of its pool_ are not numbers")
    if not (ratio[0] > 0 and 0 <= floor < 1):
        raise ValueError(f"its pool_ has the ratio {ratio} and the floor {floor}, which cannot be")
    n = pool["typical_count"]
    if type(n) is not float or not 0 < n < np.inf:
        raise ValueError(f"its pool_ has the typical_count {n!r:.40}, which cannot be")
    if not isinstance(pool["views"], list) or not pool["views"]:
        raise ValueError("its pool_ has no views")


def asked_views(views: object) -> tuple[list[str], dict[str, Transformer]]:
    """The names of our views to try, and transformers by their names."""
    is_one = isinstance(views, str) or hasattr(views, "transform")
    listed = [views] if is_one else views
    known = {"auto": NAMES, "linear": LINEAR, "rbf": RBF} | {name: (name,) for name in NAMES}
    if not isinstance(listed, list | tuple) or not listed:
        raise ValueError(
            f"views is {views!r:.200}; expected 'auto', 'linear' or a list of names and "
            "transformers, such as ['auto', MPCA(ranks=0.95)]"
        )
    names: list[str] = []
    transformers: dict[str, Transformer] = {}
    for view in listed:
        if view is Ellipsis:
            view = "auto"
        if not isinstance(view, str):
            transformers[_free_name(view, transformers)] = _checked_transformer(view)
            continue
        if view not in known:
            choices = ("auto", "linear", "rbf", *NAMES)
            words = ", ".join(map(repr, choices))
            raise parameters.ParameterError(
                f"views holds {view!r}; expected one of {words}", "views", view, choices
            )
        names += [name for name in known[view] if name not in names]
    return names, transformers


def _free_name(view: object, taken: Collection[str]) -> str:
    """What a transformer is called: its class, and a number where that is taken."""
    name = type(view).__name__
    n_taken = sum(other.partition(" ")[0] == name for other in taken)
    return f"{name} {n_taken + 1}" if n_taken else name


def _checked_transformer(view: object) -> Transformer:
    """A transformer that needs no labels, or an error in words."""
    name = type(view).__name__
    if not (hasattr(view, "fit") and hasattr(view, "transform")):
        raise ValueError(
            f"views holds {view!r:.100}; expected a name, or a transformer with fit and transform"
        )
    needs = getattr(view, "_needs_labels", False)
    if not needs and isinstance(view, BaseEstimator):
        needs = get_tags(view).target_tags.required
    if needs:
        raise _needs_labels_error(name)
    return cast(Transformer, view)


def _needs_labels_error(name: str) -> ValueError:
    return ValueError(
        f"view {name} needs labels, and a view is learned without them, so that left-out samples "
        f"can judge it; put it before the model: make_pipeline({name}(...), ProbabilisticLDA())"
    )


def _fitted(name: str, view: Transformer, samples: Array) -> Transformer:
    """A transformer that is fitted to samples, without labels."""
    try:
        fitted: Transformer = clone(view).fit(samples)
    except TypeError as error:
        if "'y'" in str(error):
            raise _needs_labels_error(name) from error
        raise
    return fitted


def _check_scatter(counts: Array, noise: float, means: Array) -> None:
    """Refuse samples that show nothing."""
    if not (counts > 1).any():
        raise ValueError(
            f"{counts.sum():g} sample(s) of {len(counts)} classes do not show how much samples "
            "of one class vary; pass two or more of some class (weights are counts)"
        )
    traces = np.zeros(len(counts))
    traces[np.argmax(counts > 0)] = noise
    check_squares(counts, means, traces)
    if not noise > 0 and not (means != means[:1]).any():
        raise _equal_samples_error()


def _equal_samples_error() -> ValueError:
    return ValueError("all samples are equal, so no class can be separated; pass other samples")


def _warn_of_near_copies(gathered: Gathered, log_loss: float, bunches: Array | None) -> None:
    """Say so where left-out samples are told by near copies of themselves."""
    if bunches is not None or log_loss > CERTAIN:
        return
    rows = slice(None, None, max(1, len(gathered.sketch.X) // 500))
    X, codes = gathered.sketch.X[rows], gathered.sketch.codes[rows]
    if len(X) < 10:
        return
    X = X - X.mean(axis=0)
    squares = (X**2).sum(axis=1)
    D2 = squares[:, None] + squares - 2 * X @ X.T
    np.fill_diagonal(D2, np.inf)
    nearest = float(np.median(D2.min(axis=1)))
    pairs = D2[(codes[:, None] == codes) & np.isfinite(D2)]  # of one class
    typical = float(np.median(pairs)) if len(pairs) else 0.0
    if typical > 0 and 0 < nearest < NEAR_COPY * typical:
        warn(
            f"left-out samples are recognized almost surely (log loss {log_loss:.3g}), and most "
            "samples have a near copy, as the frames of a video or overlapping windows do; pass "
            "groups=, so that copies are left out together, or the probabilities will be too sure",
            UserWarning,
        )


def _warn_of_views(views: object, tried: list[str], summary: Summary) -> None:
    """Warn of views that were named and could not be tried."""
    listed = views if isinstance(views, list | tuple) else [views]
    words = [view for view in listed if isinstance(view, str)]
    names, transformers = asked_views(views)
    if {*names, *transformers}.isdisjoint(tried):  # also where one word names several views
        unsuited = [*words, *transformers]
    else:  # a view that suits may have been left out by a first look
        unsuited = [name for name in words if name in NAMES and not suits(name, summary)]
        unsuited += [name for name in transformers if name not in tried]
    if not unsuited:
        return
    warn(
        f"views names {', '.join(unsuited)}, which cannot be tried on these samples of "
        f"shape {summary.shape} in {len(summary.counts)} classes; the views tried are "
        f"{', '.join(tried)}; leave the others out, or pass samples that they suit",
        UserWarning,
    )


# ── What is learned ──────────────────────────────────────────────────────────────────────────────


def attributes_of(
    classes: Array, counts: Array, priors: Array, pool: LearnedPool, mean: Array
) -> Packed:
    """The learned attributes of a model, by name."""
    return {
        "classes_": classes,
        "class_count_": counts,
        "priors_": priors,
        "views_": pool.names,
        "weights_": pool.weights,
        "loo_log_loss_": pool.log_loss,
        "_scorer": Scorer.of(pool.views, counts, mean, typical_count(counts)),
        "pool_": {
            "views": [view.packed() for view in pool.views],
            "log_losses": pool.log_losses,
            "calibration": pool.calibration,
            "ratio": (pool.ratio_scale, pool.ratio_offset),
            "mean": mean.copy(),  # maps have the same array, and a file would store it once
            "floor": floor_of(float(counts.sum())),
            "typical_count": typical_count(counts),
        },
    }


def views_of(pool: Packed) -> list[LearnedView]:
    """The views of a pool, as `pool_` has them."""
    return [LearnedView.unpacked(packed) for packed in pool["views"]]


def scorer_of(model: ProbabilisticLDA) -> Scorer:
    """What scores samples; a model that was loaded makes it once."""
    check.check_fitted(model, "pool_")
    if model._scorer is None:
        pool = model.pool_
        counts = model.class_count_
        scorer = Scorer.of(views_of(pool), counts, pool["mean"], pool["typical_count"])
        model.__dict__["_scorer"] = scorer
    assert model._scorer is not None
    return model._scorer


# ── What is made of scores ───────────────────────────────────────────────────────────────────────


def _over_blocks(model: ProbabilisticLDA, X: object, finish: Callable[[Array], Array]) -> Array:
    """What is made of the scores (n, C) of samples, block by block."""
    work = partial(_scored, scorer=scorer_of(model), finish=finish)
    return over_blocks(check.check_samples(model, X), work)


def _scored(X: Array, scorer: Scorer, finish: Callable[[Array], Array]) -> Array:
    return np.asarray(finish(scorer.scores(_flat(X))))


def _ratios(X: Array, scorer: Scorer, scale: float, offset: float) -> Array:
    return np.asarray(scale * scorer.ratios(_flat(X)) + offset)


def _decision(scores: Array, log_priors: Array) -> Array:
    S = scores + log_priors
    return np.asarray(S[:, 1] - S[:, 0] if S.shape[1] == 2 else S)


def _best(scores: Array, log_priors: Array, classes: Array) -> Array:
    return np.asarray(classes[(scores + log_priors).argmax(axis=1)])


def _log_probabilities(scores: Array, log_priors: Array, floor: float) -> Array:
    with np.errstate(divide="ignore"):  # of classes with a prior of 0
        return np.asarray(np.log(probabilities(scores, log_priors, floor)))

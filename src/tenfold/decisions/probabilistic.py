"""Gaussian classes whose means are Gaussian too: scores that can be compared, probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from tenfold.decisions.gaussian_scores import LIKELIHOOD
from tenfold.decisions.gaussian_streams import GaussianStreams
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.arrays import to_numpy
from tenfold.mathematics.cost import Workload
from tenfold.mathematics.fold_moments import (
    FoldMoments,
    merged_folds,
)
from tenfold.mathematics.held_out import USUAL, Choice, left_out
from tenfold.mathematics.models import Labels, Shape
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.moments_in_folds import MomentsInFolds
from tenfold.mathematics.pass_statistics import codes_of
from tenfold.mathematics.stores import Source, over_blocks
from tenfold.mathematics.structures import IDENTITY, Space, Target, best_target, targets, whitening
from tenfold.mathematics.subspace import projected, projected_moments, span
from tenfold.mathematics.tuning import KEPT_MOMENTS
from tenfold.mathematics.two_covariances import ClassLikelihood
from tenfold.methods.base import TensorProjector
from tenfold.system.threads import one_thread_for_small
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.other_arrays import in_numpy
from tenfold.validation.parameters import memory_budget


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianModel:
    """Gaussian classes whose means are Gaussian, in coordinates that make both diagonal.

    The fields are the attributes of `ProbabilisticLDA`, which says what they are.
    """

    classes: Labels
    class_count: Array
    priors: Array
    projector: Any
    mean: Array
    directions: Array
    class_means: Array
    enrolled: Array
    shrinkage: float
    shrink_to: str
    between: Array
    spread: Array
    within: Array
    noise: Array
    gain: float
    tails: float
    temperature: float


class ProbabilisticLDA(GaussianStreams):
    """Linear discriminant analysis that knows how little a few samples say.

    Samples of a class are normal about its mean, with a covariance that all classes share; class
    means are normal themselves. All classes follow from one eigenproblem, in the span of the
    samples when these are fewer than the numbers in a sample. Each class has a log likelihood
    ratio of "this class" against "someone else". It can be compared across classes and
    thresholded, gives probabilities, and serves classes that are enrolled later.

    Parameters
    ----------
    projector : tenfold projector or None, default=None
        The subspace to work in, such as ``MPCA(ranks=0.95)``. None takes all numbers of a sample.
    shrinkage : float from 0 to 1 or "auto", default="auto"
        Share of `shrink_to` in the covariance of the samples. "auto" chooses it by
        the log loss on samples that are held out, and fits to these how far new samples follow
        the means of their classes, how heavy their tails are, and a temperature. All this costs
        no second reading, since the moments of folds add up. With a number the model is the
        two-covariance model to the letter.
    shrink_to : {"identity", "kronecker", "auto"}, default="identity"
        What the covariance is shrunk towards: a multiple of the identity, or a Kronecker product
        with one factor per mode, which suits noise that neighbours along a mode share (genes,
        channels, instants). "auto" takes the product where held-out samples prefer it. With a
        projector the modes are those of the projected samples.
    time_modes : int or tuple of ints, default=()
        Modes along which the noise is stationary, so that its factor of the product has one
        number per lag (a Toeplitz matrix). "auto" tries the product with and without.
    priors : array-like of shape (C,), mapping of labels to numbers, "equal" or None, default=None
        The probabilities of the classes before a sample is seen. None means their shares of the
        training samples, as in scikit-learn; "equal" suits averages over classes, and samples
        whose shares will be others.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    class_count_ : ndarray of shape (C,)
        The sum of the sample weights of each class.
    priors_ : ndarray of shape (C,)
        The probabilities of the classes before a sample is seen.
    projector_ : projector or None
        The fitted projector.
    mean_ : ndarray of shape (I,)
        Mean of all samples, flat, or of the projected samples.
    directions_ : ndarray of shape (I, d)
        From these to d coordinates in which both covariances are diagonal.
    class_means_ : ndarray of shape (C, d)
        The class means in these coordinates.
    enrolled_ : ndarray of shape (C,)
        1 for classes that came with `enrol`, 0 for those that the coordinates were fitted to.
    between_, spread_, within_, noise_ : ndarrays of shape (d,)
        Variance of the class means; n times that of a training mean about the true one; that of
        samples about their class mean; the units of the noise.
    shrinkage_, gain_, tails_, temperature_ : float
        What was used or chosen: the shrinkage, the variance of a factor on the class means, one
        over the degrees of freedom of Student's t (0 for a normal distribution), and what scores
        are divided by.
    shrink_to_ : str
        "identity", "kronecker" or "kronecker, stationary".
    sample_shape_ : tuple of K ints
        The shape of a sample.
    moments_ : ClassMoments
        Kept by `partial_fit`: of every class in every fold.

    Notes
    -----
    Samples are dealt to five folds by their content. So the model does not depend on the order of
    the samples or on how a stream is cut, and a weight of 2 is the same as having a sample twice.

    `decision_function` is what `predict` decides by: log likelihood ratios plus the logarithms of
    the priors, and for two classes their difference, as scikit-learn has it. Where samples may be
    of strangers use `log_likelihood_ratio`; to rank samples in a closed set of classes,
    `predict_log_proba`.

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
    >>> model = ProbabilisticLDA().fit(X[:900], y[:900])
    >>> model.predict_proba(X[900:]).shape
    (897, 10)
    >>> bool(model.score(X[900:], y[900:]) > 0.9)
    True

    A class that comes later, from three samples:

    >>> known = y[:900] < 9
    >>> model = ProbabilisticLDA().fit(X[:900][known], y[:900][known])
    >>> model.enrol(X[:900][~known][:3], y[:900][~known][:3]).classes_.tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    _value: type = GaussianModel

    def __init__(
        self,
        projector: Any = None,
        *,
        shrinkage: Any = "auto",
        shrink_to: str = "identity",
        time_modes: Any = (),
        priors: Any = None,
    ):
        self.projector = projector
        self.shrinkage = shrinkage
        self.shrink_to = shrink_to
        self.time_modes = time_modes
        self.priors = priors

    # -- what the projector says ------------------------------------------------------------------

    @property
    def sample_shape(self) -> Any:
        """The `sample_shape` of the projector."""
        return None if self.projector is None else self.projector.sample_shape

    @property
    def statistics(self) -> str:  # type: ignore[override]
        """The `statistics` of the projector."""
        return "auto" if self.projector is None else str(self.projector.statistics)

    def _check_parameters(self) -> None:
        """Refuse parameters that no data could make right."""
        if self.projector is not None:
            parameters.check_projector(self.projector, TensorProjector)
            self.projector._check_parameters()
        parameters.check_shrinkage(self.shrinkage)
        parameters.check_option("shrink_to", self.shrink_to, ("identity", "kronecker", "auto"))
        if self.shrink_to == "auto" and self.shrinkage != "auto":
            raise ValueError(
                f"shrink_to is 'auto' and shrinkage is {self.shrinkage!r}, but held-out samples "
                "choose both or none; pass shrinkage='auto', or shrink_to='kronecker'"
            )

    def _workload(self, shape: Shape, classes: Array) -> Workload:
        """What the projector will ask."""
        if self.projector is None:
            return Workload((1,) * len(shape), 1, memory=memory_budget())
        work: Workload = self.projector._workload(shape, classes)
        return work

    # -- fitting ----------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Learn from one batch.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples. A store is read once to deal its samples to folds and once for moments;
            with a projector as that reads it, and once more to project.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights. A weight of 2 is the same as having the sample twice.
        groups : array-like of shape (n,), default=None
            Numbers or names of groups that are held out together, such as recordings, or a sample
            and its shifted copies. None takes each sample as its own group.

        Returns
        -------
        self
            The fitted estimator.
        """
        described, X, labels, weight = self._first_batch(X, y, sample_weight)
        folds = self._folds(X, groups)
        classes = check.present_labels(labels, weight)
        tables = 8 * len(classes) * self._n_folds() * prod(X.shape[1:]) ** 2
        keeps = self.statistics == "moments" or tables <= KEPT_MOMENTS
        if self.statistics == "moments" or self._tables_are_smaller(X, len(classes)):
            moments = self._moments_of_batch(X, labels, weight, classes, folds)
            model = self._learn_moments(moments, classes, described["sample_shape_"])
            return self._set_fitted(described, model, moments if keeps else None)
        projector, Y = None, X
        if self.projector is not None:
            projector = clone(self.projector).fit(X, labels, weight)
            work = partial(
                projected, projections=projector.projections_, centre=projector._centre()
            )
            Y = in_numpy(over_blocks(X, work))
        elif isinstance(X, Source):
            Y = X.in_memory()
        Y = np.asarray(to_numpy(Y), dtype=float).reshape(len(X), -1)
        counted = slice(None) if weight is None else weight > 0
        shape = (self._n_folds(), len(classes))
        origin, basis, Z = _coordinates(Y, counted)
        codes = codes_of(X, labels, classes)
        folded = FoldMoments.of_samples(Z, codes, folds, weight, shape, Y.shape[1])
        came = described["sample_shape_"]
        model = self._gaussian(folded, classes, came, projector, origin, basis)
        kept = self._moments_of_batch(X, labels, weight, classes, folds) if keeps else None
        return self._set_fitted(described, model, kept)

    def _learn_moments(self, moments: ClassMoments, classes: Array, shape: Shape) -> GaussianModel:
        """What is learned from moments of every class in every fold."""
        n_classes, projector = len(classes), None
        n_folds = len(moments.counts) // n_classes
        if self.projector is not None:
            together = replace(merged_folds(moments, n_folds), classes=classes)
            projector = clone(self.projector).fit_moments(together)
            moments = projected_moments(moments, projector.projections_, projector._centre())
        folded = FoldMoments.of_tables(moments, (n_folds, n_classes))
        origin = np.zeros(folded.size)
        usual = left_out(moments) if n_folds == 1 and self.shrinkage == "auto" else USUAL
        return self._gaussian(folded, classes, shape, projector, origin, None, usual)

    def fit_moments(self, moments: ClassMoments | MomentsInFolds) -> Self:
        """Learn from moments that are gathered already; no samples are read.

        From `MomentsInFolds` the model is that of all samples. `ClassMoments`
        have no folds. So
        with ``shrinkage="auto"`` it is chosen by leaving classes out, ``shrink_to="auto"`` means
        the identity, and nothing else is fitted to held-out samples.

        Parameters
        ----------
        moments : ClassMoments or MomentsInFolds
            Of all samples, as `gather_folds`, `gather_moments`, `gather_batches` or ``+`` give
            them.

        Returns
        -------
        self
            The fitted estimator; with `moments_`, if it used folds.
        """
        self._check_parameters()
        if isinstance(moments, MomentsInFolds) and self._n_folds() > 1:
            return self._fit_folds(moments)
        if isinstance(moments, MomentsInFolds):
            moments = moments.together()
        described, moments = check.check_moments(self, moments)
        shape = described["sample_shape_"]
        return self._set_fitted(described, self._learn_moments(moments, moments.classes, shape))

    # -- the steps --------------------------------------------------------------------------------

    def _tables_are_smaller(self, X: Any, n_classes: int) -> bool:
        """Whether moments take less memory than the samples, or samples are not in memory."""
        if self.projector is not None:
            return False
        size = prod(X.shape[1:])
        if isinstance(X, Source):
            return bool(len(X) >= size or 3 * 8 * len(X) * size > memory_budget())
        return bool(n_classes * self._n_folds() * size < len(X))

    def _gaussian(
        self,
        moments: FoldMoments,
        classes: Array,
        shape: Shape,
        projector: TensorProjector | None,
        origin: Array,
        basis: Array | None,
        usual: float = USUAL,
    ) -> GaussianModel:
        """What is learned from moments in the coordinates of a basis about an origin."""
        whole = moments.without(None)
        whole.check_scatter()
        priors = parameters.check_priors(self.priors, classes, whole.counts)
        space = Space(shape if projector is None else projector.ranks_, basis)
        target, choice = self._target(moments, space, priors)
        changed, back, lift = whole, None, basis
        if target != IDENTITY:
            R, lift = whitening(whole, space, target)
            changed, back = moments.changed(R).without(None), R.T
        if choice is None:
            shrinkage = usual if self.shrinkage == "auto" else float(self.shrinkage)
            if shrinkage == 0 and whole.is_singular():
                raise ValueError(
                    "shrinkage is 0, but samples of one class do not vary in every direction, so "
                    "their covariance cannot be inverted; pass a shrinkage above 0, or 'auto'"
                )
            directions, phi = changed.coordinates(shrinkage)
            likelihood = ClassLikelihood.plain(phi)
        else:
            shrinkage, likelihood = choice.shrinkage, choice.likelihood
            directions = changed.coordinates(shrinkage)[0][:, : len(likelihood.between)]
        lifted = directions if lift is None else lift @ directions
        directions = directions if back is None else back @ directions
        return GaussianModel(
            classes=classes,
            class_count=whole.counts,
            priors=priors,
            projector=projector,
            mean=origin + (whole.mean if basis is None else basis @ whole.mean),
            directions=lifted,
            class_means=whole.centred @ directions,
            enrolled=np.zeros(len(classes)),
            shrinkage=float(shrinkage),
            shrink_to=target.title,
            **{name: getattr(likelihood, name) for name in LIKELIHOOD},
        )

    def _target(
        self, moments: FoldMoments, space: Space, priors: Array
    ) -> tuple[Target, Choice | None]:
        """What the covariance is shrunk towards, and what the folds chose with it."""
        modes = parameters.check_time_modes(self, space.shape)
        candidates = targets(self.shrink_to, modes, space.shape)
        if self.shrinkage != "auto":
            return candidates[0], None
        with one_thread_for_small(moments.means.shape[2]):
            return best_target(moments, space, candidates, priors)


def _coordinates(Y: Array, counted: Any) -> tuple[Array, Array | None, Array]:
    """The mean of the samples that count, a basis of their span, and all samples in it."""
    with one_thread_for_small(min(Y.shape)):
        origin, basis = span(Y[counted])
    return origin, basis, (Y - origin) if basis is None else (Y - origin) @ basis

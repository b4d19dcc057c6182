"""Gaussian classes whose means are Gaussian too: scores that can be compared, probabilities."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial
from math import prod
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone

from tenfold.decisions.classifier import AccuracyScore
from tenfold.mathematics.accumulate import check_same_kind
from tenfold.mathematics.algebra import Array, like, to_numpy
from tenfold.mathematics.cost import moments_of
from tenfold.mathematics.fold_moments import N_FOLDS, FoldMoments, name_folds, ruler_folds
from tenfold.mathematics.held_out import USUAL, chosen, left_out
from tenfold.mathematics.moments import ClassMoments
from tenfold.mathematics.noise_frames import Space, differ_in_units
from tenfold.mathematics.sample_statistics import codes_of
from tenfold.mathematics.stores import Source, in_turn, over_blocks
from tenfold.mathematics.subspace import projected, projected_moments, span
from tenfold.mathematics.tuning import KEPT_MOMENTS
from tenfold.mathematics.two_covariances import (
    ClassLikelihood,
    KnownClasses,
    best_class,
    coordinates,
    log_posteriors,
    posteriors,
    preference,
)
from tenfold.methods.base import Described, Labels, Learner, Shape, TensorProjector
from tenfold.system.plain_values import Axes, check_agree
from tenfold.system.threads import one_thread_for_small
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.parameters import memory_budget
from tenfold.validation.samples import check_groups, in_numpy

NEGLIGIBLE = 1e-30  # of the largest weight: what decay leaves of a sample that is forgotten
LIKELIHOOD = [field.name for field in fields(ClassLikelihood)]


class Batch(NamedTuple):
    """Samples (n, ...), their labels, weights and folds."""

    X: Any
    labels: Any
    weight: Any
    folds: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianModel:
    """Gaussian classes whose means are Gaussian, in coordinates that make both diagonal.

    The fields are the attributes of `ProbabilisticLDA`, which says what they are.
    """

    classes: Labels
    class_count: Annotated[Array, Axes("C", least=0)]
    priors: Annotated[Array, Axes("C", least=0)]
    projector: Any
    mean: Annotated[Array, Axes("numbers")]
    directions: Annotated[Array, Axes("numbers", "d")]
    class_means: Annotated[Array, Axes("C", "d")]
    enrolled: Annotated[Array, Axes("C")]
    shrinkage: float
    between: Annotated[Array, Axes("d", least=0)]
    spread: Annotated[Array, Axes("d", least=0)]
    within: Annotated[Array, Axes("d", above=0)]
    noise: Annotated[Array, Axes("d", above=0)]
    gain: Annotated[float, Axes(least=0)]
    tails: Annotated[float, Axes(least=0)]
    temperature: Annotated[float, Axes(above=0)]
    kronecker_share: float


@dataclass(eq=False, repr=False)
class ProbabilisticLDA(AccuracyScore, ClassifierMixin, Learner):
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
        Share of a multiple of the identity in the covariance of the noise, that is of samples
        about the means of their classes. "auto" chooses it by the log loss on samples that are
        held out, and fits to these how far new samples follow the means of their classes, how
        heavy their tails are, and a temperature. All this costs no second reading, since the
        moments of folds add up. With a number the model is the two-covariance model to the
        letter, without the two priors that follow.
    means_prior : {"kronecker", "full"}, default="kronecker"
        The covariance of the class means where samples have two modes or more and the shrinkage
        is "auto": a Kronecker product with one factor per mode, which few classes show, or any.
    noise_prior : {"kronecker", "identity"}, default="kronecker"
        What the covariance of the noise is shrunk towards, where samples have two modes or more
        and the shrinkage is "auto": a multiple of the identity, or also a Kronecker product with
        one factor per mode, which suits noise that neighbours along a mode share (channels,
        instants, genes). With "kronecker" both are fitted, and the scores are a weighted mean of
        theirs; held-out samples choose the weights, and leave the product where it does not help.
        With a projector the modes are those of the projected samples.
    stationary_modes : int or tuple of ints, default=()
        Modes along which the noise is stationary, such as time in equal steps, so that their
        factors of its product have one number per lag (a Toeplitz matrix).
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
        From these to d coordinates in which both covariances are diagonal. Where
        `kronecker_share_` is between 0 and 1, the second half of the coordinates is that of the
        noise that is shrunk towards a Kronecker product.
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
    kronecker_share_ : float
        The share in the scores of the noise that is shrunk half-way towards a Kronecker product;
        0 where it is left out.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    moments_ : ClassMoments
        Kept by `partial_fit`: of every class, with ``shrinkage="auto"`` in every fold. Where these
        would not fit into memory it keeps the samples instead, in memory and in a pickle.

    Notes
    -----
    Samples are dealt to sixteen folds by where they lie on a ruler along a fixed contrast. So the
    model does not depend on the order of the samples, on how a stream is cut or on units, offset
    and precision; a weight of 2 is the same as having a sample twice. Nearly nothing is switched:
    what is chosen is a mean over candidates, weighted by how likely held-out samples are under
    each, so that the model moves little where the samples move little. Slices of a mode (columns
    of a table, sensors) whose spreads differ more than tenfold are each divided by theirs, if
    held-out samples are told apart better so, with ``shrinkage="auto"`` and without a projector.

    Where samples and numbers are more than 256 (512), two (four) folds are held out at a time.
    Directions are found without the folds that are held out; the prior of the class means, the
    product that noise is shrunk towards and the spreads without their third of all folds.

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

    _value: ClassVar[type] = GaussianModel
    _answer = "probability"
    _held: ClassVar[Batch | None] = None  # samples of a stream whose moments would not fit

    _allowed: ClassVar = {
        "projector": (TensorProjector, None),
        "shrinkage": ("auto", parameters.Number(0, 1)),
        "means_prior": ("kronecker", "full"),
        "noise_prior": ("kronecker", "identity"),
    }

    projector: Any = None
    _: KW_ONLY
    shrinkage: Any = "auto"
    means_prior: str = "kronecker"
    noise_prior: str = "kronecker"
    stationary_modes: Any = ()
    priors: Any = None

    # -- what the projector says ------------------------------------------------------------------

    @property
    def sample_shape(self) -> Any:
        """The `sample_shape` of the projector."""
        return None if self.projector is None else self.projector.sample_shape

    def _check_parameters(self) -> None:
        """Validate parameters."""
        super()._check_parameters()
        if self.projector is None:
            return
        if not self.projector._streams:
            raise ValueError(
                f"projector is {self.projector!r}; expected projections of the samples themselves; "
                "for features of a kernel, put it before in a pipeline: "
                f"make_pipeline({type(self.projector).__name__}(...), ProbabilisticLDA())"
            )
        self.projector._check_parameters()

    def _sizes(self) -> dict[str, Shape]:
        """How many numbers of a sample the Gaussians are of."""
        inside = self.projector_
        return {"numbers": (prod(self.sample_shape_ if inside is None else inside.ranks_),)}

    def _check_learned(self) -> None:
        """Refuse a projector that was not learned, and a share that the coordinates cannot have."""
        inside, share = self.projector_, self.kronecker_share_
        if inside is not None or self.projector is not None:
            if not (type(inside) is type(self.projector) and hasattr(inside, "projections_")):
                raise ValueError(f"its projector_ is {inside!r:.80}, which is not what it learned")
            check_agree("projector_", inside.sample_shape_, self.sample_shape_)
        if not 0 <= share <= 1 or (0 < share < 1 and self.directions_.shape[-1] % 2):
            raise ValueError(f"its kronecker_share_ is {share}, which its coordinates do not have")

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
        return self._fit_in(None, X, y, sample_weight, groups)

    def _fit_in(
        self,
        projector: TensorProjector | None,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Learn from one batch, in the subspace of a projector that is fitted to it already."""
        described, X, labels, weight = self._first_batch(X, y, sample_weight)
        folds = self._folds(X, groups)
        classes = check.present_labels(labels, weight)
        n_tables, shape = self._n_tables(classes), described["sample_shape_"]
        keeps = 8 * n_tables * prod(X.shape[1:]) ** 2 <= KEPT_MOMENTS
        by_tables = self._tables_are_smaller(X, n_tables)
        moments = None
        if keeps or by_tables:
            moments = self._moments_of_batch(X, labels, weight, classes, folds)
        if moments is not None and by_tables:
            model = self._learn_moments(moments, classes, shape)
        else:
            batch = Batch(X, labels, weight, folds)
            model = self._learn_samples(batch, classes, shape, projector)
        return self._set_fitted(described, model, moments if keeps else None)

    def _learn_samples(
        self, batch: Batch, classes: Array, shape: Shape, projector: TensorProjector | None = None
    ) -> GaussianModel:
        """What is learned from samples, in the subspace of a projector if that is asked for."""
        X, labels, weight, folds = batch
        Y = X
        if self.projector is not None:
            projector = projector or clone(self.projector).fit(X, labels, weight)
            work = partial(
                projected, projections=projector.projections_, centre=projector._centre()
            )
            Y = in_numpy(over_blocks(X, work))
        elif isinstance(X, Source):
            Y = X.in_memory()
        Y = np.asarray(to_numpy(Y), dtype=float).reshape(len(X), -1)
        counted = slice(None) if weight is None else weight > 0
        origin, basis, Z = _coordinates(Y, counted)
        codes = codes_of(X, labels, classes)
        folded = FoldMoments.of_samples(Z, codes, folds, weight, len(classes), Y.shape[1])
        return self._gaussian(folded, classes, shape, projector, origin, basis)

    # -- streams ----------------------------------------------------------------------------------

    def _go_on(
        self,
        X: Any,
        y: Array | None,
        weight: Array | None,
        factor: float,
        known: Array,
        described: Described,
    ) -> Self:
        """As `Learner`; where moments do not fit into memory, the samples themselves are kept."""
        begins = not hasattr(self, "sample_shape_")
        fits = parameters.tables_fit(prod(X.shape[1:]), self._n_tables(known))
        if self._held is None and not (begins and not fits):
            return super()._go_on(X, y, weight, factor, known, described)
        held, model = self._held_with(X, y, weight, known, factor), None
        if _tell_apart(held.labels, held.weight):
            model = self._learn_samples(held, known, described["sample_shape_"])
        elif self._held is not None and _tell_apart(self._held.labels, self._held.weight):
            raise ValueError(
                "decay forgets too much: what it leaves is less than what a model can be learned "
                "from (weights are counts of samples); pass a decay nearer to 1, or larger batches"
            )
        self._set_fitted(described, model, **({} if model else {"classes_": known}))
        self.__dict__["_held"] = held
        return self

    def _held_with(
        self, X: Any, y: Any, weight: Array | None, known: Array, factor: float = 1.0
    ) -> Batch:
        """The samples that are kept, times a factor, and more of them; if all fit into memory."""
        X = np.asarray(X.in_memory() if isinstance(X, Source) else to_numpy(X), dtype=float)
        w = np.ones(len(X)) if weight is None else weight
        if self._held is not None:
            X = np.concatenate([self._held.X, X])
            y = np.concatenate([self._held.labels, y])
            w = np.concatenate([factor * self._held.weight, w])
        kept = w > NEGLIGIBLE * w.max(initial=0.0)
        X, y, w = X[kept], y[kept], w[kept]
        if X.nbytes > memory_budget():
            parameters.check_tables_fit(prod(X.shape[1:]), self._n_tables(known))
        return Batch(X, y, w, self._folds(X))

    def _set_fitted(self, *learned: Any, **more: Any) -> Self:
        self.__dict__.pop("_held", None)
        return super()._set_fitted(*learned, **more)

    def fit_moments(self, moments: ClassMoments) -> Self:
        """Learn from moments that are gathered already; no samples are read.

        From moments of classes in folds the model is that of all samples. From moments of classes
        the shrinkage, if "auto", is chosen by leaving classes out, and nothing else is fitted to
        held-out samples.

        Parameters
        ----------
        moments : ClassMoments
            Of all samples, as `gather_moments` (best with ``folds=True``), `gather_batches` or
            ``+`` give them.

        Returns
        -------
        self
            The fitted estimator; with `moments_`, if `partial_fit` can go on with these.
        """
        self._check_parameters()
        described, cells = check.check_moments(self, moments)
        known, shape = cells.classes, described["sample_shape_"]
        if self._in_folds and moments.folds is not None:
            cells = moments.present()
            cells = replace(cells, means=cells.means.reshape(-1, *shape))
        goes_on = self._in_folds == (cells.folds is not None)
        model = self._learn_moments(cells, known, shape)
        return self._set_fitted(described, model, cells if goes_on else None)

    def enrol(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add classes that came later, or samples of known ones, without learning anew.

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
            With more classes; covariances and coordinates stay as they are. A new class gets the
            mean prior of those before; then all are scaled to sum to 1.
        """
        check.check_fitted(self, "directions_")
        X, labels, weight = check.check_batch(self, X, y, sample_weight)
        assert labels is not None
        check_same_kind(labels, self.classes_)
        came = check.present_labels(labels, weight)
        classes = np.union1d(self.classes_, came)
        at = np.searchsorted(classes, self.classes_)
        priors = np.full(len(classes), self.priors_.mean())
        priors[at] = self.priors_
        learned: dict[str, Any] = {"classes_": classes, "priors_": priors / priors.sum()}
        if hasattr(self, "moments_"):  # so that partial_fit goes on with all of them
            batch = self._moments_of_batch(X, labels, weight, classes)
            learned["moments_"] = self._moments_so_far() + batch
        elif self._held is not None:
            learned["_held"] = self._held_with(X, labels, weight, classes)
        Z = to_numpy(over_blocks(X, self.coordinates()))
        w = np.ones(len(Z)) if weight is None else weight
        known = self.known_classes().joined_by(Z, codes_of(X, labels, classes), w, at)
        learned |= {"class_means_": known.means, "class_count_": known.counts}
        self.__dict__.update(learned, enrolled_=known.enrolled)
        return self

    # -- moments ----------------------------------------------------------------------------------

    @property
    def _in_folds(self) -> bool:
        """Whether it chooses on samples that are held out."""
        return bool(self.shrinkage == "auto")

    def _n_tables(self, classes: Array) -> int:
        return len(classes) * (N_FOLDS if self._in_folds else 1)

    def _is_learnable(self, moments: ClassMoments) -> bool:
        """Whether there are samples of two classes, and two of one of them."""
        return _tell_apart(moments.classes, moments.counts)

    def _moments_of_batch(
        self,
        X: Any,
        y: Array | None,
        weight: Array | None,
        classes: Array,
        folds: Array | None = None,
    ) -> ClassMoments:
        """The moments of every class, in every fold if it chooses on held-out samples."""
        parameters.check_tables_fit(prod(X.shape[1:]), self._n_tables(classes))
        if not self._in_folds:
            return moments_of(X, y, weight, classes)
        return moments_of(X, y, weight, classes, self._folds(X) if folds is None else folds)

    def _learn_moments(self, moments: ClassMoments, classes: Array, shape: Shape) -> GaussianModel:
        """What is learned from moments of classes or of classes in folds."""
        projector = None
        if self.projector is not None:
            projector = clone(self.projector).fit_moments(moments)
            moments = projected_moments(moments, projector.projections_, projector._centre())
        folded = FoldMoments.of_tables(moments, classes)
        origin = np.zeros(folded.size)
        usual = left_out(moments) if self._in_folds and moments.folds is None else None
        return self._gaussian(folded, classes, shape, projector, origin, None, usual)

    def _moments_so_far(self) -> ClassMoments:
        """What is to be added to, with folds if `shrinkage` needs them now."""
        moments = super()._moments_so_far()
        if self._in_folds and moments.folds is None:
            raise ValueError(
                f"shrinkage is {self.shrinkage!r}, which needs moments of {N_FOLDS} folds, but "
                "this model began with a number and kept none; start with a fresh estimator"
            )
        if self._in_folds or moments.folds is None:
            return moments
        codes = np.searchsorted(self.classes_, moments.classes)  # also of classes yet to come
        return replace(moments.summed_by(codes, len(self.classes_)), classes=self.classes_)

    def _folds(self, X: Any, groups: Any = None) -> Array:
        """The fold of each sample: that of its group, or by its content."""
        named = None if groups is None else check_groups("groups", groups, len(X))
        if not self._in_folds:
            return np.zeros(len(X), dtype=np.intp)
        if named is None:
            return to_numpy(over_blocks(X, ruler_folds))
        names, numbers = named
        return name_folds(names)[numbers]

    # -- the steps --------------------------------------------------------------------------------

    def _tables_are_smaller(self, X: Any, n_tables: int) -> bool:
        """Whether moments take less memory than the samples, or samples are not in memory."""
        if self.projector is not None:
            return False
        size = prod(X.shape[1:])
        if isinstance(X, Source):
            return bool(len(X) >= size or 3 * 8 * len(X) * size > memory_budget())
        return bool(n_tables * size < len(X))

    def _gaussian(
        self,
        moments: FoldMoments,
        classes: Array,
        shape: Shape,
        projector: TensorProjector | None,
        origin: Array,
        basis: Array | None,
        usual: float | None = None,
    ) -> GaussianModel:
        """What is learned from moments in the coordinates of a basis about an origin."""
        whole = moments.without()
        whole.check_scatter()
        priors = parameters.check_priors(self.priors, classes, whole.counts)
        spaces = [self._space(shape if projector is None else projector.ranks_, basis)]
        if projector is None and differ_in_units(whole, spaces[0]):
            spaces.append(spaces[0]._replace(scaled=True))
        choice = None
        if self._in_folds and usual is None:
            _warn_of_one_group(moments.largest_share)
        if self._in_folds:
            with one_thread_for_small(moments.means.shape[2]):
                choice = chosen(moments, spaces, priors)
        if choice is None:
            shrinkage = (usual or USUAL) if self._in_folds else float(self.shrinkage)
            if shrinkage == 0 and whole.is_singular():
                raise ValueError(
                    "shrinkage is 0, but samples of one class do not vary in every direction, so "
                    "their covariance cannot be inverted; pass a shrinkage above 0, or 'auto'"
                )
            directions, phi = whole.coordinates(shrinkage)
            lifted = directions if basis is None else basis @ directions
            means, likelihood = whole.centred @ directions, ClassLikelihood.plain(phi)
        else:
            shrinkage = choice.shrinkages[0]
            lifted, means, likelihood = choice.model(whole)
        return GaussianModel(
            classes=classes,
            class_count=whole.counts,
            priors=priors,
            projector=projector,
            mean=origin + (whole.mean if basis is None else basis @ whole.mean),
            directions=lifted,
            class_means=means,
            enrolled=np.zeros(len(classes)),
            shrinkage=float(shrinkage),
            **{name: getattr(likelihood, name) for name in LIKELIHOOD},
        )

    def _space(self, shape: Shape, basis: Array | None) -> Space:
        """Where moments lie, and what is said of the two covariances there."""
        modes = parameters.check_modes("stationary_modes", self.stationary_modes, shape)
        several = sum(size > 1 for size in shape) > 1
        means, noise = (several and k == "kronecker" for k in (self.means_prior, self.noise_prior))
        return Space(shape, basis, means, noise, modes)

    # -- using ------------------------------------------------------------------------------------

    @property
    def members_(self) -> list[TensorProjector]:
        """The fitted projectors of the model: one, or none for all numbers of a sample."""
        check.check_fitted(self, "directions_")
        return [] if self.projector_ is None else [self.projector_]

    def decision_function(self, X: Any) -> Array:
        """Log likelihood ratio of every class plus the logarithm of its prior.

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
        finish = partial(preference, log_priors=self.log_priors())
        return self._of_scores(X, finish)

    def log_likelihood_ratio(self, X: Any) -> Array:
        """Logarithm of the density under "this class" over that under "someone else".

        It knows nothing of priors or of who else is known, so it is what to threshold when a
        sample may be of a stranger.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            Above 0 where the class explains the sample better than a class that nobody has
            seen.
        """
        return self._of_scores(X, np.asarray)

    def predict(self, X: Any) -> Array:
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
        finish = partial(best_class, log_priors=self.log_priors(), classes=self.classes_)
        return self._of_scores(X, finish)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`, to full precision where a class is nearly certain.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            At most 0.
        """
        finish = partial(log_posteriors, log_priors=self.log_priors())
        return self._of_scores(X, finish)

    def predict_proba(self, X: Any) -> Array:
        """The probability of every class, if the sample belongs to one of them.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        ndarray of shape (n, C)
            Rows that sum to 1.
        """
        finish = partial(posteriors, log_priors=self.log_priors())
        return self._of_scores(X, finish)

    def set_scores(self, X: Any, sets: Any) -> tuple[Array, Array]:
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
        >>> model = ProbabilisticLDA().fit(X[:900], y[:900])
        >>> names, scores = model.set_scores(X[900:], y[900:])
        >>> model.classes_[scores.argmax(axis=1)]
        array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        """
        found = self.log_likelihood_ratio(X)
        scores = to_numpy(found)
        names, numbers = check_groups("sets", sets, len(scores))
        sums = np.zeros((len(names), scores.shape[1]))
        np.add.at(sums, numbers, scores)
        return names, like(sums / np.bincount(numbers)[:, None], found)

    def recentred(self, X: Any) -> Self:
        """A copy of the model for samples of another session, whose mean takes the place of ours.

        Another camera, day or surface moves all samples alike. A set of samples of many classes
        shows by how much, without labels. The mean of these samples becomes what the mean of the
        training samples was; class means keep their places about it. Do not use it where the
        samples are of few classes only: what these have in common would be taken away.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            Samples of that session, of many classes; no labels are needed.

        Returns
        -------
        ProbabilisticLDA
            A copy that decides about samples of that session. The model itself stays as it is.
            `partial_fit` and `fit` of the copy forget the session.
        """
        check.check_fitted(self, "directions_")
        X = check.check_samples(self, X)
        off = to_numpy(over_blocks(X, self.coordinates())).mean(axis=0)
        other, D = copy(self), self.directions_
        other.mean_ = self.mean_ + np.linalg.lstsq(D.T, off)[0]  # the shortest way there
        return other

    def log_priors(self) -> Array:
        """Logarithms of the prior probabilities of the classes."""
        check.check_fitted(self, "directions_")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.priors_))

    def likelihood(self) -> ClassLikelihood:
        """What samples of a class, and of someone else, look like in the coordinates."""
        return ClassLikelihood(**{k: getattr(self, f"{k}_") for k in LIKELIHOOD})

    def known_classes(self) -> KnownClasses:
        """What is known of the classes, in the coordinates."""
        return KnownClasses(self.class_means_, self.class_count_, self.enrolled_)

    def coordinates(self) -> Any:
        """What gives the coordinates of samples in memory, and can be sent to other processes."""
        steps = None
        if self.projector_ is not None:
            steps = (self.projector_.projections_, self.projector_._centre())
        return partial(coordinates, steps=steps, mean=self.mean_, directions=self.directions_)

    def _of_scores(self, X: Any, finish: Any) -> Array:
        check.check_fitted(self, "directions_")
        X = check.check_samples(self, X)
        scores = partial(self.likelihood().scores, known=self.known_classes())
        measure = partial(in_turn, measure=self.coordinates(), finish=scores)
        return over_blocks(X, partial(in_turn, measure=measure, finish=finish))


def _tell_apart(labels: Array, weight: Array) -> bool:
    """Whether there are samples of two classes, and two of one of them."""
    counts = np.bincount(np.unique(labels, return_inverse=True)[1], weights=weight)
    return bool((counts > 0).sum() > 1 and (counts > 1).any())


def _coordinates(Y: Array, counted: Any) -> tuple[Array, Array | None, Array]:
    """The mean of the samples that count, a basis of their span, and all samples in it."""
    with one_thread_for_small(min(Y.shape)):
        origin, basis = span(Y[counted])
    return origin, basis, (Y - origin) if basis is None else (Y - origin) @ basis


def _warn_of_one_group(share: float) -> None:
    """Say so where more than half of the samples are held out together."""
    if share > 0.5:
        warnings.warn(
            f"{share:.0%} of the samples are held out together, because they share one group, or "
            "one pattern that is far larger than what they differ by; so what held-out samples "
            "choose is a guess. Take the pattern away before (ModeScaler, or subtract the mean "
            "sample), or pass other groups",
            UserWarning,
            stacklevel=5,
        )

"""The bases of all methods: how they learn from one batch, from many or from moments, and are used.

`fit` makes statistics of the samples, `partial_fit` adds to those it has, and both then solve the
problem that the parameters describe. An estimator is changed when all of it has worked.

What was learned is a value: frozen, and nothing but fields. Solving gives a `Solution`, a stack; a
method makes a `Model` of it. An estimator shows the fields of its model with an underscore at the
end, and a file holds them: there is no other list of what was learned. A method that learns more
derives a value with more fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from math import ceil, prod, sqrt
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from tenfold.linalg.arrays import Array
from tenfold.linalg.constants import KEPT_MOMENTS, MEDIUM
from tenfold.linalg.solvers import SOLVERS, null_space
from tenfold.methods.saving import save
from tenfold.optimization.alternation import Recipe, Solution, solve
from tenfold.optimization.criteria import (
    Problem,
    patterns_of,
    ranks_of_shares,
)
from tenfold.quiet import warn
from tenfold.serialization.values import Axes, check_agree
from tenfold.statistics.class_statistics import ClassStatistics, MomentStatistics
from tenfold.statistics.cost import moments_of, statistics_of, tables_fit
from tenfold.statistics.moments import ClassMoments, check_decay
from tenfold.statistics.stores import OfBlock, Range, over_blocks
from tenfold.statistics.subspace import projected, reconstructed
from tenfold.threads import one_thread, threads_for
from tenfold.validation import parameters
from tenfold.validation import samples as check
from tenfold.validation.labels import (
    check_known_labels,
    check_same_classes,
    present_labels,
)
from tenfold.validation.named_axes import labelled_like
from tenfold.validation.parameter_types import (
    ClassRanks,
    InitName,
    OutputName,
    Ridge,
    SampleShape,
    VectorSolverName,
)
from tenfold.validation.parameters import Number
from tenfold.validation.samples import InputInfo, Samples

Labels = Annotated[Array, "labels"]
Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """One projection per mode, and how they were found.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The labels, sorted.
    class_count : ndarray of shape (C,)
        How many samples of each class there were; sums of weights.
    projections : list of K ndarrays of shape (I_k, r_k)
        One projection per mode.
    ranks : tuple of K ints
        Their numbers of columns.
    objective : ndarray of shape (n_iter,)
        The objective after each round.
    n_iter : int
        Rounds made.
    converged : bool
        Whether the objective converged.
    patterns : list of K ndarrays of shape (I_k, r_k)
        What each column of a projection stands for in the samples; empty for members of a bank.
    """

    classes: Labels
    class_count: Annotated[Array, Axes("C")]
    projections: list[Array]
    ranks: Shape
    objective: Annotated[Array, Axes("n_iter")]
    n_iter: int
    converged: bool
    patterns: list[Array] = field(default_factory=list)

    @classmethod
    def of(cls, statistics: ClassStatistics, solution: Solution, number: int, **more: Any) -> Self:
        """The model at this place in the stack of a solution, and more that was learned."""
        projections = solution.columns(number)
        return cls(
            classes=statistics.classes,
            class_count=statistics.counts,
            projections=projections,
            ranks=tuple(W.shape[1] for W in projections),
            objective=solution.objective[number, : solution.n_iter[number]],
            n_iter=int(solution.n_iter[number]),
            converged=bool(solution.converged[number]),
            **more,
        )


class Savable:
    """An estimator whose learned attributes can be saved: those that end with an underscore."""

    sample_shape_: Shape
    n_features_in_: int
    feature_names_in_: Annotated[Labels, Axes("I")]
    mode_names_: tuple[str, ...]  # of samples with named axes, such as a DataArray
    mode_labels_: list[object]  # what the entries of each mode are called; None where they are not
    range_: Annotated[Array, Axes(2)]  # the least and largest number of all training samples
    _is_stream = False  # whether `moments_` are those of `partial_fit`, which goes on with them
    takes_gaps = False  # whether NaN may come
    _knows_range = True  # whether it warns of samples that are far outside of `range_`
    # What goes where a new fit comes, beside what ends with an underscore.
    _goes_with_fit: ClassVar[tuple[str, ...]] = ("_is_stream", "_stacked")

    def __getstate__(self) -> dict[str, object]:
        """The state for a pickle: the moments that `fit` keeps in memory are left out."""
        state: dict[str, object] = dict(super().__getstate__())  # type: ignore[call-overload]
        if not self._is_stream:
            state.pop("moments_", None)
        return state

    def _learned_attributes(self) -> dict[str, object]:
        """What was learned, by name."""
        return {k: v for k, v in vars(self).items() if k.endswith("_") and k[0] != "_"}

    def _set_fitted(
        self,
        input_info: InputInfo,
        model: object = None,
        moments: ClassMoments | None = None,
        **more: object,
    ) -> Self:
        """Replace all that was learned: the fields of a model are shown as attributes.

        It is one assignment, so that an interrupt leaves the old model or the new one.
        """
        state = {
            name: value
            for name, value in vars(self).items()
            if name not in self._goes_with_fit and (name[0] == "_" or name[-1] != "_")
        }
        state.update(input_info)
        if isinstance(state.get("range_"), Range):  # of samples that were read in blocks
            state["range_"] = state["range_"].bounds()
        if model is not None:
            state.update((f"{name}_", value) for name, value in vars(model).items())
        if moments is not None:
            state["moments_"] = moments
        self.__dict__ = state | more
        return self

    def _sizes(self) -> dict[str, Shape]:
        """What the names of axes stand for, in what is declared of its learned attributes."""
        return {}

    def _check_learned(self) -> None:
        """Refuse what was learned, from a file, where more than sizes does not fit together."""

    save = save


class Learner(Savable, BaseEstimator):
    """Base of everything that is learned from class statistics.

    A subclass says which projectors are solved (`_members`) and which value is made of the
    solutions (`_model`). The fields of that value are the learned attributes, with an underscore
    at the end; a model file holds these and no others.
    """

    _needs_labels = True
    _has_patterns = False  # whether what is projected is the sample itself, and worth a pattern

    classes_: Labels
    moments_: ClassMoments

    # -- what a subclass says --------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Validate parameters: those that are declared, and what they must be together."""
        parameters.check_declared(self)

    def _members(self, classes: Array) -> Sequence[TensorProjector]:
        """The projectors that are solved as one stack: this one, or of a bank one per class."""
        raise NotImplementedError

    def _model(
        self, statistics: ClassStatistics, solution: Solution, numbers: Array, shape: Shape
    ) -> Any:
        """What was learned from samples of this shape.

        `numbers` are the places of its models in the stack of the solution.
        """
        raise NotImplementedError

    def _warn_of(self, model: Any) -> None:
        """Warn of what was guessed for a model, and of directions that it lacks."""

    def _is_learnable(self, moments: ClassMoments) -> bool:
        """Whether the moments hold samples of all the classes that it needs."""
        return not self._needs_labels or int((moments.counts > 0).sum()) > 1

    # -- fitting ---------------------------------------------------------------------------------

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Learn from one batch.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples; with `sample_shape` also flat rows of shape (n, I). A store (a memory
            map, a Zarr array, an HDF5 dataset) is read block by block and never as a whole.
        y : array-like of shape (n,)
            Class labels; MPCA does not look at them.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights. A weight of 2 is the same as having the sample twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        info, samples, labels, weight = check.check_first_batch(self, X, y, sample_weight)
        classes = present_labels(labels, weight)
        members = self._members(classes)
        method = members[0]
        info, samples = method._map_samples(info, samples, weight)
        shape = samples.shape[1:]
        ranks = np.array([[member._asked_ranks(shape, classes)[0]] for member in members])
        rounds = method._recipe().expected_rounds(len(shape))
        memory = parameters.memory_budget()
        # Several threads are slower on few vectors, and on tensors with few numbers in all.
        amount = len(samples) if len(shape) == 1 else prod(samples.shape)
        with one_thread(amount <= MEDIUM):
            statistics = statistics_of(samples, labels, weight, classes, ranks, rounds, memory)
        # Small moments stay in memory, so that `partial_fit` can go on after a `fit`.
        are_small = 8 * len(classes) * prod(shape) ** 2 <= KEPT_MOMENTS
        is_kept = method._streams and are_small and tables_fit(shape, len(classes), memory)
        if not is_kept:
            del samples  # as a kernel sees them they may be a copy: it goes before the solution
            return self._set_fitted(info, self._learn(statistics, info["sample_shape_"]))
        model = self._learn(statistics, info["sample_shape_"])
        if isinstance(statistics, MomentStatistics):
            return self._set_fitted(info, model, statistics.moments)
        return self._set_fitted(info, model, moments_of(samples, labels, weight, classes))

    def partial_fit(
        self,
        X: object,
        y: object = None,
        classes: ArrayLike | None = None,
        sample_weight: object = None,
        *,
        decay: float = 1.0,
    ) -> Self:
        """Add a batch to what was learned: however you batch the data, the result equals one `fit`.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples of this batch.
        y : array-like of shape (n,)
            Class labels.
        classes : array-like of shape (C,), default=None
            All labels that will ever come. Only needed in the first call, and only when its
            batch lacks some of them; a later call may repeat them.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights.
        decay : float above 0 and up to 1, default=1.0
            What the weights of all earlier samples are multiplied by: 1 forgets nothing. In the
            long run some ``1 / (1 - decay)`` batches count.

        Returns
        -------
        self
            The updated estimator. Until samples of all the classes that it needs have come, it
            gathers moments, and using it raises `NotFittedError`. After a `fit` it goes on only if
            that kept the moments of its samples, as it does where they take no more than 64 KiB.
        """
        self._check_parameters()
        first = not hasattr(self, "sample_shape_")
        if first:
            info, samples, labels, weight = check.check_first_batch(
                self, X, y, sample_weight, classes
            )
            known = present_labels(labels, weight)
            if labels is not None and classes is not None:
                known = np.unique(classes)
        else:
            check_same_classes(classes if self._needs_labels else None, self.classes_)
            samples, labels, weight = check.check_batch(self, X, y, sample_weight)
            info, samples = check.input_info_with(self, samples)
            known = self.classes_
        check_known_labels(None if labels is None else present_labels(labels, weight), known)
        factor = check_decay("decay", decay)
        size = prod(samples.shape[1:])
        if first:
            parameters.announce_tables(len(samples), size, len(known))
        else:
            so_far = check.check_kept_moments(self)
            parameters.check_tables_fit(size, len(known))
        info, samples = self._members(known)[0]._map_samples(info, samples, weight)
        moments = moments_of(samples, labels, weight, known)
        if not first:
            moments = self._added(so_far, factor, moments)
        if not self._is_learnable(moments):
            return self._set_fitted(info, None, moments, _is_stream=True, classes_=known)
        model = self._learn(MomentStatistics.of(moments), info["sample_shape_"])
        return self._set_fitted(info, model, moments, _is_stream=True)

    def fit_moments(self, moments: ClassMoments) -> Self:
        """Learn from moments that are gathered already; no samples are read.

        Parameters
        ----------
        moments : ClassMoments
            Of all samples, as `gather_moments`, `gather_batches`, `load_moments` or ``+``
            give them.

        Returns
        -------
        self
            The fitted estimator, with `moments_`.
        """
        self._check_parameters()
        input_info, moments = check.check_moments(self, moments)
        if self._members(moments.classes)[0]._flattens:
            moments = replace(moments, means=moments.means.reshape(len(moments.means), -1))
        model = self._learn(MomentStatistics.of(moments), input_info["sample_shape_"])
        return self._set_fitted(input_info, model, moments)

    # -- the steps -------------------------------------------------------------------------------

    def _learn(self, statistics: ClassStatistics, shape: Shape) -> Any:
        """The model of samples of this shape: scatters, solution, model, patterns.

        The estimator itself does not change.
        """
        members = self._members(statistics.classes)
        problems = [member._problem(statistics) for member in members]  # pairs such as S_O and S_I
        problem = Problem.stacked(problems)
        of_stacks = isinstance(statistics, MomentStatistics) or len(problem) > 1
        with threads_for(problem.shape, of_stacks, len(problem)) as threads:
            solution = solve(problem, members[0]._recipe(), threads)  # Algorithm 1
            model = self._model(statistics, solution, np.arange(len(problem)), shape)
        members[0]._warn_unless_converged(solution)
        self._warn_of(model)
        if not self._has_patterns:
            return model
        return replace(model, patterns=patterns_of(statistics, model.projections))

    def _added(self, so_far: ClassMoments, factor: float, batch: ClassMoments) -> ClassMoments:
        """The moments so far, of which some is forgotten, and those of a batch."""
        if factor == 1:
            return so_far.plus(batch, inplace=True)
        moments = so_far.decay(factor) + batch
        if not self._is_learnable(moments) and self._is_learnable(so_far + batch):
            left = moments
            came = (so_far + batch).counts > 0
            rarest = np.where(came, left.counts, np.inf).argmin()
            raise ValueError(
                f"decay forgets too much: of class {left.classes[rarest]!s} it leaves a weight "
                f"of {left.counts[rarest]:.2g}, and {left.count:.2g} in all (weights are "
                "counts of samples); pass samples of that class, larger batches or a decay nearer "
                "to 1, or start anew without that class"
            )
        return moments

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


class FixedParameters:
    """What a method has without a parameter of that name; no dataclass, so these are no fields."""

    solver: VectorSolverName = "ratio_trace"
    orthonormal: bool = True
    ridge: Ridge = 0.0
    max_iter: int = 100
    tol: float = 1e-3
    init: InitName | None = "identity"


@dataclass(eq=False, repr=False)
class TensorProjector(FixedParameters, TransformerMixin, Learner):
    """Base of all methods: one projection matrix per mode.

    A method says in `_problem` which scatters it maximises and minimises; everything else is here,
    such as how that is solved (`_recipe`).
    Parameters that a method does not have are those of `FixedParameters`.
    """

    _flattens = False  # whether samples are treated as vectors
    _streams = True  # whether moments of parts of the samples can be added
    _alternates = True  # whether a mode waits for the solutions of the others
    _has_patterns = True
    _auto_ridge: ClassVar[float | None] = None  # what ridge="auto" stands for before any choice
    _value: ClassVar[type] = Model  # what `_model` gives
    _output_kind = "projection"  # what it says of a sample
    _in_words = "a method such as MPCA() or CMDA()"  # for who expects one of this kind
    _allowed: ClassVar[parameters.Allowed] = {
        "solver": tuple(SOLVERS),
        "orthonormal": (True, False),
        "max_iter": (Number(1, whole=True),),
        "tol": (Number(0),),
        "init": ("ones", "identity"),
        "output": ("flat", "tensor"),
    }

    ranks: ClassRanks = None
    _: KW_ONLY
    sample_shape: SampleShape = None
    output: OutputName = "flat"
    # What was learned: the fields of `Model`.
    class_count_: Array = field(init=False)
    projections_: list[Array] = field(init=False)
    ranks_: Shape = field(init=False)
    objective_: Array = field(init=False)
    n_iter_: int = field(init=False)
    converged_: bool = field(init=False)
    patterns_: list[Array] = field(init=False)

    # -- what a method may say -------------------------------------------------------------------

    def _problem(self, statistics: ClassStatistics) -> Problem:
        """The problem that the parameters describe."""
        raise NotImplementedError

    def _map_samples(
        self, input_info: InputInfo, X: Samples, weight: Array | None
    ) -> tuple[InputInfo, Samples]:
        """What is known of the samples, and the samples that the method solves for.

        CSDA flattens them here, and KernelCSDA learns and applies its map.
        """
        return input_info, X.reshape(len(X), -1) if self._flattens else X

    def _default_ranks(self, shape: Shape, classes: Array) -> Shape:
        """The square root of each size, rounded up; modes of up to three entries stay whole."""
        return tuple(max(ceil(sqrt(size)), min(size, 3)) for size in shape)

    def _centre(self) -> Array | None:
        """What is subtracted before projecting: nothing, as in eq. 6."""
        return None

    def _seen_shape(self) -> Shape:
        """The shape of a sample as it is projected."""
        return (self.n_features_in_,) if self._flattens else self.sample_shape_

    def _sizes(self) -> dict[str, Shape]:
        """The shape of a mean, and the number of rounds."""
        return {"point": self.sample_shape_, "n_iter": (self.n_iter_,)}

    def _check_learned(self) -> None:
        """Refuse projections and patterns that do not fit the samples and the ranks."""
        seen = self._seen_shape()
        wanted = tuple(zip(self._seen_shape(), self.ranks_, strict=False))
        for name, own in (("projections_", self.projections_), ("patterns_", self.patterns_)):
            if not all(getattr(W, "dtype", "O") in ("f8", "f4") for W in own):
                raise ValueError(f"its {name} are not arrays of floats")
            if own or name == "projections_":
                check_agree(name, tuple(W.shape for W in own), wanted)
        check_agree("ranks_", len(self.ranks_), len(seen))

    def _on_samples(self, work: OfBlock) -> OfBlock:
        """`work` on samples as they come, where it was made for samples as they are projected."""
        return work

    # -- what a learner says ---------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Validate parameters."""
        parameters.check_declared(self)
        parameters.check_ridge(self.ridge, self._auto_ridge)

    def _members(self, classes: Array) -> Sequence[TensorProjector]:
        """The projector itself."""
        return [self]

    def _asked_ranks(self, shape: Shape, classes: Array) -> tuple[Shape, dict[int, float]]:
        """A rank per mode, and the modes whose rank follows from a share of scatter.

        These modes keep their full size until `_settings` has computed the rank.
        """
        asked: object = self.ranks
        if isinstance(asked, Mapping):  # of a class-specific method, ranks of each class
            positive = parameters.check_positive(getattr(self, "positive", None), classes)
            asked = parameters.ranks_of_class(asked, classes[positive])
        if asked is None:
            return self._default_ranks(shape, classes), {}
        return parameters.check_ranks(asked, shape)

    def _settings(self, statistics: ClassStatistics) -> dict[str, Any]:
        """Ranks and ridge of its problem; shares of scatter are turned into ranks here."""
        ranks, shares = self._asked_ranks(statistics.given.means.shape[1:], statistics.classes)
        if shares:
            found = dict(enumerate(ranks)) | ranks_of_shares(statistics, shares)
            ranks = tuple(found.values())
        return {"ranks": ranks, "ridge": parameters.check_ridge(self.ridge, self._auto_ridge)}

    def _recipe(self) -> Recipe:
        """How its problem is solved."""
        return Recipe(
            solver=null_space if self.solver == "null_space" else SOLVERS[self.solver],
            orthonormal=self.orthonormal,
            init=self.init or "ones",
            direct=not self._alternates,
            max_iter=self.max_iter,
            tol=self.tol,
        )

    def _model(
        self, statistics: ClassStatistics, solution: Solution, numbers: Array, shape: Shape
    ) -> Model:
        """What was learned from samples of this shape: the model at one place of a stack."""
        return Model.of(statistics, solution, int(numbers[0]))

    def _warn_unless_converged(self, solution: Solution) -> None:
        """Warn of models that still moved in the last round."""
        n = len(solution.converged)
        late = int((~solution.converged).sum())
        if late and self.tol > 0:
            name = type(self).__name__
            who = name if n == 1 else f"{late} of {n} {name} models"
            warn(
                f"the objective of {who} still changed by more than tol={self.tol:g} of it in "
                f"round {self.max_iter}; raise max_iter, or add shrinkage or ridge, without which "
                "a scatter that is nearly singular takes very many rounds",
                ConvergenceWarning,
            )

    # -- using -----------------------------------------------------------------------------------

    @property
    def members_(self) -> list[TensorProjector]:
        """The fitted projectors of the model: this one."""
        check.check_fitted(self, "projections_")
        return [self]

    def _class_scores(self, X: object) -> Array:
        """Scores (n, c) of the classes that it was learned for; most methods have none."""
        raise TypeError(
            f"{type(self).__name__} gives no scores: it learns one subspace for all classes; "
            "score with MCSDA, CSDA, ClassSpecificVerifier, ClassSpecificClassifier or "
            "ProbabilisticLDA"
        )

    def transform(self, X: object) -> Array:
        """Project samples onto the learned subspaces (eq. 6).

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, I_1, ..., I_K)
            The samples.

        Returns
        -------
        array of shape (n, r_1 * ... * r_K), or (n, r_1, ..., r_K) with output="tensor"
            The projected samples; float32 samples give float32. A Dask array gives a lazy one, a
            DataArray of xarray a DataArray with the same sample axis.
        """
        check.check_fitted(self, "projections_")
        flat = self.output == "flat"
        container = check.check_output(self, 2 if flat else 1 + len(self.ranks_))
        work = partial(projected, projections=self.projections_, centre=self._centre(), flat=flat)
        samples = check.check_samples(self, X)
        found = over_blocks(samples, self._on_samples(work))
        return labelled_like(X, found, self, container)

    def inverse_transform(self, X: object) -> Array:
        """Map projected samples back to the space of the samples, by least squares.

        Parameters
        ----------
        X : array-like, store or Dask array of shape (n, r_1 * ... * r_K) or (n, r_1, ..., r_K)
            Projected samples.

        Returns
        -------
        array of shape (n, I_1, ..., I_K), or flat rows when flat rows were fitted
            The samples of the subspace with these projections.
        """
        check.check_fitted(self, "projections_")
        Y = check.check_projected(X, self.ranks_)
        folded = self.sample_shape is not None and self.output == "flat"
        shape = (prod(self.sample_shape_),) if folded else self.sample_shape_
        own = self.projections_
        centre = self._centre()
        return over_blocks(Y, partial(reconstructed, projections=own, centre=centre, shape=shape))

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """What each number of a flat projected sample is called.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.

        Returns
        -------
        ndarray of str objects
            The method, and for every mode its name and the column, counted from 0:
            "cmda_channel0_time3" where the axes of the samples were named,
            "cmda_mode0_0_mode1_3" where they were not, and "cmda0" for vectors.
        """
        check.check_fitted(self, "projections_")
        word = type(self).__name__.lower()
        ranks = self.ranks_
        if len(ranks) == 1:
            return np.array([f"{word}{j}" for j in range(*ranks)], dtype=object)
        modes = getattr(self, "mode_names_", None) or [f"mode{k}_" for k in range(len(ranks))]
        names = [
            "_".join([word, *(f"{mode}{j}" for mode, j in zip(modes, place, strict=True))])
            for place in np.ndindex(*ranks)
        ]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

"""Class-specific kernel discriminant analysis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from tenfold.linalg.arrays import Array, to_numpy
from tenfold.linalg.bases import KernelBasis
from tenfold.methods.base import Learner, Shape, TensorProjector
from tenfold.methods.class_specific import ClassModel, ClassSpecificProjector
from tenfold.optimization.alternation import Solution
from tenfold.serialization.values import Axes
from tenfold.statistics.accumulate import row_blocks
from tenfold.statistics.class_statistics import ClassStatistics
from tenfold.statistics.stores import OfBlock, Source, over_blocks
from tenfold.validation import parameters
from tenfold.validation.parameter_types import Kernel, Numeric, RandomState, SolverName, Whole
from tenfold.validation.parameters import Number
from tenfold.validation.samples import InputInfo

MOST_EXACT = 2000  # samples; their basis takes a second or two
MANY_LANDMARKS = 1000
COORDINATE_BYTES = 2**22  # of a block of samples with its kernel, of which a kernel makes copies
KERNEL_TABLES = 17  # of n x n, that a model of the kernel of n samples takes while it is solved
SHIFTED = ("rbf", "laplacian")  # know differences only: an offset of all samples costs no digits


def _takes_parts(model: KernelCSDA) -> bool:
    raise ValueError(
        "KernelCSDA learns from all samples at once: they span its space; use fit, or put a map "
        "that is fitted already, such as sklearn.kernel_approximation.Nystroem, before CSDA"
    )


def _has_images(model: KernelCSDA) -> bool:
    raise ValueError(
        "a point of the space of a kernel need not be the image of any sample; use CSDA to "
        "reconstruct"
    )


@dataclass(eq=False, repr=False, kw_only=True)
class KernelCSDA(ClassSpecificProjector):
    """Class-specific kernel discriminant analysis: `CSDA` in the space of a kernel.

    A kernel k(x, y) is an inner product in another space. The samples get coordinates there, in a
    basis of the span of the training samples (`landmarks_`), and `CSDA` learns from these. A bank
    and a verifier compute the kernel once for all of their models.

    Parameters
    ----------
    ranks : int, float or None, default=None
        Dimensions kept; a float such as 0.95 is the share of the total scatter to keep. None takes
        the square root of the number of coordinates, rounded up.
    sample_shape : tuple of K ints or None, default=None
        Fold flat rows of X into tensors of this shape; the kernel sees vectors all the same.
    output : {"flat", "tensor"}, default="flat"
        The same here: samples are vectors.
    positive : label or None, default=None
        The class of interest; None means the last of the sorted classes, and says so if there are
        more than two.
    ridge : float or ("absolute", float), default=1e-2
        As in `CSDA`, in the space of the kernel, whose mean eigenvalue is that of the coordinates.
    shrinkage : float or "auto", default=0.5
        As in `CSDA`, in the space of the kernel.
    orthonormal : bool, default=False
        Whether the columns are orthonormalised in the space of the kernel.
    solver : {"ratio_trace", "trace_ratio", "trace_difference"}, default="ratio_trace"
        How the pair of scatters is solved.
    negatives : {"samples", "means"}, default="samples"
        What is to be far from the positive mean: all other samples, or the means of their classes.
    kernel : str or callable, default="rbf"
        A kernel of `sklearn.metrics.pairwise.pairwise_kernels`: "rbf", "poly", "linear",
        "laplacian", "cosine", ...; or a callable of two vectors.
    gamma : float or "scale", default="scale"
        The factor of "rbf", "poly", "laplacian" and "sigmoid". "scale" is one over the mean
        squared distance of the training samples from their mean, so that the units of the data do
        not matter: two samples are e^-2 alike on average.
    degree : float, default=3
        Of "poly".
    coef0 : float, default=1
        Of "poly" and "sigmoid".
    n_landmarks : int, None or "auto", default="auto"
        None is exact: all training samples span the space. A number takes the span of so many of
        them, drawn at random (Nyström), which costs so much less for many samples. "auto" is exact
        up to 2000 samples, and draws 1000 of more.
    random_state : int, RandomState or None, default=0
        Draws the landmarks.

    Attributes
    ----------
    landmarks_ : ndarray of shape (m, I)
        The samples that span the space.
    basis_ : ndarray of shape (m, d)
        ``k(x, landmarks_) @ basis_`` are the coordinates of x.
    gamma_ : float
        The factor used.
    projections_ : list of one ndarray of shape (d, r)
        The projection of these coordinates.
    ranks_ : tuple of one int
        The rank used: less than asked for when there are fewer useful directions.
    mean_ : ndarray of shape (d,)
        Coordinates of the mean of the positive class.
    other_mean_ : ndarray of shape (d,)
        Coordinates of the mean of all other samples.
    contrasts_, offset_, anchors_ : ndarray of shape (0, 0), float, ndarray of shape (2,)
        What a likelihood ratio would be made of, as in `CSDA`; empty and 0, since distances decide.
    positive_index_ : int
        The position of the positive class among `classes_`.
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    sample_shape_ : tuple of K ints
        The shape of a sample.
    objective_ : ndarray of shape (1,)
        ``tr(W^T S_O W) / tr(W^T S_I W)``, with the ridge in its denominator.

    Notes
    -----
    There is no `inverse_transform`: a point of the space of a kernel is not the image of a sample.
    There is no `partial_fit`: the space is spanned by samples that must be there first. For a
    stream, put a map that is fitted already before `CSDA`, such as scikit-learn's ``Nystroem``:
    ``csda.partial_fit(nystroem.transform(X), y)``.

    References
    ----------
    G. Goudelis, S. Zafeiriou, A. Tefas, I. Pitas, "Class-specific kernel-discriminant analysis
    for face verification", IEEE Transactions on Information Forensics and Security, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import KernelCSDA
    >>> X, y = load_digits().images, load_digits().target
    >>> model = KernelCSDA(ranks=16, positive=8, n_landmarks=200).fit(X[:900], y[:900])
    >>> round(model.score(X[900:], y[900:]), 2)
    0.99
    """

    solver: SolverName = "ratio_trace"
    kernel: Kernel = "rbf"
    gamma: Numeric | Literal["scale"] = "scale"
    degree: Numeric = 3
    coef0: Numeric = 1
    n_landmarks: Whole | Literal["auto"] | None = "auto"
    random_state: RandomState = 0
    landmarks_: Annotated[Array, Axes("landmarks", "I")] = field(init=False)
    basis_: Annotated[Array, Axes("landmarks", "coordinates")] = field(init=False)
    gamma_: float = field(init=False)

    _flattens = True
    _streams = False
    _has_patterns = False
    max_iter = 1

    _allowed: ClassVar = {
        "kernel": (*sorted(KERNEL_PARAMS), Callable),
        "gamma": ("scale", Number(float(np.finfo(float).tiny))),
        "degree": (Number(0),),
        "n_landmarks": ("auto", None, Number(1, whole=True)),
    }

    # -- the change of basis ---------------------------------------------------------------------

    def _map_samples(
        self, input_info: InputInfo, X: Any, weight: Array | None
    ) -> tuple[InputInfo, Array]:
        """The basis, and the coordinates of the samples in it."""
        rows = np.arange(len(X)) if weight is None else np.flatnonzero(weight)
        n_landmarks: Any = self.n_landmarks
        if n_landmarks == "auto":
            n_landmarks = None if len(rows) <= MOST_EXACT else MANY_LANDMARKS
        exact = n_landmarks is None or n_landmarks >= len(rows)
        if exact:
            parameters.check_memory(
                f"the kernel of all pairs of {len(rows)} samples",
                KERNEL_TABLES * 8 * len(rows) ** 2,
                "pass n_landmarks, such as 1000",
            )
        else:
            drawn = check_random_state(self.random_state).permutation(len(rows))
            rows = np.sort(rows[drawn[:n_landmarks]])
        points = _vectors(X[rows])
        gamma = self._gamma(points, None if weight is None else weight[rows])
        basis = KernelBasis.of(self._kernel(gamma)(points, points))
        learned = {"gamma_": gamma, "landmarks_": points[basis.chosen], "basis_": basis.matrix}
        if exact and len(rows) == len(X):
            return {**input_info, **learned}, basis.coordinates
        # These hold tables of all pairs of landmarks; what is needed of them is in `learned`.
        del basis, points
        seen = self._coordinates(learned)
        return {**input_info, **learned}, to_numpy(over_blocks(X, seen))

    def _on_samples(self, work: OfBlock) -> OfBlock:
        """`work` on samples as they come: it gets their coordinates."""
        return partial(after, first=self._coordinates(vars(self)), then=work)

    def _coordinates(self, learned: Any) -> OfBlock:
        kernel = self._kernel(learned["gamma_"])
        return partial(
            coordinates, kernel=kernel, points=learned["landmarks_"], basis=learned["basis_"]
        )

    def _gamma(self, points: Array, weight: Array | None) -> float:
        if self.gamma != "scale":
            return float(self.gamma)
        about = points - np.average(points, axis=0, weights=weight)
        square = float(np.average((about**2).sum(axis=1), weights=weight))
        return 1 / square if square > 0 else 1.0

    def _kernel(self, gamma: float) -> Callable[[Array, Array], Array]:
        settings = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        own = {} if callable(self.kernel) else settings
        return partial(kernel_of, metric=self.kernel, settings=own)

    # -- what is learned -------------------------------------------------------------------------

    def _subspace(
        self, statistics: ClassStatistics, solution: Solution, number: int, shape: Shape
    ) -> ClassModel:
        """What was learned; signs do not depend on the basis, which is one of many."""
        own = super()._subspace(statistics, solution, number, statistics.given.means.shape[1:])
        (W,) = own.projections
        turned = np.where((own.mean - own.other_mean) @ W > 0, -1.0, 1.0)
        return replace(own, projections=[W * turned])

    def _seen_shape(self) -> Shape:
        """The shape of a sample as it is projected: its coordinates."""
        return self.basis_.shape[1:]

    def _sizes(self) -> dict[str, Shape]:
        """Means are points of the space of the kernel; a basis has a row for every landmark."""
        return super()._sizes() | {"point": self._seen_shape()}

    inverse_transform = available_if(_has_images)(TensorProjector.inverse_transform)
    partial_fit = available_if(_takes_parts)(Learner.partial_fit)
    fit_moments = available_if(_takes_parts)(Learner.fit_moments)


def kernel_of(X: Array, Y: Array, metric: Any, settings: dict[str, Any]) -> Array:
    """A kernel of scikit-learn for all pairs."""
    if metric in SHIFTED:
        origin = Y.mean(axis=0)
        X = X - origin
        Y = Y - origin
    return np.asarray(pairwise_kernels(X, Y, metric=metric, filter_params=True, **settings))


def coordinates(
    X: Array, kernel: Callable[[Array, Array], Array], points: Array, basis: Array
) -> Array:
    """Coordinates (n, d) of samples in a basis of the span of some points, in their precision."""
    X = to_numpy(X)
    found = np.empty((len(X), basis.shape[1]), np.float32 if X.dtype == np.float32 else float)
    for rows in row_blocks(len(X), 8 * (len(basis) + X[:1].size), COORDINATE_BYTES):
        found[rows] = kernel(_vectors(X[rows]), points) @ basis
    return found


def after(X: Array, first: OfBlock, then: OfBlock) -> Array:
    """What `then` makes of what `first` makes of samples."""
    return np.asarray(then(first(X)))


def _vectors(X: Any) -> Array:
    X = X.in_memory() if isinstance(X, Source) else X
    return np.asarray(X.reshape(len(X), -1), dtype=float)

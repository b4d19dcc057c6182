"""What parameters may be, for type checkers and editors: one alias for each kind of parameter.

The same choices are checked when an estimator is fitted, by `tenfold.validation.parameters`.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Whole: TypeAlias = int | np.integer[Any]
Numeric: TypeAlias = float | np.floating[Any] | np.integer[Any]

# Dimensions that are kept of each mode: one for all, or one per mode; a float is the share of the
# scatter to keep, None chooses them.
Ranks: TypeAlias = Numeric | Sequence[Numeric] | npt.NDArray[Any] | None
ClassRanks: TypeAlias = Ranks | Mapping[Any, Ranks]  # every class may have ranks of its own
SampleShape: TypeAlias = Whole | Sequence[Whole] | npt.NDArray[Any] | None
Modes: TypeAlias = int | Sequence[int] | npt.NDArray[Any]
Label: TypeAlias = Hashable  # None, too

Ridge: TypeAlias = Numeric | Literal["auto"] | tuple[Literal["absolute"], Numeric]
Shrinkage: TypeAlias = Numeric | Literal["auto"]

SolverName: TypeAlias = Literal["ratio_trace", "trace_ratio", "trace_difference"]
VectorSolverName: TypeAlias = SolverName | Literal["null_space"]
InitName: TypeAlias = Literal["ones", "identity"]
OutputName: TypeAlias = Literal["flat", "tensor"]
Negatives: TypeAlias = Literal["samples", "means", "both"] | None
Decision: TypeAlias = Literal["likelihood_ratio", "distance"]
Normalize: TypeAlias = Literal["others", "own", False]
Keep: TypeAlias = Literal["mean", "spread", "both"] | None

Kernel: TypeAlias = str | Callable[..., float]
RandomState: TypeAlias = Whole | np.random.RandomState | None


Indices: TypeAlias = npt.NDArray[np.integer[Any]] | Sequence[int]


class Splitter(Protocol):
    """What deals samples to folds, as the splitters of scikit-learn do."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Indices, Indices]]:
        """Pairs of indices: of training and of test samples."""
        ...


Folds: TypeAlias = Whole | Splitter | Iterable[tuple[Indices, Indices]]

"""Checks of the parameters of estimators: what came, what was expected, what to do.

A class declares in `_allowed` what each of its parameters may be, and `check_declared` compares;
what depends on the data, or on other parameters, has a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from sklearn import get_config

from tenfold.linalg.algebra import Array
from tenfold.quiet import warn
from tenfold.validation.parameter_types import Modes

LARGE_TABLES = 2**28  # bytes of moments from which their size is said before

Allowed = Mapping[str, Sequence[object]]  # what the parameters of a class may be, by name


class ParameterError(ValueError):
    """A parameter that is not what it may be.

    Parameters
    ----------
    message : str
        What came, what was expected, what to do.
    parameter : str, default=""
        Its name.
    given : object, default=None
        What came.
    allowed : sequence, default=()
        What it may be, where these are few.

    Examples
    --------
    >>> from tenfold.validation.parameters import ParameterError, check_option
    >>> try:
    ...     check_option("solver", "ratio", ("ratio_trace", "trace_ratio"))
    ... except ParameterError as error:
    ...     print(error.parameter, error.given, error.allowed)
    solver ratio ('ratio_trace', 'trace_ratio')
    """

    def __init__(
        self,
        message: str,
        parameter: str = "",
        given: object = None,
        allowed: Sequence[object] = (),
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.given = given
        self.allowed = tuple(allowed)


def plain(label: object) -> Any:
    """A label as people write it: 0, not np.int64(0)."""
    return label.item() if isinstance(label, np.generic) else label


def check_one_label(positive: object) -> None:
    """One label, or None."""
    if isinstance(positive, Iterable) and not isinstance(positive, str):
        raise ParameterError(
            f"positive is {positive!r}; expected one label; for several classes use "
            "ClassSpecificClassifier, or give them one label of their own",
            "positive",
            positive,
        )


def check_positive(positive: object, classes: Array) -> int:
    """Position of the positive class; None means the last one."""
    check_one_label(positive)
    if positive is None:
        return len(classes) - 1
    found = np.flatnonzero(classes == positive)
    if not len(found):
        shown = ", ".join(map(repr, classes[:10].tolist())) + (", ..." if len(classes) > 10 else "")
        raise ParameterError(
            f"positive is {plain(positive)!r}, which is not among the labels: {shown}; pass one of "
            "them",
            "positive",
            positive,
            classes.tolist(),
        )
    return int(found[0])


def check_ranks(ranks: object, shape: Sequence[int]) -> tuple[tuple[int, ...], dict[int, float]]:
    """One rank per mode, and the modes whose rank follows from a share, as {mode: share}.

    Parameters
    ----------
    ranks : number or sequence of K numbers
        One number serves all modes. A float above 0 and up to 1 is a share of the scatter.
    shape : sequence of K ints
        The sizes of the modes.

    Returns
    -------
    (tuple of K ints, dict)
        A mode with a share has its size as its rank, until the share is known.
    """
    asked = ranks.tolist() if hasattr(ranks, "tolist") else ranks
    if isinstance(asked, Real) and not isinstance(asked, bool):
        asked = (asked,) * len(shape)
    if not isinstance(asked, Sequence) or isinstance(asked, str) or len(asked) != len(shape):
        raise ParameterError(
            f"ranks is {ranks!r}; expected an int, or one int for each of the {len(shape)} mode(s) "
            f"of sizes {tuple(shape)} that the samples have; pass one rank per mode, or one int "
            "for all; None chooses them"
            + ("; sample_shape=(I, J, ...) folds flat rows" if len(shape) == 1 else ""),
            "ranks",
            ranks,
        )
    found = []
    shares = {}
    for mode, (rank, size) in enumerate(zip(asked, shape, strict=True)):
        if isinstance(rank, Integral) and not isinstance(rank, bool) and 1 <= int(rank) <= size:
            found.append(int(rank))
        elif isinstance(rank, Real) and not isinstance(rank, Integral) and 0 < float(rank) <= 1:
            found.append(int(size))
            shares[mode] = float(rank)
        else:
            raise ParameterError(
                f"rank {rank!r} does not fit mode {mode}, which has {size} entries; "
                f"pass an integer from 1 to {size}",
                "ranks",
                ranks,
            )
    return tuple(found), shares


def check_ridge(ridge: object, auto: float | None = None) -> tuple[float, bool]:
    """The ridge as (value, whether it is absolute); "auto" where a method has a value for it."""
    value = auto if auto is not None and ridge == "auto" else ridge
    absolute = False
    if isinstance(ridge, tuple | list) and len(ridge) == 2 and ridge[0] == "absolute":
        value = ridge[1]
        absolute = True
    is_flag = isinstance(value, bool)
    if is_flag or not isinstance(value, Real) or value < 0 or not value < np.inf:
        raise ParameterError(
            f"ridge is {ridge!r}; expected a number of 0 or more, relative to the data, or "
            "('absolute', number) for the paper's lambda",
            "ridge",
            ridge,
        )
    return float(value), absolute


def check_modes(name: str, asked: Modes, shape: Sequence[int]) -> tuple[int, ...]:
    """Modes of samples of this shape, sorted; negative numbers count from the last."""
    try:
        if bool in map(type, np.asarray(asked, dtype=object).ravel()):
            raise TypeError("a bool is no number of a mode")
        return tuple(sorted(normalize_axis_tuple(asked, len(shape), name)))
    except (TypeError, ValueError, OverflowError) as error:
        last = len(shape) - 1
        raise ParameterError(
            f"{name} is {asked!r} ({error}); expected the number of a mode or a tuple of such, "
            f"each once; those of samples of shape {tuple(shape)} are 0 to {last}, or -{last + 1} "
            "to -1 counted from the last",
            name,
            asked,
            range(len(shape)),
        ) from error


def ranks_of_class(ranks: Mapping[object, object], label: object) -> object:
    """The ranks that a mapping of labels to ranks has for one class."""
    if label not in ranks:
        raise ParameterError(
            f"ranks maps {list(ranks)} to ranks, but not the class {plain(label)!r}; give every "
            "class its own",
            "ranks",
            ranks,
        )
    return ranks[label]


class Number(NamedTuple):
    """Finite numbers that a parameter may be."""

    least: float
    most: float = np.inf
    whole: bool = False

    def holds(self, value: object) -> bool:
        """Whether a value is one of them; True and False are none."""
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        is_finite = value < np.inf and not value <= -np.inf  # NaN is below nothing
        return bool(is_finite and not value < self.least and value <= self.most)

    def __repr__(self) -> str:
        what = "an integer" if self.whole else "a number"
        if self.most == np.inf:
            return f"{what} of {self.least} or more"
        return f"{what} from {self.least} to {self.most}"


def check_declared(estimator: object) -> None:
    """Every parameter that a class declares in `_allowed` is one of the values allowed for it."""
    declared: dict[str, Sequence[object]] = {}
    for kind in reversed(type(estimator).__mro__):
        declared |= vars(kind).get("_allowed", {})
    for name, options in declared.items():
        check_option(name, getattr(estimator, name), options)


def check_option(name: str, value: object, options: Sequence[object]) -> Any:
    """A value out of a list of words, None, True and False, numbers and types."""
    given = value.item() if isinstance(value, np.generic) else value
    for option in options:
        if isinstance(option, Number):
            fits = option.holds(given)
        elif isinstance(option, type):
            fits = isinstance(given, option)
        else:
            fits = isinstance(given, type(option)) and bool(given == option)
        if fits:
            return value
    words = [
        "a function" if option is Callable else getattr(option, "_in_words", repr(option))
        for option in options
    ]
    are_words = len(options) > 1 and isinstance(options[0], str | bool)
    listed = f"one of {', '.join(words)}" if are_words else ", or ".join(words)
    raise ParameterError(f"{name} is {value!r}; expected {listed}", name, value, options)


def check_priors(priors: object, classes: Array, counts: Array) -> Array:
    """A probability for each of the classes, in their order; None means their shares of samples."""
    if priors is None:
        return np.asarray(counts / counts.sum())
    if isinstance(priors, str):
        check_option("priors", priors, ("equal",))
        return np.full(len(classes), 1 / len(classes))
    if isinstance(priors, Mapping):
        names = {plain(label) for label in priors}
        known = set(classes.tolist())
        if names != known:
            other = ", ".join(sorted(map(str, names ^ known))[:5])
            raise ParameterError(
                f"priors and the {len(classes)} classes differ in {other}; give every class a "
                "probability, and no others",
                "priors",
                priors,
            )
        priors = [priors[label] for label in classes.tolist()]
    values = np.asarray(priors, dtype=float)
    proper = (values >= 0).all() and abs(values.sum() - 1) <= 1e-6
    if values.shape != classes.shape or not proper:
        raise ParameterError(
            f"priors are {values.tolist()!s:.200}, of shape {values.shape} with the sum "
            f"{values.sum():g}; expected numbers of 0 or more that sum to 1, one for each of the "
            f"{len(classes)} classes in the order of classes_, or a mapping of labels to these",
            "priors",
            priors,
        )
    return values


def memory_budget() -> int:
    """Bytes that tables may take: four times scikit-learn's `working_memory`, 4 GiB by default."""
    return 4 * int(get_config()["working_memory"] * 2**20)


def check_memory(what: str, needed: float, instead: str) -> None:
    """Refuse what needs more bytes than the memory budget, with what to do instead."""
    budget = memory_budget()
    if needed > budget:
        raise ValueError(
            f"{what} takes {needed / 2**30:.1f} GiB, more than the budget of "
            f"{budget / 2**30:.3g} GiB, four times scikit-learn's working_memory; {instead}, or "
            "raise sklearn.set_config(working_memory=...)"
        )


def announce_tables(n: int, size: int, n_tables: int) -> None:
    """Say how large moments will be, where the samples are smaller; refuse what does not fit."""
    check_tables_fit(size, n_tables)
    needed = 8 * n_tables * size**2
    own = 8 * n * size
    if needed > LARGE_TABLES and needed > own:
        warn(
            f"moments of {n_tables} class(es) of samples with {size} numbers take "
            f"{needed / 2**20:.0f} MiB, while the {n} samples take {own / 2**20:.3g} MiB; fit "
            "needs no moments. Where moments are needed and samples are few, pass them in a basis "
            "of their span, sklearn.decomposition.PCA().fit_transform(X.reshape(len(X), -1)): "
            "methods of vectors then give the same scores, but for the scale of a relative ridge. "
            "For methods of tensors make samples smaller with MPCA",
            UserWarning,
        )


def check_tables_fit(size: int, n_tables: int) -> None:
    """Moments of samples of so many numbers fit into the memory budget."""
    check_memory(
        f"the table of moments of {n_tables} classes of samples with {size} numbers",
        8 * n_tables * size**2,
        "make the samples smaller first (MPCA), use fit, which needs no moments",
    )

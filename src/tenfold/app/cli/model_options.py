"""Options that say which model to learn, and the estimators they make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Annotated, Any

import tenfold
from tenfold.app.cli.command import BadInput, did_you_mean
from tenfold.app.cli.data_options import folds_rows
from tenfold.app.cli.options import assignments, numbers, option, whole_numbers

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from tenfold.datasets import TensorDataset
    from tenfold.methods.base import TensorProjector

GAUSSIAN = "plda"
METHOD_NAMES = (  # as tenfold.methods lists them; completion is quick without importing that
    *("mcsda", "csda", "csrda", "kernelcsda", "cmda", "dater", "dgtda", "gtda", "hoda", "mpca"),
)
CHOSEN = ("shrinkage", "means_prior", "noise_prior")  # by left-out samples, and no options of plda
EACH, NONE = "each", "none"  # for --scale-modes: each number of a sample


@dataclass(frozen=True)
class ModelOptions:
    """Steps that samples go through first, and parameters; the rest stays as the method has it."""

    impute: Annotated[bool, option(None, "Fill in gaps (NaN) in samples.", "--impute")] = False
    covariates: Annotated[int | None, option("Q", "Remove effects of the last Q columns.")] = None
    scale_modes: Annotated[
        str | None, option("K,..|each|none", "Modes to scale; tables use each.")
    ] = None
    ranks: Annotated[str | None, option("R,S,..|auto", "Dimensions to keep; auto searches.")] = None
    views: Annotated[
        str | None, option("NAME,..", "Views of plda: auto, linear, rbf, units, ...")
    ] = None
    set: Annotated[
        list[str] | None, option("NAME=VALUE", "Another parameter: ridge=0.1, max_iter=200.")
    ] = None

    @property
    def searches(self) -> bool:
        """Whether the ranks are to be searched."""
        return self.ranks == "auto"

    def parameters(self) -> dict[str, Any]:
        """What was given, as keyword arguments of a method."""
        given = assignments("--set", self.set or [])
        if self.ranks is not None and not self.searches:
            expected = "numbers such as 7,6, a share such as 0.99, or auto"
            given["ranks"] = numbers("--ranks", self.ranks, expected)
        if self.views is not None:
            names = [name.strip() for name in self.views.split(",")]
            given["views"] = names[0] if len(names) == 1 else names
        return given

    def known_to(self, name: str) -> ModelOptions:
        """Those of these options that a method has."""
        known = parameter_names(name)
        pairs = [pair for pair in self.set or [] if pair.partition("=")[0] in known]
        ranks = self.ranks if "ranks" in known else None
        views = self.views if "views" in known else None
        return replace(self, ranks=ranks, views=views, set=pairs)

    def with_steps(self, model: BaseEstimator, data: TensorDataset) -> BaseEstimator:
        """The model, or a pipeline of the steps that were asked for and the model."""
        from sklearn.pipeline import make_pipeline

        from tenfold.methods.saving import steps_of

        steps: list[BaseEstimator] = [tenfold.GaussianImputer()] if self.impute else []
        if self.covariates is not None:
            self._check_covariates(data.sample_shape)
            steps.append(tenfold.CovariateRemover(last=self.covariates))
        if self.scales_columns(model, data) or self.scale_modes == EACH:
            steps.append(tenfold.ModeScaler((), per_sample=False))
        elif self.scale_modes not in (None, NONE):
            modes = whole_numbers("--scale-modes", self.scale_modes, least=0)
            if max(modes) >= len(data.sample_shape):
                raise BadInput(
                    f"--scale-modes is {self.scale_modes!r}, but samples have shape "
                    f"{data.sample_shape}; expected modes from 0 to {len(data.sample_shape) - 1}, "
                    "each, or none"
                )
            steps.append(tenfold.ModeScaler(modes))
        if not steps:
            return model
        return make_pipeline(*steps, *steps_of(model))

    def _check_covariates(self, shape: tuple[int, ...]) -> None:
        """Complain if the samples do not end in so many covariates."""
        if len(shape) != 1 or not 0 < (self.covariates or 0) < shape[0]:
            raise BadInput(
                f"--covariates is {self.covariates}, but samples have shape {shape}; expected a "
                "number from 1, and flat rows of more numbers than that, with the covariates last"
            )

    def scales_columns(self, model: BaseEstimator, data: TensorDataset) -> bool:
        """Whether samples are scaled without being asked: rows of a table, which have units."""
        is_table = data.reading.get("loader") == "table" and len(data.sample_shape) == 1
        return self.scale_modes is None and is_table and not folds_rows(model)


def completed_names() -> list[str]:
    """What the shell offers for ``--method``, without importing the methods."""
    return [GAUSSIAN, *METHOD_NAMES]


def method_names() -> list[str]:
    """What ``--method`` can name: `ProbabilisticLDA` (plda), and every method."""
    from tenfold.methods import ALL_METHODS

    return [GAUSSIAN, *(method.__name__.lower() for method in ALL_METHODS)]


def method_named(name: str) -> type[TensorProjector] | None:
    """The class of a method; None for plda, which needs no subspace."""
    from tenfold.methods import ALL_METHODS

    methods = {method.__name__.lower(): method for method in ALL_METHODS}
    if name == GAUSSIAN:
        return None
    known = method_names()
    if name not in known:
        raise BadInput(
            f"there is no method {name!r}; choose one of {', '.join(known)}"
            f"{did_you_mean(name, known)}"
        )
    return methods[name]


def parameter_names(name: str, *, labelled: bool = True) -> list[str]:
    """The parameters that can be set of what ``--method`` names."""
    from tenfold.methods import CLASS_SPECIFIC_METHODS

    method = method_named(name)
    names: set[str] = set()
    if method is not None:
        names |= set(method().get_params())
    if method is None or (labelled and method not in CLASS_SPECIFIC_METHODS):
        names |= set(tenfold.ProbabilisticLDA().get_params())
    return sorted(names - {"positive"})


def estimator_named(
    name: str, given: dict[str, Any], n_modes: int, *, labelled: bool = True
) -> BaseEstimator:
    """What ``--method`` names, with these parameters.

    A method for one class is a projector, and so is every method without labels. A projector of all
    classes stands before `ProbabilisticLDA` in a pipeline; plda is `ProbabilisticLDA` alone.

    Examples
    --------
    >>> from tenfold.app.cli.model_options import estimator_named
    >>> estimator_named("plda", {"views": "linear"}, 2)
    ProbabilisticLDA(views='linear')
    >>> [step for _, step in estimator_named("cmda", {"ranks": (3, 2)}, 2).steps]
    [CMDA(ranks=(3, 2)), ProbabilisticLDA()]
    >>> estimator_named("csda", {"ranks": (3, 2)}, 2)
    CSDA(ranks=6)
    """
    from sklearn.pipeline import make_pipeline

    from tenfold.methods import CLASS_SPECIFIC_METHODS

    method = method_named(name)
    known = parameter_names(name, labelled=labelled)
    for one in given:
        if one not in known:
            raise BadInput(_no_parameter(name, one, known))
    if method is None:
        return _gaussian(given)
    of_method = method().get_params()
    inner = {n: value for n, value in given.items() if n in of_method}
    ranks = inner.get("ranks")
    if method._flattens and isinstance(ranks, tuple) and all(isinstance(r, int) for r in ranks):
        if len(ranks) not in (1, n_modes):
            raise BadInput(
                f"--ranks has {len(ranks)} numbers, but the samples have {n_modes} mode(s); pass "
                f"one per mode, or the dimensions to keep: {method.__name__} flattens samples"
            )
        inner["ranks"] = prod(ranks)  # as many dimensions as the ranks of all modes give
    projector = method(**inner)
    if method in CLASS_SPECIFIC_METHODS or not labelled:
        return projector
    outer = {n: value for n, value in given.items() if n not in of_method}
    return make_pipeline(projector, _gaussian(outer))


def _gaussian(given: dict[str, Any]) -> tenfold.ProbabilisticLDA:
    """`ProbabilisticLDA` with views whose names are known."""
    from tenfold.validation.parameters import ParameterError

    model = tenfold.ProbabilisticLDA(**given)
    try:
        model._check_parameters()
    except ParameterError as error:
        names = [name for name in error.allowed if isinstance(name, str)]
        near = did_you_mean(str(error.given), names)
        raise BadInput(f"--method {GAUSSIAN}: {error}{near}") from error
    except ValueError as error:
        raise BadInput(f"--method {GAUSSIAN}: {error}") from error
    return model


def _no_parameter(name: str, one: str, known: list[str]) -> str:
    """What to say of a parameter that a method does not have."""
    what = "--views" if one == "views" else f"parameter {one!r} to set"
    more = ""
    if name == GAUSSIAN and one in CHOSEN:
        more = "; left-out samples choose its regularization"
    elif name == GAUSSIAN:
        more = "; with --ranks it has those of mpca, too"
    return f"{name} has no {what}; it has {', '.join(known)}{more}{did_you_mean(one, known)}"


def mode_count(parameters: dict[str, object], sample_shape: tuple[int, ...]) -> int:
    """How many modes the samples have, in the shape that `--set sample_shape` may give them."""
    given = parameters.get("sample_shape")
    return len(given if isinstance(given, tuple | list) else sample_shape)

"""Options that say which model to learn, and the estimators they make."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Annotated, Any

import tenfold
from tenfold.app.cli.command import BadInput
from tenfold.app.cli.data_options import folds_rows
from tenfold.app.cli.options import assignments, numbers, option, whole_numbers

GAUSSIAN = "plda"
EACH, NONE = "each", "none"  # for --scale-modes: each number of a sample


@dataclass(frozen=True)
class ModelOptions:
    """Steps that samples go through first, and parameters; the rest stays as the method has it."""

    impute: Annotated[bool, option(None, "Complete gaps (NaN) in samples.", "--impute")] = False
    covariates: Annotated[int | None, option("Q", "Remove the last Q numbers of rows, as age.")] = (
        None
    )
    scale_modes: Annotated[
        str | None, option("K,..|each|none", "Scale; each is the default of tables.")
    ] = None
    ranks: Annotated[
        str | None, option("R,S,..|auto", "Numbers to keep per mode; auto searches.")
    ] = None
    set: Annotated[
        list[str] | None, option("NAME=VALUE", "Another parameter: ridge=0.1, shrinkage=0.5.")
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
        return given

    def known_to(self, name: str) -> ModelOptions:
        """Those of these options that a method has."""
        known = parameter_names(name)
        pairs = [pair for pair in self.set or [] if pair.partition("=")[0] in known]
        return replace(self, ranks=self.ranks if "ranks" in known else None, set=pairs)

    def with_steps(self, model: Any, data: Any) -> Any:
        """The model, or a pipeline of the steps that were asked for and the model."""
        from sklearn.pipeline import make_pipeline

        steps: list[Any] = [tenfold.GaussianImputer()] if self.impute else []
        if self.covariates is not None:
            steps.append(tenfold.CovariateRemover(last=self.covariates))
        if self.scales_columns(model, data) or self.scale_modes == EACH:
            steps.append(tenfold.ModeScaler((), per_sample=False))
        elif self.scale_modes not in (None, NONE):
            modes = whole_numbers("--scale-modes", self.scale_modes, least=0)
            steps.append(tenfold.ModeScaler(modes))
        return make_pipeline(*steps, model) if steps else model

    def scales_columns(self, model: Any, data: Any) -> bool:
        """Whether samples are scaled without being asked: rows of a table, which have units."""
        is_table = data.reading.get("loader") == "table" and len(data.sample_shape) == 1
        return self.scale_modes is None and is_table and not folds_rows(model)


def method_names() -> list[str]:
    """What ``--method`` can name: `ProbabilisticLDA` (plda), and every method.

    They are read from the list of `tenfold.methods` without importing it: completion is quick.
    """
    source = Path(__file__).parents[2] / "methods" / "__init__.py"
    (listed,) = re.findall(r"^ALL_METHODS = \(([^)]*)\)", source.read_text("utf-8"), re.MULTILINE)
    return [GAUSSIAN, *re.findall(r"\w+", listed.lower())]


def method_named(name: str) -> Any:
    """The class of a method; None for plda, which needs no subspace."""
    from tenfold.methods import ALL_METHODS

    if name not in method_names():
        raise BadInput(f"there is no method {name!r}; choose one of {', '.join(method_names())}")
    return dict(zip(method_names(), (None, *ALL_METHODS), strict=True))[name]


def parameter_names(name: str, *, labelled: bool = True) -> list[str]:
    """The parameters that can be set of what ``--method`` names."""
    from tenfold.methods import CLASS_SPECIFIC_METHODS

    method = method_named(name)
    alone = method in CLASS_SPECIFIC_METHODS or not labelled
    kinds = ([] if alone else [tenfold.ProbabilisticLDA]) + ([] if method is None else [method])
    names = {name for kind in kinds for name in kind().get_params()}
    return sorted(names - {"projector", "positive"})


def estimator_named(
    name: str, given: dict[str, Any], n_modes: int, *, labelled: bool = True
) -> Any:
    """What ``--method`` names, with these parameters.

    A method for one class is a projector, and so is every method without labels. A subspace of all
    classes has Gaussian classes in it; plda has them on all numbers of a sample.

    Examples
    --------
    >>> from tenfold.app.cli.model_options import estimator_named
    >>> estimator_named("cmda", {"ranks": (3, 2), "shrinkage": 0.5}, 2)
    ProbabilisticLDA(projector=CMDA(ranks=(3, 2)), shrinkage=0.5)
    >>> estimator_named("csda", {"ranks": (3, 2)}, 2)
    CSDA(ranks=6)
    """
    from tenfold.methods import CLASS_SPECIFIC_METHODS

    method, known = method_named(name), parameter_names(name, labelled=labelled)
    for one in given:
        if one not in known:
            more = "; with --ranks it has those of mpca, too" if method is None else ""
            raise BadInput(
                f"{name} has no parameter {one!r} to set; it has {', '.join(known)}{more}"
            )
    alone = method in CLASS_SPECIFIC_METHODS or not labelled
    of_classes = tenfold.ProbabilisticLDA().get_params()
    outer = {} if alone else {n: given[n] for n in given if n in of_classes}
    inner = {n: value for n, value in given.items() if n not in outer}
    if method is None:
        return tenfold.ProbabilisticLDA(**outer)
    ranks = inner.get("ranks")
    if method._flattens and isinstance(ranks, tuple) and all(isinstance(r, int) for r in ranks):
        if len(ranks) not in (1, n_modes):
            raise BadInput(
                f"--ranks has {len(ranks)} numbers, but the samples have {n_modes} modes; pass one "
                f"per mode, or the dimensions to keep: {method.__name__} flattens samples"
            )
        inner["ranks"] = prod(ranks)  # as many dimensions as the ranks of all modes give
    projector = method(**inner)
    return projector if alone else tenfold.ProbabilisticLDA(projector, **outer)


def mode_count(parameters: dict[str, Any], sample_shape: tuple[int, ...]) -> int:
    """How many modes the samples have, in the shape that `--set sample_shape` may give them."""
    given = parameters.get("sample_shape")
    return len(given if isinstance(given, tuple | list) else sample_shape)

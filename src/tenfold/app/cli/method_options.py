"""Options of the methods, and the estimators they make."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Annotated, Any

from tenfold.app.cli.command import BadInput
from tenfold.app.cli.options import assignments, number_or, option, ridge_value, whole_numbers

GAUSSIAN = "plda"
EACH, NONE = "each", "none"  # for --scale-modes: each number of a sample


def fit_names() -> list[str]:
    """What can be fitted: `ProbabilisticLDA`, and every method."""
    return [GAUSSIAN, *method_names()]


def method_names() -> list[str]:
    """The names of all methods, read from the list of `tenfold.methods` without importing it."""
    source = Path(__file__).parents[2] / "methods" / "__init__.py"
    (listed,) = re.findall(r"^ALL_METHODS = \(([^)]*)\)", source.read_text("utf-8"), re.MULTILINE)
    return [name.strip().lower() for name in listed.split(",") if name.strip()]


@dataclass(frozen=True)
class MethodOptions:
    """Parameters of the method; what is not given stays as the method has it."""

    ranks: Annotated[
        str | None,
        option("--ranks", metavar="R,S,..|auto", text="Numbers to keep per mode; auto searches."),
    ] = None
    settings: Annotated[
        list[str] | None,
        option("--set", metavar="NAME=VALUE", text="Another parameter: ridge=0.1, shrinkage=0.5."),
    ] = None

    @property
    def searches(self) -> bool:
        """Whether the ranks are to be searched."""
        return self.ranks == "auto"

    def parameters(self) -> dict[str, Any]:
        """What was given, as keyword arguments of a method."""
        given: dict[str, Any] = assignments("--set", self.settings or [])
        if self.ranks is not None and not self.searches:
            given["ranks"] = ranks_value(self.ranks)
        if isinstance(given.get("ridge"), str):
            given["ridge"] = ridge_value(given["ridge"])
        return given

    def words(self, method: str, n_modes: int) -> list[str]:
        """Those of these options that a method has, as they are typed."""
        if method == GAUSSIAN:
            return []
        known = method_named(method)().get_params()
        ranks = None if self.ranks is None or "ranks" not in known else self.ranks
        if ranks is not None and ranks.isdecimal() and method_named(method)._flattens:
            ranks = str(int(ranks) ** n_modes)  # as `own_parameters` has it
        words = [] if ranks is None else ["--ranks", ranks]
        pairs = [pair for pair in self.settings or [] if pair.partition("=")[0] in known]
        return words + [word for pair in pairs for word in ("--set", pair)]


@dataclass(frozen=True)
class StepOptions:
    """Steps that samples go through before the method; without any there is no pipeline."""

    impute: Annotated[
        bool, option("--impute", metavar=None, text="Complete gaps (NaN) in samples.")
    ] = False
    covariates: Annotated[
        int | None,
        option("--covariates", metavar="Q", text="Remove the last Q numbers of rows, as age."),
    ] = None
    scale_modes: Annotated[
        str | None,
        option(
            "--scale-modes", metavar="K,..|each|none", text="Scale; each is the default of tables."
        ),
    ] = None

    def words(self) -> list[str]:
        """These options as they are typed."""
        words = ["--impute"] * self.impute
        words += [] if self.covariates is None else ["--covariates", str(self.covariates)]
        return words + ([] if self.scale_modes is None else ["--scale-modes", self.scale_modes])

    def before(self, model: Any, data: Any) -> Any:
        """The model, or a pipeline of the steps that were asked for and the model.

        The columns of a table are scaled unless other steps are asked for: they have units.
        """
        from sklearn.pipeline import make_pipeline

        from tenfold.preprocessing import CovariateRemover, GaussianImputer, ModeScaler

        if not hasattr(data, "X"):
            if self.words():
                raise BadInput(
                    "--impute, --covariates and --scale-modes change samples, and the samples of "
                    "moments have gone by; change the samples before tenfold moments"
                )
            return model
        steps: list[Any] = [GaussianImputer()] if self.impute else []
        if self.covariates is not None:
            steps.append(CovariateRemover(last=self.covariates))
        scaled = self.scale_modes or (EACH if has_columns(data, model) else NONE)
        if scaled == EACH:  # number of a sample, over the training samples
            steps.append(ModeScaler((), per_sample=False))
        elif scaled != NONE:
            steps.append(ModeScaler(whole_numbers("--scale-modes", scaled, 0)))
        return make_pipeline(*steps, model) if steps else model


def has_columns(data: Any, model: Any) -> bool:
    """Whether samples are rows of a table, which no parameter of the model folds."""
    folds = [v for n, v in model.get_params().items() if n.endswith("sample_shape")]
    table = data.reading.get("loader") == "table" and len(data.sample_shape) == 1
    return table and not any(one is not None for one in folds)


def ranks_value(text: str) -> Any:
    """Ranks per mode, one for all, or the share of the scatter that `MPCA` is to keep.

    Examples
    --------
    >>> from tenfold.app.cli.method_options import ranks_value
    >>> ranks_value("7,6"), ranks_value("7"), ranks_value("0.99")
    ((7, 6), 7, 0.99)
    """
    if "." in text:
        shares = tuple(number_or("--ranks", part) for part in text.split(","))
        return shares if len(shares) > 1 else shares[0]
    numbers = whole_numbers("--ranks", text)
    return numbers if len(numbers) > 1 else numbers[0]


def method_named(name: str) -> Any:
    """The class of a method."""
    from tenfold.methods import ALL_METHODS

    for method in ALL_METHODS:
        if method.__name__.lower() == name.lower():
            return method
    raise BadInput(f"there is no method {name!r}; choose one of {', '.join(fit_names())}")


def gaussian_of(name: str, given: dict[str, Any], n_modes: int) -> Any:
    """`ProbabilisticLDA`, in the subspace of a method unless its name is plda."""
    from tenfold.decisions.probabilistic import ProbabilisticLDA

    names = [one for one in ProbabilisticLDA().get_params() if one != "projector"]
    own = {one: given[one] for one in names if one in given}
    rest = {one: value for one, value in given.items() if one not in own}
    if name == GAUSSIAN:
        if rest:
            raise BadInput(
                f"plda has no parameter {next(iter(rest))!r} to set; it has {', '.join(names)}; "
                "with --ranks it has those of mpca, too"
            )
        return ProbabilisticLDA(**own)
    method = method_named(name)
    return ProbabilisticLDA(projector_of(method, flat_parameters(method, rest, n_modes)), **own)


def projector_of(method: Any, parameters: dict[str, Any]) -> Any:
    """A projector of a method, or an error that names the parameter it does not have."""
    known = sorted(method().get_params())
    for name in parameters:
        if name not in known or name == "positive":
            raise BadInput(
                f"{method.__name__} has no parameter {name!r} to set; it has "
                f"{', '.join(n for n in known if n != 'positive')}"
            )
    return method(**parameters)


def mode_count(parameters: dict[str, Any], sample_shape: tuple[int, ...]) -> int:
    """How many modes the samples have, in the shape that `--set sample_shape` may give them."""
    given = parameters.get("sample_shape")
    return len(given if isinstance(given, tuple | list) else sample_shape)


def own_parameters(method: Any, parameters: dict[str, Any], n_modes: int) -> dict[str, Any]:
    """The parameters that a method has, of those given to all methods.

    A method that flattens its samples gets as many dimensions as the ranks of all modes give, so
    one rank for every mode is a power here.

    Examples
    --------
    >>> from tenfold import CSDA, MCSDA
    >>> from tenfold.app.cli.method_options import own_parameters
    >>> own_parameters(MCSDA, {"ranks": 3}, 2), own_parameters(CSDA, {"ranks": 3}, 2)
    ({'ranks': 3}, {'ranks': 9})
    """
    own = {name: value for name, value in parameters.items() if name in method().get_params()}
    ranks = own.get("ranks")
    if method._flattens and isinstance(ranks, int) and not isinstance(ranks, bool):
        own["ranks"] = ranks**n_modes
    return flat_parameters(method, own, n_modes)


def flat_parameters(method: Any, parameters: dict[str, Any], n_modes: int) -> dict[str, Any]:
    """The parameters, with ranks per mode multiplied for a method that flattens its samples.

    Examples
    --------
    >>> from tenfold import CSDA
    >>> from tenfold.app.cli.method_options import flat_parameters
    >>> flat_parameters(CSDA, {"ranks": (3, 2)}, 2), flat_parameters(CSDA, {"ranks": 5}, 2)
    ({'ranks': 6}, {'ranks': 5})
    """
    ranks = parameters.get("ranks")
    per_mode = isinstance(ranks, tuple | list) and all(isinstance(rank, int) for rank in ranks)
    if not method._flattens or not per_mode:
        return parameters
    if len(ranks) not in (1, n_modes):
        raise BadInput(
            f"--ranks has {len(ranks)} numbers, but the samples have {n_modes} modes; pass one per "
            f"mode, or the dimensions to keep: {method.__name__} flattens samples"
        )
    return {**parameters, "ranks": prod(ranks)}

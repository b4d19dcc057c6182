"""``tenfold compare``: every method on the same folds, in one table."""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

from tenfold.app.cli.command import BadInput, Outcome
from tenfold.app.cli.data_options import DataOptions, DataPath, labelled, typed
from tenfold.app.cli.method_options import (
    GAUSSIAN,
    MethodOptions,
    mode_count,
    own_parameters,
    projector_of,
)
from tenfold.app.cli.options import FoldCount, label_named, option


def compare(
    data: DataPath,
    *,
    positive: Annotated[
        str | None, option("--positive", metavar="CLASS", text="Compare on this class alone.")
    ] = None,
    method_options: MethodOptions,
    data_options: DataOptions,
    cv: FoldCount = 5,
    seed: Annotated[int, option("--seed", metavar="N", text="Of the shuffle into folds; 0.")] = 0,
) -> Outcome:
    """Compare all methods by cross-validation.

    One table says which to take; the last line is the command that fits it. Classifiers of
    scikit-learn at their defaults are rows of the same table. Parameters are passed to every method
    that accepts them. --ranks auto searches in the training samples of every fold.

    Example: tenfold compare faces --ranks 3,3 --cv 3
    """
    import tenfold
    from tenfold.methods import ALL_METHODS, CLASS_SPECIFIC_METHODS
    from tenfold.selection.comparison import name_of, rivals

    samples = labelled(data_options.load(data), "compare")
    given = method_options.parameters()
    _check_known(given, ALL_METHODS)
    n_modes = mode_count(given, samples.sample_shape)
    methods = [projector_of(M, own_parameters(M, given, n_modes)) for M in ALL_METHODS]
    ours = [tenfold.ProbabilisticLDA(), *map(_with_decisions, methods)]
    rows = [*ours, *rivals(prod(samples.sample_shape))]
    label = None if positive is None else label_named(positive, samples.classes)
    found = tenfold.compare(
        rows,
        samples.X,
        samples.y,
        positive=label,
        search=method_options.searches,
        cv=cv,
        random_state=seed,
    )
    names = {name_of(one): _method_name(one) for one in ours}
    best = next(one for one in [*found.best_methods, *found.methods] if one.method in names)
    method = names[best.method]
    words = [*data_options.words(), *method_options.words(method, n_modes), "--method", method]
    if positive is not None and method in map(_lower_name, CLASS_SPECIFIC_METHODS):
        words += ["--positive", positive]
    command = typed("tenfold", "fit", data, *words, "-o", "model.safetensors")
    facts = {"data": data, **_facts(found), "seed": seed, "fit": command}
    share = f"{100 * best.average_precision:.1f} %"
    clear = found.best_methods == [best]
    lead = "" if clear else f"Of tenfold, {best.method} has the highest, {share}. "
    shown = [found.table, *_explanation(label), found.advice, f"{lead}Fit it: {command}"]
    if not all(one.converged for one in found.methods):
        rounds = max(100, 2 * max(method.max_iter for method in methods))
        shown.append(f"Some models did not converge; --set max_iter={rounds} allows more rounds.")
    return Outcome(facts, shown)


def _facts(found: Any) -> dict[str, Any]:
    return {
        "samples": found.n_samples,
        "sample_shape": found.sample_shape,
        "classes": found.n_classes,
        "positive": found.positive,
        "folds": found.n_folds,
        "methods": found.as_dict()["methods"],
        "advice": found.advice,
    }


def _with_decisions(projector: Any) -> Any:
    """A method as `tenfold fit` uses it: one subspace for all classes gets Gaussian classes."""
    import tenfold
    from tenfold.methods import CLASS_SPECIFIC_METHODS

    one_class = type(projector) in CLASS_SPECIFIC_METHODS
    return projector if one_class else tenfold.ProbabilisticLDA(projector)


def _method_name(model: Any) -> str:
    """What ``--method`` calls it."""
    inner = getattr(model, "projector", model)
    return GAUSSIAN if inner is None else _lower_name(type(inner))


def _lower_name(method: type) -> str:
    return method.__name__.lower()


def _check_known(given: dict[str, Any], methods: tuple[Any, ...]) -> None:
    known = {name for method in methods for name in method().get_params()} - {"positive"}
    unknown = sorted(given.keys() - known)
    if unknown:
        raise BadInput(
            f"no method has a parameter {unknown[0]!r}; there are {', '.join(sorted(known))}"
        )


def _explanation(label: Any) -> list[str]:
    alone = label is not None
    who, over = (f"class {label}", "folds") if alone else ("each class", "classes and folds")
    return [
        f"Average precision, ROC AUC: {who} against the rest, mean over {over}.",
        "MCSDA, CSDA, KernelCSDA: one subspace per class, and the distance from its mean there.",
        "ProbabilisticLDA(M): Gaussian classes in the one subspace that method M learns.",
        "NearestCentroid, RidgeClassifier, LinearSVC, LinearDiscriminantAnalysis: scikit-learn.",
    ]

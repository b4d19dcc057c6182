"""``tenfold compare``: every method on the same folds, in one table."""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

from tenfold.cli.errors import BadInput
from tenfold.cli.method_options import MethodOptions, mode_count, own_parameters, projector_of
from tenfold.cli.options import DataOptions, DataPath, FoldCount, labelled, option
from tenfold.cli.output import Outcome
from tenfold.cli.values import label_named


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
    """Compare all methods by cross-validation, in one table, and say which to take.

    Classifiers of scikit-learn at their defaults stand beside them. Parameters are passed to every
    method that accepts them. With --ranks auto the ranks are searched in the training samples of
    every fold, so no test sample takes part in the choice.

    Example: tenfold compare faces --ranks 3,3 --cv 3
    """
    import tenfold
    from tenfold.methods import ALL_METHODS
    from tenfold.selection.comparison import rivals

    samples = labelled(data_options.load(data), "compare")
    given = method_options.parameters()
    _check_known(given, ALL_METHODS)
    n_modes = mode_count(given, samples.sample_shape)
    methods = [projector_of(M, own_parameters(M, given, n_modes)) for M in ALL_METHODS]
    rows = [tenfold.ProbabilisticLDA(), *methods, *rivals(prod(samples.sample_shape))]
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
    facts = {
        "data": data,
        "samples": found.n_samples,
        "sample_shape": found.sample_shape,
        "classes": found.n_classes,
        "positive": label,
        "folds": found.n_folds,
        "seed": seed,
        "methods": found.as_dict()["methods"],
        "advice": found.advice,
    }
    shown = [found.table, found.advice, _explanation(label)]
    if not all(one.converged for one in found.methods):
        rounds = max(100, 2 * max(method.max_iter for method in methods))
        shown.append(f"Some models did not converge; --set max_iter={rounds} allows more rounds.")
    return Outcome(facts, shown)


def _check_known(given: dict[str, Any], methods: tuple[Any, ...]) -> None:
    known = {name for method in methods for name in method().get_params()} - {"positive"}
    unknown = sorted(given.keys() - known)
    if unknown:
        raise BadInput(
            f"no method has a parameter {unknown[0]!r}; there are {', '.join(sorted(known))}"
        )


def _explanation(label: Any) -> str:
    alone = label is not None
    who, over = (f"class {label}", "folds") if alone else ("a class", "classes and folds")
    lines = [
        f"Average precision, ROC AUC: {who} against the rest by the distance from its mean, the "
        f"mean over {over}.",
        "MCSDA and CSDA learn a subspace per class, the other methods one for all classes; "
        "ProbabilisticLDA and scikit-learn's classifiers have scores of their own.",
    ]
    if not alone:
        lines.append(
            "Accuracy: the class with the nearest mean, or the highest score of its own kind."
        )
    return "\n".join(lines)

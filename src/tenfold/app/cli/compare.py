"""``tenfold compare``: every method on the same folds, in one table."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Annotated, Any

from tenfold.app.cli.command import BadInput, Outcome
from tenfold.app.cli.data_options import (
    MOST_CLASSES,
    DataOptions,
    DataPath,
    class_counts,
    labelled,
    near_copies,
    typed,
)
from tenfold.app.cli.method_options import (
    GAUSSIAN,
    MethodOptions,
    StepOptions,
    has_columns,
    mode_count,
    own_parameters,
    projector_of,
)
from tenfold.app.cli.options import FoldCount, label_named, option
from tenfold.system.tables import visible

if TYPE_CHECKING:
    from tenfold.datasets import TensorDataset

Positive = Annotated[
    str | None, option("--positive", metavar="CLASS", text="Compare on this class alone.")
]
ShowAll = Annotated[
    bool, option("--all", metavar=None, text="Also methods that say the same as another.")
]
SHORT = {
    "LinearDiscriminantAnalysis": "LDA",
    "RidgeClassifier": "Ridge",
    "LinearSVC": "LinearSVC",
    "NearestCentroid": "NearestCentroid",
}


def compare(
    data: DataPath,
    *,
    positive: Positive = None,
    show_all: ShowAll = False,
    step_options: StepOptions,
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
    from tenfold.methods import ALL_METHODS
    from tenfold.selection.comparison import name_of, rivals

    samples = _without_single_samples(labelled(data_options.load(data), "compare"))
    given = method_options.parameters()
    _check_known(given, ALL_METHODS)
    n_modes = mode_count(given, samples.sample_shape)
    methods = [projector_of(M, own_parameters(M, given, n_modes)) for M in ALL_METHODS]
    ours = [tenfold.ProbabilisticLDA(), *map(_with_decisions, methods)]
    label = None if positive is None else label_named(positive, samples.classes)
    found = tenfold.compare(
        [step_options.before(one, samples) for one in [*ours, *rivals(prod(samples.sample_shape))]],
        samples.X,
        samples.y,
        positive=label,
        search=method_options.searches,
        cv=cv,
        groups=samples.groups,
        random_state=seed,
    )
    names = {name_of(one): _method_name(one) for one in ours}
    best = next(one for one in [*found.best_methods, *found.methods] if one.method in names)
    method = names[best.method]
    words = [data, *data_options.words(data_options.rows), *step_options.words()]
    words += [*method_options.words(method, n_modes), *_method_words(method, positive)]
    command = typed("tenfold", "fit", *words, "-o", "model.safetensors")
    facts = {"data": data, **_facts(found), "seed": seed, "fit": command}
    scaled = step_options.scale_modes is None and has_columns(samples, ours[0])
    shown = [
        f"{samples.description} {class_counts(samples.class_counts)}",
        *_table(found, names | SHORT, show_all),
        *_explanation(label),
        *["Columns were scaled to mean 0 and deviation 1 over training samples."] * scaled,
        *_unconverged(found, methods),
        *near_copies(samples),
        f"Fit {method}: {command}",
    ]
    return Outcome(facts, shown)


def _method_words(method: str, positive: str | None) -> list[str]:
    """The method, and the class if it can tell one from the rest, as they are typed."""
    from tenfold.methods import CLASS_SPECIFIC_METHODS

    alone = positive is not None and method in map(_lower_name, CLASS_SPECIFIC_METHODS)
    return ["--method", method, *(["--positive", str(positive)] if alone else [])]


def _unconverged(found: Any, methods: list[Any]) -> list[str]:
    if all(one.converged for one in found.methods):
        return []
    rounds = max(100, 2 * max(method.max_iter for method in methods))
    return [f"Some models did not converge; --set max_iter={rounds} allows more rounds."]


def _without_single_samples(data: TensorDataset) -> TensorDataset:
    """`data` without classes of one sample, which cannot be learned and tested."""
    import numpy as np

    if len(data.class_counts) < 2:
        raise BadInput(
            f"the data hold one class only ({', '.join(data.class_counts)}), so there is nothing "
            "to tell apart; tenfold inspect shows what they hold"
        )
    single = [name for name, count in data.class_counts.items() if count == 1]
    if not single or len(single) == len(data.class_counts):
        return data
    sys.stderr.write(
        f"tenfold: note: {len(single)} classes of one sample are left out: "
        f"{visible(', '.join(single[:MOST_CLASSES]))}\n"
    )
    return data.select(~np.isin(data.y.astype(str), single))


def _table(found: Any, names: dict[str, str], show_all: bool) -> list[Any]:
    """The table with methods as they are typed, those that say the same once, and the advice."""
    first: dict[Any, list[Any]] = {}
    for one in found.methods:
        figures = one.precision_by_fold, one.accuracy_by_fold, round(one.roc_auc, 9)
        first.setdefault(figures, []).append(one)
    same = [
        f"The same figures as {names[one.method]}: "
        f"{', '.join(names[other.method] for other in others)} (--all shows them)."
        for one, *others in first.values()
        if others
    ]
    kept = found.methods if show_all else [one for one, *_ in first.values()]
    called = replace(found, methods=[replace(one, method=names[one.method]) for one in kept])
    return [called.table, *([] if show_all else same), called.advice]


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
        "plda: Gaussian classes; cmda, dater, mpca, ...: the same in a subspace of all.",
        "csda, mcsda, ...: one subspace per class, and how like the class samples are there.",
        "LDA, LinearSVC, Ridge, NearestCentroid: classifiers of scikit-learn.",
    ]

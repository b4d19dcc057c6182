"""``tenfold compare``: every method on the same folds, in one table."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Annotated

import tenfold
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
from tenfold.app.cli.model_options import (
    ModelOptions,
    estimator_named,
    method_named,
    method_names,
    mode_count,
    parameter_names,
)
from tenfold.app.cli.options import FoldCount, as_typed, label_named, option
from tenfold.tables import Table, visible

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from tenfold.datasets import TensorDataset
    from tenfold.selection.comparison import Comparison, MethodFigures

SHORT = {
    "LinearDiscriminantAnalysis": "LDA",
    "RidgeClassifier": "Ridge",
    "LinearSVC": "LinearSVC",
    "SVC": "RBF SVM",
    "KNeighborsClassifier": "NearestNeighbor",
}


def compare(
    data: DataPath,
    *,
    positive: Annotated[str | None, option("CLASS", "Compare on this class alone.")] = None,
    show_all: Annotated[
        bool, option(None, "Also list methods with identical results.", "--all")
    ] = False,
    model_options: ModelOptions,
    data_options: DataOptions,
    cv: FoldCount = 5,
    seed: Annotated[int, option("N", "Seed for shuffling into folds; default 0.")] = 0,
) -> Outcome:
    """Compare all methods by cross-validation.

    One table shows which to choose; the last line is the command that fits it. Baselines of
    scikit-learn are rows of the same table. Parameters are passed to every method that has them.
    --ranks auto searches in every fold.

    Example: tenfold compare faces --ranks 3,3 --cv 3
    """
    from tenfold.methods import CLASS_SPECIFIC_METHODS
    from tenfold.selection.comparison import baselines, name_of

    samples = _without_single_samples(labelled(data_options.load(data), "compare"))
    n_modes = mode_count(model_options.parameters(), samples.sample_shape)
    ranks = model_options.ranks or ""
    if ranks.isdecimal():  # of every mode, also for methods that flatten
        model_options = replace(model_options, ranks=",".join([ranks] * n_modes))
    ours = _models(model_options, n_modes)
    label = None if positive is None else label_named(positive, samples.classes)
    all_of_them = [*ours.values(), *baselines(prod(samples.sample_shape))]
    found = tenfold.compare(
        samples.X,
        samples.y,
        [model_options.with_steps(one, samples) for one in all_of_them],
        positive=label,
        search=model_options.searches,
        cv=cv,
        groups=samples.groups,
        random_state=seed,
    )
    names = {name_of(model): name for name, model in ours.items()}
    best = next(one for one in [*found.best_methods, *found.methods] if one.method in names)
    method = names[best.method]
    words = [data, *as_typed(data_options), *as_typed(model_options.known_to(method))]
    words += ["--method", method]
    if positive is not None and method_named(method) in CLASS_SPECIFIC_METHODS:
        words += ["--positive", positive]
    command = typed("tenfold", "fit", *words, "-o", "model.safetensors")
    facts = {"data": data, **found.as_dict(), "advice": found.advice, "seed": seed, "fit": command}
    about = f"{samples.description} {class_counts(samples.class_counts)}"
    lines = [about, *_table(found, names | SHORT, show_all), *_explanation(label)]
    if model_options.scales_columns(ours[method], samples):
        lines.append("Columns were scaled to mean 0 and deviation 1 over training samples.")
    if not all(one.converged for one in found.methods):
        rounds = 2 * max(100, model_options.parameters().get("max_iter", 100))
        lines.append(f"Some models did not converge; --set max_iter={rounds} allows more rounds.")
    return Outcome(facts, [*lines, *near_copies(samples), f"Fit {method}: {command}"])


def _without_single_samples(data: TensorDataset) -> TensorDataset:
    """`data` without classes of one sample, which cannot be both learned and tested."""
    import numpy as np

    if len(data.class_counts) < 2:
        raise BadInput(
            f"compare needs two classes or more, but the data contain one only "
            f"({', '.join(data.class_counts)}); tenfold inspect shows what they contain"
        )
    single = [name for name, count in data.class_counts.items() if count == 1]
    if not single or len(single) == len(data.class_counts):
        return data
    sys.stderr.write(
        f"tenfold: note: {len(single)} classes of one sample are left out: "
        f"{visible(', '.join(single[:MOST_CLASSES]))}\n"
    )
    return data.select(~np.isin(np.asarray(data.y).astype(str), single))


def _table(found: Comparison, names: dict[str, str], show_all: bool) -> list[Table | str]:
    """The table with methods as they are typed, those that say the same once, and the advice."""
    called = [replace(one, method=names[one.method]) for one in found.methods]
    everyone = replace(found, methods=called)
    alike: dict[object, list[MethodFigures]] = {}  # methods by their figures
    for one in called:
        figures = one.precision_by_fold, one.accuracy_by_fold, round(one.roc_auc, 9)
        alike.setdefault(figures, []).append(one)
    same: list[Table | str] = []
    if not show_all:
        called = [first for first, *_ in alike.values()]
        for first, *others in alike.values():
            if others:
                listed = ", ".join(other.method for other in others)
                same.append(f"The same figures as {first.method}: {listed} (--all shows them).")
    return [replace(found, methods=called).table, *same, everyone.advice]


def _models(options: ModelOptions, n_modes: int) -> dict[str, BaseEstimator]:
    """Every method with those of the options that it has, by what ``--method`` calls it."""
    known = sorted({one for name in method_names() for one in parameter_names(name)})
    for one in options.parameters():
        if one not in known:
            raise BadInput(f"no method has a parameter {one!r}; there are {', '.join(known)}")
    given = {name: options.known_to(name).parameters() for name in method_names()}
    return {name: estimator_named(name, own, n_modes) for name, own in given.items()}


def _explanation(label: object) -> list[str]:
    alone = label is not None
    who, over = (f"class {label}", "folds") if alone else ("each class", "classes and folds")
    return [
        f"Average precision, ROC AUC: {who} against the rest, mean over {over}.",
        "plda: ProbabilisticLDA; cmda, dater, mpca, ...: the same in one subspace for all classes.",
        "csda, mcsda, ...: one subspace per class, with a score of the class in it.",
        "LDA, RBF SVM, LinearSVC, Ridge, NearestNeighbor: classifiers of scikit-learn.",
    ]

"""``tenfold compare``: every method on the same folds, in one table."""

from __future__ import annotations

from typing import Annotated, Any

from tenfold.cli.errors import BadInput, more_rounds
from tenfold.cli.methods import MethodOptions, made, mode_count, own_parameters
from tenfold.cli.options import DataOptions, DataPath, FoldCount, option
from tenfold.cli.outcome import Outcome, Table
from tenfold.cli.values import label_named

HOW = (
    "Average precision and ROC AUC: each class against the rest by the distance from its mean, in "
    "its own subspace (MCSDA, CSDA) or in the one of all classes; the mean over {what}."
)


def compare(
    data: DataPath,
    *,
    positive: Annotated[
        str | None, option("--positive", metavar="CLASS", text="Judge this class alone.")
    ] = None,
    method_options: MethodOptions,
    data_options: DataOptions,
    folds: FoldCount = 5,
    seed: Annotated[int, option("--seed", metavar="N", text="Of the shuffle into folds; 0.")] = 0,
) -> Outcome:
    """Judge every method by cross-validation, in one table.

    A parameter goes to the methods that have it. With --ranks auto the ranks are searched anew in
    every training part, so no test sample has a say.

    Example: tenfold compare faces --ranks 3,3 --folds 3
    """
    from tenfold.cli.cross_validation import cross_validated
    from tenfold.cli.searching import stratified
    from tenfold.methods import ALL_METHODS

    samples = data_options.load(data)
    if samples.y is None:
        raise BadInput("comparing needs labels; leave out --no-labels, or pass --labels")
    given = method_options.parameters()
    _check_known(given, ALL_METHODS)
    n_modes = mode_count(given, samples.sample_shape)
    estimators = [made(method, own_parameters(method, given, n_modes)) for method in ALL_METHODS]
    label = None if positive is None else label_named(positive, samples.classes)
    cut = stratified(samples.y, folds, seed)
    results = cross_validated(
        estimators, samples, cut, positive=label, search=method_options.searches
    )
    results.sort(key=lambda result: -result["average_precision"])
    facts = {
        "data": data,
        "samples": len(samples),
        "sample_shape": samples.sample_shape,
        "classes": len(samples.classes),
        "positive": label,
        "folds": cut.n_splits,
        "seed": seed,
        "methods": results,
    }
    story = _story(facts)
    if not all(result["converged"] for result in results):
        more = more_rounds(max(estimator.max_iter for estimator in estimators))
        story.append(f"Some subspaces still moved in the last round; {more} gives more.")
    return Outcome(facts, story)


def _check_known(given: dict[str, Any], methods: tuple[Any, ...]) -> None:
    known = {name for method in methods for name in method().get_params()} - {"positive"}
    unknown = sorted(given.keys() - known)
    if unknown:
        raise BadInput(
            f"no method has a parameter {unknown[0]!r}; there are {', '.join(sorted(known))}"
        )


def _story(facts: dict[str, Any]) -> list[Table | str]:
    alone = facts["positive"] is not None
    columns = ["method", "ranks", "average precision", "ROC AUC", "accuracy", "fit (s)"]
    rows = [
        [
            result["method"],
            "x".join(map(str, result["ranks"])),
            f"{100 * result['average_precision']:.1f} ± {100 * result['deviation']:.1f}",
            f"{100 * result['roc_auc']:.1f}",
            f"{100 * (result['accuracy'] or 0):.1f}",
            f"{result['seconds']:.2f}",
        ]
        for result in facts["methods"]
    ]
    if alone:
        columns.pop(4)
        rows = [row[:4] + row[5:] for row in rows]
    shape = "x".join(map(str, facts["sample_shape"]))
    title = (
        f"{facts['samples']} samples of {shape}, {facts['classes']} classes, "
        f"{facts['folds']} folds; % ± deviation over folds"
    )
    how = HOW.format(what=f"folds, for {facts['positive']}" if alone else "classes and folds")
    if not alone:
        how += " Accuracy: the class with the nearest mean."
    return [Table(columns, rows, title), how]

"""``tenfold fit``: learn a model from a data set and write it to a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tenfold.cli.errors import BadInput
from tenfold.cli.methods import (
    MethodOptions,
    flat_parameters,
    is_class_specific,
    made,
    method_named,
    method_names,
    mode_count,
)
from tenfold.cli.options import (
    DataOptions,
    DataPath,
    FoldCount,
    option,
    output_file,
    require,
)
from tenfold.cli.outcome import Outcome, Table
from tenfold.cli.values import label_named, number_or

if TYPE_CHECKING:
    from tenfold.datasets import TensorDataset


def fit(
    data: DataPath,
    *,
    output: Annotated[
        Path, option("-o", "--output", metavar="FILE", text="The model, .safetensors.")
    ],
    method: Annotated[
        str,
        option(
            "--method",
            metavar="NAME",
            text=", ".join(method_names()) + ".",
            autocompletion=method_names,
        ),
    ] = "mcsda",
    positive: Annotated[
        str | None, option("--positive", metavar="CLASS", text="The class to tell from the rest.")
    ] = None,
    false_accept_rate: Annotated[
        str | None,
        option("--false-accept-rate", metavar="X", text="For the threshold; 0.01, or equal."),
    ] = None,
    method_options: MethodOptions,
    data_options: DataOptions,
    folds: FoldCount = 5,
) -> Outcome:
    """Learn a model and write it to a file.

    With --positive a verifier, which accepts or rejects; else a bank with one model per class,
    which decides. Methods beside mcsda (the default) and csda: one subspace for all.

    Example: tenfold fit faces --ranks 3,3 --positive s7 -o s7.safetensors
    """
    output_file(output, ".safetensors", inputs=(data,))
    require("a model file", "files", "safetensors")
    samples = data_options.load(data)
    estimator = _estimator(method, method_options, samples, positive, false_accept_rate)
    start = time.perf_counter()
    search = None
    if method_options.searches:
        from tenfold.cli.searching import searched, stratified

        search = searched(estimator, samples.X, samples.y, stratified(samples.y, folds))
        estimator = search.estimator
    else:
        estimator.fit(samples.X, samples.y)
    facts = _facts(estimator, samples, time.perf_counter() - start)
    if search is not None:
        scored = zip(search.candidates, search.scores, strict=True)
        tried = [{"ranks": ranks, "score": score} for ranks, score in scored]
        facts["search"] = {"measure": search.measure, "tried": tried}
    estimator.save(output)
    return Outcome({"model": output, **facts}, _story(output, facts))


def _estimator(
    name: str,
    options: MethodOptions,
    data: TensorDataset,
    positive: str | None,
    false_accept_rate: str | None,
) -> Any:
    """The estimator that the options ask for, not fitted."""
    from tenfold.decisions.classifier import ClassSpecificClassifier
    from tenfold.decisions.verifier import ClassSpecificVerifier

    method = method_named(name)
    given = options.parameters()
    n_modes = mode_count(given, data.sample_shape)
    projector = made(method, flat_parameters(method, given, n_modes))
    if data.y is None and (projector.needs_labels or options.searches):
        who = method.__name__ if projector.needs_labels else "--ranks auto, to judge ranks by,"
        raise BadInput(f"{who} needs labels; leave out --no-labels, or pass --labels")
    if positive is None and false_accept_rate is not None:
        raise BadInput("--false-accept-rate sets the threshold of one class; add --positive CLASS")
    if not is_class_specific(method):
        if positive is not None:
            raise BadInput(
                f"{method.__name__} learns one subspace for all classes; leave out --positive, or "
                "choose --method mcsda or csda"
            )
        return projector
    if positive is None:
        return ClassSpecificClassifier(projector)
    rate = number_or("--false-accept-rate", false_accept_rate or "0.01", "equal")
    label = label_named(positive, data.classes)
    return ClassSpecificVerifier(projector, positive=label, false_accept_rate=rate)


def _facts(model: Any, data: TensorDataset, seconds: float) -> dict[str, Any]:
    members = getattr(model, "projectors_", [getattr(model, "projector_", model)])
    ranks = sorted({member.ranks_ for member in members})
    facts = {
        "kind": type(model).__name__,
        "method": type(members[0]).__name__,
        "samples": len(data),
        "sample_shape": data.sample_shape,
        "classes": len(data.classes) if data.y is not None else None,
        "ranks": ranks[0] if len(ranks) == 1 else ranks,
        "rounds": max(member.n_iter_ for member in members),
        "converged": all(member.converged_ for member in members),
        "seconds": seconds,
    }
    if hasattr(model, "threshold_"):
        facts |= {"positive": model.positive, "threshold": model.threshold_}
        facts["held_out"] = model.error_rates_
    return facts


def _story(output: Path, facts: dict[str, Any]) -> list[Table | str]:
    what = {
        "ClassSpecificVerifier": f"{facts['method']} verifier of {facts.get('positive')}",
        "ClassSpecificClassifier": f"bank of {facts['classes']} {facts['method']} models",
    }.get(facts["kind"], f"{facts['method']} subspace")
    shape = "x".join(map(str, facts["sample_shape"]))
    each = facts["ranks"] if isinstance(facts["ranks"], list) else [facts["ranks"]]
    ranks = " or ".join("x".join(map(str, one)) for one in each)
    lines: list[Table | str] = [
        f"{what}: {shape} -> {ranks}, {facts['samples']} samples, {facts['seconds']:.1f} s"
    ]
    if "search" in facts:
        tried = facts["search"]["tried"]
        rows = [["x".join(map(str, one["ranks"])), f"{100 * one['score']:.1f}"] for one in tried]
        lines.append(Table(["ranks", f"{facts['search']['measure']} (%)"], rows))
    if "held_out" in facts:
        rates = {name.replace("_", " "): rate for name, rate in facts["held_out"].items()}
        shown = ", ".join(f"{100 * rate:.1f} % {name}" for name, rate in rates.items())
        lines.append(f"threshold {facts['threshold']:.4g}; on held-out samples {shown}")
    next_one = "evaluate" if "Specific" in facts["kind"] else "inspect"
    data = " DATA" if next_one == "evaluate" else ""
    return [*lines, f"wrote {output}; next: tenfold {next_one} {output}{data}"]

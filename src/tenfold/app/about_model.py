"""What is to be said of a fitted model, for the command line and the report."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tenfold.classifiers.members import innermost, known_classes, projectors_before, rejecting
from tenfold.datasets.locations import natural_key
from tenfold.tables import times

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from tenfold.classifiers.probabilistic import ProbabilisticLDA
    from tenfold.linalg.algebra import Array

MOST_RANKS = 5  # that are listed


def about_model(estimator: BaseEstimator) -> tuple[dict[str, object], dict[str, str]]:
    """Facts of a fitted model.

    Parameters
    ----------
    estimator : fitted estimator
        Any that can be saved, or a search over one.

    Returns
    -------
    facts : dict of str to values
        For programs.
    lines : dict of str to str
        The same in words.

    Examples
    --------
    >>> from tenfold import MPCA
    >>> from tenfold.app.about_model import about_model
    >>> from tenfold.datasets import load_digits_tensor
    >>> facts, lines = about_model(MPCA(ranks=(3, 2)).fit(load_digits_tensor().X))
    >>> facts["ranks"], lines["samples"]
    ((3, 2), '8x8 -> 3x2')
    """
    last = innermost(estimator)
    rejects = rejecting(estimator)
    first = estimator.steps[0][1] if hasattr(estimator, "steps") else last
    shape = getattr(first, "sample_shape_", last.sample_shape_)
    members = getattr(last, "members_", []) or projectors_before(estimator)  # a scaler has none
    ranks = sorted({member.ranks_ for member in members})
    parameters = estimator.get_params().items()
    facts = {
        "estimator": " ".join(repr(estimator).split()),
        "parameters": {n: value for n, value in parameters if not hasattr(value, "get_params")},
        "answer": getattr(last, "_output_kind", None),
        "positive": getattr(last, "positive", None),
        "method": type((*members, last)[0]).__name__,
        "sample_shape": shape,
        "classes": known_classes(last) if getattr(last, "_needs_labels", True) else None,
        "ranks": ranks[0] if len(ranks) == 1 else ranks,
        "rounds": max((member.n_iter_ for member in members), default=0),
        "converged": all(member.converged_ for member in members),
    }
    facts["views"] = getattr(last, "views_", None)
    facts["weights"] = getattr(last, "weights_", None)
    has_loss = facts["answer"] == "probability" and has_left_out(last)
    facts["left_out_log_loss"] = last.loo_log_loss_ if has_loss else None
    for name in ("unknown", "threshold", "error_rates", "guaranteed_rate"):
        facts[name] = getattr(rejects or last, f"{name}_", None)
    kept = [times(shape), " or ".join(map(times, ranks))]
    if len(ranks) > MOST_RANKS:
        kept[1] = f"{times(min(ranks, key=prod))} to {times(max(ranks, key=prod))}"
    lines = {"model": facts["estimator"], "classes": in_short(facts["classes"])}
    if members:
        converged = sum(member.converged_ for member in members)
        of_all = f"{converged} of {len(members)} {facts['method']} subspaces"
        lines["converged"] = f"{of_all}, most rounds: {facts['rounds']}"
    if facts["answer"] == "probability":
        lines["views"] = views_in_words(last)
        if has_loss:
            lines["log loss"] = f"{last.loo_log_loss_:.3g} nats, on left-out samples"
    if facts["threshold"] is not None:
        rates = {name.replace("_", " "): rate for name, rate in facts["error_rates"].items()}
        shown = ", ".join(f"{100 * rate:.1f} % {name}" for name, rate in rates.items())
        where = "held-out samples" if rejects is None else "classes that were left out"
        lines["threshold"] = f"{facts['threshold']:.4g}; on {where} {shown}"
    return facts, {"samples": " -> ".join(filter(None, kept)), **lines}


def has_left_out(model: ProbabilisticLDA) -> bool:
    """Whether left-out samples chose its settings: there are none in moments."""
    return bool(model.pool_["calibration"][2].any())


def views_in_words(model: ProbabilisticLDA) -> str:
    """The views of a `ProbabilisticLDA` that have a weight, the largest first."""
    pairs = sorted(zip(model.weights_.tolist(), model.views_, strict=True), reverse=True)
    used = [f"{name} {weight:.2f}" for weight, name in pairs if weight > 0]
    unused = [name for weight, name in pairs if not weight > 0]
    more = f"; without a weight: {', '.join(unused)}" if unused else ""
    return f"weights {', '.join(used)}{more}"


def in_short(labels: Array | None) -> str:
    """How many classes there are, and the first of them."""
    if labels is None:
        return "none: no labels were needed"
    names = sorted(map(str, labels.tolist()), key=natural_key)
    more = ", ..." if len(names) > 6 else ""
    return f"{len(names)}: {', '.join(names[:6])}{more}"

"""``tenfold fit``: learn a model from a data set and write it to a file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tenfold.app.cli.command import BadInput, Outcome
from tenfold.app.cli.data_options import (
    DataOptions,
    DataPaths,
    class_counts,
    near_copies,
    one_path,
    remembered,
    typed,
)
from tenfold.app.cli.method_options import (
    GAUSSIAN,
    MethodOptions,
    StepOptions,
    fit_names,
    flat_parameters,
    gaussian_of,
    method_named,
    mode_count,
    projector_of,
)
from tenfold.app.cli.options import FoldCount, label_named, number_or, option, output_file
from tenfold.system.tables import Table, percent, times

EITHER = "csda or mcsda"
SAMPLES_NEEDED = (
    "moments hold no single samples to hold out; {remedy}, or fit where the samples are"
)


@dataclass(frozen=True)
class Gathered:
    """Moments that stand for a data set, with what the commands ask of one."""

    moments: Any
    reading: dict[str, Any]

    @classmethod
    def load(
        cls,
        paths: list[Path],
        data_options: DataOptions,
        method_options: MethodOptions,
        positive: str | None,
    ) -> Gathered:
        """The sum of files of moments; options that need samples are refused."""
        from tenfold.files.moment_files import read_moments

        words = [*data_options.words(), *(["--rows"] if data_options.rows is not None else [])]
        if words:
            raise BadInput(
                f"{words[0]} says how samples are read, but --from-moments reads none; pass it to "
                "tenfold moments instead"
            )
        if positive is not None:
            remedy = "leave out --positive for a bank, which needs no threshold"
            raise BadInput(
                f"--positive sets a threshold, but {SAMPLES_NEEDED.format(remedy=remedy)}"
            )
        if method_options.searches:
            remedy = "name the ranks, as with --ranks 7,7"
            raise BadInput(
                f"--ranks auto compares ranks, but {SAMPLES_NEEDED.format(remedy=remedy)}"
            )
        for path in paths:
            if not path.exists():
                raise BadInput(
                    f"{path} does not exist; expected moments that tenfold moments wrote"
                )
        stored = read_moments(*paths)
        return cls(stored.moments, stored.reading)

    def __len__(self) -> int:
        return round(self.moments.count)

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape (I_1, ..., I_K) of one sample."""
        return tuple(self.moments.shape)

    @property
    def classes(self) -> Any:
        """The labels of classes that have samples, sorted."""
        return self.moments.by_class().present().classes

    @property
    def class_counts(self) -> dict[str, int]:
        """How many samples every class has, by its label as text."""
        found = self.moments.by_class().present()
        return {str(label): round(n) for label, n in zip(found.classes, found.counts, strict=True)}

    @property
    def y(self) -> Any:
        """The labels, if there is more than one; there is no label per sample."""
        return self.classes if len(self.classes) > 1 else None

    def fit(self, estimator: Any) -> Any:
        """The estimator, fitted to the moments."""
        return estimator.fit_moments(self.moments)


if TYPE_CHECKING:
    from tenfold.datasets import TensorDataset

    Samples = TensorDataset | Gathered


METHODS = "plda, csda, mcsda, cmda, dater, mpca, ..."
MethodName = Annotated[
    str | None,
    option("--method", metavar="NAME", text=METHODS, autocompletion=fit_names),
]


def fit(
    data: DataPaths,
    *,
    output: Annotated[
        Path, option("-o", "--output", metavar="FILE", text="The model, .safetensors.")
    ],
    method: MethodName = None,
    positive: Annotated[
        str | None, option("--positive", metavar="CLASS", text="The class to tell from the rest.")
    ] = None,
    reject: Annotated[
        str | None,
        option("--reject", metavar="X|equal", text="Share of strangers to let through; 0.01."),
    ] = None,
    from_moments: Annotated[
        bool,
        option("--from-moments", metavar=None, text="DATA are files of tenfold moments."),
    ] = False,
    step_options: StepOptions,
    method_options: MethodOptions,
    data_options: DataOptions,
    cv: FoldCount = 5,
) -> Outcome:
    """Learn a model and write it to a file.

    plda gives probabilities. mcsda and csda verify one class, --positive, or learn a bank: one
    subspace per class.

    Example: tenfold fit faces --ranks 3,3 --positive s7 -o s7.safetensors
    """
    from tenfold.methods.saving import save

    output_file(output, ".safetensors", inputs=tuple(data))
    samples = (
        Gathered.load(data, data_options, method_options, positive)
        if from_moments
        else data_options.load(one_path(data))
    )
    name = (method or (GAUSSIAN if positive is None else EITHER)).lower()
    estimator = _estimator(name, method_options, samples, positive, reject, cv)
    estimator = step_options.before(estimator, samples)
    estimator = (
        estimator
        if positive is not None
        else _rejecting(estimator, reject, samples, method_options)
    )
    start = time.perf_counter()
    estimator, search = _fitted(estimator, samples, method_options.searches, cv)
    facts = _facts(estimator, samples, time.perf_counter() - start) | search
    save(estimator, output, reading=samples.reading if from_moments else remembered(samples))
    hints = [] if from_moments else near_copies(samples)
    hints += hints_for(facts, from_moments or data_options.rows is not None)
    command = typed("tenfold", "inspect", output)
    if facts["scores"] and not from_moments:
        words = data_options.words(data_options.other_rows)
        command = typed("tenfold", "evaluate", output, *data, *words)
    shown = [*_shown(facts), *hints, f"wrote {output}; next: {command}"]
    return Outcome({"model": output, **facts, "hints": hints, "next": command}, shown)


def _fitted(
    estimator: Any, samples: Samples, searches: bool, cv: int
) -> tuple[Any, dict[str, Any]]:
    """The estimator fitted, and what a search of its ranks found; groups are held out whole."""
    if isinstance(samples, Gathered):
        return samples.fit(estimator), {}
    from sklearn.utils.validation import has_fit_parameter

    from tenfold.decisions.folds import folds_of
    from tenfold.decisions.members import innermost, names_classes
    from tenfold.selection.rank_search import search_ranks

    if searches:
        folds = folds_of(cv, samples.y, samples.groups)
        best, scores = search_ranks(estimator, samples.X, samples.y, folds)
        tried = [{"ranks": ranks, "score": score} for ranks, score in scores.items()]
        measure = "accuracy" if names_classes(best) else "average precision"
        return best, {"search": {"measure": measure, "tried": tried}}
    if samples.groups is None:
        return estimator.fit(samples.X, samples.y), {}
    takes = has_fit_parameter(innermost(estimator), "groups") and not hasattr(estimator, "unknown")
    more = _of(estimator, "groups", samples.groups) if takes else {}
    return estimator.fit(samples.X, samples.y, **more), {}


def _of(estimator: Any, name: str, value: Any) -> dict[str, Any]:
    """An argument for the last step of what may be a pipeline."""
    steps = getattr(estimator, "steps", None)
    return {name if steps is None else f"{steps[-1][0]}__{name}": value}


def _rejecting(estimator: Any, reject: str | None, data: Samples, options: MethodOptions) -> Any:
    """A classifier that may answer "unknown", if that is asked for."""
    from tenfold.decisions.open_set import OpenSetClassifier

    if reject is None:
        return estimator
    if isinstance(data, Gathered) or data.y is None:
        raise BadInput("--reject leaves classes out to set a threshold; it needs labelled samples")
    if options.searches:
        raise BadInput("--reject takes ranks that are named, as with --ranks 7,7, and not auto")
    rate = number_or("--reject", reject)
    return OpenSetClassifier(estimator, false_accept_rate=rate)


def _refuse_one_class(data: Samples) -> None:
    """Refuse moments of one class, or of samples without labels, to what tells classes apart."""
    if isinstance(data, Gathered) and data.y is None:
        raise BadInput(
            f"the moments are of one class ({data.classes[0]!s}), or of samples without labels; "
            "name files of other classes, too, or choose --method mpca"
        )


def _estimator(
    name: str,
    options: MethodOptions,
    data: Samples,
    positive: str | None,
    reject: str | None,
    cv: int,
) -> Any:
    """The estimator that the options ask for, not fitted."""
    from tenfold.decisions.classifier import ClassSpecificClassifier
    from tenfold.decisions.verifier import ClassSpecificVerifier
    from tenfold.methods import CLASS_SPECIFIC_METHODS

    given = options.parameters()
    either = name == EITHER and not given and not options.searches  # a verifier chooses by itself
    name = "csda" if name == EITHER else name
    method = None if name == GAUSSIAN else method_named(name)
    if positive is not None and method not in CLASS_SPECIFIC_METHODS:
        raise BadInput(
            f"{name} tells classes apart; leave out --positive, or choose --method csda or mcsda"
        )
    needs_labels = method is None or method._needs_labels
    if needs_labels:
        _refuse_one_class(data)
    if data.y is None and (needs_labels or options.searches):
        who = name if needs_labels else "--ranks auto"
        raise BadInput(f"{who} needs labels; pass --labels NAME|FILE")
    n_modes = mode_count(given, data.sample_shape)
    if data.y is not None and method not in CLASS_SPECIFIC_METHODS:
        if method is None and (options.ranks is not None or "sample_shape" in given):
            name = "mpca"  # what has ranks is a subspace
        return gaussian_of(name, given, n_modes)
    projector = projector_of(method, flat_parameters(method, given, n_modes))
    if data.y is None:
        return projector
    if positive is None:
        return ClassSpecificClassifier(projector)
    rate = number_or("--reject", reject or "0.01", "equal")
    label = label_named(positive, data.classes)
    own = None if either else projector
    return ClassSpecificVerifier(own, positive=label, false_accept_rate=rate, cv=cv)


def _facts(model: Any, data: Samples, seconds: float) -> dict[str, Any]:
    from tenfold.decisions.members import answer_of, innermost, rejecting

    rejects = rejecting(model)
    model = innermost(model)
    members = model.members_
    ranks = sorted({member.ranks_ for member in members})
    facts = {
        "kind": type(model).__name__,
        "method": type((*members, model)[0]).__name__,
        "samples": len(data),
        "sample_shape": data.sample_shape,
        "classes": len(data.classes) if data.y is not None else None,
        "counts": data.class_counts,
        "description": getattr(data, "description", "Moments."),
        "ranks": ranks[0] if len(ranks) == 1 else ranks,
        "rounds": max((member.n_iter_ for member in members), default=0),
        "converged": all(member.converged_ for member in members),
        "seconds": seconds,
        "scores": answer_of(model) != "projection",
    }
    if answer_of(model) == "probability":
        names = ("shrinkage_", "gain_", "tails_", "temperature_")
        without_folds = isinstance(data, Gathered) and data.moments.folds is None
        chosen = "classes" if without_folds else "samples"
        facts["by_held_out_samples"] = model.shrinkage == "auto" and chosen == "samples"
        facts["by_held_out_classes"] = model.shrinkage == "auto" and chosen == "classes"
        facts["coordinates"] = len(model.between_)
        facts |= {name.rstrip("_"): getattr(model, name) for name in names}
    if rejects is not None:
        facts |= {"unknown": rejects.unknown_, "threshold": rejects.threshold_}
        facts |= {"held_out": rejects.error_rates_, "promised_rate": rejects.promised_rate_}
    if answer_of(model) == "acceptance":
        facts |= {"positive": model.positive, "threshold": model.threshold_}
        facts |= {"held_out": model.error_rates_, "promised_rate": model.promised_rate_}
    return facts


def _shown(facts: dict[str, Any]) -> list[Table | str]:
    what = {
        "ClassSpecificVerifier": f"{facts['method']} verifier of {facts.get('positive')}",
        "ClassSpecificClassifier": f"bank of {facts['classes']} {facts['method']} models",
    }.get(facts["kind"], f"{facts['method']} subspace")
    each = facts["ranks"] if isinstance(facts["ranks"], list) else [facts["ranks"]]
    if facts["kind"] == "ProbabilisticLDA":
        inside = f" in a subspace of {facts['method']}" if facts["ranks"] else ""
        what = f"Gaussian models of {facts['classes']} classes{inside}"
        each = [*each, (facts["coordinates"],)]
    lines: list[Table | str] = [
        f"{what}: {times(facts['sample_shape'])} -> {_joined(facts, each)}, "
        f"{facts['samples']} samples, {facts['seconds']:.1f} s"
    ]
    if facts["counts"]:
        lines.append(f"{facts['description']} {class_counts(facts['counts'])}")
    if "search" in facts:
        rows = [[times(one["ranks"]), percent(one["score"])] for one in facts["search"]["tried"]]
        lines.append(Table("", ["ranks", f"{facts['search']['measure']} (%)"], rows))
    if facts.get("by_held_out_samples"):
        lines.append(
            f"chosen on held-out samples: shrinkage {facts['shrinkage']:.3g}, temperature "
            f"{facts['temperature']:.3g}"
        )
    if facts.get("by_held_out_classes"):
        lines.append(
            f"chosen by leaving out classes: shrinkage {facts['shrinkage']:.3g}; moments that "
            "tenfold moments --folds writes let samples be held out"
        )
    if "held_out" in facts:
        rates = {name.replace("_", " "): rate for name, rate in facts["held_out"].items()}
        shown = ", ".join(f"{100 * rate:.1f} % {name}" for name, rate in rates.items())
        where = "classes that were left out" if "unknown" in facts else "held-out samples"
        lines.append(f"threshold {facts['threshold']:.4g}; on {where} {shown}")
    return lines


def hints_for(facts: dict[str, Any], some_rows: bool) -> list[str]:
    """Settings that are known to help and were not used, a sentence each."""
    hints = []
    if not facts["converged"]:
        hints.append("hint: some subspaces did not converge; --set max_iter=200 allows more rounds")
    if facts["kind"] == "ClassSpecificClassifier" and facts["method"] == "MCSDA":
        hints.append(
            "hint: --method csda or plda is usually more accurate than mcsda for many classes; see "
            "tenfold compare"
        )
    if facts.get("held_out", {}).get("false_rejects", 0.0) > 0.5:
        hints.append(
            "hint: at this rate most samples of the class itself are rejected; --reject equal "
            "makes both errors alike, and --reject 0.1 lets one of ten others through"
        )
    if facts["scores"] and not some_rows:
        hints.append("hint: all samples were used; --rows train leaves some to test the model on")
    return hints


def _joined(facts: dict[str, Any], each: list[Any]) -> str:
    between = " -> " if facts["kind"] == "ProbabilisticLDA" else " or "
    return between.join(map(times, each))

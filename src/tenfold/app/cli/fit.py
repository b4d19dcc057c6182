"""``tenfold fit`` and ``tenfold moments``: learn a model, or sum up what it is learned from."""

from __future__ import annotations

import time
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import tenfold
from tenfold.app.cli.command import BadInput, Outcome
from tenfold.app.cli.data_options import (
    DataOptions,
    DataPath,
    DataPaths,
    class_counts,
    near_copies,
    one_path,
    remembered,
    typed,
)
from tenfold.app.cli.inspect import about_file, model_facts, moments_facts
from tenfold.app.cli.model_options import (
    EACH,
    GAUSSIAN,
    NONE,
    ModelOptions,
    completed_names,
    estimator_named,
    method_named,
    mode_count,
)
from tenfold.app.cli.options import (
    FoldCount,
    as_typed,
    label_named,
    numbers,
    option,
    output_file,
)
from tenfold.tables import Cell, Table, percent, times

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from tenfold.datasets import TensorDataset

METHODS = "plda (default), csda, mcsda, cmda, mpca, ..."
FOLDS = 5


class Tried(TypedDict):
    """Ranks, and their cross-validated score."""

    ranks: tuple[int, ...]
    score: float


class Search(TypedDict):
    """What a search of the ranks found."""

    measure: str
    tried: list[Tried]


def fit(
    data: DataPaths,
    *,
    output: Annotated[Path, option("FILE", "Output file, .safetensors.", "-o", "--output")],
    method: Annotated[str | None, option("NAME", METHODS, autocompletion=completed_names)] = None,
    positive: Annotated[str | None, option("CLASS", "The class to verify.")] = None,
    false_accept_rate: Annotated[
        str | None, option("X|equal", "Share of strangers to accept: 0.01.")
    ] = None,
    from_moments: Annotated[
        bool, option(None, "DATA are files of tenfold moments.", "--from-moments")
    ] = False,
    model_options: ModelOptions,
    data_options: DataOptions,
    cv: FoldCount = FOLDS,
) -> Outcome:
    """Learn a model and write it to a file.

    plda gives probabilities. mcsda and csda verify one class (--positive), or learn a bank: one
    subspace per class.

    Example: tenfold fit faces --ranks 3,3 --positive s7 -o s7.safetensors
    """
    output_file(output, ".safetensors", inputs=tuple(data))
    moments = None
    if from_moments:
        _refuse_what_needs_samples(data_options, model_options, positive, false_accept_rate, cv)
        moments, samples = _read_moments(data)
    else:
        samples = data_options.load(one_path(data))
    estimator = _estimator(method, model_options, samples, positive, false_accept_rate, cv)
    start = time.perf_counter()
    estimator = model_options.with_steps(estimator, samples)
    if moments is None:
        if false_accept_rate is not None and positive is None:
            estimator = _rejecting(estimator, false_accept_rate, samples, model_options)
        estimator, search = _fitted(estimator, samples, model_options.searches, cv)
    else:
        estimator, search = _fitted_to_moments(estimator, moments), None
    seconds = time.perf_counter() - start
    reading = samples.reading if from_moments else remembered(samples)
    tenfold.save(estimator, output, reading=reading)
    facts, rows = model_facts(output)
    number, counts = _numbers_of(samples, moments)
    hints = near_copies(samples) if moments is None else []
    facts |= {"samples": number, "counts": counts, "seconds": seconds, "search": search}
    rows["fitted to"] = f"{number} samples in {seconds:.1f} s"
    hints += _hints(facts, from_moments or data_options.rows is not None)
    command = typed("tenfold", "inspect", output)
    if facts["answer"] != "projection" and moments is None:
        command = _evaluation(output, data, data_options)
    shown = [about_file(output, rows), *_data_and_search(samples, counts, search), *hints]
    shown.append(f"wrote {output}; next: {command}")
    return Outcome({**facts, "hints": hints, "next": command}, shown)


def _evaluation(output: Path, data: list[Path], options: DataOptions) -> str:
    """The command that tests a model, on the rows that it was not fitted on if some were named."""
    words = as_typed(replace(options, rows=options.other_rows))
    return typed("tenfold", "evaluate", output, *data, *words)


def _data_and_search(
    samples: TensorDataset, counts: dict[str, int], search: Search | None
) -> list[Table | str]:
    """What was taken for samples and labels, and the ranks that were tried."""
    shown: list[Table | str] = []
    if samples.y is not None:
        shown.append(f"{samples.description} {class_counts(counts)}")
    if search is not None:
        tried: list[list[Cell | str]] = [
            [times(one["ranks"]), percent(one["score"])] for one in search["tried"]
        ]
        shown.append(Table("", ["ranks", f"{search['measure']} (%)"], tried))
    return shown


def _numbers_of(
    samples: TensorDataset, moments: tenfold.ClassMoments | None
) -> tuple[int, dict[str, int]]:
    """How many samples there are, and how many of each class, by the label as text.

    Of moments these are sums of weights; a class has at least 1.
    """
    if moments is None:
        return len(samples), samples.class_counts
    known = moments.present()
    counts = [max(1, round(count)) for count in known.counts.tolist()]
    return round(moments.count), dict(zip(map(str, known.classes.tolist()), counts, strict=True))


def _refuse_what_needs_samples(
    data_options: DataOptions,
    options: ModelOptions,
    positive: str | None,
    false_accept_rate: str | None,
    cv: int,
) -> None:
    """Refuse options that moments cannot serve."""
    refused = [(word, "pass it to tenfold moments") for word in as_typed(data_options)[:1]]
    if options.impute:
        refused.append(("--impute", "fill in gaps before tenfold moments"))
    if options.scale_modes not in (None, EACH, NONE):  # scales every sample by itself
        refused.append(("--scale-modes", "scale samples before tenfold moments, or pass each"))
    if options.views is not None or "views" in options.parameters():
        refused.append(("--views", "leave it out"))
    if cv != FOLDS:
        refused.append(("--cv", "leave it out"))
    if positive is not None:
        refused.append(("--positive", "leave it out for a bank, without a threshold"))
    if false_accept_rate is not None:
        refused.append(("--false-accept-rate", "leave it out"))
    if options.searches:
        refused.append(("--ranks auto", "name the ranks, as with --ranks 7,7"))
    if refused:
        option, remedy = refused[0]
        raise BadInput(
            f"{option} needs samples, and --from-moments reads none; {remedy}, or fit where the "
            "samples are"
        )


def _read_moments(paths: list[Path]) -> tuple[tenfold.ClassMoments, TensorDataset]:
    """The sum of files of moments, and samples that are like theirs, one of each class."""
    import numpy as np

    from tenfold.datasets import TensorDataset
    from tenfold.files.moment_files import read_moments

    for path in paths:
        if not path.exists():
            raise BadInput(f"{path} does not exist; expected moments that tenfold moments wrote")
    stored = read_moments(*paths)
    found = stored.moments.present()
    X = np.broadcast_to(0.0, found.means.shape)  # one number, which is not looked at
    y = found.classes if len(found.classes) > 1 else None
    return stored.moments, TensorDataset(X, y, description="Moments.", reading=stored.reading)


def _estimator(
    name: str | None,
    options: ModelOptions,
    data: TensorDataset,
    positive: str | None,
    false_accept_rate: str | None,
    cv: int,
) -> BaseEstimator:
    """The estimator that the options ask for, not fitted."""
    from tenfold.methods import CLASS_SPECIFIC_METHODS

    given = options.parameters()
    chooses = name is None and not given and not options.searches  # a verifier, by itself
    name = (name or (GAUSSIAN if positive is None else "csda")).lower()
    method = method_named(name)
    if positive is not None and method not in CLASS_SPECIFIC_METHODS:
        raise BadInput(
            f"--positive verifies one class, but {name} separates all classes; leave out "
            "--positive, or choose --method csda or mcsda"
        )
    needs_labels = method is None or method._needs_labels
    if data.y is None and (needs_labels or options.searches):
        raise BadInput(
            f"{name if needs_labels else '--ranks auto'} needs labels of two classes or more; pass "
            "--labels NAME|FILE (moments: name files of other classes, too), or take --method mpca"
        )
    if method is None and options.ranks is not None:
        name = "mpca"  # what has ranks is a subspace
    n_modes = mode_count(given, data.sample_shape)
    model = estimator_named(name, given, n_modes, labelled=data.y is not None)
    if data.y is None or method not in CLASS_SPECIFIC_METHODS:
        return model
    if positive is None:
        return tenfold.ClassSpecificClassifier(model)
    label = label_named(positive, data.classes)
    rate = _rate(false_accept_rate or "0.01")
    own = None if chooses else model
    return tenfold.ClassSpecificVerifier(own, positive=label, false_accept_rate=rate, cv=cv)


def _rate(text: str) -> Literal["equal"] | float:
    """The share of strangers to let through."""
    if text == "equal":
        return "equal"
    found = numbers("--false-accept-rate", text, "a number such as 0.01, or equal")
    if isinstance(found, tuple):
        raise BadInput(f"--false-accept-rate is {text!r}; expected one number such as 0.01")
    return found


def _rejecting(
    estimator: object, false_accept_rate: str, data: TensorDataset, options: ModelOptions
) -> tenfold.OpenSetClassifier:
    """A classifier that may answer "unknown"."""
    if data.y is None:
        raise BadInput(
            "--false-accept-rate leaves classes out to set a threshold; it needs labelled samples"
        )
    if options.searches:
        raise BadInput(
            "--false-accept-rate takes ranks that are named, as with --ranks 7,7, and not auto"
        )
    if data.groups is not None:
        raise BadInput(
            "--false-accept-rate without --positive leaves out whole classes, and takes no "
            "--groups; leave one of them out"
        )
    rate = _rate(false_accept_rate)
    if rate == "equal":
        raise BadInput(
            "--false-accept-rate equal is for one class, --positive; pass a number, as "
            "--false-accept-rate 0.01"
        )
    return tenfold.OpenSetClassifier(estimator, false_accept_rate=rate)


def _fitted(
    estimator: BaseEstimator, samples: TensorDataset, searches: bool, cv: int
) -> tuple[BaseEstimator, Search | None]:
    """The estimator fitted, and what a search of its ranks found; groups are held out whole."""
    from tenfold.classifiers.folds import folds_of
    from tenfold.classifiers.members import names_classes
    from tenfold.selection.rank_search import groups_for, search_ranks

    X, y, groups = samples.X, samples.y, samples.groups
    if searches and y is not None:
        best, scores = search_ranks(estimator, X, y, folds_of(cv, y, groups), groups)
        tried: list[Tried] = [{"ranks": ranks, "score": score} for ranks, score in scores.items()]
        measure = "accuracy" if names_classes(best) else "average precision"
        return best, {"measure": measure, "tried": tried}
    return estimator.fit(X, y, **groups_for(estimator, groups)), None


def _fitted_to_moments(estimator: BaseEstimator, moments: tenfold.ClassMoments) -> BaseEstimator:
    """The estimator fitted to moments, each step to those of what the steps before it give."""
    from sklearn.pipeline import Pipeline

    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(last, "fit_moments"):
        raise BadInput(
            f"{last!r} learns from all samples at once, and --from-moments reads none; fit where "
            "the samples are, or take another --method"
        )
    if not isinstance(estimator, Pipeline):
        return estimator.fit_moments(moments)
    for _, step in estimator.steps[:-1]:
        step.fit_moments(moments)
        is_step = hasattr(step, "transform_moments")
        moments = step.transform_moments(moments) if is_step else _projected(step, moments)
    last.fit_moments(moments)
    return estimator


def _projected(projector: BaseEstimator, moments: tenfold.ClassMoments) -> tenfold.ClassMoments:
    """The moments of projected samples."""
    from functools import reduce

    import numpy as np

    W = reduce(np.kron, projector.projections_)
    known = moments.present()
    means = np.asarray(projector.transform(known.means))
    return tenfold.ClassMoments(known.classes, known.counts, means, W.T @ known.scatters @ W)


def _hints(facts: dict[str, Any], some_rows: bool) -> list[str]:
    """Settings that are known to help and were not used, a sentence each."""
    hints = []
    if not facts["converged"]:
        hints.append("hint: some subspaces did not converge; --set max_iter=200 allows more rounds")
    if facts["answer"] == "class" and facts["method"] == "MCSDA":
        hints.append(
            "hint: --method csda or plda is usually more accurate than mcsda for many classes; see "
            "tenfold compare"
        )
    if (facts["error_rates"] or {}).get("false_rejects", 0.0) > 0.5:
        hints.append(
            "hint: at this rate most samples of the class itself are rejected; "
            "--false-accept-rate equal makes both errors alike, and --false-accept-rate 0.1 lets "
            "one of ten others through"
        )
    if facts["answer"] != "projection" and not some_rows:
        hints.append("hint: all samples were used; --rows train leaves some to test the model on")
    return hints


def moments(
    data: DataPath,
    *,
    output: Annotated[Path, option("FILE", "Output file, .safetensors.", "-o", "--output")],
    minimum_count: Annotated[int | None, option("K", "Refuse classes with fewer samples.")] = None,
    data_options: DataOptions,
) -> Outcome:
    """Write class moments, to fit from without samples.

    Sites that cannot share data can share summary statistics: counts, means and scatters. The page
    "Several sites" of the guide says what these reveal. tenfold fit --from-moments adds them up.

    Example: tenfold moments faces -o site1.safetensors --minimum-count 5
    """
    output_file(output, ".safetensors", inputs=(data,))
    if minimum_count is not None and minimum_count < 1:
        raise BadInput(f"--minimum-count is {minimum_count}; expected a whole number from 1")
    from tenfold.validation.parameters import check_tables_fit

    samples = data_options.load(data)
    check_tables_fit(prod(samples.sample_shape), max(1, len(samples.classes)))
    stored = tenfold.gather_moments(*samples)
    tenfold.save_moments(
        stored,
        output,
        reading=remembered(samples),
        mode_names=samples.mode_names,
        minimum_count=minimum_count,
        labelled=samples.y is not None,
    )
    facts, rows = moments_facts(output)
    facts |= {"samples": len(samples), "sample_shape": samples.sample_shape}
    facts["minimum_count"] = minimum_count
    command = typed("tenfold", "fit", "--from-moments", output, "-o", "model.safetensors")
    shown: list[Table | str] = [
        about_file(output, rows),
        "files of moments of other sites can be added to the next command",
        f"wrote {output}; next: {command}",
    ]
    return Outcome(facts, shown)

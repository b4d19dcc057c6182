"""``tenfold inspect`` and ``tenfold export``: what a file holds, and a model as a graph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tenfold.app.cli.command import Outcome
from tenfold.app.cli.data_options import DataOptions, as_words, class_counts, typed, with_options
from tenfold.app.cli.options import ModelPath, holds_moments, load_model, option, output_file
from tenfold.system.tables import Table, times

MOST_ROWS = 40  # arrays, columns or folders that are listed


def inspect(
    path: Annotated[Path, typer.Argument(metavar="DATA|MODEL", hidden=True)],
    *,
    data_options: DataOptions,
) -> Outcome:
    """Show what data, a model or a file of moments holds.

    Of data: arrays, columns or folders, what is taken for samples and labels and why, the classes,
    gaps, and the command to go on with.

    Example: tenfold inspect faces
    """
    if path.suffix.lower() == ".safetensors":
        return _of_model(path)
    return _of_data(path, data_options)


def _of_data(path: Path, options: DataOptions) -> Outcome:
    """What a file or folder of samples holds."""
    from tenfold.datasets.contents import contents

    given = {name: value for name, value in options.options().items() if name != "groups"}
    found = contents(path, **given)
    shown: list[Table | str] = [f"{path}: {found.kind}, read by {found.library}"]
    shown.append(Table("", found.names, found.rows[:MOST_ROWS]))
    if len(found.rows) > MOST_ROWS:
        shown.append(f"and {len(found.rows) - MOST_ROWS} more")
    if found.problem:
        shown.append(with_options(found.problem))
    command, data = None, found.samples
    if data is not None:
        if found.options:
            shown.append(f"With {typed(*as_words(found.options))} it can be read:")
        gaps = f", {data['gaps']} gaps (NaN)" if data["gaps"] else ""
        shown.append(f"{data['count']} samples of {times(data['shape'])} ({data['type']}){gaps}")
        shown += [data["description"], *map(with_options, data["notes"])]
        shown.append("no labels" if data["classes"] is None else class_counts(data["classes"]))
        words = [
            path,
            *options.words(options.rows),
            *as_words(found.options),
            *["--impute"] * bool(gaps),
        ]
        several = len(data["classes"] or []) > 1
        unlabelled = [] if data["classes"] is None else ["--read", "labelled=False"]
        alone = [*unlabelled, "--method", "mpca", "-o", "model.safetensors"]
        more = [] if several else alone
        command = typed("tenfold", "compare" if several else "fit", *words, *more)
        shown.append(f"next: {command}")
    return Outcome({"data": path, **asdict(found), "next": command}, shown)


def _of_model(model: Path) -> Outcome:
    """What the file of a model holds."""
    from tenfold.decisions.members import innermost, known_classes, rejecting
    from tenfold.system.model_format import read

    if model.exists() and holds_moments(read(model)[0]):
        return _of_moments(model)
    estimator, reading = load_model(model, scalers=True)
    header, arrays = read(model)
    last = innermost(estimator)
    decides = rejecting(estimator) or (last if hasattr(last, "threshold_") else None)
    facts = {
        "model": model,
        "bytes": model.stat().st_size,
        "format": header["format"],
        "checksum": header["checksum"],
        "versions": header["versions"],
        "summary": header["summary"],
        "reading": reading,
        "estimator": " ".join(repr(estimator).split()),
        "parameters": _parameters(estimator),
        "classes": known_classes(last) if getattr(last, "_needs_labels", True) else None,
        "threshold": None if decides is None else decides.threshold_,
        "error_rates": None if decides is None else decides.error_rates_,
        "promised_rate": None if decides is None else decides.promised_rate_,
        "arrays": {name: array.shape for name, array in arrays.items()},
    }
    return Outcome(facts, [_table(facts)])


def _of_moments(path: Path) -> Outcome:
    """What a file of moments holds."""
    from tenfold.datasets.any_path import SAMPLE_OPTIONS
    from tenfold.datasets.as_before import in_words
    from tenfold.files.moment_files import read_moments

    stored, reading, mode_names, header, _ = read_moments(path)
    moments = stored.by_class()
    facts = {
        "moments": path,
        "bytes": path.stat().st_size,
        **{name: header[name] for name in ("format", "checksum", "versions", "summary")},
        "reading": reading,
        "mode_names": mode_names,
        "classes": moments.classes,
        "counts": moments.counts,
        "folds": stored.folds is not None,
    }
    here = moments.present().counts.tolist() or [0]
    rows = [
        ["moments", f"of {moments.count:g} samples of {times(moments.shape)}"],
        ["modes", ", ".join(mode_names)],
        ["folds", "five, for plda to choose on held-out samples" if facts["folds"] else ""],
        ["classes", _classes(moments.classes)],
        ["samples in a class", f"{min(here):g} to {max(here):g}"],
    ]
    told = {name: value for name, value in reading.items() if name in SAMPLE_OPTIONS}
    rows += [["read with", in_words(told)]] if told else []
    rows.append(["format", f"{header['format']}, {str(header['checksum'])[:19]}..."])
    return Outcome(facts, [Table("", ["", str(path)], [row for row in rows if row[1]])])


def _parameters(estimator: Any) -> dict[str, Any]:
    """Parameters of a model and of the projector inside it, without the estimators themselves."""
    return {
        name: value
        for name, value in estimator.get_params().items()
        if not hasattr(value, "get_params")
    }


def _classes(labels: Any) -> str:
    if labels is None:
        return "none, the method needs no labels"
    names = [str(label) for label in labels.tolist()]
    return f"{len(names)}: {', '.join(names[:6])}{', ...' * (len(names) > 6)}"


def _table(facts: dict[str, Any]) -> Table:
    from tenfold.datasets.any_path import SAMPLE_OPTIONS
    from tenfold.datasets.as_before import in_words

    summary = facts["summary"]
    ranks = sorted({tuple(ranks) for ranks in summary["ranks"]})
    converged = f"{sum(summary['converged'])} of {len(summary['converged'])}"
    rows = [
        ["model", facts["estimator"]],
        ["samples", times(summary["sample_shape"])],
        ["ranks", ", ".join(map(times, ranks[:5]))],
        ["classes", _classes(facts["classes"])],
        ["converged", f"{converged} in {max(summary['n_iter'], default=0)} rounds"],
    ]
    if not ranks:  # without a subspace
        rows = [row for row in rows if row[0] not in ("ranks", "converged")]
    told = {name: value for name, value in facts["reading"].items() if name in SAMPLE_OPTIONS}
    if told:
        rows.append(["read with", in_words(told)])
    if facts["threshold"] is not None:
        rates = ", ".join(f"{k.replace('_', ' ')} {v:.3f}" for k, v in facts["error_rates"].items())
        rows.append(["threshold", f"{facts['threshold']:.6g} ({rates} held out)"])
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    rows += [
        ["arrays", f"{len(facts['arrays'])}, {facts['bytes']} bytes in the file"],
        ["format", f"{facts['format']}, {facts['checksum'][:19]}..."],
        ["written by", versions],
    ]
    return Table("", ["", str(facts["model"])], rows)


def export(
    model: ModelPath,
    *,
    onnx: Annotated[Path, option("--onnx", metavar="FILE", text="Write an ONNX graph here.")],
) -> Outcome:
    """Write a model in a form that runs elsewhere.

    The graph takes a batch of samples and gives what the model gives: projections, scores and
    decisions.

    Example: tenfold export s7.safetensors --onnx s7.onnx
    """
    from tenfold.files.onnx_export import to_onnx

    output_file(onnx, ".onnx", inputs=(model,))
    to_onnx(load_model(model, scalers=True).estimator, onnx)
    facts = {"model": model, "onnx": onnx, "bytes": onnx.stat().st_size}
    return Outcome(facts, [f"wrote {onnx}: {facts['bytes']} bytes"])

"""``tenfold inspect`` and ``tenfold export``: what a file holds, and a model as a graph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tenfold.app.cli.command import BadInput, Outcome
from tenfold.app.cli.data_options import DataOptions, class_counts, typed
from tenfold.app.cli.options import (
    ModelPath,
    as_typed,
    load_model,
    option,
    output_file,
)
from tenfold.datasets.spelling import as_words
from tenfold.tables import Table, times

MOST_ROWS = 40  # arrays, columns or folders that are listed


def inspect(
    path: Annotated[Path, typer.Argument(metavar="DATA|MODEL", hidden=True)],
    *,
    data_options: DataOptions,
) -> Outcome:
    """Show what data, a model or a file of moments holds.

    For data, it lists arrays, columns or folders, which of them are used as samples and labels and
    why, the classes, the gaps, and the command to type next.

    Example: tenfold inspect faces
    """
    if path.suffix.lower() == ".safetensors":
        return _of_file(path)
    return _of_data(path, data_options)


def _of_data(path: Path, options: DataOptions) -> Outcome:
    """What a file or folder of samples holds."""
    from tenfold.datasets.contents import contents

    given = {name: value for name, value in options.options().items() if name != "groups"}
    try:
        found = contents(path, **given)
    except ValueError as error:
        raise BadInput(str(error)) from error
    shown: list[Table | str] = [f"{path}: {found.kind}, read by {found.library}"]
    shown.append(Table("", found.names, found.rows[:MOST_ROWS]))
    if len(found.rows) > MOST_ROWS:
        shown.append(f"and {len(found.rows) - MOST_ROWS} more")
    if found.problem:
        shown.append(found.problem)
    command, data = None, found.samples
    if data is not None:
        if found.options:
            shown.append(f"It can be read with {typed(*as_words(found.options))}:")
        gaps = f", {data['gaps']} gaps (NaN)" if data["gaps"] else ""
        shown.append(f"{data['count']} samples of {times(data['shape'])} ({data['type']}){gaps}")
        shown += [data["description"], *data["notes"]]
        shown.append("no labels" if data["classes"] is None else class_counts(data["classes"]))
        words = [path, *as_typed(options), *as_words(found.options)]
        if gaps:
            words.append("--impute")
        if len(data["classes"] or []) > 1:
            command = typed("tenfold", "compare", *words)
        else:
            words += [] if data["classes"] is None else ["--read", "labelled=False"]
            more = ("--method", "mpca", "-o", "model.safetensors")
            command = typed("tenfold", "fit", *words, *more)
        shown.append(f"next: {command}")
    return Outcome({"data": path, **asdict(found), "next": command}, shown)


def _of_file(path: Path) -> Outcome:
    """What the file of a model or of moments holds."""
    from tenfold.datasets.load_like_training import in_words
    from tenfold.datasets.loading import SAMPLE_OPTIONS
    from tenfold.serialization.model_format import read

    if not path.exists():
        raise BadInput(f"{path} does not exist; expected a file that tenfold fit or moments wrote")
    header, arrays = read(path)
    facts, rows = model_facts(path) if "model" in header else moments_facts(path)
    facts |= {name: header[name] for name in ("format", "checksum", "versions", "summary")}
    facts |= {"bytes": path.stat().st_size, "arrays": {n: a.shape for n, a in arrays.items()}}
    told = {name: value for name, value in facts["reading"].items() if name in SAMPLE_OPTIONS}
    versions = [f"{name} {version}" for name, version in header["versions"].items()]
    rows |= {
        "read with": in_words(told),
        "arrays": f"{len(arrays)}, {facts['bytes']} bytes in the file",
        "format": f"{header['format']}, {str(header['checksum'])[:19]}...",
        "written by": ", ".join(versions),
    }
    return Outcome(facts, [about_file(path, rows)])


def about_file(path: Path, rows: dict[str, str]) -> Table:
    """What is known of a file, line by line."""
    return Table("", ["", str(path)], [[name, text] for name, text in rows.items() if text])


def model_facts(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Facts of the model in a file, and lines of the table."""
    from tenfold.app.about_model import about_model

    model, reading = load_model(path, scalers=True)
    facts, rows = about_model(model)
    return {"model": path, "reading": reading, **facts}, rows


def moments_facts(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Facts of moments, and lines of the table."""
    from tenfold.app.about_model import in_short
    from tenfold.files.moment_files import read_moments

    moments, reading, mode_names, _, labelled = read_moments(path)
    classes = moments.classes if labelled else None
    facts = {
        "moments": path,
        "reading": reading,
        "mode_names": mode_names,
        "classes": classes,
        "counts": moments.counts,
    }
    here = moments.present().counts.tolist() or [0]
    rows = {
        "moments": f"of {moments.count:g} samples of {times(moments.shape)}",
        "modes": ", ".join(mode_names),
        "classes": in_short(classes) if labelled else "none: the samples have no labels",
        "samples in a class": f"{min(here):g} to {max(here):g}" if labelled else "",
    }
    return facts, rows


def export(
    model: ModelPath,
    *,
    onnx: Annotated[Path, option("FILE", "Write an ONNX graph here.")],
) -> Outcome:
    """Write a model in a form that runs elsewhere.

    The graph takes a batch of samples and gives what the model gives: projections, scores and
    decisions.

    Example: tenfold export s7.safetensors --onnx s7.onnx
    """
    from tenfold.files.onnx_export import to_onnx

    output_file(onnx, ".onnx", inputs=(model,))
    to_onnx(load_model(model, scalers=True)[0], onnx)
    facts = {"model": model, "onnx": onnx, "bytes": onnx.stat().st_size}
    return Outcome(facts, [f"wrote {onnx}: {facts['bytes']} bytes"])

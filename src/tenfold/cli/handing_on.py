"""``tenfold inspect``, ``export`` and ``report``: what a model file holds, in other forms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tenfold.cli.options import DataOptions, ModelPath, load_model, option, output_file, require
from tenfold.cli.outcome import Outcome, Table


def inspect(model: ModelPath) -> Outcome:
    """Show what a model file holds.

    Example: tenfold inspect s7.safetensors
    """
    from tenfold.system.model_format import read

    estimator = load_model(model)
    header, arrays = read(model)
    facts = {
        "model": model,
        "bytes": model.stat().st_size,
        "format": header["format"],
        "checksum": header["checksum"],
        "versions": header["versions"],
        "summary": header["summary"],
        "estimator": " ".join(repr(estimator).split()),
        "parameters": _parameters(estimator),
        "classes": estimator.classes_ if getattr(estimator, "needs_labels", True) else None,
        "threshold": getattr(estimator, "threshold_", None),
        "error_rates": getattr(estimator, "error_rates_", None),
        "arrays": {name: array.shape for name, array in arrays.items()},
    }
    return Outcome(facts, _inspection(facts))


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
    estimator = load_model(model)
    to_onnx(estimator, onnx)
    facts = {"model": model, "onnx": onnx, "bytes": onnx.stat().st_size}
    return Outcome(facts, [f"wrote {onnx}: {facts['bytes']} bytes"])


def report(
    model: ModelPath,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Samples to judge the model by.")],
    *,
    output: Annotated[Path, option("-o", "--output", metavar="FILE", text="The page, .html.")],
    data_options: DataOptions,
) -> Outcome:
    """Write one HTML page about a model.

    It needs no network: summary, plots, learned directions and the hardest samples.

    Example: tenfold report s7.safetensors faces -o report.html
    """
    from tenfold.report import write_report

    output_file(output, ".html", ".htm", inputs=(model, data))
    require("the report", "report", "jinja2", "matplotlib", "PIL")
    estimator = load_model(model)
    write_report(estimator, data_options.load_for(estimator, data), output)
    facts = {"subject": model, "report": output, "bytes": output.stat().st_size}
    return Outcome(facts, [f"wrote {output}: {facts['bytes'] / 1e6:.1f} MB; open it in a browser"])


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


def _inspection(facts: dict[str, Any]) -> list[Table | str]:
    summary = facts["summary"]
    ranks = sorted({tuple(ranks) for ranks in summary["ranks"]})
    rested = sum(summary["converged"])
    rows = [
        ["model", facts["estimator"]],
        ["samples", "x".join(map(str, summary["sample_shape"]))],
        ["ranks", ", ".join("x".join(map(str, one)) for one in ranks[:5])],
        ["classes", _classes(facts["classes"])],
        ["at rest", f"{rested} of {len(summary['converged'])} in {max(summary['n_iter'])} rounds"],
    ]
    if facts["threshold"] is not None:
        rates = ", ".join(f"{k.replace('_', ' ')} {v:.3f}" for k, v in facts["error_rates"].items())
        rows.append(["threshold", f"{facts['threshold']:.6g} ({rates} held out)"])
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    rows += [
        ["arrays", f"{len(facts['arrays'])}, {facts['bytes']} bytes in the file"],
        ["format", f"{facts['format']}, {facts['checksum'][:19]}..."],
        ["written by", versions],
    ]
    return [Table(["", str(facts["model"])], rows, n_texts=2)]

"""``tenfold export``: a model in a form that runs elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tenfold.cli.options import ModelPath, load_model, option, output_file
from tenfold.cli.output import Outcome


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

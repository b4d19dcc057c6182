"""``tenfold report``: one HTML page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tenfold.cli.data_options import DataOptions, DataPath
from tenfold.cli.options import ModelPath, load_model, option, output_file, require
from tenfold.cli.output import Outcome


def report(
    model: ModelPath,
    data: DataPath,
    *,
    output: Annotated[Path, option("-o", "--output", metavar="FILE", text="The page, .html.")],
    data_options: DataOptions,
) -> Outcome:
    """Write one HTML page about a model.

    It needs no network: summary, plots, learned directions and the hardest samples.

    Example: tenfold report s7.safetensors faces -o report.html
    """
    from tenfold.decisions.members import answer_of
    from tenfold.report import write_report

    output_file(output, ".html", ".htm", inputs=(model, data))
    require("the report", "report", "jinja2", "matplotlib", "PIL")
    stored = load_model(model)
    needs = answer_of(stored.estimator) != "projection"
    samples = data_options.load_for(stored, data, labels_needed=needs)
    write_report(stored.estimator, samples, output)
    facts = {"subject": model, "report": output, "bytes": output.stat().st_size}
    return Outcome(facts, [f"wrote {output}: {facts['bytes'] / 1e6:.1f} MB; open it in a browser"])

"""``tenfold report``: one HTML page about a model, or about the paper's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tenfold.cli.errors import BadInput
from tenfold.cli.options import DataOptions, load_model, option, output_file, require
from tenfold.cli.output import Outcome


def report(
    subject: Annotated[
        Path, typer.Argument(metavar="MODEL|RESULTS", help="Of tenfold fit or reproduce.")
    ],
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="Samples to test a model on.")
    ] = None,
    *,
    output: Annotated[Path, option("-o", "--output", metavar="FILE", text="The page, .html.")],
    data_options: DataOptions,
) -> Outcome:
    """Write one HTML page about a model, or about the paper's tables.

    It needs no network: summary, plots, learned directions and the hardest samples.

    Example: tenfold report s7.safetensors faces -o report.html
    """
    from tenfold.report import write_report

    inputs = tuple(path for path in (subject, data) if path is not None)
    output_file(output, ".html", ".htm", inputs=inputs)
    require("the report", "report", "jinja2", "matplotlib", "PIL")
    content, samples = _subject(subject, data, data_options)
    write_report(content, samples, output)
    facts = {"subject": subject, "report": output, "bytes": output.stat().st_size}
    return Outcome(facts, [f"wrote {output}: {facts['bytes'] / 1e6:.1f} MB; open it in a browser"])


def _subject(subject: Path, data: Path | None, options: DataOptions) -> tuple[Any, Any]:
    """The model with its samples, or the results of an experiment."""
    if subject.is_dir() or subject.suffix.lower() == ".json":  # a run, or its results.json
        return subject, None
    model = load_model(subject)
    if data is None:
        raise BadInput(f"a report on a model needs samples: tenfold report {subject} DATA -o ...")
    return model, options.load_for(model, data)

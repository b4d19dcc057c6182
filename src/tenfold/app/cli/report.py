"""``tenfold report`` and ``tenfold demo``: pages to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tenfold.app.cli.command import Outcome
from tenfold.app.cli.data_options import DataOptions, DataPath, warn_if_trained_on
from tenfold.app.cli.options import (
    ModelPath,
    check_order,
    load_model,
    option,
    output_file,
    require,
)
from tenfold.tables import Table


def report(
    model: ModelPath,
    data: DataPath,
    *,
    output: Annotated[Path, option("FILE", "Output file, .html.", "-o", "--output")],
    data_options: DataOptions,
) -> Outcome:
    """Write one HTML page about a model.

    It needs no network: summary, plots, learned directions and the hardest samples.

    Example: tenfold report s7.safetensors faces -o report.html
    """
    from tenfold.app.report import write_report
    from tenfold.classifiers.members import answer_of

    check_order("report", model, data)
    output_file(output, ".html", ".htm", inputs=(model, data))
    require("the report", "report", "jinja2", "matplotlib", "PIL")
    estimator, reading = load_model(model)
    needs = answer_of(estimator) != "projection"
    samples = data_options.load_for(estimator, reading, data, labels_needed=needs)
    write_report(estimator, warn_if_trained_on(samples), output)
    size = output.stat().st_size
    facts = {"subject": model, "report": output, "bytes": size}
    return Outcome(facts, [f"wrote {output}: {size / 1e6:.1f} MB; open it in a browser"])


def demo(
    output: Annotated[
        Path, option("FILE", "The page; default tenfold-demo.html.", "-o", "--output")
    ] = Path("tenfold-demo.html"),
) -> Outcome:
    """Learn handwritten digits, in seconds, and write a report.

    The digits come with scikit-learn. The demo ends with the commands to type next.

    Example: tenfold demo
    """
    from tenfold.app import demo as shown

    output_file(output, ".html", ".htm")
    rows, recommended = shown.compare()
    page, where = shown.write_page(recommended, output)
    n_learned, n_held_out = map(len, shown.parts())
    facts = {
        "learned_from": n_learned,
        "held_out": n_held_out,
        "methods": rows,
        "report": page,
        "recommended": shown.RECOMMENDED,
    }
    digits = shown.write_digits(output.with_suffix(".npz"))
    lines: list[Table | str] = [
        "Which digit does an image show?",
        f"{n_learned} images of 8x8 to learn from, {n_held_out} held out.",
        "",
        shown.table(rows),
        *["", *shown.REMARK, "", *where, "", *digits, "", *shown.NEXT],
    ]
    return Outcome(facts, lines)

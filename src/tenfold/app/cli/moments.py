"""``tenfold moments``: counts, means and scatters of classes, to hand on without the samples."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Annotated, Any

from tenfold.app.cli.command import BadInput, Outcome
from tenfold.app.cli.data_options import DataOptions, DataPath, labelled, remembered, typed
from tenfold.app.cli.options import option, output_file
from tenfold.system.tables import times


def moments(
    data: DataPath,
    *,
    output: Annotated[
        Path, option("-o", "--output", metavar="FILE", text="The moments, .safetensors.")
    ],
    minimum_count: Annotated[
        int | None,
        option("--minimum-count", metavar="K", text="Refuse classes with fewer samples."),
    ] = None,
    folds: Annotated[
        bool,
        option("--folds", metavar=None, text="Of classes in sixteen folds, for plda to choose on."),
    ] = False,
    data_options: DataOptions,
) -> Outcome:
    """Write class moments, to fit from without samples.

    Sites that may not share samples may share counts, means and scatters; the page "Several
    sites" of the guide says what these reveal. tenfold fit --from-moments adds them up.

    Example: tenfold moments faces -o site1.safetensors --minimum-count 5
    """
    output_file(output, ".safetensors", inputs=(data,))
    if minimum_count is not None and minimum_count < 1:
        raise BadInput(f"--minimum-count is {minimum_count}; expected a whole number from 1")
    from tenfold.files.moment_files import save_moments
    from tenfold.gathering.gather import gather_moments
    from tenfold.validation.parameters import check_tables_fit

    samples = data_options.load(data)
    check_tables_fit(prod(samples.sample_shape), max(1, len(samples.classes)))
    y = labelled(samples, "--folds").y if folds else samples.y
    stored = gather_moments(samples.X, y, folds=folds)
    found = stored.by_class()
    save_moments(
        stored,
        output,
        reading=remembered(samples),
        mode_names=samples.mode_names,
        minimum_count=minimum_count,
        labelled=samples.y is not None,
    )
    facts = {
        "moments": output,
        "samples": len(samples),
        "sample_shape": samples.sample_shape,
        "classes": None if samples.y is None else found.classes,
        "counts": found.counts,
        "minimum_count": minimum_count,
        "folds": folds,
    }
    return Outcome(facts, _in_words(samples, found.counts, output))


def _in_words(samples: Any, counts: Any, output: Path) -> list[str]:
    classes = "no labels" if samples.y is None else f"{len(counts)} classes"
    least = f"{counts.min():g} samples or more in each class"
    return [
        f"moments of {len(samples)} samples of {times(samples.sample_shape)}, {classes}; {least}",
        "files of moments of other sites can be added to the next command",
        f"wrote {output}; next: tenfold fit --from-moments {typed(output)} -o model.safetensors",
    ]

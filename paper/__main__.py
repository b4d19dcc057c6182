"""The command ``python -m paper NAME``: run an experiment, or go on with one that was interrupted.

Exit codes: 0 done, 1 the run cannot go on in this folder, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from paper.experiment import Experiment, run_experiment
from paper.face_tables import face_experiment
from paper.finished_cells import RunError
from paper.gait import gait_experiment
from paper.locations import data_directory
from paper.order_book_tables import order_book_experiment
from paper.published_tables import published_experiment
from paper.recordings import recordings_experiment
from paper.series import series_experiment
from paper.small_tensors import small_experiment
from paper.tables import as_text
from paper.training_times import complexity_experiment

OF_OTHERS = {
    "gait": gait_experiment,
    "small": small_experiment,
    "recordings": recordings_experiment,
    "series": series_experiment,
}
NAMES = ("orl", "pie", "fi2010", "fi2010_published", *OF_OTHERS, "complexity")
BOOKS = {"fi2010": order_book_experiment, "fi2010_published": published_experiment}


def experiment_named(name: str, data: str | None, *, seed: int, quick: bool) -> Experiment:
    """Table 1, 2 or 3, the complexity section, or a table of others, as cells to compute."""
    if name == "complexity":
        return complexity_experiment(seed=seed, quick=quick)
    place = str(data_directory(data, "the data sets"))
    if name in OF_OTHERS:
        return OF_OTHERS[name](place, seed=seed, quick=quick)
    make = BOOKS.get(name, face_experiment)
    return make(name, place, seed=seed, quick=quick)


def main(words: Sequence[str] | None = None) -> int:
    """Run the experiment that the command line names; the exit code."""
    options = _parser().parse_args(words)
    try:
        experiment = experiment_named(
            options.name, options.data, seed=options.seed, quick=options.quick
        )
        found = run_experiment(experiment, options.out, jobs=options.jobs)
    except KeyboardInterrupt:
        return _complain("interrupted; the same command goes on with what is finished", 130)
    except RunError as error:
        return _complain(str(error), 1)
    except (ValueError, OSError, ImportError) as error:
        return _complain(" ".join(str(error).split()), 2)
    files = [str(file) for file in found.files]
    if options.json:
        facts = {"experiment": experiment.name, "records": found.records, "files": files}
        sys.stdout.write(json.dumps(facts) + "\n")
    else:
        page = next(file for file in files if file.endswith(".html"))
        texts = [*map(as_text, found.tables), f"wrote {page} and {len(files) - 1} files beside it"]
        sys.stdout.write("\n\n\n".join(texts) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m paper",
        description="Run an experiment of the paper, ours beside the printed figures. Every "
        "finished cell is written at once; after an interruption, the same command goes on.",
    )
    parser.add_argument(
        "name", choices=NAMES, help="table 1, 2, 3, the complexity section, or tables of others"
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of this run")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="where orl/, pie/, fi2010/, gait/, small/, eeg/, uea/ are; else TENFOLD_DATA",
    )
    parser.add_argument("--quick", action="store_true", help="a small version with every row")
    parser.add_argument("--seed", type=int, default=0, help="of splits and starts; 0")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; one per core")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"paper: {message}\n")
    return code


if __name__ == "__main__":  # worker processes import this file, too
    sys.exit(main())

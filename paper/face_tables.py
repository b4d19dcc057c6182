"""Tables 1 and 2 out of the finished cells: ours beside the paper's."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.experiment import Experiment, Record, Results
from paper.faces import (
    PAPER_ROWS,
    FaceRow,
    FaceSettings,
    cell_name,
    face_cells,
    face_fingerprint,
    face_settings,
)
from paper.results_page import CLOSE
from paper.tables import Table, paper_table, printed_map
from paper.training_times import face_time_cells, gathered_times


def face_experiment(name: str, data: str, *, seed: int, quick: bool) -> Experiment:
    """Table 1 or 2 as cells to compute and a way to put them together."""
    settings = face_settings(name, seed, quick)

    def summarise(results: Results) -> tuple[list[Record], list[Table]]:
        records = face_records(settings, results)
        return records, face_tables(settings, records, gathered_times(results))

    return Experiment(
        name,
        "Table 1: face verification on ORL" if name == "orl" else "Table 2: the same on CMU PIE",
        {**settings.as_dict(), "images": face_fingerprint(name, data)},
        face_cells(settings, data) + face_time_cells(settings, data),
        summarise,
    )


def face_records(settings: FaceSettings, results: Results) -> list[Record]:
    """One record per row and share.

    Oracle is the candidate with the best mean mAP on the test images, selected the mean of what
    each split chose on its training images alone.
    """
    return [
        _record(settings, row, share, results) for row in settings.rows for share in settings.shares
    ]


def _record(settings: FaceSettings, row: FaceRow, share: float, results: Results) -> Record:
    n_splits = row.splits or settings.n_splits
    cells = [results[cell_name(row, share, split)] for split in range(n_splits)]
    test = np.array([cell["test"] for cell in cells])  # (splits, candidates)
    best = int(test.mean(axis=0).argmax())
    chosen = np.array([cell["test"][cell["selected"]] for cell in cells])
    printed = printed_map(settings.experiment, row.name, share)
    oracle = round(float(test.mean(axis=0)[best]), 4)
    return {
        "row": row.name,
        "k": share,
        "splits": n_splits,
        "oracle": oracle,
        "oracle_std": round(float(test[:, best].std()), 4),
        "oracle_rank": cells[0]["ranks"][best],
        "oracle_shrinkage": cells[0]["shrinkages"][best],
        "paper": printed,
        "difference": None if printed is None else round(oracle - printed, 4),
        "selected": round(float(chosen.mean()), 4),
        "selected_std": round(float(chosen.std()), 4),
        "selected_ranks": [cell["ranks"][cell["selected"]] for cell in cells],
    }


def face_tables(
    settings: FaceSettings, records: list[Record], times: dict[str, Any]
) -> list[Table]:
    """What a reader sees: oracle beside the paper, selected, what is beyond the paper, times."""
    number = 1 if settings.experiment == "orl" else 2
    name = "ORL" if settings.experiment == "orl" else "CMU PIE, labels 60 to 68 standing in"
    by_row: dict[str, dict[float, Record]] = {}
    for record in records:
        by_row.setdefault(record["row"], {})[record["k"]] = record
    in_paper = [row.name for row in PAPER_ROWS]
    beyond = [row for row in by_row if row not in in_paper]
    shares = [f"k={share}" for share in settings.shares]
    return [
        Table(
            f"Table {number}, {name}: mAP, best rank on the test images (paper; difference)",
            ["", *shares, "t", "t paper"],
            [
                [row, *map(_beside, by_row[row].values()), *_relative(settings, row, times)]
                for row in in_paper
            ],
            _notes(records),
        ),
        Table(
            f"Table {number}, {name}: mAP with the rank chosen on the training images",
            ["", *shares],
            [[row, *map(_selected, by_row[row].values())] for row in in_paper],
            [
                "Only this is an honest estimate. With k=0.1 there is one image per person and "
                "nothing to hold out: CSDA keeps all dimensions, the others 7x7."
            ],
        ),
        Table(
            f"Beyond the paper, {name}: mAP chosen on training images (best on test images)",
            ["", *shares],
            [
                [row, *(f"{_selected(r)} ({r['oracle']:.1f})" for r in by_row[row].values())]
                for row in beyond
            ],
            ["Rows at the original size and quick runs have fewer splits or ranks; see the JSON."],
        ),
        *_time_tables(name, times),
    ]


def _beside(record: Record) -> str:
    if record["paper"] is None:
        return f"{record['oracle']:.2f}"
    return f"{record['oracle']:.2f} ({record['paper']:.2f}; {record['difference']:+.1f})"


def _selected(record: Record) -> str:
    return f"{record['selected']:.1f} ± {record['selected_std']:.1f}"


def _notes(records: list[Record]) -> list[str]:
    compared = [record for record in records if record["difference"] is not None]
    close = [record for record in compared if abs(record["difference"]) <= CLOSE]
    far = [
        f"{record['row']} at k={record['k']} ({record['difference']:+.1f})"
        for record in compared
        if record not in close
    ]
    notes = [f"{len(close)} of {len(compared)} cells lie within {CLOSE:g} points of the paper."]
    return notes + ([f"Further away: {', '.join(far)}."] if far else [])


def _relative(settings: FaceSettings, row: str, times: dict[str, Any]) -> list[str | float | None]:
    """The paper's column t for a row: ours, and the printed one."""
    seconds = times.get("seconds", {})
    ours = seconds[row] / seconds["MCSDA"] if row in seconds else None
    if f"{row} literal" in seconds:
        literal = seconds[f"{row} literal"] / seconds["MCSDA"]
        return [f"{ours:.2f} (literal {literal:.1f})", paper_table(settings.experiment)[row]["t"]]
    return [ours, paper_table(settings.experiment)[row]["t"]]


def _time_tables(name: str, times: dict[str, Any]) -> list[Table]:
    if not times:
        return []
    seconds = times["seconds"]
    literal = seconds.get("MCSDA literal")
    rows = [
        [who, 1000 * took, took / seconds["MCSDA"], took / literal] for who, took in seconds.items()
    ]
    return [
        Table(
            f"Training time of one model, {name}",
            ["", "ms", "t: over MCSDA", "over MCSDA literal"],
            rows,
            [
                f"{times['n']} training images, one BLAS thread, the fastest of several. "
                "Literal is the paper's algorithm as printed: Algorithm 1 through the samples, and "
                'CSDA by its I x I matrices. Rows without "literal" use the fast solution: CSDA is '
                "solved in the span of the samples, with the same result."
            ],
        )
    ]

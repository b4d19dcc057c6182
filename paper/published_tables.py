"""FI-2010 beside the published tables, out of the finished cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from paper.experiment import Experiment, Record, Results
from paper.order_book_data import order_book_fingerprint
from paper.order_book_settings import METRICS
from paper.published_books import (
    PublishedSettings,
    closed_name,
    later_name,
    network_name,
    published_cells,
    published_settings,
)
from paper.tables import Table, Value, paper_table

NETWORK = "A(TABL), one layer, trained here"

# DECLARED_PERF of LOBCAST lists these.
OTHER_SPLIT = (
    "On another split, training days 1 to 7 and test days 8 to 10, published figures at horizon 10 "
    "are C(TABL) 77.63, BiN-C(TABL) 81.04, DeepLOB 83.40, Axial-LOB 85.14 and TransLOB 88.66; they "
    "do not compare with these folds."
)


class Row(NamedTuple):
    """A line of the table: which candidates of which cells, one of which each fold takes."""

    name: str
    starts: str  # of the names of candidates
    keeps: tuple[str | None, ...] = ()
    network: bool = False
    scaled: bool = True


def rows_of(settings: PublishedSettings) -> list[Row]:
    """The rows that are computed here."""
    keeps = settings.keeps
    rows = [Row("ModeScaler, ProbabilisticLDA with equal priors", "PLDA", (None,))]
    rows += [Row('ModeScaler(keep="both"), ProbabilisticLDA with equal priors', "PLDA", ("both",))]
    rows += [
        Row("ModeScaler, LDA with equal priors", "LDA, equal", keeps),
        Row("ModeScaler, LDA", "LDA", keeps),
        Row("ModeScaler, bank of CSDA", "CSDA", keeps),
        Row("ModeScaler, bank of MCSDA", "MCSDA", keeps),
    ]
    return [
        *rows,
        Row(NETWORK, "epochs", network=True, scaled=False),
        Row(f"ModeScaler, {NETWORK}", "epochs", network=True),
    ]


def published_experiment(name: str, data: str, *, seed: int, quick: bool) -> Experiment:
    """FI-2010 beside the published tables, as cells to compute and a way to put them together."""
    settings = published_settings(data, seed, quick)

    def summarise(results: Results) -> tuple[list[Record], list[Table]]:
        records = published_records(settings, results)
        return records, published_tables(settings, records, results)

    return Experiment(
        name,
        "FI-2010 beside the published tables",
        {**settings.as_dict(), "days": order_book_fingerprint(data)},
        published_cells(settings, data),
        summarise,
    )


# -- figures -------------------------------------------------------------------------------------


def published_records(settings: PublishedSettings, results: Results) -> list[Record]:
    """One record per row, number of features and horizon: means over folds, and what was chosen."""
    records = []
    for row in rows_of(settings):
        for n in settings.network_features if row.network else settings.features:
            horizons = settings.network_horizons if row.network else settings.horizons_of(n)
            keeps = tuple(keep for keep in row.keeps if keep in settings.keeps_of(n))
            if keeps or row.network:
                here = row._replace(keeps=keeps)
                records += [_record(settings, results, here, n, h) for h in horizons]
    return records


def _record(
    settings: PublishedSettings, results: Results, row: Row, n: int, horizon: int
) -> Record:
    found = [_of_fold(results, row, n, horizon, fold) for fold in settings.folds]
    missing = next((one["missing"] for one in found if "missing" in one), None)
    metrics = np.array([] if missing else [one["metrics"] for one in found])
    means = metrics.mean(axis=0).round(4).tolist() if len(metrics) else [None] * len(METRICS)
    return {
        "row": row.name,
        "features": n,
        "horizon": horizon,
        **{
            m: None if v is None else round(float(v), 4)
            for m, v in zip(METRICS, means, strict=True)
        },
        "f1_std": round(float(metrics[:, 3].std()), 4) if len(metrics) else None,
        "folds": metrics[:, 3].tolist() if len(metrics) else [],
        "chosen": [one.get("chosen") for one in found],
        "missing": missing,
    }


def _of_fold(results: Results, row: Row, n: int, horizon: int, fold: int) -> dict[str, Any]:
    """Test metrics of a fold, of the candidate that was best on its last training day."""
    before, here = (_candidates(results, row, n, horizon, one) for one in (fold - 1, fold))
    if "missing" in here:
        return here
    if len(here) == 1:
        return {"metrics": next(iter(here.values())), "chosen": None}
    chosen = max(here, key=lambda candidate: before[candidate][3])
    return {"metrics": here[chosen], "chosen": chosen}


def _candidates(results: Results, row: Row, n: int, horizon: int, fold: int) -> dict[str, Any]:
    """Metrics of the candidates of a row, by name."""
    if row.network:
        cell = results[network_name(row.scaled, n, horizon, fold)]
        return dict(cell)
    found = {}
    for keep in row.keeps:
        cell = results[closed_name(n, keep, horizon, fold)]
        more = f", keep {keep}" if len(row.keeps) > 1 else ""
        found |= {k + more: v for k, v in cell.items() if k.startswith(row.starts)}
    return found


# -- tables --------------------------------------------------------------------------------------


def published_tables(
    settings: PublishedSettings, records: list[Record], results: Results
) -> list[Table]:
    """What a reader sees: F1 beside theirs, folds, time and memory, labels, choices."""
    return [
        _beside(settings, records),
        _folds(settings, records),
        _clocks(settings, results),
        _labels(settings, results),
        _choices(settings, records),
    ]


def _beside(settings: PublishedSettings, records: list[Record]) -> Table:
    printed = paper_table("fi2010_published")
    columns = ["", "features", "folds", *(f"horizon {h}" for h in settings.horizons)]
    rows: list[list[Value]] = []
    for name in list(printed)[2:]:
        known = dict(zip(printed["horizons"], printed[name], strict=True))
        values = [known.get(h) for h in settings.horizons]
        rows.append([f"{name}, published", 40, "1 to 9", *values])
    folds = f"{settings.folds[0]} to {settings.folds[-1]}"
    lines: dict[tuple[str, int], dict[int, Record]] = {}
    for record in records:
        lines.setdefault((record["row"], record["features"]), {})[record["horizon"]] = record
    for (name, n), found in lines.items():
        values = [_f1(found[h]) if h in found else None for h in settings.horizons]
        rows.append([name, n, folds, *values])
    best = max(printed[name][0] for name in list(printed)[2:])
    notes = [
        "Mean of the F1 of the three classes, in percent; ours with its deviation over folds.",
        *(
            f"At horizon {record['horizon']} with {record['features']} features, {record['row']} "
            f"has {record['f1']:.2f}, {record['f1'] - best:+.2f} points from the published "
            f"{best:.2f} of C(TABL) on the nine anchored folds."
            for record in records[: len(settings.horizons) * len(settings.features)]
            if record["horizon"] == 10
        ),
        OTHER_SPLIT,
    ]
    by_row = {r["row"]: r for r in records if r["horizon"] == 10 and not r["missing"]}
    if NETWORK in by_row:
        plain, scaled = (by_row[name]["f1"] for name in (NETWORK, f"ModeScaler, {NETWORK}"))
        notes.append(
            f"The network of one layer has {plain:.2f} on windows that are z-scored by the "
            f"training days, and {scaled:.2f} behind ModeScaler."
        )
    return Table("F1 on FI-2010, ours beside the published figures", columns, rows, notes)


def _f1(record: Record) -> str:
    if record["missing"]:
        return str(record["missing"])
    return f"{record['f1']:.2f} ± {record['f1_std']:.2f}"


def _folds(settings: PublishedSettings, records: list[Record]) -> Table:
    horizon = settings.horizons[0]
    columns = ["", "features", *(f"fold {fold}" for fold in settings.folds), "accuracy"]
    rows: list[list[Value]] = [
        [r["row"], r["features"], *r["folds"], r["accuracy"]]
        for r in records
        if r["horizon"] == horizon and not r["missing"]
    ]
    return Table(f"F1 of each fold, horizon {horizon}", columns, rows)


def _clocks(settings: PublishedSettings, results: Results) -> Table:
    rows: list[list[Value]] = []
    for n in settings.features:
        clock = results[f"clock | {n} features"]
        rows.append(
            ["ModeScaler, ProbabilisticLDA with equal priors", n, clock["windows"], clock["fit"],
             None, clock["predict"], clock["gibibytes"]]
        )  # fmt: skip
    clock = results["clock | network"]
    if "missing" not in clock:
        whole = clock["fit"] * settings.epochs
        rows.append(
            [NETWORK, settings.network_features[0], clock["windows"], whole, clock["fit"],
             clock["predict"], None]
        )  # fmt: skip
    columns = ["", "features", "windows", "training, s", "one epoch, s", "prediction, s", "GiB"]
    return Table(
        f"Time of one core and memory of one model, fold {max(settings.folds)}",
        columns,
        rows,
        [
            f"A network is trained for {settings.epochs} epochs, since how many are best must be "
            "found out. GiB: the most memory that the process ever held, with the data in it."
        ],
    )


def _labels(settings: PublishedSettings, results: Results) -> Table:
    found = results["labels"]
    rows: list[list[Value]] = []
    for h in settings.horizons:
        f1 = [results[later_name(h, fold)]["PLDA"][3] for fold in settings.folds]
        rows.append([h, h // 10, *found[str(h)], float(np.mean(f1))])
    return Table(
        "What the labels look at: area under the ROC curve, up against down",
        ["horizon", "h", "in the window", "one block later", "to come", "F1, labels h later"],
        rows,
        [
            "With h blocks of ten events in a horizon, each of three columns takes a movement of "
            "the mid-price: the mean of h blocks less the block before them. 1 means that it "
            "decides between up and down, 0.5 that it says nothing. The h blocks end with the "
            "last block of the window, with the one after it, or begin after the window.",
            "The last column is the F1 of ModeScaler, ProbabilisticLDA with equal priors, when a "
            f"window of {settings.features[0]} features gets the label of h blocks later, so that "
            "nothing of the movement is in the window.",
        ],
    )


def _choices(settings: PublishedSettings, records: list[Record]) -> Table:
    rows: list[list[Value]] = [
        [f"{r['row']}, {r['features']} features", r["horizon"], *r["chosen"]]
        for r in records
        if r["chosen"][0] is not None
    ]
    columns = ["", "horizon", *(f"fold {fold}" for fold in settings.folds)]
    return Table("What was chosen on the last training day", columns, rows)

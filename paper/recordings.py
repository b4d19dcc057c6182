"""Recordings of the brain: evoked potentials, ours beside pyRiemann and scikit-learn.

Three public sets in the protocols of those who published figures on them, every row in the same
folds. The area under the ROC curve is measured on test epochs. For the speller there is also the
share of letters that are found by the evidence of all flashes together. pyRiemann's rows need
pyriemann; `make recordings` makes an environment that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from paper.experiment import Cell, Experiment, Record, Results
from paper.small_tensors import is_there
from paper.tables import Table, published
from tenfold import MCSDA, ClassSpecificVerifier, ProbabilisticLDA

SUBJECTS = (6, 7, 8)
Epochs = tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]
Split = tuple[np.ndarray, np.ndarray]


def epochs(data: str, name: str) -> Epochs:
    """Epochs (n, channels, time) in microvolts, 1 for targets, and what is known of each."""
    file, _, subject = name.partition(", subject ")
    path = Path(data) / "eeg" / {"P300": "muse_p300", "N170": "muse_n170"}.get(file, SPELLER)
    path = path.with_suffix(".npz")
    if not path.exists():
        raise FileNotFoundError(f"{path} not found; expected epochs X and labels y there")
    with np.load(path) as found:
        held = {key: found[key] for key in found.files}
    kept = np.ones(len(held["y"]), dtype=bool)
    if file == "P300":  # as in the published chart
        kept = (held["subject"] == 1) & (held["session"] == 1)
    if subject:
        kept = held["subject"] == int(subject)
    X = held["X"][kept] * np.float64(held["scale"])
    about = {key: held[key][kept] for key in ("run", "flash", "letter") if key in held}
    return X, held["y"][kept], about


SPELLER = "bnci2015_003_s6_8"


def of_vectors(*steps: Any) -> Any:
    """A pipeline that sees epochs as vectors of standardised numbers."""
    return make_pipeline(FunctionTransformer(_flat), *steps)


def _flat(X: np.ndarray) -> np.ndarray:
    return X.reshape(len(X), -1)


def of_covariances(estimator: str, by_distance: bool) -> Any:
    """A pipeline of pyRiemann: covariances, then the tangent space or the distance to means."""
    from pyriemann.classification import MDM
    from pyriemann.estimation import ERPCovariances, XdawnCovariances
    from pyriemann.tangentspace import TangentSpace

    first = {"Xdawn": XdawnCovariances, "ERP": ERPCovariances}[estimator](estimator="lwf")
    if by_distance:
        return make_pipeline(first, MDM())
    return make_pipeline(first, TangentSpace(), LogisticRegression(max_iter=1000))


OURS: dict[str, Callable[[], Any]] = {
    "ProbabilisticLDA()": ProbabilisticLDA,
    "ClassSpecificVerifier(MCSDA(), positive=1)": lambda: ClassSpecificVerifier(
        MCSDA(), positive=1
    ),
}
SKLEARN: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: of_vectors(StandardScaler(), LogisticRegression(max_iter=1000)),
    "LDA, shrinkage": lambda: of_vectors(
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    ),
}
PYRIEMANN: dict[str, Callable[[], Any]] = {
    "XdawnCovariances, tangent space": lambda: of_covariances("Xdawn", False),
    "XdawnCovariances, MDM": lambda: of_covariances("Xdawn", True),
    "ERPCovariances, tangent space": lambda: of_covariances("ERP", False),
    "ERPCovariances, MDM": lambda: of_covariances("ERP", True),
}
ROWS = OURS | SKLEARN | PYRIEMANN


def evidence(model: Any, X: np.ndarray) -> np.ndarray:
    """The larger, the more like a target: a log ratio, where the model has probabilities."""
    if hasattr(model, "predict_proba"):
        p = np.clip(model.predict_proba(X), 1e-300, None)
        return np.log(p[:, 1]) - np.log(p[:, 0])
    return np.asarray(model.decision_function(X))


def splits_of(name: str, X: np.ndarray, y: np.ndarray, about: Any, quick: bool) -> Iterator[Split]:
    """Training and test rows: the published protocol, then from one run to the other."""
    if "subject" not in name:
        n = {"P300": 10, "N170": 20}[name]
        splitter = StratifiedShuffleSplit(2 if quick else n, test_size=0.25, random_state=42)
        yield from splitter.split(X, y)
        return
    folds = StratifiedKFold(5, shuffle=True, random_state=42).split(X, y)
    yield from list(folds)[: 1 if quick else 5]
    for run in (0, 1):
        yield np.flatnonzero(about["run"] == run), np.flatnonzero(about["run"] != run)


def letters_right(scores: np.ndarray, y: np.ndarray, about: Any) -> float:
    """Share of letters whose column and row have the largest summed evidence."""
    right = []
    for letter in np.unique(about["letter"]):
        own = about["letter"] == letter
        sums = np.bincount(about["flash"][own], weights=scores[own], minlength=13)
        targets = set(about["flash"][own & (y == 1)])
        right.append({1 + int(sums[1:7].argmax()), 7 + int(sums[7:].argmax())} == targets)
    return float(np.mean(right))


def recording_cell(data: str, name: str, row: str, quick: bool) -> dict[str, Any]:
    """Area under the ROC curve in percent for every split, and percent of letters across runs."""
    X, y, about = epochs(data, name)
    areas, letters = [], []
    for train, test in splits_of(name, X, y, about, quick):
        scores = evidence(ROWS[row]().fit(X[train], y[train]), X[test])
        areas.append(round(100 * float(roc_auc_score(y[test], scores)), 4))
        if "letter" in about and len(set(about["run"][test])) == 1:
            known = {key: value[test] for key, value in about.items()}
            letters.append(round(100 * letters_right(scores, y[test], known), 4))
    return {"areas": areas, "letters": letters}


def recordings_experiment(data: str, *, seed: int, quick: bool) -> Experiment:
    """Every row on every recording, as cells to compute and a way to put them together."""
    sets = ["P300", "N170", *(f"speller, subject {s}" for s in SUBJECTS[: 1 if quick else 3])]
    rows = [*OURS, *SKLEARN, *(PYRIEMANN if is_there("pyriemann") else ())]
    cells = [
        Cell(f"{name} | {row}", recording_cell, (data, name, row, quick))
        for name in sets
        for row in rows
    ]
    return Experiment(
        "recordings",
        "Evoked potentials: which epochs are targets?",
        {"seed": seed, "quick": quick, "sets": sets, "rows": rows},
        cells,
        lambda results: recordings_summary(results, sets, rows),
    )


def columns_of(name: str, result: dict[str, Any]) -> dict[str, list[float]]:
    """The areas of a cell by column: the protocol of others, and from run to run."""
    if "subject" not in name:
        return {name: result["areas"]}
    subject = name.rpartition(" ")[2]
    return {f"{subject}, folds": result["areas"][:-2], f"{subject}, runs": result["areas"][-2:]}


def recordings_summary(
    results: Results, sets: list[str], rows: list[str]
) -> tuple[list[Record], list[Table]]:
    """Records of every row and recording, and the tables."""
    areas = {
        row: {
            k: v for name in sets for k, v in columns_of(name, results[f"{name} | {row}"]).items()
        }
        for row in rows
    }
    columns = list(areas[rows[0]])
    means = {row: [float(np.mean(areas[row][column])) for column in columns] for row in rows}
    ordered = sorted(rows, key=lambda row: -np.mean(means[row]))
    records = [
        {"row": row, "set": column, "areas": areas[row][column], "mean": round(mean, 4)}
        for row in rows
        for column, mean in zip(columns, means[row], strict=True)
    ]
    body = [[row, *means[row], float(np.mean(means[row]))] for row in ordered]
    notes = [
        "Sorted by the mean of all columns. Subjects 6 to 8 of BNCI 2015-003: five folds over"
        " both runs, and from each run to the other."
    ]
    tables = [Table("Area under the ROC curve, percent", ["", *columns, "mean"], body, notes)]
    spelled = [name for name in sets if "subject" in name]
    letters = [
        [row, *(float(np.mean(results[f"{name} | {row}"]["letters"])) for name in spelled)]
        for row in ordered
    ]
    heads = ["", *(name.rpartition(", ")[2] for name in spelled)]
    tables.append(Table("Percent of letters found, trained on the other run", heads, letters))
    tables.append(_difference(areas, rows, columns))
    printed = published("recordings")
    theirs = [[name, area.get("P300"), area.get("N170")] for name, area in printed["muse"].items()]
    tables.append(
        Table(
            "Read off the chart of others, same splits",
            ["", "P300", "N170"],
            theirs,
            [printed["source"]],
        )
    )
    return records, tables


def _difference(areas: Any, rows: list[str], columns: list[str]) -> Table:
    """Ours at defaults minus the best row of others, chosen per column, with its error."""
    others = [row for row in rows if row not in OURS]
    found: list[list[Any]] = []
    for own in OURS:
        gaps = []
        for column in columns:
            best = max(others, key=lambda row: np.mean(areas[row][column]))
            gap = np.subtract(areas[own][column], areas[best][column])
            gaps.append(float(gap.mean()))
            error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else None
            found.append([own, column, best, gaps[-1], error])
        error = float(np.std(gaps, ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else None
        found.append([own, "mean", "best of each column", float(np.mean(gaps)), error])
    heads = ["", "recording", "best row of others", "difference", "standard error"]
    notes = ["The best row of others is chosen on the test epochs, which favours it."]
    return Table("Ours minus the best of others", heads, found, notes)

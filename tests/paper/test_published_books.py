"""FI-2010 beside the published tables, on a small order book that the test writes itself."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from paper.experiment import run_experiment
from paper.neural_row import MISSING
from paper.order_book_settings import metrics_of
from paper.published_books import (
    PublishedSettings,
    _fit_and_look,
    closed_cell,
    closed_name,
    label_cell,
    later_cell,
    network_cell,
    network_name,
    parts,
)
from paper.published_tables import published_experiment, published_records, rows_of
from paper.tables import as_text, paper_table
from tenfold import ModeScaler, ProbabilisticLDA

SMALL = PublishedSettings(
    folds=(1, 2),
    features=(6,),
    horizons=(10,),
    shrinkages=(1e-3, 1e-1),
    csda_ranks=(2,),
    mcsda_ranks=((2, 1),),
    network_features=(6,),
    epochs=2,
)


@pytest.fixture(scope="module")
def data(write_book):
    """Three days; the label at block t says how far the price moved from block t-1 to block t."""
    rng = np.random.default_rng(0)

    def one_day(n, day):
        step = rng.normal(size=n)
        price = np.cumsum(step)
        X = rng.normal(size=(n, 144)) + 50 * day
        X[:, 0], X[:, 2] = price + 0.1, price - 0.1
        return X, step

    return write_book(80, one_day, 0.5)


def test_a_cell_is_what_a_user_would_type(data):
    train, test = parts(data, 6, 10, 2)
    model = make_pipeline(ModeScaler(), ProbabilisticLDA(priors="equal"))
    model.fit(np.asarray(train.X), train.y)
    expected = metrics_of(test.y, model.predict(np.asarray(test.X)))
    found = closed_cell(SMALL, data, 6, None, 10, 2)
    np.testing.assert_allclose(found["PLDA"], expected, atol=0.7)  # two or three windows of 355
    assert set(found) >= {"PLDA", "LDA, equal priors, shrinkage 0.001", "CSDA, ranks 2"}
    assert found["PLDA"][3] > 60


def test_fold_0_holds_out_the_end_of_day_1(data):
    train, test = parts(data, 6, 10, 0)
    whole, _ = parts(data, 6, 10, 1)
    assert set(train.groups) == set(test.groups) == {1}
    assert len(train) + len(test) < len(whole)
    assert train.X.shape[1:] == (6, 10)


def test_what_the_labels_look_at_is_found_out(data):
    """Here they look at the last step of the window, and at nothing that is to come."""
    in_window, _, to_come = label_cell(data, (10,))["10"]
    assert in_window > 0.999
    assert to_come == pytest.approx(0.5, abs=0.05)
    seen = closed_cell(SMALL, data, 6, None, 10, 2)["PLDA"]
    assert later_cell(data, 6, 10, 2)["PLDA"][3] < seen[3] - 20


def test_a_fold_takes_what_was_best_on_its_last_training_day():
    """And not what is best on its own test day."""
    results = {}
    for fold in (0, 1, 2):
        for keep in SMALL.keeps:
            good, bad = (50.0, 40.0) if fold != 1 else (40.0, 50.0)
            f1 = {"LDA, equal priors, shrinkage 0.001": good, "LDA, own priors, shrinkage 0.1": bad}
            cell = {name: [0.0, 0.0, 0.0, value - (keep is None)] for name, value in f1.items()}
            others = ("PLDA", "CSDA, ranks 2", "MCSDA, ranks (2, 1)")
            cell |= {name: [0.0] * 4 for name in others}
            results[closed_name(6, keep, 10, fold)] = cell
        for scaled in (False, True):
            results[network_name(scaled, 6, 10, fold)] = {"missing": MISSING}
    records = {r["row"]: r for r in published_records(SMALL, results)}
    assert records["ModeScaler, LDA"]["chosen"] == [
        "LDA, equal priors, shrinkage 0.001, keep both",
        "LDA, own priors, shrinkage 0.1, keep both",
    ]
    assert records["ModeScaler, LDA"]["folds"] == [40.0, 40.0]
    assert records["A(TABL), one layer, trained here"]["missing"] == MISSING


@pytest.mark.filterwarnings("ignore:samples hold numbers")  # days have other levels here
@pytest.mark.long
def test_the_run_stands_beside_the_published_figures(data, tmp_path, monkeypatch):
    def small(data, seed, quick):
        return dataclasses.replace(SMALL, seed=seed, quick=quick, torch=None)

    def clock(*arguments):  # the real one starts a process of its own
        return _fit_and_look(*arguments)

    monkeypatch.setattr("paper.published_tables.published_settings", small)
    monkeypatch.setattr("paper.published_books.closed_clock", clock)
    experiment = published_experiment("fi2010_published", data, seed=0, quick=True)
    assert len(experiment.cells) == len({cell.name for cell in experiment.cells})
    found = run_experiment(experiment, tmp_path / "run", progress=False)
    text = "\n".join(map(as_text, found.tables))
    for row in (*rows_of(SMALL), *list(paper_table("fi2010_published"))[2:]):
        assert (row if isinstance(row, str) else row.name) in text
    assert "72.84" in text
    assert MISSING in text
    page = " ".join((tmp_path / "run" / "index.html").read_text(encoding="utf-8").split())
    assert "the best published figure on the nine anchored folds is 72.8 % (C(TABL))" in page
    assert "On another split, training days 1 to 7" in text
    written = json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8"))
    assert "clock | network" not in written["cells"]  # times are kept apart
    assert len(found.records) == len(rows_of(SMALL))


def test_the_network_learns_from_scaled_windows(data):
    pytest.importorskip("torch", reason=MISSING)
    longer = dataclasses.replace(SMALL, torch="here", epochs=40)
    found = network_cell(longer, data, True, 6, 10, 2)
    assert found["epochs 40"][3] > 45
    again = network_cell(dataclasses.replace(longer, epochs=2), data, True, 6, 10, 2)
    assert again["epochs 2"] == found["epochs 2"]
    assert network_cell(SMALL, data, True, 6, 10, 2) == {"missing": MISSING}


@pytest.mark.realdata
def test_on_real_order_books_equal_priors_pass_the_published_networks(data_root):
    """Fold 1 of FI-2010; the mean of its folds is on the page of results."""
    train, test = parts(str(data_root), 40, 10, 1)
    model = make_pipeline(ModeScaler(), ProbabilisticLDA(priors="equal")).fit(train.X, train.y)
    plain = ProbabilisticLDA(priors="equal").fit(train.X, train.y)
    f1, without = (metrics_of(test.y, one.predict(test.X))[3] for one in (model, plain))
    assert f1 > paper_table("fi2010_published")["C(TABL)"][0] + 3
    assert without < f1 - 10

"""Table 3 on a small order book that the test writes itself."""

import dataclasses

import numpy as np
import pytest

from paper.neural_row import MISSING
from paper.order_book import book_cell, cell_name
from paper.order_book_data import head_and_tail, inner_part, outer_part
from paper.order_book_settings import BEYOND_ROWS, PAPER_ROWS, book_settings
from paper.order_book_tables import book_records, book_tables
from paper.tables import as_text
from tenfold import ClassMoments

N_STOCKS = 5


@pytest.fixture(scope="module")
def data(write_book):
    """Three days; the label follows the last step of the first features."""
    rng = np.random.default_rng(0)

    def one_day(n, day):
        X = np.cumsum(rng.normal(size=(n, 144)), axis=0) / 10 + rng.normal(size=(n, 144))
        return X, np.diff(X[:, :20].mean(axis=1), prepend=0)

    return write_book(120, one_day, 0.15)


@pytest.fixture(scope="module")
def settings(data):
    return dataclasses.replace(book_settings(data, 0, quick=True), folds=(1, 2), stride=1)


@pytest.mark.parametrize("fold", [1, 2])
def test_moments_of_a_fold_are_those_of_its_windows(data, fold):
    for part in (outer_part(data, fold), inner_part(data, fold, stride=1)):
        direct = ClassMoments.from_batch(np.asarray(part.train.X, dtype=float), part.train.y)
        assert np.array_equal(part.moments.counts, direct.counts)
        # The windows were z-scored in float32, the moments in float64.
        np.testing.assert_allclose(part.moments.means, direct.means, atol=2e-6)
        np.testing.assert_allclose(part.moments.scatters, direct.scatters, atol=2e-3)


def test_what_is_held_out_comes_after_what_is_learned_from(data):
    train, _ = inner_part(data, 2, stride=1).train, None
    held = inner_part(data, 2, stride=1).test
    assert set(train.groups) == {1}
    assert set(held.groups) == {2}
    day = outer_part(data, 1).train
    head, tail = head_and_tail(day)
    first, last = day.X.last_rows - 9, day.X.last_rows
    for stock in range(1, N_STOCKS + 1):
        own = day.sample_info["stock"] == stock
        learned, judged = head[own[head]], tail[own[tail]]
        assert last[learned].max() < first[judged].min()  # they share no block


SLOW = ("CSDA, 1440", "RR, 1440", "LDA, 1440")  # eigenproblems of that size


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=[pytest.mark.slow] if row in SLOW else [])
        for row in (*PAPER_ROWS, *BEYOND_ROWS)
    ],
)
def test_every_row_has_numbers_and_is_a_function_of_the_seed(data, settings, row):
    if row == "N-BoF" and settings.torch is None:
        pytest.skip(MISSING)
    first, again = (book_cell(settings, data, row, 1) for _ in range(2))
    assert first == again
    for result in first.values():
        assert len(result["metrics"]) == 4
        assert all(0 < value <= 100 for value in result["metrics"])
        assert 0 < result["inner_f1"] <= 100
    if row in ("BoF", "N-BoF"):
        curve = first[""]["curve"]
        assert len(curve["loss"]) == len(curve["held_out_f1"]) >= 2


def test_the_table_stands_beside_the_papers_and_names_what_is_missing(settings):
    rng = np.random.default_rng(0)
    results = {}
    for row in settings.rows:
        variants = ["plain", "normalised"] if row.startswith(("CSDA", "MDA", "MCSDA")) else [""]
        for fold in settings.folds:
            cell = {"selected": {"ranks": [60, 1]}, "inner_f1": 40.0}
            results[cell_name(row, fold)] = {
                v: {"metrics": (100 * rng.random(4)).tolist(), **cell} for v in variants
            }
    for fold in settings.folds:
        results[cell_name("N-BoF", fold)] = {"": {"missing": MISSING}}
        curve = {"loss": [1.0, 0.9], "held_out_f1": [30.0, 31.0]}
        results[cell_name("BoF", fold)][""]["curve"] = curve
    records = book_records(settings, results)
    f1 = next(r for r in records if r["row"] == "RR" and r["metric"] == "f1")
    assert f1["mean"] == pytest.approx(np.mean(f1["folds"]), abs=1e-4)
    assert f1["paper"] == 42.52
    text = "\n".join(map(as_text, book_tables(settings, records, results)))
    for row in (*PAPER_ROWS, *BEYOND_ROWS):
        assert row in text
    assert MISSING in text
    assert "Training of BoF" in text
    assert "60x1" in text

"""Tables 1 and 2 from cells, and their cells from a small set of faces."""

import numpy as np
import pytest

from paper import faces
from paper.face_tables import face_records, face_tables
from paper.faces import (
    BEYOND_ROWS,
    PAPER_ROWS,
    FaceRow,
    cell_name,
    face_cell,
    face_settings,
)
from paper.tables import as_text


@pytest.fixture
def small_faces(monkeypatch):
    """Six persons of ten images of 8x6, whatever is asked for."""
    rng = np.random.default_rng(0)
    y = np.repeat([f"s{i}" for i in range(6)], 10)
    means = rng.normal(size=(6, 8, 6, 2))
    X = means[np.repeat(np.arange(6), 10)] + 4 * rng.normal(size=(60, 8, 6, 2))

    def images(experiment, data, kind):
        return (X if "hog" in kind else X[..., 0]), y

    monkeypatch.setattr(faces, "face_images", images)


def small_settings():
    return face_settings("orl", seed=0, quick=True)


@pytest.mark.parametrize("row", PAPER_ROWS + BEYOND_ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_cell_is_a_function_of_the_seed_and_chooses_without_the_test_images(
    small_faces, row, share
):
    settings = small_settings()
    row = FaceRow(row.name, row.method, row.images, row.shrinkage, (2, 4))
    first, again = (face_cell(settings, "", row, share, 0) for _ in range(2))
    assert first == again
    assert all(0 < value <= 100 for value in first["test"])
    several = len(first["test"]) > 1
    assert (first["inner"] is not None) == (share == 0.5 and several)
    if first["inner"] is not None:
        assert first["inner"][first["selected"]] == max(first["inner"])


def test_oracle_is_one_rank_for_all_splits_and_selected_one_for_each():
    settings = face_settings("orl", seed=0, quick=False)
    row = PAPER_ROWS[2]
    results = {}
    for each in settings.rows:
        for share in settings.shares:
            for split in range(each.splits or settings.n_splits):
                results[cell_name(each, share, split)] = {
                    "ranks": [2, 7], "shrinkages": [0.0, 0.0],
                    "test": [80.0 + split, 90.0], "inner": [1.0, 2.0], "selected": split % 2,
                }  # fmt: skip
    records = face_records(settings, results)
    mine = next(r for r in records if r["row"] == row.name and r["k"] == 0.5)
    assert (mine["oracle"], mine["oracle_rank"]) == (90.0, 7)
    assert mine["selected"] == pytest.approx((80 + 90 + 82 + 90 + 84) / 5)
    assert mine["paper"] == 95.69
    assert mine["difference"] == pytest.approx(-5.69)
    seconds = {"MCSDA": 0.1, "CSDA": 0.2, "CSDA literal": 1.5, "MCSDA literal": 0.3}
    tables = face_tables(settings, records, {"n": 200, "seconds": seconds})
    text = "\n".join(map(as_text, tables))
    assert "of 30 cells lie within 3 points of the paper." in text
    assert "90.00 (95.69; -5.7)" in text
    assert "2.00 (literal 15.0)" in text
    for each in settings.rows:
        assert each.name in text

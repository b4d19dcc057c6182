"""The loaders on the real sets."""

import numpy as np
import pytest

from paper import fi2010_text
from paper.fi2010 import fi2010_fold, load_fi2010_days
from paper.orl import load_orl
from paper.pie import PIE_STAND_INS, load_pie

pytestmark = pytest.mark.realdata


@pytest.fixture
def published_only(data_root, tmp_path):
    """The text files of fold 1 without the per-day file beside them."""
    for split in ("Train", "Test"):
        name = fi2010_text.published_name(split, 1) + ".xz"
        (tmp_path / name).symlink_to((data_root / "fi2010" / name).resolve())
    return tmp_path


def test_orl_has_forty_persons(data_root):
    data = load_orl(data_root)
    assert data.X.shape == (400, 40, 30)
    assert 0 <= data.X.min() < data.X.max() <= 1
    # Images of one person are nearer to each other than to other persons, by far.
    centred = data.X - data.X.mean(axis=0)
    means = centred.reshape(40, 10, -1).mean(axis=1)
    assert (means**2).sum() / (centred**2).sum() * 10 > 0.5


def test_pie_has_sixty_eight_persons(data_root):
    data = load_pie(data_root)
    counts = dict(zip(*np.unique(data.y, return_counts=True), strict=True))
    assert counts == {person: 164 if person == 38 else 170 for person in range(1, 69)}
    assert np.unique(data.groups).tolist() == [5, 7, 9, 27, 29]
    assert len(load_pie(data_root, persons=PIE_STAND_INS)) == 9 * 170


def test_a_fold_built_from_days_is_the_published_one(data_root, published_only):
    built, given = fi2010_fold(1, data_root), fi2010_fold(1, published_only)
    for ours, theirs in zip(built, given, strict=True):
        np.testing.assert_array_equal(ours.y, theirs.y)
        np.testing.assert_array_equal(ours.X.last_rows, theirs.X.last_rows)
        # Relative to the value above 1: float32 has seven digits and values go to 100.
        apart = np.abs(ours.X.rows - theirs.X.rows) / np.maximum(1, np.abs(theirs.X.rows))
        assert apart.max() < 4e-6


def test_jumps_of_the_best_ask_find_the_stocks_of_every_day(data_root):
    days = load_fi2010_days(data_root)
    for day, (rows, offsets) in enumerate(zip(days.features, days.stock_offsets, strict=True), 1):
        file = fi2010_text.PublishedFile("day", rows, np.empty(0))
        segments = fi2010_text.stock_segments(file, range(day, day + 1))
        assert [0, *(segment.stop for segment in segments)] == offsets.tolist()
        np.testing.assert_array_equal(np.diff(offsets), fi2010_text.STOCK_BLOCKS[day - 1])


def test_a_training_file_laid_out_stock_by_stock_is_cut_at_every_day(data_root):
    """Folds 2 and on are not at hand as published, so days 1 to 6 are put in their order."""
    days = load_fi2010_days(data_root)
    parts = [
        rows[slice(*offsets[stock : stock + 2])]
        for stock in range(5)
        for rows, offsets in zip(days.features[:6], days.stock_offsets[:6], strict=True)
    ]
    file = fi2010_text.PublishedFile("six days", np.concatenate(parts), np.empty(0))
    segments = fi2010_text.stock_segments(file, range(1, 7))
    assert [segment.stop - segment.start for segment in segments] == [len(part) for part in parts]
    assert [segment.day for segment in segments[:7]] == [1, 2, 3, 4, 5, 6, 1]


def test_features_of_the_training_days_are_z_scores(data_root):
    rows = fi2010_fold(6, data_root).train.X.rows
    moving = rows.std(axis=0) > 0
    assert (~moving).sum() == 9
    np.testing.assert_allclose(rows.mean(axis=0, dtype=np.float64), 0, atol=1e-5)
    np.testing.assert_allclose(rows[:, moving].std(axis=0, dtype=np.float64), 1, atol=1e-4)

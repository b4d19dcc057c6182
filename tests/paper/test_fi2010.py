"""FI-2010, published by the test itself: five stocks, four days, three folds."""

import gzip
import lzma
import zipfile

import numpy as np
import pytest

from paper import fi2010_text
from paper.fi2010 import fi2010_fold, load_fi2010_days

PRICES = np.array([27.0, 13.5, 17.0, 13.2, 36.0])  # two stocks at nearly one price, as in June 2010
N_DAYS = 4


def make_stock(price, n, rng):
    """Blocks (n, 144) whose best ask wanders about a price; the last nine features are constant."""
    features = rng.standard_normal((n, 144)) * rng.uniform(0.1, 30, 144) + rng.uniform(-5, 5, 144)
    features[:, 0] = price + 0.005 * rng.standard_normal(n).cumsum()
    features[:, -9:] = 0.0
    return features


@pytest.fixture(scope="module")
def market():
    """Raw features and labels of every day and stock."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(14, 30, (N_DAYS, 5))
    features = [
        [make_stock(p, n, rng) for p, n in zip(PRICES, day, strict=True)] for day in lengths
    ]
    labels = [[rng.integers(1, 4, (n, 5)) for n in day] for day in lengths]
    return lengths, features, labels


def z_scored(market, fold):
    """Every day and stock in the unit of fold k's training days, by NumPy's own std."""
    _, features, _ = market
    training = np.concatenate([stock for day in features[:fold] for stock in day])
    scale = training.std(axis=0, ddof=1)
    scale[scale == 0] = 1
    return [[(stock - training.mean(axis=0)) / scale for stock in day] for day in features]


def published(market, split, fold):
    """The 149 rows of a published file: a training file goes stock by stock, then day by day."""
    _, _, labels = market
    values = z_scored(market, fold)
    days = range(fold) if split == "Train" else [fold]
    order = [(day, stock) for stock in range(5) for day in days]
    columns = [np.hstack([values[d][s], labels[d][s]]) for d, s in order]
    return np.vstack(columns).T


def write_text(path, table):
    text = "\n".join("   ".join(f"{value:.7e}" for value in row) for row in table).encode() + b"\n"
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"deep/inside/{path.stem}", text)
    else:
        with opened(path, "wb") as file:
            file.write(text)
    return path


@pytest.fixture
def publish(market, tmp_path, monkeypatch):
    """Write published files; the known block counts are those of this market."""
    monkeypatch.setattr(fi2010_text, "STOCK_BLOCKS", market[0])

    def write(*which, suffix="", folder="fi2010"):
        for split, fold in which:
            name = fi2010_text.published_name(split, fold) + suffix
            write_text(tmp_path / folder / name, published(market, split, fold))
        return tmp_path

    return write


@pytest.fixture
def days_file(market, tmp_path):
    lengths, _, labels = market
    arrays = {}
    for day, stocks in enumerate(z_scored(market, 1), start=1):
        arrays[f"X{day}"] = np.concatenate(stocks).astype(np.float32)
        arrays[f"y{day}"] = np.concatenate(labels[day - 1]).astype(np.uint8)
        arrays[f"stock_offsets{day}"] = np.concatenate([[0], lengths[day - 1].cumsum()])
    path = tmp_path / "npz" / "fi2010" / "fi2010_days_1-4.npz"
    path.parent.mkdir(parents=True)
    np.savez(path, **arrays)
    return path


def brute_force(market, fold, days, horizon, window):
    """Windows, labels, days and stocks, one by one."""
    _, _, labels = market
    values = z_scored(market, fold)
    windows = [
        (values[d][s][end - window : end].T, labels[d][s][end - 1][horizon], d + 1, s + 1)
        for d in days
        for s in range(5)
        for end in range(window, len(values[d][s]) + 1)
    ]
    return [np.array(column) for column in zip(*windows, strict=True)]


# ── Folds ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fold", [1, 2, 3])
@pytest.mark.parametrize("source", ["text", "days"])
@pytest.mark.parametrize(("horizon", "window"), [(10, 10), (50, 3)])
def test_a_fold_is_the_windows_of_its_days(
    market, publish, days_file, fold, source, horizon, window
):
    place = publish(("Train", fold), ("Test", fold)) / "fi2010"
    place = place if source == "text" else days_file
    halves = fi2010_fold(fold, place, horizon=horizon, window=window)
    column = [10, 20, 30, 50, 100].index(horizon)
    for half, days in zip(halves, (range(fold), [fold]), strict=True):
        X, y, day, stock = brute_force(market, fold, days, column, window)
        # Values of at most ten, in float32 from eight published digits.
        np.testing.assert_allclose(half.X[:], X, atol=5e-6)
        np.testing.assert_allclose(half.X.last_blocks, X[:, :, -1], atol=5e-6)
        np.testing.assert_array_equal(half.y, y)
        np.testing.assert_array_equal(half.groups, day)
        np.testing.assert_array_equal(half.sample_info["stock"], stock)
        assert half.mode_names == ("feature", "block")


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zip"])
def test_compression_changes_nothing(publish, suffix):
    plain = fi2010_fold(1, publish(("Train", 1), ("Test", 1), folder="plain") / "plain")
    other = fi2010_fold(1, publish(("Train", 1), ("Test", 1), suffix=suffix, folder="o") / "o")
    np.testing.assert_array_equal(other.train.X.rows, plain.train.X.rows)
    np.testing.assert_array_equal(other.test.y, plain.test.y)


# ── Days ────────────────────────────────────────────────────────────────────────────────────────


def test_days_from_text_are_those_of_the_file(publish, days_file):
    place = publish(("Train", 1), ("Test", 1), ("Test", 2), ("Test", 3)) / "fi2010"
    from_text, from_file = load_fi2010_days(place), load_fi2010_days(days_file)
    assert len(from_text) == len(from_file) == N_DAYS
    for text, file in zip(from_text.features, from_file.features, strict=True):
        np.testing.assert_allclose(text, file, atol=5e-6)
    for name in ("labels", "stock_offsets"):
        for text, file in zip(getattr(from_text, name), getattr(from_file, name), strict=True):
            np.testing.assert_array_equal(text, file)


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────


def test_a_missing_half_names_the_file_the_place_and_the_source(publish):
    place = publish(("Train", 2))
    with pytest.raises(FileNotFoundError) as error:
        fi2010_fold(2, place)
    for part in ("Fold 2", "Test_Dst_NoAuction_ZScore_CF_2.txt", str(place), "Fairdata"):
        assert part in str(error.value)
    with pytest.raises(FileNotFoundError, match="Train_Dst_NoAuction_ZScore_CF_1"):
        load_fi2010_days(place)

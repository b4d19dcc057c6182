"""`ProbabilisticLDA()` with its default settings: what it must reach, and the last bit."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit

from tenfold import ProbabilisticLDA

N_SPLITS = 5


def accuracies(model, X, y, n_splits=N_SPLITS):
    """Accuracies over stratified half splits."""
    halves = StratifiedShuffleSplit(n_splits=n_splits, test_size=0.5, random_state=0)
    return [model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in halves.split(X, y)]


def samples_of(data_root, name):
    """Arrays of a set of real data, by name."""
    path = data_root / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"no {path.name} in {path.parent}")
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


@pytest.mark.realdata
def test_olive_oils_are_told_apart_by_their_spectra(data_root):
    arrays = samples_of(data_root, "more/olive_oil")
    assert arrays["X"].shape == (60, 570)
    found = accuracies(ProbabilisticLDA(), arrays["X"], arrays["y"])
    assert np.mean(found) >= 0.85, found


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "least"), [("uea/epilepsy", 0.83), ("more/medical_images", 0.68)])
def test_curved_classes_are_told_apart(data_root, name, least):
    arrays = samples_of(data_root, name)
    X, y = arrays["X"].astype(float), arrays["y"]
    found = accuracies(ProbabilisticLDA(), X, y, n_splits=3)
    assert np.mean(found) >= least, found


def test_digits_are_read_from_fifty_of_each():
    X, y = load_digits().images, load_digits().target
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(y))
        train = np.concatenate([rows[y[rows] == digit][:50] for digit in range(10)])
        test = np.setdiff1d(rows, train)
        found.append(ProbabilisticLDA().fit(X[train], y[train]).score(X[test], y[test]))
    assert np.mean(found) >= 0.985, found


def spectra(seed):
    """60 smooth spectra of 4 classes: small peaks on one curve that all of them share."""
    rng = np.random.default_rng(seed)
    place = np.linspace(0, 1, 200)
    y = np.arange(60) % 4
    curve = 100 * np.exp(-((place - 0.4) ** 2) / 0.05) + 50 * place
    centres = np.linspace(0.1, 0.9, 12)
    peaks = np.exp(-((place - centres[:, None]) ** 2) / 0.002)
    of_classes = 0.003 * rng.normal(size=(4, 12)) @ peaks
    brightness = 1 + 0.001 * rng.normal(size=(60, 1))
    own = 0.003 * rng.normal(size=(60, 12)) @ peaks + 3e-5 * rng.normal(size=(60, 200))
    return brightness * curve + of_classes[y] + own, y


def test_spectra_on_one_curve_are_told_apart_as_well_as_by_lda():
    ours, theirs = [], []
    for seed in range(2):
        X, y = spectra(seed)
        ours += accuracies(ProbabilisticLDA(), X, y)
        lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        theirs += accuracies(lda, X, y)
    assert np.mean(theirs) > 0.6, "the classes can be told apart"
    assert np.mean(ours) >= np.mean(theirs) - 0.05, (np.mean(ours), np.mean(theirs))


def changed_answers(n_numbers, n_classes, seed):
    """The share of answers that change when training samples are scaled by a rounding error."""
    rng = np.random.default_rng(seed)
    y = np.arange(40) % n_classes
    X = 2 * rng.normal(size=(n_classes, n_numbers))[y] + rng.normal(size=(40, n_numbers))
    new = 3 * rng.normal(size=(2000, n_numbers))
    before = ProbabilisticLDA().fit(X, y).predict(new)
    after = ProbabilisticLDA().fit(X * (1 + 1e-12), y).predict(new)
    return np.mean(before != after)


def test_answers_do_not_depend_on_the_last_bits_of_small_samples():
    shares = {}
    for n_numbers in (1, 2):
        for n_classes in (2, 3, 4):
            for seed in range(2):
                shares[n_numbers, n_classes, seed] = changed_answers(n_numbers, n_classes, seed)
    changed = {case: share for case, share in shares.items() if share > 0}
    assert not changed


def test_a_class_of_one_sample_is_named_next_to_a_large_class():
    """It cannot be left out, and samples of the other class alone would choose never to name it."""
    wine = load_wine()
    losses, right = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        first, second = (rng.permutation(np.flatnonzero(wine.target == c)) for c in (0, 1))
        train = np.r_[first[:1], second[:40]]
        test = np.r_[first[1:], second[40:]]
        model = ProbabilisticLDA(priors="equal").fit(wine.data[train], wine.target[train])
        P = model.predict_proba(wine.data[test])
        losses.append(log_loss(wine.target[test], P))
        right.append(model.score(wine.data[test], wine.target[test]))
    assert np.mean(right) > 0.75
    assert np.mean(losses) < np.log(2)

"""Statistics of every training part from one reading, and estimators without their test samples."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from reference import problem
from tenfold import ClassMoments
from tenfold.decisions.folds import folds_of, positions
from tenfold.mathematics import cost as module
from tenfold.mathematics.cost import Workload
from tenfold.mathematics.moments import along_mode
from tenfold.validation.samples import present_labels

X, y = problem((4, 3), classes=3, per_class=150, seed=1)
WORKS = {
    "auto": Workload((2, 2), rounds=20),
    "moments": Workload((2, 2), rounds=20, models=100),  # so many that they pay
    "samples": Workload((2, 2), rounds=20, memory=0),
}
GROUPS = np.arange(len(X)) % 7
SPLITTERS = {
    "KFold": KFold(5),
    "StratifiedKFold": StratifiedKFold(4),
    "GroupKFold": GroupKFold(3),
    "TimeSeriesSplit": TimeSeriesSplit(5),
    "ShuffleSplit": ShuffleSplit(3, random_state=0),
    "RepeatedKFold": RepeatedKFold(n_splits=2, n_repeats=3, random_state=0),
    "many": ShuffleSplit(20, random_state=0),
}
each_splitter = pytest.mark.parametrize("name", SPLITTERS)


def splits_of(name):
    groups = (GROUPS,) if name == "GroupKFold" else ()
    return positions(SPLITTERS[name].split(X, y, *groups), len(X))


def statistics_of_folds(X, y, weight, splits, kind):
    classes = present_labels(y, weight)
    return list(module.fold_statistics(X, y, weight, classes, splits, WORKS[kind]))


def counted(monkeypatch):
    """A list that grows by the number of samples of every batch that moments are made of."""
    seen = []

    def moments_of(samples, *rest):
        seen.append(len(samples))
        return ClassMoments.from_batch(np.asarray(samples), *rest[:2], classes=rest[2])

    monkeypatch.setattr(module, "moments_of", moments_of)
    return seen


@each_splitter
@pytest.mark.parametrize("statistics", ["auto", "moments", "samples"])
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_of_folds_are_those_of_their_training_parts(name, statistics, weighted):
    weight = np.random.default_rng(0).uniform(0, 2, len(X)) if weighted else None
    splits = splits_of(name)
    found = statistics_of_folds(X, y, weight, splits, statistics)
    assert len(found) == len(splits) + 1
    every = np.arange(len(X))
    for (train, _), own in zip([*splits, (every, every)], found, strict=True):
        part = ClassMoments.from_batch(
            X[train], y[train], None if weight is None else weight[train]
        )
        assert own.classes.tolist() == part.classes.tolist()
        np.testing.assert_allclose(own.counts, part.counts, rtol=1e-12)
        np.testing.assert_allclose(own.means, part.means, atol=1e-12)
        factors = [np.eye(4)[None], np.eye(3)[None]]
        for code in range(len(part.classes)):
            np.testing.assert_allclose(
                along_mode([own.in_class(code)], 0, factors),
                along_mode([part.in_class(code)], 0, factors),
                rtol=1e-10,
                atol=1e-12,
            )


@pytest.mark.parametrize("name", ["KFold", "StratifiedKFold", "GroupKFold", "TimeSeriesSplit"])
def test_folds_that_share_samples_read_them_once(name, monkeypatch):
    seen = counted(monkeypatch)
    statistics_of_folds(X, y, None, splits_of(name), "moments")
    assert seen == [len(X)]


def test_samples_that_a_fold_takes_twice_count_twice():
    rng = np.random.default_rng(0)
    draws = [(rng.integers(0, len(X), len(X)), np.arange(5)) for _ in range(2)]
    found = statistics_of_folds(X, y, None, draws, "moments")
    for (train, _), own in zip(draws, found, strict=False):
        part = ClassMoments.from_batch(X[train], y[train])
        np.testing.assert_array_equal(own.counts, part.counts)
        np.testing.assert_allclose(own.scatters, part.scatters, atol=1e-12)


@pytest.mark.parametrize("statistics", ["moments", "samples"])
@pytest.mark.parametrize("why", ["no sample", "no weight"])
def test_a_class_without_training_samples_is_unknown_in_that_fold(statistics, why):
    rare = np.where(np.arange(len(y)) < 2, 7, y)  # two samples of class 7, the largest label
    weight = np.ones(len(y))
    if why == "no weight":
        weight[1] = 0.0
        splits = [(np.arange(1, len(y)), np.arange(1)), (np.arange(50), np.arange(50, 60))]
    else:
        splits = [(np.arange(2, len(y)), np.arange(2)), (np.arange(50), np.arange(50, 60))]
    first, second, whole = statistics_of_folds(X, rare, weight, splits, statistics)
    assert first.classes.tolist() == [0, 1, 2]
    assert second.classes.tolist() == whole.classes.tolist() == [0, 1, 2, 7]
    assert first.count == len(y) - 2


def test_labels_that_never_count_do_not_spill_into_other_classes():
    beyond = np.where(np.arange(len(y)) == 4, 9, y)
    weight = np.where(beyond == 9, 0.0, 1.0)
    splits = positions(KFold(3).split(X), len(X))
    found = statistics_of_folds(X, beyond, weight, splits, "moments")
    assert found[-1].classes.tolist() == [0, 1, 2]
    expected = ClassMoments.from_batch(np.delete(X, 4, axis=0), np.delete(y, 4))
    np.testing.assert_allclose(found[-1].means, expected.means, atol=1e-13)


def test_splits_may_be_masks_lists_or_slices():
    mask = np.arange(6) < 4
    asked = [(mask, ~mask), ([0, 1, 2, 3], [-2, -1]), (slice(4), slice(4, 6))]
    for train, test in positions(asked, 6):
        assert train.tolist() == [0, 1, 2, 3]
        assert test.tolist() == [4, 5]


def test_folds_that_hold_nothing_are_refused():
    with pytest.raises(ValueError, match=r"cv gives no folds; pass at least one"):
        positions([], 6)
    with pytest.raises(ValueError, match=r"fold 0 of cv has no training samples; give it some"):
        positions([([], [1])], 6)
    with pytest.raises(ValueError, match=r"fold 1 of cv has no test samples; give it some"):
        positions([([0], [1]), ([0], [])], 6)


def test_folds_are_as_many_as_the_smallest_class_allows():
    labels = np.repeat([0, 1], [3, 20])
    assert len(folds_of(5, labels)) == 3
    for train, _ in folds_of(5, labels):
        assert set(labels[train]) == {0, 1}
    groups = np.arange(23) % 2
    assert len(folds_of(5, labels, groups)) == 2
    with pytest.raises(ValueError, match=r"at least 2 samples of every class, but class 0 has 1"):
        folds_of(5, np.array([0, 1, 1]))
    with pytest.raises(ValueError, match=r"cv is 1; expected an integer of 2 or more"):
        folds_of(1, labels)

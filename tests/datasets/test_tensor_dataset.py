"""The value that loaders return."""

import numpy as np
import pytest

from tenfold.datasets import TensorDataset


def test_unpacks_into_samples_and_labels():
    X, y = TensorDataset(np.zeros((2, 3)), np.array([0, 1]))
    assert X.shape == (2, 3)
    assert y.tolist() == [0, 1]


def test_says_what_it_holds():
    data = TensorDataset(np.zeros((2, 4, 3), dtype=np.float32), np.array(["a", "b"]), name="toy")
    assert repr(data) == "TensorDataset 'toy': 2 samples of 4x3 (float32), 2 classes"
    assert repr(TensorDataset(np.zeros((2, 4)), None)).endswith("no labels")


@pytest.mark.parametrize("what", ["labels", "groups", "stock"])
def test_one_value_per_sample_or_an_error_that_counts_both(what):
    values = {"labels": np.zeros(4), "groups": np.zeros(4), "stock": np.zeros(4)}
    values[what] = np.zeros(3)
    with pytest.raises(
        ValueError, match=rf"toy: {what} have shape \(3,\), but there are 4 samples"
    ):
        TensorDataset(
            np.zeros((4, 2)),
            values["labels"],
            values["groups"],
            name="toy",
            sample_info={"stock": values["stock"]},
        )


def test_one_name_per_mode():
    with pytest.raises(ValueError, match="1 mode names"):
        TensorDataset(np.zeros((4, 2, 2)), None, mode_names=("row",))


def test_selection_takes_everything_that_belongs_to_a_sample():
    data = TensorDataset(
        np.arange(8).reshape(4, 2),
        np.array(list("aabb")),
        groups=np.array([1, 2, 1, 2]),
        sample_info={"file": np.array(["w", "x", "y", "z"])},
    )
    part = data.select(np.array([3, 0]))
    assert part.X.tolist() == [[6, 7], [0, 1]]
    assert part.y.tolist() == ["b", "a"]
    assert part.groups.tolist() == [2, 1]
    assert part.sample_info["file"].tolist() == ["z", "w"]
    assert part.classes.tolist() == ["a", "b"]

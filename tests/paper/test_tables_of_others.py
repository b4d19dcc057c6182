"""The experiments on gait and small tensors: their pieces, on made-up data of the same form."""

import json

import numpy as np
import pytest

from paper.__main__ import main
from paper.gait import PROBES, fitted, halves, moved, percent_within, places
from paper.tables import published


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Twelve walkers with five half steps; another surface adds the same to all of them."""
    root, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    (root / "gait").mkdir()
    (root / "small").mkdir()
    persons, surface = 3 * rng.normal(size=(13, 8, 6, 4)), 30 * rng.normal(size=(8, 6, 4))
    y = np.repeat(np.arange(1, 13), 5)
    for name in ("Gal", *(f"Prb{probe}" for probe in PROBES)):
        labels = np.concatenate([y, [0, 0]]) if name in ("PrbD", "PrbG") else y
        X = persons[labels] + rng.normal(size=(len(labels), 8, 6, 4))
        X += surface if name[-1] in "DEFG" else 0
        np.savez(root / "gait" / f"{name}.npz", X=X, y=labels)
    y = np.repeat([1, 2, 3], 8)
    X = rng.normal(size=(3, 4, 3))[y - 1] * 2 + rng.normal(size=(24, 4, 3))
    np.savez(root / "small" / "ifnb.npz", X=X, y=y)
    np.savez(root / "small" / "csa.npz", PEL=X, IDLH=X + 1, y=y)
    return root


def test_samples_move_by_a_step_and_repeat_their_border():
    X = np.arange(6).reshape(1, 2, 3)
    assert moved(X, 0, 1).tolist() == [[[0, 1, 2], [0, 1, 2]]]
    assert moved(X, 1, -1).tolist() == [[[1, 2, 2], [4, 5, 5]]]


def test_halves_of_walks_hold_both_of_every_person():
    y = np.array([1, 1, 1, 2, 2, 2, 2])
    assert halves(y).tolist() == [False, True, True, False, False, True, True]


def test_a_sequence_of_nobody_is_missed_or_left_out():
    found = [0, 3, None, 7]
    assert percent_within(found, 1, everyone=True) == 25
    assert percent_within(found, 5, everyone=True) == 50
    assert percent_within(found, 5, everyone=False) == pytest.approx(100 * 2 / 3, abs=1e-4)


def test_places_count_those_who_score_higher(data):
    with np.load(data / "gait" / "Gal.npz") as file:
        X, y = file["X"], file["y"]
    model = fitted(X, y, "copies a pixel or an instant aside")
    assert places(model, X, y) == [0] * 12
    assert places(model, X[:5], np.zeros(5)) == [None]
    _, scores = model.set_scores(X[:5], np.full(5, 2))  # all of person 1
    assert places(model, X[:5], np.full(5, 2)) == [(scores[0] > scores[0, 1]).sum()]


@pytest.mark.parametrize("name", ["gait", "small"])
def test_quick_runs_leave_a_table_with_published_figures(data, name, tmp_path, capsys):
    words = [name, "--quick", "--data", str(data), "--out", str(tmp_path), "--jobs", "1"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "54.77" in text if name == "gait" else "16.90" in text
    records = json.loads((tmp_path / "results.json").read_text())["records"]
    if name == "gait":
        by = {(r["centre"], r["rank"], r["everyone"]): r for r in records if r["chosen"]}
        known = by["recentred", 1, False]["mean"]
        assert known == 100
        assert by["plain", 1, False]["mean"] < known  # the surface
        assert by["recentred", 1, True]["mean"] < known  # nobody's sequences in D and G
        assert published("gait")["rank-1 mean"] == pytest.approx(
            np.mean(published("gait")["rank-1"]), abs=0.01
        )


@pytest.mark.parametrize("name", ["gait", "small"])
def test_missing_sets_are_named(name, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    words = [name, "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    assert main(words) == 2
    assert f"/{name}/" in capsys.readouterr().err

import json

import pytest

from paper.finished_cells import FinishedCells, RunError, only_run_in

SETTINGS = {"seed": 0, "k": [0.1, 0.2]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cells.jsonl"


def filled(path, n=3):
    with FinishedCells(path, SETTINGS) as cells:
        for i in range(n):
            cells.write(f"cell {i}", {"value": i / 3}, seconds=0.5)


def test_a_run_remembers_what_was_written(path):
    filled(path)
    with FinishedCells(path, SETTINGS) as again:
        assert again.cells["cell 2"] == {"result": {"value": 2 / 3}, "seconds": 0.5}
        assert len(again.cells) == 3


@pytest.mark.parametrize("lost", range(1, 40))
def test_a_line_that_a_kill_cut_short_is_dropped_and_nothing_else(path, lost):
    filled(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost])
    with FinishedCells(path, SETTINGS) as again:
        assert list(again.cells) == ["cell 0", "cell 1"]
        again.write("cell 2", {"value": 2 / 3}, seconds=0.5)
    assert path.read_bytes() == whole


def test_a_header_that_was_cut_short_starts_a_new_run(path):
    path.write_bytes(b'{"settings": {"se')
    with FinishedCells(path, SETTINGS) as cells:
        assert cells.cells == {}
    assert json.loads(path.read_text())["settings"] == SETTINGS


def test_other_settings_are_refused_and_named(path):
    filled(path)
    with pytest.raises(RunError, match=r"other settings \(seed differ\); choose another folder"):
        FinishedCells(path, {**SETTINGS, "seed": 1})


def test_a_damaged_line_in_the_middle_is_named(path):
    filled(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\x00\x00\n" + lines[2])
    with pytest.raises(RunError, match=r"line 2 of .*cells.jsonl is damaged"):
        FinishedCells(path, SETTINGS)


def test_a_file_of_something_else_is_refused(path):
    path.write_text("[1, 2]\n")
    with pytest.raises(RunError, match="is not a cell of a run"):
        FinishedCells(path, SETTINGS)


def test_two_runs_do_not_mix_in_one_folder(tmp_path):
    with (
        only_run_in(tmp_path),
        pytest.raises(RunError, match="another run is writing"),
        only_run_in(tmp_path),
    ):
        pass
    with only_run_in(tmp_path):  # the first is over
        pass

"""``python -m paper``: what it says, writes and refuses."""

import json

import pytest

from paper.__main__ import NAMES, main


def test_a_run_goes_on_where_it_was(tmp_path, capsys):
    words = ["complexity", "--quick", "--out", str(tmp_path), "--json"]
    assert main(words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["experiment"] == "complexity"
    assert {str(tmp_path / "results.json"), str(tmp_path / "index.html")} <= set(facts["files"])
    assert main(words) == 0  # times are measured once: nothing is computed anew
    assert json.loads(capsys.readouterr().out)["records"] == facts["records"]
    assert main(words[:-1]) == 0
    text = capsys.readouterr().out
    assert "12 to 92 times" in text
    assert text.endswith(f"wrote {tmp_path / 'index.html'} and 5 files beside it\n")
    assert main([*words, "--seed", "1"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "other settings (seed differ)" in line


def test_an_unknown_experiment_is_named(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["mnist", "--out", "nowhere"])
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert all(name in message for name in ("mnist", *NAMES))


@pytest.mark.parametrize(("folder", "said"), [("", "not found"), ("none", "does not exist")])
def test_missing_data_say_where_they_were_looked_for(tmp_path, capsys, folder, said):
    place = str(tmp_path / folder)
    assert main(["orl", "--data", place, "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert place in line
    assert not (tmp_path / "out").exists()

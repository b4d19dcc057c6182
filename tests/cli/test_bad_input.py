"""Bad input: one line that says what to do, exit code 2, and nothing left behind."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import zarr
from PIL import Image

from tenfold import MPCA, ModeScaler
from tenfold.datasets import load
from tenfold.progress import progress

FIT = ("-o", "model.safetensors")


def larger_image():
    Image.new("L", (9, 12)).save("faces/s8/2.pgm")


def several_arrays():
    X = np.zeros((4, 3, 2))
    scipy.io.savemat("faces.mat", {"fea": X, "depth": X, "gnd": [[1], [1], [2], [2]]})


def csv_of_two():
    Path("faces.csv").write_text("label,a,b\nx,1,2\ny,3,4\n")


def measurements():
    np.savez("measured.npz", X=np.eye(4).reshape(4, 2, 2), y=[1.5, 2.5, 1.5, 2.5])


def no_model():
    Path("s7.safetensors").write_text("this is not a model")


def subspace(tenfold):
    words = ("--method", "mpca", "--read", "labelled=False", "-o", "mpca.safetensors")
    assert tenfold("fit", "faces", *words).code == 0


def nothing():
    pass


def a_letter():
    Path("letter.docx").write_bytes(b"PK")


SCORE_WITH_LABELS = ("score", "s7.safetensors", "faces", "--labels")
EVALUATE = ("evaluate", "s7.safetensors", "faces")

# What is prepared, the command, and what its one line must say.
CASES = {
    "wrong path": (nothing, ("fit", "nowhere", *FIT), ["nowhere does not exist"]),
    "unknown form": (a_letter, ("fit", "letter.docx", *FIT), ["does not read", ".npz"]),
    "a model for samples": (nothing, ("fit", "s7.safetensors", *FIT), ["not of samples", "--from"]),
    "one number for a size": (
        nothing,
        ("fit", "faces", "--resize", "32", *FIT),
        ["--resize is '32'", "height and width", "--resize 40,30"],
    ),
    "mixed sizes": (
        larger_image,
        ("fit", "faces", *FIT),
        ["s6/1.pgm is 8x6", "s8/2.pgm is 12x9", "--resize H,W", "tenfold inspect faces"],
    ),
    "several arrays": (
        several_arrays,
        ("fit", "faces.mat", *FIT),
        ["fea (4, 3, 2)", "depth (4, 3, 2)", "pass --key NAME", "tenfold inspect faces.mat"],
    ),
    "an option of another form": (
        nothing,
        ("fit", "faces", "--read", "header=True", *FIT),
        ["header does not apply to faces", "resize"],
    ),
    "no model": (no_model, EVALUATE, ["s7.safetensors", "not a safetensors file"]),
    "missing model": (
        nothing,
        ("evaluate", "m.safetensors", "faces"),
        ["m.safetensors does not exist", "tenfold fit"],
    ),
    "a model for another shape": (
        nothing,
        ("score", "s7.safetensors", "faces", "--resize", "4,4"),
        ["(4, 4)", "(8, 6)", "--resize 8,6"],
    ),
    "no labels to evaluate": (nothing, (*EVALUATE, "--read", "labelled=False"), ["needs labels"]),
    "no labels to fit": (
        nothing,
        ("fit", "faces", "--read", "labelled=False", *FIT),
        ["plda needs labels"],
    ),
    "unknown method": (nothing, ("fit", "faces", "--method", "lda", *FIT), ["'lda'", "mcsda"]),
    "an option that went": (
        nothing,
        ("fit", "faces", "--set", "shrinkage=0.5", *FIT),
        ["plda has no parameter 'shrinkage'", "left-out samples choose its regularization"],
    ),
    "an unknown view": (
        nothing,
        ("fit", "faces", "--views", "numbers,wide", *FIT),
        ["views holds 'wide'", "'rbf'"],
    ),
    "views of what has none": (
        nothing,
        ("fit", "faces", "--method", "csda", "--views", "linear", *FIT),
        ["csda has no --views"],
    ),
    "ranks that are words": (
        nothing,
        ("fit", "faces", "--ranks", "a,b", *FIT),
        ["--ranks is 'a,b'", "such as 7,6", "auto"],
    ),
    "a ridge that is a word": (
        nothing,
        ("fit", "faces", "--method", "mcsda", "--set", "ridge=much", *FIT),
        ["'much'", "('absolute', number)"],
    ),
    "an unknown class": (nothing, ("fit", "faces", "--positive", "s9", *FIT), ["'s9'", "s6, s7"]),
    "a rejection of a searched model": (
        nothing,
        ("fit", "faces", "--false-accept-rate", "0.1", "--ranks", "auto", *FIT),
        ["--ranks 7,7"],
    ),
    "an equal rate": (
        nothing,
        ("fit", "faces", "--false-accept-rate", "equal", *FIT),
        ["--false-accept-rate equal is"],
    ),
    "a class for a method of all": (
        nothing,
        ("fit", "faces", "--method", "cmda", "--positive", "s7", *FIT),
        ["separates all classes", "--method csda"],
    ),
    "a parameter that is not there": (
        nothing,
        ("fit", "faces", "--method", "mcsda", "--set", "speed=9", *FIT),
        ["'speed'", "max_iter"],
    ),
    "a class for Gaussian classes": (
        nothing,
        ("fit", "faces", "--method", "plda", "--positive", "s7", *FIT),
        ["leave out --positive"],
    ),
    "rows that are no slice": (
        nothing,
        ("fit", "faces", "--rows", "half", *FIT),
        ["--rows", "::2"],
    ),
    "no folder for the output": (
        nothing,
        ("fit", "faces", "-o", "new/m.safetensors"),
        ["the folder new does not exist"],
    ),
    "an output of another kind": (nothing, ("fit", "faces", "-o", "m.pkl"), [".safetensors"]),
    "a folder as output": (
        lambda: Path("out.html").mkdir(),
        ("report", "s7.safetensors", "faces", "-o", "out.html"),
        ["out.html is a folder"],
    ),
    "an output that is an input": (
        csv_of_two,
        ("score", "s7.safetensors", "faces.csv", "-o", "faces.csv"),
        ["faces.csv is read and would be replaced"],
    ),
    "an output that holds the labels": (
        csv_of_two,
        (*SCORE_WITH_LABELS, "faces.csv::label", "-o", "faces.csv"),
        ["faces.csv is read and would be replaced"],
    ),
    "a switch that is neither on nor off": (
        nothing,
        ("fit", "faces", "--read", "grey=maybe", *FIT),
        ["--read grey is 'maybe'", "true or false"],
    ),
    "a search without labels": (
        nothing,
        ("fit", "faces", "--method", "mpca", "--ranks", "auto", "--read", "labelled=False", *FIT),
        ["--ranks auto", "needs labels"],
    ),
    "half a pixel": (nothing, ("fit", "faces", "--resize", "5.5,5", *FIT), ["--resize is '5.5,5'"]),
    "no pixel": (nothing, ("fit", "faces", "--resize", "0,5", *FIT), ["--resize is '0,5'"]),
    "half a mode": (nothing, ("fit", "faces", "--scale-modes", "0.5", *FIT), ["--scale-modes is"]),
    "a mode too many": (
        nothing,
        ("fit", "faces", "--scale-modes", "2", *FIT),
        ["modes from 0 to 1"],
    ),
    "covariates of images": (
        nothing,
        ("fit", "faces", "--covariates", "2", *FIT),
        ["flat rows of"],
    ),
    "measurements as labels": (
        measurements,
        ("fit", "measured.npz", *FIT),
        ["y contains 1.5", "expected whole numbers or text"],
    ),
    "colour for a model of grey": (
        nothing,
        (*EVALUATE, "--read", "grey=False", "--resize", "4,3"),
        ["(4, 3, 3)", "pass --resize 8,6 and leave out --read grey=False"],
    ),
}


def everything_below(folder: Path) -> dict[str, bytes | None]:
    paths = folder.rglob("*")
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in paths}


@pytest.mark.parametrize(("prepare", "words", "said"), CASES.values(), ids=CASES)
def test_bad_input_gets_one_line_and_leaves_nothing(tenfold, here, verifier, prepare, words, said):
    prepare()
    before = everything_below(here)
    run = tenfold(*words)
    assert run.code == 2, run.err
    assert run.out == ""
    lines = run.err.splitlines()
    assert len(lines) == 1, run.err
    assert lines[0].startswith("tenfold: ")
    for words_of_help in said:
        assert words_of_help in lines[0]
    assert everything_below(here) == before


def test_a_subspace_gives_no_scores(tenfold, faces):
    subspace(tenfold)
    run = tenfold("score", "mpca.safetensors", "faces")
    assert run.code == 2
    assert "MPCA" in run.err
    assert "tenfold transform" in run.err


def test_grey_images_for_a_model_of_colour(tenfold, faces):
    """A model that was saved in Python does not know how its samples were read."""
    data = load(faces, grey=False)
    MPCA((2, 2, 1)).fit(data.X).save("model.safetensors")
    run = tenfold("transform", "model.safetensors", "faces", "-o", "features.npy")
    assert run.code == 2
    assert run.err.endswith("(8, 6, 3); pass --read grey=False\n")


@pytest.mark.parametrize("shape", [(7,), (4, 5)])
def test_a_zarr_store_cannot_be_resized(tenfold, here, shape):
    rng = np.random.default_rng(0)
    np.savez("learned.npz", X=rng.normal(size=(8, *(size - 1 for size in shape))), y=[1, 2] * 4)
    zarr.save_group("new.zarr", X=rng.normal(size=(8, *shape)), y=np.array([1, 2] * 4))
    assert tenfold("fit", "learned.npz", *FIT).code == 0
    run = tenfold("evaluate", "model.safetensors", "new.zarr")
    assert run.code == 2
    assert run.err.endswith("; fit a model to samples of this shape\n")


def test_debug_shows_where_it_happened(tenfold, here):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        tenfold("fit", "nowhere", *FIT, "--debug")


@pytest.mark.parametrize(
    ("library", "extra", "words"),
    [
        ("PIL", "tenfold[data]", ("compare", "faces")),
        ("pyarrow", "tenfold[data]", ("score", "s7.safetensors", "faces", "-o", "s.parquet")),
        ("onnx", "tenfold[onnx]", ("export", "s7.safetensors", "--onnx", "s7.onnx")),
        ("jinja2", "tenfold[report]", ("report", "s7.safetensors", "faces", "-o", "r.html")),
        ("matplotlib", "tenfold[report]", ("report", "s7.safetensors", "faces", "-o", "r.html")),
    ],
)
def test_a_missing_extra_is_named(tenfold, here, verifier, monkeypatch, library, extra, words):
    for name in [library, *(m for m in sys.modules if m.startswith(f"{library}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    before = everything_below(here)
    run = tenfold(*words)
    assert run.code == 2, run.err
    assert extra in run.err
    assert len(run.err.splitlines()) == 1
    assert everything_below(here) == before


@pytest.mark.parametrize(("error", "code"), [(MemoryError(), 1), (OSError(28, "No space"), 1)])
def test_work_that_cannot_be_done_is_no_bad_input(tenfold, npz, monkeypatch, error, code):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("tenfold.classifiers.classifier.ClassSpecificClassifier.fit", fail)
    run = tenfold("fit", npz, "--method", "mcsda", *FIT)
    assert run.code == code
    assert len(run.err.splitlines()) == 1


@pytest.mark.parametrize("command", ["score", "evaluate", "report"])
def test_a_scaler_can_be_shown_but_says_nothing_of_samples(tenfold, npz, pixels, command):
    ModeScaler().fit(pixels).save("scaler.safetensors")
    shown = tenfold("inspect", "scaler.safetensors")
    assert shown.code == 0
    assert "ModeScaler()" in shown.out
    output = ["-o", "page.html"] if command == "report" else []
    run = tenfold(command, "scaler.safetensors", npz, *output)
    assert run.code == 2
    assert "holds a ModeScaler, which scales samples and says nothing of them" in run.err


# ── Names that would move the cursor ────────────────────────────────────────────────────────────


def test_control_characters_in_a_progress_bar_are_shown_escaped(capfd, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # rich draws, although nobody looks
    with progress("class s\x1b[2Ja", 2, enabled=True) as advance:
        advance(1, note="class \x1b]0;title\x07")
    said = capfd.readouterr().err
    assert "\\x1b[2Ja" in said
    assert "\\x1b]0;title\\x07" in said
    assert "\x1b[2J" not in said
    assert "\x1b]0" not in said


# ── Typing errors ───────────────────────────────────────────────────────────────────────────────

MISTYPED = {
    "method": (("fit", "faces", "--method", "mscda", *FIT), "did you mean mcsda?"),
    "parameter": (("fit", "faces", "--set", "prior=equal", *FIT), "did you mean priors?"),
    "reading": (("inspect", "faces", "--read", "gray=False"), "did you mean grey?"),
    "class": (("fit", "faces", "--positive", "S7", *FIT), "did you mean s7?"),
    "option": (("fit", "faces", "--labls", "y", *FIT), "--labels"),
    "command": (("fitt", "faces"), "Did you mean 'fit'?"),
}


@pytest.mark.parametrize(("words", "said"), MISTYPED.values(), ids=MISTYPED.keys())
def test_a_word_that_is_nearly_right_is_answered_with_the_right_one(tenfold, faces, words, said):
    run = tenfold(*words)
    assert run.code == 2
    assert said in run.err


@pytest.mark.parametrize("command", ["evaluate", "score", "transform", "report"])
def test_model_and_data_in_the_wrong_order_are_recognised(tenfold, bank, command):
    output = {"transform": ("-o", "out.csv"), "report": ("-o", "out.html")}.get(command, ())
    run = tenfold(command, "faces", bank, *output)
    assert run.code == 2
    assert run.err == (
        f"tenfold: {bank} is a model and faces is not; MODEL comes first, then DATA: tenfold "
        f"{command} {bank} faces\n"
    )


ERRORS = {
    "input": ("inspect", "nowhere.npz", "--json"),
    "method": ("fit", "faces", "--json", "--method", "mscda", *FIT),
    "option": ("fit", "faces", "--json", "--labls", "y", *FIT),
    "argument": ("score", "--json"),
    "command": ("fitt", "faces", "--json"),
}


@pytest.mark.parametrize("words", ERRORS.values(), ids=ERRORS.keys())
def test_errors_under_json_are_json(tenfold, faces, words):
    run = tenfold(*words)
    assert run.code == 2
    found = json.loads(run.out)
    assert found["exit_code"] == 2
    assert found["error"]
    assert found["error"] in run.err

"""What editors and type checkers see of estimators: parameters, choices, learned attributes."""

import inspect
import json
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import tenfold
from tenfold.methods import ALL_METHODS
from tenfold.methods.base import Savable
from tenfold.preprocessing import ALL_STEPS
from tenfold.validation.parameters import Number

OTHERS = [
    tenfold.ClassSpecificClassifier,
    tenfold.ClassSpecificVerifier,
    tenfold.OpenSetClassifier,
    tenfold.ProbabilisticLDA,
]
ESTIMATORS = [*ALL_METHODS, *ALL_STEPS, *OTHERS]
SOURCE = Path(tenfold.__file__).parent

# What may really be anything: estimators of other libraries, scorers.
OPEN = {"classifier", "model", "projector", "scoring", "views"}

RIGHT = """
import numpy as np
import tenfold
from tenfold import CMDA, CSDA, MCSDA, MPCA, ClassSpecificClassifier, ClassSpecificVerifier
from tenfold import ModeScaler, OpenSetClassifier, ProbabilisticLDA
from tenfold.metrics import equal_error_rate

CMDA(ranks=3)
CMDA((3, 0.9))
CMDA(ranks=[3, 2], ridge=("absolute", 1.0))
CMDA(ranks=np.int64(3), ridge=0, sample_shape=(8, 8))
MCSDA(ranks={"a": (1, 2), "b": 0.9}, positive="a", shrinkage="auto", decision="distance")
CSDA(solver="null_space", negatives=None)
MPCA(init="ones", output="tensor")
ClassSpecificVerifier(MCSDA((4, 4)), positive=3, false_accept_rate="equal", cv=3)
OpenSetClassifier(false_accept_rate=0.05, unknown=-1)
ProbabilisticLDA(["numbers", MPCA(ranks=0.95)], priors={"a": 0.3, "b": 0.7}, sample_shape=(8, 8))
ProbabilisticLDA("linear", priors="equal")
ProbabilisticLDA(priors=np.array([0.3, 0.7]))
ModeScaler(modes=(0, -1), keep="both")
model = MCSDA((2, 2)).fit(np.zeros((3, 4, 4)), [0, 1, 1])
projections: list[np.ndarray] = model.projections_
ranks: tuple[int, ...] = model.ranks_
rounds: int = model.n_iter_
mean: np.ndarray = model.mean_
bank = ClassSpecificClassifier(model, normalize=False)
rate: float = equal_error_rate([0, 1], [0.0, 1.0])
"""

WRONG = {
    'CMDA(ranks="three")': "ranks",
    'CMDA(solver="x")': "solver",
    'MCSDA(solver="null_space")': "solver",
    'MPCA(init="x")': "init",
    'MPCA(output="matrix")': "output",
    'MPCA(max_iter="many")': "max_iter",
    'MCSDA(ridge=("absolut", 1.0))': "ridge",
    'MCSDA(shrinkage="some")': "shrinkage",
    'MCSDA(decision="ratio")': "decision",
    "MCSDA(positive=[1, 2])": "positive",
    'KernelCSDA(gamma="auto")': "gamma",
    'ClassSpecificClassifier("mcsda")': "ClassSpecificProjector",
    'ClassSpecificClassifier(MCSDA(), normalize="mine")': "normalize",
    'ClassSpecificVerifier(false_accept_rate="low")': "false_accept_rate",
    'ModeScaler(keep="all")': "keep",
    'ProbabilisticLDA(priors="uniform")': "priors",
    'ProbabilisticLDA(sample_shape="square")': "sample_shape",
    "number: int = MCSDA().projections_": "projections_|list",
    "tenfold.MSCDA()": "MSCDA",
    'tenfold.datasets.lod("faces")': "lod",
}


def options(hint):
    """The words, True and False that a type allows."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return set().union(*(options(one) for one in get_args(hint)))


def declared(estimator):
    """What is allowed at run time, of the class and its bases."""
    found = {}
    for kind in reversed(estimator.__mro__):
        found |= vars(kind).get("_allowed", {})
    return found


def parameters(estimator):
    """Names of parameters and their types."""
    hints = get_type_hints(estimator)
    if not is_dataclass(estimator):
        hints = get_type_hints(estimator.__init__)
    return {name: hints[name] for name in inspect.signature(estimator).parameters}


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "py.typed").is_file()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_says_what_it_may_be(estimator):
    vague = {name for name, hint in parameters(estimator).items() if hint is Any}
    assert vague <= OPEN


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_words_of_a_type_are_those_that_fit_accepts(estimator):
    allowed, hints = declared(estimator), parameters(estimator)
    for name in allowed.keys() & hints.keys() - OPEN:
        words = {one for one in allowed[name] if isinstance(one, str)}
        if name != "kernel":  # scikit-learn names those
            assert {one for one in options(hints[name]) if isinstance(one, str)} == words, name
        takes_none = None in allowed[name]
        assert (type(None) in get_args(hints[name])) == takes_none, name
        takes_numbers = any(isinstance(one, Number) for one in allowed[name])
        assert ({int, float} & {hints[name], *get_args(hints[name])} != set()) == takes_numbers


@pytest.mark.parametrize("estimator", [one for one in ESTIMATORS if hasattr(one, "_value")])
def test_what_was_learned_is_declared_on_the_estimator(estimator):
    """The fields of its value, each with the same type and an underscore at the end."""
    hints = get_type_hints(estimator)
    for name, kind in get_type_hints(estimator._value).items():
        assert hints.get(f"{name}_") == kind, name


def test_no_attribute_is_made_up_for_type_checkers():
    assert "__getattr__" not in inspect.getsource(Savable)


@pytest.fixture
def files_of_a_user(tmp_path):
    """One file without and one with wrong parameters, whose first wrong line is the fourth."""
    head = "from tenfold import CMDA, MCSDA, MPCA, KernelCSDA, ClassSpecificClassifier\n"
    head += "from tenfold import ClassSpecificVerifier, ModeScaler, ProbabilisticLDA\n"
    head += "import tenfold, tenfold.datasets\n"
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(head + "\n".join(WRONG), encoding="utf-8")
    return tmp_path


@pytest.mark.long
def test_mypy_sees_wrong_parameters_in_a_file_of_a_user(files_of_a_user):
    """scikit-learn has no types, so what mypy says of that is not looked at."""
    pytest.importorskip("mypy")
    folder = files_of_a_user
    (folder / "mypy.ini").write_text("[mypy]\nfollow_imports = silent\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", "cache", "right.py", "wrong.py"],
        cwd=folder,
        env={"MYPYPATH": str(SOURCE.parent), "PATH": "", "HOME": str(folder)},
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("right.py")] == [], done.stdout
    for number, (call, words) in enumerate(WRONG.items(), start=4):
        said = [line for line in lines if line.startswith(f"wrong.py:{number}: error")]
        assert len(said) == 1, f"{call}: {said}\n{done.stderr}"
        assert any(word in said[0] for word in words.split("|")), said


@pytest.mark.long
def test_pyright_sees_the_same_wrong_parameters(files_of_a_user):
    """As in the editors that use it; basedpyright is pyright with all that it needs in a wheel."""
    pytest.importorskip("basedpyright")
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(SOURCE.parent)]}
    written = json.dumps(settings)
    (files_of_a_user / "pyrightconfig.json").write_text(written, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=files_of_a_user,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [one for one in found if one["severity"] == "error"]
    wrong = [one for one in errors if Path(one["file"]).name == "wrong.py"]
    assert len(wrong) == len(errors), errors
    lines = {one["range"]["start"]["line"] + 1 for one in wrong}
    assert lines == set(range(4, 4 + len(WRONG))), done.stdout

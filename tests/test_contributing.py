"""CONTRIBUTING's recipes for a new method and a new step, followed to the letter in a copy."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

# "`path`:", an empty line, and a block: the text names every file that it makes or changes.
STEP = re.compile(r"`((?:src|tests)/[^`]+)`:\n\n```(python|diff)\n(.*?)^```$", re.M | re.S)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package in which the steps were done, and nothing else."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests").mkdir()
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = STEP.findall(text)
    assert [name for name, _, _ in steps] == [
        "src/tenfold/methods/totallda.py",
        "src/tenfold/methods/__init__.py",
        "tests/test_totallda.py",
        "src/tenfold/preprocessing/mean_remover.py",
        "src/tenfold/preprocessing/__init__.py",
        "tests/test_mean_remover.py",
    ]
    for name, kind, block in steps:
        if kind == "python":
            assert not (folder / name).exists()
            (folder / name).write_text(block, encoding="utf-8")
        else:
            (folder / name).write_text(patched((folder / name).read_text("utf-8"), block), "utf-8")
    return folder


def patched(text, diff):
    """A text with the changes of a diff, whose old lines stand in it exactly once."""
    lines = [(line[:1], line[1:]) for line in diff.splitlines()]
    old = "".join(f"{line}\n" for sign, line in lines if sign != "+")
    new = "".join(f"{line}\n" for sign, line in lines if sign != "-")
    assert text.count(old) == 1, "the lines that CONTRIBUTING changes are no longer there"
    return text.replace(old, new)


def run(copy, *words):
    """What Python prints, run with the copy in place of the package."""
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, *words], cwd=copy, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


START = """
import numpy as np
import tenfold
from sklearn.datasets import load_digits
from tenfold import TotalLDA

assert tenfold.__file__.startswith(SOURCE), tenfold.__file__
X, y = load_digits().images, load_digits().target
model = TotalLDA(ranks=(4, 3)).fit(X, y)
assert model.class_means_.shape == (10, 4, 3)
"""


def run_code(copy, code):
    return run(copy, "-c", f"SOURCE = {str(copy / 'src')!r}\n{START}{code}")


def test_the_oracle_of_the_recipe_agrees(copy):
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(copy)]
    assert "2 passed" in run(copy, *words, "tests")


def test_the_examples_of_method_and_step_run(copy):
    files = ["src/tenfold/methods/totallda.py", "src/tenfold/preprocessing/mean_remover.py"]
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", *files)


def test_the_new_method_learns_from_streams_and_is_searched(copy):
    code = """
from sklearn.neighbors import NearestCentroid
from tenfold import ClassMoments, RankSearchCV

parts = TotalLDA(ranks=(4, 3)).partial_fit(X[:700], y[:700]).partial_fit(X[700:], y[700:])
moments = TotalLDA(ranks=(4, 3)).fit_moments(ClassMoments.from_batch(X, y))
for other in (parts, moments):
    np.testing.assert_allclose(other.class_means_, model.class_means_, atol=1e-6)

def nearest_mean(model, X, y):
    means = NearestCentroid().fit(model.class_means_.reshape(10, -1), model.classes_)
    return means.score(model.transform(X), y)

search = RankSearchCV(TotalLDA(), ranks=[(1, 1), (5, 5)], cv=3, scoring=nearest_mean).fit(X, y)
assert search.best_params_ == {"ranks": (5, 5)}
assert search.best_estimator_.class_means_.shape == (10, 5, 5)
"""
    run_code(copy, code)


def test_the_new_method_is_saved_with_what_it_learned(copy):
    code = """
model.save("model.safetensors")
loaded = tenfold.load_model("model.safetensors")
assert type(loaded) is TotalLDA
assert (loaded.class_means_ == model.class_means_).all()
assert (loaded.transform(X) == model.transform(X)).all()
"""
    run_code(copy, code)


def test_the_new_method_is_exported(copy):
    pytest.importorskip("onnxruntime")
    code = """
import onnxruntime
from tenfold.files.onnx_export import to_onnx

to_onnx(model, "model.onnx")
(came,) = onnxruntime.InferenceSession("model.onnx").run(None, {"X": X.astype(np.float32)})
np.testing.assert_allclose(came, model.transform(X), atol=1e-4)
"""
    run_code(copy, code)


def test_the_new_method_is_on_the_command_line(copy):
    pytest.importorskip("typer")
    run_code(copy, 'np.savez("digits.npz", X=X[:120], y=y[:120])')
    command = ["-c", "from tenfold.app.cli import main; main()"]
    options = ["--method", "totallda", "--ranks", "3,3"]
    run(copy, *command, "fit", "digits.npz", *options, "-o", "fitted.safetensors")
    assert "TotalLDA" in run(copy, *command, "inspect", "fitted.safetensors")
    options = ["--all", "--ranks", "3,3", "--cv", "2"]
    assert "totallda" in run(copy, *command, "compare", "digits.npz", *options)


def test_the_new_step_is_a_step_as_the_others(copy):
    code = """
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from tenfold import MCSDA, MeanRemover

results = check_estimator(MeanRemover(), on_skip=None, on_fail=None)
assert not [r for r in results if r["status"] == "failed"], results
assert sum(r["status"] == "passed" for r in results) > 40

np.save("x.npy", X)
stored = np.load("x.npy", mmap_mode="r")
step = MeanRemover().fit(stored, sample_weight=np.ones(len(X)))
np.testing.assert_allclose(step.mean_, X.mean(axis=0), atol=1e-12)
assert (np.asarray(step.transform(stored)) == step.transform(X)).all()
assert step.transform(X.astype(np.float32)).dtype == np.float32

pipeline = make_pipeline(MeanRemover(), MCSDA(max_iter=2, tol=10.0, positive=3))
search = GridSearchCV(pipeline, {"mcsda__ranks": [(1, 1), (3, 3)]}, cv=3).fit(X, y)
tenfold.save(search.best_estimator_, "pipeline.safetensors")
loaded = tenfold.load_model("pipeline.safetensors")
assert (loaded.transform(X) == search.best_estimator_.transform(X)).all()
"""
    run_code(copy, code)


@pytest.mark.skipif(not DOCS.is_dir(), reason="the pages are not part of an sdist")
def test_the_new_method_is_in_the_lists_of_the_pages(copy):
    code = f"""
import sys
sys.path.insert(0, {str(DOCS / "_ext")!r})
import method_lists

assert "TotalLDA" in tenfold.__all__
assert "\\n   TotalLDA\\n" in method_lists.reference()
(row,) = [row for row in method_lists.rows() if row[0] == "TotalLDA"]
assert row[1] == "class means apart, all samples close."
"""
    run_code(copy, code)

"""Build the wheel, check it, and install it as users do: by pip, by uv and by pipx.

    python tests/release/install_wheel.py --constraints constraints.txt

Needs what the dependency group `dist` installs. Everything is made in a temporary folder. Each of
the three must give a command `tenfold` that knows its version and a package that can fit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
BIN = "Scripts" if os.name == "nt" else "bin"
FIT = """
from sklearn.datasets import load_iris
import tenfold
assert "src" not in tenfold.__file__, tenfold.__file__
X, y = load_iris(return_X_y=True)
assert tenfold.CSDA(ranks=2, positive=0).fit(X, y).score(X, y) > 0.99
"""


def run(*words: object, **variables: str) -> str:
    """Run a command away from the checkout, so that nothing is imported from there."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables
    done = subprocess.run(
        [str(word) for word in words],
        cwd=tempfile.gettempdir(),
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def built(folder: Path) -> Path:
    """The wheel, made from the source distribution, with both of them checked."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted(folder.iterdir()))
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for wanted in ("docs/index.md", "examples/plot_1_faces.py", "benchmarks/run.py", "SECURITY.md"):
        if wanted not in names:
            raise SystemExit(f"{sdist.name} has no {wanted}; see [tool.hatch.build.targets.sdist]")
    (wheel,) = folder.glob("*.whl")
    return wheel


def by_pip(wheel: str, folder: Path, constraints: list[str]) -> tuple[Path, Path]:
    run(sys.executable, "-m", "venv", folder)
    python = folder / BIN / "python"
    run(python, "-m", "pip", "install", "-q", "--no-compile", wheel, *constraints)
    return python, folder / BIN / "tenfold"


def by_uv(wheel: str, folder: Path, constraints: list[str]) -> tuple[Path, Path]:
    uv = [sys.executable, "-m", "uv"]
    run(*uv, "venv", "-q", "--python", sys.executable, folder)
    python = folder / BIN / "python"
    run(*uv, "pip", "install", "-q", "--python", python, wheel, *constraints)
    return python, folder / BIN / "tenfold"


def by_pipx(wheel: str, folder: Path, constraints: list[str]) -> tuple[Path, Path]:
    places = {"PIPX_HOME": str(folder), "PIPX_BIN_DIR": str(folder / "commands")}
    given = [f"--pip-args={' '.join(constraints)}"] if constraints else []
    run(sys.executable, "-m", "pipx", "install", wheel, *given, **places)
    return folder / "venvs" / "tenfold" / BIN / "python", folder / "commands" / "tenfold"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--constraints", type=Path, help="versions to install, as pip reads them")
    given = parser.parse_args().constraints
    constraints = [] if given is None else ["-c", str(given.resolve())]
    with tempfile.TemporaryDirectory() as name:
        folder, start = Path(name).resolve(), time.perf_counter()
        wheel = built(folder / "dist")
        say(f"{wheel.name}: built and checked in {time.perf_counter() - start:.0f} s")
        for way in (by_pip, by_uv, by_pipx):
            start = time.perf_counter()
            python, command = way(f"{wheel}[cli,files]", folder / way.__name__, constraints)
            run(python, "-c", FIT)
            said = run(command, "--version")
            if said != f"tenfold {wheel.name.split('-')[1]}":
                raise SystemExit(f"{way.__name__}: {command} says {said!r}")
            say(f"{way.__name__}: {said}, in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

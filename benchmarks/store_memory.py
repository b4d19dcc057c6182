"""What a fit from a store of 37 MB takes above the start, for every estimator.

    python benchmarks/store_memory.py                   # a NumPy file and a Zarr store
    python benchmarks/store_memory.py --only KernelCSDA

Each fit runs in a process of its own. The start is what is resident after the imports and one small
fit from memory; the peak is the largest resident memory after it (VmHWM, Linux only).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

SHAPE = (9000, 32, 32)
N_CLASSES = 10
ASKED = 300  # MB
KINDS = ("npy", "zarr")
NAMES = (
    "MCSDA",
    "CSDA",
    "CSRDA",
    "KernelCSDA",
    "CMDA",
    "DATER",
    "DGTDA",
    "GTDA",
    "HODA",
    "MPCA",
    "bank of MCSDA",
    "bank of CSDA",
    "ClassSpecificVerifier",
    "verifier with MCSDA",
    "OpenSetClassifier",
    "ProbabilisticLDA",
)


def estimator(name: str) -> Any:
    """What is fitted, at its defaults."""
    import tenfold
    from tenfold import CSDA, MCSDA, ClassSpecificClassifier, ClassSpecificVerifier

    if name == "bank of MCSDA":
        return ClassSpecificClassifier(MCSDA())
    if name == "bank of CSDA":
        return ClassSpecificClassifier(CSDA())
    if name == "ClassSpecificVerifier":
        return ClassSpecificVerifier(positive=1)
    if name == "verifier with MCSDA":
        return ClassSpecificVerifier(MCSDA(), positive=1)
    made = getattr(tenfold, name)
    return made(positive=1) if "positive" in made().get_params() else made()


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Noise about class means, in float32."""
    rng = np.random.default_rng(0)
    y = np.arange(SHAPE[0]) % N_CLASSES
    X = rng.standard_normal(SHAPE, dtype=np.float32)
    X += 0.3 * rng.standard_normal((N_CLASSES, *SHAPE[1:]), dtype=np.float32)[y]
    return X, y


def write_stores(folder: Path) -> dict[str, Path]:
    """The same samples as a NumPy file and as a Zarr store."""
    import zarr

    X, y = samples()
    paths = {kind: folder / f"samples.{kind}" for kind in KINDS}
    np.save(paths["npy"], X)
    np.save(folder / "labels.npy", y)
    store = zarr.create_array(paths["zarr"], shape=X.shape, chunks=(500, *SHAPE[1:]), dtype="f4")
    store[:] = X
    return paths


def taken(name: str, path: Path) -> float:
    """MB above the start, measured in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", name, str(path)], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{name} from {path.suffix[1:]} failed:\n{done.stderr}")
    return float(done.stdout.split()[-1])


def fit_in_child(name: str, path: Path) -> float:
    """MB of the fit in this process."""
    from measure import _forget_peak, _resident

    from tenfold.datasets import load

    warnings.simplefilter("ignore")
    y = np.load(path.parent / "labels.npy")
    rng = np.random.default_rng(1)
    estimator(name).fit(rng.standard_normal((60, *SHAPE[1:])), np.arange(60) % 3)
    X = np.load(path, mmap_mode="r") if path.suffix == ".npy" else load(path, labelled=False).X
    start = _resident("VmRSS")
    _forget_peak()
    estimator(name).fit(X, y)
    return (_resident("VmHWM") - start) / 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(fit_in_child(options.child[0], Path(options.child[1])))
        return 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in write_stores(Path(folder)).items():
            for name in options.only:
                megabytes = taken(name, path)
                worst = max(worst, megabytes)
                print(f"{kind:<5} {name:<24} {megabytes:5.0f} MB", flush=True)
    print(f"at most {ASKED} MB asked, {worst:.0f} MB measured")
    return int(worst > ASKED)


if __name__ == "__main__":
    sys.exit(main())

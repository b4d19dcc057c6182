"""Real files of every format, and how they are damaged and loaded."""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import h5py
import mutations as ways
import numpy as np
import scipy.io

from tenfold.datasets import load

rng = np.random.default_rng(0)
X = rng.normal(size=(6, 4, 3))
Y = np.array([1, 1, 2, 2, 3, 3])
WORDS = np.array(["ann", "ann", "bo", "bo", "cy", "cy"])


def fingerprint_of(data):
    from hostile_files import fingerprint

    return fingerprint(data)


@dataclass(frozen=True)
class Format:
    """One format: how files of it are made, damaged and loaded."""

    name: str
    suffix: str
    write: object  # folder -> None; files named 0, 1, ...
    mutations: tuple
    options: dict

    def load(self, path):
        return load(path, **self.options)

    def prepare(self, folder):
        """Write the originals; what each of them holds."""
        (folder / "originals").mkdir()
        self.write(folder / "originals")
        return [fingerprint_of(self.load(path)) for path in self.originals(folder)]

    def originals(self, folder):
        return sorted((folder / "originals").iterdir())

    def mutant(self, folder, seed):
        """Write the mutant of this seed; its path, and which original it was."""
        dice = random.Random(seed)
        paths = self.originals(folder)
        which = dice.randrange(len(paths))
        target = folder / f"mutant{self.suffix}"
        if paths[which].is_dir():
            return self._damaged_folder(paths[which], target, dice), which
        other = dice.choice(paths).read_bytes()
        data = dice.choice(self.mutations)(paths[which].read_bytes(), other, dice)
        target.write_bytes(data)
        return target, which

    def _damaged_folder(self, original, target, dice):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(original, target)
        files = sorted(path for path in target.rglob("*") if path.is_file())
        for _ in range(dice.choice([1, 1, 2])):
            path = dice.choice(files)
            if dice.random() < 0.15:
                path.unlink(missing_ok=True)
            elif path.exists():
                text = path.suffix in (".json", "") and path.name in (
                    "zarr.json",
                    ".zarray",
                    ".zgroup",
                )
                way = ways.json_value if text and dice.random() < 0.8 else ways.anyhow
                path.write_bytes(way(path.read_bytes(), b"other bytes, some", dice))
        return target


def write_mat5(folder):
    cells = np.array(WORDS, dtype=object).reshape(-1, 1)
    images = np.empty((6, 1), dtype=object)
    for i in range(6):
        images[i, 0] = X[i]
    for i, compressed in enumerate([False, True]):
        common = {"do_compression": compressed}
        scipy.io.savemat(folder / f"{i}a.mat", {"X": X.reshape(6, 12), "y": Y}, **common)
        scipy.io.savemat(folder / f"{i}b.mat", {"X": X.astype("f4"), "labels": cells}, **common)
        scipy.io.savemat(folder / f"{i}c.mat", {"ds": {"X": X, "y": Y, "note": "hi"}}, **common)
        scipy.io.savemat(folder / f"{i}d.mat", {"C": images, "gnd": WORDS}, **common)
        sparse = scipy.sparse.csc_array(np.round(X.reshape(6, 12)))
        scipy.io.savemat(folder / f"{i}e.mat", {"X": sparse, "y": Y}, **common)
    scipy.io.savemat(folder / "4.mat", {"X": X.reshape(6, 12), "y": Y}, format="4")


def write_mat73(folder):
    for i, filters in enumerate([{}, {"chunks": (4, 3), "compression": "gzip"}]):
        with h5py.File(folder / f"{i}.mat", "w", userblock_size=512) as file:
            file.create_dataset("X", data=X.reshape(6, 12).T, **filters)
            file["y"] = Y[None]
            file["X"].attrs["MATLAB_class"] = np.bytes_("double")
            cells = []
            for k, word in enumerate(WORDS):
                file[f"#refs#/{k}"] = np.array([[ord(c)] for c in word], np.uint16)
                file[f"#refs#/{k}"].attrs["MATLAB_class"] = np.bytes_("char")
                cells.append(file[f"#refs#/{k}"].ref)
            file.create_dataset("who", data=[cells], dtype=h5py.ref_dtype)
        with (folder / f"{i}.mat").open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file".ljust(512))


ALL = (ways.anyhow, ways.anyhow, ways.write_a_number)
FORMATS = {
    form.name: form
    for form in [
        Format("mat5", ".mat", write_mat5, (*ALL, ways.inside_mat5, ways.inside_mat5), {}),
        Format("mat73", ".mat", write_mat73, ALL, {}),
    ]
}
__all__ = ["FORMATS", "Path"]

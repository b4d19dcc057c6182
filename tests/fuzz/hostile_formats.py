"""Real files of every format, and how they are damaged and loaded."""

import random
import shutil
from dataclasses import dataclass

import h5py
import mutations as ways
import numpy as np
import scipy.io
from PIL import Image

from tenfold.datasets import TensorDataset, load
from tenfold.datasets.images import read_image

rng = np.random.default_rng(0)
X = rng.normal(size=(6, 4, 3))
FLAT = X.reshape(6, 12).tolist()
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
    reader: object = load

    def load(self, path):
        return self.reader(path, **self.options)

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


def write_hdf5(folder):
    filters = [{}, {"chunks": (2, 4, 3), "compression": "gzip", "fletcher32": True}]
    for i, more in enumerate(filters):
        with h5py.File(folder / f"{i}.h5", "w", libver=("earliest", "latest")[i]) as file:
            file.create_dataset("train/X", data=X, **more)
            file["train/y"] = WORDS.tolist()
            file["also"] = h5py.SoftLink("/train/y")


def write_npy(folder):
    np.save(folder / "0.npy", X)
    np.save(folder / "1.npy", np.asfortranarray(X.astype("f4")))
    np.save(folder / "2.npy", (X * 100).astype(">i2"))


def write_npz(folder):
    np.savez(folder / "0.npz", X=X, y=Y)
    np.savez_compressed(folder / "1.npz", X=X, y=WORDS, pose=np.arange(6))


def write_csv(folder):
    rows = [",".join([word, *map(repr, row)]) for word, row in zip(WORDS, FLAT, strict=True)]
    names = ",".join(["label", *(f"p{i}" for i in range(12))])
    (folder / "0.csv").write_text("\n".join([names, *rows]))
    quoted = [",".join(f'"{cell}"' for cell in row.split(",")) for row in [names, *rows]]
    (folder / "1.csv").write_text("\r\n".join(quoted))


def write_parquet(folder):
    import pyarrow
    import pyarrow.parquet

    columns = {f"p{i}": np.array(FLAT)[:, i] for i in range(12)} | {"label": WORDS}
    for i, more in enumerate([{"compression": "none"}, {"compression": "snappy"}]):
        table = pyarrow.table(columns)
        pyarrow.parquet.write_table(table, folder / f"{i}.parquet", **more)
    lists = pyarrow.table({"X": FLAT, "y": Y})
    pyarrow.parquet.write_table(lists, folder / "2.parquet", write_page_checksum=True)


def write_images(folder):
    """A folder of one class with one image each."""
    grey = (rng.random((12, 10)) * 255).astype(np.uint8)
    colour = (rng.random((12, 10, 3)) * 255).astype(np.uint8)
    kinds = {
        "a.png": Image.fromarray(grey),
        "b.png": Image.fromarray(grey.astype(np.uint16) * 200),
        "c.png": Image.fromarray(colour).quantize(8),
        "d.jpg": Image.fromarray(colour),
        "e.jpg": Image.fromarray(colour).convert("CMYK"),
        "f.tif": Image.fromarray(grey),
        "i.gif": Image.fromarray(grey),
        "j.webp": Image.fromarray(colour),
        "k.bmp": Image.fromarray(colour),
        "l.ppm": Image.fromarray(colour),
    }
    for name, image in kinds.items():
        image.save(folder / name)
    for name, packing in {"g.tif": "tiff_lzw", "h.tif": "tiff_deflate"}.items():
        Image.fromarray(colour).save(folder / name, compression=packing)


def load_one_image(path):
    return TensorDataset(read_image(path)[None], None)


def write_tiff(folder):
    levels = (rng.random((4, 6, 5)) * 255).astype(np.uint8)
    for i, packing in enumerate([None, "tiff_lzw", "tiff_deflate", "packbits", "jpeg"]):
        first, *others = map(Image.fromarray, levels)
        more = {"compression": packing} if packing else {}
        first.save(folder / f"{i}.tif", save_all=True, append_images=others, **more)


def write_zarr(folder):
    import zarr

    kinds = [{"zarr_format": 2}, {"zarr_format": 3}, {"zarr_format": 3, "shards": (4, 4, 3)}]
    for i, kind in enumerate(kinds):
        group = zarr.open_group(folder / f"{i}.zarr", mode="w", zarr_format=kind["zarr_format"])
        shards = {"shards": kind["shards"]} if "shards" in kind else {}
        group.create_array("X", data=X, chunks=(2, 4, 3), **shards)
        group.create_array("y", data=Y)


NUMBERS = (ways.anyhow, ways.anyhow, ways.write_a_number)
FORMATS = {
    form.name: form
    for form in [
        Format("npy", ".npy", write_npy, (*NUMBERS, ways.npy_header), {"labels": Y}),
        Format("npz", ".npz", write_npz, (*NUMBERS, ways.inside_npz, ways.inside_npz), {}),
        Format("mat5", ".mat", write_mat5, (*NUMBERS, ways.inside_mat5, ways.inside_mat5), {}),
        Format("mat73", ".mat", write_mat73, NUMBERS, {}),
        Format("hdf5", ".h5", write_hdf5, NUMBERS, {}),
        Format("csv", ".csv", write_csv, (ways.anyhow, ways.csv_cell, ways.csv_cell), {}),
        Format("parquet", ".parquet", write_parquet, NUMBERS, {}),
        Format("images", ".png", write_images, (*NUMBERS, ways.png_chunk), {}, load_one_image),
        Format("tiff", ".tif", write_tiff, NUMBERS, {"labelled": False}),
        Format("zarr", ".zarr", write_zarr, NUMBERS, {}),
    ]
}

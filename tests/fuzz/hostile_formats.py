"""Real files of every format, and how they are damaged and loaded."""

import contextlib
import io
import random
import shutil
import tarfile
import warnings
import zipfile
from dataclasses import dataclass

import h5py
import model_file_mutations as models
import mutations as ways
import numpy as np
import pyarrow.parquet
import scipy.io
import zarr
from PIL import Image

from tenfold import ClassMoments, load_model, load_moments
from tenfold.datasets import load
from tenfold.gathering.checkpoint import FILE, Checkpoint
from tenfold.statistics.stores import BlockError, NotFiniteError, StoredSamples, is_stored

Image.init()  # here, and not again in every child
rng = np.random.default_rng(0)
X = rng.normal(size=(6, 4, 3))
FLAT = X.reshape(6, 12).tolist()
Y = np.array([1, 1, 2, 2, 3, 3])
WORDS = np.array(["ann", "ann", "bo", "bo", "cy", "cy"])


RESEALED = ".resealed"  # in the name of a mutant whose checksums were written anew
BAIT = ("bait.h5", "bait.bin")  # beside the mutants, named in some of them, never to be opened


def fingerprint(data):
    """Shape, type, numbers and labels of a data set."""
    in_memory = isinstance(data.X, np.ndarray) or not is_stored(data.X)
    X = np.asarray(data.X) if in_memory else StoredSamples.of(data.X).rows(np.array)
    labels = None if data.y is None else np.asarray(data.y).tolist()
    return X.shape, X.dtype.str, X.tobytes(), labels


@dataclass(frozen=True)
class Format:
    """One format: how files of it are made, damaged and loaded.

    Of an original that is `sealed`, every byte that matters is under a checksum: bytes that are
    damaged without a new checksum must never give other data.
    """

    name: str
    suffix: str
    write: object  # folder -> None
    mutations: tuple
    options: dict
    reader: object = load
    fingerprint: object = fingerprint
    sealed: object = staticmethod(lambda name: False)  # of the name of an original
    clear: tuple = ()  # errors that name samples, where the file stays open

    def load(self, path):
        return self.fingerprint(self.reader(path, **self.options))

    def prepare(self, folder):
        """Write originals and bait; what each original holds, None where it is refused."""
        (folder / "originals").mkdir()
        (folder / "pool").mkdir()
        with h5py.File(folder / BAIT[0], "w") as file:
            file["X"], file["y"] = X, Y
        (folder / BAIT[1]).write_bytes(X.tobytes())
        self.write(folder / "originals")
        return {path.name: self._held(path) for path in self.originals(folder)}

    def warm_up(self, folder):
        """Import the library of the format, so that no fork need do it again."""
        if self.reader is load:
            for path in self.originals(folder):
                with contextlib.suppress(ValueError):
                    self.fingerprint(load(path, trusted=True, **self.options))

    def _held(self, path):
        try:
            return self.load(path)
        except ValueError:
            return None

    def originals(self, folder):
        return sorted((folder / "originals").iterdir())

    def pool(self, folder):
        """Mutants that reached a line which none had reached before, oldest first."""
        return sorted((folder / "pool").iterdir(), key=lambda path: int(path.name.split(".")[0]))

    def mutant(self, folder, seed, pool):
        """Write the mutant of this seed; its path, its original, and whether checksums are new."""
        dice = random.Random(seed)
        paths = self.originals(folder)
        base = dice.choice(pool) if pool and dice.random() < 0.4 else dice.choice(paths)
        target = folder / f"mutant{self.suffix}"
        if base.is_dir():
            return self._damaged_folder(base, target, dice), base.name, False
        other = dice.choice(paths).read_bytes()
        way = dice.choice(self.mutations)
        data = base.read_bytes()
        try:
            data = way(data, other, dice)
        except Exception:  # noqa: BLE001 - a mutant of a mutant need not have the form it expects
            data = ways.flip_bits(data or b"\0", other, dice)
        target.write_bytes(data)
        return target, base.name, way in ways.RESEALING or RESEALED in base.name

    def _damaged_folder(self, original, target, dice):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(original, target)
        files = sorted(path for path in target.rglob("*") if path.is_file())
        for _ in range(dice.choice([1, 1, 2])):
            path = dice.choice(files) if files else None
            if path is None:
                break
            if dice.random() < 0.15:
                path.unlink(missing_ok=True)
            elif path.exists():
                text = path.name in ("zarr.json", ".zarray", ".zgroup", ".zmetadata")
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
    write_links(folder, ".mat", X.reshape(6, 12).T)


def write_links(folder, suffix, numbers):
    """Files that lead elsewhere in the three ways that HDF5 knows."""
    with h5py.File(folder / f"link{suffix}", "w") as file:
        file["X"], file["y"] = h5py.ExternalLink(BAIT[0], "/X"), Y
    with h5py.File(folder / f"outside{suffix}", "w") as file:
        place = [(BAIT[1], 0, numbers.nbytes)]
        file.create_dataset("X", numbers.shape, "f8", external=place)
        file["y"] = Y
    with h5py.File(folder / f"virtual{suffix}", "w") as file:
        layout = h5py.VirtualLayout(numbers.shape, "f8")
        layout[:] = h5py.VirtualSource(BAIT[0], "X", numbers.shape)
        file.create_virtual_dataset("X", layout)
        file["y"] = Y


def write_hdf5(folder):
    filters = [{}, {"chunks": (2, 4, 3), "compression": "gzip", "fletcher32": True}]
    for i, more in enumerate(filters):
        with h5py.File(folder / f"{i}.h5", "w", libver=("earliest", "latest")[i]) as file:
            file.create_dataset("train/X", data=X, **more)
            file["train/y"] = WORDS.tolist()
            file["also"] = h5py.SoftLink("/train/y")
    write_links(folder, ".h5", X)


def write_netcdf(folder):
    """The classic formats, and HDF5 with named axes."""
    for version in (1, 2):
        with scipy.io.netcdf_file(folder / f"{version}.nc", "w", version=version) as file:
            for name, size in {"channel": 4, "trial": 6, "time": 3}.items():
                file.createDimension(name, size)
            trials = X.transpose(1, 0, 2)
            file.createVariable("eeg", "d", ("channel", "trial", "time"))[:] = trials
            file.createVariable("label", "i", ("trial",))[:] = Y
            file.variables["eeg"].units = "microvolt"
    with h5py.File(folder / "4.nc", "w") as file:
        for name, size in {"trial": 6, "channel": 4, "time": 3}.items():
            file[name] = np.arange(size)
            file[name].make_scale(name)
        file["eeg"], file["label"] = X, WORDS.tolist()
        file["eeg"].attrs["units"] = "microvolt"
        for axis, name in enumerate(["trial", "channel", "time"]):
            file["eeg"].dims[axis].attach_scale(file[name])
        file["label"].dims[0].attach_scale(file["trial"])
    write_links(folder, ".nc", X)


def write_checkpoint(folder):
    for i, labels in enumerate([Y, WORDS]):
        Checkpoint(folder, {"shape": "(6, 4, 3)"}).save(6, ClassMoments.from_batch(X, labels))
        (folder / FILE).rename(folder / f"{i}.safetensors")


def load_checkpoint(path):
    """A checkpoint by another name, in a folder of its own as the library expects it."""
    place = path.parents["originals" in path.parts] / "mutant folder"
    place.mkdir(exist_ok=True)
    shutil.copy(path, place / FILE)
    try:
        done, moments = Checkpoint(place, {"shape": "(6, 4, 3)"}).load()
    except ValueError as error:
        raise ValueError(str(error).replace(str(place / FILE), str(path))) from error
    return [done, moments]


def use_model(model):
    """What a forged model gives for samples it may not expect: something, or a ValueError."""
    models.use(model, np.zeros((3, 5, 4)))
    return models.fingerprint(model)


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


def write_tiff(folder):
    levels = (rng.random((4, 6, 5)) * 255).astype(np.uint8)
    for i, packing in enumerate([None, "tiff_lzw", "tiff_deflate", "packbits", "jpeg"]):
        first, *others = map(Image.fromarray, levels)
        more = {"compression": packing} if packing else {}
        first.save(folder / f"{i}.tif", save_all=True, append_images=others, **more)


def write_archives(folder):
    """A zip and a tar file of two classes with two images each."""
    content = io.BytesIO()
    Image.fromarray((rng.random((6, 5)) * 255).astype(np.uint8)).save(content, "PNG")
    names = [f"{kind}/{i}.png" for kind in ("cat", "dog") for i in range(2)]
    with zipfile.ZipFile(folder / "0.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content.getvalue())
    with tarfile.open(folder / "1.zip", "w") as archive:  # known by its content
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(content.getvalue())
            archive.addfile(member, io.BytesIO(content.getvalue()))


def write_arff(folder):
    names = [f"@attribute p{i} numeric" for i in range(12)] + ["@attribute class {ann,bo,cy}"]
    rows = [",".join([*map(repr, x), y]) for x, y in zip(FLAT, WORDS, strict=True)]
    (folder / "0.arff").write_text("\n".join(["@relation toy", *names, "@data", *rows]))


def write_ts(folder):
    channels = [[",".join(map(repr, channel)) for channel in x.tolist()] for x in X]
    rows = [":".join([*x, y]) for x, y in zip(channels, WORDS, strict=True)]
    (folder / "0.ts").write_text("\n".join(["@classLabel true ann bo cy", "@data", *rows]))


def write_zarr(folder):
    kinds = [{"zarr_format": 2}, {"zarr_format": 3}, {"zarr_format": 3, "shards": (4, 4, 3)}]
    for i, kind in enumerate(kinds):
        group = zarr.open_group(folder / f"{i}.zarr", mode="w", zarr_format=kind["zarr_format"])
        shards = {"shards": kind["shards"]} if "shards" in kind else {}
        group.create_array("X", data=X, chunks=(2, 4, 3), **shards)
        group.create_array("y", data=Y)
    checked = {"compressors": zarr.codecs.ZstdCodec(checksum=True)}
    group = zarr.open_group(folder / "checked.zarr", mode="w")
    group.create_array("X", data=X, chunks=(2, 4, 3), **checked)
    group.create_array("y", data=Y, **checked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Zarr 3 has not agreed on the consolidated metadata
        zarr.consolidate_metadata(folder / "1.zarr")


def npz_is_sealed(name):
    return name.endswith(".npz")


NUMBERS = (ways.anyhow, ways.anyhow, ways.write_a_number)
HDF5 = (*NUMBERS, ways.name_the_bait)
STAYS = {"clear": (BlockError, NotFiniteError)}  # samples that stay on disk
MODEL = {"reader": load_model, "fingerprint": models.fingerprint}
FORMATS = {
    form.name: form
    for form in [
        Format("npy", ".npy", write_npy, (*NUMBERS, ways.npy_header), {"labels": Y}, **STAYS),
        Format(
            "npz",
            ".npz",
            write_npz,
            (*NUMBERS, ways.inside_npz, ways.inside_npz),
            {},
            sealed=npz_is_sealed,
        ),
        Format("mat5", ".mat", write_mat5, (*NUMBERS, ways.inside_mat5, ways.inside_mat5), {}),
        Format("mat73", ".mat", write_mat73, HDF5, {}),
        Format("hdf5", ".h5", write_hdf5, HDF5, {}),
        Format("netcdf", ".nc", write_netcdf, HDF5, {}),
        Format("csv", ".csv", write_csv, (ways.anyhow, ways.csv_cell, ways.csv_cell), {}),
        Format("parquet", ".parquet", write_parquet, NUMBERS, {}),
        Format("images", ".png", write_images, (*NUMBERS, ways.png_chunk), {"labelled": False}),
        Format("tiff", ".tif", write_tiff, NUMBERS, {"labelled": False}),
        Format("archive", ".zip", write_archives, (*NUMBERS, ways.inside_npz), {}),
        Format("arff", ".arff", write_arff, (ways.anyhow, ways.csv_cell), {}),
        Format("ts", ".ts", write_ts, (ways.anyhow, ways.csv_cell), {}),
        Format("zarr", ".zarr", write_zarr, NUMBERS, {}, **STAYS),
        Format(
            "model",
            ".safetensors",
            models.write_models,
            tuple(models.MUTATIONS),
            {},
            sealed=lambda name: True,
            **MODEL,
        ),
        Format(
            "forged",
            ".safetensors",
            models.write_models,
            (models.forged_bytes,),
            {},
            load_model,
            use_model,
        ),
        Format(
            "moments",
            ".safetensors",
            models.write_moments,
            tuple(models.MUTATIONS),
            {},
            load_moments,
            models.fingerprint,
            sealed=lambda name: True,
        ),
        Format(
            "forged_moments",
            ".safetensors",
            models.write_moments,
            (models.forged_bytes,),
            {},
            load_moments,
            models.fingerprint,
        ),
        Format(
            "checkpoint",
            ".safetensors",
            write_checkpoint,
            NUMBERS,
            {},
            load_checkpoint,
            models.fingerprint,
            sealed=lambda name: True,
        ),
    ]
}

"""Twenty kinds of files, made after real ones, walked through the commands as these are printed."""

import json
import re
import shlex
import shutil
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
import scipy.io
from PIL import Image
from sklearn.metrics import average_precision_score

from tenfold.datasets import load

N_CLASSES, PER_CLASS, SHAPE = 3, 8, (7, 5)
WORDS = np.repeat(["oak", "elm", "ash"], PER_CLASS)
COLUMNS = [f"p{i}" for i in range(np.prod(SHAPE))]


@pytest.fixture(scope="module")
def levels():
    """Grey levels from 0 to 255, classes one after another."""
    rng = np.random.default_rng(3)
    faces = rng.uniform(60, 200, (N_CLASSES, 1, *SHAPE))
    noise = rng.normal(0, 30, (N_CLASSES, PER_CLASS, *SHAPE))
    return np.clip(faces + noise, 0, 255).astype(np.uint8).reshape(-1, *SHAPE)


def table(X):
    return pandas.DataFrame(X.reshape(len(X), -1) / 8, columns=COLUMNS)


def images(X, folders, scale=1):
    for i, (pixels, folder) in enumerate(zip(X, folders, strict=True)):
        Path("data", folder).mkdir(parents=True, exist_ok=True)
        size = (SHAPE[1] * (1 + i % 2 * scale), SHAPE[0] * (1 + i % 2 * scale))
        Image.fromarray(pixels).resize(size, 0).save(f"data/{folder}/{i:02}.png")
    return "data"


def image_folder(X):
    return images(X, WORDS, 0)


def train_and_val(X):
    return images(X, [f"{('train', 'val')[i % 2]}/{word}" for i, word in enumerate(WORDS)], 0)


def images_by_session(X):
    return images(X, [f"{word}/day{i % 2}" for i, word in enumerate(WORDS)], 0)


def images_of_two_sizes(X):
    return images(X, WORDS)


def zip_of_images(X):
    return Path(shutil.make_archive("faces", "zip", image_folder(X))).name


def npz(X):
    np.savez("data.npz", X=X, y=WORDS)
    return "data.npz"


def npz_with_two_vectors(X):
    np.savez("data.npz", images=X, tree=WORDS, day=np.arange(len(X)) % 4)
    return "data.npz"


def npy_with_labels_in_text(X):
    np.save("data.npy", X)
    Path("who.txt").write_text("\n".join(WORDS))
    return "data.npy --labels who.txt"


def npy_folder(X):
    for i, (one, word) in enumerate(zip(X, WORDS, strict=True)):
        Path("data", word).mkdir(parents=True, exist_ok=True)
        np.save(f"data/{word}/{i:02}.npy", one)
    return "data"


def mat_with_cells(X):
    cells = np.array(WORDS.tolist(), dtype=object)[:, None]
    scipy.io.savemat("data.mat", {"images": np.moveaxis(X, 0, -1), "labels": cells})
    return "data.mat"


def mat_one_hot(X):
    flat = X.transpose(0, 2, 1).reshape(len(X), -1).astype(float)
    one_hot = (WORDS[:, None] == ["oak", "elm", "ash"]).astype(float)
    scipy.io.savemat("data.mat", {"fea": flat, "gnd": one_hot})
    return "data.mat --sample-shape 7,5"


def hdf5(X):
    with h5py.File("data.h5", "w") as file:
        file["a/X"], file["a/y"], file["b/X"] = X, WORDS.tolist(), X[:4]
    return "data.h5::/a/X"


def netcdf(X):
    with h5py.File("data.nc", "w") as file:  # as xarray writes it with h5netcdf
        for name, size in zip(("sample", "row", "column"), X.shape, strict=True):
            file[name] = np.arange(size)
            file[name].make_scale(name)
        file["images"], file["label"] = X, np.unique(WORDS, return_inverse=True)[1]
        for axis, name in enumerate(("sample", "row", "column")):
            file["images"].dims[axis].attach_scale(file[name])
        file["label"].dims[0].attach_scale(file["sample"])
    return "data.nc"


def zarr_store(X):
    zarr = pytest.importorskip("zarr", reason="zarr comes with the extra data")
    group = zarr.open_group("data.zarr", mode="w")
    group.create_array("X", data=X)
    group.create_array("y", data=np.unique(WORDS, return_inverse=True)[1])
    return "data.zarr"


def csv_with_id_and_day(X):
    frame = table(X).assign(tree=WORDS, day="2024-05-01")
    frame.insert(0, "tree_id", np.random.default_rng(0).permutation(len(X)) + 900)
    frame.to_csv("data.csv", index=False)
    return "data.csv"


def csv_of_a_german_spreadsheet(X):
    frame = table(X).assign(label=WORDS).rename(columns={"p0": "größe"})
    frame.to_csv("data.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    return "data.csv"


def csv_with_gaps(X):
    frame = table(X).assign(label=WORDS)
    frame.iloc[3, 2] = np.nan
    frame.to_csv("data.csv.gz", index=False)
    return "data.csv.gz"


def data_without_names(X):
    table(X).assign(label=WORDS).to_csv("data.data", index=False, header=False)
    return "data.data"


def parquet(X):
    table(X).assign(label=WORDS).to_parquet("data.parquet")
    return "data.parquet"


def sheet(X):
    pytest.importorskip("openpyxl", reason="openpyxl comes with the extra data")
    table(X).assign(label=WORDS).to_excel("data.xlsx", index=False)
    return "data.xlsx"


def arff(X):
    names = [f"@attribute {name} numeric" for name in COLUMNS]
    rows = table(X).assign(label=WORDS).to_csv(header=False, index=False)
    Path("data.arff").write_text(
        "\n".join(["@relation t", *names, "@attribute class {oak,elm,ash}", "@data", rows])
    )
    return "data.arff"


def series(X):
    rows = (":".join(",".join(map(str, channel)) for channel in one) for one in X.tolist())
    lines = [f"{row}:{word}" for row, word in zip(rows, WORDS, strict=True)]
    Path("data.ts").write_text("\n".join(["@classLabel true oak elm ash", "@data", *lines]))
    return "data.ts"


def tiff_with_labels_in_a_table(X):
    first, *others = map(Image.fromarray, X)
    first.save("data.tif", save_all=True, append_images=others)
    pandas.DataFrame({"page": range(len(X)), "label": WORDS}).to_csv("who.csv", index=False)
    return "data.tif --labels who.csv"


KINDS = [
    *(image_folder, train_and_val, images_by_session, images_of_two_sizes, zip_of_images),
    *(npz, npz_with_two_vectors, npy_with_labels_in_text, npy_folder),
    *(mat_with_cells, mat_one_hot, hdf5, netcdf, zarr_store, csv_with_id_and_day),
    *(csv_of_a_german_spreadsheet, csv_with_gaps, data_without_names, parquet, sheet, arff),
    *(series, tiff_with_labels_in_a_table),
]
TABLES = (csv_with_id_and_day, csv_of_a_german_spreadsheet, csv_with_gaps, data_without_names)
TABLES += (parquet, sheet, arff)


@pytest.mark.parametrize("make", KINDS)
def test_inspect_says_what_any_file_holds_and_how_to_go_on(tenfold, here, levels, make):
    words = shlex.split(make(levels))
    run = tenfold("inspect", *words, "--json")
    assert run.code == 0, run.err
    found = json.loads(run.out)
    assert found["samples"]["count"] == len(levels)
    if make is not images_of_two_sizes:
        assert np.prod(found["samples"]["shape"]) == np.prod(SHAPE)
    assert sorted(found["samples"]["classes"].values()) == [PER_CLASS] * N_CLASSES
    assert found["samples"]["gaps"] == (1 if make is csv_with_gaps else 0)
    command = shlex.split(found["next"])
    assert command[:2] == ["tenfold", "compare"]
    # with the options of that command there is nothing to ask
    words = [word for word in command[2:] if word != "--impute"]
    assert json.loads(tenfold("inspect", *words, "--json").out)["problem"] == ""


def test_inspect_explains_what_cannot_be_read_as_it_is(tenfold, here):
    for name in ("loose", "sizes/a", "sizes/b"):
        Path(name).mkdir(parents=True)
        np.save(Path(name, "1.npy"), np.eye(2 + name.endswith("b")))
    Path("t.ts").write_text("@classLabel true 1 2\n@data\n1,2:1\n5,6,7:2\n")
    for path, said in (
        ("loose", "with --read labelled=False"),
        ("sizes", "--resize H,W"),
        ("t.ts", "differ"),
    ):
        run = tenfold("inspect", path)
        assert (run.code, said in run.out) == (0, True), run.err
    Path("empty.csv").write_text("")
    assert "empty.csv: it is empty" in tenfold("inspect", "empty.csv").err


def printed(text):
    """The last command that a command printed, as words without the name of the program."""
    (command,) = re.findall(r"tenfold ((?:compare|fit|evaluate) .*)$", text, re.MULTILINE)[-1:]
    return shlex.split(command)


@pytest.mark.parametrize(  # the first in every run of the tests; the others take minutes
    "make", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.long) for kind in KINDS[1:])]
)
def test_every_printed_command_runs_as_printed_and_its_figures_are_right(
    tenfold, here, levels, make
):
    def ran(words):
        run = tenfold(*words)
        assert run.code == 0, f"{shlex.join(map(str, words))}\n{run.err}"
        return run.out

    compare = printed(ran(["inspect", *shlex.split(make(levels))]))
    fit = printed(ran(compare))
    assert fit[:2] == ["fit", compare[1]]
    evaluate = printed(ran(fit))
    assert evaluate[:2] == ["evaluate", "model.safetensors"]
    figures = json.loads(ran([*evaluate, "--json"]))
    data = evaluate[2:]
    ran(["score", "model.safetensors", *data, "-o", "scores.csv"])
    ran(["transform", "model.safetensors", *data, "-o", "features.npz"])
    ran(["report", "model.safetensors", *data, "-o", "report.html"])
    assert Path("report.html").stat().st_size > 10_000

    # what was read, against what was written
    found = json.loads(
        ran(["inspect", *[word for word in compare[1:] if word != "--impute"], "--json"])
    )
    told = {"labels": compare[compare.index("--labels") + 1]} if "--labels" in compare else {}
    if "--sample-shape" in compare:
        told["sample_shape"] = SHAPE
    told |= {
        name: value.split(",") if name == "leave_out" else value
        for name, value in (pair.split("=") for pair in compare if re.match(r"[a-z_]+=", pair))
    }
    if make is not images_of_two_sizes:
        X = np.asarray(load(compare[1], **told).X).reshape(len(levels), -1)
        of_images = found["kind"] in ("image folder", "image")
        divided = 8 if make in TABLES else 255 if of_images else 1
        order = np.argsort(WORDS, kind="stable") if "folder" in found["kind"] else np.arange(24)
        if make is train_and_val:
            order = np.lexsort((WORDS, np.arange(24) % 2))
        if make is images_by_session:
            order = np.lexsort((np.arange(24) % 2, WORDS))
        expected = levels[order].reshape(24, -1) / divided
        known = ~np.isnan(X)
        np.testing.assert_allclose(X[known], expected[known], rtol=1e-12)

    # figures, against scikit-learn's on the scores
    scores = pandas.read_csv("scores.csv", dtype={"label": str, "decision": str})
    assert figures["accuracy"] == pytest.approx(np.mean(scores["label"] == scores["decision"]))
    columns = [name for name in scores if name.startswith(("probability ", "score "))]
    precisions = [
        average_precision_score(scores["label"] == name.split(" ", 1)[1], scores[name])
        for name in columns
    ]
    assert len(precisions) == N_CLASSES
    assert figures["average_precision"] == pytest.approx(np.mean(precisions), abs=1e-9)
    assert np.load("features.npz")["X"].shape[0] == len(levels)

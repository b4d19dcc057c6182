"""Without the extra `data`, a loader that needs it says so and the others go on working."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from tenfold.datasets import load, load_faces_subset

HDF5 = b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n"


@pytest.fixture
def without(monkeypatch):
    def hide(package):
        for name in {package, *sys.modules}:
            if name.partition(".")[0] == package:
                monkeypatch.setitem(sys.modules, name, None)

    return hide


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("PIL", load),
        ("skimage", lambda _: load_faces_subset()),
        ("zarr", lambda folder: load(folder.rename(folder.parent / "new.zarr"))),
        ("h5py", lambda folder: load(folder / "new.mat")),
        ("h5py", lambda folder: load(folder / "new.h5")),
        ("pandas", lambda folder: load(folder / "new.parquet")),
        ("xarray", lambda folder: load(folder / "new.nc")),
    ],
)
def test_a_missing_library_names_the_extra(without, image_folder, package, use):
    for name in ("new.mat", "new.h5", "new.nc", "new.parquet"):
        (image_folder / name).write_bytes(HDF5)
    without(package)
    with pytest.raises(ImportError, match=r'pip install "tenfold\[data\]"'):
        use(image_folder)


def test_older_mat_files_need_no_extra(without, tmp_path):
    scipy.io.savemat(tmp_path / "old.mat", {"X": np.ones((3, 2)), "y": [1, 2, 3]})
    without("h5py")
    assert len(load(tmp_path / "old.mat")) == 3


def test_the_pages_agree_on_what_the_extra_brings_and_how_to_install_it():
    root = Path(__file__).parents[2]
    if not (root / "docs").is_dir():
        pytest.skip("the pages are not part of an sdist")
    pages = [(root / name).read_text(encoding="utf-8") for name in ("README.md", "docs/install.md")]
    row = next(line for line in pages[1].splitlines() if line.startswith("| `data` |"))
    assert "reading images, tables, Zarr, HDF5, MATLAB 7.3 and netCDF; scores in Parquet" in row
    for page in pages:
        assert page.index("pip install .") == page.index("pip install")  # there is no release yet

"""Loaders: the paper's three data sets, small ones that need no download, and people's own files.

Every loader returns a `TensorDataset`. Pillow, scikit-image, h5py, pyarrow and zarr come with the
extra ``data`` and are imported only when a file needs them.
"""

from tenfold.datasets.any_path import load
from tenfold.datasets.csv_file import load_csv
from tenfold.datasets.digits import load_digits_tensor
from tenfold.datasets.fi2010 import fi2010_fold, load_fi2010_days
from tenfold.datasets.fi2010_days import FI2010_LABELS, FI2010Days, Fold
from tenfold.datasets.hdf5 import load_hdf5
from tenfold.datasets.images import load_image_folder
from tenfold.datasets.matlab import load_mat
from tenfold.datasets.netcdf import load_netcdf
from tenfold.datasets.numpy_files import load_npy, load_npy_folder, load_npz
from tenfold.datasets.orl import load_orl
from tenfold.datasets.parquet import load_parquet
from tenfold.datasets.pie import PIE_STAND_INS, load_pie
from tenfold.datasets.resizing import resize_images
from tenfold.datasets.scikit_image import load_faces_subset, with_hog
from tenfold.datasets.synthetic import SyntheticTensors, make_tensor_classes, make_trials
from tenfold.datasets.tensor_dataset import TensorDataset
from tenfold.datasets.tiff import load_tiff
from tenfold.datasets.windows import SegmentedWindows
from tenfold.datasets.zarr_store import load_zarr

__all__ = [
    "FI2010_LABELS",
    "PIE_STAND_INS",
    "FI2010Days",
    "Fold",
    "SegmentedWindows",
    "SyntheticTensors",
    "TensorDataset",
    "fi2010_fold",
    "load",
    "load_csv",
    "load_digits_tensor",
    "load_faces_subset",
    "load_fi2010_days",
    "load_hdf5",
    "load_image_folder",
    "load_mat",
    "load_netcdf",
    "load_npy",
    "load_npy_folder",
    "load_npz",
    "load_orl",
    "load_parquet",
    "load_pie",
    "load_tiff",
    "load_zarr",
    "make_tensor_classes",
    "make_trials",
    "resize_images",
    "with_hog",
]

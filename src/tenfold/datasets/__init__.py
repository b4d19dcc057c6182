"""Data sets: people's own files, small ones that need no download, and made ones.

`load` reads a file or folder by what it is, and returns a `TensorDataset`. The libraries of the
formats come with the extra ``data`` and are imported only when a file needs them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenfold.datasets.images import resize_images as resize_images
    from tenfold.datasets.loading import load as load
    from tenfold.datasets.small_sets import load_digits_tensor as load_digits_tensor
    from tenfold.datasets.small_sets import load_faces_subset as load_faces_subset
    from tenfold.datasets.synthetic import SyntheticTensors as SyntheticTensors
    from tenfold.datasets.synthetic import make_tensor_classes as make_tensor_classes
    from tenfold.datasets.synthetic import make_trials as make_trials
    from tenfold.datasets.tensor_dataset import TensorDataset as TensorDataset
    from tenfold.datasets.windows import SegmentedWindows as SegmentedWindows

# A name is imported when it is first used: the process that reads a file needs its library alone.
_HOMES = {
    "SegmentedWindows": "windows",
    "SyntheticTensors": "synthetic",
    "TensorDataset": "tensor_dataset",
    "load": "loading",
    "load_digits_tensor": "small_sets",
    "load_faces_subset": "small_sets",
    "make_tensor_classes": "synthetic",
    "make_trials": "synthetic",
    "resize_images": "images",
}
__all__ = list(_HOMES)


if not TYPE_CHECKING:  # a type checker sees the imports above, and flags any other name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'tenfold.datasets' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"tenfold.datasets.{_HOMES[name]}"), name)
        return value

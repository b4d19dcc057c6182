"""Images on disk: the only module here that imports Pillow."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.locations import existing_path, natural_key, readable_name, too_large
from tenfold.datasets.resizing import resize_images
from tenfold.datasets.sizes import check_memory
from tenfold.datasets.tensor_dataset import TensorDataset

FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "PPM", "GIF", "WEBP")  # nothing else is opened
MOST_PIXELS = 2**26  # of one image: 8192 x 8192

IMAGE_SUFFIXES = frozenset(
    {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)


def load_image_folder(
    path: str | os.PathLike[str],
    *,
    resize: tuple[int, int] | None = None,
    grey: bool = True,
    background: float | None = None,
    labelled: bool = True,
) -> TensorDataset:
    """Read a folder of images in which every subfolder is a class.

    Pixels become float64 in [0, 1]; real numbers must be so already. Classes and files come in
    natural order (2 before 10). Hidden files, and those not named as images, are left alone.

    PNG, JPEG, TIFF, BMP, PGM and PPM, GIF and WebP are read, by content, whatever the name. Of an
    animation the first frame is read. An image with an orientation is turned as viewers turn it.
    Palettes and CMYK become colours first. Colours of 16 bits per channel are rounded to 8.

    Parameters
    ----------
    path : path
        The folder.
    resize : (height, width) or None, default=None
        Bring every image to this size, with anti-aliasing. Needed when sizes differ.
    grey : bool, default=True
        One grey channel, samples (H, W). False: colour, samples (H, W, 3).
    background : float or None, default=None
        Grey level, 0 (black) to 1 (white), that shows through transparent pixels. None refuses
        images that have such pixels.
    labelled : bool, default=True
        False reads every image below `path` and gives no labels, for scoring.

    Returns
    -------
    TensorDataset
        X of shape (n, H, W) or (n, H, W, 3), y the subfolder names, ``sample_info["file"]`` the
        path of each image below the folder.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("cat", "dog"):
    ...     (folder / name).mkdir()
    ...     _ = (folder / name / "1.pgm").write_text("P2 3 2 255 0 51 102 153 204 255")
    >>> data = load_image_folder(folder)
    >>> data.X.shape, data.y.tolist()
    ((2, 2, 3), ['cat', 'dog'])
    """
    root = existing_path(path, "a folder of images")
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder; expected one with a subfolder per class")
    files, labels = _listed(root, labelled)
    return TensorDataset(
        read_images(files, resize=resize, grey=grey, background=background),
        labels,
        name=root.resolve().name,
        description=f"{len(files)} images from the folder {root.resolve().name}, pixels in [0, 1].",
        mode_names=("row", "column") if grey else ("row", "column", "channel"),
        sample_info={"file": np.array([file.relative_to(root).as_posix() for file in files])},
    )


def _listed(root: Path, labelled: bool) -> tuple[list[Path], np.ndarray | None]:
    """The images of a folder and their labels, the names of the subfolders."""
    if labelled:
        files = [file for folder in class_folders(root) for file in class_images(folder)]
        return files, np.array([file.relative_to(root).parts[0] for file in files])
    files = image_files(root)
    if not files:
        raise ValueError(f"{root} holds no images ({', '.join(sorted(IMAGE_SUFFIXES))})")
    return files, None


def class_folders(root: Path) -> list[Path]:
    """The subfolders of an image folder, in natural order; a ValueError when there are none."""
    folders = [
        folder for folder in root.iterdir() if folder.is_dir() and not _is_hidden(folder.name)
    ]
    if not folders:
        loose = len(image_files(root))
        raise ValueError(
            f"{root} has no subfolders ({loose} images lie in it directly); put the images of each "
            "class into a subfolder named after the class, or pass labelled=False to score them"
        )
    return sorted(folders, key=lambda folder: natural_key(folder.name))


def class_images(folder: Path) -> list[Path]:
    """The images of one class; a ValueError when there are none."""
    files = image_files(folder)
    if not files:
        raise ValueError(
            f"class folder {folder} holds no images ({', '.join(sorted(IMAGE_SUFFIXES))}); "
            "add some, or remove the folder"
        )
    return files


def image_files(folder: Path) -> list[Path]:
    """All image files below a folder, in natural order."""
    found = [
        readable_name(file)
        for file in folder.rglob("*")
        if file.suffix.lower() in IMAGE_SUFFIXES
        and not any(map(_is_hidden, file.relative_to(folder).parts))
        and file.is_file()
    ]
    return sorted(found, key=lambda file: natural_key(file.relative_to(folder).as_posix()))


def read_images(
    files: Sequence[Path],
    *,
    resize: tuple[int, int] | None = None,
    grey: bool = True,
    background: float | None = None,
) -> np.ndarray:
    """Read image files into one stack.

    Parameters
    ----------
    files : sequence of Path
        At least one image.
    resize : (height, width) or None, default=None
        Size to bring them to.
    grey : bool, default=True
        Grey, or colour.
    background : float or None, default=None
        Grey level behind transparent pixels; None refuses them.

    Returns
    -------
    ndarray of shape (n, H, W) or (n, H, W, 3)
        Pixels in [0, 1].
    """
    if background is not None and not 0 <= background <= 1:
        raise ValueError(f"background is {background!r}; expected 0 (black) to 1 (white)")

    def read(file: Path) -> np.ndarray:
        pixels = read_image(file, grey=grey, background=background)
        return pixels if resize is None else resize_images(pixels[None], resize)[0]

    first = read(files[0])
    stack = np.empty((len(files), *first.shape))
    for position, file in enumerate(files):
        pixels = first if position == 0 else read(file)
        if pixels.shape != first.shape:
            raise ValueError(
                f"images differ in size: {files[0]} is {first.shape[0]}x{first.shape[1]} and "
                f"{file} is {pixels.shape[0]}x{pixels.shape[1]} (height x width); pass resize=(H, "
                "W) to bring all to one size"
            )
        stack[position] = pixels
    return stack


def read_image(file: Path, *, grey: bool = True, background: float | None = None) -> np.ndarray:
    """Read one image as float64 in [0, 1], shape (H, W) or (H, W, 3).

    An image that carries an orientation is turned the way a viewer would show it.
    """
    with opened_image(file) as image:
        pages = getattr(image, "n_frames", 1)
        if image.format == "TIFF" and pages > 1:
            raise ValueError(
                f"it has {pages} pages, and a file in a folder is one sample; read the file itself "
                "with load_tiff, or save a file per page"
            )
        return _pixels(_pillow().ImageOps.exif_transpose(image), grey, background)


def read_pages(file: Path, *, grey: bool = True, background: float | None = None) -> np.ndarray:
    """Read all pages of an image as a stack (n, H, W) or (n, H, W, 3) in [0, 1]."""
    with opened_image(file) as image:
        pages = getattr(image, "n_frames", 1)
        check_memory(file, f"{pages} pages", pages * image.width * image.height * 8)
        stack: list[np.ndarray] = []
        for page in range(pages):
            image.seek(page)
            _check_pixels(image)
            stack.append(_pixels(image, grey, background))
            if stack[page].shape != stack[0].shape:
                raise ValueError(
                    f"its pages differ in size: the first is {stack[0].shape[:2]} and page {page} "
                    f"is {stack[page].shape[:2]} (height, width); save them as files and resize"
                )
        return np.stack(stack)


@contextmanager
def opened_image(file: Path) -> Iterator[Any]:
    """An image of one of `FORMATS`, known by its content; else a ValueError that names the file."""
    pillow = _pillow()
    bomb = (pillow.Image.DecompressionBombError, pillow.Image.DecompressionBombWarning)
    damaged = (OSError, SyntaxError, ValueError, EOFError, TypeError, LookupError, struct.error)
    also = (AttributeError, OverflowError, RuntimeError, ZeroDivisionError, zlib.error)
    try:
        with pillow.Image.open(file, formats=FORMATS) as image:
            _check_pixels(image)
            yield image
    except pillow.UnidentifiedImageError as error:
        raise ValueError(
            f"cannot read {file} as an image: its content is none of {', '.join(FORMATS)}; save it "
            "as one of these"
        ) from error
    except MemoryError as error:
        raise too_large(file) from error
    except (*damaged, *also, *bomb) as error:  # which of them, depends on the format
        raise ValueError(f"cannot read {file} as an image: {error}") from error


def _check_pixels(image: Any) -> None:
    """Refuse a few bytes that would become gigabytes, before they do."""
    if image.width * image.height > MOST_PIXELS:
        raise ValueError(
            f"it declares {image.width} x {image.height} pixels; at most {MOST_PIXELS} are read; "
            "make it smaller first"
        )


def _pixels(image: Any, grey: bool, background: float | None) -> np.ndarray:
    """Pixels of a Pillow image in [0, 1]."""
    if image.mode == "F" or image.mode.startswith("I"):  # Pillow's conversion would clip these
        deep = _deep_pixels(image)
        return deep if grey else np.repeat(deep[..., None], 3, axis=2)
    if image.has_transparency_data:
        image = _on_background(image, background)
    if image.mode not in ("1", "L", "RGB"):
        image = image.convert("RGB")
    return np.asarray(image.convert("L" if grey else "RGB"), dtype=np.float64) / 255.0


def _on_background(image: Any, background: float | None) -> Any:
    """An image without transparency: as it is where nothing shows through."""
    layered = image.convert("RGBA")
    if layered.getextrema()[3] == (255, 255):
        return layered.convert("RGB")
    if background is None:
        raise ValueError(
            "it has transparent pixels; pass background=1 for white behind them or 0 for black, or "
            "save it without transparency"
        )
    level = round(255 * background)
    behind = _pillow().Image.new("RGBA", layered.size, (level, level, level, 255))
    return _pillow().Image.alpha_composite(behind, layered).convert("RGB")


def _deep_pixels(image: Any) -> np.ndarray:
    """Grey levels in [0, 1]: real numbers as they are, whole ones by 16 bits."""
    levels = np.asarray(image, dtype=np.float64)
    top, kind = (1, "real") if image.mode == "F" else (65535, "whole")
    if not (levels.min() >= 0 and levels.max() <= top):  # NaN fails too
        raise ValueError(
            f"its pixels are {kind} numbers from {levels.min():g} to {levels.max():g}; expected 0 "
            f"to {top}; scale them, or save the samples with np.save, which takes any numbers"
        )
    return levels / top


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "__"))


def _pillow() -> Any:
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError as error:
        raise ImportError('reading images needs Pillow: pip install "tenfold[data]"') from error
    return PIL

"""Images in folders, archives and single files: the only module here that imports Pillow.

They are resized as two matrix products, with anti-aliasing.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import IO, TYPE_CHECKING

import numpy as np

from tenfold.datasets.labels import SETS
from tenfold.datasets.locations import (
    LONGEST,
    FileError,
    natural_key,
    readable_name,
    reading,
    regular,
    short,
    shortened,
)
from tenfold.datasets.named_arrays import Arrays, Look, check_numbers, in_memory
from tenfold.datasets.numpy_files import read_npy
from tenfold.datasets.spelling import Word, spelled
from tenfold.extras import require_extra

if TYPE_CHECKING:
    from PIL.Image import Image

SIZE = (Word("H"), Word("W"))
FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "PPM", "GIF", "WEBP")  # nothing else is opened
MOST_PIXELS = 2**26  # of one image: 8192 x 8192
MOST_BYTES = 2**30  # of one file in an archive
IMAGE_SUFFIXES = frozenset(
    {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)


Content = Callable[[], Path | IO[bytes]]  # gives what Pillow can open
Files = Mapping[str, Content]  # by name below the folder


def open_folder(
    source: Path,
    *,
    labelled: bool = True,
    resize: tuple[int, int] | None = None,
    grey: bool = True,
    background: float | None = None,
    classes_from: str | None = None,
) -> Arrays:
    """A folder, or an archive of one, in which every subfolder is a class and a file a sample."""
    with _files(source) as files:
        names = list(files)
        found = {"file": np.array(names)}
        notes: tuple[str, ...] = ()
        if not names:
            raise FileError(
                f"{source} holds no images ({', '.join(sorted(IMAGE_SUFFIXES))}); expected a "
                "subfolder of images per class"
            )
        if labelled:
            found["class"], notes = _classes(source, names, classes_from)
        stack = np.empty(0)
        for position, name in enumerate(names):
            if name.endswith(".npy"):
                pixels = check_numbers(read_npy(regular(source / name)), name)
            else:
                pixels = read_image(source / name, files[name], grey=grey, background=background)
            if resize is not None:
                pixels = resize_images(pixels[None], resize)[0]
            if position == 0:
                stack = np.empty((len(names), *pixels.shape))
            if pixels.shape != stack.shape[1:]:
                sizes = ["x".join(map(str, shape)) for shape in (stack.shape[1:], pixels.shape)]
                raise FileError(
                    f"samples differ in size: {source / names[0]} is {sizes[0]} and "
                    f"{source / name} is {sizes[1]}; pass {spelled('resize', SIZE)} to bring "
                    "all to one size"
                )
            stack[position] = pixels
    return _pictures(source, {**found, "images": stack}, notes)


def open_pages(
    source: Path,
    *,
    resize: tuple[int, int] | None = None,
    grey: bool = True,
    background: float | None = None,
) -> Arrays:
    """The pages of one image, usually a TIFF file, each of which is a sample."""
    pages = np.stack(read_pages(source, lambda: source, grey, background))
    return _pictures(source, {"images": pages if resize is None else resize_images(pages, resize)})


def _pictures(source: Path, found: dict[str, np.ndarray], notes: tuple[str, ...] = ()) -> Arrays:
    """What was read, as `Arrays` that need no choice."""
    arrays = any(name.endswith(".npy") for name in found.get("file", ()))
    about = f"{len(found['images'])} {'.npy files' if arrays else 'images'} from "
    about += source.resolve().name + ("" if arrays else ", pixels in [0, 1]")
    modes = ("sample", "row", "column", "channel")[: found["images"].ndim]
    return replace(
        in_memory(found),
        dims={} if arrays else {"images": modes},
        samples="images",
        labels="class" if "class" in found else None,
        description=f"{about}; labels: names of folders." if "class" in found else f"{about}.",
        notes=notes,
    )


def look_at_folder(source: Path, options: Mapping[str, object]) -> Look:
    """For `contents`: a row per folder, and ways to read it."""
    sizes: dict[str, tuple[int, int]] = {}
    with _files(source) as files:
        for name, content in files.items():
            with opened_image(source / name, content) as image:
                sizes[name] = (image.height, image.width)
    folders: dict[str, list[tuple[int, int]]] = {}
    for name, size in sizes.items():
        folders.setdefault(name.rpartition("/")[0] or ".", []).append(size)
    rows = [
        [folder, str(len(found)), _span(found)]
        for folder, found in sorted(folders.items(), key=lambda one: natural_key(one[0]))
    ]
    usual = [int(size) for size in np.median(list(sizes.values()) or [(1, 1)], axis=0)]
    resize: dict[str, object] = {"resize": tuple(usual)} if len(set(sizes.values())) > 1 else {}
    paths = [folder.split("/") for folder in folders]
    more = len({path[0] for path in paths}) > len({path[-1] for path in paths})
    deep: dict[str, object] = {"classes_from": "first" if more else "last"}
    ways = [resize, deep, {**resize, **deep}, {**resize, "labelled": False}]
    return Look(["folder", "images", "height x width"], rows, ways)


def _span(sizes: list[tuple[int, int]]) -> str:
    """One size, or the smallest and the largest."""
    ends = sorted(set(sizes), key=lambda size: size[0] * size[1])
    return " to ".join(f"{h}x{w}" for h, w in ([ends[0], ends[-1]] if ends[1:] else ends))


def sample_files(folder: Path) -> list[Path]:
    """All image files below a folder in natural order; if there are none, all .npy files."""
    names = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*.*")}
    endings = {name: _ending(name) for name, file in names.items() if not file.is_dir()}
    kept = [name for name, ending in endings.items() if ending in IMAGE_SUFFIXES]
    kept = kept or [name for name, ending in endings.items() if ending == ".npy"]
    return [readable_name(names[name]) for name in sorted(kept, key=natural_key)]


@contextmanager
def _files(source: Path) -> Iterator[Files]:
    """The samples of a folder, or the images of a zip or tar file; nothing is unpacked to disk."""
    if source.is_dir():
        files = {file.relative_to(source).as_posix(): file for file in sample_files(source)}
        yield {name: partial(regular, file) for name, file in files.items()}
        return
    with ExitStack() as stack:
        with reading(source, "zip or tar archive"):
            is_zip = zipfile.is_zipfile(source)
            member: Callable[[str], IO[bytes] | None]
            if is_zip:
                archive = stack.enter_context(zipfile.ZipFile(source))
                sizes = {one.filename: one.file_size for one in archive.infolist()}
                member = archive.open
            else:
                tar = stack.enter_context(tarfile.TarFile.open(source))
                sizes = {one.name: one.size for one in tar.getmembers() if one.isfile()}
                member = tar.extractfile

        def content(name: str) -> IO[bytes]:
            if sizes[name] > MOST_BYTES:
                raise ValueError(f"it has {sizes[name]} bytes; at most {MOST_BYTES} are read")
            opened = member(name)
            assert opened is not None  # a tar file has None for folders, which have no size here
            with opened as file:
                return io.BytesIO(file.read(MOST_BYTES))

        names = {name.removeprefix("./"): name for name in sizes}
        kept = [name for name in names if _ending(name) in IMAGE_SUFFIXES]
        yield {name: partial(content, names[name]) for name in sorted(kept, key=natural_key)}


def _ending(name: str) -> str:
    """The suffix of a file in small letters; none where it, or a folder above, is hidden."""
    path = PurePosixPath(name)
    hidden = any(part.startswith((".", "__")) for part in path.parts)
    return "" if hidden else path.suffix.lower()


def _classes(
    source: Path, names: list[str], classes_from: str | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The class of each image: its folder, and what is to be said where folders lie in folders."""
    if classes_from not in (None, "first", "last"):
        raise FileError(
            f"classes_from is {classes_from!r}; expected 'first' (the folders below {source}) or "
            "'last' (the deepest folders)"
        )
    filled = {name.partition("/")[0] for name in names if "/" in name}
    folders = [one.name for one in source.iterdir() if one.is_dir()] if source.is_dir() else []
    for folder in sorted(set(folders) - filled, key=natural_key):
        if not folder.startswith((".", "__")):
            raise FileError(
                f"class folder {source / folder} holds no images "
                f"({', '.join(sorted(IMAGE_SUFFIXES))}); add some, or remove the folder"
            )
    loose = [name for name in names if "/" not in name]
    if loose:
        raise FileError(
            f"{source}: {len(loose)} of {len(names)} files lie in no class folder: "
            f"{shortened(loose)}; put the files of each class into a subfolder named after the "
            f"class, or pass {spelled('labelled', False)} to score them"
        )
    parents = [name.split("/")[:-1] for name in names]
    around: list[str] = []  # folders that hold all of it; an archive has its own one
    while len({parts[0] for parts in parents}) == 1 and min(map(len, parents)) > 1:
        if classes_from is not None and (source.is_dir() or around):
            break
        around.append(parents[0][0])
        parents = [parts[1:] for parts in parents]
    notes = (f"all files lie in {'/'.join(around)}, which is no class",) if around else ()
    first = [parts[0] for parts in parents]
    last = [parts[-1] for parts in parents]
    if classes_from is not None or max(map(len, parents)) == 1:
        return np.array(last if classes_from == "last" else first), notes
    levels = {len(parts) for parts in parents}
    above = sorted({part for parts in parents for part in parts[:-1]}, key=natural_key)
    deepest = sorted(set(last), key=natural_key)
    if len(levels) == 1 and {part.lower() for part in above} <= set(SETS):
        note = f"the classes are the deepest folders: {shortened(deepest)}; those above, "
        return np.array(last), (*notes, f"{note}{shortened(above)}, were taken together")
    raise FileError(
        f"{source} has folders in folders: {shortened(sorted(set(first), key=natural_key))} and "
        f"inside {shortened(deepest)}; pass {spelled('classes_from', 'first')} or "
        f"{spelled('classes_from', 'last')} to say which are the classes"
    )


def read_image(
    file: Path,
    content: Content | None = None,
    *,
    grey: bool = True,
    background: float | None = None,
) -> np.ndarray:
    """Read one image as float64 in [0, 1], shape (H, W) or (H, W, 3).

    Parameters
    ----------
    file : Path
        Its name.
    content : callable or None, default=None
        What opens it, if it is not a file of this name.
    grey, background
        As in `tenfold.datasets.load`.

    Returns
    -------
    ndarray of shape (H, W) or (H, W, 3)
        The pixels.
    """
    return read_pages(file, content or partial(regular, file), grey, background, most=1)[0]


def read_pages(
    file: Path,
    content: Content,
    grey: bool,
    background: float | None,
    most: float = np.inf,
) -> list[np.ndarray]:
    """The pages of a TIFF file, or the one image of a file of another format.

    An image that carries an orientation is turned the way a viewer would show it. The first frame
    stands for an animation.
    """
    pages: list[np.ndarray] = []
    with opened_image(file, content) as image:
        n_pages = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        if n_pages > most:
            raise ValueError(
                f"it has {n_pages} pages, and a file in a folder is one sample; read the file "
                "itself with load, or save a file per page"
            )
        for page in range(n_pages):
            image.seek(page)
            if image.width * image.height > MOST_PIXELS:  # a few bytes would become gigabytes
                raise ValueError(
                    f"it declares {image.width} x {image.height} pixels; at most {MOST_PIXELS} are "
                    "read; make it smaller first"
                )
            pages.append(_pixels(_pillow().ImageOps.exif_transpose(image), grey, background))
            if pages[page].shape != pages[0].shape:
                raise ValueError(
                    f"its pages differ in size: the first is {pages[0].shape[:2]} and page {page} "
                    f"is {pages[page].shape[:2]} (height, width); save them as files and resize"
                )
    return pages


@contextmanager
def opened_image(file: Path, content: Content) -> Iterator[Image]:
    """An image of one of `FORMATS`, known by its content; else a ValueError that names the file.

    Parameters
    ----------
    file : Path
        Its name.
    content : callable
        Gives what Pillow opens.
    """
    pillow = _pillow()
    try:
        with pillow.Image.open(content(), formats=FORMATS) as image:
            yield image
    except pillow.UnidentifiedImageError as error:
        raise FileError(
            f"cannot read {file} as an image: its content is none of {', '.join(FORMATS)}; save it "
            "as one of these"
        ) from error
    except FileError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # of the system, and names the file
        why = short(str(error), LONGEST)  # a library may put what is in the file into its words
        raise FileError(f"cannot read {file} as an image: {why}") from error


def _pixels(image: Image, grey: bool, background: float | None) -> np.ndarray:
    """Pixels of a Pillow image in [0, 1]."""
    if background is not None and not 0 <= background <= 1:
        raise ValueError(f"background is {background!r}; expected 0 (black) to 1 (white)")
    if image.mode == "F" or image.mode.startswith("I"):  # Pillow's conversion would clip these
        deep = _deep_pixels(image)
        return deep if grey else np.repeat(deep[..., None], 3, axis=2)
    if image.has_transparency_data:
        layered = image.convert("RGBA")
        if background is None and layered.getextrema()[3] != (255, 255):
            raise ValueError(
                f"it has transparent pixels; pass {spelled('background', 1)} for white behind them "
                "or 0 for black, or save it without transparency"
            )
        level = round(255 * (background or 0))
        behind = _pillow().Image.new("RGBA", layered.size, (level, level, level, 255))
        image = _pillow().Image.alpha_composite(behind, layered)
    if image.mode not in ("1", "L", "RGB"):
        image = image.convert("RGB")
    return np.asarray(image.convert("L" if grey else "RGB"), dtype=np.float64) / 255.0


def _deep_pixels(image: Image) -> np.ndarray:
    """Grey levels in [0, 1]: real numbers as they are, whole ones by 16 bits."""
    levels = np.asarray(image, dtype=np.float64)
    top, kind = (1, "real") if image.mode == "F" else (65535, "whole")
    if not (levels.min() >= 0 and levels.max() <= top):  # NaN fails too
        raise ValueError(
            f"its pixels are {kind} numbers from {levels.min():g} to {levels.max():g}; expected 0 "
            f"to {top}; scale them, or save the samples with np.save, which takes any numbers"
        )
    return levels / top


def as_png(pixels: np.ndarray, colours: np.ndarray | None = None) -> bytes:
    """A PNG file of grey levels or colours, or of positions among 256 colours.

    Parameters
    ----------
    pixels : ndarray of uint8 of shape (height, width) or (height, width, 3)
        The image.
    colours : ndarray of uint8 of shape (256, 3) or None, default=None
        The colours that pixels are positions of.
    """
    image = _pillow().Image.fromarray(pixels)
    if colours is not None:
        image.putpalette(colours.tobytes())
    stream = io.BytesIO()
    image.save(stream, "PNG", optimize=True)
    return stream.getvalue()


def _pillow() -> ModuleType:
    with require_extra("reading images needs Pillow", "data"):
        import PIL.Image
        import PIL.ImageOps
    return PIL


# ── Sizes ───────────────────────────────────────────────────────────────────────────────────────


def resize_images(images: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Resize every image of a stack, with anti-aliasing.

    Each new pixel is a weighted mean of the old ones under a triangle. The triangle is as wide as
    the new pixel when the image shrinks and as the old one when it grows (then this is bilinear
    interpolation). The weights are not negative and sum to one, so values stay in their range.
    The same rule as Pillow's ``BILINEAR``, but for the whole stack at once and in floating point.

    Parameters
    ----------
    images : ndarray of shape (n, H, W) or (n, H, W, channels)
        The images.
    shape : (int, int)
        New height and width.

    Returns
    -------
    ndarray of shape (n, height, width) or (n, height, width, channels)
        Resized images, float64.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.datasets import resize_images
    >>> resize_images(np.ones((5, 112, 92)), (40, 30)).shape
    (5, 40, 30)
    """
    height, width = check_image_shape(shape)
    if images.ndim not in (3, 4):
        raise ValueError(
            f"images have shape {images.shape}; expected (n, H, W) or (n, H, W, channels)"
        )
    if images.shape[1:3] == (height, width):
        return images.astype(np.float64, copy=False)
    rows = triangle_weights(images.shape[1], height)
    columns = triangle_weights(images.shape[2], width)
    stacks = images if images.ndim == 3 else np.moveaxis(images, 3, 1)  # rows and columns last
    resized: np.ndarray = rows @ stacks @ columns.T
    return resized if images.ndim == 3 else np.moveaxis(resized, 1, 3)


def triangle_weights(old: int, new: int) -> np.ndarray:
    """Matrix that resamples one axis.

    Parameters
    ----------
    old, new : int
        Number of pixels before and after.

    Returns
    -------
    ndarray of shape (new, old)
        Weights; each row sums to one.

    Examples
    --------
    >>> from tenfold.datasets.images import triangle_weights
    >>> triangle_weights(4, 2).round(3).tolist()
    [[0.429, 0.429, 0.143, 0.0], [0.0, 0.143, 0.429, 0.429]]
    """
    step = old / new
    centres = (np.arange(new) + 0.5) * step
    distance = np.abs(np.arange(old) + 0.5 - centres[:, None]) / max(step, 1.0)
    weights: np.ndarray = np.clip(1.0 - distance, 0.0, None)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def check_image_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """Height and width as two positive ints, or a ValueError."""
    try:
        height, width = map(int, shape)
    except (TypeError, ValueError):
        height = width = 0
    if height < 1 or width < 1:
        raise ValueError(f"image shape is {shape!r}; expected (height, width), such as (40, 30)")
    return height, width

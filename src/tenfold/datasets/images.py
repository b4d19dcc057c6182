"""Images in folders, archives and single files: the only module here that imports Pillow."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np

from tenfold.datasets.locations import natural_key, readable_name, reading, regular, shortened
from tenfold.datasets.named_arrays import check_count
from tenfold.datasets.resizing import resize_images
from tenfold.datasets.tensor_dataset import TensorDataset

FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "PPM", "GIF", "WEBP")  # nothing else is opened
MOST_PIXELS = 2**26  # of one image: 8192 x 8192
MOST_BYTES = 2**30  # of one file in an archive
IMAGE_SUFFIXES = frozenset(
    {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)
SETS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}

Files = Mapping[str, Callable[[], Any]]  # by name below the folder: what Pillow can open


def read_image_folder(
    source: Path,
    *,
    resize: tuple[int, int] | None = None,
    grey: bool = True,
    background: float | None = None,
    labels: np.ndarray | None = None,
    labelled: bool = True,
    classes_from: str | None = None,
) -> TensorDataset:
    """A folder, or an archive of one, in which every subfolder is a class."""
    if background is not None and not 0 <= background <= 1:
        raise ValueError(f"background is {background!r}; expected 0 (black) to 1 (white)")
    notes: tuple[str, ...] = ()
    with _folder(source) if source.is_dir() else _archive(source) as files:
        names = list(files)
        if labelled and labels is None:
            labels, notes = _classes(source, names, classes_from)
        if not names:
            raise ValueError(f"{source} holds no images ({', '.join(sorted(IMAGE_SUFFIXES))})")
        stack: np.ndarray | None = None
        for position, name in enumerate(names):
            pixels = _read_one(source / name, files[name], grey, background)
            pixels = pixels if resize is None else resize_images(pixels[None], resize)[0]
            stack = np.empty((len(names), *pixels.shape)) if stack is None else stack
            if pixels.shape != stack.shape[1:]:
                raise ValueError(
                    f"images differ in size: {source / names[0]} is "
                    f"{stack.shape[1]}x{stack.shape[2]} and {source / name} is "
                    f"{pixels.shape[0]}x{pixels.shape[1]} (height x width); pass resize=(H, W) to "
                    "bring all to one size"
                )
            stack[position] = pixels
    told = {"sample_info": {"file": np.array(names)}, "notes": notes}
    return _dataset(source, stack, labels if labelled else None, grey, **told)


def image_sizes(source: Path) -> dict[str, tuple[int, int]]:
    """Height and width of every image of a folder or archive, by name."""
    with _folder(source) if source.is_dir() else _archive(source) as files:
        found = {}
        for name, content in files.items():
            with opened_image(source / name, content) as image:
                found[name] = (image.height, image.width)
    return found


def read_pages(
    source: Path,
    *,
    resize: tuple[int, int] | None = None,
    grey: bool = True,
    background: float | None = None,
    labels: np.ndarray | None = None,
    labelled: bool = True,
) -> TensorDataset:
    """The pages of one image, usually a TIFF file, each of which is a sample."""
    with opened_image(source, source) as image:
        stack: list[np.ndarray] = []
        for page in range(getattr(image, "n_frames", 1) if image.format == "TIFF" else 1):
            image.seek(page)
            _check_pixels(image)
            stack.append(_pixels(image, grey, background))
            if stack[page].shape != stack[0].shape:
                raise ValueError(
                    f"its pages differ in size: the first is {stack[0].shape[:2]} and page {page} "
                    f"is {stack[page].shape[:2]} (height, width); save them as files and resize"
                )
    if labelled and labels is None:
        raise ValueError(
            f"{source} holds samples only; pass labels=FILE, a file with one label per page, or "
            "labelled=False"
        )
    pages = np.stack(stack)
    pages = pages if resize is None else resize_images(pages, resize)
    return _dataset(source, pages, labels if labelled else None, grey)


def image_files(folder: Path) -> list[Path]:
    """All image files below a folder, in natural order."""
    found = [
        readable_name(file)
        for file in folder.rglob("*")
        if _is_image(file.relative_to(folder).as_posix()) and file.is_file()
    ]
    return sorted(found, key=lambda file: natural_key(file.relative_to(folder).as_posix()))


def _is_image(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = any(part.startswith((".", "__")) for part in path.parts)
    return path.suffix.lower() in IMAGE_SUFFIXES and not hidden


@contextmanager
def _folder(source: Path) -> Iterator[Files]:
    """The images of a folder, in natural order."""
    names = {file.relative_to(source).as_posix(): file for file in image_files(source)}
    yield {name: partial(regular, file) for name, file in names.items()}


@contextmanager
def _archive(source: Path) -> Iterator[Files]:
    """The images of a zip or tar file, in natural order; nothing is unpacked to the disk."""
    with ExitStack() as stack:
        with reading(source, "zip or tar archive"):
            is_zip = zipfile.is_zipfile(source)
            opened = zipfile.ZipFile if is_zip else tarfile.open
            whole: Any = stack.enter_context(opened(source))
            if is_zip:
                sizes = {one.filename: one.file_size for one in whole.infolist()}
            else:
                sizes = {one.name: one.size for one in whole.getmembers() if one.isfile()}
        names = {name.removeprefix("./"): name for name in sizes}
        kept = sorted(filter(_is_image, names), key=natural_key)
        member = whole.open if is_zip else whole.extractfile

        def content(name: str) -> IO[bytes]:
            if sizes[name] > MOST_BYTES:
                raise ValueError(f"it has {sizes[name]} bytes; at most {MOST_BYTES} are read")
            with member(name) as file:
                return io.BytesIO(file.read(MOST_BYTES))

        top = {name.partition("/")[0] for name in kept if "/" in name}
        if len(top) == 1 and all("/" in name for name in kept):  # one folder around all of it
            only = f"{next(iter(top))}/"
            if any(name.count("/") > 1 for name in kept):
                names = {name.removeprefix(only): names[name] for name in kept}
                kept = list(names)
        yield {name: partial(content, names[name]) for name in kept}


def _classes(
    source: Path, names: list[str], classes_from: str | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The class of each image: its folder, and what is to be said where folders lie in folders."""
    if classes_from not in (None, "first", "last"):
        raise ValueError(
            f"classes_from is {classes_from!r}; expected 'first' (the folders below {source}) or "
            "'last' (the deepest folders)"
        )
    filled = {name.partition("/")[0] for name in names if "/" in name}
    folders = [one.name for one in source.iterdir() if one.is_dir()] if source.is_dir() else []
    for folder in sorted(set(folders) - filled, key=natural_key):
        if not folder.startswith((".", "__")):
            raise ValueError(
                f"class folder {source / folder} holds no images "
                f"({', '.join(sorted(IMAGE_SUFFIXES))}); add some, or remove the folder"
            )
    loose = [name for name in names if "/" not in name]
    if len(loose) == len(names):
        raise ValueError(
            f"{source} has no subfolders ({len(loose)} images lie in it directly); put the images "
            "of each class into a subfolder named after the class, or pass labelled=False to "
            "score them"
        )
    if loose:
        raise ValueError(
            f"{source}: {len(loose)} images lie beside the class folders: {shortened(loose)}; put "
            "them into the folder of their class, or elsewhere"
        )
    parents = [name.split("/")[:-1] for name in names]
    first, last = [parts[0] for parts in parents], [parts[-1] for parts in parents]
    if classes_from is not None or max(map(len, parents)) == 1:
        return np.array(last if classes_from == "last" else first), ()
    levels = {len(parts) for parts in parents}
    above = sorted({part for parts in parents for part in parts[:-1]}, key=natural_key)
    deepest = sorted(set(last), key=natural_key)
    if len(levels) == 1 and {part.lower() for part in above} <= SETS:
        note = f"the classes are the deepest folders: {shortened(deepest)}; those above, "
        return np.array(last), (f"{note}{shortened(above)}, were taken together",)
    raise ValueError(
        f"{source} has folders in folders: {shortened(sorted(set(first), key=natural_key))} and "
        f"inside {shortened(deepest)}; pass classes_from='first' or classes_from='last' to say "
        "which are the classes"
    )


def _dataset(
    source: Path, X: Any, labels: np.ndarray | None, grey: bool, **told: Any
) -> TensorDataset:
    if labels is not None:
        check_count(source, len(X), labels)
    return TensorDataset(
        X,
        labels,
        name=source.resolve().name if source.is_dir() else source.name.partition(".")[0],
        description=f"{len(X)} images from {source.resolve().name}, pixels in [0, 1]"
        + ("; labels: names of folders." if "sample_info" in told and labels is not None else "."),
        mode_names=("row", "column") if grey else ("row", "column", "channel"),
        **told,
    )


def read_image(file: Path, *, grey: bool = True, background: float | None = None) -> np.ndarray:
    """Read one image as float64 in [0, 1], shape (H, W) or (H, W, 3).

    An image that carries an orientation is turned the way a viewer would show it.
    """
    return _read_one(file, lambda: regular(file), grey, background)


def _read_one(
    file: Path, content: Callable[[], Any], grey: bool, background: float | None
) -> np.ndarray:
    with opened_image(file, content) as image:
        pages = getattr(image, "n_frames", 1)
        if image.format == "TIFF" and pages > 1:
            raise ValueError(
                f"it has {pages} pages, and a file in a folder is one sample; read the file itself "
                "with load, or save a file per page"
            )
        return _pixels(_pillow().ImageOps.exif_transpose(image), grey, background)


@contextmanager
def opened_image(file: Path, content: Any) -> Iterator[Any]:
    """An image of one of `FORMATS`, known by its content; else a ValueError that names the file.

    Parameters
    ----------
    file : Path
        Its name.
    content : path or callable
        Where it is, or what opens it.
    """
    pillow = _pillow()
    try:
        place = content() if callable(content) else content
        with pillow.Image.open(place, formats=FORMATS) as image:
            _check_pixels(image)
            yield image
    except pillow.UnidentifiedImageError as error:
        raise ValueError(
            f"cannot read {file} as an image: its content is none of {', '.join(FORMATS)}; save it "
            "as one of these"
        ) from error
    except Exception as error:
        if str(file) in str(error):
            raise
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


def _pillow() -> Any:
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError as error:
        raise ImportError('images need Pillow: pip install "tenfold[data]"') from error
    return PIL

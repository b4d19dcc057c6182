"""Folders of images."""

import io
import os
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

from tenfold.datasets import load


def test_classes_are_subfolders_in_natural_order(image_folder):
    data = load(image_folder)
    assert data.X.shape == (6, 6, 5)
    assert data.y.tolist() == ["s1", "s1", "s2", "s2", "s10", "s10"]
    assert data.sample_info["file"].tolist()[:3] == ["s1/1.png", "s1/2.png", "s2/1.png"]
    assert data.name == "pets"


def test_pixels_are_grey_levels_from_0_to_1(image_folder):
    data = load(image_folder)
    stored = np.asarray(Image.open(image_folder / "s2" / "2.png"))
    np.testing.assert_array_equal(data.X[3], stored / 255)


def test_colour_keeps_three_channels(tmp_path, write_image):
    pixels = np.random.default_rng(0).integers(0, 256, (4, 3, 3))
    write_image(tmp_path / "a" / "1.png", pixels)
    data = load(tmp_path, grey=False)
    np.testing.assert_array_equal(data.X[0], pixels / 255)
    assert data.mode_names == ("row", "column", "channel")


def test_a_grey_image_read_in_colour_has_three_equal_channels(image_folder):
    X = load(image_folder, grey=False).X
    assert X.shape == (6, 6, 5, 3)
    assert np.ptp(X, axis=3).max() == 0


@pytest.mark.parametrize("grey", [True, False])
def test_sixteen_bits_per_pixel_are_not_clipped(tmp_path, grey):
    (tmp_path / "a").mkdir()
    deep = np.array([[0, 257, 65535]], dtype=np.uint16)
    Image.fromarray(deep).save(tmp_path / "a" / "1.png")
    X = load(tmp_path, grey=grey).X[0]
    np.testing.assert_allclose(X if grey else X[..., 2], deep / 65535, rtol=1e-15)


@pytest.mark.parametrize("grey", [True, False])
def test_real_numbers_from_0_to_1_are_kept(tmp_path, grey):
    (tmp_path / "a").mkdir()
    real = np.array([[0, 0.3, 1]], dtype=np.float32)
    Image.fromarray(real).save(tmp_path / "a" / "1.tif")
    X = load(tmp_path, grey=grey).X[0]
    np.testing.assert_array_equal(X if grey else X[..., 2], real)


@pytest.mark.parametrize(
    ("pixels", "said"),
    [
        (np.array([[0, 255]], dtype=np.float32), "real numbers from 0 to 255; expected 0 to 1;"),
        (np.array([[-0.1, 1]], dtype=np.float32), "real numbers from -0.1 to 1;"),
        (np.array([[0, np.nan]], dtype=np.float32), "real numbers from nan to nan;"),
        (np.array([[0, 70000]], dtype=np.int32), "whole numbers from 0 to 70000; .* 0 to 65535;"),
        (np.array([[-1, 5]], dtype=np.int32), "whole numbers from -1 to 5;"),
    ],
)
def test_pixels_beyond_their_range_are_refused(tmp_path, pixels, said):
    (tmp_path / "a").mkdir()
    Image.fromarray(pixels).save(tmp_path / "a" / "1.tif")
    with pytest.raises(ValueError, match=rf"cannot read .*1\.tif as an image: .* are {said}"):
        load(tmp_path)


def test_an_image_is_turned_as_a_viewer_would(tmp_path):
    (tmp_path / "a").mkdir()
    image = Image.fromarray(np.array([[0, 255, 255]], dtype=np.uint8))
    exif = image.getexif()
    exif[0x0112] = 6  # the camera was turned by a quarter
    image.save(tmp_path / "a" / "1.png", exif=exif)
    assert load(tmp_path).X[0].tolist() == [[0.0], [1.0], [1.0]]
    single = load(tmp_path / "a" / "1.png", labelled=False)
    assert single.X[0].tolist() == [[0.0], [1.0], [1.0]]


def test_mixed_sizes_name_both_files_and_the_way_out(image_folder, write_image):
    odd = write_image(image_folder / "s2" / "2.png", np.zeros((7, 5)))
    with pytest.raises(ValueError, match="samples differ in size") as error:
        load(image_folder)
    said = str(error.value)
    assert f"{image_folder / 's1' / '1.png'} is 6x5" in said
    assert f"{odd} is 7x5" in said
    assert "resize=(H, W)" in said
    assert load(image_folder, resize=(6, 5)).X.shape == (6, 6, 5)


@pytest.mark.parametrize("content", [b"", b"not an image", None])
def test_an_unreadable_image_is_named(image_folder, content):
    bad = image_folder / "s10" / "2.png"
    bad.write_bytes(bad.read_bytes()[:40] if content is None else content)
    with pytest.raises(ValueError, match=r"cannot read .*s10.2\.png as an image"):
        load(image_folder)


@pytest.mark.parametrize("labelled", [True, False])
def test_a_name_that_is_not_utf8_is_refused(image_folder, labelled):
    latin = os.fsencode(image_folder) + b"/caf\xe9"
    try:
        os.rename(image_folder / "s2", latin)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    with pytest.raises(ValueError, match=r"caf\\xe9.[12]\.png is not UTF-8; rename it"):
        load(image_folder, labelled=labelled)
    with pytest.raises(ValueError, match=r"caf\\xe9 is not UTF-8; rename it"):
        load(os.fsdecode(latin), labelled=False)


def test_an_empty_class_is_named(image_folder):
    (image_folder / "s3").mkdir()
    for path in (image_folder, image_folder / "s3"):
        with pytest.raises(ValueError, match=r"s3 holds no images"):
            load(path)


def test_images_without_subfolders_are_not_classes(image_folder):
    with pytest.raises(ValueError, match=r"2 of 2 files lie in no class folder"):
        load(image_folder / "s1")


def test_unlabelled_images_can_lie_anywhere(image_folder):
    assert load(image_folder / "s1", labelled=False).y is None
    assert len(load(image_folder, labelled=False)) == 6


# ── Images of strangers ─────────────────────────────────────────────────────────────────────────


def test_what_is_named_as_an_image_and_is_none_of_ours_is_not_opened(tmp_path, monkeypatch):
    """Pillow would start Ghostscript for PostScript, whatever the name of the file."""
    (tmp_path / "a").mkdir()
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"
    (tmp_path / "a" / "1.png").write_bytes(eps)
    started = []
    monkeypatch.setattr("subprocess.Popen", lambda *args, **more: started.append(args))
    with pytest.raises(ValueError, match=r"1\.png as an image: its content is none of PNG, JPEG"):
        load(tmp_path)
    assert started == []


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "bmp", "pgm", "gif", "webp"])
def test_the_content_decides_and_not_the_name(tmp_path, suffix):
    (tmp_path / "a").mkdir()
    grey = np.full((4, 4), 200, dtype=np.uint8)
    Image.fromarray(grey).save(tmp_path / f"image.{suffix}")
    (tmp_path / f"image.{suffix}").rename(tmp_path / "a" / "1.ppm")
    np.testing.assert_allclose(load(tmp_path).X[0], 200 / 255, atol=2 / 255)


def test_few_bytes_do_not_become_gigabytes(tmp_path):
    (tmp_path / "a").mkdir()
    Image.new("1", (9000, 9000)).save(tmp_path / "a" / "1.png")
    assert (tmp_path / "a" / "1.png").stat().st_size < 20_000
    with pytest.raises(ValueError, match=r"1\.png .*it declares 9000 x 9000 pixels; at most"):
        load(tmp_path)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparent_pixels_need_a_background(tmp_path, mode):
    (tmp_path / "a").mkdir()
    pixels = np.zeros((2, 2, 4), dtype=np.uint8)
    pixels[0, :, 3] = 255  # black above, and nothing below
    image = Image.fromarray(pixels)
    if mode == "P":
        image = Image.fromarray(np.array([[0, 0], [1, 1]], dtype=np.uint8), mode="P")
        image.putpalette([0, 0, 0, 90, 90, 90])
        image.save(tmp_path / "a" / "1.png", transparency=1)
    else:
        image.convert(mode).save(tmp_path / "a" / "1.png")
    with pytest.raises(ValueError, match=r"it has transparent pixels; pass background=1"):
        load(tmp_path)
    assert load(tmp_path, background=1).X[0].tolist() == [[0, 0], [1, 1]]
    assert load(tmp_path, background=0, grey=False).X.max() == 0
    with pytest.raises(ValueError, match="background is 7; expected 0"):
        load(tmp_path, background=7)


def test_opaque_alpha_palettes_and_cmyk_are_their_colours(tmp_path):
    (tmp_path / "a").mkdir()
    colours = np.array([[[255, 0, 0], [0, 0, 255]]], dtype=np.uint8)
    image = Image.fromarray(colours)
    image.convert("RGBA").save(tmp_path / "a" / "1.png")
    image.quantize(4).save(tmp_path / "a" / "2.png")
    image.convert("CMYK").save(tmp_path / "a" / "3.tif")
    for read in load(tmp_path, grey=False).X:
        np.testing.assert_allclose(read, colours / 255, atol=1 / 255)
    np.testing.assert_allclose(np.ptp(load(tmp_path).X, axis=0), 0, atol=2 / 255)


@pytest.mark.parametrize("suffix", ["gif", "webp", "png"])
def test_the_first_frame_stands_for_an_animation(tmp_path, suffix):
    (tmp_path / "a").mkdir()
    frames = [Image.new("L", (4, 4), level) for level in (255, 0)]
    options = {"save_all": True, "append_images": frames[1:]}
    frames[0].save(tmp_path / "a" / f"1.{suffix}", **options)
    assert load(tmp_path).X.min() > 0.98


def test_a_stack_in_a_folder_is_not_one_sample(tmp_path):
    (tmp_path / "a").mkdir()
    pages = [Image.new("L", (4, side)) for side in (4, 5)]  # so that reading them all would fail
    pages[0].save(tmp_path / "a" / "1.tif", save_all=True, append_images=pages[1:])
    with pytest.raises(ValueError, match=r"it has 2 pages, .* save a file per page"):
        load(tmp_path)


# ── Folders in folders, archives, single files ──────────────────────────────────────────────────


@pytest.fixture
def nested(tmp_path, write_image):
    def write(*names):
        for number, name in enumerate(names):
            write_image(tmp_path / "set" / name, np.full((3, 2), number))
        return tmp_path / "set"

    return write


def test_folders_named_as_sets_are_not_classes(nested):
    data = load(nested("train/cat/1.png", "train/dog/2.png", "val/cat/3.png", "val/dog/4.png"))
    assert data.y.tolist() == ["cat", "dog", "cat", "dog"]
    assert data.notes[0].startswith("the classes are the deepest folders: cat, dog; those above")


def test_other_folders_in_folders_are_asked_about(nested):
    folder = nested("ann/monday/1.png", "ann/friday/2.png", "bo/monday/3.png", "bo/friday/4.png")
    with pytest.raises(ValueError, match=r"folders in folders: ann, bo and inside friday, monday"):
        load(folder)
    assert load(folder, classes_from="first").y.tolist() == ["ann", "ann", "bo", "bo"]
    assert set(load(folder, classes_from="last").y) == {"friday", "monday"}
    assert set(load(folder.parent, classes_from="first").y) == {"set"}


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
@pytest.mark.parametrize("around", ["", "pets/"])
def test_an_archive_of_images_is_its_folder(image_folder, tmp_path, kind, around):
    path = tmp_path / f"pets.{kind}"
    files = {f.relative_to(image_folder).as_posix(): f for f in image_folder.rglob("*.*")}
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, file in files.items():
                archive.write(file, around + name)
    else:
        with tarfile.open(path, "w:gz" if kind.endswith("gz") else "w") as archive:
            for name, file in files.items():
                archive.add(file, around + name, recursive=False)
            link = tarfile.TarInfo("s1/9.png")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
    data, folder = load(path), load(image_folder)
    np.testing.assert_array_equal(data.X, folder.X)
    for found in (data, load(path, classes_from="first")):
        assert found.y.tolist() == folder.y.tolist()
        assert found.notes == ("all files lie in pets, which is no class",) * bool(around)


def test_a_damaged_archive_is_named(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a/1.png", b"not an image" * 999)
    whole = content.getvalue()
    (tmp_path / "a.zip").write_bytes(whole)
    (tmp_path / "b.zip").write_bytes(whole[:40])
    (tmp_path / "c.zip").write_bytes(whole[:27] + b"\x20" + whole[28:])  # a name of 8 kB
    for name in ("a.zip", "b.zip", "c.zip"):
        with pytest.raises(ValueError, match=name) as caught:
            load(tmp_path / name)
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("deep", [False, True])
def test_pages_of_a_tiff_file_are_samples(tmp_path, deep):
    top, dtype = (65535, np.uint16) if deep else (255, np.uint8)
    levels = np.random.default_rng(0).integers(0, top, (6, 4, 3)).astype(dtype)
    first, *others = map(Image.fromarray, levels)
    path = tmp_path / "stack.tif"
    first.save(path, save_all=True, append_images=others)
    data = load(path, labels=list("aabbcc"))
    np.testing.assert_array_equal(data.X, levels / top)
    assert load(path, labels=list("aabbcc"), resize=(2, 2)).X.shape == (6, 2, 2)
    with pytest.raises(ValueError, match=r"stack\.tif: it holds samples only; pass labels=FILE"):
        load(path)
    with pytest.raises(ValueError, match="has 6 samples along axis 0, but there are 5 labels"):
        load(path, labels=list("aabbc"))
    first.save(path, save_all=True, append_images=[Image.new(first.mode, (5, 4))])
    with pytest.raises(ValueError, match=r"stack\.tif .*its pages differ in size"):
        load(path, labelled=False)


@pytest.mark.parametrize("written", [str, lambda name: name[:-4]], ids=["names", "no endings"])
def test_a_table_of_labels_that_names_files_is_read_by_these(tmp_path, written):
    folder = tmp_path / "flat"
    folder.mkdir()
    names = [f"{i}.png" for i in range(1, 13)]
    for i, name in enumerate(names, start=1):
        Image.fromarray(np.full((8, 8), 10 * i, np.uint8)).save(folder / name)
    rows = [f"{written(name)},{'odd' if int(name[:-4]) % 2 else 'even'}" for name in sorted(names)]
    table = tmp_path / "labels.csv"
    table.write_text("\n".join(["file,label", *rows]))
    data = load(folder, labels=table)
    assert data.sample_info["file"].tolist() == names
    assert data.y.tolist() == ["odd", "even"] * 6
    table.write_text("\n".join(["file,label", "other.png,odd", *rows[1:]]))
    if written is str:
        with pytest.raises(ValueError, match=r"names files, but not 1\.png"):
            load(folder, labels=table)


def test_a_table_whose_column_of_labels_is_named_has_names_in_its_first_row(tmp_path):
    folder = tmp_path / "flat"
    folder.mkdir()
    for i in range(6):
        Image.fromarray(np.full((8, 8), 10 * i, np.uint8)).save(folder / f"{i}.png")
    table = tmp_path / "labels.csv"
    rows = [f"{i}.png,{'label' if i % 2 else 'none'}" for i in reversed(range(6))]
    table.write_text("\n".join(["file,label", *rows]))  # a label is called as its column is
    assert load(folder, labels=f"{table}::label").y.tolist() == ["none", "label"] * 3


def test_names_that_files_of_several_folders_share_do_not_tell_them_apart(tmp_path):
    for person in "ab":
        (tmp_path / "faces" / person).mkdir(parents=True)
        for i in range(2):
            image = Image.fromarray(np.full((8, 8), 10 * i, np.uint8))
            image.save(tmp_path / "faces" / person / f"{i}.png")
    table = tmp_path / "labels.csv"
    table.write_text("file,label\nb/1.png,p\na/0.png,q\nb/0.png,q\na/1.png,p")
    assert load(tmp_path / "faces", labels=table).y.tolist() == ["q", "p", "q", "p"]
    table.write_text("file,label\n0.png,p\n1.png,q\n2.png,p\n3.png,q")
    with pytest.raises(ValueError, match=r"have one name; write their paths, such as a/0\.png"):
        load(tmp_path / "faces", labels=table)

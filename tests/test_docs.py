"""The pages say what is so: their code runs, their names exist, and nothing public is missing."""

import importlib
import inspect
import os
import re
import runpy
import sys
import types
from pathlib import Path

import pytest
from sklearn.datasets import load_digits

import tenfold
import tenfold.app.report
import tenfold.datasets
import tenfold.plots
from tenfold.datasets import load_faces_subset
from tenfold.methods import ALL_METHODS

ROOT = Path(__file__).parents[1]
DOCS, SOURCE = ROOT / "docs", ROOT / "src" / "tenfold"
if not DOCS.is_dir():
    pytest.skip("the pages are not part of an sdist", allow_module_level=True)
sys.path.insert(0, str(DOCS / "_ext"))

import page_code  # noqa: E402

BUILT = ("_build", "auto_examples", "generated")
PAGES = sorted(
    page for page in DOCS.rglob("*.md") if not set(BUILT) & set(page.relative_to(DOCS).parts)
)
LONG = ("command_line", "sites", "recipes", "deciding")  # pages with much to run
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def name_of(path):
    return str(path.relative_to(ROOT))


def test_the_tests_that_hold_the_promises_exist():
    """A promise whose tests were renamed or deleted is none."""
    named = set(re.findall(r"`(tests/[^`]+)`", (DOCS / "promises.md").read_text(encoding="utf-8")))
    assert len(named) > 10
    assert sorted(name for name in named if not (ROOT / name).is_file()) == []


@pytest.mark.parametrize("path", TEXTS, ids=name_of)
def test_pages_do_not_name_test_functions(path):
    """They change with every rebuilding; a page names the law, or the file of its tests."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert re.findall(r"`test_\w+`", text) == []


# Phrases that readers stumbled over; each has a plain one.
STUMBLES = """in the manner of scikit-learn|scikit-learn all the way|promised rate|right answers
nothing to choose|best row stands first|any cut of a stream|forgets on request|lie apart
when it must be quick|is no linear method|how little a few samples|without bounds|other shares will
dealt to folds|Nearly nothing is switched|told apart better so|keep its word|Whoever asks
A class more costs|minds that|has besides|were planted|no contestant|how it was fed|a pixel aside
begins is chance|What belongs together|say the same as another|orthonormal, or a metric"""


@pytest.mark.parametrize("path", [*TEXTS, *EXAMPLES, SOURCE], ids=name_of)
def test_pages_are_in_plain_english(path):
    pattern = "|".join(re.escape(phrase) for phrase in re.split(r"[|\n]", STUMBLES))
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    for file in files:
        text = " ".join(file.read_text(encoding="utf-8").split())
        assert re.findall(pattern, text, re.I) == [], file


# ── What a page shows, runs ─────────────────────────────────────────────────────────────────────


def with_code(pages):
    there = [
        page
        for page in pages
        if any(language != "console" for language, _ in page_code.blocks(page))
    ]
    return [
        pytest.param(page, marks=pytest.mark.long if page.stem in LONG else ()) for page in there
    ]


@pytest.mark.parametrize("page", with_code(PAGES), ids=name_of)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    """In an empty folder, Python and the command `tenfold` in the order of the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    # Blocks that define functions for other processes need a module that can be found again.
    module = types.ModuleType("__page__")
    monkeypatch.setitem(sys.modules, "__page__", module)
    for language, text in page_code.blocks(page):
        page_code.run(language, text, page, vars(module))
    close_figures()


def test_every_page_of_the_guide_has_a_picture_made_by_its_own_code():
    without = [
        page.name
        for page in (DOCS / "user_guide").glob("*.md")
        if page.stem != "index" and "{picture}" not in dict(page_code.blocks(page))
    ]
    assert without == []


def close_figures():
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.mark.long
def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    """Those that are quick, on a few images; all of them run on ORL in tests/cli."""
    monkeypatch.chdir(tmp_path)
    image = pytest.importorskip("PIL.Image")
    for number, (pixels, label) in enumerate(zip(*load_faces_subset(), strict=True)):
        if number % 10 == 0:
            folder = Path("faces", {"face": "s7", "other": "s8"}[label])
            folder.mkdir(parents=True, exist_ok=True)
            image.fromarray((255 * pixels).astype("uint8")).save(folder / f"{number}.png")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^ {4}(tenfold (?!compare).*)$", text, flags=re.M)
    assert len(commands) >= 4
    page_code.run_commands("\n".join(f"$ {command}" for command in commands))


# ── The API reference ───────────────────────────────────────────────────────────────────────────


def public_names():
    """Dotted names of all that is public: tenfold, its data sets, plots, report and export."""
    packages = (tenfold, tenfold.datasets, tenfold.plots, tenfold.app.report)
    names = [f"{package.__name__}.{name}" for package in packages for name in package.__all__]
    return [*names, "tenfold.files.onnx_export.to_onnx"]


def reference_names():
    """Dotted names that the API reference lists; Sphinx fills in the methods when it starts."""
    names, module = [f"tenfold.{M.__name__}" for M in ALL_METHODS], "tenfold"
    for line in (DOCS / "api" / "index.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r" {3}[A-Za-z][\w.]*", line):
            names.append(f"{module}.{line.strip()}")
    return names


def resolved(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def test_the_api_reference_lists_every_public_name_once():
    listed = reference_names()
    assert "{include} ../generated/methods.md" in (DOCS / "api" / "index.md").read_text("utf-8")
    assert len(listed) == len(set(listed))
    assert set(public_names()) - set(listed) == set()
    for name in listed:
        resolved(name)


def test_every_method_stands_in_the_guide_and_in_the_table():
    """By way of a directive that lists ALL_METHODS; test_contributing.py sees that it does."""
    for page in ("which_method.md", "user_guide/methods.md"):
        assert "```{methods}\n```" in (DOCS / page).read_text(encoding="utf-8")


# Opinions of numpydoc that are not ours. GL01, GL02, GL03: where quotes and blank lines stand, the
# business of ruff, as is a missing docstring (GL08). SS05: a verb, where a noun says it. SS06: a
# summary of one line. ES01, SA01, SA04, EX01: sections that not everything needs; examples are
# asked for below. PR08, PR09, RT03 to RT05: capitals and full stops around shapes and labels.
UNWANTED = {"GL01", "GL02", "GL03", "GL08", "SS05", "SS06", "ES01", "SA01", "SA04", "EX01"}
UNWANTED |= {"PR08", "PR09", "RT03", "RT04", "RT05"}
# It says what it adds to `TensorDataset`.
ALLOWED = {"tenfold.datasets.synthetic.SyntheticTensors": {"PR01"}}


def documented():
    """Public names whose docstrings are theirs: classes, functions and public methods."""
    found = {}
    for name in public_names():
        thing = resolved(name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            found[name] = f"{thing.__module__}.{thing.__qualname__}"
        if inspect.isclass(thing):
            for method, value in inspect.getmembers(thing, inspect.isroutine):
                own = str(getattr(value, "__module__", None)).startswith("tenfold")
                if own and not method.startswith("_"):
                    found[f"{name}.{method}"] = f"{value.__module__}.{value.__qualname__}"
    return found


def test_public_docstrings_pass_numpydoc():
    """A method may have a docstring of one line, when that says it all."""
    validate = pytest.importorskip(
        "numpydoc.validate", reason="numpydoc comes with `make setup-docs`"
    ).validate
    complaints = {}
    for target in sorted(set(documented().values())):
        checked = validate(target)
        one_line = checked["type"] != "type" and target.split(".")[-2].strip("_")[0].isupper()
        unwanted = UNWANTED | ALLOWED.get(target, set())
        if one_line and "\n" not in checked["docstring"].strip():
            unwanted = unwanted | {"PR01", "RT01", "YD01", "SS02"}
        errors = [f"{code}: {text}" for code, text in checked["errors"] if code not in unwanted]
        if errors:
            complaints[target] = errors
    assert complaints == {}


@pytest.mark.parametrize("name", public_names())
def test_a_public_name_has_an_example(name):
    thing = resolved(name)
    if not inspect.isclass(thing) and not inspect.isroutine(thing):
        pytest.skip("a constant")
    if inspect.isclass(thing) and issubclass(thing, Warning):
        pytest.skip("what raises it has the example")
    if name.removeprefix("tenfold.datasets.") in {"SyntheticTensors"}:
        pytest.skip("what a loader returns; the loader has the example")
    assert ">>> " in inspect.getdoc(thing)


# ── The architecture page ───────────────────────────────────────────────────────────────────────


def tour():
    """Modules that the tour names, with the members of ``name.*``."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    lines = [
        line for block in re.findall(r"```\{tour\}\n(.*?)```", text, re.S) for line in block.split()
    ]
    named = []
    for line in lines:
        members = (
            sorted(SOURCE.joinpath(*line[:-2].split(".")).glob("[!_]*.py"))
            if line.endswith(".*")
            else []
        )
        named += [f"{line[:-2]}.{path.stem}" for path in members] or [line]
    return named


def test_the_tour_names_every_module_exactly_once():
    """Folders stand in the table of the floors, which is read from the import contract."""
    files = SOURCE.rglob("[!_]*.py")
    modules = {".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in files}
    named = tour()
    assert sorted(name for name in set(named) if named.count(name) > 1) == []
    assert modules - set(named) == set(), "add these to the tour in docs/architecture.md"
    assert set(named) - modules == set()


@pytest.mark.parametrize(
    ("number", "model"),
    [(0, tenfold.MCSDA((2, 2), positive=3)), (1, tenfold.ProbabilisticLDA())],
    ids=["MCSDA", "ProbabilisticLDA"],
)
def test_a_fit_calls_what_the_data_flow_names(number, model):
    crossings = runpy.run_path(str(DOCS.parent / "benchmarks" / "crossings.py"))
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    block = re.findall(r"```\{dataflow\}\n(.*?)```", text, re.S)[number]
    names = re.findall(r"^->.*\| *(\S+)$", block, flags=re.M)
    assert len(names) >= 5
    digits = load_digits()
    X, y = digits.images[:200], digits.target[:200]
    seen = crossings["walk"](lambda: model.fit(X, y).decision_function(X))
    assert {f"tenfold.{name}" for name in names} - seen.functions == set()


def included():
    """(page, file, options) of all code that pages take from the source."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for file, options in re.findall(
            r"^```\{literalinclude\} (\S+)\n(.*?)^```$", text, re.M | re.S
        ):
            pairs = re.findall(r"^:([\w-]+): *(.*)$", options, flags=re.M)
            found.append((page, file, {k: v.strip("\"'") for k, v in pairs}))
    return found


@pytest.mark.parametrize(("page", "file", "options"), included())
def test_the_code_that_a_page_includes_is_there(page, file, options):
    """Without Sphinx: the file exists, and so do the lines at which the piece starts and ends."""
    text = (page.parent / file).resolve().read_text(encoding="utf-8")
    start = options.get("start-at", "")
    assert start in text
    assert options.get("end-at", "") in text[text.index(start) :]
    assert f"def {options.get('pyobject', '').rpartition('.')[2]}" in text


# ── Links ───────────────────────────────────────────────────────────────────────────────────────

# No link is fetched. A host that is not listed here is either a typing error or a decision.
HOSTS = {"github.com", "keepachangelog.com", "scikit-learn.org", "semver.org"}


def test_links_lead_to_hosts_that_are_known():
    links = {
        (name_of(path), link)
        for path in [*TEXTS, *EXAMPLES]
        for link in re.findall(r"https?://[^\s)>\"'`]+", path.read_text(encoding="utf-8"))
    }
    unknown = [(file, link) for file, link in links if link.split("/")[2] not in HOSTS]
    assert unknown == []


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_links_to_files_lead_to_files(page):
    """Also in README and CONTRIBUTING, which Sphinx sees only in part."""
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("auto_examples/"):
            place = (page.parent / target).resolve()
            made = (
                "auto_examples" in place.parts and (ROOT / "examples" / f"{place.stem}.py").exists()
            )
            assert place.exists() or made, f"{name_of(page)} links to {target}"


def test_the_built_site_fetches_nothing():
    """Scripts, styles, fonts and pictures of the built pages are all their own."""
    site = DOCS / "_build" / "html"
    if not (site / "index.html").exists():
        pytest.skip("make docs has not run here")
    foreign = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["'](?:https?:)?//""")
    loaded = [
        str(page.relative_to(site))
        for page in site.rglob("*.html")
        if foreign.search(page.read_text(encoding="utf-8"))
    ]
    assert loaded == []
    styles = [style for style in site.rglob("*.css") if "@import url(http" in style.read_text()]
    assert styles == []
    assert os.path.getsize(site / "index.html") > 5000

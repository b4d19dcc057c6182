"""Laws of the house: what style.md asks of the tree and a machine can see."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tenfold

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tenfold"
EXPERIMENTS = sorted((ROOT / "paper").rglob("*.py"))
MODULES = [*sorted(SOURCE.rglob("*.py")), *EXPERIMENTS]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = PROJECT["tool"]["importlinter"]["contracts"]

BESIDE = ("benchmarks", "docs", "examples", "recipe")

CORE = {"numpy", "scipy", "sklearn"}
# scikit-learn cannot be installed without these, so they come with the core.
WITH_CORE = {"joblib", "threadpoolctl"}

needs_make = pytest.mark.skipif(
    shutil.which("make") is None or sys.platform == "win32", reason="needs make and a shell"
)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def contract(name_starts: str) -> dict:
    (found,) = (c for c in CONTRACTS if c["name"].startswith(name_starts))
    return found


def imported_packages(path: Path) -> set[str]:
    """Top-level packages that a file imports anywhere, also inside functions."""
    packages = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            packages.add(node.module.partition(".")[0])
    return packages


def third_party(path: Path) -> set[str]:
    return imported_packages(path) - set(sys.stdlib_module_names) - {"tenfold", "paper"}


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def tracked_files() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so nothing is tracked")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


# ── Rooms ───────────────────────────────────────────────────────────────────────────────────────


def test_a_function_fits_on_a_screen():
    """Without its docstring, which may list as many parameters as there are."""
    lengths = {
        f"{path.name}: {f.name}": f.end_lineno - f.lineno + 1 - docstring_lines(f)
        for path in MODULES
        for f in functions(path)
    }
    assert {name: n for name, n in lengths.items() if n > 50} == {}


def docstring_lines(function) -> int:
    first = function.body[0]
    return first.end_lineno - first.lineno + 1 if ast.get_docstring(function) else 0


def test_a_module_is_named_after_what_it_holds():
    names = {path.stem for path in MODULES}
    assert names & {"utils", "util", "helpers", "misc", "common"} == set()


def test_a_fit_goes_no_farther_than_the_page_says():
    """`benchmarks/crossings.py` counts the functions that a fit meets; the page has the count."""
    page, script = ROOT / "docs" / "architecture.md", ROOT / "benchmarks" / "crossings.py"
    if not (page.is_file() and script.is_file()):
        pytest.skip("a source distribution has neither")
    row = re.search(r"^\| `MCSDA\(.*?\)` \| \d+ \| (\d+) \|", page.read_text("utf-8"), re.M)
    told = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    met = re.search(r"^(\d+) functions:", told.stdout, re.M)
    assert int(met[1]) <= int(row[1])


def test_what_stands_beside_the_package_imports_names_that_are_there():
    """Benchmarks, pictures of the pages and experiments, most of which no test runs."""
    for path in (*EXPERIMENTS, *(f for at in BESIDE for f in sorted((ROOT / at).glob("*.py")))):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tenfold"):
                names = ", ".join(alias.name for alias in node.names)
                exec(f"from {node.module} import {names}", {})


# ── Who may import whom ─────────────────────────────────────────────────────────────────────────


def test_the_import_contract_has_no_exemptions():
    exemptions = {"ignore_imports", "unmatched_ignore_imports_alerting", "exhaustive_ignores"}
    assert [c["name"] for c in CONTRACTS if exemptions & c.keys()] == []
    assert contract("Data goes down")["exhaustive"] is True


def test_mathematics_is_numpy_and_scipy_only():
    for folder in ("linalg", "statistics", "optimization", "gaussian"):
        for path in (SOURCE / folder).rglob("*.py"):
            assert third_party(path) <= {"numpy", "scipy"}, path.name


def test_every_edge_library_has_one_home():
    homes = {
        package: c["allowed_importers"]
        for c in CONTRACTS
        if c["type"] == "protected"
        for package in c["protected_modules"]
    }
    used = set().union(*map(third_party, MODULES)) - CORE - WITH_CORE
    assert used - homes.keys() == set(), "add a protected contract to pyproject.toml"
    # Labelled arrays are read as data, and what was learned is given as such. Peers stand in the
    # experiments' tables.
    several = {package: home for package, home in homes.items() if len(home) != 1}
    assert {name: home for name, home in several.items() if "paper." not in home[0]} == {
        "xarray": ["tenfold.files.labelled_arrays", "tenfold.datasets.netcdf"],
    }


CORE_INSTALL = """
import sys

class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {optional}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing)
from {package} import *
"""


@pytest.mark.parametrize(("package", "status"), [("tenfold", 0), ("rich", 1)])
def test_import_tenfold_needs_the_core_alone(package, status):
    """With every extra taken away, as after a plain `pip install tenfold`, the import works."""
    # To look at what was loaded would not do: scikit-learn loads pandas, and with it pyarrow,
    # wherever they are installed.
    code = CORE_INSTALL.format(optional=optional_packages(), package=package)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == status, run.stderr


def optional_packages() -> set[str]:
    """Import names of all extras, as pyproject.toml lists them."""
    import_names = {"scikit-image": "skimage", "pillow": "PIL"}
    extras = PROJECT["project"]["optional-dependencies"].values()
    wanted = {re.match(r"[\w-]+", line).group() for extra in extras for line in extra}
    return {import_names.get(name, name) for name in wanted - {"tenfold"}}


# ── Machinery ───────────────────────────────────────────────────────────────────────────────────


@needs_make
@pytest.mark.parametrize("failing", ["none", "orl", "small"])
def test_no_failure_of_the_tables_is_swallowed(tmp_path, failing):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n[ "$3" != {failing} ]\n')
    python.chmod(0o755)
    (tmp_path / "stamps").mkdir()
    for stamp in ("core", "test", "neural"):
        (tmp_path / "stamps" / stamp).touch()
    words = ["make", f"VENV={tmp_path}", "RUNS=here", "ARGS=--quick", "tables"]
    run = subprocess.run(words, cwd=ROOT, env={**os.environ, "TENFOLD_DATA": "there"})
    assert (run.returncode != 0) == (failing != "none")
    names = ["orl", "pie", "fi2010", "fi2010_published", "gait", "small"]
    asked = names[: names.index(failing) + 1] if failing in names else names
    assert (tmp_path / "asked").read_text().splitlines() == [
        f"-m paper {name} --data there --out here/{name} --quick" for name in asked
    ]


@needs_make
@pytest.mark.skipif(not (ROOT / ".ci").exists(), reason="a source distribution has no .ci")
@pytest.mark.parametrize("failing", ["none", "tables"])
def test_no_failure_of_a_section_is_swallowed(tmp_path, failing):
    whole = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    head, mark, _ = whole.partition("\nneed python3")
    (section,) = re.findall(r"section 'quick tables' .*", whole)
    assert mark
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_text(f"{head}\n{section}\nexit $failed")
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\n[ "$1" != {failing} ]\n')
    make.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    run = subprocess.run(["bash", tmp_path / ".ci" / "run"], env={**os.environ, "PATH": path})
    assert run.returncode == (failing != "none")


@needs_make
def test_every_target_of_make_sets_itself_up():
    """In a tree without .venv, the first thing that a target which needs Python does is make it."""
    words = ["make", "-n", "VENV=not-there", "constraints"]
    plan = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert plan.index("-m venv not-there") < plan.index("pip install")


@needs_make
def test_the_numerical_tests_are_there():
    words = ["make", "-n", "test-kernels"]
    plan = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [word for word in plan.split() if word.startswith("tests/")]
    assert len(files) > 10
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_no_test_draws_from_a_generator_that_others_draw_from():
    """What it drew would depend on which tests ran before it, in the same process."""
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    assert {path.name: drawn for path in tests if (drawn := shared_generators(path))} == {}


def shared_generators(path: Path) -> set[str]:
    """Generators of a module that its functions use."""
    tree = parsed(path)
    shared = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and re.fullmatch(r"[\w.]*(default_rng|Random)\(\w*\)", ast.unparse(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    inside = {
        name.id
        for function in functions(path)
        for statement in function.body
        for name in ast.walk(statement)
        if isinstance(name, ast.Name)
    }
    return shared & inside


# ── What the outside sees ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("README.md", r"^Version (\S+?)[.,;]? "),
        ("CHANGELOG.md", r"^## \[?(\d\S*?)\]?(?: |$)"),
        ("CITATION.cff", r"^version: (\S+)$"),
    ],
)
def test_every_page_names_the_same_version(file, pattern):
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found is not None, f"{file} does not say which version it speaks of"
    assert found.group(1) == tenfold.__version__


def test_the_python_of_the_readme_runs():
    """That of CONTRIBUTING has a test of its own, test_contributing.py."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks, "README.md shows no code"
    namespace = {"__name__": "README.md"}
    for block in blocks:
        exec(compile(block, "<README.md>", "exec", dont_inherit=True), namespace)


def test_no_machine_paths_or_registry_hosts_are_committed():
    # Written in pieces, so that this file is not its own first finding.
    folders = [f"/{folder}/" for folder in ("work", "root", "home", "tmp", "farm", "Users")]
    hosts = ["pypi" + ".org", "files.python" + "hosted", "registry.npm" + "js", "deb.deb" + "ian"]
    # A folder counts where a path starts: not inside a longer one such as docs/home/.
    starts = rf"(?<![\w.~-])(?:{'|'.join(folders)})"
    forbidden = re.compile(rf"{starts}|{'|'.join(map(re.escape, hosts))}")
    findings = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in tracked_files()
        for number, line in enumerate(read_text(path).splitlines(), start=1)
        if forbidden.search(line)
    ]
    assert findings == []


def read_text(path: Path) -> str:
    """Return the text of a file, or nothing when it is a picture."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_no_data_is_committed():
    sizes = {str(path.relative_to(ROOT)): path.stat().st_size for path in tracked_files()}
    assert {name: size for name, size in sizes.items() if size > 500_000} == {}

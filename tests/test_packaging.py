"""What a release says of itself agrees: metadata, recipe and workflow; and it runs anywhere."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tenfold
from tenfold.datasets import load

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tenfold"
MODULES = sorted(SOURCE.rglob("*.py"))
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = WHOLE["project"]
PYTHONS = [
    line.rpartition(" ")[2]
    for line in PROJECT["classifiers"]
    if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
]

TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def yaml_of(*parts):
    yaml = pytest.importorskip("yaml")
    path = ROOT.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"a source distribution has no {'/'.join(parts)}")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


# ── Files that repeat what pyproject.toml says ──────────────────────────────────────────────────


def plain(line):
    """A requirement without the name of an extra in it and without spaces."""
    return re.sub(r"\[.*?\]|\s", "", line)


def test_the_classifiers_are_the_pythons_that_are_tested():
    assert PYTHONS == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    jobs = yaml_of(".github", "workflows", "tests.yml")["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == PYTHONS
    systems = jobs["tests"]["strategy"]["matrix"]["os"]
    assert {name.partition("-")[0] for name in systems} == {"ubuntu", "macos", "windows"}


@pytest.mark.parametrize("name", ["tests", "docs", "publish"])
def test_what_the_workflow_installs_and_runs_is_there(name):
    assert "workflow_dispatch" in str(yaml_of(".github", "workflows", f"{name}.yml"))
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"run: make ([\w-]+)", text):
        assert re.search(rf"^{target}:.*##", makefile, re.MULTILINE), target
    assert set(re.findall(r"--group (\w+)", text)) <= set(WHOLE["dependency-groups"])
    for extras in re.findall(r"\.\[([\w,]+)\]", text):
        assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    for file in re.findall(r"tests/[\w/]+\.py", text):
        assert (ROOT / file).exists(), file


def test_the_recipe_says_what_the_project_says():
    recipe = yaml_of("recipe", "recipe.yaml")
    assert recipe["context"]["name"] == PROJECT["name"]
    assert recipe["context"]["version"] == tenfold.__version__
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert [recipe["about"]["license_file"]] == PROJECT["license-files"]
    scripts = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["cli"]]
    run = [plain(line) for line in recipe["requirements"]["run"] if not line.startswith("python")]
    assert run == [plain(line) for line in wanted]
    (build,) = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"][
        "requires"
    ]
    assert plain(build) in map(plain, recipe["requirements"]["host"])


def test_the_recipe_builds_for_every_python_at_once():
    """No compiled code, so one package serves all."""
    assert yaml_of("recipe", "recipe.yaml")["build"]["noarch"] == "python"
    assert not [path for path in SOURCE.rglob("*") if path.suffix in (".so", ".pyx", ".c")]


def test_every_change_is_tested_and_its_pages_are_built():
    for name in ("tests", "docs"):
        workflow = yaml_of(".github", "workflows", f"{name}.yml")
        assert {"push", "pull_request"} <= set(workflow[True])  # YAML reads the key `on` as true


def test_a_release_is_started_by_a_maintainer_and_needs_no_password():
    workflow = yaml_of(".github", "workflows", "publish.yml")
    assert set(workflow[True]) == {"workflow_dispatch"}
    upload = workflow["jobs"]["publish"]
    assert upload["environment"]
    assert upload["permissions"] == {"id-token": "write"}
    assert "secrets." not in str(workflow)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "twine check --strict dist/*" in makefile.partition("\ndist:")[2].partition("\n\n")[0]


def test_the_hooks_before_a_commit_are_the_linters_of_the_project():
    (repository,) = yaml_of(".pre-commit-config.yaml")["repos"]
    tools = [hook["entry"].split()[0] for hook in repository["hooks"]]
    assert {f".venv/bin/{name}" for name in ("ruff", "mypy", "lint-imports")} == set(tools)
    assert {"ruff", "ruff-format", "mypy"} <= {hook["id"] for hook in repository["hooks"]}


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_an_issue_asks_for_what_a_maintainer_needs(name):
    form = yaml_of(".github", "ISSUE_TEMPLATE", f"{name}.yml")
    assert form["name"]
    assert form["description"]
    assert form["body"][0]["validations"]["required"] is True


def test_the_urls_of_the_project_agree_everywhere():
    urls = PROJECT["urls"]
    assert set(urls) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert urls["Issues"] == f"{urls['Source']}/issues"
    assert f"repository-code: {urls['Source']}" in (ROOT / "CITATION.cff").read_text("utf-8")
    about = yaml_of("recipe", "recipe.yaml")["about"]
    assert about["homepage"] == urls["Homepage"]
    assert about["documentation"] == urls["Documentation"]


def test_links_of_the_readme_work_on_a_package_index():
    """There a relative link leads nowhere."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)", readme) + re.findall(
        r"(?:src|href)=\"([^\"]+)", readme
    )
    assert targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    own = f"{PROJECT['urls']['Source']}/blob/main/"
    files = [target.removeprefix(own).partition("#")[0] for target in targets if own in target]
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_a_source_distribution_holds_docs_and_examples():
    sdist = WHOLE["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"/src", "/tests", "/docs", "/examples", "/benchmarks", "/SECURITY.md"} <= set(sdist)
    assert [name for name in sdist if not ROOT.joinpath(name[1:]).exists()] == []
    for name in ("CODE_OF_CONDUCT.md", "SECURITY.md", "CONTRIBUTING.md"):
        assert (ROOT / name).is_file()


# ── Windows and macOS, as far as one can see from here ──────────────────────────────────────────

POSIX_ONLY = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}
TEXT = {"open": 0, "read_text": 0, "write_text": 1}  # where the encoding may stand by position


def test_no_module_needs_a_library_that_only_posix_has():
    """But for one that is done without where it is not there."""
    nodes = [node for tree in TREES.values() for node in ast.walk(tree)]
    tried = [node for node in nodes if isinstance(node, ast.Try)]
    optional = [n for one in tried if "ImportError" in ast.unparse(one.handlers) for n in one.body]
    imported = {
        name.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in optional
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }
    assert imported & POSIX_ONLY == set()
    assert [n for n in nodes if isinstance(n, ast.Attribute) and n.attr == "fork"] == []


def test_text_is_read_and_written_in_utf8_whatever_the_system_prefers():
    silent = [
        f"{path.name}, line {call.lineno}: {ast.unparse(call)[:80]}"
        for path, tree in TREES.items()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and opens_text(call) and not names_encoding(call)
    ]
    assert silent == []


def opens_text(call):
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name != "open":
        return name in TEXT
    owner = getattr(function, "value", None)
    if owner is not None and not isinstance(owner, ast.Name):
        return False
    if getattr(owner, "id", "") in ("os", "Image", "archive", "zarr", "gzip", "webbrowser"):
        return False
    modes = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    modes += [k.value.value for k in call.keywords if k.arg == "mode"]
    return not any("b" in mode for mode in modes)


def names_encoding(call):
    if any(keyword.arg == "encoding" for keyword in call.keywords):
        return True
    words = [a.value for a in call.args if isinstance(a, ast.Constant)]
    return any(isinstance(word, str) and word.startswith("utf-8") for word in words)


def is_reserved_on_windows(part):
    """Whether Windows keeps a name for itself: CON, NUL and the like, with any ending."""
    numbered = {
        f"{device}{digit}" for device in ("COM", "LPT") for digit in "123456789\u00b9\u00b2\u00b3"
    }
    reserved = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"} | numbered
    return part.split(".")[0].rstrip(" ").upper() in reserved or part.endswith((".", " "))


def test_names_that_windows_keeps_for_itself_are_known():
    kept = ["con", "NUL.txt", "com1.tar.gz", "LPT9", "aux .c", "ends.", "ends "]
    assert [name for name in kept if not is_reserved_on_windows(name)] == []
    free = ["console.py", "com10", "null.py", ".ci", "auxiliary"]
    assert [name for name in free if is_reserved_on_windows(name)] == []


def test_no_file_name_is_refused_or_confused_by_another_system():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if names.returncode:
        pytest.skip("not a git checkout, so nothing is tracked")
    tracked = names.stdout.split()
    assert [name for name in tracked if set(name) & set('<>:"|?*\\')] == []
    assert [name for name in tracked if any(map(is_reserved_on_windows, name.split("/")))] == []
    assert len({name.lower() for name in tracked}) == len(tracked)  # names that differ in case


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with byte order mark"])
def test_tables_and_labels_are_read_with_the_newlines_of_any_system(tmp_path, end, mark):
    lines = ["label,a,b", "größer,1,2", "kleiner,3,4", ""]
    table, words = tmp_path / "table.csv", tmp_path / "labels.txt"
    table.write_bytes((mark + end.join(lines)).encode())
    words.write_bytes((mark + end.join(["größer", "kleiner", ""])).encode())
    data = load(table)
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    assert data.y.tolist() == ["größer", "kleiner"]
    np.save(tmp_path / "samples.npy", np.ones((2, 3)))
    assert load(tmp_path / "samples.npy", labels=words).y.tolist() == ["größer", "kleiner"]


def test_the_version_is_shown_where_the_system_is_not_utf8():
    code = "from tenfold.app.cli import main; main()"
    words = [sys.executable, "-X", "utf8=0", "-c", code, "--help"]
    done = subprocess.run(words, capture_output=True, env={"LC_ALL": "C", "PATH": ""})
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.skipif(not (ROOT / ".ci").exists(), reason="a source distribution has no .ci")
@pytest.mark.skipif(sys.platform == "win32", reason="a script of bash")
def test_a_python_that_is_named_and_does_not_run_is_passed_over(tmp_path):
    """As a version manager leaves names of versions that are not switched on."""
    shim = tmp_path / "python3.14"
    shim.write_text("#!/bin/sh\nexit 127\n", "utf-8")
    shim.chmod(0o755)
    (tmp_path / "python3.12").symlink_to(sys.executable)
    path = f"{tmp_path}:/usr/bin:/bin"
    environment = {"PATH": path, "PYENV_ROOT": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [ROOT / ".ci" / "newest_python"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).name != "python3.14"

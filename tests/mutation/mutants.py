"""Puts one small error after the other into the code, and looks whether a test fails.

    python tests/mutation/mutants.py --room mathematics --sample 600 --seed 1

The rooms are `mathematics`, `decisions` and `validation`. `operators.py` lists the errors and says
what is left out. NumPy, SciPy and the tests are imported once; every mutant gets a forked child,
in which the code of the changed function is replaced. A mutant runs the tests that touch its lines,
one case of each test first, quick and narrow tests first, up to --seconds of them, and is killed by
the first that fails or takes far longer than before. Which test touches which line is recorded once
and kept in --map; a test file that was changed is recorded anew, and all are when the code was
changed.

Prints the survivors and the score; --out also writes one line of JSON for each mutant.
"""

import argparse
import gc
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import operators

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tenfold"
ROOMS = ("mathematics", "decisions", "validation")
SPEED_ONLY = ("tuning.py",)  # none of its constants changes a result
# Tests of pages, of the tree, of drawings and of commands say little about a formula.
ELSEWHERE = {
    "house", "docs", "contributing", "benchmarks", "benchmark_page", "demo", "report", "plots",
    "onnx", "large_data_guide", "model_files", "scikit_learn", "distributed",
}  # fmt: skip
MARKS = "not realdata and not long and not slow and not browser and not big and not cluster"
MEMORY = 8 * 2**30
SLOW = 10.0  # seconds, of a test that is not asked


def files(rooms=ROOMS):
    found = (path for room in rooms for path in sorted((SOURCE / room).glob("*.py")))
    return [path for path in found if path.name not in SPEED_ONLY]


def test_files():
    names = {f"test_{name}.py" for name in ELSEWHERE}
    found = [
        *sorted((ROOT / "tests").glob("test_*.py")),
        *(ROOT / "tests/agreement").glob("test_*"),
    ]
    return [path for path in found if path.name not in names]


def digest(*paths):
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


class Tests:
    """A pytest plug-in that gives the collected tests to a function instead of running them."""

    def __init__(self, use):
        self.use, self.items, self.functions, self.failed = use, {}, [], None

    def collect(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            options = ["-q", "-s", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", MARKS]
            where = ["--rootdir", str(ROOT), "--basetemp", f"{folder}/tests"]
            return pytest.main([*options, *where, *map(str, arguments)], plugins=[self])

    def pytest_runtestloop(self, session):
        self.items = {item.nodeid: item for item in session.items}
        gc.collect()
        things = (thing for thing in gc.get_objects() if isinstance(thing, FunctionType))
        self.functions = [f for f in things if f.__code__.co_filename.startswith(str(SOURCE))]
        gc.freeze()  # so that children share what is there already
        self.use(self)
        return True

    def pytest_runtest_logreport(self, report):
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def run(self, item, following=None):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return self.failed is None


def in_child(work):
    """What `work` writes, in a forked child; None if it ended otherwise."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(silence, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for limit in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(limit, signal.SIG_DFL)
        try:
            text = json.dumps(work())
            with os.fdopen(send, "w") as stream:
                stream.write(text)
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as stream:
        text = stream.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if text and status == 0 else None


# ── Which test touches which line ───────────────────────────────────────────────────────────────


def traced(tests, item, names):
    """The lines of the rooms that one test touches, and how long it takes."""
    touched = {}

    def on_call(frame, event, _):
        name = names.get(frame.f_code.co_filename)
        if name is None:
            return None
        lines = touched.setdefault(name, set())

        def on_line(frame, event, _):
            lines.add(frame.f_lineno)
            return on_line

        return on_line

    start = time.process_time()
    threading.settrace(on_call)
    sys.settrace(on_call)
    passed = tests.run(item)
    sys.settrace(None)
    seconds = time.process_time() - start
    return [passed, seconds, {name: sorted(found) for name, found in touched.items()}]


def recorded(path):
    """The map from tests to lines: from the file, as far as nothing was changed."""
    code = digest(*files())
    kept = json.loads(path.read_text()) if path.exists() else {}
    known = kept.get("tests", {}) if kept.get("code") == code else {}
    hashes = {str(p.relative_to(ROOT)): digest(p) for p in (*test_files(), *files())}
    known = {name: known[name] for name in hashes if known.get(name, [0])[0] == hashes[name]}
    todo = [name for name in hashes if name not in known]
    names = {str(p): str(p.relative_to(SOURCE)) for p in files()}

    def record(tests):
        for name in todo:
            known[name] = [hashes[name], {}]
        for number, (nodeid, item) in enumerate(tests.items.items()):
            found = in_child(lambda item=item: traced(tests, item, names))
            if found is not None and found[0] and found[1] < SLOW:
                known[nodeid.partition("::")[0]][1][nodeid] = found[1:]
            if number % 100 == 0:
                say(f"recorded {number} of {len(tests.items)} tests")
        path.write_text(json.dumps({"code": code, "tests": known}))

    if todo:
        in_child_loud(lambda: Tests(record).collect(*(ROOT / name for name in todo)))
    kept = json.loads(path.read_text())["tests"]
    return {nodeid: found for _, tests in kept.values() for nodeid, found in tests.items()}


def in_child_loud(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            sys.stderr.flush()
            os._exit(0)
    os.waitpid(child, 0)


def chosen(lines_of, name, mutant, seconds):
    """The tests that touch a mutant: one case of each before the second, the nearest first.

    A test is near that is quick and touches little else.
    """
    touching = [
        (found[0] * sum(map(len, found[1].values())), found[0], nodeid)
        for nodeid, found in lines_of.items()
        if any(line in mutant.touched for line in found[1].get(name, ()))
    ]
    cases, ordered = Counter(), []
    for far, taken, nodeid in sorted(touching):
        test = nodeid.partition("[")[0]
        cases[test] += 1
        ordered.append((cases[test], far, taken, nodeid))
    within, total = [], 0.0
    for _, _, taken, nodeid in sorted(ordered):
        if total + taken <= seconds or not within:
            within.append((nodeid, taken))
            total += taken
    return within


# ── One mutant ──────────────────────────────────────────────────────────────────────────────────


def functions_of(code):
    """All code objects in a module's code, by name and line."""
    found = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found[constant.co_qualname, constant.co_firstlineno] = constant
            found |= functions_of(constant)
    return found


def fits_in_place(path, mutant):
    """Whether the code can be replaced: not if a method loses `super()`, which is a variable."""
    if not mutant.inside or "super()" not in mutant.before:
        return mutant.inside
    old, new = (
        functions_of(compile(source, str(path), "exec"))
        for source in (path.read_text(encoding="utf-8"), tree_of(path, mutant))
    )
    return all(old[name].co_freevars == new[name].co_freevars for name in old.keys() & new.keys())


def put_in_place(functions, path, tree):
    """Replace the code of the functions of a module that is imported already."""
    new = functions_of(compile(tree, str(path), "exec"))
    for function in functions:
        code = function.__code__
        other = new.get((code.co_qualname, code.co_firstlineno))
        same = code.co_filename == str(path) and other is not None
        if same and other.co_freevars == code.co_freevars:
            function.__code__ = other


class Finder(importlib.machinery.SourceFileLoader):
    """Imports one module from a changed tree."""

    def __init__(self, name, path, tree):
        super().__init__(name, str(path))
        self.tree = tree

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            return importlib.util.spec_from_file_location(name, self.path, loader=self)
        return None

    def get_code(self, fullname):
        return compile(self.tree, self.path, "exec")


def run_until_one_fails(tests, wanted):
    """The test that failed or could not end, or an empty text."""
    items = [(tests.items[nodeid], taken) for nodeid, taken in wanted if nodeid in tests.items]
    for item, taken in items:
        signal.setitimer(signal.ITIMER_PROF, 5 + 10 * taken)  # of work; it may also wait for ever
        signal.setitimer(signal.ITIMER_REAL, 60 + 60 * taken)
        if not tests.run(item):
            break
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return tests.failed or ""


def warm(tests, path, tree, wanted):
    def work():
        put_in_place(tests.functions, path, tree)
        return run_until_one_fails(tests, wanted)

    return in_child(work)


def cold(path, tree, wanted):
    """The same for code that runs when a module is imported."""
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)

    def work():
        verdict = []
        sys.meta_path.insert(0, Finder(name, path, tree))
        importlib.import_module(name)  # before pytest does, which asks no finder for its examples
        tests = Tests(lambda tests: verdict.append(run_until_one_fails(tests, wanted)))
        tests.collect(*(ROOT / nodeid for nodeid, _ in wanted))
        return verdict[0] if verdict else "import"

    return in_child(work)


def judge_all(mutants, lines_of, arguments, out):
    """Give each mutant with its verdict to `out`: first those of code that runs at import."""

    def judge(inside, run):
        for path, mutant in mutants:
            if fits_in_place(path, mutant) == inside:
                name = str(path.relative_to(SOURCE))
                wanted = chosen(lines_of, name, mutant, arguments.seconds)
                verdict = run(path, tree_of(path, mutant), wanted) if wanted else ""
                out(path, mutant, wanted, verdict)

    judge(False, cold)

    def use(tests):
        judge(True, partial(warm, tests))

    Tests(use).collect(*test_files(), *files())


def tree_of(path, mutant):
    return operators.mutated(path.read_text(encoding="utf-8"), mutant)


def say(text):
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


def sampled(arguments):
    """The mutants asked for: all of a room, or so many of them, drawn with the seed."""
    mutants = []
    for room in arguments.room or ROOMS:
        own = [
            (path, mutant)
            for path in files([room])
            for mutant in operators.mutants(path.read_text(encoding="utf-8"))
            if not arguments.only or arguments.only in f"{path.name}:{mutant.line}:"
        ]
        if 0 < arguments.sample < len(own):
            own = random.Random(arguments.seed).sample(own, arguments.sample)
        mutants += own
    random.Random(arguments.seed).shuffle(mutants)  # a run that is stopped is a smaller sample
    return mutants


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--room", action="append", choices=ROOMS)
    parser.add_argument("--sample", type=int, default=0, help="mutants of each room; 0 takes all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="of a file and line, such as moments.py:12:")
    parser.add_argument("--seconds", type=float, default=20, help="of tests for each mutant")
    parser.add_argument("--map", type=Path, default=ROOT / ".mutants.json")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--again", type=Path, help="only those that survived, in an earlier --out")
    arguments = parser.parse_args()
    os.environ.update(CI="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    os.chdir(ROOT)
    import scipy.linalg  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    lines_of = recorded(arguments.map)
    mutants = sampled(arguments)
    if arguments.again:
        rows = map(json.loads, arguments.again.read_text().splitlines())
        survivors = {(row["file"], row["text"]) for row in rows if not row["killed"]}
        mutants = [(p, m) for p, m in mutants if (str(p.relative_to(SOURCE)), str(m)) in survivors]
    counts, start = Counter(), time.monotonic()

    def out(path, mutant, wanted, verdict):
        room, killed = path.parent.name, verdict is None or bool(verdict)
        counts[room, killed] += 1
        by = verdict if verdict is not None else "no end"
        row = {"file": str(path.relative_to(SOURCE)), "text": str(mutant), "killed": killed}
        row |= {"by": by, "tests": len(wanted)}
        if arguments.out:
            with arguments.out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
        if not killed:
            say(f"survived {len(wanted)} tests: {row['file']}:{row['text']}")
        if sum(counts.values()) % 50 == 0:
            say(f"{sum(counts.values())} of {len(mutants)}")

    judge_all(mutants, lines_of, arguments, out)
    say(f"{time.monotonic() - start:.0f} seconds, seed {arguments.seed}")
    for room in sorted({room for room, _ in counts}):
        killed, survived = counts[room, True], counts[room, False]
        total = killed + survived
        sys.stdout.write(f"{room}: {killed} of {total} killed, {100 * killed / total:.1f} %\n")


if __name__ == "__main__":
    main()

"""Damages real files of every format that tenfold reads, and loads them.

    python tests/fuzz/hostile_files.py --each 20000 --seed 1

Each load runs in a child process with 1 GB of memory and 5 seconds. It must give data or an error
that names the file. It must not end the process, hang, open a file beside the one it was given, or
run code. Prints one line per format, and exits with 1 if a law was broken. A broken case is kept
in the folder given by --keep.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import hostile_formats

from tenfold.mathematics.stores import BlockError, NotFiniteError, StoredSamples, is_stored

SECONDS, MEMORY, BATCH = 5, 2**30, 100
CLEAR = (ValueError, MemoryError, FileNotFoundError)
BROKEN = ("crash", "hang", "unclear", "unnamed", "foreign", "code")
NOTICED = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "pickle.find_class"}


def outcome(form, target, known):
    """One word for what became of a load; and the error, if there was one."""
    try:
        data = form.load(target)
        found = fingerprint(data)
    except (
        BlockError,
        NotFiniteError,
    ) as error:  # of a store that stays on disk; it names the samples
        return "refused", str(error)[:500]
    except CLEAR as error:
        named = os.fspath(target) in str(error) and len(str(error)) < 2000
        return ("refused" if named else "unnamed"), f"{type(error).__name__}: {error}"[:500]
    except Exception as error:  # noqa: BLE001
        return "unclear", f"{type(error).__name__}: {error}"[:500]
    return ("same" if found == known else "changed"), ""


def fingerprint(data):
    in_memory = isinstance(data.X, np.ndarray) or not is_stored(data.X)
    X = np.asarray(data.X) if in_memory else StoredSamples.of(data.X).rows(np.array)
    labels = None if data.y is None else np.asarray(data.y).tolist()
    return X.shape, X.dtype.str, X.tobytes(), labels


class Watch:
    """What a load does beside reading its own file."""

    def __init__(self, folder):
        self.folder, self.seen, self.on = os.fspath(folder), [], False
        sys.addaudithook(self.notice)

    def notice(self, event, arguments):
        if not self.on:
            return
        if event in NOTICED:
            self.seen.append(("code", f"{event} {arguments!r:.200}"))
        elif event == "open" and isinstance(arguments[0], str | bytes):
            path = os.fsdecode(arguments[0])
            if not allowed(path, self.folder):
                self.seen.append(("foreign", path))


def allowed(path, folder):
    """The file itself, what Python imports, and what it asks the system about itself."""
    inside = os.path.realpath(path).startswith(os.path.realpath(folder))
    libraries = any(part and path.startswith(part) for part in [*sys.path, sys.prefix])
    shown = path == "<string>"  # Python 3.14, to show the line of a header that it warns of
    return inside or libraries or shown or path.startswith(("/proc/", "/sys/", "/dev/", "/etc/"))


def run_batch(form, folder, seeds, known, pipe):
    """In the child: load one mutant after the other, and tell about each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    os.dup2(sys.stderr.fileno(), 2)
    watch = Watch(folder)
    with os.fdopen(pipe, "w") as out:
        for seed in seeds:
            target, original = form.mutant(folder, seed)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            out.write(json.dumps(["start", seed, ""]) + "\n")
            out.flush()
            watch.seen, watch.on = [], True
            word, said = outcome(form, target, known[original])
            watch.on = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            if watch.seen:
                word, said = watch.seen[0]
            out.write(json.dumps([word, seed, said]) + "\n")
            out.flush()
    os._exit(0)


def run_format(form, each, seed, keep):
    """Counts of every outcome, and the broken cases."""
    counts, broken = Counter(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = in_a_child(lambda: form.prepare(folder))
        todo = [seed * 10**9 + i for i in range(each)]
        while todo:
            batch, todo = todo[:BATCH], todo[BATCH:]
            told, status = one_child(form, folder, batch, known)
            done = {case: (word, said) for word, case, said in told if word != "start"}
            started = [case for word, case, _ in told if word == "start"]
            for case in batch[: len(started)]:
                word, said = done.get(
                    case, ("hang" if status == signal.SIGALRM else "crash", status)
                )
                counts[word] += 1
                if word in BROKEN:
                    broken.append((word, case, said))
            todo = batch[len(started) :] + todo
            if not started:
                raise RuntimeError(f"no load of {form.name} was started: {status}")
        if keep and broken:
            for word, case, _ in broken[:50]:
                target, _ = form.mutant(folder, case)
                place = Path(keep) / f"{form.name}-{word}-{case}{target.suffix}"
                place.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if target.is_dir() else shutil.copy)(target, place)
    return counts, broken


def one_child(form, folder, batch, known):
    """What a child tells of a batch, and the signal that ended it (0 for none)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            run_batch(form, folder, batch, known, write)
        finally:
            os._exit(3)
    os.close(write)
    with os.fdopen(read) as lines:
        told = [json.loads(line) for line in lines if line.endswith("\n")]
    _, status = os.waitpid(child, 0)
    return told, os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def in_a_child(work):
    """What `work` gives, so that no thread of a library lives on in the parent that forks."""
    import pickle

    read, write = os.pipe()
    if os.fork() == 0:
        try:
            with os.fdopen(write, "wb") as out:
                pickle.dump(work(), out)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as lines:
        result = pickle.load(lines)
    os.wait()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=1000, help="mutants per format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formats", default=",".join(hostile_formats.FORMATS))
    parser.add_argument("--keep", help="folder for the files of broken cases")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    random.seed(given.seed)
    report, failed = {}, False
    for name in given.formats.split(","):
        form, start = hostile_formats.FORMATS[name], time.perf_counter()
        counts, broken = run_format(form, given.each, given.seed, given.keep)
        report[name] = dict(counts)
        failed |= bool(broken)
        if not given.json:
            shown = ", ".join(f"{n} {word}" for word, n in sorted(counts.items()))
            sys.stdout.write(f"{name:9} {shown} in {time.perf_counter() - start:.0f} s\n")
        for word, case, said in broken[:10]:
            sys.stderr.write(f"  {name} {word} at seed {case}: {said}\n")
        sys.stdout.flush()
    if given.json:
        sys.stdout.write(json.dumps(report))
    sys.exit(int(failed))


if __name__ == "__main__":
    main()

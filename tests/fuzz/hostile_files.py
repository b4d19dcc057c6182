"""Damages real files of every format that tenfold reads, and loads them.

    python tests/fuzz/hostile_files.py --each 20000 --seed 1

Mutants are made of real files, and of earlier mutants that reached a line of a reader which none
had reached before. Each is loaded in a child process with 1 GB of memory and 5 seconds of work (30
on the clock). Files of strangers are read by a child of that, as always; here it is a fork, since
to start Python takes longer than to read a small file. The words:

    same      the data of an original
    values    other numbers or labels in the same shape: the damage hit a value, and the format has
              no checksum over it
    layout    another shape, type or number of labels, as the damaged header says
    refused   an error of tenfold, which names the file
    ended     the same, since the library of the format crashed, hung or took all memory: that ended
              the process which read the file, and no other

These are failures:

    crash, hang, memory      the process ended, took 5 seconds of work or 1 GB
    unclear, unnamed         another error than a ValueError, or one that does not name the file
    silent                   other data although a checksum covers them
    foreign, code            another file was opened, or code was run

Prints one line per format, and exits with 1 after a failure. The files of failures are kept in the
folder given by --keep.
"""

import argparse
import json
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

import hostile_formats
from watching import Diary, Lines, Watch

from forked_child import ForkedChild
from tenfold.datasets import sandbox

SECONDS, MEMORY, BATCH, POOL = 5, 2**30, 200, 400
BROKEN = ("crash", "hang", "memory", "unclear", "unnamed", "silent", "foreign", "code")
ALLOWED = ("same", "values", "layout", "refused", "ended")


def outcome(form, target, known, name, resealed):
    """One word for what became of a load; and the error, if there was one."""
    try:
        found = form.load(target)
    except form.clear as error:
        return "refused", str(error)[:500]
    except (ValueError, FileNotFoundError) as error:
        named = os.fspath(target) in str(error) and len(str(error)) < 2000
        word = "ended" if "the process that read it" in str(error) else "refused"
        return (word if named else "unnamed"), f"{type(error).__name__}: {error}"[:500]
    except MemoryError as error:
        return "memory", str(error)[:500]
    except Exception as error:  # noqa: BLE001
        return "unclear", f"{type(error).__name__}: {error}"[:500]
    held = [one for one in known.values() if one is not None]
    if found in held:
        return "same", ""
    if form.sealed(name) and not resealed:
        return "silent", "other data than any original has"
    return ("values" if any(alike(found, one) for one in held) else "layout"), ""


def alike(found, held):
    """Whether two data sets differ in numbers and labels alone."""
    labels = [None if one[3:] in ((None,), ()) else len(one[3]) for one in (found, held)]
    return found[:2] == held[:2] and labels[0] == labels[1]


def run_batch(form, folder, seeds, known, lines, kept, pipe):
    """In the child: load one mutant after the other, and tell about each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    os.dup2(sys.stderr.fileno(), 2)
    os.chdir(folder)  # names in a file may mean this folder or that of the file
    diary = Diary(folder / f"diary-{os.getpid()}")
    watch = Watch(folder, [folder / name for name in hostile_formats.BAIT], diary)
    reached, pool = Lines(set(lines), diary), form.pool(folder)
    sandbox._started, sandbox.SECONDS = ForkedChild, SECONDS
    form.warm_up(folder)
    with os.fdopen(pipe, "w") as out:
        for seed in seeds:
            target, name, resealed = form.mutant(folder, seed, pool)
            set_timers(SECONDS)
            out.write(json.dumps(["start", seed, "", []]) + "\n")
            out.flush()
            watch.begin()
            with reached:
                word, said = outcome(form, target, known, name, resealed)
            word, said = watch.end() or (word, said)
            set_timers(0)
            if reached.new and len(pool) < POOL:
                mark = hostile_formats.RESEALED if resealed else ""
                keep(target, folder / "pool" / f"{seed}{mark}{target.suffix}")
            if word in BROKEN and kept:
                keep(target, Path(kept) / f"{form.name}-{word}-{seed}{target.suffix}")
            out.write(json.dumps([word, seed, said, reached.new]) + "\n")
            out.flush()
    os._exit(0)


def set_timers(seconds):
    """End the process after so many seconds of work, or six times as many on the clock."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 6 * seconds)


def keep(target, place):
    place.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if target.is_dir() else shutil.copy)(target, place)


def run_format(form, each, seed, kept):
    """Counts of every outcome, the broken cases, and how many lines and mutants were found."""
    counts, broken, lines = Counter(), [], set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = in_a_child(lambda: form.prepare(folder))
        todo = [seed * 10**9 + i for i in range(each)]
        while todo:
            batch, todo = todo[:BATCH], todo[BATCH:]
            told, status = one_child(form, folder, batch, known, lines, kept)
            done = {case: (word, said) for word, case, said, _ in told if word != "start"}
            started = [case for word, case, _, _ in told if word == "start"]
            lines.update(place for *_, new in told for place in new)
            for case in started:
                ended = "hang" if status in (signal.SIGALRM, signal.SIGPROF) else "crash"
                word, said = done.get(case, (ended, f"status {status}"))
                counts[word] += 1
                if word in BROKEN:
                    broken.append((word, case, said))
                if kept and case not in done:  # the last mutant of the child that ended
                    target = folder / f"mutant{form.suffix}"
                    keep(target, Path(kept) / f"{form.name}-{word}-{case}{target.suffix}")
            todo = batch[len(started) :] + todo
            if not started:
                raise RuntimeError(f"no load of {form.name} was started: {status}")
        found = {"lines": len(lines), "pool": len(form.pool(folder))}
    return counts, broken, found


def one_child(form, folder, batch, known, lines, kept):
    """What a child tells of a batch, and the signal that ended it (0 for none)."""
    read, write = os.pipe()
    forked = os.fork()
    if forked == 0:
        os.close(read)
        try:  # no exception gets further than this
            run_batch(form, folder, batch, known, lines, kept, write)
        except BaseException:  # noqa: BLE001
            sys.__stdout__.write(traceback.format_exc())
            sys.__stdout__.flush()
        finally:
            os._exit(3)
    os.close(write)
    with os.fdopen(read) as out:
        told = [json.loads(line) for line in out if line.endswith("\n")]
    _, status = os.waitpid(forked, 0)
    return told, os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def in_a_child(work):
    """What `work` gives, so that no thread of a library lives on in the parent that forks."""
    read, write = os.pipe()
    forked = os.fork()
    if forked == 0:
        try:
            with os.fdopen(write, "wb") as out:
                pickle.dump(work(), out)
            os._exit(0)
        finally:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as out:
        result = pickle.load(out)
    os.waitpid(forked, 0)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=1000, help="mutants per format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formats", default=",".join(hostile_formats.FORMATS))
    parser.add_argument("--keep", help="folder for the files of failures")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    report, failed = {}, False
    for name in given.formats.split(","):
        form, start = hostile_formats.FORMATS[name], time.perf_counter()
        counts, broken, found = run_format(form, given.each, given.seed, given.keep)
        report[name] = dict(counts)
        failed |= bool(broken)
        if not given.json:
            shown = ", ".join(f"{n} {word}" for word, n in sorted(counts.items()))
            more = f"{found['lines']} lines reached, {found['pool']} mutants bred from"
            seconds = time.perf_counter() - start
            sys.stdout.write(f"{name:14} {shown} in {seconds:.0f} s; {more}\n")
        for word, case, said in broken[:10]:
            sys.stderr.write(f"  {name} {word} at seed {case}: {said}\n")
        sys.stdout.flush()
        sys.stderr.flush()
    if given.json:
        sys.stdout.write(json.dumps(report))
    sys.exit(int(failed))


if __name__ == "__main__":
    main()

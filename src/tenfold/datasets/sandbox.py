"""Files of strangers, read by the library of their format in a process of its own.

A damaged or hostile file can end the process that reads it, keep it busy for ever or make it take
all memory. So `in_sandbox` starts ``python -m tenfold.datasets.sandbox``, asks it by a line of
JSON, and gets back a line of JSON and arrays as in .npy files: nothing that could run here. The
child may use half of the memory of the machine, since its answer is copied, and a time that grows
with the file. The memory is limited on Linux; macOS and Windows have no such limit for a process,
so there only the time is.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Event, Timer
from typing import IO, Any

import numpy as np

from tenfold.datasets.locations import LONGEST, FileError, stored_bytes
from tenfold.datasets.spelling import is_for_shell, spelled, spelled_for_shell

SECONDS = 60.0  # for any file, and one more for each so many bytes
BYTES_PER_SECOND = 2**22
MEMORY_SHARE = 0.5
LONGEST_LINE = 2**26  # of the JSON in an answer
KNOWN_ERRORS = (FileError, ValueError, FileNotFoundError, NotADirectoryError, OSError, ImportError)
ERRORS: dict[str, type[Exception]] = {error.__name__: error for error in KNOWN_ERRORS}
ERRORS["ModuleNotFoundError"] = ImportError


def in_sandbox(task: str, source: Path, options: Mapping[str, object]) -> dict[str, Any]:
    """What a task of `tenfold.datasets.contents.TASKS` answers, done in a process of its own.

    Parameters
    ----------
    task : str
        Name of the task.
    source : Path
        The file or folder.
    options : mapping of str to plain values
        Arguments of the task.

    Returns
    -------
    dict
        Plain values and arrays by name.
    """
    seconds = SECONDS + stored_bytes(source) / BYTES_PER_SECOND
    request = {"task": task, "source": str(source), "options": dict(options), "seconds": seconds}
    request["for_shell"] = is_for_shell()
    late = Event()
    with _started() as child:

        def end() -> None:
            late.set()
            child.kill()

        timer = Timer(seconds, end)
        timer.start()
        try:
            answer = _asked(child, request)
            if answer is None:
                child.wait()  # or until the timer ends it
        finally:
            timer.cancel()
            child.kill()
    if answer is None:
        raise FileError(_why(source, child.returncode, seconds if late.is_set() else None))
    if "error" in answer:
        kind, message = answer["error"]
        raise ERRORS.get(kind, ValueError)(message)
    return answer


def instead() -> str:
    """What to do about a file that goes beyond the limits."""
    trust = spelled("trusted", True)
    return f"if you trust it, pass {trust}, which reads it in this process without limits"


def _started() -> Popen[bytes]:
    """A child that waits for a request; -P keeps files beside the data from being imported."""
    package = str(Path(__file__).parents[2])
    paths = [package, os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-m", "tenfold.datasets.sandbox"]
    return Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment)


def _asked(child: Popen[bytes], request: Mapping[str, object]) -> dict[str, Any] | None:
    """The answer of a child; None where it ended before it was whole."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(json.dumps(request, default=_plain).encode() + b"\n")
        child.stdin.close()
    except OSError:  # it ended before it read the request
        return None
    return _received(child.stdout)


def _why(source: Path, status: int, seconds: float | None) -> str:
    if seconds is not None:
        what = f"took more than {seconds:.0f} seconds and was ended"
    elif status < 0 and status != -signal.SIGINT:
        what = f"crashed ({signal.Signals(-status).name})"
    else:
        what = f"ended with status {status} and no answer"
    return (
        f"{source}: the process that read it {what}; the file is damaged, or made to do harm: "
        f"write it again; {instead()}"
    )


def _received(stream: IO[bytes]) -> dict[str, Any] | None:
    """Plain values and arrays; None where the answer is not whole."""
    try:
        head = json.loads(stream.readline(LONGEST_LINE))
        answer = dict(head["plain"])
        for name in head["arrays"]:
            answer[name] = np.lib.format.read_array(_Pipe(stream), allow_pickle=False)
            if answer[name].dtype.kind not in "biufU":
                return None
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return answer


def _send(stream: IO[bytes], answer: Mapping[str, object]) -> None:
    """A line of plain values and names, and the arrays as NumPy writes them to .npy files."""
    arrays = {name: value for name, value in answer.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in answer.items() if name not in arrays}
    head = json.dumps({"plain": plain, "arrays": list(arrays)}, default=_plain)
    stream.write(head.encode() + b"\n")
    for array in arrays.values():
        np.lib.format.write_array(_Pipe(stream), array, allow_pickle=False)
    stream.flush()


class _Pipe:
    """A stream that NumPy does not take for a file, in which it would look for a place."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.read, self.write = stream.read, stream.write


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _limit(seconds: float) -> None:
    """Limit memory and work, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in (
        (resource.RLIMIT_AS, int(MEMORY_SHARE * machine_memory())),
        (resource.RLIMIT_CPU, 2 * int(seconds + 1)),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (most, hard))
        except (ValueError, OSError):  # macOS, about memory
            continue


def machine_memory() -> int:
    """Bytes of memory of this machine; without a bound where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**62


def main() -> None:
    """Answer one request. What a library prints must not get into the answer."""
    with os.fdopen(os.dup(1), "wb") as stream, os.fdopen(os.dup(0), "rb") as asked:
        os.dup2(2, 1)
        request = json.loads(asked.readline())
        _limit(request["seconds"])
        from tenfold.datasets.contents import TASKS  # which starts children itself

        try:
            with spelled_for_shell(request["for_shell"]):
                answer = TASKS[request["task"]](Path(request["source"]), **request["options"])
        except (ValueError, OSError, ImportError) as error:
            kind = "FileError" if isinstance(error, FileError) else type(error).__name__
            answer = {"error": (kind, str(error))}
        except Exception as error:  # noqa: BLE001 - of whatever a library raises, this is the end
            why = f"{type(error).__name__}: {error}"[:LONGEST]
            answer = {"error": ("FileError", f"{request['source']} cannot be read: {why}")}
        _send(stream, answer)


if __name__ == "__main__":
    main()

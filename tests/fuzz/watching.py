"""What a load does beside reading its own file, and which lines it reaches."""

import ctypes
import json
import os
import sys

CODE = {
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "pickle.find_class",
}
IN_OPEN, IN_NONBLOCK = 0x20, 0o4000
FOLLOWED = ("tenfold", "PIL", "zipfile", "numpy/lib", "scipy/io", "zarr")


class Watch:
    """Notices code that is run and files that are opened.

    Python tells of what it opens itself. What a library in C opens is seen where bait lies: files
    with the names that mutants mention, which the kernel watches. What happens in a process that
    was forked to read a file is written to the same diary.
    """

    def __init__(self, folder, bait, diary):
        self.folder, self.diary, self.on = os.path.realpath(folder), diary, False
        self.bait = Inotify(bait)
        sys.addaudithook(self._notice)

    def begin(self):
        self.bait.opened()
        self.diary.read()
        self.on = True

    def end(self):
        """The first thing that should not have happened, as a word and what it was; or None."""
        self.on = False
        seen = [tuple(one) for one in self.diary.read("seen")]
        if self.bait.opened():
            seen.append(("foreign", "the bait was opened"))
        return seen[0] if seen else None

    def _notice(self, event, arguments):
        if not self.on or (event == "os.fork" and _is_ours(sys._getframe(1))):
            return
        if event in CODE:
            self.diary.write("seen", "code", f"{event} {arguments!r:.200}")
        elif event == "open" and isinstance(arguments[0], str | bytes):
            path = os.fsdecode(arguments[0])
            if not self._allowed(path):
                self.diary.write("seen", "foreign", path)

    def _allowed(self, path):
        """The mutant itself, what Python imports, and what it asks the system about itself."""
        inside = os.path.realpath(path).startswith(os.path.join(self.folder, "mutant"))
        libraries = any(part and path.startswith(part) for part in [*sys.path, sys.prefix])
        shown = path == "<string>"  # Python 3.14, to show the line of a header that it warns of
        return (
            inside or libraries or shown or path.startswith(("/proc/", "/sys/", "/dev/", "/etc/"))
        )


def _is_ours(frame):
    """Whether the process that reads a file is started here."""
    return frame.f_code.co_filename.endswith("forked_child.py")


class Diary:
    """Lines in a file that a process and its forks write to."""

    def __init__(self, path):
        self.number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self.at, self.kept = 0, []

    def write(self, *words):
        os.write(self.number, json.dumps(words).encode() + b"\n")

    def read(self, kind=None):
        """What was written of this kind since it was last asked for; None forgets all."""
        size = os.fstat(self.number).st_size
        new = os.pread(self.number, size - self.at, self.at).splitlines()
        self.at = size
        self.kept += [json.loads(line) for line in new]
        found = [words[1:] for words in self.kept if words[0] == kind]
        self.kept = [words for words in self.kept if words[0] != kind] if kind else []
        return found


class Inotify:
    """Whether somebody opened one of some files, as the kernel of Linux tells."""

    def __init__(self, paths):
        library = ctypes.CDLL(None, use_errno=True)
        self.number = library.inotify_init1(IN_NONBLOCK)
        for path in paths:
            if library.inotify_add_watch(self.number, os.fsencode(path), IN_OPEN) < 0:
                raise OSError(ctypes.get_errno(), f"cannot watch {path}")

    def opened(self):
        try:
            return bool(os.read(self.number, 2**16))
        except BlockingIOError:
            return False


class Lines:
    """Lines of the readers that no mutant has reached before, in this process or in a fork."""

    def __init__(self, known, diary):
        self.known, self.new, self.left, self.diary = known, [], {}, diary

    def __enter__(self):
        self.new = []
        sys.settrace(self._enter)
        return self

    def __exit__(self, *error):
        sys.settrace(None)
        self.new = sorted({place for (place,) in self.diary.read("line")} - self.known)
        self.known.update(self.new)

    def _enter(self, frame, event, argument):
        code = frame.f_code
        if code not in self.left:
            followed = any(part in code.co_filename for part in FOLLOWED)
            lines = {line for *_, line in code.co_lines()} if followed else set()
            self.left[code] = {line for line in lines if _place(code, line) not in self.known}
        return self._line if self.left[code] else None  # most functions have no news, and cost none

    def _line(self, frame, event, argument):
        left = self.left[frame.f_code]
        if frame.f_lineno in left:
            left.remove(frame.f_lineno)
            self.diary.write("line", _place(frame.f_code, frame.f_lineno))
        return self._line


def _place(code, line):
    return f"{code.co_filename}:{line}"

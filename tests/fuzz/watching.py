"""What a load does beside reading its own file, and which lines it reaches."""

import ctypes
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
    with the names that mutants mention, which the kernel watches.
    """

    def __init__(self, folder, bait):
        self.folder, self.seen, self.on = os.path.realpath(folder), [], False
        self.bait = Inotify(bait)
        sys.addaudithook(self._notice)

    def begin(self):
        self.bait.opened()
        self.seen, self.on = [], True

    def end(self):
        """The first thing that should not have happened, as a word and what it was; or None."""
        self.on = False
        if self.bait.opened():
            self.seen.append(("foreign", "the bait was opened"))
        return self.seen[0] if self.seen else None

    def _notice(self, event, arguments):
        if not self.on:
            return
        if event in CODE:
            self.seen.append(("code", f"{event} {arguments!r:.200}"))
        elif event == "open" and isinstance(arguments[0], str | bytes):
            path = os.fsdecode(arguments[0])
            if not self._allowed(path):
                self.seen.append(("foreign", path))

    def _allowed(self, path):
        """The mutant itself, what Python imports, and what it asks the system about itself."""
        inside = os.path.realpath(path).startswith(os.path.join(self.folder, "mutant"))
        libraries = any(part and path.startswith(part) for part in [*sys.path, sys.prefix])
        shown = path == "<string>"  # Python 3.14, to show the line of a header that it warns of
        return (
            inside or libraries or shown or path.startswith(("/proc/", "/sys/", "/dev/", "/etc/"))
        )


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
    """Lines of the readers that no mutant has reached before."""

    def __init__(self, known):
        self.known, self.new, self.left = known, [], {}

    def __enter__(self):
        self.new = []
        sys.settrace(self._enter)
        return self

    def __exit__(self, *error):
        sys.settrace(None)

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
            self.known.add(_place(frame.f_code, frame.f_lineno))
            self.new.append(_place(frame.f_code, frame.f_lineno))
        return self._line


def _place(code, line):
    return f"{code.co_filename}:{line}"

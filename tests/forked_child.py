"""A reader that is a fork of this process: the code of a process of its own, started at once.

The start of Python and of a library takes a good part of a second, and tests read many files.
"""

import os
import signal

from tenfold.datasets import sandbox


class ForkedChild:
    """What `tenfold.datasets.sandbox` uses of a `Popen`, for a process that answers one request."""

    def __init__(self):
        asked, self.stdin = _pipe()
        self.stdout, answer = _pipe()
        self.pid, self.returncode = os.fork(), None
        if self.pid == 0:
            status = 1
            try:
                self.stdin.close()
                self.stdout.close()
                os.dup2(asked.fileno(), 0)
                os.dup2(answer.fileno(), 1)
                sandbox.main()
                status = 0
            finally:
                os._exit(status)
        asked.close()
        answer.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stdout.close()
        self.wait()

    def wait(self):
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def kill(self):
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def _pipe():
    read, write = os.pipe()
    return os.fdopen(read, "rb"), os.fdopen(write, "wb")

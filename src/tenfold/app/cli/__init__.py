"""The command line, and the only home of typer.

`app` lists the commands. A command is a function that calls the library and returns
an `Outcome`; printing, errors and exit codes are in `command`, once for all. Nothing here imports
SciPy or scikit-learn before a command runs, so that help and completion are quick.
"""

import os
import sys


def main() -> None:
    """Run the command `tenfold`; without its extra, say how to get it.

    Exit codes: 0 done, 1 the work could not be done, 2 bad input, 130 interrupted.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, as by >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        from tenfold.app.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write(
            f"tenfold: the command line needs {error.name}, which is not installed; "
            'pip install "tenfold[cli]"\n'
        )
        raise SystemExit(2) from None
    app(prog_name="tenfold")

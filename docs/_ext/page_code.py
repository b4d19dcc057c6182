"""The code of a page, run from top to bottom: by the tests, and by the build for its pictures."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

FENCE = re.compile(r"^```(python|console|\{picture\})[^\n]*\n(.*?)^```$", re.M | re.S)


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of the fenced blocks that run, in order; a picture is Python, too."""
    return FENCE.findall(page.read_text(encoding="utf-8"))


def run(language: str, text: str, page: Path, names: dict) -> None:
    """Run one block in the current folder; Python shares `names` with the blocks before it."""
    if language == "console":
        run_commands(text)
    else:
        exec(compile(text, f"<{page.name}>", "exec", dont_inherit=True), names)


def run_commands(text: str) -> None:
    """Run the lines that call tenfold; lines that install things are skipped."""
    for line in re.findall(r"^\$ (tenfold .*)$", text, flags=re.M):
        command = [sys.executable, "-c", "from tenfold.app.cli import main; main()"]
        done = subprocess.run(
            [*command, *shlex.split(line, comments=True)[1:]], capture_output=True, text=True
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"

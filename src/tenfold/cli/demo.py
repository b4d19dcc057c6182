"""``tenfold demo``: three methods on handwritten digits, and a page to look at."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from tenfold.cli.options import option, output_file
from tenfold.cli.output import Outcome


def demo(
    output: Annotated[
        Path, option("-o", "--output", metavar="FILE", text="The page; tenfold-demo.html.")
    ] = Path("tenfold-demo.html"),
) -> Outcome:
    """Learn one subspace per handwritten digit, in seconds.

    The digits come with scikit-learn. It ends by writing a page to open in a browser.

    Example: tenfold demo
    """
    from tenfold import demo as shown

    output_file(output, ".html", ".htm")
    rows, bank = shown.compare()
    page, where = shown.write_page(bank, output)
    n_learned, n_held_out = map(len, shown.halves())
    facts = {
        "learned_from": n_learned,
        "held_out": n_held_out,
        "methods": [asdict(row) for row in rows],
        "report": page,
    }
    lines = ["", *shown.REMARK, "", *where, "", *shown.NEXT, ""]
    digits = shown.write_digits(output.with_suffix(".npz"))
    return Outcome(
        facts,
        [
            "One subspace per handwritten digit: which of the held-out images show it?",
            f"{n_learned} images of 8x8 to learn from, {n_held_out} held out.",
            "",
            shown.table(rows),
            *lines,
            *digits,
        ],
    )

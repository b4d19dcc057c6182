"""docs/benchmarks.md, its plots and the table in README, made of the measurements alone.

python benchmarks/page.py      makes them again from benchmarks/results/results.json
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import kinds
import matplotlib as mpl
import numpy as np
from growth import SWEEPS
from jobs import JOBS
from summary import put_into, seconds, summary

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "tenfold"  # the same numbers give the same file
import matplotlib.pyplot as plt  # noqa: E402

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
PLOTS = DOCS / "_static" / "benchmarks"
Row = dict[str, Any]

INTRODUCTION = """\
# Benchmarks

Made by `make bench` on {processor}, {cores} cores, on {date}, at commit {commit}: Python
{python}, {versions}; BLAS with kernels for {kernels}.
Everything on this page is written by `benchmarks/page.py` from the measured numbers in
[results.json](_static/benchmarks/results.json).

All programs get the same data, the same {rounds} rounds and the same number of BLAS threads, in a
process of its own. A time is shown only if the results agree: projectors onto the subspaces
that were found differ by no more than {tolerance:g} (Frobenius norm), or scores differ by no
more than one part in 10⁹. For the order book, whose levels are nearly collinear, the projectors may
differ by 1e-3, and do by 1e-5. Times are medians of five runs. Peers that take more than five
seconds run with one thread only. The load of the machine before the run was {load}.

*literal* is Algorithm 1 written down in NumPy as the paper's definitions read
(`benchmarks/literal.py`): every mode of every round projects and sums all samples. *literal, tuned*
makes every product one BLAS call without a copy and computes leading eigenvectors only. *pyKale* is
its MPCA, with the share of the scatter that gives the wanted ranks; *TensorLy* is `partial_tucker`
and *hottbox* its HOOI, both on centred samples. A *limit* is a lower bound, not a competitor: it
does only the unavoidable work.
"""

LIMITS = """\
## Where the limits are

- **Fits of many samples** read all of them once for their moments, N·I² multiplications. *X^T X
  alone* is that product and nothing else: no implementation based on moments can beat the
  literal algorithm by more than the ratio of those two lines. After it, rounds cost little, so the
  ratio grows with the number of rounds and models, and a single fit of few rounds gains least.
- **Banks of many small models** are bound by their eigenproblems. *eigenproblems alone* solves as
  many symmetric matrices of the same sizes with LAPACK. The literal algorithm solves them too: on
  one thread no program can beat it by more than the ratio of those two lines. Two threads
  work on two parts of the stack, where BLAS threads gain nothing on matrices of 40 rows.
  Starting an eigenproblem from the previous round was tried and rejected: on the ORL bank the
  subspaces move so much that quadratic refinement takes five steps, more than solving it from
  scratch.
- **Scoring** is one product of the first mode for all models, and small ones for the others.
  *products alone* are square products with the same number of multiplications.
"""

GROWTH = """\
## Growth

One BLAS thread. The number behind a name is the exponent fitted to the larger half of its sizes:
1.0 means that twice the size takes twice the time. Small sizes are dominated by the cost of a call.
Memory is the maximum that a run needs beyond the samples. The curve of a peer ends where its
next run would have taken more than a few seconds. IncrementalPCA is approximate by design; all
others agree.
"""

WHY = {
    "pca": """\
scikit-learn multiplies the samples as they are and subtracts the mean afterwards. tenfold copies
each block about a point near its mean first, which takes a quarter longer and keeps the digits that
an offset would cost: with 10⁶ added to 10 000 of these samples, scikit-learn's subspace lies 0.3
from the true one (Frobenius norm of the difference of projectors) and tenfold's 2·10⁻¹¹.
`svd_solver="full"` is exact too, and slower than both.
"""
}


def write_page(results: dict[str, Any]) -> None:
    PLOTS.mkdir(parents=True, exist_ok=True)
    (PLOTS / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    given = results["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in given["versions"].items())
    text = [
        INTRODUCTION.format(
            **{"load": "not measured", "kernels": "this processor"}
            | given
            | {"versions": versions},
            rounds=20,
            tolerance=1e-6,
        ),
        *([f"**{results['note']}**\n"] if results.get("note") else []),
        "## Jobs\n",
        *table(results["jobs"]),
        LIMITS,
        GROWTH,
    ]
    for name, sweep in SWEEPS.items():
        rows = [row for row in results["growth"] if row["job"] == name]
        if rows:
            plot(name, rows)
            text += [f"### {sweep.title}\n", f"![{sweep.title}](_static/benchmarks/{name}.svg)\n"]
            text += slower_than_a_peer(rows)
            text += [WHY[name]] if name in WHY else []
    (DOCS / "benchmarks.md").write_text("\n".join(text))
    put_into(HERE.parent / "README.md", summary(results))
    kinds.put_into_pages(json.loads(kinds.FIGURES.read_text()))  # README's reasons give a time
    print(f"written: README.md, docs/benchmarks.md and {len(list(PLOTS.glob('*.svg')))} plots")


def table(rows: list[Row]) -> Iterator[str]:
    for name in dict.fromkeys(row["job"] for row in rows):
        own = [row for row in rows if row["job"] == name]
        yield f"### {JOBS[name].title}\n"
        yield "| threads | program | time | fastest | slowest | CPU | memory | times tenfold |"
        yield "|--:|---|--:|--:|--:|--:|--:|--:|"
        for row in own:
            first = next(r for r in own if r["threads"] == row["threads"])
            yield f"| {row['threads']} | " + " | ".join(cells(row, first)) + " |"
        yield ""
        yield from footnotes(own)


def cells(row: Row, first: Row) -> list[str]:
    who = row["contestant"] + (" (limit)" if row["status"] == "limit" else "")
    if row["status"] == "failed":
        return [who, row["failed"], "", "", "", "", ""]
    if row["status"] == "differs":
        return [who, f"answers differ by {row['distance']:.0e}", "", "", "", "", ""]
    wall = row["wall"]
    factor = median(wall) / median(first["wall"] or [float("nan")])
    mark = " †" if JOBS[row["job"]].share.get(row["contestant"]) else ""
    return [
        who + mark,
        seconds(median(wall)),
        seconds(min(wall)),
        seconds(max(wall)),
        seconds(median(row["cpu"])),
        f"{row['peak'] / 2**20:.0f}\N{NO-BREAK SPACE}MB",
        f"{factor:.0f}" if factor >= 100 else f"{factor:.2g}",
    ]


def footnotes(rows: list[Row]) -> Iterator[str]:
    for name in dict.fromkeys(row["job"] for row in rows):
        for who, share in JOBS[name].share.items():
            yield (
                f"† {who} was measured on one of every {1 / share:.0f} models, and its time is "
                "given for all of them.\n"
            )
    notes = {row["job"]: row["note"] for row in rows if "synthetic, " in row["note"]}
    for note in notes.values():
        missing = note.rpartition(" ")[2]
        yield f"Synthetic data were used because {missing} was unavailable.\n"


def slower_than_a_peer(rows: list[Row]) -> Iterator[str]:
    """Says where tenfold is not the fastest, by CPU time, which other programs disturb least."""
    for x in dict.fromkeys(row["x"] for row in rows):
        here = {row["contestant"]: row for row in rows if row["x"] == x}
        own = median(here.pop("tenfold")["cpu"])
        for who, row in here.items():
            if row["status"] in ("agrees", "approximate") and median(row["cpu"]) < 0.95 * own:
                yield (
                    f"At {x:,}, {who} is faster: {seconds(median(row['cpu']))} of CPU against "
                    f"{seconds(own)}.\n"
                )


def plot(name: str, rows: list[Row]) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for who in dict.fromkeys(row["contestant"] for row in rows):
        own = [row for row in rows if row["contestant"] == who and row["wall"]]
        own = [row for row in own if row["status"] != "differs"]
        if not own:
            continue
        x = np.array([row["x"] for row in own], dtype=float)
        t = np.array([median(row["wall"]) for row in own])
        limit = own[0]["status"] == "limit"
        style = {"color": "0.5", "linestyle": "--"} if limit else {"marker": "o", "markersize": 4}
        low, high = (np.array([f(row["wall"]) for row in own]) for f in (min, max))
        (drawn,) = left.loglog(x, t, label=f"{who}{exponent(x, t)}", **style)
        left.fill_between(x, low, high, color=drawn.get_color(), alpha=0.15, linewidth=0)
        if not limit:
            memory = np.maximum([row["peak"] for row in own], 2**20) / 2**20
            right.loglog(x, memory, color=drawn.get_color(), marker="o", markersize=4)
    left.set(xlabel=SWEEPS[name].axis, ylabel="seconds")
    right.set(xlabel=SWEEPS[name].axis, ylabel="MB beyond the samples")
    left.legend(fontsize=8, frameon=False)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PLOTS / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def exponent(x: np.ndarray, t: np.ndarray) -> str:
    """The slope of the larger half of the sizes, in logarithms."""
    upper = max(2, (len(x) + 1) // 2)
    if len(x) < 2:
        return ""
    slope = np.polyfit(np.log(x[-upper:]), np.log(t[-upper:]), 1)[0]
    return f" ({slope:.1f})"


if __name__ == "__main__":
    write_page(json.loads((HERE / "results" / "results.json").read_text()))

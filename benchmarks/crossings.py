"""How much of tenfold a reader meets on the way of one call.

    python benchmarks/crossings.py            # the way of MCSDA.fit
    python benchmarks/crossings.py --table    # a table of five fits and of the source, a minute

Calls are traced (``sys.setprofile``) on scikit-learn's digits, after a first call has done all the
imports, with one thread of BLAS on every machine. Counted are:

functions
    distinct functions and methods of tenfold that ran, comprehensions and lambdas not included
crossings
    distinct pairs (module of the caller, module of the callee) of tenfold's own modules, where a
    Python function of the second is called from one of the first, directly or through a
    foreign library in between (``map``, NumPy, a thread pool); calls inside a module do not count
modules
    distinct modules of tenfold of which any function ran
types
    distinct classes defined in tenfold of which an instance was initialised or returned

Of the source, without running it:

packed assignments
    assignments of a tuple to a tuple that compute something (plain names, constants and their
    attributes and elements do not count), of a generator to a tuple, and assignment expressions
``Any``
    how often the name is used
large classes
    classes with more than 20 methods, properties included
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # NumPy is not imported yet

PACKAGE = "tenfold"
SOURCE = Path(__file__).parents[1] / "src" / PACKAGE
MOST_METHODS = 20

Call = Callable[[], Any]


class Walk:
    """What one call went through."""

    def __init__(self) -> None:
        self.functions: set[str] = set()
        self.crossings: set[tuple[str, str]] = set()
        self.modules: set[str] = set()
        self.types: set[str] = set()

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "call":
            self._enter(frame)
        elif event == "return" and frame.f_code.co_name != "<module>":
            self._note(value)

    def _enter(self, frame: FrameType) -> None:
        module = home(frame)
        if module is None or frame.f_code.co_name == "<module>":
            return
        self.modules.add(module)
        if not frame.f_code.co_name.startswith("<"):
            self.functions.add(f"{module}.{frame.f_code.co_qualname}")
        if frame.f_code.co_name == "__init__":
            self._note(frame.f_locals.get("self"))
        caller = frame.f_back
        while caller is not None and home(caller) is None:
            caller = caller.f_back
        if caller is not None and home(caller) != module:
            self.crossings.add((str(home(caller)), module))

    def _note(self, value: Any) -> None:
        kind = type(value)
        if kind.__module__.partition(".")[0] == PACKAGE:
            self.types.add(f"{kind.__module__}.{kind.__qualname__}")


def home(frame: FrameType) -> str | None:
    """The module of tenfold whose code a frame runs, None for foreign code."""
    name = frame.f_globals.get("__name__", "")
    return name if name.partition(".")[0] == PACKAGE else None


def walk(call: Call) -> Walk:
    """Trace one call, the threads that it starts included, after one that is not traced."""
    call()
    seen = Walk()
    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return seen


# ── Calls ───────────────────────────────────────────────────────────────────────────────────────


class Flow(NamedTuple):
    """A fit that is counted, with what it was before and what it should be."""

    name: str
    before: int
    goal: int
    make: Callable[[], Any]


def flows() -> list[Flow]:
    """The five fits that the tree is measured by."""
    from tenfold import (
        MCSDA,
        ClassSpecificClassifier,
        ClassSpecificVerifier,
        ProbabilisticLDA,
        RankSearchCV,
    )

    mcsda = "MCSDA(ranks=(4, 4), positive=3)"
    bank = "ClassSpecificClassifier(MCSDA(ranks=(4, 4)))"
    search = "RankSearchCV(MCSDA(positive=3), ranks=[(2, 2), (4, 4)])"
    return [
        Flow(mcsda, 210, 120, lambda: MCSDA(ranks=(4, 4), positive=3)),
        Flow(bank, 234, 140, lambda: ClassSpecificClassifier(MCSDA(ranks=(4, 4)))),
        Flow("ProbabilisticLDA()", 134, 90, ProbabilisticLDA),
        Flow(
            "ClassSpecificVerifier(positive=3)", 299, 170, lambda: ClassSpecificVerifier(positive=3)
        ),
        Flow(search, 275, 170, lambda: RankSearchCV(MCSDA(positive=3), ranks=[(2, 2), (4, 4)])),
    ]


def fit_on_digits(make: Callable[[], Any]) -> Call:
    """A fit to all digits of scikit-learn."""
    from sklearn.datasets import load_digits

    digits, model = load_digits(), make()
    return lambda: model.fit(digits.images, digits.target)


# ── Source ──────────────────────────────────────────────────────────────────────────────────────


def trees() -> Iterator[ast.Module]:
    """The modules of tenfold, parsed."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield ast.parse(path.read_text(encoding="utf-8"))


def is_packed(node: ast.AST) -> bool:
    """Whether an assignment holds several computations."""
    if isinstance(node, ast.NamedExpr):
        return True
    if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)):
        return False
    if isinstance(node.value, ast.GeneratorExp):
        return True
    if not isinstance(node.value, ast.Tuple):
        return False
    return any(not is_plain(part) for part in node.value.elts)


def is_plain(node: ast.AST) -> bool:
    """Whether an expression computes nothing: a name, a constant, an attribute, an element."""
    if isinstance(node, ast.Name | ast.Constant):
        return True
    if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        return is_plain(node.value)
    if isinstance(node, ast.UnaryOp):
        return is_plain(node.operand)
    return False


def n_methods(node: ast.ClassDef) -> int:
    """How many functions a class defines itself."""
    return sum(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in node.body)


def source_counts() -> dict[str, int]:
    """Packed assignments, uses of Any, and large classes."""
    packed, anything, large = 0, 0, 0
    for tree in trees():
        for node in ast.walk(tree):
            packed += is_packed(node)
            anything += isinstance(node, ast.Name) and node.id == "Any"
            large += isinstance(node, ast.ClassDef) and n_methods(node) > MOST_METHODS
    return {
        "packed assignments": packed,
        "`Any` in src": anything,
        f"classes with more than {MOST_METHODS} methods": large,
    }


# ── Table ───────────────────────────────────────────────────────────────────────────────────────


def print_table() -> None:
    """Print what was, what is, and what should be."""
    print("| functions of tenfold met by `fit`, digits | before | now | goal | reached |")
    print("|---|--:|--:|--:|---|")
    for flow in flows():
        met = len(walk(fit_on_digits(flow.make)).functions)
        print(row(f"`{flow.name}`", flow.before, met, flow.goal), flush=True)
    goals = {"packed assignments": (276, 60), "`Any` in src": (1183, 500)}
    goals[f"classes with more than {MOST_METHODS} methods"] = (5, 1)
    for name, count in source_counts().items():
        before, goal = goals[name]
        print(row(name, before, count, goal))


def row(name: str, before: int, now: int, goal: int) -> str:
    """One line of the table."""
    return f"| {name} | {before} | {now} | {goal} | {'yes' if now <= goal else 'no'} |"


def print_way(seen: Walk) -> None:
    """Print the names of what one call went through."""
    counted = (("functions", seen.functions), ("modules", seen.modules), ("types", seen.types))
    for title, found in counted:
        print(f"{len(found)} {title}: {', '.join(sorted(found))}\n")
    print(f"{len(seen.crossings)} crossings:")
    for caller, callee in sorted(seen.crossings):
        print(f"    {caller} -> {callee}")


def main() -> None:
    """Print the way of one fit, or the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--table", action="store_true", help="five fits, and the source")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.table:
        print_table()
    else:
        print_way(walk(fit_on_digits(flows()[0].make)))


if __name__ == "__main__":
    main()

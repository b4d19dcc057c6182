"""How much of the house a call walks through: module borders, modules and types.

    python benchmarks/crossings.py            # MCSDA(ranks=(4, 4)).fit on scikit-learn's digits

Counted by tracing one call (``sys.setprofile``), after a first call has done all the imports:

crossings
    distinct pairs (module of the caller, module of the callee) of tenfold's own modules, where a
    Python function of the second is called from one of the first, directly or through a
    foreign library in between (``map``, NumPy, a thread pool); calls inside a module do not count
modules
    distinct modules of tenfold of which any function ran
types
    distinct classes defined in tenfold of which an instance was initialised or returned
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

PACKAGE = "tenfold"


class Walk:
    """What one call went through."""

    def __init__(self) -> None:
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


def walk(call: Callable[[], Any]) -> Walk:
    """Trace one call, the threads that it starts included."""
    seen = Walk()
    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return seen


def fit_on_digits() -> Callable[[], Any]:
    """The call that the house is measured by."""
    from sklearn.datasets import load_digits

    from tenfold import MCSDA

    digits, mcsda = load_digits(), MCSDA(ranks=(4, 4), positive=3)
    return lambda: mcsda.fit(digits.images, digits.target)


def main() -> None:
    import warnings

    warnings.simplefilter("ignore")
    call = fit_on_digits()
    call()
    seen = walk(call)
    for title, found in (("modules", seen.modules), ("types", seen.types)):
        print(f"{len(found)} {title}: {', '.join(sorted(found))}\n")
    print(f"{len(seen.crossings)} crossings:")
    for caller, callee in sorted(seen.crossings):
        print(f"    {caller} -> {callee}")


if __name__ == "__main__":
    main()

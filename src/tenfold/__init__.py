"""Multilinear subspace and discriminant learning: exact, one pass, scikit-learn-shaped."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenfold.classifier import ClassSpecificClassifier
    from tenfold.gathering import gather_batches, gather_moments, write_blocks
    from tenfold.loading import load
    from tenfold.methods import CMDA, CSDA, DATER, DGTDA, GTDA, HODA, MCSDA, MPCA
    from tenfold.moments import ClassMoments
    from tenfold.scoring import mean_average_precision
    from tenfold.search import RankSearchCV
    from tenfold.verifier import ClassSpecificVerifier

__version__ = "0.1.0"

__all__ = [
    "CMDA",
    "CSDA",
    "DATER",
    "DGTDA",
    "GTDA",
    "HODA",
    "MCSDA",
    "MPCA",
    "ClassMoments",
    "ClassSpecificClassifier",
    "ClassSpecificVerifier",
    "RankSearchCV",
    "gather_batches",
    "gather_moments",
    "load",
    "mean_average_precision",
    "write_blocks",
]

# A name is imported when it is first used. SciPy and scikit-learn take seconds to import, and
# `tenfold --help` and shell completion need neither.
_HOMES = {
    "CMDA": "tenfold.methods",
    "CSDA": "tenfold.methods",
    "DATER": "tenfold.methods",
    "DGTDA": "tenfold.methods",
    "GTDA": "tenfold.methods",
    "HODA": "tenfold.methods",
    "MCSDA": "tenfold.methods",
    "MPCA": "tenfold.methods",
    "ClassMoments": "tenfold.moments",
    "ClassSpecificClassifier": "tenfold.classifier",
    "ClassSpecificVerifier": "tenfold.verifier",
    "RankSearchCV": "tenfold.search",
    "gather_batches": "tenfold.gathering",
    "gather_moments": "tenfold.gathering",
    "load": "tenfold.loading",
    "mean_average_precision": "tenfold.scoring",
    "write_blocks": "tenfold.gathering",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tenfold' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Multilinear subspace and discriminant learning: exact, one pass, scikit-learn-shaped."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenfold.decisions.classifier import ClassSpecificClassifier
    from tenfold.decisions.metrics import mean_average_precision
    from tenfold.decisions.probabilistic import ProbabilisticLDA
    from tenfold.decisions.verifier import ClassSpecificVerifier, RateWarning
    from tenfold.files.loading import load
    from tenfold.gathering.gather import gather_batches, gather_moments, write_blocks
    from tenfold.mathematics.moments import ClassMoments
    from tenfold.methods import CMDA, CSDA, DATER, DGTDA, GTDA, HODA, MCSDA, MPCA
    from tenfold.selection.comparison import compare
    from tenfold.selection.rank_search import RankSearchCV

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
    "ProbabilisticLDA",
    "RankSearchCV",
    "RateWarning",
    "compare",
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
    "ClassMoments": "tenfold.mathematics.moments",
    "ClassSpecificClassifier": "tenfold.decisions.classifier",
    "ClassSpecificVerifier": "tenfold.decisions.verifier",
    "ProbabilisticLDA": "tenfold.decisions.probabilistic",
    "RankSearchCV": "tenfold.selection.rank_search",
    "RateWarning": "tenfold.decisions.verifier",
    "compare": "tenfold.selection.comparison",
    "gather_batches": "tenfold.gathering.gather",
    "gather_moments": "tenfold.gathering.gather",
    "load": "tenfold.files.loading",
    "mean_average_precision": "tenfold.decisions.metrics",
    "write_blocks": "tenfold.gathering.gather",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tenfold' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

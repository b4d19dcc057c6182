"""Multilinear subspace and discriminant learning: exact, one pass, scikit-learn-shaped."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenfold.decisions.classifier import ClassSpecificClassifier as ClassSpecificClassifier
    from tenfold.decisions.metrics import mean_average_precision as mean_average_precision
    from tenfold.decisions.open_set import OpenSetClassifier as OpenSetClassifier
    from tenfold.decisions.probabilistic import ProbabilisticLDA as ProbabilisticLDA
    from tenfold.decisions.verifier import ClassSpecificVerifier as ClassSpecificVerifier
    from tenfold.decisions.verifier import RateWarning as RateWarning
    from tenfold.files.loading import load as load
    from tenfold.files.moment_files import load_moments as load_moments
    from tenfold.files.moment_files import save_moments as save_moments
    from tenfold.gathering.gather import gather_batches as gather_batches
    from tenfold.gathering.gather import gather_moments as gather_moments
    from tenfold.gathering.gather import write_blocks as write_blocks
    from tenfold.mathematics.moments import ClassMoments as ClassMoments
    from tenfold.methods import *  # noqa: F403 - the methods are listed there, and only there
    from tenfold.methods.saving import save as save
    from tenfold.preprocessing import Blocks as Blocks
    from tenfold.preprocessing import CovariateRemover as CovariateRemover
    from tenfold.preprocessing import GaussianImputer as GaussianImputer
    from tenfold.preprocessing import ModeScaler as ModeScaler
    from tenfold.selection.comparison import compare as compare
    from tenfold.selection.rank_search import RankSearchCV as RankSearchCV

__version__ = "0.1.0"

# A name is imported when it is first used. SciPy and scikit-learn take seconds to import, and
# `tenfold --help` and shell completion need neither. Methods are public by being in ALL_METHODS.
_HOMES = {
    "Blocks": "tenfold.preprocessing",
    "ClassMoments": "tenfold.mathematics.moments",
    "ClassSpecificClassifier": "tenfold.decisions.classifier",
    "ClassSpecificVerifier": "tenfold.decisions.verifier",
    "CovariateRemover": "tenfold.preprocessing",
    "GaussianImputer": "tenfold.preprocessing",
    "ModeScaler": "tenfold.preprocessing",
    "OpenSetClassifier": "tenfold.decisions.open_set",
    "ProbabilisticLDA": "tenfold.decisions.probabilistic",
    "RankSearchCV": "tenfold.selection.rank_search",
    "RateWarning": "tenfold.decisions.verifier",
    "compare": "tenfold.selection.comparison",
    "gather_batches": "tenfold.gathering.gather",
    "gather_moments": "tenfold.gathering.gather",
    "labelled_projections": "tenfold.files.labelled_arrays",
    "load": "tenfold.files.loading",
    "load_moments": "tenfold.files.moment_files",
    "mean_average_precision": "tenfold.decisions.metrics",
    "save": "tenfold.methods.saving",
    "save_moments": "tenfold.files.moment_files",
    "write_blocks": "tenfold.gathering.gather",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value
    if name == "__all__":
        return [*_methods(), *_HOMES]
    if not name.startswith("_") and name in (methods := _methods()):
        return methods[name]
    raise AttributeError(f"module 'tenfold' has no attribute {name!r}")


def _methods() -> dict[str, Any]:
    methods = import_module("tenfold.methods")
    return {m.__name__: m for m in methods.ALL_METHODS}


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})

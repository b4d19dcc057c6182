"""Multilinear subspace and discriminant learning: exact, one pass, scikit-learn-shaped."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenfold.classifiers.classifier import ClassSpecificClassifier as ClassSpecificClassifier
    from tenfold.classifiers.open_set import OpenSetClassifier as OpenSetClassifier
    from tenfold.classifiers.probabilistic import ProbabilisticLDA as ProbabilisticLDA
    from tenfold.classifiers.thresholds import FalseAcceptRateWarning as FalseAcceptRateWarning
    from tenfold.classifiers.verifier import ClassSpecificVerifier as ClassSpecificVerifier
    from tenfold.files.labelled_arrays import labelled_projections as labelled_projections
    from tenfold.files.loading import load_model as load_model
    from tenfold.files.moment_files import load_moments as load_moments
    from tenfold.files.moment_files import save_moments as save_moments
    from tenfold.gathering.gather import gather_batches as gather_batches
    from tenfold.gathering.gather import gather_moments as gather_moments
    from tenfold.gathering.gather import write_blocks as write_blocks
    from tenfold.methods import *  # noqa: F403 - the methods are listed there, and only there
    from tenfold.methods.saving import save as save
    from tenfold.preprocessing import *  # noqa: F403 - as are the steps
    from tenfold.selection.comparison import compare as compare
    from tenfold.selection.rank_search import RankSearchCV as RankSearchCV
    from tenfold.statistics.moments import ClassMoments as ClassMoments

__version__ = "0.1.0"

# A name is imported when it is first used. SciPy and scikit-learn take seconds to import, and
# `tenfold --help` and shell completion need neither. Methods are public by being in ALL_METHODS,
# steps by being in ALL_STEPS.
_HOMES = {
    "ClassMoments": "tenfold.statistics.moments",
    "ClassSpecificClassifier": "tenfold.classifiers.classifier",
    "ClassSpecificVerifier": "tenfold.classifiers.verifier",
    "OpenSetClassifier": "tenfold.classifiers.open_set",
    "ProbabilisticLDA": "tenfold.classifiers.probabilistic",
    "RankSearchCV": "tenfold.selection.rank_search",
    "FalseAcceptRateWarning": "tenfold.classifiers.thresholds",
    "compare": "tenfold.selection.comparison",
    "gather_batches": "tenfold.gathering.gather",
    "gather_moments": "tenfold.gathering.gather",
    "labelled_projections": "tenfold.files.labelled_arrays",
    "load_model": "tenfold.files.loading",
    "load_moments": "tenfold.files.moment_files",
    "save": "tenfold.methods.saving",
    "save_moments": "tenfold.files.moment_files",
    "write_blocks": "tenfold.gathering.gather",
}


def _listed() -> dict[str, object]:
    methods = import_module("tenfold.methods").ALL_METHODS
    steps = import_module("tenfold.preprocessing").ALL_STEPS
    return {estimator.__name__: estimator for estimator in (*methods, *steps)}


if not TYPE_CHECKING:  # a type checker sees the imports above, and flags any other name

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            value = globals()[name] = getattr(import_module(_HOMES[name]), name)
            return value
        if name == "__all__":
            return [*_listed(), *_HOMES]
        if not name.startswith("_"):
            listed = _listed()
            if name in listed:
                return listed[name]
        raise AttributeError(f"module 'tenfold' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_listed(), *_HOMES})

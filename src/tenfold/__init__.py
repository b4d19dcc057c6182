"""Multilinear subspace and discriminant learning: exact, one pass, scikit-learn-shaped."""

from tenfold.classifier import ClassSpecificClassifier
from tenfold.loading import load
from tenfold.methods import CMDA, CSDA, DATER, DGTDA, GTDA, MCSDA, MPCA
from tenfold.moments import ClassMoments
from tenfold.search import RankSearchCV
from tenfold.verifier import ClassSpecificVerifier

__version__ = "0.1.0"

__all__ = [
    "CMDA",
    "CSDA",
    "DATER",
    "DGTDA",
    "GTDA",
    "MCSDA",
    "MPCA",
    "ClassMoments",
    "ClassSpecificClassifier",
    "ClassSpecificVerifier",
    "RankSearchCV",
    "load",
]

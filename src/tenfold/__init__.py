"""Multilinear (tensor) subspace and discriminant learning in the manner of scikit-learn."""

__version__ = "0.1.0"

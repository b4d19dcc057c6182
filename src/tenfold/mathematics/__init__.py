"""Scatters, moments, solvers and the alternation: NumPy and SciPy only."""

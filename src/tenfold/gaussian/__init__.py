"""Gaussian classes with Gaussian means: the formula, its views of a sample, and their pool."""

"""Choosing on folds: ranks, other settings, and methods."""

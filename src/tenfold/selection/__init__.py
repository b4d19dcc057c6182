"""Choosing ranks and other settings on folds."""

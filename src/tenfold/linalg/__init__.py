"""Modes of arrays, solvers, changes of basis: arrays in, arrays out."""

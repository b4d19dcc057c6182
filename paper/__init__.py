"""The paper's tables and its complexity section, one command each: ``python -m paper orl``.

Not part of the package that is installed: it imports `tenfold`, and nothing there imports it.
"""

"""The paper's tables, its complexity section and tables of others: ``python -m paper orl``.

Not part of the package that is installed: it imports `tenfold`, and nothing there imports it.
"""

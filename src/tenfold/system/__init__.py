"""What the machine does: threads, progress, Dask, text tables, and the format of files."""

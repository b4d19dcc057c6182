"""What the machine does for us: threads, progress, Dask, files that are written whole."""

"""Model files: the bytes, the values in them, and writing them in one step."""
